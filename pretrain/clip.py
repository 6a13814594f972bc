"""A baseline of stage 2: contrast between text and figures (CLIP; TQ-Net, Table 4).

    accelerate launch pretrain/clip.py --config configs/demo/clip.yaml model.start=runs/mlm/model run.out=runs/clip

Pulls the text and figures of a question together, and apart from those of other questions in the batch. Reads only
questions with a figure, and no labels. The fusion stays the identity; ``finetune/similar.py`` trains it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn

from tqnet.augment.view import AugmentConfig
from tqnet.config import ConfigError, Count, parse_config, section, settings
from tqnet.hub.card import write_card
from tqnet.libraries import to_device
from tqnet.losses.contrastive import cross_modal_infonce
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.heads import ContrastiveEncoder
from tqnet.training import session
from tqnet.training.config import OptimConfig, RecipeConfig, RunConfig
from tqnet.training.content import content_hashes
from tqnet.training.contrast import same
from tqnet.training.loop import TrainingLoop
from tqnet.training.processes import gather_with_own_gradient

#: The largest 1 / temperature (Radford et al. 2021, section 2.5).
LARGEST_SCALE = 100.0


@settings
class CLIPConfig(RecipeConfig):
    """Settings of the stage."""

    optim: OptimConfig = section(OptimConfig, lr=3e-4, text_lr=2e-5)
    run: RunConfig = section(RunConfig, out="runs/clip")
    augment: AugmentConfig = section(AugmentConfig)
    temperature: Annotated[float, Field(ge=1 / LARGEST_SCALE)] = 0.07
    """Initial temperature; it is learnt and never falls below 0.01."""
    dimension: Count = 128
    """Width of the projections."""

    def __post_init__(self) -> None:
        if self.augment.modality_dropout:
            raise ConfigError("augment.modality_dropout: this recipe contrasts text and figures and needs both")


class CrossModalEncoder(ContrastiveEncoder):
    """Encoder of a question's text and figures to unit vectors, with a learnt scale of their products.

    NOTE: CLIP projects linearly; here we use the other recipes' two-layer projector, so that a comparison varies only
    what is contrasted.
    """

    def __init__(self, model: QuestionEncoder, dimension: int, temperature: float):
        super().__init__(model, ("text", "visual"), dimension)
        self.log_scale = nn.Parameter(torch.tensor(-math.log(temperature)))

    @property
    def scale(self) -> Tensor:
        return self.log_scale.exp()

    @torch.no_grad()
    def limit_scale(self) -> None:
        """Clamp the scale after a step; a clamp in the forward pass would stop its gradient."""
        self.log_scale.clamp_(max=math.log(LARGEST_SCALE))


def main(config: CLIPConfig) -> Path:
    accelerator = session.start(config.run)
    bank = session.training_questions(config.data, pretraining=True)
    pictured = session.questions_with_figures(bank, config)
    model = session.build(config, bank)
    if not model.config.reads_images:
        raise ConfigError("model.visual: the model reads no figures, so there is nothing to contrast texts with")
    if model.config.fusion == "joint":  # its text embedding has seen the figures
        raise ConfigError("model.fusion: joint joins text and figures, which this recipe contrasts")
    model.freeze_vector()

    encoder = CrossModalEncoder(model, config.dimension, config.temperature)
    loop = TrainingLoop(
        accelerator,
        config,
        model=model,
        trained=encoder,
        plan=session.shuffled_batches(config, pictured, model),
        views=session.question_views(config, pictured, model, config.augment),
        parts=model.parts,
        evaluate=session.validation(config, model),
    )
    hashes = content_hashes(pictured)
    texts, figures = hashes["text"].to(loop.device), hashes["visual"].to(loop.device)
    for batch in loop:
        vectors = loop.trained(**batch.inputs)
        text, visual = (gather_with_own_gradient(accelerator, vectors[stream]) for stream in ("text", "visual"))
        index = to_device(batch.everywhere, loop.device)
        excluded = same(texts[index]) | same(figures[index])
        loss, logits = cross_modal_infonce(text, visual, encoder.scale, excluded)
        loop.step(loss, retrieval_metrics(logits.detach(), encoder.scale.detach()))
        encoder.limit_scale()
    return loop.finish(write_card)


def retrieval_metrics(logits: Tensor, scale: Tensor) -> dict[str, Tensor]:
    """Return how often a text retrieves its own figures first within the batch, and figures their text."""
    place = torch.arange(len(logits), device=logits.device)
    return {
        "text_to_visual": (logits.argmax(1) == place).float().mean(),
        "visual_to_text": (logits.argmax(0) == place).float().mean(),
        "temperature": 1 / scale,
    }


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(CLIPConfig, __doc__))
