"""Speed of ``TQNetModel.encode``, as ratios measured in one run.

    python -m tests.bench.encode --bank BANK --questions 600

Compares with ``SentenceTransformer.encode`` on the same weights, questions, precision and processor, tokenising
included; the contestants take turns, so that whatever else the machine does falls on all of them alike.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from statistics import median

import torch
from sentence_transformers import SentenceTransformer

from tqnet.libraries import quiet
from tqnet.modeling.build import build_model
from tqnet.modeling.pretrained import text_encoder_path
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import QuestionBank

_MAX_LENGTH = 256


def contestants(texts: list[str], batch_size: int) -> dict[str, Callable[[], object]]:
    """Name -> a function that encodes all of ``texts``."""
    theirs = SentenceTransformer(text_encoder_path("minilm"), device="cpu")
    theirs.max_seq_length = _MAX_LENGTH
    none, _ = build_model(ModelConfig(visual=None, fusion="none", vocabulary_min_count=0, max_length=_MAX_LENGTH), [])
    fused, _ = build_model(ModelConfig(vocabulary_min_count=0, max_length=_MAX_LENGTH), [])

    def sentence_transformers(bf16: bool) -> object:
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            return theirs.encode(texts, batch_size=batch_size, show_progress_bar=False)

    return {
        "sentence-transformers fp32": lambda: sentence_transformers(False),
        "tqnet none fp32": lambda: none.encode(texts, batch_size=batch_size),
        "tqnet fused fp32": lambda: fused.encode(texts, batch_size=batch_size),
        "sentence-transformers bf16": lambda: sentence_transformers(True),
        "tqnet none bf16": lambda: none.encode(texts, batch_size=batch_size, precision="bf16"),
        "tqnet fused bf16": lambda: fused.encode(texts, batch_size=batch_size, precision="bf16"),
    }


def speeds(texts: list[str], batch_size: int, rounds: int) -> dict[str, float]:
    """Questions per second of each contestant, the median of ``rounds`` in turn after one that warms up."""
    found = contestants(texts, batch_size)
    seconds: dict[str, list[float]] = {name: [] for name in found}
    for number in range(rounds + 1):
        for name, encode in found.items():
            start = time.perf_counter()
            encode()
            if number:
                seconds[name].append(time.perf_counter() - start)
    return {name: len(texts) / median(of) for name, of in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bank", required=True)
    parser.add_argument("--questions", type=int, default=600)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    quiet()
    bank = QuestionBank.load(args.bank)
    texts = [bank[i].content for i in range(args.questions)]
    per_second = speeds(texts, args.batch_size, args.rounds)
    ratios = {
        "none / sentence-transformers, fp32": ("tqnet none fp32", "sentence-transformers fp32"),
        "fused / sentence-transformers, fp32": ("tqnet fused fp32", "sentence-transformers fp32"),
        "none / sentence-transformers, bf16": ("tqnet none bf16", "sentence-transformers bf16"),
        "fused / sentence-transformers, bf16": ("tqnet fused bf16", "sentence-transformers bf16"),
        "bf16 / fp32, none": ("tqnet none bf16", "tqnet none fp32"),
    }
    print(
        json.dumps(
            {
                "questions_per_second": {name: round(value, 1) for name, value in per_second.items()},
                "ratios": {name: round(per_second[a] / per_second[b], 2) for name, (a, b) in ratios.items()},
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
