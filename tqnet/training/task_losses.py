"""The losses of multi-task pre-training (FSE, Figure 4), each over what takes part in it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from accelerate import Accelerator
from torch import Tensor

from tqnet.objectives import in_batch_infonce, masked_token_prediction, soft_label_classification
from tqnet.questions import QuestionBank
from tqnet.training import session
from tqnet.training.contrast import same
from tqnet.training.data import Batch
from tqnet.training.distributed import gather_with_own_gradient, weight_of_mean
from tqnet.training.labels import ClassLabels
from tqnet.training.masking import IGNORED
from tqnet.training.task_views import Solutions


@dataclass(frozen=True)
class Term:
    """A task's part of a step.

    Attributes:
        loss: Its mean over processes is the mean over all that takes part.
        accuracy: How often the task is right.
        count: How many words, questions or figures take part, here or, of a contrast, on all processes.
    """

    loss: Tensor
    accuracy: Tensor
    count: int


class TaskLosses:
    """Of what a :class:`~tqnet.modeling.multitask.MultiTaskModel` gives for a batch.

    Args:
        labels: Of each classification.
        solutions: None where they are not compared.
        max_images: Figures of a question that the model reads at most.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        tasks: Collection[str],
        bank: QuestionBank,
        labels: Mapping[str, ClassLabels],
        solutions: Solutions | None,
        max_images: int,
        temperature: float,
    ):
        self.accelerator, self.tasks, self.labels, self.temperature = accelerator, tasks, labels, temperature
        device = accelerator.device
        if not {"solution", "figures"}.isdisjoint(tasks):  # contrasts: what is equal is no negative
            hashes = session.content_hashes(bank, max_images > 0)
            self.contents, self.texts = hashes["fused"].to(device), hashes["text"].to(device)
            self.figures = session.figure_hashes(bank, max_images).to(device)
        if solutions is not None:
            self.has_solution, self.solutions = solutions.present.to(device), solutions.hashes.to(device)
        self._of: dict[str, Callable[[dict[str, Tensor], Batch], Term]] = {
            "words": self.words,
            "order": self.order,
            "solution": self.solution,
            "figures": self.figure,
            **{name: partial(self.label, name) for name in labels},
        }

    def __call__(self, found: dict[str, Tensor], batch: Batch) -> dict[str, Term]:
        """The term of each task."""
        return {task: self._of[task](found, batch) for task in self.tasks}

    def words(self, found: dict[str, Tensor], batch: Batch) -> Term:
        """Masked words."""
        tokens = batch.extras["words"]
        tokens = tokens[tokens != IGNORED]
        loss, accuracy = masked_token_prediction(found["words"], tokens)
        return Term(weight_of_mean(self.accelerator, len(tokens)) * loss, accuracy, len(tokens))

    def order(self, found: dict[str, Tensor], batch: Batch) -> Term:
        """Whether two segments are in order or swapped."""
        return self._classes(found["order"], batch.extras["order"])

    def label(self, name: str, found: dict[str, Tensor], batch: Batch) -> Term:
        """Type, difficulty or knowledge concepts."""
        indicators = torch.from_numpy(self.labels[name].indicators(batch.index.cpu().numpy()))
        return self._classes(found[name], indicators.to(batch.index.device))

    def solution(self, found: dict[str, Tensor], batch: Batch) -> Term:
        """A question's solution among those of all processes; equal questions or solutions are no negatives."""
        contents, solutions = (gather_with_own_gradient(self.accelerator, found[of]) for of in ("content", "solution"))
        index = self.accelerator.gather(batch.index)
        rows = self.has_solution[index]
        alike = same(self.contents[index[rows]]) | same(self.solutions[index[rows]])
        return self._contrast(contents[rows], solutions[rows], alike)

    def figure(self, found: dict[str, Tensor], batch: Batch) -> Term:
        """Each figure of a question, by its text, among the figures of all processes.

        A question's figures are no negatives of one another, nor are equal ones, nor those of equal texts.
        """
        texts, figures = (gather_with_own_gradient(self.accelerator, found[of]) for of in ("text", "figures"))
        index, counts = (self.accelerator.gather(of) for of in (batch.index, batch.inputs["image_counts"]))
        question, place = torch.nonzero(
            torch.arange(figures.shape[1], device=counts.device) < counts[:, None], as_tuple=True
        )
        alike = same(self.texts[index[question]]) | same(self.figures[index[question], place])
        return self._contrast(texts[question], figures[question, place], alike)

    def _classes(self, logits: Tensor, classes: Tensor) -> Term:
        labelled = classes.any(1)
        count = int(labelled.sum())
        right = classes[labelled].gather(1, logits[labelled].argmax(1, keepdim=True)).sum() / max(1, count)
        loss = soft_label_classification(logits, classes)
        return Term(weight_of_mean(self.accelerator, count) * loss, right, count)

    def _contrast(self, query: Tensor, key: Tensor, alike: Tensor) -> Term:
        loss, logits = in_batch_infonce(query, key, self.temperature, alike)
        right = (logits >= logits.diagonal()[:, None]).sum(1) == 1  # its own alone; also of no rows
        return Term(loss, right.sum() / max(1, len(right)), len(right))
