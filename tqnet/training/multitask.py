"""Multi-task pre-training (FSE, Figure 4): views, heads and losses."""

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

from tqnet.config import ConfigError
from tqnet.libraries import to_device
from tqnet.losses.contrastive import in_batch_infonce
from tqnet.losses.prediction import masked_token_prediction, soft_label_classification
from tqnet.modeling.heads import MaskedTokenHead
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.processor import TQNetProcessor
from tqnet.modeling.text_encoders import is_causal
from tqnet.questions import Question, QuestionBank
from tqnet.questions.table import hash64
from tqnet.text.sentences import halved, halves
from tqnet.training.content import content_hashes, figure_hashes
from tqnet.training.contrast import same
from tqnet.training.data import IGNORED, Batch, Item, MaskTokens
from tqnet.training.labels import ClassLabels, readable_labels
from tqnet.training.processes import gather_with_own_gradient, weight_of_mean

#: Texts to tokenise at a time.
_CHUNK = 4096

#: Tasks on a question's vector; figures are contrasted with the text vector.
_OF_THE_VECTOR = {"solution", "type", "difficulty", "knowledge"}


@dataclass(frozen=True)
class Solutions:
    """Solutions that pre-training may read.

    Attributes:
        present: bool [n], whether a question has one.
        hashes: int64 [n], equal for equal solutions.
    """

    present: Tensor
    hashes: Tensor

    @classmethod
    def from_bank(cls, bank: QuestionBank, processor: TQNetProcessor, min_tokens: int) -> Solutions:
        """Collect the solutions of at least ``min_tokens`` tokens."""
        texts = (
            Question(id="", stem="", options=options, answer=answer, analysis=analysis).solution
            for rows in bank.batches("options", "answer", "analysis")
            for options, answer, analysis in zip(*rows, strict=True)
        )
        min_tokens += processor.tokenizer.num_special_tokens_to_add()
        lengths: list[int] = []
        hashes: list[int] = []
        while chunk := list(islice(texts, _CHUNK)):
            lengths += map(len, processor.tokenize(chunk))
            hashes += [hash64(text) - 2**63 for text in chunk]
        processor.warn_of_cuts()
        present = readable_labels(bank) & (np.array(lengths) >= min_tokens)
        return cls(torch.from_numpy(present), torch.tensor(hashes))


class TaskViews:
    """Packs the views that the tasks need.

    NOTE: as in ALBERT, masked words and segment order share a view and so a forward pass. The rest of the text is
    enough for both, and neither touches the vectors, which come from the unchanged question.

    Args:
        names: Views to pack, in order: ``content``, the unchanged question; ``segments``, its text as two segments, in
            order or swapped, or as one if it cannot be split; ``solution``, empty without a readable one.
        mask: Masks words of ``segments``.
        order: Whether to split and swap ``segments``.
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
        """Add the views to ``batch``, with extras of ``segments``.

        ``words`` [b, t] are the true tokens at masked positions, IGNORED elsewhere; ``order`` bool [b, 2] is whether
        the segments are in order or swapped, neither if there is only one.
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
        """Return token ids of a question's two segments, options after the second, and whether they are swapped.

        None if the stem cannot be split or the result is longer than ``max_length``.
        """
        question = self.bank[item[1]]
        ways = halves(question.stem)
        if not ways:
            return None
        rng = np.random.default_rng([self.seed, *item, 1])  # independent of the mask
        segments = halved(question.stem, ways[rng.integers(len(ways))])
        swapped = bool(rng.random() < 0.5)
        first, second = segments[::-1] if swapped else segments
        head, tail = self.processor.tokenize([first, dataclasses.replace(question, stem=second).content])
        ids = np.array([*head, *tail[1:]])  # [CLS] first [SEP] second [SEP]
        return (ids, swapped) if len(ids) <= self.processor.max_length else None

    def _text_view(self, ids: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        return {**self.processor.pack_text(ids), "image_counts": torch.zeros(len(ids), dtype=torch.long)}


class MultiTaskModel(nn.Module):
    """The encoder with its task heads.

    Args:
        tasks: Any of ``words``, ``order``, ``solution``, ``figures`` and the names of ``heads``.
        heads: Classification task -> head on a question's vector.
    """

    def __init__(self, model: TQNetModel, tasks: Collection[str], heads: Mapping[str, nn.Module]):
        super().__init__()
        self.model, tasks = model, {*tasks}
        if "order" in tasks and is_causal(model.text):
            kind = model.text.config.model_type
            raise ConfigError(f"tasks: order reads the first token, which sees no other one in a {kind}, a decoder")
        width = model.config.hidden_size
        self.words = MaskedTokenHead(width, model.get_input_embeddings()) if "words" in tasks else None
        #: ALBERT's sentence-order head, on the first token's state.
        self.order = (
            nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 2)) if "order" in tasks else None
        )
        self.figures = nn.Linear(width, width) if "figures" in tasks else None
        self.labels, self.heads = list(heads), nn.ModuleList(heads.values())
        # DDP waits for gradients of all trainable parameters.
        if not tasks & _OF_THE_VECTOR:
            model.freeze_vector()
        if model.config.reads_images and not tasks & {*_OF_THE_VECTOR, "figures"}:
            model.freeze_figures()

    def forward(
        self,
        content: dict[str, Tensor] | None = None,
        segments: dict[str, Tensor] | None = None,
        solution: dict[str, Tensor] | None = None,
        masked: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Compute the outputs that the tasks need from packed views (see :meth:`TQNetModel.forward`).

        Args:
            masked: bool [b, t], masked positions of ``segments``.

        Returns:
            Logits ``words`` [m, vocabulary], ``order`` [b, 2], and [b, classes] per classification. Unit vectors
            ``content`` (e^s of Eq. 1) and ``solution`` (e^a) [b, h]; ``text`` [b, h], e^s without figures; ``figures``
            [b, f, h] (h^I of Eq. 3), f the model's ``max_images``.
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
                missing = self.model.config.max_images - figures.shape[1]  # gather needs equal shapes
                outputs["text"] = _unit(output.text_embedding)
                outputs["figures"] = _unit(self.figures(F.pad(figures, (0, 0, 0, missing))))
        if solution is not None:
            outputs["solution"] = _unit(self.model(**solution).embedding)
        return outputs


def _unit(vectors: Tensor) -> Tensor:
    return F.normalize(vectors.float(), dim=-1)


@dataclass(frozen=True)
class Term:
    """A task's contribution to a step.

    Attributes:
        loss: Weighted so that its mean over processes is the mean over all items.
        accuracy: Share of correct predictions.
        count: Words, questions or figures used, on this process or, in a contrast, on all.
    """

    loss: Tensor
    accuracy: Tensor
    count: int


class TaskLosses:
    """Losses on the outputs of a :class:`MultiTaskModel`.

    Args:
        labels: Classification task -> labels.
        solutions: None without that task.
        max_images: Maximum number of figures per question; 0 for a model that reads none.
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
        if not {"solution", "figures"}.isdisjoint(tasks):  # contrasts exclude equal contents
            hashes = content_hashes(bank, max_images > 0)
            self.contents, self.texts = hashes["fused"].to(device), hashes["text"].to(device)
            self.figures = figure_hashes(bank, max_images).to(device)
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
        """Compute the term of each task."""
        return {task: loss(outputs, batch) for task, loss in self._losses.items()}

    def _words(self, outputs: dict[str, Tensor], batch: Batch) -> Term:
        """Predict masked words."""
        tokens = batch.extras["words"]
        tokens = tokens[tokens != IGNORED]
        loss, accuracy = masked_token_prediction(outputs["words"], tokens)
        return Term(weight_of_mean(self.accelerator, len(tokens)) * loss, accuracy, len(tokens))

    def _order(self, outputs: dict[str, Tensor], batch: Batch) -> Term:
        """Predict whether two segments are in order or swapped."""
        return self._classes(outputs["order"], batch.extras["order"])

    def _label(self, name: str, outputs: dict[str, Tensor], batch: Batch) -> Term:
        """Predict type, difficulty or knowledge concepts."""
        indicators = self.labels[name].indicators(batch.index.numpy())
        return self._classes(outputs[name], to_device(indicators, self.accelerator.device))

    def _solution(self, outputs: dict[str, Tensor], batch: Batch) -> Term:
        """Find a question's solution among those of all processes; equal questions or solutions are not negatives."""
        contents, solutions = self._gathered(outputs, "content", "solution")
        index = to_device(batch.everywhere, self.accelerator.device)
        rows = self.has_solution[index]
        alike = same(self.contents[index[rows]]) | same(self.solutions[index[rows]])
        return self._contrast(contents[rows], solutions[rows], alike)

    def _figures(self, outputs: dict[str, Tensor], batch: Batch) -> Term:
        """Find each of a question's figures by its text among the figures of all processes.

        Figures of the same question, equal figures and figures of equal texts are not negatives.
        """
        texts, figures = self._gathered(outputs, "text", "figures")
        index = to_device(batch.everywhere, self.accelerator.device)
        counts = self.accelerator.gather(batch.inputs["image_counts"])
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
        right = (logits >= logits.diagonal()[:, None]).sum(1) == 1  # own key strictly first; works for no rows
        return Term(loss, right.sum() / max(1, len(right)), len(right))
