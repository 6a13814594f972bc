"""Stage 0, for a visual stream with random weights: an auto-encoder on the bank's figures (as in QuesNet and FSE).

    accelerate launch pretrain/autoencoder.py --config configs/small/autoencoder.yaml data.bank=BANK \\
        run.out=runs/autoencoder

The visual stream encodes an augmented figure and a small decoder reconstructs it. Later stages take the result with
``model.visual_start=runs/autoencoder/model``.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from torch import Tensor, nn

from tqnet.augment.view import AugmentConfig
from tqnet.config import ConfigError, Count, parse_config, section, settings
from tqnet.hub.card import write_card
from tqnet.losses.prediction import figure_reconstruction
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.heads import FigureDecoder
from tqnet.modeling.visual import feature_cells
from tqnet.training import session
from tqnet.training.config import RecipeConfig, RunConfig
from tqnet.training.loop import TrainingLoop
from tqnet.training.processes import weight_of_mean
from tqnet.training.sampler import ShuffledBatches


@settings
class AutoencoderConfig(RecipeConfig):
    """Settings of the stage."""

    run: RunConfig = section(RunConfig, out="runs/autoencoder")
    augment: AugmentConfig = section(AugmentConfig)
    target: Count = 64
    """Side of the reconstructed figure in pixels."""

    def __post_init__(self) -> None:
        if self.augment.modality_dropout:
            raise ConfigError("augment.modality_dropout: this recipe needs the figures")


class FigureAutoencoder(nn.Module):
    """The visual backbone and a decoder that reconstructs figures from its cells."""

    def __init__(self, model: QuestionEncoder, target: int):
        super().__init__()
        self.backbone, self.images = model.visual.backbone, model.processor.image_processor
        self.decoder = FigureDecoder(self.backbone.num_features, target)

    def forward(self, figures: Tensor) -> Tensor:
        """Return the reconstruction loss, in grey, of normalised figures [n, 3, H, W]."""
        cells = feature_cells(self.backbone, figures)
        side = math.isqrt(cells.shape[1])
        drawn = self.decoder(cells.mT.unflatten(2, (side, side)))
        return figure_reconstruction(drawn, self.images.as_imagenet(figures))


def main(config: AutoencoderConfig) -> Path:
    accelerator = session.start(config.run)
    bank = session.training_questions(config.data, pretraining=True)
    pictured = session.questions_with_figures(bank, config)
    config.model.visual_projection = "random"  # the cells to fit it to are about to change
    model = session.build(config, bank)
    if not model.config.reads_images:
        raise ConfigError("model.visual: the model reads no figures, so there is nothing to train")
    if config.optim.visual_lr == 0:
        raise ConfigError("optim.visual_lr: 0 leaves nothing to train")
    for images in pictured.column("images"):  # warn of dropped figures before the first step
        model.processor.kept_images(images)
    model.processor.warn_of_cuts()

    autoencoder = FigureAutoencoder(model, config.target)
    loop = TrainingLoop(
        accelerator,
        config,
        model=model,
        trained=autoencoder,
        plan=ShuffledBatches(np.zeros(len(pictured), dtype=int), config.run.batch_size, config.run.seed),
        views=session.question_views(config, pictured, model, config.augment),
    )
    for batch in loop:
        figures = batch.inputs["pixel_values"]
        loop.step(weight_of_mean(accelerator, len(figures)) * loop.trained(figures), {})
    return loop.finish(write_card)


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(AutoencoderConfig, __doc__))
