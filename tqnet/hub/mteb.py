"""A trained folder as a model of mteb 2, and similar questions of a bank as a task.

import mteb
from tqnet.hub.mteb import TQNetEncoder, similar_questions_task
mteb.evaluate(TQNetEncoder("runs/scl/model"), [similar_questions_task(bank), *mteb.get_tasks(tasks=["NFCorpus"])])
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset, Features, Image, Sequence, Value
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta, ScoringFunction
from torch.utils.data import DataLoader

from tqnet.files import content_digest
from tqnet.hub.inputs import Read, load_encoder, pack, read
from tqnet.modeling.encode import accelerator
from tqnet.questions import QuestionBank, Similarity

#: ISO 639-1 code of a bank -> mteb's code; other languages are left out there.
_LANGUAGES = {
    "ar": "ara-Arab", "de": "deu-Latn", "en": "eng-Latn", "es": "spa-Latn", "fr": "fra-Latn", "hi": "hin-Deva",
    "it": "ita-Latn", "ja": "jpn-Jpan", "ko": "kor-Hang", "pt": "por-Latn", "ru": "rus-Cyrl", "vi": "vie-Latn",
    "zh": "zho-Hans",
}  # fmt: skip


class SimilarQuestions(AbsTaskRetrieval):
    """Retrieval of similar questions, with the numbers of ``tqnet evaluate similar``.

    Queries are the questions of a split with at least k similar ones; the corpus is the whole bank. The main score is
    P@k (TQ-Net, Eq. 4), without the query itself. P@n, R@n and nDCG@n equal those of
    :func:`tqnet.evaluation.similar.evaluate_similar` if scores are rounded as by :class:`TQNetEncoder`; MRR is
    mteb's own, which breaks ties differently.

    Of two equal scores, trec_eval takes the larger id first and tqnet the smaller, so ids begin with a number that
    counts down here: ``0042 q17``.
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
        """Do nothing: the data is loaded."""


def similar_questions_task(
    bank: QuestionBank,
    similarity: Similarity | None = None,
    split: str | None = "test",
    k: int = 5,
    figures: bool = True,
) -> SimilarQuestions:
    """Make the task of a bank.

    Args:
        similarity: By default, questions of one group are similar.
        split: Split of the queries; None for all.
        figures: Include the figures of questions, for models that read any.

    Raises:
        ValueError: No question of the split has k similar ones.
    """
    similarity = similarity if similarity is not None else Similarity.from_groups(bank)
    queries = [row for row, name in enumerate(bank.column("split")) if split in (None, name)]
    similar = {row: [int(n) for n in similarity.neighbours(row) if n != row] for row in queries}
    kept = {row: rows for row, rows in similar.items() if len(rows) >= k}
    if not kept:
        raise ValueError(f"no question{'' if split is None else f' of split {split!r}'} has {k} similar ones")
    ids = _counting_down(bank)
    corpus = _questions(bank, ids, figures and any(bank.column("images")))
    data = RetrievalSplitData(
        corpus=corpus,
        queries=corpus.select(list(kept)),
        relevant_docs={ids[row]: {ids[n]: 1 for n in rows} for row, rows in kept.items()},
        top_ranked=None,
    )
    pictured = "image" in corpus.column_names
    name = split or "all"
    metadata = TaskMetadata(
        name=f"SimilarQuestions-{re.sub(r'[^A-Za-z0-9_.]+', '-', bank.name)}",
        description=f"Similar questions of {bank.name}: P@{k}, without the query itself.",
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
    """Return ids in the reverse order of the bank's."""
    order = np.argsort(np.asarray(bank.ids, dtype=object), kind="stable")
    place = np.empty(len(bank), dtype=np.int64)
    place[order] = np.arange(len(bank) - 1, -1, -1)
    return [f"{number:0{len(str(len(bank)))}d} {id}" for number, id in zip(place, bank.ids, strict=True)]


def _questions(bank: QuestionBank, ids: list[str], figures: bool) -> Dataset:
    columns: dict[str, Any] = {"id": ids, "text": [question.content for question in bank]}
    features: dict[str, Any] = {"id": Value("string"), "text": Value("string")}
    if figures:
        columns["image"] = [list(images) for images in bank.column("images")]
        features["image"] = Sequence(Image())
    return Dataset.from_dict(columns, features=Features(features))


class TQNetEncoder(AbsEncoder):
    """An encoder of mteb, of text, and of ``image`` if the task has any and the model reads figures.

    Args:
        model_name: A trained folder.
        device: By default the accelerator if there is one.
        precision: ``fp32`` or ``bf16``.

    Raises:
        FileNotFoundError: The folder holds no model.
        ValueError: Its model is not an encoder of questions, or the precision is unknown.
    """

    def __init__(
        self,
        model_name: str,
        revision: str | None = None,
        *,
        device: str | None = None,
        precision: str = "fp32",
        **_: Any,
    ):
        if precision not in ("fp32", "bf16"):
            raise ValueError(f"precision: {precision!r} is neither 'fp32' nor 'bf16'")
        self.encoder = load_encoder(model_name)
        self.encoder.to(device or accelerator() or "cpu").eval()  # type: ignore[arg-type]
        self.precision = precision
        self.mteb_model_meta = model_meta(model_name, self.encoder, revision)

    @torch.inference_mode()
    def encode(self, inputs: DataLoader[Any], **_: Any) -> np.ndarray:
        """Return float32 [inputs, h] for batches with ``text``, ``image`` or both; an image may be None."""
        vectors, device = [], self.encoder.device
        for batch in inputs:
            packed = pack(self.encoder, self._questions(batch))
            with torch.autocast(device.type, torch.bfloat16, enabled=self.precision == "bf16"):
                output = self.encoder(**{name: value.to(device) for name, value in packed.items()})
            vectors.append(output.embedding.float().cpu().numpy())
        return np.concatenate(vectors)

    def _questions(self, batch: dict[str, Any]) -> list[Read]:
        texts, images = batch.get("text"), batch.get("image") if self.encoder.config.reads_images else None
        if texts is None and images is None:
            raise ValueError(f"{self.mteb_model_meta.name}: the task has neither text nor figures for the model")  # type: ignore[union-attr]
        count = len(texts if texts is not None else images)  # type: ignore[arg-type]
        texts, images = (values if values is not None else [None] * count for values in (texts, images))
        return [read({"text": text, "image": image}) for text, image in zip(texts, images, strict=True)]

    def similarity(self, embeddings1: Any, embeddings2: Any) -> torch.Tensor:
        """Return cosines [a, b] rounded to six decimals, as `VectorRanker` does, so that equal texts tie."""
        return torch.round(super().similarity(embeddings1, embeddings2), decimals=6)  # type: ignore[arg-type]


def model_meta(folder: str, model: Any, revision: str | None = None) -> ModelMeta:
    """Describe the model of a folder for mteb; its revision is by default the digest of its files."""
    path = Path(folder).resolve()
    name = path.parent.name if path.name == "model" else path.name
    text = getattr(model.config, "text_config", None)
    facts = {
        "name": f"tqnet/{name}",  # without a loader: it would need the path, and mteb writes that next to the scores
        "revision": revision or content_digest(path),
        "n_parameters": sum(weights.numel() for weights in model.parameters()),
        "n_embedding_parameters": getattr(text, "vocab_size", 0) * model.config.hidden_size or None,
        "memory_usage_mb": round(sum(w.numel() * w.element_size() for w in model.parameters()) / 2**20),
        "max_tokens": model.processor.max_length,
        "embed_dim": model.config.hidden_size,
        "framework": ["PyTorch", "Transformers", "safetensors"],
        "similarity_fn_name": ScoringFunction.COSINE,
        "use_instructions": False,
        "modalities": ["text", "image"] if model.config.reads_images else ["text"],
    }
    return ModelMeta.create_empty(facts)
