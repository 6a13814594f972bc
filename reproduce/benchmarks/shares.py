"""Where the time of a recipe's steps goes.

    python -m reproduce.benchmarks.shares pretrain/moco.py --config configs/small/moco.yaml data.bank=BANK \\
        run.out=OUT run.max_steps=20

Runs the recipe itself, and clocks it from its first step to its last; between the two it neither evaluates nor saves.
"""

from __future__ import annotations

import inspect
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any
from unittest.mock import patch

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils.data import DataLoader

from reproduce.benchmarks.harness import add_recipe, make_parser, open_recipe
from tqnet.config import ConfigError
from tqnet.libraries import on_cuda
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.training import session
from tqnet.training.config import RecipeConfig

#: What the time is divided among. The streams and the fusion count forwards and backwards, the loss forwards; ``keys``
#: is the momentum encoder; ``other`` is pooling, and autograd between the parts.
PARTS = ("loader", "text", "visual", "fusion", "keys", "loss", "optimizer", "other")


class Stopwatch:
    """Seconds by part, between the first and the last optimizer step."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)
        self._begun: dict[tuple[str, str], float] = {}
        self._first = 0.0
        self.steps = -1
        self.seconds: dict[str, float] = {}
        self.total = 0.0

    def optimizer_begins(self, *_: Any) -> None:
        self._begin("optimizer", "step")

    def optimizer_ends(self, *_: Any) -> None:
        """A step is done: what was clocked until now counts. The first step starts the clock."""
        self._end("optimizer", "step")
        if self.steps < 0:
            self._seconds.clear()
            self._first = time.perf_counter()
        self.steps += 1
        self.seconds = dict(self._seconds)
        self.total = time.perf_counter() - self._first

    def watch(self, part: str, module: nn.Module, entrance: nn.Module | None) -> None:
        """Clock a module; without gradients it is the momentum encoder's copy.

        In the backward pass, it is clocked from the gradient of its output to the gradient of its input.

        Args:
            entrance: First layer of a module whose input has no gradient: the gradient of its output comes last.
        """

        def before(_: nn.Module, inputs: tuple[Any, ...]) -> None:
            if entrance is None:
                self._on_gradient(inputs[0], self._end, part)
            self._begin(self._as(part), "forward")

        def after(_: nn.Module, __: Any, output: Any) -> None:
            self._end(self._as(part), "forward")
            self._on_gradient(output if isinstance(output, torch.Tensor) else output[0], self._begin, part)

        module.register_forward_pre_hook(before)
        module.register_forward_hook(after)
        if entrance is not None:
            entrance.register_forward_hook(lambda _, __, output: self._on_gradient(output, self._end, part))

    def clocked(self, part: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            begun = time.perf_counter()
            done = work(*arguments, **options)
            self._seconds[part] += time.perf_counter() - begun
            return done

        return run

    @staticmethod
    def _as(part: str) -> str:
        return part if torch.is_grad_enabled() else "keys"

    @staticmethod
    def _on_gradient(tensor: torch.Tensor, clock: Callable[[str, str], None], part: str) -> None:
        if tensor.requires_grad:
            tensor.register_hook(lambda _: clock(part, "backward"))

    def _begin(self, part: str, way: str) -> None:
        self._begun[part, way] = time.perf_counter()

    def _end(self, part: str, way: str) -> None:
        """The last one counts: figures that pass the convolutions in parts come back in parts."""
        if (begun := self._begun.get((part, way))) is not None:
            self._begun[part, way] = ended = time.perf_counter()
            self._seconds[part] += ended - begun


def watch_model(watch: Stopwatch, model: QuestionEncoder) -> None:
    for part, first in (("text", nn.Embedding), ("visual", nn.Conv2d), ("fusion", None)):
        if isinstance(module := getattr(model, part, None), nn.Module):
            layers = [layer for layer in module.modules() if first is not None and isinstance(layer, first)]
            watch.watch(part, module, layers[0] if layers else None)


@contextmanager
def watched(watch: Stopwatch, recipe: ModuleType) -> Iterator[None]:
    """The recipe with a clock in its model, its objectives, its loader and its optimizer."""
    original_build, original_iter = session.build, DataLoader.__iter__

    def build(*arguments: Any) -> Any:
        model = original_build(*arguments)
        watch_model(watch, model)
        return model

    def iterate(loader: DataLoader[Any]) -> Iterator[Any]:
        iterator = original_iter(loader)
        load = watch.clocked("loader", lambda: next(iterator, None))
        while (batch := load()) is not None:
            yield batch

    with ExitStack() as stack:
        stack.enter_context(patch.object(session, "build", build))
        stack.enter_context(patch.object(DataLoader, "__iter__", iterate))
        for name, value in list(vars(recipe).items()):
            if inspect.isfunction(value) and value.__module__.startswith("tqnet.losses"):
                stack.enter_context(patch.object(recipe, name, watch.clocked("loss", value)))
        stack.callback(register_optimizer_step_pre_hook(watch.optimizer_begins).remove)
        stack.callback(register_optimizer_step_post_hook(watch.optimizer_ends).remove)
        yield


def shares(recipe: ModuleType, config: RecipeConfig) -> dict[str, Any]:
    """Questions per second, and of every part its share of the time."""
    if on_cuda():
        raise ConfigError("the clock sees no accelerator, which works on when a call returns: ACCELERATE_USE_CPU=true")
    watch = Stopwatch()
    with watched(watch, recipe):
        recipe.main(config)
    if watch.steps < 1:
        raise ConfigError("run.epochs: a single step leaves nothing to clock")
    known = {part: watch.seconds.get(part, 0.0) / watch.total for part in PARTS[:-1]}
    return {
        "recipe": recipe.__name__,
        "steps": watch.steps,
        "questions_per_second": round(watch.steps * config.run.batch_size * config.run.accumulate / watch.total, 1),
        "shares_of_time": {
            part: round(share, 3) for part, share in (known | {"other": 1 - sum(known.values())}).items()
        },
    }


def main() -> None:
    parser = make_parser(__doc__)
    add_recipe(parser)
    args, settings = parser.parse_known_args()
    with session.clear_errors():
        print(json.dumps(shares(*open_recipe(parser, args.recipe, settings)), indent=2))


if __name__ == "__main__":
    main()
