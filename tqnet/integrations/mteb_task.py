"""Similar questions of a bank as a retrieval task of mteb, with the numbers of ``tqnet evaluate similar``."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from datasets import Dataset, Features, Image, Sequence, Value
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData
from mteb.abstasks.task_metadata import TaskMetadata

from tqnet.questions import QuestionBank, Similarity

#: ISO 639-1, as a bank has it, -> as mteb has it; of other languages a bank's questions are without one there.
_LANGUAGES = {
    "ar": "ara-Arab",
    "de": "deu-Latn",
    "en": "eng-Latn",
    "es": "spa-Latn",
    "fr": "fra-Latn",
    "hi": "hin-Deva",
    "it": "ita-Latn",
    "ja": "jpn-Jpan",
    "ko": "kor-Hang",
    "pt": "por-Latn",
    "ru": "rus-Cyrl",
    "vi": "vie-Latn",
    "zh": "zho-Hans",
}


class SimilarQuestions(AbsTaskRetrieval):
    """Queries are the questions of a split that have at least k similar ones in the bank; the corpus is the whole bank.

    The main score is P@k (TQ-Net, Eq. 4), and a query does not find itself. P@n, R@n and nDCG@n are those of
    :func:`tqnet.evaluation.similar.evaluate_similar` where scores are rounded to six decimals, as
    :class:`~tqnet.integrations.mteb.TQNetEncoder` does; MRR is mteb's own, which breaks ties otherwise.

    Of two equal scores, trec_eval takes the larger id first and tqnet the smaller, so an id here begins with a number
    that counts down: ``0042 q17``.
    """

    ignore_identical_ids = True
    abstask_prompt = "Retrieve questions that are similar to the given one."

    def __init__(self, metadata: TaskMetadata, data: RetrievalSplitData, split: str, k: int):
        self.metadata = metadata
        self.k_values = tuple(sorted({1, 3, 5, 10, 20, 100, 1000, k}))
        super().__init__()
        self.dataset = {"default": {split: data}}
        self.data_loaded = True

    def load_data(self, *_: Any, **__: Any) -> None:
        """It is there."""


def similar_questions(
    bank: QuestionBank,
    similarity: Similarity | None = None,
    split: str | None = "test",
    k: int = 5,
    figures: bool = True,
) -> SimilarQuestions:
    """The task of a bank.

    Args:
        similarity: Which questions are similar; by default those of one group.
        split: Whose questions ask; None for all.
        figures: Whether questions come with their figures, each a list; mteb asks them of a model that reads any.

    Raises:
        ValueError: No question of the split has k similar ones.
    """
    similarity = similarity if similarity is not None else Similarity.from_groups(bank)
    asking = [row for row, own in enumerate(bank.column("split")) if split is None or own == split]
    similar = {row: [int(n) for n in similarity.neighbours(row) if n != row] for row in asking}
    kept = {row: found for row, found in similar.items() if len(found) >= k}
    if not kept:
        raise ValueError(f"no question{'' if split is None else f' of split {split!r}'} has {k} similar ones")
    ids = _counting_down(bank)
    corpus = _questions(bank, ids, figures and any(bank.column("images")))
    data = RetrievalSplitData(
        corpus=corpus,
        queries=corpus.select(list(kept)),
        relevant_docs={ids[row]: {ids[n]: 1 for n in found} for row, found in kept.items()},
        top_ranked=None,
    )
    pictured = "image" in corpus.column_names
    name = split or "all"
    metadata = TaskMetadata(
        name=f"SimilarQuestions-{re.sub(r'[^A-Za-z0-9_.]+', '-', bank.name)}",
        description=f"Similar questions of {bank.name}: P@{k}, each query left out of what it finds.",
        dataset={"path": bank.name, "revision": bank.fingerprint},
        type="Any2AnyRetrieval" if pictured else "Retrieval",
        category="it2it" if pictured else "t2t",
        modalities=["text", "image"] if pictured else ["text"],
        eval_splits=[name],
        eval_langs=sorted({_LANGUAGES[code] for code in bank.column("language") if code in _LANGUAGES}),
        main_score=f"precision_at_{k}",
        prompt=SimilarQuestions.abstask_prompt,
        is_public=False,
    )
    return SimilarQuestions(metadata, data, name, k)


def _counting_down(bank: QuestionBank) -> list[str]:
    """Ids whose order is the reverse of the bank's own."""
    order = np.argsort(np.asarray(bank.ids, dtype=object), kind="stable")
    place = np.empty(len(bank), dtype=np.int64)
    place[order] = np.arange(len(bank) - 1, -1, -1)
    width = len(str(len(bank)))
    return [f"{place[row]:0{width}d} {own}" for row, own in enumerate(bank.ids)]


def _questions(bank: QuestionBank, ids: list[str], figures: bool) -> Dataset:
    columns: dict[str, Any] = {"id": ids, "text": [question.content for question in bank]}
    features: dict[str, Any] = {"id": Value("string"), "text": Value("string")}
    if figures:
        columns["image"] = [list(images) for images in bank.column("images")]
        features["image"] = Sequence(Image())
    return Dataset.from_dict(columns, features=Features(features))
