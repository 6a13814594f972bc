"""How the recipes fare on an accelerator: correctness, waits, use of its arithmetic, speed, and a long training.

    python -m reproduce.benchmarks.gpu --bank BANK --out runs/gpu --minutes 12

Finished parts are kept in OUT, so a second call continues where the first one ended, and retries what failed. With
``--dry-run`` the parts are tiny, to see on a processor that they work. The report is written to reproduce/results/gpu,
under the device's name.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from omegaconf import OmegaConf

from reproduce.benchmarks.harness import make_parser, open_recipe
from tqnet.files import atomic
from tqnet.libraries import machine, on_cuda, quiet
from tqnet.modeling.build import build_model
from tqnet.modeling.encode import accelerator
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import load_bank
from tqnet.training.data import Batch
from tqnet.training.loop import TrainingLoop

RESULTS = Path(__file__).parents[1] / "results" / "gpu"

#: Recipe -> settings of its own.
RECIPES = {"pretrain/mlm.py": [], "pretrain/moco.py": ["queue=64", "bn_splits=1"], "finetune/similar.py": []}

#: Settings of the parts that compare with a processor: random draws must be the same, and rounding small.
_EXACT = ["run.precision=fp32", "model.dropout=0", "run.log_every=1", "run.batch_size=32", "data.distractors=0"]
_TINY = ["model.text=scratch", "model.scratch_hidden=48", "model.scratch_layers=1", "model.fusion_heads=12"]
_TINY += ["model.visual=resnet10t", "model.image_size=64"]

#: The paper's encoders, BERT-base and ResNet-50, with random weights, which cost as much as trained ones.
_PAPER = ["model.text=scratch", "model.scratch_hidden=768", "model.scratch_layers=12", "model.visual=resnet50"]
_PAPER += ["model.image_size=224", "optim.visual_lr=null", "run.batch_size=256", "queue=1024"]

#: What begins the result of a part that may be tried again.
_FAILED = "failed"

#: Times the usual budget of the last part's trainings.
LONGER = 20


@dataclass(frozen=True)
class Report:
    """Runs parts for at most ``minutes``."""

    bank: str
    out: Path
    dry: bool
    ends: float

    def left(self) -> float:
        """Return the seconds that are left."""
        return self.ends - time.monotonic()

    def parts(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Yield the parts by name, in the order of what would be missed most."""
        for recipe in RECIPES:
            yield f"correctness, {recipe}", partial(self.correctness, recipe)
        yield "resume", self.resume
        for recipe in RECIPES:
            yield f"waits, {recipe}", partial(self.waits, recipe)
        yield "pretrain/moco.py, paper's encoders", partial(self.mfu, "pretrain/moco.py", _PAPER, "paper")
        for recipe, settings in RECIPES.items():
            yield f"{recipe}, MiniLM", partial(self.mfu, recipe, [*settings, "run.batch_size=256"], "minilm")
        yield "encode", self.encode
        for recipe in ("finetune/similar.py", "pretrain/mlm.py", "pretrain/moco.py"):
            yield f"{LONGER} times the budget, {recipe}", partial(self.longer, recipe)

    def correctness(self, recipe: str) -> dict[str, Any]:
        """Compare three steps' losses with those of a processor."""
        settings = [*_TINY, *_EXACT, *RECIPES[recipe], "run.max_steps=3"]
        losses = self.losses(recipe, settings, "here")
        expected = self.losses(recipe, settings, "processor", cpu=True)
        apart = max(abs(a - b) / abs(b) for a, b in zip(losses, expected, strict=True))
        return {"losses": losses, "apart": apart, "as on a processor": apart < 1e-3}

    def resume(self) -> dict[str, Any]:
        """Compare a run with one that is interrupted."""
        settings = [*_TINY, *_EXACT, "run.save_every=2", "run.epochs=9"]
        whole = self.losses("finetune/similar.py", [*settings, "run.max_steps=4"], "whole")
        folder = self.out / "finetune-similar-whole"
        (folder / "checkpoints" / "step-00000004.pt").unlink()
        resumed = self.losses("finetune/similar.py", [*settings, "run.max_steps=4", "run.resume=true"], "whole")
        apart = max(abs(a - b) / abs(b) for a, b in zip(resumed, whole, strict=True))
        return {"apart": apart, "as if never stopped": apart < 1e-3}

    def losses(self, recipe: str, settings: list[str], name: str, cpu: bool = False) -> list[float]:
        folder = self.out / f"{recipe.removesuffix('.py').replace('/', '-')}-{name}"
        if "run.resume=true" not in settings:
            shutil.rmtree(folder, ignore_errors=True)  # left by an attempt that was cut off
        self.run([recipe, *settings, f"data.bank={self.bank}", f"run.out={folder}"], cpu)
        records = map(json.loads, (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
        return [record["loss"] for record in records if "loss" in record]

    def waits(self, recipe: str) -> dict[str, Any] | str:
        """Count what waits for the device, from the second batch on it to the end of its step."""
        if not on_cuda():
            return "no accelerator; tests/recipes/test_waits.py counts them on a processor"
        waits: list[str] = []
        code = [recipe, *_TINY, *RECIPES[recipe], "run.max_steps=4", "run.batch_size=32", "run.log_every=100"]
        folder = self.out / f"waits-{Path(recipe).stem}"
        shutil.rmtree(folder, ignore_errors=True)
        batches = TrainingLoop.batches

        def watched(loop: TrainingLoop, first: int, stop: int) -> Iterator[Batch]:
            for number, batch in enumerate(batches(loop, first, stop)):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    torch.cuda.set_sync_debug_mode("warn" if not first and number else "default")
                    yield batch
                    torch.cuda.set_sync_debug_mode("default")
                waits.extend(f"{w.filename}:{w.lineno}" for w in caught if "synchronizing" in str(w.message))

        script, settings = Path(code[0]), [*code[1:], f"data.bank={self.bank}", f"run.out={folder}"]
        module, config = open_recipe(make_parser(__doc__), script, settings)
        TrainingLoop.batches = watched  # type: ignore[method-assign]
        try:
            module.main(config)
        finally:
            TrainingLoop.batches = batches  # type: ignore[method-assign]
        return {"waits": len(waits), "places": sorted(set(waits))}

    def mfu(self, recipe: str, settings: list[str], name: str) -> dict[str, Any]:
        """Measure the share of the device's arithmetic (`reproduce.benchmarks.mfu`)."""
        loaders = 0 if self.dry else max(1, (os.cpu_count() or 1) - 2)
        if self.dry:
            settings = [*RECIPES[recipe], *_TINY, "run.batch_size=16"]
        folder = self.out / name / Path(recipe).stem
        shutil.rmtree(folder, ignore_errors=True)
        call = ["-m", "reproduce.benchmarks.mfu", recipe, *settings, f"data.bank={self.bank}", f"run.out={folder}"]
        call += ["run.max_steps=12", "run.epochs=99", f"data.workers={loaders}"]
        return json.loads(re.search(r"^\{.*^\}", self.run(call), re.DOTALL | re.MULTILINE)[0])  # type: ignore[index]

    def encode(self) -> dict[str, float]:
        """Measure questions a second, of the whole bank, without a model of figures and with one."""
        quiet()
        bank = load_bank(self.bank)
        bank = bank.select(range(64)) if self.dry else bank
        speed = {}
        for name, visual in (("MiniLM", None), ("MiniLM and lite0", "lite0")):
            shape = ModelConfig(text="minilm", visual=visual, fusion="coordinated" if visual else "none")
            model, _ = build_model(shape, [])
            options: dict[str, Any] = {"batch_size": 32 if self.dry else 512, "precision": "bf16"}
            model.encode(bank.select(range(min(len(bank), 512))), **options)
            begun = time.perf_counter()
            model.encode(bank, **options)
            speed[name] = round(len(bank) / (time.perf_counter() - begun), 1)
        return speed

    def longer(self, recipe: str) -> dict[str, Any]:
        """Train for many times the usual budget, or as long as there is time; continues at the next call."""
        name = Path(recipe).stem
        folder, config = self.out / f"longer-{name}", f"configs/opl/{name}.yaml"
        usual = OmegaConf.load(config).run
        steps = 2 if self.dry else LONGER * usual.get("max_steps", 0) or "null"
        call = [
            recipe,
            "--config",
            config,
            f"run.epochs={LONGER * usual.epochs}",
            f"run.max_steps={steps}",
            f"data.bank={self.bank}",
            f"run.out={folder}",
            "run.resume=true",
        ]
        if self.dry:
            call += [*_TINY, *RECIPES[recipe], "data.distractors=0", "run.batch_size=16"]
        try:
            self.run(call, limit=self.left())
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        scores = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
        return {"steps": scores[-1]["step"]} | {
            name: values for name in ("loss", "valid/p@5") if (values := [s[name] for s in scores if name in s])
        }

    def run(self, arguments: list[str], cpu: bool = False, limit: float | None = None) -> str:
        """Run Python; SIGTERM after ``limit`` seconds lets a recipe save its state."""
        environment = os.environ | ({"ACCELERATE_USE_CPU": "true"} if cpu else {})
        process = subprocess.Popen([sys.executable, *arguments], env=environment, stdout=subprocess.PIPE, text=True)
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.communicate()
            raise
        if process.returncode:
            raise RuntimeError(f"{' '.join(arguments[:3])} ... ended with code {process.returncode}")
        return output


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--bank", required=True, help="bank with groups and figures; the last part uses opl's settings")
    parser.add_argument("--out", default="runs/gpu", type=Path, metavar="DIR")
    parser.add_argument("--minutes", default=12.0, type=float, help="minutes after which no part is begun (12)")
    parser.add_argument("--dry-run", action="store_true", help="tiny parts; the report stays in OUT")
    args = parser.parse_args()
    if not args.dry_run and accelerator() is None:
        parser.error("no accelerator here; --dry-run tries the parts on a processor")
    args.out.mkdir(parents=True, exist_ok=True)
    report = Report(args.bank, args.out, args.dry_run, time.monotonic() + 60 * args.minutes)
    file = args.out / "report.json"
    facts = {"device": machine(), "bank": str(Path(args.bank).resolve()), "dry run": args.dry_run}
    done: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else dict(facts)
    if not facts.items() <= done.items():
        parser.error(f"{file}: begun on another device or bank, or as a dry run; --out names another folder")
    for name, part in report.parts():
        if report.left() < 0 or not str(done.get(name, _FAILED)).startswith(_FAILED):
            continue
        print(name, file=sys.stderr)
        try:
            done[name] = part()
        except TimeoutError:
            break  # the training is saved
        except Exception as error:  # the other parts may still work, and the time on a lent machine is short
            done[name] = f"{_FAILED}: {error}"
        with atomic(file) as temporary:
            temporary.write_text(json.dumps(done, indent=2) + "\n", encoding="utf-8")
    if not args.dry_run:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{re.sub(r'[^A-Za-z0-9]+', '-', done['device'])}.json").write_text(
            json.dumps(done, indent=2) + "\n"
        )
    print(json.dumps(done, indent=2))


if __name__ == "__main__":
    main()
