"""Two questions read together, and how similar they are (FSE, "Ranking Module", Figure 5b)."""

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
from tqnet.modeling.build import RANKER, load_model
from tqnet.modeling.encode import CellCache, accelerator
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.questions import Question
from tqnet.search.ranking import FEATURES, WEIGHTS

_HEAD, _SETTINGS = "cross_encoder.safetensors", RANKER


_OTHER = "not as this version of finetune/ranker.py writes it; train it anew"


class TaskHead(nn.Module):
    """What one task makes of a pair: a representation of its own, and a score.

    NOTE: FSE scores the pair's vector alone, which means nothing before it is trained. To it comes how alike the two
    are: what search knows of them beforehand, and the cosine of their texts, each read beside the other.

    Attributes:
        weights: Of that cosine, and of the evidence: what they are worth as likeness.
        scale, centre: The logit of a likeness of 1, and the likeness of even odds.
    """

    def __init__(self, width: int):
        super().__init__()
        self.dense = nn.Linear(width, width)
        self.score = nn.Linear(width, 1)
        nn.init.zeros_(self.score.weight)  # it starts with nothing to say
        nn.init.zeros_(self.score.bias)
        self.weights = nn.Parameter(torch.ones(1 + len(FEATURES)))
        self.scale = nn.Parameter(torch.tensor(10.0))
        self.centre = nn.Parameter(torch.tensor(0.5))

    def likeness(self, cosines: Tensor, evidence: Tensor) -> Tensor:
        """Cosines of the sides [p] and evidence [p, 3] -> how alike the sides are [p]."""
        # No product of matrices: under autocast, its rounding would swallow what tells candidates apart.
        return (torch.cat([cosines[:, None], evidence], 1) * self.weights).sum(1)

    def forward(self, pairs: Tensor, cosines: Tensor, evidence: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors of pairs [p, h], and what :meth:`likeness` takes -> features [p, h] and logits [p]."""
        features = F.gelu(self.dense(pairs))
        likeness = self.likeness(cosines, evidence)
        return features, self.score(features).squeeze(-1).float() + self.scale * (likeness - self.centre)


class CrossEncoder(nn.Module):
    """Query and candidate as one text, with the figures of both, through the encoder to the odds that they are similar.

    Args:
        length: Tokens of a pair; more are cut.
        searched_by: Digest of the files of the model whose cosines are the evidence; None of one without files.

    Raises:
        ValueError: The encoder has no positions for so many.
    """

    def __init__(self, encoder: QuestionEncoder, length: int, searched_by: str | None = None):
        super().__init__()
        positions = getattr(encoder.config.get_text_config(), "max_position_embeddings", length)
        if not 3 < length <= positions:
            raise ValueError(f"length: pairs of {length} tokens, but the encoder reads 4 to {positions}")
        self.encoder, self.length, self.searched_by = encoder, length, searched_by
        self._separator = encoder.processor.tokenizer.sep_token_id
        self.head = TaskHead(encoder.config.hidden_size)

    @property
    def cells_per_image(self) -> int:
        """As :attr:`QuestionEncoder.cells_per_image`."""
        return self.encoder.cells_per_image

    def forward(self, evidence: Tensor, **batch: Tensor) -> Tensor:
        """Evidence [p, 3] and a packed batch of pairs, each as one question -> logits [p]."""
        return self.head(*self.read(**batch), evidence)[1]

    def read(self, **batch: Tensor) -> tuple[Tensor, Tensor]:
        """A packed batch of pairs -> their vectors [p, h] and the cosines of their sides [p]; 0 by a QuesNet."""
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
        save_file({name: of.cpu().contiguous() for name, of in self.head.state_dict().items()}, folder / _HEAD)
        with atomic(folder / _SETTINGS) as temporary:
            settings = {"length": self.length, "searched_by": self.searched_by, "evidence": FEATURES}
            temporary.write_text(json.dumps(settings) + "\n", encoding="utf-8")

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str], device: str | torch.device | None = None) -> CrossEncoder:
        """From what :meth:`save_pretrained` wrote, as ``finetune/ranker.py`` does.

        Args:
            device: By default the accelerator where there is one.

        Raises:
            FileNotFoundError: It is no folder of that kind.
            ValueError: It is damaged, or of an earlier version.
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
        evidence: np.ndarray,
        batch_size: int = 32,
        precision: str = "fp32",
        show_progress: bool = False,
    ) -> np.ndarray:
        """That the questions of each pair, query and candidate, are similar: float32 [pairs].

        Args:
            evidence: Of each, [pairs, 3] (:func:`tqnet.search.ranking.evidence`).
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
        found = np.empty(len(pairs), dtype=np.float32)
        with (
            tqdm(total=len(pairs), unit=" pairs", desc="rank", disable=not show_progress) as progress,
            torch.autocast(encoder.device.type, torch.bfloat16, enabled=precision == "bf16"),
        ):
            for start in range(0, len(order), batch_size):
                chosen = order[start : start + batch_size]
                inputs = processor.pack_text([texts[i] for i in chosen])
                if cells is not None and any(images[i] for i in chosen):
                    inputs["image_cells"] = cells([path for i in chosen for path in images[i]])
                    inputs["image_counts"] = torch.tensor([len(images[i]) for i in chosen])
                inputs["evidence"] = torch.from_numpy(np.asarray(evidence[chosen], dtype=np.float32))
                logits = self(**{name: value.to(encoder.device) for name, value in inputs.items()})
                found[chosen] = logits.float().sigmoid().cpu().numpy()
                progress.update(len(chosen))
        processor.forget_cuts()
        self.train(was_training)
        return found


# How much each task counts, learnt by an expert of its own (FSE, Eq. 5, 8 and 9).


class TaskExperts(nn.Module):
    """Coefficients of the tasks of each pair, which sum to 1.

    Three layers for each task, h-h-1, so that all of them end in one number a task.

    NOTE: the loss alone would have the coefficients move to whichever task is the easiest and leave the others. So no
    choice of theirs has less entropy than ``floor``; and they read the tasks' features without shaping them.

    Args:
        floor: Least entropy, as a share of that of equal coefficients.
    """

    def __init__(self, width: int, tasks: int, floor: float):
        super().__init__()
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))
            for _ in range(tasks)
        )
        self.equal = _equal_share(tasks, floor)

    def forward(self, features: Tensor, present: Tensor) -> Tensor:
        """Features [p, tasks, h] of the tasks that a pair has, bool [p, tasks] -> coefficients [p, tasks].

        Those of absent tasks are 0.
        """
        read = features.detach()
        votes = torch.cat([expert(read[:, task]) for task, expert in enumerate(self.experts)], 1).float()
        chosen = votes.masked_fill(~present, -math.inf).softmax(1)
        equal = present / present.sum(1, keepdim=True)
        return (1 - self.equal) * chosen + self.equal * equal


def _equal_share(tasks: int, floor: float) -> float:
    """The share of equal coefficients beside which even a choice of one task has the least entropy."""

    def missing(equal: float) -> float:
        coefficients = [1 - equal + equal / tasks] + [equal / tasks] * (tasks - 1)
        return floor - sum(-c * math.log(c) for c in coefficients if c > 0) / math.log(tasks)

    return float(brentq(missing, 0, 1)) if 0 < floor < 1 else floor


# What the cross-encoder is trained as: several tasks at once (FSE, "Ranking Module").


#: Logits for a likeness of 1, at most: beyond, all good candidates would have a probability of 1.
SUREST = 10.0


class MultiTaskRanker(nn.Module):
    """The cross-encoder, and what it is trained with: the other tasks' heads, and the experts (FSE, Eq. 5, 8 and 9).

    Args:
        coefficients: Of each task, scaled to sum to 1 over those that a pair has.
        entropy_floor: Least entropy of coefficients that experts learn in their place, as a share of that of equal
            ones; None learns none.
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

    def forward(self, pair: Tensor, task: Tensor, evidence: Tensor, **batch: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and coefficients of the tasks of each pair, both [p, tasks]; 0 where a pair has not that task.

        Args:
            pair, task, evidence: Of each row, [r] and [r, 3] (`tqnet.search.ranker_data`).
            batch: The packed rows.
        """
        rows, cosines = self.cross.read(**batch)
        pairs = int(pair.max()) + 1
        logits, features, present = [], [], []
        for number, head in enumerate(self.heads):
            own = task == number
            of_rows, scores = head(rows, cosines, evidence)
            features.append(rows.new_zeros(pairs, rows.shape[1]).index_put((pair[own],), of_rows[own].to(rows.dtype)))
            logits.append(scores.new_zeros(pairs, dtype=torch.float).index_put((pair[own],), scores[own].float()))
            present.append(torch.zeros(pairs, dtype=torch.bool, device=rows.device).index_fill(0, pair[own], True))
        has = torch.stack(present, 1)
        if self.experts is not None:
            return torch.stack(logits, 1), self.experts(torch.stack(features, 1), has)
        return torch.stack(logits, 1), has * self.fixed / (has * self.fixed).sum(1, keepdim=True)

    @torch.no_grad()
    def calibrate(self, evidence: np.ndarray, similar: np.ndarray) -> None:
        """Start from the evidence [p, 3], weighed as the labels [p] have it, and be no surer of it than they allow.

        Nor surer than `SUREST`: labels that confident learning has cleaned follow from little else.

        The first task's head starts without the cosine of texts that are read together, the others have nothing else.
        """
        worth, slope = np.array(WEIGHTS), 1.0
        if 0 < similar.sum() < len(similar):
            fitted = LogisticRegression(C=100).fit(evidence, similar).coef_[0].clip(min=0)  # none speaks against
            if fitted.any():
                worth, slope = fitted / fitted.max(), float(np.clip(fitted.max(), slope, SUREST))
        for number, head in enumerate(self.heads):
            weights = (0.0, *worth) if number == 0 else (1.0, *np.zeros_like(worth))
            cast(TaskHead, head).weights.copy_(torch.tensor(weights))
            cast(TaskHead, head).scale.fill_(slope)

    @torch.no_grad()
    def centre(self, accelerator: Accelerator, task: Tensor, evidence: Tensor, **batch: Tensor) -> None:
        """Put the even odds of each task at the mean likeness of its rows in a first batch, of all processes."""
        self.eval()
        _, cosines = self.cross.read(**batch)
        heads = [cast(TaskHead, head) for head in self.heads]
        likeness = torch.stack([head.likeness(cosines, evidence) for head in heads])
        of_task = F.one_hot(task, len(heads)).T.to(likeness.dtype)
        sums, counts = accelerator.reduce(torch.stack([(likeness * of_task).sum(1), of_task.sum(1)]))
        for head, total, count in zip(heads, sums, counts, strict=True):
            if count:
                head.centre.copy_(total / count)
