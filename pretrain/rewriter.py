"""A small rewriter of questions: it restores them from what corruption left (ParaQD, f_b).

    accelerate launch pretrain/rewriter.py --config configs/small/rewriter.yaml data.bank=BANK run.out=runs/rewriter

A sequence-to-sequence model made of the text encoder. ``tqnet rewrite`` uses the result: for reconstruction, and as a
stand-in for a translation pair and for a paraphraser that loses information, where none is at hand.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor, nn

from tqnet.hub.folder import write_card
from tqnet.losses.classification import masked_token_prediction
from tqnet.modeling.build import build_text_encoder
from tqnet.paraphrase.restoration import Restorations, ValidationAccuracy, check_installed
from tqnet.paraphrase.seq2seq import Rewriter, new_rewriter, next_token_logits, rewriter_from_encoder
from tqnet.questions import QuestionBank
from tqnet.training import session
from tqnet.training.config import ConfigError, OptimConfig, RecipeConfig, at_least, parse_config, within
from tqnet.training.loop import TrainingLoop
from tqnet.training.processes import weight_of_mean
from tqnet.training.sampler import ShuffledBatches

log = logging.getLogger(__name__)


@dataclass
class RewriterConfig(RecipeConfig):
    """Settings of the stage. Of ``model`` it reads what describes the text encoder, a BERT, and no figures.

    Attributes:
        share: Of the words of a question that are moved, that are left out, replaced, and inserted; each of these.
        decoder_layers: Layers of the decoder, started from as many of the encoder's.
    """

    optim: OptimConfig = field(default_factory=lambda: OptimConfig(lr=5e-4))
    share: float = 0.15
    decoder_layers: int = 3

    def __post_init__(self) -> None:
        within(0, 1 / 3, "share", self.share, ends="(]")
        at_least(1, "decoder_layers", self.decoder_layers)
        if self.model.dropout is not None:
            within(0, 1, "model.dropout", self.model.dropout, ends="[)")


class Restoration(nn.Module):
    """The rewriter, and how well it restores."""

    def __init__(self, rewriter: Rewriter):
        super().__init__()
        self.model = rewriter.model

    def forward(self, input_ids: Tensor, attention_mask: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Mean cross-entropy over the tokens of ``target`` [b, u], and the share of them that is guessed right.

        Args:
            input_ids, attention_mask: [b, t], of the corrupted questions.
        """
        logits = next_token_logits(self.model, input_ids, attention_mask, target)
        guessed = target[:, 1:]
        real = guessed != self.model.config.pad_token_id
        return masked_token_prediction(logits[real], guessed[real])


def build(config: RewriterConfig, bank: QuestionBank) -> Rewriter:
    """What the settings describe: with ``model.text=scratch`` a new model, else one that starts from the encoder.

    Raises:
        ConfigError: They describe none.
    """
    if config.model.start:
        raise ConfigError("model.start: a rewriter starts from a text encoder (model.text)")
    with session.settings_at_fault():
        tokenizer, encoder = build_text_encoder(config.model, session.contents(bank))
        if config.model.text == "scratch":
            rate = 0.1 if config.model.dropout is None else config.model.dropout
            return new_rewriter(encoder, tokenizer, config.decoder_layers, rate)
        return rewriter_from_encoder(encoder, tokenizer, config.decoder_layers, config.model.dropout)


def restorations(config: RewriterConfig, bank: QuestionBank, rewriter: Rewriter) -> Restorations:
    """What a rewriter sees of the questions of ``bank``."""
    return Restorations(
        bank, rewriter, config.run.seed, config.share, config.model.max_length, workers=config.data.workers
    )


def validation(config: RewriterConfig, rewriter: Rewriter) -> ValidationAccuracy | None:
    """None, and a line that says so, where the bank has no questions of ``valid``."""
    valid = config.data.load().split("valid")
    if not len(valid):
        log.info("no question is of split 'valid': the last state is kept, not the best")
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
        plan=ShuffledBatches(session.sort_lengths(bank, views.processor), config.run.batch_size, config.run.seed),
        views=views,
        evaluate=validation(config, rewriter),
    )
    for batch in loop:
        loop.trained.train()
        target = batch.extras["target"]
        loss, accuracy = loop.trained(**batch.inputs, target=target)
        count = (target[:, 1:] != rewriter.tokenizer.pad_token_id).sum()
        loop.step(weight_of_mean(accelerator, count) * loss, {"accuracy": accuracy})
        loop.after_step()
    return loop.finish(write_card)


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(RewriterConfig, __doc__))
