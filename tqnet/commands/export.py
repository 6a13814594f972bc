"""``tqnet export``: a model as graphs that other runtimes compute."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tqnet.commands.encode import add_error_arguments, read_bank
from tqnet.commands.options import whole_number

if TYPE_CHECKING:
    from tqnet.cli import Subparsers


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "export",
        help="write a model for OpenVINO, ONNX Runtime or torch.export",
        description="Write the graphs of a model, text, figures and fusion, beside its weights. Their vectors are "
        "first compared with PyTorch's in fp32 on questions of a bank: mean cosine at least 0.999 (int8: 0.99), and "
        "P@5 at most 0.5 points lower. tqnet encode, index, search and serve take an export of openvino or onnx by "
        "themselves (--backend).",
    )
    parser.add_argument("--model", required=True, metavar="DIR", help="a trained TQ-Net")
    parser.add_argument("--format", required=True, choices=("onnx", "openvino", "torch"))
    parser.add_argument(
        "--precision",
        choices=("fp32", "bf16", "int8"),
        default="fp32",
        help="bf16: openvino and torch; int8: openvino, calibrated on questions of the bank (fp32)",
    )
    parser.add_argument("--bank", required=True, help="whose questions the vectors are compared on")
    parser.add_argument("--questions", type=whole_number(1), default=512, help="of the bank, compared (512)")
    parser.add_argument("--seed", type=whole_number(0), default=0, help="of the choice of questions (0)")
    parser.add_argument(
        "--out", metavar="DIR", help="by default a folder beside the weights with the format's name, where it is found"
    )
    parser.add_argument("--force", action="store_true", help="write it though its vectors are too far from PyTorch's")
    add_error_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tqnet.export.make import NotWrittenError, export
    from tqnet.export.manifest import Manifest, check_made
    from tqnet.libraries import quiet

    quiet()
    check_made(args.format, args.precision)
    out = Path(args.out) if args.out else Path(args.model) / args.format
    if out.exists() and not (out.is_dir() and (Manifest.is_in(out) or not any(out.iterdir()))):
        raise FileExistsError(f"{out}: is there already, and no export")
    try:
        check = export(
            Path(args.model), read_bank(args), out, args.format, args.precision, args.questions, args.seed, args.force
        )
    except NotWrittenError as error:
        print(f"tqnet: {error}; not written (--force writes it)", file=sys.stderr)
        return 1
    print(f"{out}: {args.format} {args.precision}; {check}")
    return 0
