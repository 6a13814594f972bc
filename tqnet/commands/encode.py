"""``tqnet encode``: the vectors of a bank as a NumPy file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tqnet.commands.options import whole_number

if TYPE_CHECKING:
    from tqnet.cli import Subparsers
    from tqnet.export.encoder import ExportedEncoder
    from tqnet.modeling.encoder import QuestionEncoder
    from tqnet.questions import QuestionBank


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("encode", help="write the vectors of a bank's questions")
    add_model_arguments(parser)
    add_backend_argument(parser)
    parser.add_argument("--model", required=True, metavar="DIR", help="a trained TQ-Net")
    parser.add_argument("--bank", required=True, help="a .jsonl or .parquet file, or a folder with questions.*")
    parser.add_argument("--out", required=True, metavar="DIR", help="gets vectors.npy [questions, width] and ids.json")
    parser.add_argument("--normalize", action="store_true", help="scale every vector to length 1")
    add_error_arguments(parser)
    parser.set_defaults(run=run)


def add_error_arguments(parser: argparse.ArgumentParser) -> None:
    """What is looked for in a bank before its first question is encoded, and what then happens."""
    parser.add_argument("--on-error", choices=("stop", "skip"), default="stop", help="what to do with faulty records")
    parser.add_argument(
        "--no-verify-images",
        action="store_true",
        help="do not decode every figure beforehand, for a bank that tqnet check has passed",
    )


def read_bank(args: argparse.Namespace) -> QuestionBank:
    """The bank that the arguments name, with the faults that they say are looked for."""
    from tqnet.questions import load_bank

    return load_bank(args.bank, args.on_error, verify_images=not args.no_verify_images)


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """How a model is run; the same in every command that encodes."""
    parser.add_argument("--batch-size", type=whole_number(1), default=32, help="questions encoded at a time (32)")
    parser.add_argument(
        "--device", type=device, help="where to encode: cpu, cuda, ...; by default the accelerator where there is one"
    )
    parser.add_argument(
        "--precision",
        choices=("auto", "fp32", "bf16"),
        default="auto",
        help="of encoding; auto: bf16 where the device computes in it",
    )


def add_backend_argument(parser: argparse.ArgumentParser) -> None:
    """``--backend``, of commands that take an export of ``tqnet export``."""
    parser.add_argument(
        "--backend",
        choices=("auto", "torch", "openvino", "onnx"),
        default="auto",
        help="what computes vectors; auto: what tqnet export has put beside the weights, else PyTorch (auto)",
    )


def open_encoder(
    source: str, args: argparse.Namespace, one_at_a_time: bool = False
) -> QuestionEncoder | ExportedEncoder:
    """The model ``source``, or an export of it, as the arguments say; a line says which export.

    ``one_at_a_time`` is as for :func:`tqnet.export.encoder.open_encoder`.
    """
    import sys

    from tqnet.export.encoder import ExportedEncoder, open_encoder

    backend = getattr(args, "backend", "torch")  # commands that only borrow an index have none
    device, precision = getattr(args, "device", None), getattr(args, "precision", "auto")
    encoder = open_encoder(source, backend, device, precision, one_at_a_time)
    if isinstance(encoder, ExportedEncoder):
        print(f"tqnet: vectors by the export {encoder.folder} ({encoder.manifest.precision})", file=sys.stderr)
    return encoder


def backend_of(encoder: QuestionEncoder | ExportedEncoder) -> str:
    """The ``--backend`` by which another process opens what ``auto`` has opened here."""
    from tqnet.export.encoder import ExportedEncoder

    return encoder.manifest.format if isinstance(encoder, ExportedEncoder) else "torch"


def precision_of(encoder: QuestionEncoder | ExportedEncoder, args: argparse.Namespace) -> str:
    """What vectors are computed in: fp32 or bf16, and of an export also by what."""
    from tqnet.export.encoder import ExportedEncoder
    from tqnet.libraries import precision

    return str(encoder) if isinstance(encoder, ExportedEncoder) else precision(args.precision, args.device)


def device(name: str) -> str:
    """An argparse type: a device that torch can use here."""
    import torch

    try:
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError) as error:
        raise argparse.ArgumentTypeError(f"{name}: {str(error).splitlines()[0]}") from None
    return name


def _write_ids(bank: QuestionBank, file: Path) -> None:
    """A JSON list of the ids, a part of the bank at a time."""
    import json

    with file.open("w", encoding="utf-8") as stream:
        stream.write("[")
        for number, (ids,) in enumerate(bank.batches("id")):
            stream.write(", " * bool(number) + json.dumps(ids, ensure_ascii=False)[1:-1])
        stream.write("]")


def run(args: argparse.Namespace) -> int:
    import numpy as np

    from tqnet.files import atomic
    from tqnet.libraries import quiet

    quiet()
    bank = read_bank(args)
    model = open_encoder(args.model, args)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    with atomic(out / "vectors.npy") as temporary:
        shape = (len(bank), model.config.hidden_size)
        vectors = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.float32, shape=shape)
        model.encode(
            bank,
            batch_size=args.batch_size,
            device=args.device,
            precision=precision_of(model, args),
            normalize=args.normalize,
            show_progress=True,
            out=vectors,
        )
        vectors.flush()
    with atomic(out / "ids.json") as temporary:
        _write_ids(bank, temporary)
    print(f"{len(bank)} vectors of width {shape[1]}: {out / 'vectors.npy'}")
    return 0
