"""Where the visual tokens of an untrained model lie."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from tqnet.modeling.model import TQNetModel
from tqnet.questions import Question

#: Questions with figures that the visual projection is fitted to, and how many of them pass at a time.
SAMPLE, BATCH = 256, 8


def fit_projection(model: TQNetModel, questions: Sequence[Question]) -> None:
    """Move and scale the visual projection, so that figures lie around zero and are as long as texts.

    Features of trained backbones are positive: projected at random, all figures share a direction, and outweigh texts.
    Questions with figures would be close to one another and far from those without, whatever they show.

    Args:
        model: Its visual backbone is trained, its projection is not.
        questions: Some of a bank, with figures.
    """
    projection, training = model.visual.projection, model.training
    model.eval()
    with torch.no_grad():
        outputs = [
            model(**model.processor(questions[i : i + BATCH]).to(model.device)) for i in range(0, len(questions), BATCH)
        ]
        figures = torch.cat([output.visual_embedding for output in outputs])
        texts = torch.cat([output.text_embedding for output in outputs])
        if model.config.fusion == "joint":  # figures stand among words, not among what becomes of them
            texts = model.get_input_embeddings().weight
        centre = figures.mean(0)
        spread = (figures - centre).norm(dim=1).mean()
        if spread > 1e-3 * figures.norm(dim=1).mean():  # else all show one figure, which lies at the centre
            scale = texts.norm(dim=1).mean() / spread
            for weight in (projection.weight, model.visual.image_index.weight):
                weight.mul_(scale)
            projection.bias.sub_(centre).mul_(scale)
    model.train(training)
    model.processor.forget_cuts()  # of this sample; a recipe counts those of its bank
