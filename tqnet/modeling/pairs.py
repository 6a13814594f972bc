"""Classify the relation of two questions with a head on an encoder (FSE, "Duplicate Exercise Detection")."""

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
from tqnet.modeling.interchange import PAIRS
from tqnet.questions import Question, QuestionBank
from tqnet.questions.pairs import RELATIONS
from tqnet.questions.traits import TRAIT_FEATURES, compare, traits

_WEIGHTS, _SHAPE = "pairs.safetensors", str(PAIRS.mark)
#: Pairs to classify at a time.
_CHUNK = 4096

#: A packed batch for `QuestionEncoder.forward`, or the vectors [b, h] of its questions.
Encodable = dict[str, Tensor] | Tensor


class PairHead(nn.Module):
    """Symmetric classifier of a pair from its vectors u, v and features f::

            logits = MLP(A [|u - v|, u * v] + B f)    u, v of length 1, A initialised to zero

    NOTE: FSE's two heads are binary (duplicate or not, variant or similar) and see only the vectors, which hardly tell
    x from x^2, or 25 from 26; one head with four classes replaces both.
    """

    def __init__(self, width: int, hidden: int, dropout: float):
        super().__init__()
        self.width, self.hidden, self.dropout = width, hidden, dropout
        self.vectors = nn.Linear(2 * width, hidden, bias=False)
        self.features = nn.Linear(len(TRAIT_FEATURES), hidden)
        self.layers = nn.Sequential(
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, hidden),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, len(RELATIONS)),
        )
        # The few features matter most; random weights on hundreds of coordinates would drown them.
        nn.init.zeros_(self.vectors.weight)

    def forward(self, u: Tensor, v: Tensor, features: Tensor) -> Tensor:
        """Map u, v [b, h] and features [b, f] to logits [b, 4]."""
        u, v = (F.normalize(vectors.float(), dim=-1) for vectors in (u, v))
        # Products of coordinates are smaller than differences by about sqrt(h).
        pair = torch.cat(((u - v).abs(), self.width**0.5 * (u * v)), dim=-1)
        return self.layers(self.vectors(pair) + self.features(features))


class PairClassifier(nn.Module):
    """A question encoder with a pair head; its folder also loads as a plain encoder.

    Args:
        frozen: Keep the encoder fixed and always in ``eval`` mode.
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
        """Return logits [b, 4] in the order of RELATIONS for pairs of questions and their `TRAIT_FEATURES` [b, f]."""
        return self.head(self._vectors(first), self._vectors(second), features)

    def _vectors(self, questions: Encodable) -> Tensor:
        if isinstance(questions, Tensor):
            return questions
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen):
            embedding: Tensor = self.encoder(**questions).embedding
        return embedding

    @property
    def cells_per_image(self) -> int:
        """Visual tokens per figure."""
        return self.encoder.cells_per_image

    def classify(self, query: Question, candidates: Sequence[Question]) -> np.ndarray:
        """Classify each candidate's relation to the query: probabilities in the order of RELATIONS, float32 [n, 4]."""
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
        """Return probabilities of RELATIONS, float32 ``[p, 4]``, for pairs of encoded questions.

        Args:
            vectors: ``[n, h]``, from this classifier's encoder.
            pairs: int ``[2, p]``, row numbers of both questions.
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
        shape = {
            "hidden": self.head.hidden,
            "dropout": self.head.dropout,
            "relations": RELATIONS,
            "features": TRAIT_FEATURES,
        }
        (folder / _SHAPE).write_text(json.dumps(shape, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str], frozen: bool = True) -> PairClassifier:
        """Load a saved classifier in ``eval`` mode.

        Raises:
            FileNotFoundError: No classifier in the folder.
            ValueError: Saved by a version with other relations or features.
        """
        folder = Path(folder)
        if not (folder / _SHAPE).is_file() or not (folder / _WEIGHTS).is_file():
            raise FileNotFoundError(f"{folder}: no pair classifier here; finetune/pairs.py makes one, in RUN/model")
        with readable(folder / _SHAPE):
            shape = json.loads((folder / _SHAPE).read_text(encoding="utf-8"))
            kinds = (shape["relations"], shape["features"])
        if kinds != (list(RELATIONS), list(TRAIT_FEATURES)):
            raise ValueError(f"{folder}: this pair classifier was made by another version of tqnet; train it anew")
        classifier = cls(load_model(folder), shape["hidden"], shape["dropout"], frozen)
        with readable(folder / _WEIGHTS):
            classifier.head.load_state_dict(load_file(folder / _WEIGHTS))
        return classifier.eval()
