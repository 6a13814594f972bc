"""Set up a recipe: processes, training questions, model, views and batches, validation."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import InitProcessGroupKwargs, set_seed

from tqnet import errors
from tqnet.augment.strategies import shares_changed, strategy_names
from tqnet.augment.view import AugmentConfig, QuestionAugmentation
from tqnet.config import ConfigError
from tqnet.evaluation.similar import evaluate_similar
from tqnet.libraries import precision, quiet
from tqnet.modeling.build import build_model
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.model import SAMPLE, TQNetModel, fit_projection
from tqnet.modeling.settings import ModelConfig
from tqnet.modeling.visual import is_untrained
from tqnet.questions import Question, QuestionBank, Similarity
from tqnet.questions.bank import Texts
from tqnet.questions.leakage import rows_held_out
from tqnet.questions.splits import draw_share
from tqnet.training.config import DataConfig, RecipeConfig, RunConfig
from tqnet.training.content import sort_lengths
from tqnet.training.data import Batch, Item, QuestionViews
from tqnet.training.optim import freeze_streams
from tqnet.training.processes import (
    encode_in_shares,
    follow_launcher,
    launched_precision,
    refuse_launcher_options,
    start_missing_processes,
)
from tqnet.training.sampler import ShuffledBatches

log = logging.getLogger(__name__)

#: Questions to augment for an estimate of the share that a strategy changes.
_AUGMENTED = 300

#: Time to wait for the other processes: one may prepare data alone, and NCCL by itself waits ten minutes.
_PATIENCE = timedelta(hours=6)

#: The metric that chooses a run's best state.
VALID = "valid/p@5"


def clear_errors() -> AbstractContextManager[None]:
    """Turn a recipe's errors into one line (:mod:`tqnet.errors`); out of memory names the settings to lower."""
    to_lower = "run.batch_size, model.max_length, model.image_size or model.max_images"
    return errors.clear("", sys.argv[1:], lambda: to_lower)


def start(run: RunConfig) -> Accelerator:
    """Set up processes, precision and seeds.

    Raises:
        ConfigError: The batch does not divide among the processes, some processes did not start, or the launcher's
            options contradict the settings.
    """
    refuse_launcher_options()
    follow_launcher()
    start_missing_processes()
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    quiet()
    if run.threads:
        torch.set_num_threads(run.threads)
    run.precision = launched_precision(run.precision)
    chosen = precision(run.precision)
    patience = InitProcessGroupKwargs(timeout=_PATIENCE)
    accelerator = Accelerator(mixed_precision="no" if chosen == "fp32" else chosen, kwargs_handlers=[patience])
    if run.batch_size % accelerator.num_processes:
        raise ConfigError(
            f"run.batch_size: {run.batch_size} does not divide among {accelerator.num_processes} processes"
        )
    set_seed(run.seed)
    if not accelerator.is_main_process:
        logging.disable(logging.WARNING)
    log.info("precision: %s", chosen)
    return accelerator


def training_questions(data: DataConfig, pretraining: bool) -> QuestionBank:
    """Return the training questions: ``train``, or all of a bank without splits, minus ``data.held_out``.

    A supervised stage learns from the share ``data.labelled`` of them. With ``data.transductive``, pre-training also
    reads stems, options and figures of the other splits. Logs which questions are left out, and warns if a supervised
    stage trains on a bank without splits.

    Raises:
        BankError: The bank has faults and ``data.on_error`` is ``stop``.
        ConfigError: No question to train on.
        OSError: A file of ``data.held_out`` cannot be read.
    """
    if pretraining:
        data.refuse("labelled")
    bank = _training_split(data, pretraining)
    if data.held_out:
        held_out = rows_held_out(bank.column("stem"), data.held_out)
        log.info(
            "%d of %d questions are left out: they or near-duplicates are in data.held_out", len(held_out), len(bank)
        )
        if len(held_out) == len(bank):
            raise ConfigError(f"data.held_out: leaves no question of {data.bank} to train on")
        bank = bank.select(np.setdiff1d(np.arange(len(bank)), held_out))
    if data.labelled == 1:
        return bank
    drawn = draw_share(bank, data.labelled)
    log.info("data.labelled: %d of %d questions, %g of groups and of others", len(drawn), len(bank), data.labelled)
    return bank.select(drawn)


def _training_split(data: DataConfig, pretraining: bool) -> QuestionBank:
    bank = data.load()
    splits = bank.column("split")
    if not any(splits):
        if not pretraining:
            log.warning(
                "no question has a split: all are trained on, so test scores on this bank say nothing; "
                "set 'split' to train, valid or test"
            )
        return bank
    if data.transductive and not pretraining:
        raise ConfigError("data.transductive: only pre-training may read the other splits")
    if data.transductive:
        log.warning("transductive: the stems and figures of valid and test are read")
        return bank
    train = bank.split("train")
    if not len(train):
        raise ConfigError(f"data.bank: {data.bank} has no question of split 'train'")
    if without := sum(not split for split in splits):
        log.warning("%d of %d questions have no split: they are left out", without, len(bank))
    return train


def questions_with_figures(bank: QuestionBank, config: RecipeConfig) -> QuestionBank:
    """Select the training questions with a figure.

    Raises:
        ConfigError: There are too few for a batch.
    """
    pictured = bank.select([i for i, images in enumerate(bank.column("images")) if images])
    if len(pictured) < config.run.batch_size:
        raise ConfigError(
            f"data.bank: {config.data.bank} has {len(pictured)} training questions with a figure, too few for a batch "
            f"of {config.run.batch_size} (run.batch_size)"
        )
    return pictured


def build(config: RecipeConfig, bank: QuestionBank, read_images: bool = True) -> QuestionEncoder:
    """Build the model and processor of ``config.model``, learning vocabulary from ``bank``.

    Freezes streams whose rate in ``config.optim`` is 0. If ``bank`` has questions of valid or test
    (``data.transductive``), marks the model and its descendants as transductive.

    Args:
        read_images: Whether the recipe reads figures. If not, or if ``bank`` has none, the visual stream is frozen.

    Raises:
        ConfigError: The settings do not make a model.
        FileNotFoundError, ImportError: As :func:`tqnet.modeling.build.build_model`.
    """
    model, processor = build_model(config.model, Texts(bank))
    processor.blank_unreadable = config.data.on_error == "skip"
    log.info("model: %s", _origin(config.model))
    fitted = config.model.visual_projection == "fitted"
    if fitted and isinstance(model, TQNetModel) and _projects_at_random(config, model):
        questions = _some_with_figures(bank, config.run.seed)
        log.info("visual projection: fitted to the figures of %d questions", len(questions))
        if questions:
            fit_projection(model, questions)
    freezes = not config.model.start and config.model.visual_norm == "frozen" and model.config.reads_images
    if freezes and is_untrained(model):
        raise ConfigError("model.visual_norm: frozen, but model.visual starts from random weights")
    if model.config.reads_images and not (read_images and any(any(images) for (images,) in bank.batches("images"))):
        model.freeze_figures()
    freeze_streams(model, config.optim)
    model.config.matryoshka = []  # an earlier stage's; `train_widths` adds this stage's
    model.config.transductive |= not {"valid", "test"}.isdisjoint(bank.column("split"))
    return model


def _origin(model: ModelConfig) -> str:
    """Describe where the weights come from."""
    if model.start:
        origin = f"started from {model.start}"
    elif model.text in ("scratch", "gru") or not model.text_pretrained:
        origin = f"new, text encoder {model.text} with random weights"
    else:
        origin = f"new, off-the-shelf text encoder {model.text}"
    return origin + (f", visual stream from {model.visual_start}" if model.visual_start else "")


def _projects_at_random(config: RecipeConfig, model: TQNetModel) -> bool:
    """Return whether a trained visual stream has an untrained projection, whose bias is still zero."""
    if not model.config.reads_images or model.visual.projection.bias.any():
        return False
    return not is_untrained(model)


def _some_with_figures(bank: QuestionBank, seed: int) -> list[Question]:
    """Draw questions with figures at random, without reading all of a large bank."""
    order = np.random.default_rng(seed).permutation(len(bank))[: 100 * SAMPLE]
    return list(islice((question for i in order if (question := bank[int(i)]).images), SAMPLE))


def question_views(
    config: RecipeConfig,
    bank: QuestionBank,
    model: QuestionEncoder,
    augment: AugmentConfig | None = None,
    views: int = 1,
    prepare: Callable[[Batch, Sequence[Item]], Batch] | None = None,
    read_images: bool = True,
) -> QuestionViews:
    """Build a recipe's data set, with figures only if the model reads them."""
    mask_token = model.processor.tokenizer.mask_token or "_"  # a blank, for an encoder that never saw a mask
    size = model.config.image_size
    if augment is not None and augment.strategies:
        rows = np.random.default_rng(config.run.seed).choice(len(bank), min(_AUGMENTED, len(bank)), replace=False)
        shares = shares_changed([bank[row] for row in rows], strategy_names(augment.strategies), config.run.seed)
        changed = ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
        log.info("share of questions that augmentation changes: %s", changed)
    return QuestionViews(
        bank,
        model.processor,
        config.run.seed,
        None if augment is None else QuestionAugmentation(augment, size, mask_token),
        views=views,
        workers=config.data.workers,
        prepare=prepare,
        read_images=read_images and model.config.reads_images,
    )


def shuffled_batches(
    config: RecipeConfig, bank: QuestionBank, model: QuestionEncoder, read_images: bool = True
) -> ShuffledBatches:
    """Plan batches of similar length, each question once per epoch."""
    lengths = sort_lengths(bank, model.processor, model.cells_per_image if read_images else 0)
    return ShuffledBatches(lengths, config.run.batch_size, config.run.seed)


def similar_questions(bank: QuestionBank, data: DataConfig) -> Similarity:
    """Return the similarity of questions in ``bank``, a part of ``data.bank``: by pairs file, concept or group.

    Raises:
        ConfigError: The pairs file cannot be read or names unknown questions, or the hierarchy has no such level.
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
    """P@5 of a model on ``valid``, searched among its questions and ``data.distractors`` from ``train``."""

    def __init__(self, encode: Callable[[QuestionBank], np.ndarray], bank: QuestionBank, similarity: Similarity):
        self.encode, self.bank, self.similarity = encode, bank, similarity

    def __call__(self) -> dict[str, float]:
        result = evaluate_similar(self.encode(self.bank), self.bank, self.similarity, split="valid", parts=False)
        return {VALID: float(result.overall.precision.mean())}


def validation(
    config: RecipeConfig, model: QuestionEncoder, encode: Callable[[QuestionBank], np.ndarray] | None = None
) -> ValidationPrecision | None:
    """Build the score that chooses the best state, never a contrastive loss; ``encode`` replaces the model's own.

    Return None, with a log line, if no validation question has five similar ones.
    """
    whole = config.data.load()
    splits = np.asarray(whole.column("split"), dtype=object)
    valid, train = (np.flatnonzero(splits == split) for split in ("valid", "train"))
    if len(valid):
        drawn = np.random.default_rng(0).permutation(train)[: config.data.distractors]
        bank = whole.select(np.concatenate([valid, drawn]))
        similarity = similar_questions(bank, config.data)
        if any(len(similarity.neighbours(i)) >= 5 for i in range(len(valid))):
            options: dict[str, Any] = {"device": model.device, "precision": precision(config.run.precision)}
            return ValidationPrecision(encode or partial(encode_in_shares, model, **options), bank, similarity)
    log.info("no question of split 'valid' has five similar ones: the last state is kept, not the best")
    return None
