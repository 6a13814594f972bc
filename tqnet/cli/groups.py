"""Groups of options shared by commands."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tqnet.cli.options import Options, argument, count, naming, option, output_file, switch, torch_device, write_lines

if TYPE_CHECKING:
    import torch

    from tqnet.evaluation.sources import Encoding
    from tqnet.evaluation.table import Table
    from tqnet.export.encoder import ExportedEncoder
    from tqnet.modeling.encoder import QuestionEncoder
    from tqnet.questions import Contamination, Question, QuestionBank, Similarity

BANK = "a .jsonl or .parquet file, or a folder with questions.*"
MODEL = "a trained TQ-Net"
INDEX = "an index made by tqnet index"
SPLITS = ("train", "valid", "test")
STAGES = "SOURCE is a model folder, or encoder:NAME for an off-the-shelf text encoder"


@dataclass(frozen=True, kw_only=True)
class FaultOptions(Options):
    on_error: Literal["stop", "skip"] = option(
        "what to do about faulty records", default="stop", choices=("stop", "skip")
    )


@dataclass(frozen=True, kw_only=True)
class ReadingOptions(FaultOptions):
    no_verify_images: bool = switch("do not decode every figure first; for banks that tqnet check has passed")

    def load(self, path: str) -> QuestionBank:
        from tqnet.questions import load_bank

        return load_bank(path, self.on_error, verify_images=not self.no_verify_images)


@dataclass(frozen=True, kw_only=True)
class EncodingOptions(Options):
    """How a model is run; the same in every command that encodes."""

    batch_size: int = count("number of questions to encode at a time", default=32)
    device: str | None = option("cpu, cuda, ...; by default an accelerator if present", type=torch_device)
    precision: str = option("auto: bf16 where the device supports it", default="auto", choices=("auto", "fp32", "bf16"))

    @property
    def chosen_precision(self) -> str:
        """fp32 or bf16."""
        from tqnet.libraries import precision

        return precision(self.precision, self.device)

    @property
    def chosen_device(self) -> str | torch.device:
        from tqnet.modeling.encode import accelerator

        return self.device or accelerator() or "cpu"

    @property
    def settings(self) -> dict[str, Any]:
        """Keyword arguments for ``encode``."""
        return {"batch_size": self.batch_size, "device": self.device, "precision": self.chosen_precision}

    def encoding(self, max_length: int | None = None) -> Encoding:
        from tqnet.evaluation.sources import Encoding

        return Encoding(**self.settings, max_length=max_length)


@dataclass(frozen=True, kw_only=True)
class BackendOptions(EncodingOptions):
    backend: str = option(
        "auto: an export next to the model, else PyTorch",
        default="auto",
        choices=("auto", "torch", "openvino", "onnx"),
    )

    def open_encoder(
        self, source: str, one_at_a_time: bool = False, dimensions: int | None = None
    ) -> QuestionEncoder | ExportedEncoder:
        """Load a model, to be called with `settings`, or an export, named on stderr (`tqnet.export`).

        ``dimensions`` is the number of vector coordinates to keep, None for all.
        """
        from tqnet.export.encoder import ExportedEncoder, open_encoder
        from tqnet.modeling.encode import cast_once, shorten

        encoder = open_encoder(source, self.backend, self.device, self.precision, one_at_a_time)
        if isinstance(encoder, ExportedEncoder):
            print(f"tqnet: vectors by the export {encoder.folder} ({encoder.manifest.precision})", file=sys.stderr)
        elif self.chosen_precision == "bf16":
            cast_once(encoder)
        shorten(encoder, dimensions)
        return encoder


@dataclass(frozen=True, kw_only=True)
class DimensionsOptions(BackendOptions):
    dimensions: int | None = count(
        "number of leading coordinates of each vector to keep, one of the widths that its model was trained for "
        "(matryoshka); all by default"
    )

    def open_shortened(self, source: str) -> QuestionEncoder | ExportedEncoder:
        """Load a model that keeps `dimensions` of its vectors; warn if it was not trained for that."""
        encoder = self.open_encoder(source, dimensions=self.dimensions)
        trained = [*encoder.config.matryoshka, encoder.config.hidden_size]
        if self.dimensions and self.dimensions not in trained:
            widths = ", ".join(map(str, trained))
            print(f"tqnet: --dimensions {self.dimensions}: {source} was trained for {widths}", file=sys.stderr)
        return encoder


@dataclass(frozen=True, kw_only=True)
class SeedOptions(Options):
    seed: int = count("random seed", default=0, minimum=0)


@dataclass(frozen=True, kw_only=True)
class SplitOptions(Options):
    split: str = option("split to measure on; all: every split", default="test")

    @property
    def one_split(self) -> str | None:
        """None for all."""
        return None if self.split == "all" else self.split


@dataclass(frozen=True, kw_only=True)
class SimilarityOptions(FaultOptions):
    """Which questions are similar."""

    pairs: str | None = option(
        "file of similar pairs; by default questions of one group are similar", exclusive="similar", metavar="FILE"
    )
    similar_level: int | None = count(
        "questions of one concept at this level are similar (1: coarsest)", exclusive="similar", metavar="LEVEL"
    )

    def similarity(self, bank: QuestionBank) -> Similarity:
        from tqnet.questions import Similarity

        if self.similar_level is not None:
            return Similarity.from_concepts(bank, self.similar_level)
        if self.pairs:
            return Similarity.from_pairs(self.pairs, bank, on_error=self.on_error)
        return Similarity.from_groups(bank)


@dataclass(frozen=True, kw_only=True)
class LeakageOptions(Options):
    without_duplicates: bool = switch("leave out questions of valid and test that have a duplicate in train")

    def leakage(self, bank: QuestionBank) -> Contamination | None:
        """Find the duplicates in train and print their number to stderr; None without ``--without-duplicates``.

        Raises:
            ValueError: The bank lacks a split to compare.
        """
        if not self.without_duplicates:
            return None
        from tqnet.questions import find_contamination

        if not {"train", "test"} <= set(bank.column("split")):
            raise ValueError("--without-duplicates: the bank needs questions in the splits train and test")
        duplicates = find_contamination(bank)
        print(f"left out as duplicates of questions in train: {len(duplicates.doubles):,}", file=sys.stderr)
        return duplicates

    def rows_left_out(self, bank: QuestionBank) -> set[int]:
        leakage = self.leakage(bank)
        return {double.row for double in leakage.doubles} if leakage else set()


@dataclass(frozen=True, kw_only=True)
class StageOptions(Options):
    """Several models side by side."""

    stages: Sequence[str] = argument(STAGES, nargs="+", metavar="NAME=SOURCE")

    def sources(self) -> dict[str, str]:
        """Return name -> source; TF-IDF and BM25, which have no vectors, are refused."""
        from tqnet.evaluation.stages import parse_stages

        return parse_stages(list(self.stages), lexical=False)


@dataclass(frozen=True, kw_only=True)
class VectorOptions(Options):
    vectors: str | None = option("cache vectors in this folder", metavar="DIR")

    @property
    def cache(self) -> Path | None:
        return Path(self.vectors) if self.vectors else None


@dataclass(frozen=True, kw_only=True)
class LineOptions(Options):
    """Results as JSON, one object per line."""

    out: str | None = option("write one JSON object per line", metavar="FILE")
    json: bool = switch("print one JSON object per line")

    @property
    def out_file(self) -> Path | None:
        """See :func:`output_file`."""
        return output_file(self.out) if self.out else None

    def write(self, out: Path | None, lines: Sequence[str]) -> None:
        """Write the lines to ``out``, and print them with ``--json``."""
        if out is not None:
            write_lines(out, lines)
        if self.json and lines:
            print("\n".join(lines))


@dataclass(frozen=True, kw_only=True)
class ReportOptions(Options):
    """Where an evaluation writes its report; ``command`` is the command as typed, for its header."""

    out: str = option("folder for results.json, results.md and pictures", required=True, metavar="DIR")
    command: str = ""

    def make_folder(self) -> Path:
        """Make the folder; called early, so that an unwritable path fails before anything is encoded."""
        folder = Path(self.out)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def report(
        self,
        document: Mapping[str, Any],
        tables: Sequence[Table],
        facts: Mapping[str, str],
        pictures: Mapping[str, bytes] | None = None,
        shown: Sequence[Table] | None = None,
    ) -> None:
        """Write the report and its PNG ``pictures``, and print the tables, or those in ``shown``.

        Args:
            document: Numbers for results.json.
            facts: How the numbers were made.
        """
        from tqnet.evaluation.table import render_tables, write_pictures, write_results

        folder = self.make_folder()
        write_results(folder, {"command": self.command, **facts}, document, render_tables(tables, markdown=True))
        print(render_tables(tables if shown is None else shown), end="")
        for file in write_pictures(folder, pictures or {}):
            print(f"picture: {file}")


@dataclass(frozen=True, kw_only=True)
class LanguageModelOptions(Options):
    language_model: str | None = option("spaCy model of English; by default the extra's", metavar="NAME_OR_DIR")

    def english_parser(self, size: int = 2000) -> Any:
        """Load the parser, which keeps the parses of ``size`` texts; raises OSError if there is no such model."""
        from tqnet.paraphrase.problem import DEFAULT_MODEL, Parser

        with naming("--language-model"):
            return Parser(self.language_model or DEFAULT_MODEL, size)


def bank_fact(bank: QuestionBank, added: str = "") -> str:
    """Return a bank's name, size and fingerprint, for the header of a report."""
    return f"{bank.name}, {len(bank):,} questions, fingerprint {bank.fingerprint}{added}"


def model_fact(stages: Mapping[str, str]) -> str:
    """Return the digest of every model that is a folder, for the header of a report."""
    from tqnet.evaluation.sources import source_digest

    digests = {name: source_digest(source) for name, source in stages.items()}
    return "; ".join(f"{name}: files {digest}" for name, digest in digests.items() if digest)


def typed_question(text: str | None, images: Sequence[str]) -> Question:
    """Make a question from typed input; raise FileNotFoundError for an image that does not exist."""
    from tqnet.search.searcher import typed_question

    for image in images:
        if not Path(image).is_file():
            raise FileNotFoundError(f"--image {image}: no such file")
    return typed_question(text or "", [str(Path(image).absolute()) for image in images])
