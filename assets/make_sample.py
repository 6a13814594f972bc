"""Makes the sample bank: ``python assets/make_sample.py --out assets/sample --seed 0``."""

from __future__ import annotations

import argparse
from pathlib import Path

from sample_bank.builder import build, write


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "sample")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    bank = build(args.seed)
    write(bank, args.out)
    print(f"{len(bank)} questions, {sum(len(b.figures) for b in bank)} figures -> {args.out}")


if __name__ == "__main__":
    main()
