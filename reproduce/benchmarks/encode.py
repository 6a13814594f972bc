"""Speed of ``TQNetModel.encode``, as ratios measured in one run.

    python -m reproduce.benchmarks.encode --bank BANK --questions 600

Compares with ``SentenceTransformer.encode`` on the same weights, questions, precision and processor, tokenising
included.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import torch
from sentence_transformers import SentenceTransformer

from reproduce.benchmarks.harness import make_parser, take_turns
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


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--bank", required=True)
    parser.add_argument("--questions", type=int, default=600)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    quiet()
    bank = QuestionBank.load(args.bank)
    texts = [bank[i].content for i in range(args.questions)]
    seconds = take_turns(contestants(texts, args.batch_size), args.rounds)
    ratios = {
        f"{ours} / sentence-transformers, {kind}": (f"tqnet {ours} {kind}", f"sentence-transformers {kind}")
        for kind in ("fp32", "bf16")
        for ours in ("none", "fused")
    } | {"bf16 / fp32, none": ("tqnet none bf16", "tqnet none fp32")}
    report = {
        "questions_per_second": {name: round(len(texts) / taken, 1) for name, taken in seconds.items()},
        "ratios": {name: round(seconds[other] / seconds[this], 2) for name, (this, other) in ratios.items()},
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
