"""A trained folder as a model of mteb 2, and similar questions of a bank as one of its tasks.

import mteb
from tqnet.integrations.mteb import TQNetEncoder, similar_questions
mteb.evaluate(TQNetEncoder("runs/scl/model"), [similar_questions(bank), *mteb.get_tasks(tasks=["NFCorpus"])])
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta, ScoringFunction
from torch.utils.data import DataLoader

from tqnet.files import content_digest
from tqnet.integrations.inputs import Read, pack, read
from tqnet.integrations.mteb_task import SimilarQuestions, similar_questions
from tqnet.modeling.build import load_model
from tqnet.modeling.encode import accelerator
from tqnet.modeling.interchange import kind_of

__all__ = ["SimilarQuestions", "TQNetEncoder", "model_meta", "similar_questions"]


class TQNetEncoder(AbsEncoder):
    """An encoder of mteb. It reads text, and ``image`` where a task has any and the model reads figures.

    Args:
        model_name: A trained folder.
        device: By default the accelerator where there is one.
        precision: ``fp32`` or ``bf16``.

    Raises:
        FileNotFoundError: The folder holds no model.
        ValueError: It holds one that is no encoder of questions, or the precision is another.
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
        kind = kind_of(model_name)
        if not kind.gives_vectors:
            raise ValueError(f"{model_name}: a {kind.what}, no encoder of questions; {kind.taken_by} takes it")
        if precision not in ("fp32", "bf16"):
            raise ValueError(f"precision: {precision!r} is neither 'fp32' nor 'bf16'")
        self.encoder = load_model(model_name)
        self.encoder.to(device or accelerator() or "cpu").eval()  # type: ignore[arg-type]
        self.precision = precision
        self.mteb_model_meta = model_meta(model_name, self.encoder, revision)

    @torch.inference_mode()
    def encode(self, inputs: DataLoader[Any], **_: Any) -> np.ndarray:
        """float32 [inputs, h], in order.

        Args:
            inputs: Batches with ``text``, ``image`` or both; an image of None, or no image, is a question without.
        """
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
            raise ValueError(f"{self.mteb_model_meta.name}: the task has none of what the model reads")  # type: ignore[union-attr]
        count = len(texts if texts is not None else images)  # type: ignore[arg-type]
        return [
            read({"text": texts[row] if texts is not None else None, "image": images[row] if images else None})
            for row in range(count)
        ]

    def similarity(self, embeddings1: Any, embeddings2: Any) -> torch.Tensor:
        """Cosines [a, b], rounded to six decimals as in `tqnet.evaluation.ranking.VectorRanker`: equal texts tie."""
        return torch.round(super().similarity(embeddings1, embeddings2), decimals=6)  # type: ignore[arg-type]


def model_meta(folder: str, model: Any, revision: str | None = None) -> ModelMeta:
    """What mteb writes beside scores; the revision is that of the folder's content.

    Args:
        model: That of the folder.
        revision: In its place.
    """
    path = Path(folder).resolve()
    name = path.parent.name if path.name == "model" else path.name
    text = getattr(model.config, "text_config", None)
    parameters = sum(weights.numel() for weights in model.parameters())
    return ModelMeta(
        loader=None,  # it would need the folder, a path that is written beside scores
        name=f"tqnet/{name}",
        revision=revision or content_digest(path),
        release_date=None,
        languages=None,
        n_parameters=parameters,
        n_embedding_parameters=getattr(text, "vocab_size", 0) * model.config.hidden_size or None,
        memory_usage_mb=round(sum(w.numel() * w.element_size() for w in model.parameters()) / 2**20),
        max_tokens=model.processor.max_length,
        embed_dim=model.config.hidden_size,
        license=None,
        open_weights=None,
        public_training_code=None,
        public_training_data=None,
        framework=["PyTorch", "Transformers", "safetensors"],
        similarity_fn_name=ScoringFunction.COSINE,
        use_instructions=False,
        training_datasets=None,
        modalities=["text", "image"] if model.config.reads_images else ["text"],
    )
