"""The score by which a run's best state is chosen: P@5 on the validation split, never a contrastive loss."""

from __future__ import annotations

import logging

import numpy as np

from tqnet.evaluation.similar import evaluate_similar
from tqnet.libraries import precision
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.questions import QuestionBank, Similarity
from tqnet.training.config import DataConfig, RunConfig

log = logging.getLogger(__name__)

#: Its name in `metrics.jsonl`.
VALID = "valid/p@5"


def similar_questions(bank: QuestionBank, data: DataConfig) -> Similarity:
    """Which questions of ``bank``, a part of ``data.bank``, are similar: by the pairs file, concept, or group.

    Raises:
        ConfigError: The pairs file cannot be read, or names questions that are not there; or the hierarchy has
            no such level.
    """
    if data.similar_level is not None:
        return Similarity.from_concepts(bank, data.similar_level)
    if not data.pairs:
        return Similarity.from_groups(bank)
    whole = data.load()
    row = {name: i for i, name in enumerate(whole.ids)}
    pairs = Similarity.from_pairs(data.pairs, whole, on_error=data.on_error)
    return pairs.select([row[name] for name in bank.ids])


class ValidationPrecision:
    """P@5 of a model on the questions of ``valid``, searched among themselves and ``data.distractors`` of ``train``."""

    def __init__(self, model: QuestionEncoder, bank: QuestionBank, similarity: Similarity, precision: str):
        self.model, self.bank, self.similarity, self.precision = model, bank, similarity, precision

    @classmethod
    def of(cls, model: QuestionEncoder, data: DataConfig, run: RunConfig) -> ValidationPrecision | None:
        """None, and a line that says so, where no validation question has five similar ones."""
        whole = data.load()
        splits = np.asarray(whole.column("split"), dtype=object)
        valid, train = (np.flatnonzero(splits == split) for split in ("valid", "train"))
        if len(valid):
            drawn = np.random.default_rng(0).permutation(train)[: data.distractors]
            bank = whole.select(np.concatenate([valid, drawn]))
            similarity = similar_questions(bank, data)
            if any(len(similarity.neighbours(i)) >= 5 for i in range(len(valid))):
                return cls(model, bank, similarity, precision(run.precision))
        log.info("no question of split 'valid' has five similar ones: the last state is kept, not the best")
        return None

    def __call__(self) -> dict[str, float]:
        vectors = self.model.encode(self.bank, device=self.model.device, precision=self.precision)
        result = evaluate_similar(vectors, self.bank, self.similarity, split="valid", parts=False)
        return {VALID: float(result.overall.precision.mean())}
