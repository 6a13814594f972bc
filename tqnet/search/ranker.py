"""The ranker: a cross-encoder that reads two questions together (FSE, "Ranking Module", Figure 5b), and its training.

It is trained on several tasks at once, weighted by experts (FSE, Eq. 5, 8 and 9).
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import torch
from accelerate import Accelerator
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from scipy.optimize import brentq
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn
from torch.nn import functional as F
from tqdm import tqdm

from tqnet.files import atomic
from tqnet.modeling.build import load_model
from tqnet.modeling.encode import CellCache, accelerator
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.interchange import RANKER
from tqnet.modeling.text_encoders import most_tokens
from tqnet.questions import Question
from tqnet.search.ranking import FEATURES, WEIGHTS

_HEAD, _SETTINGS = "cross_encoder.safetensors", str(RANKER.mark)
_OTHER = "not written by this version of finetune/ranker.py; train it again"

#: Maximum scale of a head: beyond it, all good candidates would have a probability of 1.
SUREST = 10.0


class TaskHead(nn.Module):
    """Turn the vector of a pair into a task's representation and score.

    NOTE: FSE scores the pair's vector alone, which is meaningless before training. Here the likeness of the two texts
    is added: a weighted sum of the features that search computes and the cosine of the texts, encoded together.

    Attributes:
        weights: Weight of that cosine, then of each feature.
        scale, centre: Slope of the logit in the likeness, and likeness at even odds.
    """

    def __init__(self, width: int):
        super().__init__()
        self.dense = nn.Linear(width, width)
        self.score = nn.Linear(width, 1)
        nn.init.zeros_(self.score.weight)  # no effect at the start
        nn.init.zeros_(self.score.bias)
        self.weights = nn.Parameter(torch.ones(1 + len(FEATURES)))
        self.scale = nn.Parameter(torch.tensor(10.0))
        self.centre = nn.Parameter(torch.tensor(0.5))

    def likeness(self, cosines: Tensor, features: Tensor) -> Tensor:
        """Return the likeness [p] from cosines of the sides [p] and features [p, 5]."""
        # Not a matrix product: under autocast, its rounding would swallow the differences between candidates.
        return (torch.cat([cosines[:, None], features], 1) * self.weights).sum(1)

    def forward(self, pairs: Tensor, cosines: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
        """Return representations [p, h] and logits [p] from vectors of pairs [p, h], cosines [p], features [p, 5]."""
        representation = F.gelu(self.dense(pairs))
        surplus = self.likeness(cosines, features) - self.centre
        return representation, self.score(representation).squeeze(-1).float() + self.scale * surplus


class CrossEncoder(nn.Module):
    """Encode query and candidate as one text, with the figures of both, and score how similar they are.

    Args:
        length: Maximum number of tokens of a pair; longer ones are cut.
        searched_by: Digest of the model whose cosines are among the features; None for an off-the-shelf encoder.

    Raises:
        ValueError: The encoder has fewer positions, or its tokenizer has no separator.
    """

    def __init__(self, encoder: QuestionEncoder, length: int, searched_by: str | None = None):
        super().__init__()
        positions = most_tokens(getattr(encoder, "text", encoder)) or length
        if not 3 < length <= positions:
            raise ValueError(f"length: pairs of {length} tokens, but the encoder reads 4 to {positions}")
        tokenizer = encoder.processor.tokenizer
        if tokenizer.cls_token is None or tokenizer.sep_token is None:
            raise ValueError("model.start: the encoder cannot rank pairs: no tokens begin and separate texts")
        self.encoder, self.length, self.searched_by = encoder, length, searched_by
        self._separator = tokenizer.sep_token_id
        self.head = TaskHead(encoder.config.hidden_size)

    @property
    def cells_per_image(self) -> int:
        """See :attr:`QuestionEncoder.cells_per_image`."""
        return self.encoder.cells_per_image

    def forward(self, features: Tensor, **batch: Tensor) -> Tensor:
        """Return logits [p] from features [p, 5] and a packed batch of pairs, each as a single question."""
        return self.head(*self.read(**batch), features)[1]

    def read(self, **batch: Tensor) -> tuple[Tensor, Tensor]:
        """Return vectors [p, h] of a packed batch of pairs, and cosines of their sides [p], 0 for QuesNet."""
        separators = (batch["input_ids"] == self._separator).cumsum(1)
        sides = (separators + 1) * (separators < 2) * batch["attention_mask"]
        output = self.encoder(**batch, sides=sides)
        if output.side_embeddings is None:
            return output.embedding, output.embedding.new_zeros(len(separators), dtype=torch.float)
        first, second = output.side_embeddings.float().unbind(1)
        return output.embedding, F.cosine_similarity(first, second)

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write encoder, head and settings to ``folder``."""
        folder = Path(folder)
        self.encoder.save_pretrained(folder)
        save_file({name: tensor.cpu().contiguous() for name, tensor in self.head.state_dict().items()}, folder / _HEAD)
        with atomic(folder / _SETTINGS) as temporary:
            settings = {"length": self.length, "searched_by": self.searched_by, "evidence": FEATURES}
            temporary.write_text(json.dumps(settings) + "\n", encoding="utf-8")

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str], device: str | torch.device | None = None) -> CrossEncoder:
        """Load a folder written by :meth:`save_pretrained` or ``finetune/ranker.py``.

        Args:
            device: By default the accelerator if there is one.

        Raises:
            FileNotFoundError: The folder holds no ranker.
            ValueError: The ranker is damaged, or of an earlier version.
        """
        folder = Path(folder)
        if not (folder / _SETTINGS).is_file():
            raise FileNotFoundError(f"{folder}: no ranker ({_SETTINGS} is missing); finetune/ranker.py makes one")
        try:
            settings = json.loads((folder / _SETTINGS).read_text(encoding="utf-8"))
            length, searched_by = int(settings["length"]), settings["searched_by"]
            if tuple(settings["evidence"]) != FEATURES:
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"{folder / _SETTINGS}: {_OTHER}") from None
        cross = cls(load_model(folder, of_ranker=True), length, searched_by)
        try:
            cross.head.load_state_dict(load_file(folder / _HEAD))
        except (SafetensorError, RuntimeError, FileNotFoundError):  # other names, other shapes, no file
            raise ValueError(f"{folder / _HEAD}: {_OTHER}") from None
        return cross.eval().to(device or accelerator() or "cpu")

    @torch.inference_mode()
    def probabilities(
        self,
        pairs: Sequence[tuple[Question, Question]],
        features: np.ndarray,
        batch_size: int = 32,
        precision: str = "fp32",
        show_progress: bool = False,
    ) -> np.ndarray:
        """Return the probability that query and candidate of each pair are similar, float32 [pairs].

        Args:
            features: [pairs, 5] (:func:`tqnet.search.ranking.pair_features`).
        """
        encoder, processor = self.encoder, self.encoder.processor
        was_training = self.training
        self.eval()
        cells = CellCache(encoder.visual.cells, processor, encoder.device) if encoder.config.reads_images else None
        contents = dict.fromkeys(question.content for pair in pairs for question in pair)
        tokens = dict(zip(contents, processor.tokenize(list(contents)), strict=True))
        texts = [processor.join(tokens[q.content], tokens[c.content], self.length) for q, c in pairs]
        images = [processor.join_images(q.images, c.images) for q, c in pairs]
        order = sorted(range(len(pairs)), key=lambda i: (len(images[i]), len(texts[i])), reverse=True)
        scores = np.empty(len(pairs), dtype=np.float32)
        with (
            tqdm(total=len(pairs), unit=" pairs", desc="rank", disable=not show_progress) as progress,
            torch.autocast(encoder.device.type, torch.bfloat16, enabled=precision == "bf16"),
        ):
            for start in range(0, len(order), batch_size):
                rows = order[start : start + batch_size]
                inputs = processor.pack_text([texts[i] for i in rows])
                if cells is not None and any(images[i] for i in rows):
                    inputs["image_cells"] = cells([path for i in rows for path in images[i]])
                    inputs["image_counts"] = torch.tensor([len(images[i]) for i in rows])
                inputs["features"] = torch.from_numpy(np.asarray(features[rows], dtype=np.float32))
                logits = self(**{name: value.to(encoder.device) for name, value in inputs.items()})
                scores[rows] = logits.float().sigmoid().cpu().numpy()
                progress.update(len(rows))
        processor.forget_cuts()
        self.train(was_training)
        return scores


class TaskExperts(nn.Module):
    """Learn the coefficients of each pair's tasks, which sum to 1, with an expert of three layers (h-h-1) per task.

    NOTE: with the loss alone, the coefficients would move to the easiest task. So their entropy is at least ``floor``,
    and no gradient flows from the experts into the tasks' representations.

    Args:
        floor: Minimum entropy, as a share of that of equal coefficients.
    """

    def __init__(self, width: int, tasks: int, floor: float):
        super().__init__()
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))
            for _ in range(tasks)
        )
        self.equal = _equal_share(tasks, floor)

    def forward(self, representations: Tensor, present: Tensor) -> Tensor:
        """Return coefficients [p, tasks], 0 of absent tasks.

        Args:
            representations: [p, tasks, h].
            present: The tasks of each pair, bool [p, tasks].
        """
        inputs = representations.detach()
        votes = torch.cat([expert(inputs[:, task]) for task, expert in enumerate(self.experts)], 1).float()
        chosen = votes.masked_fill(~present, -math.inf).softmax(1)
        return (1 - self.equal) * chosen + self.equal * (present / present.sum(1, keepdim=True))


def _equal_share(tasks: int, floor: float) -> float:
    """Return the share of equal coefficients that gives even a choice of one task the minimum entropy."""

    def missing(equal: float) -> float:
        coefficients = [1 - equal + equal / tasks] + [equal / tasks] * (tasks - 1)
        return floor - sum(-c * math.log(c) for c in coefficients if c > 0) / math.log(tasks)

    return float(brentq(missing, 0, 1)) if 0 < floor < 1 else floor


class MultiTaskRanker(nn.Module):
    """The cross-encoder with the heads of the other tasks, and the experts (FSE, Eq. 5, 8 and 9).

    Args:
        coefficients: Coefficients of the tasks, scaled to sum to 1 over the tasks of a pair.
        entropy_floor: Let experts learn the coefficients instead, with this minimum entropy as a share of that of equal
            ones.
    """

    fixed: Tensor

    def __init__(self, cross: CrossEncoder, coefficients: Sequence[float], entropy_floor: float | None = None):
        super().__init__()
        width = cross.encoder.config.hidden_size
        self.cross = cross
        self.heads = nn.ModuleList([cross.head, *(TaskHead(width) for _ in coefficients[1:])])
        learnt = entropy_floor is not None and len(self.heads) > 1
        self.experts = TaskExperts(width, len(self.heads), entropy_floor or 0.0) if learnt else None
        self.register_buffer("fixed", torch.tensor(coefficients), persistent=False)

    def forward(self, pair: Tensor, task: Tensor, features: Tensor, **batch: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and coefficients of the tasks of each pair, both [p, tasks]; 0 for a missing task.

        Args:
            pair, task, features: Pair, task and features of each row, [r], [r] and [r, 5] (`tqnet.search.ranker_data`).
            batch: The packed rows.
        """
        vectors, cosines = self.cross.read(**batch)
        outputs = [head(vectors, cosines, features) for head in self.heads]
        places, rows, shape = (pair, task), torch.arange(len(task)), (int(pair.max()) + 1, len(self.heads))
        scores = torch.stack([logits for _, logits in outputs])[task, rows].float()
        logits = scores.new_zeros(shape).index_put(places, scores)
        present = torch.zeros(shape, dtype=torch.bool, device=task.device).index_put(places, task >= 0)
        if self.experts is None:
            return logits, present * self.fixed / (present * self.fixed).sum(1, keepdim=True)
        read = torch.stack([representation for representation, _ in outputs])[task, rows]
        representations = vectors.new_zeros(*shape, read.shape[1]).index_put(places, read.to(vectors.dtype))
        return logits, self.experts(representations, present)

    @property
    def _task_heads(self) -> list[TaskHead]:
        return [cast(TaskHead, head) for head in self.heads]

    @torch.no_grad()
    def calibrate(self, features: np.ndarray, similar: np.ndarray) -> None:
        """Initialize the heads with the features [p, 5], weighted by a logistic regression on the labels [p].

        The scale is at most `SUREST`: after confident learning, labels follow almost entirely from the features. The
        first task's head starts without the cosine of the texts, the others with nothing else.
        """
        worth, slope = np.array(WEIGHTS), 1.0
        if 0 < similar.sum() < len(similar):
            fitted = LogisticRegression(C=100).fit(features, similar).coef_[0].clip(min=0)
            if fitted.any():
                worth, slope = fitted / fitted.max(), float(np.clip(fitted.max(), slope, SUREST))
        for number, head in enumerate(self._task_heads):
            weights = (0.0, *worth) if number == 0 else (1.0, *np.zeros_like(worth))
            head.weights.copy_(torch.tensor(weights))
            head.scale.fill_(slope)

    @torch.no_grad()
    def centre(self, accelerator: Accelerator, task: Tensor, features: Tensor, **batch: Tensor) -> None:
        """Set each task's likeness at even odds to the mean over its rows in a first batch, over all processes."""
        self.eval()
        _, cosines = self.cross.read(**batch)
        likeness = torch.stack([head.likeness(cosines, features) for head in self._task_heads])
        members = F.one_hot(task, len(self.heads)).T.to(likeness.dtype)
        sums, counts = accelerator.reduce(torch.stack([(likeness * members).sum(1), members.sum(1)]))
        for head, total, count in zip(self._task_heads, sums, counts, strict=True):
            if count:
                head.centre.copy_(total / count)
