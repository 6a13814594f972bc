"""Memory and time of a training step of ``finetune/similar.py``, with and without gradient caching.

    python -m reproduce.benchmarks.gradient_cache --bank assets/sample --questions 1024 --chunks 0 64

Every chunk size is measured in a process of its own, whose peak memory is the highest that it ever had. Questions
come round again where the bank has fewer.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import numpy as np
import torch

from finetune.similar import SimilarConfig, SimilarityModel
from reproduce.benchmarks.harness import make_parser
from tqnet.libraries import quiet
from tqnet.losses.contrastive import supervised_contrastive
from tqnet.modeling.build import build_model
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import QuestionBank, Similarity
from tqnet.training.data import QuestionViews


def measure(bank: QuestionBank, questions: int, chunk: int, bf16: bool) -> dict[str, float]:
    """MiB and seconds of a forward and a backward pass; ``loaded`` is what model and batch take before it."""
    torch.manual_seed(0)
    model, processor = build_model(ModelConfig(), [bank[i].content for i in range(len(bank))])
    trained = SimilarityModel(model, SimilarConfig(chunk=chunk)).train()
    views = QuestionViews(bank, processor, seed=0)
    index = np.resize(np.random.default_rng(0).permutation(len(bank)), questions)
    inputs = views.collate([views[0, int(i), 0] for i in index]).inputs
    similar = torch.from_numpy(Similarity.from_groups(bank).matrix(index))
    loaded, begun = peak(), time.perf_counter()
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        features = trained(**inputs)
    supervised_contrastive(features, similar, 0.07).backward()
    return {"loaded": loaded, "peak": peak(), "seconds": round(time.perf_counter() - begun, 1)}


def peak() -> float:
    """Return this process's peak memory so far, in MiB."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--bank", required=True)
    parser.add_argument("--questions", type=int, default=1024)
    parser.add_argument("--chunks", type=int, nargs="+", default=[0, 64], help="0 encodes the batch at once")
    parser.add_argument("--bf16", action="store_true")
    args = parser.parse_args()
    quiet()
    if len(args.chunks) == 1:
        print(json.dumps(measure(QuestionBank.load(args.bank), args.questions, args.chunks[0], args.bf16)))
        return
    for chunk in args.chunks:
        command = [sys.executable, "-m", "reproduce.benchmarks.gradient_cache", "--bank", args.bank]
        command += ["--chunks", str(chunk), "--questions", str(args.questions), *(["--bf16"] if args.bf16 else [])]
        print(f"chunk {chunk}:", subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())


if __name__ == "__main__":
    main()
