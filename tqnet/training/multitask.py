"""Multi-task pre-training (FSE, Figure 4): the views that it reads, the heads, and the losses over what takes part."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.nn import functional as F

from tqnet.losses.contrastive import in_batch_infonce
from tqnet.losses.prediction import masked_token_prediction, soft_label_classification
from tqnet.modeling.heads import MaskedTokenHead
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.processor import TQNetProcessor
from tqnet.questions import Question, QuestionBank
from tqnet.questions.table import hash64
from tqnet.text.sentences import halves
from tqnet.training import session
from tqnet.training.contrast import same
from tqnet.training.data import IGNORED, Batch, Item, MaskTokens
from tqnet.training.labels import ClassLabels, readable_labels
from tqnet.training.processes import gather_with_own_gradient, weight_of_mean

#: Texts that are tokenised at a time.
_CHUNK = 4096

#: What is computed of a question's vector; figures are compared with the vector of its text alone.
_OF_THE_VECTOR = {"solution", "type", "difficulty", "knowledge"}


@dataclass(frozen=True)
class Solutions:
    """Which questions have a solution that may be read.

    Attributes:
        present: bool [n].
        hashes: int64 [n], equal where the solutions are.
    """

    present: Tensor
    hashes: Tensor

    @classmethod
    def from_bank(cls, bank: QuestionBank, processor: TQNetProcessor, least: int) -> Solutions:
        """Those of at least ``least`` tokens."""
        texts = (
            Question(id="", stem="", options=options, answer=answer, analysis=analysis).solution
            for rows in bank.batches("options", "answer", "analysis")
            for options, answer, analysis in zip(*rows, strict=True)
        )
        least += processor.tokenizer.num_special_tokens_to_add()
        lengths: list[int] = []
        hashes: list[int] = []
        while chunk := list(islice(texts, _CHUNK)):
            lengths += map(len, processor.tokenize(chunk))
            hashes += [hash64(text) - 2**63 for text in chunk]
        processor.warn_of_cuts()
        present = readable_labels(bank) & (np.array(lengths) >= least)
        return cls(torch.from_numpy(present), torch.tensor(hashes))


class TaskViews:
    """Packs the views of the tasks, beside that of the question as it is.

    NOTE: as in ALBERT, masked words and the order of segments share a view and so a forward pass. What is left of the
    text is enough for both, and neither reaches the vectors, which are of the question as it is.

    Args:
        names: Of the views that are wanted, in their order: ``content``, the question as it is; ``segments``, its text
            in two segments, in order or swapped, or in one where it cannot be cut; ``solution``, empty where there is
            none that may be read.
        mask: Masks words of ``segments``.
        order: Whether ``segments`` are cut and swapped at all.
    """

    def __init__(
        self,
        names: Sequence[str],
        bank: QuestionBank,
        processor: TQNetProcessor,
        seed: int,
        mask: MaskTokens | None,
        order: bool,
        solutions: Solutions | None,
    ):
        self.names, self.bank, self.processor, self.seed = names, bank, processor, seed
        self.mask, self.order, self.solutions = mask, order, solutions

    def __call__(self, batch: Batch, items: Sequence[Item]) -> Batch:
        """``batch`` with the views, and as extras

        ``words`` [b, t], the true tokens at masked places of ``segments`` and IGNORED elsewhere, and ``order``
        bool [b, 2], whether its segments are in order or swapped, neither where they are one.
        """
        views: dict[str, dict[str, Tensor]] = {"content": batch.inputs}
        extras: dict[str, Tensor] = {}
        if "segments" in self.names:
            views["segments"], extras = self._segments(batch, items)
        if self.solutions is not None:
            present = self.solutions.present
            texts = [self.bank[index].solution if present[index] else "" for _, index, _ in items]
            views["solution"] = self._text_view(self.processor.tokenize(texts))
        return dataclasses.replace(batch, views=[views[name] for name in self.names], extras=extras)

    def _segments(self, batch: Batch, items: Sequence[Item]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        real = batch.inputs["attention_mask"].bool()
        ids = [row[kept].numpy() for row, kept in zip(batch.inputs["input_ids"], real, strict=True)]
        order = torch.zeros((len(items), 2), dtype=torch.bool)
        for row, item in enumerate(items if self.order else ()):
            if (cut := self._cut(item)) is not None:
                ids[row], swapped = cut
                order[row, int(swapped)] = True
        words = torch.full((len(items), max(map(len, ids))), IGNORED)
        for row, item in enumerate(items if self.mask else ()):
            assert self.mask is not None
            ids[row], tokens = self.mask.mask(ids[row], item)
            words[row, : len(tokens)] = torch.from_numpy(tokens)
        return self._text_view([row.tolist() for row in ids]), {"words": words, "order": order}

    def _cut(self, item: Item) -> tuple[np.ndarray, bool] | None:
        """Token ids of a question's two segments, options behind the second, and whether they are swapped.

        None where its stem cannot be cut, or what would come out is too long to be read to its end.
        """
        question = self.bank[item[1]]
        ways = halves(question.stem)
        if not ways:
            return None
        rng = np.random.default_rng([self.seed, *item, 1])  # not the draws of the mask
        segments = ways[rng.integers(len(ways))]
        swapped = bool(rng.random() < 0.5)
        first, second = segments[::-1] if swapped else segments
        before, behind = self.processor.tokenize([first, dataclasses.replace(question, stem=second).content])
        ids = np.array([*before, *behind[1:]])  # [CLS] first [SEP] second [SEP]
        return (ids, swapped) if len(ids) <= self.processor.max_length else None

    def _text_view(self, ids: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        return {**self.processor.pack_text(ids), "image_counts": torch.zeros(len(ids), dtype=torch.long)}


class MultiTaskModel(nn.Module):
    """The encoder with the heads of its tasks: passes the views of a question that they ask for, and no more.

    Args:
        tasks: Of ``words``, ``order``, ``solution``, ``figures`` and those of ``heads``.
        heads: Classification -> its head on a question's vector.
    """

    def __init__(self, model: TQNetModel, tasks: Collection[str], heads: Mapping[str, nn.Module]):
        super().__init__()
        self.model, tasks = model, {*tasks}
        width = model.config.hidden_size
        self.words = MaskedTokenHead(width, model.text.config.vocab_size) if "words" in tasks else None
        #: ALBERT's head of sentence order, on the state of the first token.
        self.order = (
            nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 2)) if "order" in tasks else None
        )
        self.figures = nn.Linear(width, width) if "figures" in tasks else None
        self.labels, self.heads = list(heads), nn.ModuleList(heads.values())
        # DDP waits for the gradients of all that is trained.
        if model.config.fusion == "coordinated" and not tasks & _OF_THE_VECTOR:
            model.fusion.requires_grad_(False)
        if model.config.reads_images and not tasks & {*_OF_THE_VECTOR, "figures"}:
            model.visual.requires_grad_(False)

    def forward(
        self,
        content: dict[str, Tensor] | None = None,
        segments: dict[str, Tensor] | None = None,
        solution: dict[str, Tensor] | None = None,
        masked: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """What the tasks compare, of packed views as :meth:`TQNetModel.forward` takes them.

        Args:
            masked: bool [b, t], the places of ``segments`` whose tokens are to be guessed.

        Returns:
            Logits ``words`` [m, vocabulary], ``order`` [b, 2], and of each classification [b, classes]. Unit vectors
            ``content`` (e^s of Eq. 1) and ``solution`` (e^a) [b, h]; ``text`` [b, h], e^s without figures; ``figures``
            [b, f, h] (h^I of Eq. 3), f the most that the model reads of a question.
        """
        outputs: dict[str, Tensor] = {}
        if segments is not None:
            text = {name: segments[name] for name in ("input_ids", "attention_mask")}
            states = self.model.text(**text).last_hidden_state
            if self.words is not None:
                outputs["words"] = self.words(states[masked], self.model.get_input_embeddings().weight)
            if self.order is not None:
                outputs["order"] = self.order(states[:, 0])
        if content is not None:
            output = self.model(**content)
            outputs |= {name: head(output.embedding) for name, head in zip(self.labels, self.heads, strict=True)}
            outputs["content"] = _unit(output.embedding)
            if self.figures is not None:
                figures = output.figure_embeddings
                missing = self.model.config.max_images - figures.shape[1]  # as many rows on every process
                outputs["text"] = _unit(output.text_embedding)
                outputs["figures"] = _unit(self.figures(F.pad(figures, (0, 0, 0, missing))))
        if solution is not None:
            outputs["solution"] = _unit(self.model(**solution).embedding)
        return outputs


def _unit(vectors: Tensor) -> Tensor:
    return F.normalize(vectors.float(), dim=-1)


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
    """The losses of what a :class:`MultiTaskModel` gives for a batch.

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
        self.accelerator, self.labels, self.temperature = accelerator, labels, temperature
        device = accelerator.device
        if not {"solution", "figures"}.isdisjoint(tasks):  # contrasts: what is equal is no negative
            hashes = session.content_hashes(bank, max_images > 0)
            self.contents, self.texts = hashes["fused"].to(device), hashes["text"].to(device)
            self.figures = session.figure_hashes(bank, max_images).to(device)
        if solutions is not None:
            self.has_solution, self.solutions = solutions.present.to(device), solutions.hashes.to(device)
        losses: dict[str, Callable[[dict[str, Tensor], Batch], Term]] = {
            "words": self._words,
            "order": self._order,
            "solution": self._solution,
            "figures": self._figures,
            **{name: partial(self._label, name) for name in labels},
        }
        self._losses = {task: losses[task] for task in tasks}

    def __call__(self, outputs: dict[str, Tensor], batch: Batch) -> dict[str, Term]:
        """The term of each task."""
        return {task: loss(outputs, batch) for task, loss in self._losses.items()}

    def _words(self, outputs: dict[str, Tensor], batch: Batch) -> Term:
        """Masked words."""
        tokens = batch.extras["words"]
        tokens = tokens[tokens != IGNORED]
        loss, accuracy = masked_token_prediction(outputs["words"], tokens)
        return Term(weight_of_mean(self.accelerator, len(tokens)) * loss, accuracy, len(tokens))

    def _order(self, outputs: dict[str, Tensor], batch: Batch) -> Term:
        """Whether two segments are in order or swapped."""
        return self._classes(outputs["order"], batch.extras["order"])

    def _label(self, name: str, outputs: dict[str, Tensor], batch: Batch) -> Term:
        """Type, difficulty or knowledge concepts."""
        indicators = torch.from_numpy(self.labels[name].indicators(batch.index.cpu().numpy()))
        return self._classes(outputs[name], indicators.to(batch.index.device))

    def _solution(self, outputs: dict[str, Tensor], batch: Batch) -> Term:
        """A question's solution among those of all processes; equal questions or solutions are no negatives."""
        contents, solutions = self._gathered(outputs, "content", "solution")
        index = self.accelerator.gather(batch.index)
        rows = self.has_solution[index]
        alike = same(self.contents[index[rows]]) | same(self.solutions[index[rows]])
        return self._contrast(contents[rows], solutions[rows], alike)

    def _figures(self, outputs: dict[str, Tensor], batch: Batch) -> Term:
        """Each figure of a question, by its text, among the figures of all processes.

        A question's figures are no negatives of one another, nor are equal ones, nor those of equal texts.
        """
        texts, figures = self._gathered(outputs, "text", "figures")
        index, counts = (self.accelerator.gather(rows) for rows in (batch.index, batch.inputs["image_counts"]))
        places = torch.arange(figures.shape[1], device=counts.device)
        question, place = torch.nonzero(places < counts[:, None], as_tuple=True)
        alike = same(self.texts[index[question]]) | same(self.figures[index[question], place])
        return self._contrast(texts[question], figures[question, place], alike)

    def _gathered(self, outputs: dict[str, Tensor], *names: str) -> list[Tensor]:
        return [gather_with_own_gradient(self.accelerator, outputs[name]) for name in names]

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
