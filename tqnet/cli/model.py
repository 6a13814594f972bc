"""``tqnet train``, ``encode``, ``export`` and ``card``: a model, from its training to its use elsewhere."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqnet.cli.groups import BANK, MODEL, DimensionsOptions, ReadingOptions, SeedOptions
from tqnet.cli.options import Command, argument, count, option, switch, whole_number
from tqnet.recipes import launched, recipe, recipes


@dataclass(frozen=True, kw_only=True)
class Train(Command, name="train"):
    """Train a model with a recipe. Starts it as accelerate launch would.

    After the recipe's name: --num-processes N (default 1; one per GPU), --cpu (use no GPU), --config FILE or NAME, such
    as small/moco, and settings: data.bank=BANK run.out=DIR. tqnet train RECIPE --help explains every setting.
    """

    recipe: str = argument(", ".join(recipes()), metavar="RECIPE")
    arguments: tuple[str, ...] = argument("options and settings", nargs=argparse.REMAINDER, metavar="...")

    def run(self) -> None:
        script = recipe(self.recipe)
        parser = argparse.ArgumentParser(prog=f"tqnet train {self.recipe}", add_help=False, allow_abbrev=False)
        parser.add_argument("--num-processes", type=whole_number(1), default=1)
        parser.add_argument("--cpu", action="store_true")
        ours, passed_on = parser.parse_known_args(self.arguments)
        if ours.cpu:
            os.environ["ACCELERATE_USE_CPU"] = "true"
        sys.stdout.flush()
        os.execv(sys.executable, launched(script, passed_on, ours.num_processes, ours.cpu))


@dataclass(frozen=True, kw_only=True)
class Encode(Command, DimensionsOptions, ReadingOptions, name="encode"):
    """Write the vectors of a bank's questions."""

    model: str = option(MODEL, required=True, metavar="DIR")
    bank: str = option(BANK, required=True)
    out: str = option("folder for vectors.npy [questions, width] and ids.json", required=True, metavar="DIR")
    normalize: bool = switch("scale every vector to length 1")

    def run(self) -> None:
        import numpy as np

        from tqnet.files import atomic

        bank = self.load(self.bank)
        model = self.open_shortened(self.model)
        out = Path(self.out)
        out.mkdir(parents=True, exist_ok=True)
        with atomic(out / "vectors.npy") as temporary:
            shape = (len(bank), self.dimensions or model.config.hidden_size)
            vectors = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.float32, shape=shape)
            model.encode(bank, **self.settings, normalize=self.normalize, show_progress=True, out=vectors)
            vectors.flush()
        with atomic(out / "ids.json") as temporary, temporary.open("w", encoding="utf-8") as stream:
            stream.write("[")  # a list, written in bounded memory
            for part, (ids,) in enumerate(bank.batches("id")):
                stream.write(", " * bool(part) + json.dumps(ids, ensure_ascii=False)[1:-1])
            stream.write("]")
        print(f"{len(bank)} vectors of width {shape[1]}: {out / 'vectors.npy'}")


@dataclass(frozen=True, kw_only=True)
class Export(Command, SeedOptions, ReadingOptions, name="export"):
    """Write a model for OpenVINO, ONNX Runtime or torch.export.

    The graphs of text, figures and fusion are written next to the weights once their vectors have been compared with
    PyTorch's in fp32 on questions of a bank: mean cosine at least 0.999 (int8 and int8-weights: 0.99), and P@5 at most
    0.5 points lower. tqnet encode, index, search and serve use an openvino or onnx export automatically (--backend).
    """

    model: str = option(MODEL, required=True, metavar="DIR")
    format: str = option("format of the graphs", required=True, choices=("onnx", "openvino", "torch"))
    precision: str = option(
        "int8 is calibrated on questions of the bank; int8-weights quantizes the weights alone",
        default="fp32",
        choices=("fp32", "bf16", "int8", "int8-weights"),
    )
    bank: str = option("questions to compare vectors on: " + BANK, required=True)
    questions: int = count("number of questions to compare", default=512)
    out: str | None = option("folder of the export; by default MODEL/FORMAT, where it is found", metavar="DIR")
    force: bool = switch("write the export even if its vectors are too far from PyTorch's")

    def run(self) -> int:
        from tqnet.export.encoder import Manifest, check_made
        from tqnet.export.make import NotWrittenError, export

        check_made(self.format, self.precision)
        model = Path(self.model)
        out = Path(self.out) if self.out else model / self.format
        if out.exists() and not (out.is_dir() and (Manifest.is_in(out) or not any(out.iterdir()))):
            raise FileExistsError(f"{out}: exists and is not an export")
        bank = self.load(self.bank)
        try:
            check = export(model, bank, out, self.format, self.precision, self.questions, self.seed, self.force)
        except NotWrittenError as error:
            print(f"tqnet: {error}; not written (--force writes it)", file=sys.stderr)
            return 1
        print(f"{out}: {self.format} {self.precision}; {check}")
        return 0


@dataclass(frozen=True, kw_only=True)
class Card(Command, name="card"):
    """Write a trained folder's README.md and its files for sentence-transformers.

    Every training run ends with this. Use it for older folders, to state a licence, or to add evaluations; a licence
    and evaluations on a card written by tqnet are kept.
    """

    model: str = argument("a trained folder: RUN/model", metavar="DIR")
    license: str | None = option("licence of the weights, as the Hugging Face Hub names it (apache-2.0)", metavar="ID")
    results: Sequence[str] = option("results.json of tqnet evaluate stages or mteb, to add", default=(), metavar="FILE")
    name: str | None = option("name of the model, where --results have several")
    force: bool = switch("overwrite a README.md that is not tqnet's or was changed")

    def run(self) -> int:
        from tqnet.hub.card import write_card
        from tqnet.hub.lineage import read_measured
        from tqnet.modeling.interchange import introduce, kind_of

        folder = Path(self.model)
        kind_of(folder)  # before anything is written
        measured: dict[str, Any] = {}
        for file in self.results:
            for title, rows in read_measured(Path(file), self.name).items():
                measured.setdefault(title, []).extend(rows)
        if added := introduce(folder):
            print(f"added: {', '.join(added)}")
        if not write_card(folder, self.license, measured, self.force):
            print(f"tqnet: {folder / 'README.md'} is kept; --force overwrites it", file=sys.stderr)
            return 1
        print(f"card: {folder / 'README.md'}")
        return 0
