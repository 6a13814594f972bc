"""Multi-modal multi-task pre-training (MMP of FSE, "Exercise Semantic Representation Module", Eq. 1 to 3; Figure 4).

    accelerate launch pretrain/multitask.py --config configs/small/multitask.yaml data.bank=BANK run.out=runs/multitask

Seven tasks share the encoder: masked words; the order of two segments of the text; finding the solution among those of
other questions; type, difficulty and knowledge concepts; finding the figures among those of other questions. A question
takes part in the tasks whose fields it has. ``finetune/similar.py`` (Eq. 4) follows, as after any stage.

A question goes through the encoder up to three times. Masked words and swapped segments share a pass, as in ALBERT:
they would spoil the vectors but not each other. The second pass encodes the unchanged question, with its figures; the
third the solution, or two tokens if there is none. Passes that no task needs are skipped.

Eq. 1, e = Norm(sum of token states), is the direction of their mean, which the encoder returns. Eq. 2 is
`tqnet.losses.contrastive.in_batch_infonce`. NOTE: the paper's Eq. 2 lacks the exponentials and draws negatives from the
bank; here they are the other questions of the batch on all processes.

NOTE: Eq. 3 finds a figure by the text vector alone, since the fused vector has seen the figure.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import torch
from pydantic import Field

from tqnet.config import ConfigError, Count, NonNegative, Positive, ProperShare, parse_config, section, settings
from tqnet.hub.card import write_card
from tqnet.modeling.model import TQNetModel
from tqnet.questions import KnowledgeHierarchy, QuestionBank
from tqnet.text.sentences import halves
from tqnet.training import session
from tqnet.training.config import OptimConfig, RecipeConfig, RunConfig
from tqnet.training.data import IGNORED, MaskTokens
from tqnet.training.labels import (
    ClassLabels,
    ConceptLabels,
    class_head,
    difficulty_labels,
    training_knowledge,
    type_labels,
)
from tqnet.training.loop import TrainingLoop
from tqnet.training.multitask import MultiTaskModel, Solutions, TaskLosses, TaskViews

log = logging.getLogger(__name__)

#: View of a question -> the tasks that need it (`tqnet.training.multitask`).
VIEWS = {
    "content": {"solution", "type", "difficulty", "knowledge", "figures"},
    "segments": {"words", "order"},
    "solution": {"solution"},
}


@settings
class TaskWeights:
    """Weights of the tasks' losses; 0 drops the task, its head and its forward pass."""

    words: NonNegative = 1.0
    """Masked words."""
    order: NonNegative = 1.0
    """Order of segments."""
    solution: NonNegative = 1.0
    """Contrast of question and solution (Eq. 2)."""
    type: NonNegative = 0.5
    """Classification of the question's type."""
    difficulty: NonNegative = 0.5
    """Classification of the difficulty."""
    knowledge: NonNegative = 0.5
    """Classification of the knowledge points."""
    figures: NonNegative = 0.5
    """Exercise image prediction (Eq. 3)."""


@settings
class MultiTaskConfig(RecipeConfig):
    """Settings of the stage."""

    optim: OptimConfig = section(OptimConfig, lr=3e-4, text_lr=3e-5)
    run: RunConfig = section(RunConfig, out="runs/multitask")
    weights: TaskWeights = section(TaskWeights)
    mask: ProperShare = 0.15
    """Share of words and formula tokens to mask."""
    temperature: Positive = 0.05
    """Temperature of both contrastive losses."""
    least_solution: Count = 4
    """Minimum number of tokens of answer and analysis together; shorter solutions are ignored."""
    difficulty_levels: Annotated[int, Field(ge=2)] = 5
    """Maximum number of difficulty classes; more distinct values are binned."""
    level: Count | None = None
    """Level of the knowledge concepts, 1 for the coarsest; null for the finest."""


def main(config: MultiTaskConfig) -> Path:
    accelerator = session.start(config.run)
    bank = session.training_questions(config.data, pretraining=True)
    model = session.build(config, bank)
    if not isinstance(model, TQNetModel):
        raise ConfigError(f"model: a {model.config.model_type} has no text encoder to train on masked words")
    if model.config.fusion == "joint" and config.weights.figures:  # its text embedding has seen the figures
        raise ConfigError("model.fusion: joint joins text and figures, which weights.figures contrasts; set that to 0")

    labels = labels_of(bank, config)
    solutions = Solutions.from_bank(bank, model.processor, config.least_solution) if config.weights.solution else None
    tasks = tasks_of(config, bank, model, labels, solutions)
    labels = {name: classes for name, classes in labels.items() if name in tasks}
    solutions = solutions if "solution" in tasks else None

    heads = {name: class_head(model.config.hidden_size, classes) for name, classes in labels.items()}
    multitask = MultiTaskModel(model, tasks, heads)
    names = [view for view, served in VIEWS.items() if served & tasks.keys()]
    mask = MaskTokens(model.processor, config.mask, config.run.seed) if "words" in tasks else None
    views = TaskViews(names, bank, model.processor, config.run.seed, mask, "order" in tasks, solutions)
    loop = TrainingLoop(
        accelerator,
        config,
        model=model,
        trained=multitask,
        plan=session.shuffled_batches(config, bank, model),
        views=session.question_views(config, bank, model, prepare=views, read_images="content" in names),
        parts=model.parts,
        evaluate=session.validation(config, model),
    )
    max_images = model.config.max_images if model.config.reads_images else 0
    losses = TaskLosses(accelerator, tasks, bank, labels, solutions, max_images, config.temperature)
    for batch in loop:
        masked = batch.extras["words"] != IGNORED if "segments" in names else None
        outputs = loop.trained(**dict(zip(names, batch.views, strict=True)), masked=masked)
        terms = losses(outputs, batch)
        loss = torch.stack([weight * terms[task].loss for task, weight in tasks.items()]).sum()
        present = {task: term for task, term in terms.items() if term.count}  # in this batch
        logged = {f"{task}/loss": term.loss.detach() for task, term in present.items()}
        loop.step(loss, logged | {f"{task}/accuracy": term.accuracy for task, term in present.items()})
    return loop.finish(write_card)


def labels_of(bank: QuestionBank, config: MultiTaskConfig) -> dict[str, ClassLabels]:
    """Return the readable labels of each classification task."""
    labels = {"type": type_labels(bank), "difficulty": difficulty_labels(bank, config.difficulty_levels)}
    hierarchy = KnowledgeHierarchy(training_knowledge(bank))
    if hierarchy.depth:
        labels["knowledge"] = ConceptLabels(hierarchy, hierarchy.depth if config.level is None else config.level)
    return {name: classes for name, classes in labels.items() if len(classes.names) > 1}  # else nothing to tell


def tasks_of(
    config: MultiTaskConfig,
    bank: QuestionBank,
    model: TQNetModel,
    labels: dict[str, ClassLabels],
    solutions: Solutions | None,
) -> dict[str, float]:
    """Return the weights of tasks that have questions, and log how many.

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
    raise ConfigError("weights: no question takes part in any task with a weight above 0")


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(MultiTaskConfig, __doc__))
