"""The questions that paraphrases are made of."""

from __future__ import annotations

import logging
import math

import numpy as np

from tqnet.questions import QuestionBank
from tqnet.questions.paraphrase_pairs import read_pairs
from tqnet.questions.shingles import folded_tokens
from tqnet.training import session
from tqnet.training.config import ConfigError
from tqnet.training.paraphrases.config import ParaphraseConfig

log = logging.getLogger(__name__)


def english_questions(bank: QuestionBank, config: ParaphraseConfig) -> QuestionBank:
    """The questions of which texts can be made: those with a text, in no other language, and not among those by which
    the best state is chosen.

    They are drawn at random where the run is to see fewer than all. Of those that its steps have room for, a quarter
    more: of some nothing can be made.

    Raises:
        ConfigError: There are none.
    """
    from tqnet.paraphrase.language import is_english

    told = zip(bank.column("stem"), bank.column("language"), strict=True)
    rows = [row for row, (stem, language) in enumerate(told) if stem.strip() and is_english(stem, language)]
    if left := len(bank) - len(rows):
        log.info("%d of %d questions are left out: without a text, or not in English", left, len(bank))
    if config.data.valid_pairs:
        with session.settings_at_fault():
            judged = {words_of(pair.original) for pair in read_pairs(config.data.valid_pairs)}
        stems = bank.column("stem")
        own = [row for row in rows if words_of(stems[row]) not in judged]
        if left := len(rows) - len(own):
            log.info("%d questions are left out: data.valid_pairs has them, by which the best state is chosen", left)
        rows = own
    if not rows:
        raise ConfigError(f"data.bank: {config.data.bank} has no training question in English")
    run = config.run
    seen = math.ceil(1.25 * run.max_steps * run.accumulate * run.batch_size) if run.max_steps else len(rows)
    count = min(len(rows), seen, config.questions or len(rows))
    drawn = np.random.default_rng(run.seed).permutation(len(rows))[:count]
    return bank.select(np.array(rows)[np.sort(drawn)])


def words_of(text: str) -> tuple[str, ...]:
    """What makes two texts one question, whatever their case, spaces and stops."""
    return tuple(token for token in folded_tokens(text, fold_numbers=False) if any(map(str.isalnum, token)))
