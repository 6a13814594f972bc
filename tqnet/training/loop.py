"""The training loop shared by all recipes: steps, logs, checkpoints, clean exits."""

from __future__ import annotations

import atexit
import logging
import math
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Protocol

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object, set_seed
from torch import Tensor, nn
from torch.utils.data import DataLoader
from tqdm import tqdm

from tqnet.config import ConfigError
from tqnet.files import CARD, atomic_folder
from tqnet.modeling.lengths import Parts
from tqnet.training.checkpoint import checkpoints, load_checkpoint, save_checkpoint, sweep
from tqnet.training.config import RecipeConfig
from tqnet.training.data import Batch, QuestionViews, WorkerBatches
from tqnet.training.logging import MetricsLog, Pace, peak_memory
from tqnet.training.optim import (
    build_optimizer,
    build_schedule,
    complete_gradients,
    mark_trained_figures,
)
from tqnet.training.processes import HostFlags, Interrupted, Signals, kill_workers, leave_signals_to_the_run
from tqnet.training.provenance import Provenance
from tqnet.training.sampler import BatchPlan, LocalBatches

log = logging.getLogger(__name__)


class NonFiniteLossError(RuntimeError):
    """A NaN or infinite loss or gradient; the message names the step's questions."""


class Saveable(Protocol):
    """A model that a run trains and saves."""

    @property
    def cells_per_image(self) -> int:
        """Visual tokens per figure."""

    def save_pretrained(self, folder: Path) -> None:
        """Write everything needed for loading to ``folder``."""


class FiniteGuard:
    """Finds the first loss or gradient of a run that is not finite, and names its questions.

    Looking waits for the device, so the values are kept there until :meth:`look`; meanwhile the optimizer skips steps
    whose gradient is not finite.
    """

    def __init__(self, accelerator: Accelerator, views: QuestionViews):
        self._accelerator, self._views = accelerator, views
        self._finite: list[Tensor] = []
        self._origins: list[tuple[int, str, Tensor]] = []

    def add(self, step: int, what: str, finite: Tensor, index: Tensor) -> None:
        """Note if a loss or gradient of ``step``, from the questions ``index``, is ``finite``, a bool scalar."""
        self._finite.append(finite)
        self._origins.append((step, what, index))

    def look(self) -> None:
        """Raise for the first value since the last look that is not finite, on any process."""
        faulty = self._accelerator.reduce((~torch.stack(self._finite)).float(), "sum").cpu().numpy() > 0
        if faulty.any():
            step, what, index = self._origins[faulty.argmax()]
            ids = ", ".join(gather_object(self._views.ids(index)))
            raise NonFiniteLossError(
                f"step {step}: the {what} is not finite; lower optim.lr or look at the questions of this batch: {ids}"
            )
        self._finite, self._origins = [], []


class TrainingLoop:
    """Steps through a plan of batches.

    A recipe builds its modules, then reads::

        loop = TrainingLoop(accelerator, config, model=model, trained=model, plan=plan, views=views)
        for batch in loop:
            loss, logged = ...
            loop.step(loss, logged)
        return loop.finish(write_card)

    After each body, with all state up to date, the loop logs, evaluates, saves, and stops on a signal.

    Args:
        config: The recipe's settings; saved in the run's folder with the bank of ``views``, and compared on resume
            (`tqnet.training.provenance`).
        model: The model to train; its last or best state is saved to ``out/model``.
        trained: All modules with gradients, including the model; wrapped (DDP) as ``loop.trained``.
        state: Further modules to checkpoint, such as a key encoder or queue.
        parts: Splits a batch into parts padded separately, to log padding; None logs none.
        per_item: Questions per batch item, for the log: 3 in a triple.
        evaluate: Scores the model at every evaluation; the first score, higher is better, chooses the best state.

    Attributes:
        micro: Number of the current micro-batch until ``step``, then of the next.
        last_micro: Number of the first micro-batch after the last epoch.
        stepped: Whether the optimizer steps on this micro-batch.

    Raises:
        ConfigError: ``run.out`` holds a run but ``run.resume`` is false, or holds a different run and it is true; or
            there are too few questions for a step.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        config: RecipeConfig,
        *,
        model: Saveable,
        trained: nn.Module,
        views: QuestionViews,
        plan: BatchPlan,
        state: dict[str, nn.Module] | None = None,
        parts: Parts | None = None,
        per_item: int = 1,
        evaluate: Callable[[], dict[str, float]] | None = None,
    ):
        run, optim = config.run, config.optim
        self.accelerator, self.run, self.model, self.plan, self.views = accelerator, run, model, plan, views
        self.device, self.out = accelerator.device, Path(run.out)
        self.last_micro = run.epochs * len(plan)
        self.steps = self.last_micro // run.accumulate
        if run.max_steps:
            if self.steps < run.max_steps:
                log.warning("run.max_steps: %d, but run.epochs=%d are %d steps", run.max_steps, run.epochs, self.steps)
            self.steps = min(self.steps, run.max_steps)
        if not self.steps:
            raise ConfigError(f"run.batch_size: {run.batch_size} x accumulate {run.accumulate} leaves no step")
        set_seed(run.seed, device_specific=True)  # from here on, dropout differs between processes
        optimizer = build_optimizer(trained, optim)
        if isinstance(model, nn.Module):
            mark_trained_figures(model, optimizer)
        self.schedule = build_schedule(optimizer, optim, self.steps)
        self.clip = optim.clip or math.inf  # the norm is logged either way
        self._fused = optimizer
        self.trained, self.optimizer = accelerator.prepare(trained, optimizer)
        self._guard, self._flags = FiniteGuard(accelerator, views), HostFlags(accelerator)
        self.state = {name: module.to(self.device) for name, module in (state or {}).items()}
        self._parts, self._evaluate = parts, evaluate
        self._eval_every = run.eval_every or max(1, len(plan) // run.accumulate)
        self.step_number, self.micro, self.best, self.stepped = 0, 0, float("-inf"), False
        self._signals, self._pace = Signals(), Pace(run.batch_size * run.accumulate * per_item)
        self._seen: list[Tensor] = []  # numbers of the questions since the last optimizer step
        self._resume(Provenance(config, views.bank))

    def __iter__(self) -> Iterator[Batch]:
        """Yield the remaining batches of the run, on the device."""
        iterator = self.batches(self.micro, self.steps * self.run.accumulate)
        with self._signals, self._progress() as self.bar:
            if self._evaluate and not self.resumed:
                # Log the starting point, but never keep it as the best state: a stage that only harms should show
                # that, not return its start.
                self._log_scores(self._evaluate())
            self._pace.restart(self.step_number)
            while (batch := self._pace.wait(lambda: next(iterator, None))) is not None:
                self._batch = batch
                self.stepped = (self.micro + 1) % self.run.accumulate == 0
                self.trained.train()
                # DDP decides in the forward pass whether to sync gradients: on the last micro-batch only.
                with nullcontext() if self.stepped else self.accelerator.no_sync(self.trained):
                    yield batch
                if self.stepped:
                    self._after_step()

    def batches(self, first: int, stop: int) -> Iterator[Batch]:
        """Yield this process's share of global micro-batches ``first`` to ``stop``, on the device."""
        rank, world = self.accelerator.process_index, self.accelerator.num_processes
        workers = self.views.workers
        sampler = LocalBatches(self.plan, first, stop, rank, world, self.views.views, self.run.seed)
        loader = DataLoader(
            WorkerBatches(self.views),
            batch_sampler=sampler,
            collate_fn=WorkerBatches.collate,
            num_workers=workers,  # not persistent: after an error, torch's queues would end in tracebacks at exit
            worker_init_fn=leave_signals_to_the_run,
            pin_memory=self.device.type == "cuda",
            generator=torch.Generator(),  # the default one drives dropout and would be advanced on resume
        )
        if workers:
            atexit.register(kill_workers)
        for batch in loader:
            if isinstance(batch, Exception):
                raise batch
            batch.everywhere = sampler.yielded.popleft()
            yield batch.to(self.device)

    def later_batches(self, count: int) -> Iterator[Batch]:
        """Yield ``count`` micro-batches from epochs after the last, which the run never reaches."""
        return self.batches(self.last_micro, self.last_micro + count)

    def step(self, loss: Tensor, logged: Mapping[str, float | Tensor]) -> None:
        """Run the backward pass and, every ``run.accumulate`` calls, an optimizer step."""
        self._guard.add(self.step_number + 1, "loss", torch.isfinite(loss.detach()), self._batch.index)
        self.micro += 1
        self._seen.append(self._batch.index)
        self.accelerator.backward(loss / self.run.accumulate)
        self._pace.add({"loss": loss.detach(), **logged})
        if self._parts:
            self._pace.add({"padding": self._batch.padding(self._parts, self.model.cells_per_image)})
        if not self.stepped:
            return
        complete_gradients(self.trained)
        norm = self.accelerator.clip_grad_norm_(self.trained.parameters(), self.clip)
        finite = torch.isfinite(norm)
        self._guard.add(self.step_number + 1, "gradient", finite, torch.cat(self._seen))
        self._seen = []
        self._pace.add({"gradient_norm": norm})
        # Fused optimizers skip the step, on the device, where it is 1.
        self._fused.found_inf = (~finite).float()  # type: ignore[attr-defined]
        self.optimizer.step()
        self.schedule.step()
        self.optimizer.zero_grad()
        self.step_number += 1
        self.bar.update()

    def finish(self, write_card: Callable[[Path], object]) -> Path:
        """Write the last state, unless evaluations chose the best, and the model card; return the model's folder.

        Args:
            write_card: Writes README.md into the model's folder; failures are only logged.
        """
        folder = self.out / "model"
        if self._evaluate is None:
            self._write_model(folder)
        if self.accelerator.is_main_process and (self.step_number > self._begun or not (folder / CARD).exists()):
            try:
                write_card(folder)
            except (OSError, ValueError) as error:  # the model is saved already
                log.warning("no model card: %s", error)
        if self.metrics:
            self.metrics.close()
        self.accelerator.wait_for_everyone()
        log.info("model: %s", folder)
        return folder

    def _after_step(self) -> None:
        last = self.step_number == self.steps
        logging = last or self.step_number % self.run.log_every == 0
        evaluating = self._evaluate is not None and (last or self.step_number % self._eval_every == 0)
        stopping = self._flags.any(self._signals.number != 0)
        saving = stopping or last or self.step_number % self.run.save_every == 0
        if logging or evaluating or saving or self.device.type == "cpu":
            self._guard.look()
        if logging:
            self._log()
        if evaluating:
            self._pace.pause(self._keep_best)
        if saving:
            self._pace.pause(self._save)
        if stopping:
            log.info("stopped at step %d; run.resume=true continues from there", self.step_number)
            if self.metrics:
                self.metrics.close()
            raise Interrupted(self._signals.exit_code)

    def _resume(self, provenance: Provenance) -> None:
        folder = self.out / "checkpoints"
        if not self.run.resume and checkpoints(folder):
            raise ConfigError(
                f"run.out: {folder} holds the checkpoints of an earlier run; run.resume=true continues it, "
                "a new run needs another folder or this one without them"
            )
        state = load_checkpoint(folder, self.accelerator) if self.run.resume else None
        if state:
            provenance.check(state.get("identity"), str(folder))
            self._plain.load_state_dict(state["trained"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.schedule.load_state_dict(state["schedule"])
            for name, module in self.state.items():
                module.load_state_dict(state["state"][name])
            self.step_number, self.best = state["step"], state["best"]
            self.micro = self.step_number * self.run.accumulate
            self._pace.sums = state["sums"] if self.accelerator.is_main_process else {}
            log.info("resumed at step %d of %d", self.step_number, self.steps)
        self.resumed, self._begun, self._identity = state is not None, self.step_number, provenance.identity
        self.metrics: MetricsLog | None = None
        if self.accelerator.is_main_process:
            self.out.mkdir(parents=True, exist_ok=True)
            sweep(folder)
            for stale in self.out.glob(".model.*.tmp"):
                shutil.rmtree(stale, ignore_errors=True)
            provenance.write(self.out)  # only now is the folder known to be this run's
            step = self.step_number if self.resumed else None
            self.metrics = MetricsLog(self.out, step, self.run.wandb, provenance.settings)

    @property
    def _plain(self) -> nn.Module:
        """The trained modules without wrappers, so that a checkpoint does not tell if they were compiled."""
        plain: nn.Module = self.accelerator.unwrap_model(self.trained, keep_torch_compile=False)
        return plain

    def _save(self) -> None:
        self._pace.pool(self.accelerator)
        state = {
            "step": self.step_number,
            "best": float(self.best),
            "sums": self._pace.sums,
            "identity": self._identity,
            "trained": self._plain.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "state": {name: module.state_dict() for name, module in self.state.items()},
        }
        save_checkpoint(self.out / "checkpoints", self.step_number, state, self.accelerator, self.run.keep)

    def _keep_best(self) -> None:
        assert self._evaluate is not None
        scores = self._evaluate()
        self._log_scores(scores)
        score = next(iter(scores.values()))
        if score > self.best:
            self.best = score
            self._write_model(self.out / "model")

    def _log_scores(self, scores: dict[str, float]) -> None:
        if self.metrics:
            self.metrics.write({"step": self.step_number, **scores})
        log.info("step %d: %s", self.step_number, "  ".join(f"{name} {v:.4f}" for name, v in scores.items()))

    def _write_model(self, folder: Path) -> None:
        if self.accelerator.is_main_process:
            with atomic_folder(folder) as temporary:
                self.model.save_pretrained(temporary)
                if (folder / CARD).is_file():
                    shutil.copy2(folder / CARD, temporary / CARD)  # may be hand-written

    def _log(self) -> None:
        self._pace.pool(self.accelerator)
        record = self._pace.record(self.step_number, float(max(self.schedule.get_last_lr())))
        if self.metrics:
            self.metrics.write(record | {"peak_memory_mib": peak_memory(self.device)})
            self.bar.set_postfix_str(f"loss {record['loss']:.3f}, {record['questions_per_second']:.0f} questions/s")

    def _progress(self) -> tqdm:
        hidden = not self.accelerator.is_main_process
        return tqdm(total=self.steps, initial=self.step_number, unit=" steps", desc=self.out.name, disable=hidden)
