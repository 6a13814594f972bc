"""Multi-modal multi-task pre-training (MMP of FSE, "Exercise Semantic Representation Module", Eq. 1 to 3; Figure 4).

    accelerate launch pretrain/multitask.py --config configs/small/multitask.yaml data.bank=BANK run.out=runs/multitask

Seven tasks share the encoder, and a question takes part in those that it has the field for: its masked words; the order
of two segments of its text; its solution among those of other questions; its type, difficulty and knowledge concepts;
its figures among those of other questions. Then comes ``finetune/similar.py`` (Eq. 4), as after any stage.

A question passes the encoder three times. Masked words and swapped segments would spoil vectors but not each other: as
in ALBERT they share a pass. All vectors are of the question as it is, in a second one, which alone reads figures. The
third is the solution's, of two tokens where there is none. What no task asks for does not pass.

Eq. 1, e = Norm(sum of token states), is the direction of their mean, which the encoder gives. Eq. 2 is
`tqnet.losses.contrastive.in_batch_infonce`: NOTE, the paper's lacks the exponentials. Its negatives are drawn from the
bank; here they are the other questions of the batch, of all processes.

NOTE: a figure is found by the vector of the text alone (Eq. 3). The fused one has seen it, and need only hand it on.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field
from pathlib import Path

import torch

from tqnet.hub.folder import write_card
from tqnet.modeling.model import TQNetModel
from tqnet.questions import KnowledgeHierarchy, QuestionBank
from tqnet.text.sentences import halves
from tqnet.training import session
from tqnet.training.config import ConfigError, OptimConfig, RecipeConfig, at_least, parse_config, within
from tqnet.training.data import IGNORED, MaskTokens
from tqnet.training.labels import (
    ClassLabels,
    ConceptLabels,
    difficulty_labels,
    label_head,
    training_knowledge,
    type_labels,
)
from tqnet.training.loop import TrainingLoop
from tqnet.training.multitask import MultiTaskModel, Solutions, TaskLosses, TaskViews
from tqnet.training.sampler import ShuffledBatches
from tqnet.training.validation import ValidationPrecision

log = logging.getLogger(__name__)

#: View of a question -> the tasks that it is passed for (`tqnet.training.multitask`).
VIEWS = {
    "content": {"solution", "type", "difficulty", "knowledge", "figures"},
    "segments": {"words", "order"},
    "solution": {"solution"},
}


@dataclass
class TaskWeights:
    """Of the tasks' losses; with 0 a task is left out, and with it its head and the pass that it alone needs.

    Attributes:
        words, order, solution: Of masked words, of the order of segments, and of contrast with the solution (Eq. 2).
        type, difficulty, knowledge: Of the classifications.
        figures: Of exercise image prediction (Eq. 3).
    """

    words: float = 1.0
    order: float = 1.0
    solution: float = 1.0
    type: float = 0.5
    difficulty: float = 0.5
    knowledge: float = 0.5
    figures: float = 0.5

    def __post_init__(self) -> None:
        for name, weight in vars(self).items():
            within(0, math.inf, f"weights.{name}", weight, ends="[)")


@dataclass
class MultiTaskConfig(RecipeConfig):
    """Settings of the stage.

    Attributes:
        mask: Share of words and formula tokens that are masked.
        temperature: Of both contrasts.
        least_solution: Tokens that answer and analysis have together at least; shorter ones take no part.
        difficulty_levels: Into which difficulties are cut where they have more values than that.
        level: Of the knowledge concepts, 1 is the coarsest; null is the finest.
    """

    optim: OptimConfig = field(default_factory=lambda: OptimConfig(lr=3e-4, text_lr=3e-5))
    weights: TaskWeights = field(default_factory=TaskWeights)
    mask: float = 0.15
    temperature: float = 0.05
    least_solution: int = 4
    difficulty_levels: int = 5
    level: int | None = None

    def __post_init__(self) -> None:
        within(0, 1, "mask", self.mask, ends="()")
        within(0, math.inf, "temperature", self.temperature, ends="()")
        at_least(1, "least_solution", self.least_solution)
        at_least(2, "difficulty_levels", self.difficulty_levels)
        at_least(1, "level", self.level)


def main(config: MultiTaskConfig) -> Path:
    accelerator = session.start(config.run)
    bank = session.training_questions(config.data, pretraining=True)
    model, processor = session.build(config, bank)
    if not isinstance(model, TQNetModel):
        raise ConfigError(f"model: a {model.config.model_type} has no text encoder that words could be masked for")
    if model.config.fusion == "joint" and config.weights.figures:  # its text embedding has seen the figures
        raise ConfigError("model.fusion: joint joins text and figures, which weights.figures contrasts; set that to 0")

    labels = labels_of(bank, config)
    solutions = Solutions.of(bank, processor, config.least_solution) if config.weights.solution else None
    tasks = tasks_of(config, bank, model, labels, solutions)
    labels = {name: of for name, of in labels.items() if name in tasks}
    solutions = solutions if "solution" in tasks else None

    heads = {name: label_head(model.config.hidden_size, of) for name, of in labels.items()}
    multitask = MultiTaskModel(model, set(tasks), heads)
    names = [view for view, of in VIEWS.items() if of & tasks.keys()]
    mask = MaskTokens(processor.tokenizer, config.mask, config.run.seed) if "words" in tasks else None
    views = TaskViews(names, bank, processor, config.run.seed, mask, "order" in tasks, solutions)
    loop = TrainingLoop(
        accelerator,
        config,
        model=model,
        trained=multitask,
        plan=ShuffledBatches(
            session.sort_lengths(bank, processor, model.cells_per_image), config.run.batch_size, config.run.seed
        ),
        views=session.question_views(config, bank, model, prepare=views, read_images="content" in names),
        parts=model.parts,
        evaluate=ValidationPrecision.of(model, config.data, config.run),
    )
    max_images = model.config.max_images if model.config.reads_images else 0
    losses = TaskLosses(accelerator, tasks, bank, labels, solutions, max_images, config.temperature)
    for batch in loop:
        multitask.train()
        masked = batch.extras["words"] != IGNORED if "segments" in names else None
        found = loop.trained(**dict(zip(names, batch.views, strict=True)), masked=masked)
        terms = losses(found, batch)
        loss = torch.stack([weight * terms[task].loss for task, weight in tasks.items()]).sum()
        said = {task: term for task, term in terms.items() if term.count}  # in this batch
        logged = {f"{task}/loss": term.loss.detach() for task, term in said.items()}
        loop.step(loss, logged | {f"{task}/accuracy": term.accuracy for task, term in said.items()})
        loop.after_step()
    return loop.finish(write_card)


def labels_of(bank: QuestionBank, config: MultiTaskConfig) -> dict[str, ClassLabels]:
    """Classification -> what it predicts, of the questions whose labels may be read."""
    labels = {"type": type_labels(bank), "difficulty": difficulty_labels(bank, config.difficulty_levels)}
    hierarchy = KnowledgeHierarchy(training_knowledge(bank))
    if hierarchy.depth:
        with session.settings_at_fault():  # a level that the hierarchy does not have
            labels["knowledge"] = ConceptLabels(hierarchy, hierarchy.depth if config.level is None else config.level)
    return {name: of for name, of in labels.items() if len(of.names) > 1}  # one class alone tells nothing


def tasks_of(
    config: MultiTaskConfig,
    bank: QuestionBank,
    model: TQNetModel,
    labels: dict[str, ClassLabels],
    solutions: Solutions | None,
) -> dict[str, float]:
    """Weights of the tasks that any question takes part in; says how many do.

    Raises:
        ConfigError: No task is left.
    """
    stems, images = (bank.column(name) for name in ("stem", "images"))
    counts = {
        "words": sum(map(bool, stems)),
        "order": sum(bool(halves(stem)) for stem in stems),
        "solution": 0 if solutions is None else int(solutions.present.sum()),
        **{name: labels[name].labelled if name in labels else 0 for name in ("type", "difficulty", "knowledge")},
        "figures": sum(map(bool, images)) if model.config.reads_images else 0,
    }
    weights = {task: weight for task, weight in vars(config.weights).items() if weight}
    for task in weights:
        if counts[task]:
            log.info("%s: %d of %d questions take part", task, counts[task], len(bank))
        else:
            log.warning("%s: no question takes part; the task is left out", task)
    if tasks := {task: weight for task, weight in weights.items() if counts[task]}:
        return tasks
    raise ConfigError("weights: no question takes part in any task of a weight above 0")


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(MultiTaskConfig, __doc__))
