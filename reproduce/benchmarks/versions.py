"""Speed of the three stages at an earlier commit and now: questions a second, and MFU.

    python -m reproduce.benchmarks.versions COMMIT --bank BANK model.text=minilm model.visual=lite0

Each version is checked out into a worktree of its own, where it runs its own `reproduce.benchmarks.mfu` with today's
settings. They take turns, so that whatever else the machine does falls on both; medians are reported, and both MFUs
divide by the highest peak of all rounds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from tqdm import tqdm

from reproduce.benchmarks.harness import make_parser

ROOT = Path(__file__).parents[2]
STAGES = {"MLM": "pretrain/mlm.py", "MoCo": "pretrain/moco.py", "SCL": "finetune/similar.py"}


@contextmanager
def worktrees(commits: dict[str, str]) -> Iterator[dict[str, Path]]:
    """Check out every commit into a folder that is removed afterwards.

    Raises:
        subprocess.CalledProcessError: There is no such commit; git says so on stderr.
    """
    git = ["git", "-C", str(ROOT), "worktree"]
    with TemporaryDirectory() as parent:
        folders = {name: Path(parent, name) for name in commits}
        try:
            for name, commit in commits.items():
                subprocess.run([*git, "add", "--quiet", "--detach", str(folders[name]), commit], check=True)
            yield folders
        finally:
            for folder in folders.values():
                subprocess.run([*git, "remove", "--force", str(folder)], check=False, capture_output=True)


def measure(root: Path, arguments: list[str]) -> dict[str, Any]:
    """Run the benchmark of MFU as it is in ``root``."""
    environment = os.environ | {"PYTHONPATH": str(root)}
    call = [sys.executable, "-m", "reproduce.benchmarks.mfu", *arguments]
    printed = subprocess.run(call, cwd=root, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    report: dict[str, Any] = json.loads(printed)
    return report


def summary(reports: list[dict[str, Any]], peak: float) -> dict[str, float]:
    """Reduce the rounds of one stage at one version to their medians."""
    seconds = median(report["seconds_per_step"] for report in reports)
    return {
        "questions_per_second": round(reports[0]["questions_per_step"] / seconds, 1),
        "mfu": round(reports[0]["tflop_per_step"] / seconds / peak, 3),
    }


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("before", metavar="COMMIT", help="commit to compare with the last one")
    parser.add_argument("--bank", required=True, type=Path, help="bank with groups, for SCL")
    parser.add_argument("--configs", default="configs/geometry", metavar="DIR", help="folder of every stage's settings")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=15, help="steps of each stage in each round; the first warms up")
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE", help="more settings of every stage")
    args = parser.parse_intermixed_args()
    settings = [f"data.bank={args.bank.resolve()}", "run.epochs=99", f"run.max_steps={args.steps}", *args.settings]
    reports: dict[tuple[str, str], list[dict[str, Any]]] = {}
    commits = {"before": args.before, "now": "HEAD"}
    with worktrees(commits) as roots, tqdm(total=args.rounds * len(STAGES) * len(roots), unit=" runs") as bar:
        for number in range(args.rounds):
            for stage, recipe in STAGES.items():
                config = ["--config", str(Path(args.configs, Path(recipe).stem).resolve().with_suffix(".yaml"))]
                for version, root in roots.items():
                    out = f"run.out={root / 'measured' / f'{stage}-{number}'}"
                    arguments = [recipe, *config, *settings, out]
                    reports.setdefault((stage, version), []).append(measure(root, arguments))
                    bar.update()
    every = [report for rounds in reports.values() for report in rounds]
    peak = max(report["peak_tflop_per_second"] for report in every)
    result: dict[str, Any] = {"machine": every[0]["machine"], "peak_tflop_per_second": peak}
    for stage in STAGES:
        result[stage] = {version: summary(reports[stage, version], peak) for version in commits}
        before, now = (result[stage][version]["questions_per_second"] for version in commits)
        result[stage]["times as fast"] = round(now / before, 2)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
