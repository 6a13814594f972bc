"""Train a pair classifier on an encoder: duplicate, similar, variant or unrelated (FSE, "Duplicate Exercise
Detection" and "Variant Exercise re-rank").

    accelerate launch finetune/pairs.py --config configs/small/pairs.yaml data.bank=BANK \\
        model.start=runs/scl/model run.out=runs/pairs

Makes new pairs from the bank's training questions every epoch, or reads labelled pairs (``data.pairs``, with ``a``,
``b`` and ``label``).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from tqnet.config import ConfigError, Count, ShareBelowOne, parse_config, section, settings
from tqnet.hub.card import write_card
from tqnet.libraries import precision, to_device
from tqnet.modeling.pairs import PairClassifier
from tqnet.questions import QuestionBank
from tqnet.questions.leakage import rows_held_out
from tqnet.questions.pairs import LabelledPair, read_labelled_pairs
from tqnet.training import session
from tqnet.training.config import DataConfig, OptimConfig, RecipeConfig, RunConfig
from tqnet.training.loop import TrainingLoop
from tqnet.training.pairs import PairViews, ValidationPairs, made_pairs, pair_vectors
from tqnet.training.processes import encode_in_shares
from tqnet.training.sampler import ShuffledBatches

log = logging.getLogger(__name__)


@settings
class PairsConfig(RecipeConfig):
    """Settings of the stage."""

    optim: OptimConfig = section(OptimConfig, lr=1e-3, text_lr=2e-5)
    run: RunConfig = section(RunConfig, out="runs/pairs")
    frozen: bool = True
    """Freeze the encoder and compute the vectors of the bank or of labelled pairs once. Otherwise train it too, at its
    rates in optim."""
    hidden: Count = 128
    """Hidden size of the head."""
    dropout: ShareBelowOne = 0.1
    """Dropout of the head."""
    checked: str | None = None
    """File of labelled pairs that every evaluation also scores, only for the log."""


def labelled_pairs(data: DataConfig) -> dict[str, list[LabelledPair]]:
    """Read the pairs of ``data.pairs`` with both questions in one split, by split; questions without one are train."""
    if not data.pairs:
        return {"train": [], "valid": []}
    data.refuse("labelled")
    pairs = read_labelled_pairs(data.pairs, data.load(), data.on_error)
    by_split = {
        split: [pair for pair in pairs if (pair.a.split or "train", pair.b.split or "train") == (split, split)]
        for split in ("train", "valid")
    }
    stems = list(dict.fromkeys(question.stem for pair in by_split["train"] for question in (pair.a, pair.b)))
    held_out = {stems[row] for row in rows_held_out(stems, data.held_out)}
    kept = [pair for pair in by_split["train"] if held_out.isdisjoint((pair.a.stem, pair.b.stem))]
    if held := len(by_split["train"]) - len(kept):
        log.info("%d labelled pairs are left out: an end, or a near-duplicate, is in data.held_out", held)
        by_split["train"] = kept
    if not by_split["train"]:
        raise ConfigError(f"data.pairs: no pair of {data.pairs} has both ends in split 'train' and none held out")
    if left := len(pairs) - held - sum(map(len, by_split.values())):
        log.info("%d of %d labelled pairs are left out: their ends are in two splits, or in test", left, len(pairs))
    return by_split


def validation(
    classifier: PairClassifier, config: PairsConfig, labelled: Sequence[LabelledPair]
) -> ValidationPairs | None:
    """Build the score on labelled or else made pairs of ``valid``; None, with a log line, if it is empty."""
    valid = config.data.load().split("valid")
    if not labelled and not len(valid):
        log.info("no question has split 'valid': the last state is kept, not the best")
        return None
    if config.data.pairs and not labelled:
        log.info("no labelled pair has both ends in split 'valid': made pairs choose the best state")
    pairs = {"valid": labelled or made_pairs(valid)}
    if config.checked:
        pairs["checked"] = read_labelled_pairs(config.checked, config.data.load())
    return ValidationPairs(classifier, pairs, precision(config.run.precision))


def known_vectors(
    classifier: PairClassifier, config: PairsConfig, bank: QuestionBank, labelled: Sequence[LabelledPair]
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """Encode first and second questions to [n, h] each; None if their vectors change from epoch to epoch.

    A trained encoder's vectors change, and the second questions of made pairs are new in each epoch.
    """
    if not config.frozen:
        return None, None
    options = {"device": classifier.encoder.device, "precision": precision(config.run.precision)}
    if labelled:
        log.info("encoding %d pairs once", len(labelled))
        ends = torch.from_numpy(pair_vectors(classifier, labelled, **options))
        return ends[0::2], ends[1::2]
    log.info("encoding %d questions once", len(bank))
    return torch.from_numpy(encode_in_shares(classifier.encoder, bank, **options)), None


def main(config: PairsConfig) -> Path:
    accelerator = session.start(config.run)
    bank = session.training_questions(config.data, pretraining=False)
    labelled = labelled_pairs(config.data)
    model = session.build(config, bank)
    classifier = PairClassifier(model, config.hidden, config.dropout, config.frozen).to(accelerator.device)

    known = known_vectors(classifier, config, bank, labelled["train"])
    views = PairViews(
        bank,
        model.processor,
        config.run.seed,
        labelled["train"],
        config.data.workers,
        read_images=model.config.reads_images,
        packed=(known[0] is None, known[1] is None),
    )
    plan = session.shuffled_batches(config, bank, model)
    if labelled["train"]:
        plan = ShuffledBatches(np.zeros(len(views), dtype=int), config.run.batch_size, config.run.seed)
    loop = TrainingLoop(
        accelerator,
        config,
        model=classifier,
        trained=classifier,
        plan=plan,
        views=views,
        evaluate=validation(classifier, config, labelled["valid"]),
    )
    for batch in loop:
        first, second = (
            view if vectors is None else to_device(vectors[batch.index], loop.device)
            for view, vectors in zip(batch.views, known, strict=True)
        )
        logits = loop.trained(first, second, batch.extras["features"])
        relation = batch.extras["relation"]
        loop.step(F.cross_entropy(logits, relation), {"accuracy": (logits.argmax(-1) == relation).float().mean()})
    return loop.finish(write_card)


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(PairsConfig, __doc__))
