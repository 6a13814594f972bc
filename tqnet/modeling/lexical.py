"""A linear read-out of an encoder: its vector and the question's terms, mapped to one vector."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedTokenizerBase

from tqnet.modeling.configuration import TQNetConfig


class LexicalReadout(nn.Module):
    """Maps a question's vector v and its terms, tokens and pairs of neighbours, to one vector::

        W [v / |v|; weight * s / |s|],  s = sum of the terms' rows

    Rows are found by hashing and hold a truncated SVD of TF-IDF (latent semantic analysis, Deerwester et al. 1990).
    Tokens of digits share a row. With ``lexical=0`` it reads the vector alone.

    Shape notation: b questions, t tokens, h width of v, w width of the terms.
    """

    def __init__(self, config: TQNetConfig):
        super().__init__()
        self.weight, self.buckets = config.lexical_weight, config.lexical_buckets
        self.linear = nn.Linear(config.hidden_size + config.lexical, config.hidden_size, bias=False)
        self.terms = nn.Embedding(config.lexical_buckets, config.lexical) if config.lexical else None
        self.first: Tensor
        self.second: Tensor
        # The hash of a pair is the sum of two: of its first token, and of its second.
        for name in ("first", "second") if config.lexical else ():
            self.register_buffer(name, torch.zeros(config.vocab_size, dtype=torch.long))

    def forward(self, vector: Tensor, input_ids: Tensor, mask: Tensor) -> Tensor:
        """Read [b, h] out of vectors [b, h], token ids and their mask [b, t]."""
        read: Tensor = self.linear(self.features(vector, input_ids, mask).to(self.linear.weight.dtype))
        return read

    def features(self, vector: Tensor, input_ids: Tensor, mask: Tensor) -> Tensor:
        """Return what the linear map reads, [b, h + w]."""
        if self.terms is None:
            return F.normalize(vector.float(), dim=1)
        both = torch.cat([mask, _following(mask)], 1)[..., None]
        terms = (self.terms(self.rows(input_ids)) * both).sum(1)
        return torch.cat([F.normalize(vector.float(), dim=1), self.weight * F.normalize(terms.float(), dim=1)], 1)

    def rows(self, input_ids: Tensor) -> Tensor:
        """Return the rows of the terms, [b, 2t]: of each token, then of each with the next; the last has none."""
        first, second = self.first[input_ids], self.second[input_ids]
        return torch.cat([second, (first + _following(second)) % self.buckets], 1)

    @torch.no_grad()
    def fit(self, ids: Sequence[Sequence[int]], tokenizer: PreTrainedTokenizerBase, seed: int) -> None:
        """Fit the terms (``lexical`` > 0) to the token ids of questions; those of a single question are left out."""
        assert self.terms is not None
        hashes = np.random.default_rng(seed).integers(self.buckets, size=(2, len(self.first)))
        tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
        numbers = [place for place, token in enumerate(tokens) if token.strip("#▁Ġ").isdigit()]
        hashes[:, numbers] = hashes[:, numbers[:1]]
        self.first.copy_(torch.from_numpy(hashes[0]))
        self.second.copy_(torch.from_numpy(hashes[1]))

        terms = [self.rows(torch.tensor([row]))[0, :-1].numpy() for row in ids]
        weight, weighted = _tf_idf(terms, self.buckets)
        width = min(self.terms.embedding_dim, min(weighted.shape) - 1)
        svd = TruncatedSVD(width, n_iter=3, random_state=seed).fit(weighted)
        self.terms.weight.zero_()
        self.terms.weight[:, :width] = torch.from_numpy(weight[:, None] * svd.components_.T)


def _following(values: Tensor) -> Tensor:
    """Shift [b, t] to the left, with a zero at the end."""
    return F.pad(values, (0, 1))[:, 1:]  # not values[:, 1:], whose length an exporter would tie to another than 1


def _tf_idf(rows: Sequence[np.ndarray], terms: int) -> tuple[np.ndarray, sparse.csr_matrix]:
    """Return the terms' weights [terms] and the questions' weighted counts [questions, terms], of length 1."""
    ends = np.cumsum([0, *map(len, rows)])
    counts = sparse.csr_matrix((np.ones(ends[-1]), np.concatenate(rows), ends), shape=(len(rows), terms))
    counts.sum_duplicates()
    questions = np.bincount(counts.indices, minlength=terms)
    weight = np.where(questions > 1, np.log((1 + len(rows)) / (1 + questions)) + 1, 0)
    weighted = counts @ sparse.diags(weight)
    lengths = sparse.linalg.norm(weighted, axis=1)
    return weight, sparse.diags(1 / np.maximum(lengths, 1e-9)) @ weighted
