"""Train on your own bank, then search it: mlm, momentum contrast, supervised contrast, index, search.

    python examples/train_on_your_bank.py BANK OUT [key=value ...]

BANK is a folder with questions.jsonl (docs/banks.md); the settings behind it go to every training, for instance
run.epochs=1 for a first try. Stopped, it goes on where it was.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def tqnet(*words: str | Path) -> None:
    """Run a tqnet command and stop where it fails."""
    subprocess.run([sys.executable, "-m", "tqnet.cli", *map(str, words)], check=True)


def main(bank: str, out: Path, settings: list[str]) -> None:
    tqnet("check", bank)
    start: list[str] = []
    for recipe in ("mlm", "moco", "similar"):
        run = out / recipe
        settings_of_run = [f"data.bank={bank}", f"run.out={run}", "run.resume=true", *start, *settings]
        tqnet("train", recipe, "--config", f"small/{recipe}", *settings_of_run)
        start = [f"model.start={run / 'model'}"]
    model = out / "similar" / "model"
    tqnet("evaluate", "similar", "--model", model, "--bank", bank, "--split", "test")
    tqnet("index", bank, "--model", model, "--out", out / "index", "--replace")
    tqnet("search", out / "index", "--text", "Find $x$ if $2x + 3 = 11$.")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
