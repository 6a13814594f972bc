"""Speed of exported models, tokenising included, against PyTorch and sentence-transformers, in one run.

    python -m reproduce.benchmarks.export --text data/opl --figures data/geometry --questions 1000

Text is read by all-MiniLM-L6-v2 without fusion, so that sentence-transformers has the same weights; questions with
figures by MiniLM and lite0, fused, which sentence-transformers has no counterpart for. Its backends onnx and
openvino need optimum; where that is not installed, they are named under ``not_measured``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reproduce.benchmarks.harness import make_parser, take_turns
from tqnet.export.encoder import ExportedEncoder
from tqnet.export.make import export, sample
from tqnet.libraries import machine, quiet
from tqnet.modeling.build import build_model
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.pretrained import text_encoder_path
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import QuestionBank

_MAX_LENGTH = 256

PYTORCH = "PyTorch fp32"
_EXPORTS = (
    ("openvino", "fp32"),
    ("openvino", "bf16"),
    ("openvino", "int8"),
    ("openvino", "int8-weights"),
    ("onnx", "fp32"),
)

#: Backend of sentence-transformers -> the package that it is from, beyond itself.
_THEIRS = {"torch": None, "onnx": "optimum.onnxruntime", "openvino": "optimum.intel"}

Contestants = dict[str, Callable[[], object]]


def text_model() -> QuestionEncoder:
    """As sentence-transformers reads: the mean of MiniLM's tokens."""
    none = ModelConfig(visual=None, fusion="none", vocabulary_min_count=0, max_length=_MAX_LENGTH)
    return build_model(none, [])[0]


def figure_model() -> QuestionEncoder:
    """Text and figures, fused; the fusion passed as in a trained model, whatever its weights."""
    fused = ModelConfig(visual="lite0", vocabulary_min_count=0, max_length=_MAX_LENGTH)
    return build_model(fused, [])[0]


def ours(
    model: QuestionEncoder, bank: QuestionBank, rows: np.ndarray, work: Path, checked: int
) -> tuple[Contestants, dict[str, Any]]:
    """PyTorch and every export of ``model``, on the questions at ``rows``; and what the export's check said."""
    model.save_pretrained(work)
    chosen = bank.select(rows)
    results: Contestants = {
        PYTORCH: lambda: model.encode(chosen, device="cpu"),
        "PyTorch bf16": lambda: model.encode(chosen, device="cpu", precision="bf16"),
    }
    checks = {}
    for format, precision in _EXPORTS:
        name, folder = f"{format} {precision}", work / f"{format}-{precision}"
        check = export(work, bank, folder, format, precision, checked, force=True)
        checks[name] = {"cosine_mean": round(check.cosine_mean, 5), "cosine_min": round(check.cosine_min, 5)}
        if check.torch_p5 is not None and check.export_p5 is not None:
            checks[name]["p5_points"] = round(100 * (check.export_p5 - check.torch_p5), 2)
        encoder = ExportedEncoder(folder, work)
        results[name] = lambda encoder=encoder: encoder.encode(chosen)
    return results, checks


def theirs(texts: Sequence[str]) -> tuple[Contestants, dict[str, str]]:
    """sentence-transformers with each of its backends, and why some of them are not measured."""
    from sentence_transformers import SentenceTransformer

    results: Contestants = {}
    missing = {}
    for backend, package in _THEIRS.items():
        name = f"sentence-transformers {backend}"
        if package is not None and (find_spec("optimum") is None or find_spec(package) is None):
            missing[name] = f"{package} is not installed"
            continue
        encoder = SentenceTransformer(text_encoder_path("minilm"), device="cpu", backend=backend)
        encoder.max_seq_length = _MAX_LENGTH
        results[name] = lambda encoder=encoder: encoder.encode(list(texts), batch_size=32, show_progress_bar=False)
    bf16 = next(iter(results.values()))

    def in_bf16() -> object:
        with torch.autocast("cpu", torch.bfloat16):
            return bf16()

    return {**results, "sentence-transformers torch bf16": in_bf16}, missing


def report(per_second: dict[str, float]) -> dict[str, Any]:
    """Speeds, and ratios to PyTorch in fp32 and to the best that sentence-transformers reaches."""
    ratios = {f"{name} / {PYTORCH}": per_second[name] / per_second[PYTORCH] for name in per_second if name != PYTORCH}
    rivals = {name: speed for name, speed in per_second.items() if name.startswith("sentence-transformers")}
    if rivals:
        best = max(rivals, key=lambda name: rivals[name])
        exported = [f"{format} {precision}" for format, precision in _EXPORTS]
        ratios |= {f"{name} / {best}": per_second[name] / rivals[best] for name in exported}
    return {
        "questions_per_second": {name: round(value, 1) for name, value in per_second.items()},
        "ratios": {name: round(value, 2) for name, value in ratios.items()},
    }


def measure(folder: str, model: QuestionEncoder, args: argparse.Namespace, rivals: bool) -> dict[str, Any]:
    """All of a bank: speeds, ratios, checks, and how fast its texts are tokenised by themselves."""
    bank = QuestionBank.load(folder)
    rows = sample(bank, args.questions, seed=1)[: args.questions]
    texts = [bank[int(row)].content for row in rows]
    with tempfile.TemporaryDirectory() as work:
        contestants, checks = ours(model, bank, rows, Path(work), args.checked)
        others, missing = theirs(texts) if rivals else ({}, {})
        contestants |= others | {"tokenising alone": lambda: model.processor.tokenize(texts)}
        seconds = take_turns(contestants, args.rounds)
    results = report({name: len(rows) / taken for name, taken in seconds.items()})
    figures = sum(len(bank[int(row)].images) for row in rows)
    return {"questions": len(rows), "figures": figures, **results, "checks": checks, "not_measured": missing}


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--text", required=True, metavar="BANK", help="bank to read text of")
    parser.add_argument("--figures", metavar="BANK", help="bank to read text and figures of")
    parser.add_argument("--questions", type=int, default=1000, help="questions of each bank (1000)")
    parser.add_argument("--checked", type=int, default=256, help="questions to compare vectors on (256)")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    quiet()
    results: dict[str, Any] = {"machine": machine(), "threads": torch.get_num_threads()}
    results["text"] = measure(args.text, text_model(), args, rivals=True)
    print(json.dumps(results["text"]), file=sys.stderr)
    if args.figures:
        results["figures"] = measure(args.figures, figure_model(), args, rivals=False)
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
