"""The training loop that all recipes share: steps, logs, checkpoints, and clean ends."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object, set_seed
from torch import Tensor, nn
from torch.utils.data import DataLoader
from tqdm import tqdm

from tqnet.modeling.model import PART, TQNetModel
from tqnet.training.checkpoint import checkpoints, load_checkpoint, replace_folder, save_checkpoint
from tqnet.training.config import OptimConfig, RunConfig
from tqnet.training.data import Batch, QuestionViews
from tqnet.training.distributed import any_process
from tqnet.training.logging import MetricsLog
from tqnet.training.optim import build_optimizer, build_schedule
from tqnet.training.sampler import BatchPlan, LocalBatches

log = logging.getLogger(__name__)


class Interrupted(SystemExit):
    """Ctrl-C or SIGTERM: the state is saved; exit code 130 or 143."""


class NonFiniteLossError(RuntimeError):
    """The loss is NaN or infinite; the message names the batch's questions."""


class TrainingLoop:
    """Steps through a plan of batches.

    A recipe builds its modules, then reads::

        loop = TrainingLoop(accelerator, config, ...)
        for batch in loop:
            loss, logged = ...
            loop.step(loss, logged)
        return loop.finish()

    Args:
        model: The TQ-Net that the run is for; saved to ``out/model`` at the end, or its best state.
        trained: Everything with gradients, the model included; prepared (DDP) as ``loop.trained``.
        state: Further modules that belong into a checkpoint: a key encoder, a queue.
        evaluate: Gives a score of the model, higher is better, at every evaluation; the best is kept.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        run: RunConfig,
        optim: OptimConfig,
        *,
        model: TQNetModel,
        trained: nn.Module,
        views: QuestionViews,
        plan: BatchPlan,
        state: dict[str, nn.Module] | None = None,
        evaluate: Callable[[], dict[str, float]] | None = None,
    ):
        self.accelerator, self.run, self.model, self.plan, self.views = accelerator, run, model, plan, views
        self.out = Path(run.out)
        micro = run.epochs * len(plan)
        self.steps = micro // run.accumulate
        if run.max_steps:
            self.steps = min(self.steps, run.max_steps)
        if not self.steps:
            raise ValueError(f"run.batch_size: {run.batch_size} x accumulate {run.accumulate} leaves no step")
        set_seed(run.seed, device_specific=True)  # from here on every process draws a dropout of its own
        optimizer = build_optimizer(trained, optim)
        self.schedule = build_schedule(optimizer, optim, self.steps)
        self.clip = optim.clip
        self.trained, self.optimizer = accelerator.prepare(trained, optimizer)
        self.state = {name: module.to(accelerator.device) for name, module in (state or {}).items()}
        self._evaluate = evaluate
        self._part = PART if self.device.type == "cpu" else run.batch_size
        self._eval_every = run.eval_every or max(1, len(plan) // run.accumulate)
        self.step_number, self.best, self.stepped = 0, float("-inf"), False
        self._micro, self._signal = 0, 0
        self._sums: dict[str, tuple[float, int]] = {}
        self._resume()

    @property
    def device(self) -> torch.device:
        return self.accelerator.device

    def __iter__(self) -> Iterator[Batch]:
        """Batches on the device, from where the run stands to its end; saves and stops on a signal."""
        handlers = {number: signal.signal(number, self._on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
        self._reset_clock()
        iterator = self.batches(self.step_number * self.run.accumulate, self.steps * self.run.accumulate)
        try:
            with self._progress() as self.bar:
                while True:
                    asked = time.perf_counter()
                    batch = next(iterator, None)
                    if batch is None:
                        return
                    self._waited += time.perf_counter() - asked
                    self._batch = batch
                    self.stepped = (self._micro + 1) % self.run.accumulate == 0
                    # DDP decides in its forward pass whether gradients will meet: in the last micro-batch only.
                    with nullcontext() if self.stepped else self.accelerator.no_sync(self.trained):
                        yield batch
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def batches(self, first: int, stop: int) -> Iterator[Batch]:
        """This process's share of the global micro-batches ``first`` to ``stop``, on the device."""
        sampler = LocalBatches(
            self.plan,
            first,
            stop,
            self.accelerator.process_index,
            self.accelerator.num_processes,
            self.views.views,
            self.run.seed,
        )
        loader = DataLoader(
            self.views,
            batch_sampler=sampler,
            collate_fn=self.views.collate,
            num_workers=self.views.workers,
            persistent_workers=self.views.workers > 0,
            pin_memory=self.device.type == "cuda",
            generator=torch.Generator(),  # else it draws from the one of dropout, once more in a resumed run
        )
        for batch in loader:
            yield batch.to(self.device)

    def later_batches(self, count: int) -> Iterator[Batch]:
        """``count`` micro-batches of the epochs after the last: none that the run itself will see."""
        return self.batches(self.last_micro, self.last_micro + count)

    @property
    def last_micro(self) -> int:
        """Number of the first micro-batch after the last epoch."""
        return self.run.epochs * len(self.plan)

    def step(self, loss: Tensor, logged: Mapping[str, float | Tensor]) -> None:
        """Backward, and every ``run.accumulate`` calls an optimizer step with all that belongs to it."""
        self._check(loss)
        self._micro += 1
        self.accelerator.backward(loss / self.run.accumulate)
        self._add({"loss": loss.detach(), **logged, "padding": self._batch.padding(self._part)})
        if not self.stepped:
            return
        if self.clip:
            self._add({"gradient_norm": self.accelerator.clip_grad_norm_(self.trained.parameters(), self.clip)})
        self.optimizer.step()
        self.schedule.step()
        self.optimizer.zero_grad()
        self.step_number += 1
        self.bar.update()

    def after_step(self) -> None:
        """Log, evaluate, save, stop: call it last in the loop's body, when all state has moved."""
        if not self.stepped:
            return
        last = self.step_number == self.steps
        if self.step_number % self.run.log_every == 0 or last:
            self._log()
        if self._evaluate and (self.step_number % self._eval_every == 0 or last):
            begun = time.perf_counter()
            self._keep_best(self._evaluate())
            self._clock += time.perf_counter() - begun  # no time of training
        stopping = any_process(self.accelerator, self._signal != 0)
        if stopping or self.step_number % self.run.save_every == 0 or last:
            self._save()
        if stopping:
            log.info("stopped at step %d; run.resume=true goes on from there", self.step_number)
            self.metrics.close()
            raise Interrupted(128 + (self._signal or signal.SIGTERM))

    def finish(self) -> Path:
        """Write the last state where no evaluation chose a best one; returns the model's folder."""
        folder = self.out / "model"
        if self._evaluate is None:
            self._write_model(folder)
        self.metrics.close()
        self.accelerator.wait_for_everyone()
        log.info("model: %s", folder)
        return folder

    def _resume(self) -> None:
        resumed, folder = None, self.out / "checkpoints"
        if not self.run.resume and checkpoints(folder):
            raise ValueError(
                f"run.out: {folder} holds the checkpoints of an earlier run; run.resume=true goes on with it, "
                "a new run needs another folder or this one without them"
            )
        if self.run.resume and (state := load_checkpoint(folder, self.accelerator)):
            self.accelerator.unwrap_model(self.trained).load_state_dict(state["trained"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.schedule.load_state_dict(state["schedule"])
            for name, module in self.state.items():
                module.load_state_dict(state["state"][name])
            resumed = self.step_number = state["step"]
            self._micro = self.step_number * self.run.accumulate
            self.best, self._sums = state["best"], state["sums"]
            log.info("resumed at step %d of %d", self.step_number, self.steps)
        self.resumed = resumed is not None
        if self.accelerator.is_main_process:
            self.out.mkdir(parents=True, exist_ok=True)
            self.metrics: MetricsLog | _NoMetrics = MetricsLog(self.out, resumed, self.run.wandb, asdict(self.run))
        else:
            self.metrics = _NoMetrics()

    def _save(self) -> None:
        state = {
            "step": self.step_number,
            "best": self.best,
            "sums": self._sums,
            "trained": self.accelerator.unwrap_model(self.trained).state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "state": {name: module.state_dict() for name, module in self.state.items()},
        }
        save_checkpoint(self.out / "checkpoints", self.step_number, state, self.accelerator, self.run.keep)

    def _keep_best(self, scores: dict[str, float]) -> None:
        self.metrics.write({"step": self.step_number, **scores})
        score = next(iter(scores.values()))
        if score > self.best:
            self.best = score
            self._write_model(self.out / "model")
        log.info("step %d: %s", self.step_number, "  ".join(f"{n} {v:.4f}" for n, v in scores.items()))

    def _write_model(self, folder: Path) -> None:
        if self.accelerator.is_main_process:
            temporary = folder.with_name(f".{folder.name}.tmp")
            self.model.save_pretrained(temporary)
            replace_folder(temporary, folder)

    def _check(self, loss: Tensor) -> None:
        if any_process(self.accelerator, not bool(torch.isfinite(loss.detach()))):
            ids = ", ".join(gather_object(self.views.ids(self._batch.index)))
            raise NonFiniteLossError(
                f"step {self.step_number + 1}: the loss is not finite; lower optim.lr or look at the "
                f"questions of this batch: {ids}"
            )

    def _add(self, values: Mapping[str, float | Tensor]) -> None:
        for name, value in values.items():
            total, count = self._sums.get(name, (0.0, 0))
            self._sums[name] = (total + float(value), count + 1)

    def _log(self) -> None:
        seconds = time.perf_counter() - self._clock
        means = {name: total / count for name, (total, count) in self._sums.items()}
        speed = (self.step_number - self._clock_step) * self.run.batch_size * self.run.accumulate / seconds
        record = {
            "step": self.step_number,
            "questions": self.step_number * self.run.batch_size * self.run.accumulate,
            **means,
            "lr": self.schedule.get_last_lr()[0],
            "questions_per_second": speed,
            "loader_share": self._waited / seconds,
        }
        self.metrics.write({name: round(v, 6) if isinstance(v, float) else v for name, v in record.items()})
        self.bar.set_postfix_str(f"loss {means['loss']:.3f}, {speed:.0f} questions/s")
        self._sums = {}
        self._reset_clock()

    def _reset_clock(self) -> None:
        self._clock, self._clock_step, self._waited = time.perf_counter(), self.step_number, 0.0

    def _progress(self) -> Any:
        hidden = not self.accelerator.is_main_process
        return tqdm(total=self.steps, initial=self.step_number, unit=" steps", desc=self.out.name, disable=hidden)

    def _on_signal(self, number: int, _: Any) -> None:
        if self._signal:  # asked twice: at once
            raise KeyboardInterrupt
        self._signal = number


class _NoMetrics:
    """What other processes than the first write to."""

    def write(self, record: dict[str, Any]) -> None: ...

    def close(self) -> None: ...
