"""Train an encoder whose cosine says whether two questions ask the same (ParaQD), and its baselines.

    accelerate launch finetune/paraphrase.py --config configs/small/paraphrase.yaml data.bank=BANK run.out=runs/paraqd

In every epoch, operators turn each training question into a text that asks the same and one that does not; a triplet
loss pulls the first to the question and pushes the second away. ``method=uda|ssmba`` are the paper's baselines: their
rewrites are the positives, and other questions of the batch the negatives. Questions must be in English.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tqnet.config import parse_config
from tqnet.files import atomic
from tqnet.hub.card import write_card
from tqnet.losses.contrastive import in_batch_infonce
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.paraphrase.settings import PSEUDO_LABELS, TRIPLETS, ParaphraseConfig, check_installed
from tqnet.paraphrase.training import PseudoLabels, ValidationSeparation, english_questions
from tqnet.training import session
from tqnet.training.loop import TrainingLoop
from tqnet.training.processes import gather_with_own_gradient
from tqnet.training.sampler import ShuffledBatches

log = logging.getLogger(__name__)


class ParaphraseModel(nn.Module):
    """The encoder, with unit vectors as output."""

    def __init__(self, model: QuestionEncoder):
        super().__init__()
        self.model = model

    def forward(self, **batch: Tensor) -> Tensor:
        """Encode a packed batch into unit vectors [texts, h]."""
        return F.normalize(self.model(**batch).embedding.float(), dim=-1)


def contrast(
    vectors: Tensor, content: Tensor, valid: Tensor | None, config: ParaphraseConfig
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return a batch's loss, and the mean cosines of questions to their positives and negatives.

    NOTE: the paper does not say what a pair labelled negative is contrasted with. Here its question is its own
    positive, so that such a pair is only pushed apart.

    Args:
        vectors: unit vectors [b, texts, h]: question, positive, and possibly negative.
        content: [b], equal for questions with the same text.
        valid: bool [b], whether the supposed positive is one; None if all are.
    """
    same = content[:, None] == content
    anchor, positive, *made = vectors.unbind(1)
    if made:
        negative = hard = made[0]
    else:
        paraphrase = positive
        valid = torch.ones_like(content, dtype=torch.bool) if valid is None else valid
        positive = torch.where(valid[:, None], paraphrase, anchor)
        negative = torch.where(valid[:, None], anchor[another(same)], paraphrase)
        hard = paraphrase[~valid]
    if config.objective == "mnr":
        keys = torch.cat([positive, hard]) if config.hard_negatives else positive
        loss, _ = in_batch_infonce(anchor, keys, config.temperature, same)
    else:
        triplet, usual = TRIPLETS[config.objective]
        loss = triplet(anchor, positive, negative, config.margin or usual)
    means = {"positive": (anchor * positive).sum(1).mean(), "negative": (anchor * negative).sum(1).mean()}
    return loss, {name: mean.detach() for name, mean in means.items()}


def another(same: Tensor) -> Tensor:
    """Return the next different question in the batch, cyclically, for each question: [b]; itself if there is none.

    Args:
        same: bool [b, b], whether two questions have the same text.
    """
    place = torch.arange(len(same), device=same.device)
    following = (place[:, None] + 1 + place) % len(same)
    return following.gather(1, (~same.gather(1, following)).int().argmax(1, keepdim=True)).squeeze(1)


def main(config: ParaphraseConfig) -> Path:
    check_installed(config.parser)  # fail before anything slow
    from tqnet.paraphrase.precompute import operators_of, parse
    from tqnet.paraphrase.training import Draws, ParaphraseViews

    accelerator = session.start(config.run)
    bank = english_questions(session.training_questions(config.data, pretraining=False), config)
    model = session.build(config, bank, read_images=False)
    model.to(accelerator.device)
    evaluate = ValidationSeparation.of(model, config.data.valid_pairs, config.run.precision)
    labels = PseudoLabels(model, config.pseudo_threshold) if config.pseudo else None

    problems = parse(bank, config.parser, accelerator.is_local_main_process)
    draws = Draws(problems, operators_of(config, bank, problems, model, accelerator), config.run.seed)
    if left := len(problems) - len(draws):
        reason, _ = draws.reasons.most_common(1)[0]
        log.info("%d of %d questions are left out: no operator applies (most often %s)", left, len(problems), reason)
    lengths = np.array([len(ids) for ids in model.processor.tokenize([problem.text for problem in draws.problems])])
    model.processor.warn_of_cuts()

    trained = ParaphraseModel(model)
    loop = TrainingLoop(
        accelerator,
        config,
        model=model,
        trained=trained,
        plan=ShuffledBatches(lengths, config.run.batch_size, config.run.seed),
        views=ParaphraseViews(bank.select(draws.rows), model.processor, draws, config.run.seed, config.data.workers),
        state={"labels": labels} if labels else None,
        parts=model.parts,
        evaluate=evaluate,
    )
    for batch in loop:
        vectors = gather_with_own_gradient(accelerator, loop.trained(**batch.inputs))
        valid = labels(accelerator, **batch.inputs) if labels else None
        content = accelerator.gather(batch.extras["content"])
        loss, means = contrast(vectors.unflatten(0, (len(content), -1)), content, valid, config)
        if valid is not None:
            means["labelled_positive"] = valid.float().mean()
        loop.step(loss, means)
    if labels and accelerator.is_main_process:
        summary = labels.summary()
        log.info("labelled positive: %(positive_percent)s %%, negative: %(negative_percent)s %%", summary)
        with atomic(loop.out / PSEUDO_LABELS) as temporary:
            temporary.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    return loop.finish(write_card)


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(ParaphraseConfig, __doc__))
