"""How much of a machine's arithmetic a recipe's steps use: model FLOPs utilisation (Chowdhery et al. 2022).

    python -m reproduce.benchmarks.mfu pretrain/moco.py --config configs/paper/moco.yaml data.bank=BANK \\
        model.start=runs/mlm/model run.out=OUT run.max_steps=20

Runs the recipe twice with the same batches: counting the operations of its matrix products, convolutions and attention,
those of the momentum encoder too, but not those of a QuesNet's LSTMs; then by the clock, loader and optimizer included.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils.flop_counter import FlopCounterMode

from reproduce.benchmarks.harness import add_recipe, make_parser, open_recipe
from tqnet.config import ConfigError
from tqnet.libraries import machine, on_cuda, precision
from tqnet.training import session
from tqnet.training.config import RecipeConfig

#: Part of an accelerator's name -> its data sheet's TFLOP/s in bf16 and fp16, dense.
DATA_SHEETS = {"H200": 989.0, "H100 80GB HBM3": 989.0, "H100 PCIe": 756.0, "A100": 312.0}

#: Side of the matrices whose product stands for the peak of a machine that has no data sheet here.
SIDE = 4096


def utilisation(recipe: ModuleType, config: RecipeConfig, peak: float | None = None) -> dict[str, Any]:
    """Return operations and seconds of a step, and the share of the peak that they reach.

    Args:
        peak: TFLOP/s; by default of the data sheet, else what a large matrix product reaches here and now.
    """
    with FlopCounterMode(display=False) as counter:
        operations = _per_step(recipe, config, "counted", counter.get_total_flops)
    seconds = _per_step(recipe, config, "clocked", _clock)
    kind = precision(config.run.precision)
    peak, by = (peak, "as given") if peak else _peak(kind)
    reached = operations / seconds / 1e12
    return {
        "recipe": recipe.__name__,
        "machine": machine(),
        "precision": kind,
        "questions_per_step": config.run.batch_size * config.run.accumulate,
        "tflop_per_step": _digits(operations / 1e12),
        "seconds_per_step": _digits(seconds),
        "tflop_per_second": _digits(reached),
        "peak_tflop_per_second": _digits(peak),
        "peak_by": by,
        "mfu": _digits(reached / peak),
    }


def _per_step(recipe: ModuleType, config: RecipeConfig, name: str, meter: Callable[[], float]) -> float:
    """Return the average change of a meter from one step's end to the next; the first step warms up."""
    read: list[float] = []
    handle = register_optimizer_step_post_hook(lambda *_: read.append(meter()))
    try:
        recipe.main(replace(config, run=replace(config.run, out=f"{config.run.out}/{name}")))
    finally:
        handle.remove()
    if len(read) < 2:
        raise ConfigError("run.epochs: a single step leaves nothing to clock")
    return (read[-1] - read[0]) / (len(read) - 1)


def _clock() -> float:
    if on_cuda():
        torch.cuda.synchronize()
    return time.perf_counter()


def _peak(kind: str) -> tuple[float, str]:
    """Return TFLOP/s, and their source."""
    if on_cuda() and kind != "fp32":
        for name, sheet in DATA_SHEETS.items():
            if name in torch.cuda.get_device_name():
                return sheet, f"data sheet of {name}"
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(kind, torch.float32)
    square = torch.randn(SIDE, SIDE, dtype=dtype, device="cuda" if on_cuda() else "cpu")
    rounds = []
    for _ in range(5):  # the first warms up, and the best is what the machine can do
        begun = _clock()
        square @ square
        rounds.append(_clock() - begun)
    return 2 * SIDE**3 / min(rounds) / 1e12, f"a product of two {kind} matrices of side {SIDE:,}"


def _digits(value: float) -> float:
    """Round to four significant digits."""
    return float(f"{value:.4g}")


def main() -> None:
    parser = make_parser(__doc__)
    add_recipe(parser)
    parser.add_argument("--peak", type=float, metavar="TFLOPS", help="peak of the machine, if it is not known")
    args, settings = parser.parse_known_args()
    with session.clear_errors():
        recipe, config = open_recipe(parser, args.recipe, settings)
        print(json.dumps(utilisation(recipe, config, args.peak), indent=2))


if __name__ == "__main__":
    main()
