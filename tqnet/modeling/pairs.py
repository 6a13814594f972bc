"""What two questions are to each other: a classifier on top of an encoder (FSE, "Duplicate Exercise Detection")."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F
from tqdm import tqdm

from tqnet.modeling.build import load_model, readable
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.questions import Question, QuestionBank
from tqnet.questions.pairs import RELATIONS
from tqnet.questions.traits import FEATURES, compare, traits

_WEIGHTS, _SHAPE = "pairs.safetensors", "pairs.json"
#: Pairs that are classified at a time.
_CHUNK = 4096

#: A packed batch, as `QuestionEncoder.forward` takes it, or the vectors [b, h] of its questions.
Encodable = dict[str, Tensor] | Tensor


class PairHead(nn.Module):
    """Vectors u, v and features f of a pair -> logits, the same for (u, v) and (v, u)::

        logits = MLP(A [|u - v|, u * v] + B f)    u, v of length 1, A zero at first

    NOTE: FSE's head is binary and sees the vectors alone, which hardly tell x from x^2, or 25 from 26; one head of four
    classes serves both of its classifiers, duplicate or not and variant or similar.
    """

    def __init__(self, width: int, hidden: int, dropout: float):
        super().__init__()
        self.width, self.hidden, self.dropout = width, hidden, dropout
        self.vectors = nn.Linear(2 * width, hidden, bias=False)
        self.features = nn.Linear(len(FEATURES), hidden)
        self.layers = nn.Sequential(
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, hidden),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, len(RELATIONS)),
        )
        # The few features say most; random weights of hundreds of coordinates would drown them.
        nn.init.zeros_(self.vectors.weight)

    def forward(self, u: Tensor, v: Tensor, features: Tensor) -> Tensor:
        """u, v [b, h], features [b, f] -> logits [b, 4]."""
        u, v = (F.normalize(vectors.float(), dim=-1) for vectors in (u, v))
        # A product of two coordinates is smaller than their difference by about sqrt(h).
        pair = torch.cat(((u - v).abs(), self.width**0.5 * (u * v)), dim=-1)
        return self.layers(self.vectors(pair) + self.features(features))


class PairClassifier(nn.Module):
    """An encoder of questions and a head of pairs; saved to a folder from which the encoder alone loads too.

    Args:
        frozen: The encoder stays as it is, in ``eval`` whatever the mode of the rest.
    """

    def __init__(self, encoder: QuestionEncoder, hidden: int = 128, dropout: float = 0.1, frozen: bool = True):
        super().__init__()
        self.encoder, self.frozen = encoder, frozen
        self.head = PairHead(encoder.config.hidden_size, hidden, dropout)
        if frozen:
            encoder.requires_grad_(False).eval()

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        if self.frozen:
            self.encoder.eval()
        return self

    def forward(self, first: Encodable, second: Encodable, features: Tensor) -> Tensor:
        """Two questions a row and their `FEATURES` [b, f] -> logits [b, 4] in the order of RELATIONS."""
        return self.head(self._vectors(first), self._vectors(second), features)

    def _vectors(self, questions: Encodable) -> Tensor:
        if isinstance(questions, Tensor):
            return questions
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen):
            embedding: Tensor = self.encoder(**questions).embedding
        return embedding

    @property
    def cells_per_image(self) -> int:
        """Visual tokens that one figure becomes."""
        return self.encoder.cells_per_image

    def classify(self, query: Question, candidates: Sequence[Question]) -> np.ndarray:
        """What each candidate is to the query: probabilities in the order of RELATIONS, float32 ``[n, 4]``."""
        questions = [query, *candidates]
        vectors = self.encoder.encode(questions, device=self.encoder.device)
        ends = np.arange(1, len(questions))
        return self.classify_pairs(questions, vectors, np.stack([np.zeros_like(ends), ends]))

    @torch.inference_mode()
    def classify_pairs(
        self,
        questions: Sequence[Question] | QuestionBank,
        vectors: np.ndarray,
        pairs: np.ndarray,
        show_progress: bool = False,
    ) -> np.ndarray:
        """Probabilities of RELATIONS, float32 ``[p, 4]``, for many pairs of questions that have been encoded.

        Args:
            vectors: Of the questions by this classifier's encoder, ``[n, h]``.
            pairs: Places of both ends, int ``[2, p]``.
        """
        was_training, device = self.training, next(self.head.parameters()).device
        self.eval()
        chances = [np.empty((0, len(RELATIONS)), dtype=np.float32)]
        chunks = range(0, pairs.shape[1], _CHUNK)
        for begin in tqdm(chunks, desc="pairs", unit="", disable=None if show_progress else True):
            ends = pairs[:, begin : begin + _CHUNK]
            compared = [compare(traits(questions[a]), traits(questions[b])) for a, b in ends.T.tolist()]
            u, v = (torch.from_numpy(np.asarray(vectors[rows])).to(device) for rows in ends)
            logits = self.head(u, v, torch.from_numpy(np.stack(compared)).to(device))
            chances.append(logits.softmax(-1).cpu().numpy())
        self.train(was_training)
        return np.concatenate(chances)

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write encoder, processor and head."""
        folder = Path(folder)
        self.encoder.save_pretrained(folder)
        save_file({name: weight.contiguous() for name, weight in self.head.state_dict().items()}, folder / _WEIGHTS)
        shape = {"hidden": self.head.hidden, "dropout": self.head.dropout, "relations": RELATIONS, "features": FEATURES}
        (folder / _SHAPE).write_text(json.dumps(shape, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str], frozen: bool = True) -> PairClassifier:
        """A classifier that was saved, in ``eval``.

        Raises:
            FileNotFoundError: The folder holds none.
            ValueError: It was made by a version that compared questions by other features.
        """
        folder = Path(folder)
        if not (folder / _SHAPE).is_file() or not (folder / _WEIGHTS).is_file():
            raise FileNotFoundError(f"{folder}: no pair classifier here; finetune/pairs.py makes one, in RUN/model")
        with readable(folder / _SHAPE):
            shape = json.loads((folder / _SHAPE).read_text(encoding="utf-8"))
            kinds = (shape["relations"], shape["features"])
        if kinds != (list(RELATIONS), list(FEATURES)):
            raise ValueError(f"{folder}: this pair classifier was made by another version of tqnet; train it anew")
        classifier = cls(load_model(folder), shape["hidden"], shape["dropout"], frozen)
        with readable(folder / _WEIGHTS):
            classifier.head.load_state_dict(load_file(folder / _WEIGHTS))
        return classifier.eval()
