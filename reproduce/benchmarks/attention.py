"""Attention on a processor, forwards and backwards: PyTorch's own in bf16 against ours, which converts to fp32.

    python -m reproduce.benchmarks.attention --length 80

The two take turns; milliseconds are medians.
"""

from __future__ import annotations

import json
import time
from statistics import median

import torch
from torch.nn import functional as F

from reproduce.benchmarks.harness import make_parser
from tqnet.libraries import machine
from tqnet.modeling.fusion import attention

WAYS = {"bf16": F.scaled_dot_product_attention, "fp32 inside": attention}


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--questions", type=int, default=64)
    parser.add_argument("--length", type=int, default=80, help="tokens of a question")
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--width", type=int, default=32, help="width of a head: 32 in MiniLM, 64 in BERT-base")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--rounds", type=int, default=10, help="rounds after the warm-up")
    args = parser.parse_args()

    torch.manual_seed(0)
    queries = torch.randn(3, args.questions, args.length, args.heads, args.width, dtype=torch.bfloat16).transpose(2, 3)
    mask = torch.ones(args.questions, 1, args.length, args.length, dtype=torch.bool)
    taken: dict[str, dict[str, list[float]]] = {way: {"forward": [], "backward": []} for way in WAYS}
    for _ in range(args.rounds + 1):
        for way, attend in WAYS.items():
            query, key, value = queries.clone().requires_grad_().unbind()
            begun = time.perf_counter()
            attended = attend(query, key, value, attn_mask=mask, dropout_p=args.dropout)
            between = time.perf_counter()
            attended.backward(torch.ones_like(attended))
            taken[way]["forward"].append(between - begun)
            taken[way]["backward"].append(time.perf_counter() - between)

    spent = {way: {pass_: 1e3 * median(seconds[1:]) for pass_, seconds in taken[way].items()} for way in WAYS}
    result = {
        "machine": machine(),
        "milliseconds": {way: {pass_: round(ms, 1) for pass_, ms in passes.items()} for way, passes in spent.items()},
        "bf16 / fp32 inside": round(sum(spent["bf16"].values()) / sum(spent["fp32 inside"].values()), 2),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
