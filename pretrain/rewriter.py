"""Train a small rewriter of questions to restore corrupted text (ParaQD, f_b).

    accelerate launch pretrain/rewriter.py --config configs/small/rewriter.yaml data.bank=BANK run.out=runs/rewriter

The sequence-to-sequence model is built from the text encoder. ``tqnet rewrite`` uses it for reconstruction, and in
place of translation models and a lossy paraphraser if they are not available.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

from pydantic import Field
from torch import Tensor, nn

from tqnet.config import ConfigError, Count, parse_config, section, settings
from tqnet.hub.card import write_card
from tqnet.losses.prediction import masked_token_prediction
from tqnet.modeling.build import build_text_encoder
from tqnet.paraphrase.rewriter import (
    Restorations,
    Rewriter,
    ValidationAccuracy,
    check_installed,
    new_rewriter,
    next_token_logits,
    rewriter_from_encoder,
)
from tqnet.questions import QuestionBank
from tqnet.questions.bank import Texts
from tqnet.training import session
from tqnet.training.config import OptimConfig, RecipeConfig, RunConfig
from tqnet.training.content import sort_lengths
from tqnet.training.loop import TrainingLoop
from tqnet.training.processes import weight_of_mean
from tqnet.training.sampler import ShuffledBatches

log = logging.getLogger(__name__)


@settings
class RewriterConfig(RecipeConfig):
    """Settings of the stage. It only uses the text encoder of ``model``, a BERT."""

    optim: OptimConfig = section(OptimConfig, lr=5e-4)
    run: RunConfig = section(RunConfig, out="runs/rewriter")
    share: Annotated[float, Field(gt=0, le=1 / 3)] = 0.15
    """Share of a question's words to move, and likewise to drop, replace and insert."""
    decoder_layers: Count = 3
    """Decoder layers; a pretrained encoder initialises them."""


class Restoration(nn.Module):
    """The rewriter with its training loss."""

    def __init__(self, rewriter: Rewriter):
        super().__init__()
        self.model = rewriter.model

    def forward(self, input_ids: Tensor, attention_mask: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mean cross-entropy over the tokens of ``target`` [b, u], and the accuracy.

        Args:
            input_ids, attention_mask: [b, t], the corrupted questions.
        """
        logits = next_token_logits(self.model, input_ids, attention_mask, target)
        guessed = target[:, 1:]
        real = guessed != self.model.config.pad_token_id
        return masked_token_prediction(logits[real], guessed[real])


def build(config: RewriterConfig, bank: QuestionBank) -> Rewriter:
    """Build the rewriter: with ``model.text=scratch`` a new model, else initialised from the encoder.

    Raises:
        ConfigError: The settings do not make a rewriter.
    """
    if config.model.start:
        raise ConfigError("model.start: a rewriter starts from a text encoder (model.text)")
    rates = config.optim.text_lr, config.optim.text_layers, config.optim.visual_lr
    if config.model.lora or any(rate is not None for rate in rates) or config.optim.layer_decay != 1:
        raise ConfigError(
            "model.lora, optim.text_lr, optim.text_layers, optim.layer_decay, optim.visual_lr: a rewriter is fully "
            "trained, at optim.lr"
        )
    tokenizer, encoder = build_text_encoder(config.model, Texts(bank))
    if config.model.text == "scratch":
        rate = 0.1 if config.model.dropout is None else config.model.dropout
        return new_rewriter(encoder, tokenizer, config.decoder_layers, rate)
    return rewriter_from_encoder(encoder, tokenizer, config.decoder_layers, config.model.dropout)


def restorations(config: RewriterConfig, bank: QuestionBank, rewriter: Rewriter) -> Restorations:
    """Build the data set of corrupted questions of ``bank``."""
    return Restorations(
        bank, rewriter, config.run.seed, config.share, config.model.max_length, workers=config.data.workers
    )


def validation(config: RewriterConfig, rewriter: Rewriter) -> ValidationAccuracy | None:
    """Build the validation score; None, with a log line, if the bank has no ``valid``."""
    valid = config.data.load().split("valid")
    if not len(valid):
        log.info("no question has split 'valid': the last state is kept, not the best")
        return None
    return ValidationAccuracy(rewriter, restorations(config, valid, rewriter), config.run.batch_size)


def main(config: RewriterConfig) -> Path:
    accelerator = session.start(config.run)
    check_installed()
    bank = session.training_questions(config.data, pretraining=True)
    rewriter = build(config, bank)

    views = restorations(config, bank, rewriter)
    loop = TrainingLoop(
        accelerator,
        config,
        model=rewriter,
        trained=Restoration(rewriter),
        plan=ShuffledBatches(sort_lengths(bank, views.processor), config.run.batch_size, config.run.seed),
        views=views,
        evaluate=validation(config, rewriter),
    )
    for batch in loop:
        target = batch.extras["target"]
        loss, accuracy = loop.trained(**batch.text, target=target)
        count = (target[:, 1:] != rewriter.tokenizer.pad_token_id).sum()
        loop.step(weight_of_mean(accelerator, count) * loss, {"accuracy": accuracy})
    return loop.finish(write_card)


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(RewriterConfig, __doc__))
