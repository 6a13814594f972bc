"""Stage 3: supervised contrastive fine-tuning on similar questions (TQ-Net, Eq. 3; Figure 2, step 3).

    accelerate launch finetune/similar.py --config configs/demo/similar.yaml \\
        model.start=runs/moco/model run.out=runs/scl

Similar questions come from the bank's groups or a pairs file. ``objective=pair`` is the traditional loss that the paper
compares with (Figure 3). With ``frozen=true``, the encoder stays as it is.
"""

from __future__ import annotations

from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from tqnet.augment.view import AugmentConfig
from tqnet.config import (
    ConfigError,
    Count,
    CountOrZero,
    NonNegative,
    Positive,
    Share,
    ShareBelowOne,
    parse_config,
    section,
    settings,
)
from tqnet.hub.card import write_card
from tqnet.libraries import to_device
from tqnet.losses.contrastive import draw_pairs, even_odds, pair_logistic, supervised_contrastive
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.heads import Projector
from tqnet.modeling.lengths import Lengths
from tqnet.training import session
from tqnet.training.config import OptimConfig, RecipeConfig, RunConfig
from tqnet.training.content import content_hashes, sort_lengths
from tqnet.training.contrast import embed_in_chunks, same, train_widths
from tqnet.training.frozen import FrozenEncoder
from tqnet.training.labels import ConceptLabels
from tqnet.training.loop import TrainingLoop
from tqnet.training.processes import gather_with_own_gradient
from tqnet.training.sampler import GroupBatches

#: The augmentation that changes nothing.
UNCHANGED: dict[str, Any] = {"mask": 0.0, "window": 1.0, "images": "none"}


@settings
class SimilarConfig(RecipeConfig):
    """Settings of the stage."""

    optim: OptimConfig = section(OptimConfig, lr=3e-4, text_lr=5e-5)
    run: RunConfig = section(RunConfig, out="runs/similar")
    # The paper augments in pre-training only.
    augment: AugmentConfig = section(AugmentConfig, **UNCHANGED)
    objective: Literal["scl", "pair"] = "scl"
    """Loss: supervised contrastive (Eq. 3), or logistic on pairs."""
    bias: float | None = None
    """Initial bias of pair; null for even odds in the first micro-batch. Its scale starts at 10."""
    denominator: Literal["negatives", "all"] = "negatives"
    """Denominator of scl: the negatives (Eq. 3), or all other questions (Khosla et al. 2020)."""
    temperature: Positive = 0.07
    """Temperature tau of Eq. 3."""
    members: Annotated[int, Field(ge=2)] = 2
    """Similar questions per cluster; a batch is made of clusters."""
    lone: ShareBelowOne = 0.1
    """Share of questions without a similar one in a batch."""
    block: Count = 1
    """Consecutive clusters from one concept, so that a batch has hard negatives; 1 draws clusters at random."""
    block_level: Count = 2
    """Level of the knowledge hierarchy that block uses."""
    chunk: CountOrZero = 0
    """Questions per process whose activations are held at a time (gradient caching): fits a large batch into little
    memory, for a second forward pass. 0 encodes a batch at once. Batch norm uses each chunk's statistics; with
    model.visual_norm=frozen or group, or optim.visual_lr=0, gradients do not depend on it."""
    dimension: CountOrZero = 0
    """Width of a projection to contrast in place of the vectors and then drop (Khosla et al. 2020); 0, the paper's, for
    none."""
    matryoshka: list[Count] = field(default_factory=list)
    """Widths of the vector's beginnings to train too, so that `tqnet encode --dimensions` can cut it: the loss is the
    mean over them and the whole vector (Kusupati et al. 2022)."""
    concept_level: Count = 3
    """Level of the knowledge hierarchy that concept_weight uses."""
    concept_weight: NonNegative = 0.0
    """Weight of a second Eq. 3, over pairs that share a concept; 0 is the paper's. Reads labels of train only."""
    frozen: bool = False
    """Encode every question once and train a linear map of the vectors and the questions' terms alone: minutes instead
    of an hour (configs/small/frozen.yaml)."""
    terms_weight: Share = 0.7
    """Weight of the terms relative to the vector with frozen; 0 reads the vector alone."""

    def __post_init__(self) -> None:
        if self.matryoshka and (self.objective == "pair" or self.dimension):
            raise ConfigError("matryoshka: needs objective=scl and dimension=0, which contrast the vector itself")
        augmented = self.augment != AugmentConfig(**UNCHANGED)
        by_layer = self.optim.text_layers or self.optim.layer_decay != 1
        if self.frozen and (augmented or self.chunk or self.dimension or by_layer or self.model.lora):
            raise ConfigError(
                "frozen: cannot be set with chunk, dimension, augment, optim.text_layers, optim.layer_decay, model.lora"
            )


class SimilarityModel(nn.Module):
    """The encoder, an optional projection, and the learnt scale and bias of the pair objective."""

    def __init__(self, model: QuestionEncoder | FrozenEncoder, config: SimilarConfig):
        super().__init__()
        self.model: Any = model
        self.chunk = config.chunk
        hidden = model.config.hidden_size
        self.projector = Projector(hidden, config.dimension) if config.dimension else nn.Identity()
        if config.objective == "pair":
            self.scale = nn.Parameter(torch.tensor(10.0))
            self.bias = nn.Parameter(torch.tensor(float(config.bias or 0)))

    def forward(self, **batch: Tensor) -> Tensor:
        """Encode a packed batch (see :meth:`TQNetModel.forward`) into unit vectors [b, h], projected if set."""
        return F.normalize(self.projector(embed_in_chunks(self.model, batch, self.chunk)).float(), dim=-1)

    def parts(self, lengths: Lengths) -> list[np.ndarray]:
        """Split rows into parts within chunks (`tqnet.modeling.lengths.Parts`)."""
        size = self.chunk or len(lengths)
        chunks = [np.arange(len(lengths))[start : start + size] for start in range(0, len(lengths), size)]
        return [rows[part] for rows in chunks for part in self.model.parts(lengths[rows])]


def with_copies(similar: np.ndarray, hashes: Tensor) -> np.ndarray:
    """Return bool [b, b], True for copies, by ``hashes`` [b] of their contents, of a question or of one similar to it.

    Such questions, of other groups or none, are not negatives.
    """
    copies = same(hashes).numpy().astype(np.float32)
    near = copies + similar @ copies
    return near + near.T > 0


def main(config: SimilarConfig) -> Path:
    accelerator = session.start(config.run)
    bank = session.training_questions(config.data, pretraining=False)
    similarity = session.similar_questions(bank, config.data)
    model = session.build(config, bank)
    widths = train_widths(model, config.matryoshka)

    blocks = ConceptLabels.from_bank(bank, config.block_level) if config.block > 1 else None
    concepts = ConceptLabels.from_bank(bank, config.concept_level) if config.concept_weight else None
    frozen = FrozenEncoder(model, bank, config.terms_weight, config.run, accelerator.device) if config.frozen else None
    hashes = content_hashes(bank, model.config.reads_images)["fused"]
    similarity_model = SimilarityModel(frozen or model, config)
    loop = TrainingLoop(
        accelerator,
        config,
        model=model,
        trained=similarity_model,
        plan=GroupBatches(
            similarity,
            sort_lengths(bank, model.processor, model.cells_per_image),
            config.run.batch_size,
            config.run.seed,
            config.members,
            config.lone,
            None if blocks is None else blocks.first,
            config.block,
        ),
        views=frozen.views(bank) if frozen else session.question_views(config, bank, model, config.augment),
        parts=None if frozen else similarity_model.parts,
        evaluate=session.validation(config, model, frozen.encode if frozen else None),
    )
    for batch in loop:
        features = gather_with_own_gradient(accelerator, loop.trained(**batch.inputs))
        matrix = similarity.matrix(batch.everywhere)
        copies = torch.from_numpy(with_copies(matrix, hashes[batch.everywhere]))
        similar, excluded = to_device(matrix, loop.device), to_device(copies, loop.device)
        contrast = partial(
            supervised_contrastive,
            temperature=config.temperature,
            denominator=config.denominator,
            excluded=excluded,
        )
        if config.objective == "scl":
            beginnings = [features, *(F.normalize(features[:, :width], dim=-1) for width in widths)]
            loss = torch.stack([contrast(beginning, similar) for beginning in beginnings]).mean()
        else:
            seed = int(np.random.SeedSequence([config.run.seed, loop.micro]).generate_state(1)[0])
            generator = torch.Generator().manual_seed(seed)
            left, right, label = draw_pairs(torch.from_numpy(matrix), generator, copies)
            left, right, label = (to_device(rows, loop.device) for rows in (left, right, label))
            pairs = features[left], features[right], label
            if loop.micro == 0 and config.bias is None:
                with torch.no_grad():
                    similarity_model.bias.copy_(even_odds(*pairs, similarity_model.scale))
            loss = pair_logistic(*pairs, similarity_model.scale, similarity_model.bias)
        if concepts is not None:
            same_concept = to_device(concepts.matrix(batch.everywhere), loop.device)
            loss = loss + config.concept_weight * contrast(features, same_concept)
        loop.step(loss, {"positives": float(matrix.sum()) / 2})
    return loop.finish(write_card)


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(SimilarConfig, __doc__))
