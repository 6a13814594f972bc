"""The operators of a run, with what models make beforehand for some of them; with the extra ``paraphrase``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import Accelerator

from tqnet.augment.paraphrase.baselines import LightWords
from tqnet.augment.paraphrase.deletion import NO_PHRASES, phrases_by
from tqnet.augment.paraphrase.operators import Operator, Rewrite, evaluation_operators, select, training_operators
from tqnet.augment.paraphrase.problem import DEFAULT_MODEL, Parser, Problem
from tqnet.augment.paraphrase.rewrites import Rewrites
from tqnet.augment.paraphrase.weights import WordWeights
from tqnet.libraries import precision
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.masked_lm import load_masked_lm
from tqnet.questions import QuestionBank
from tqnet.training import session
from tqnet.training.config import ConfigError
from tqnet.training.paraphrases.beforehand import (
    LookUp,
    Made,
    made_once,
    refilled,
    without_important_phrases,
)
from tqnet.training.paraphrases.config import ParaphraseConfig
from tqnet.training.paraphrases.kept import made_of_each
from tqnet.training.paraphrases.validation import as_questions
from tqnet.training.provenance import Provenance

log = logging.getLogger(__name__)


def parse(bank: QuestionBank, parser: str | None, shows_progress: bool) -> list[Problem]:
    """The stems as the operators see them.

    Raises:
        ConfigError: There is no such model of spaCy.
    """
    try:
        of_english = Parser(parser or DEFAULT_MODEL, size=len(bank))
    except OSError as error:
        raise ConfigError(f"parser: {parser or DEFAULT_MODEL}: {error}") from error
    return of_english.parse(bank.column("stem"), shows_progress)


def given_rewrites(config: ParaphraseConfig, wanted: dict[str, str], stems: Sequence[str]) -> dict[str, Rewrite]:
    """Symbol -> operator of ``data.rewrites``, of those ``wanted`` by symbol and name.

    Lines say what is left out, and how many of the questions the others have rewritings of.
    """
    path = config.data.rewrites
    with session.settings_at_fault():
        rewrites = Rewrites.load(path) if path else None
    found = {symbol: rewrites.operator(name) if rewrites else None for symbol, name in wanted.items()}
    if lacking := [f"{wanted[symbol]} ({symbol})" for symbol, rewrite in found.items() if rewrite is None]:
        source = f"data.rewrites: {path} has none of them" if path else "data.rewrites: not given"
        log.warning("left out: %s; %s", ", ".join(lacking), source)
    if rewrites:
        for symbol, name in wanted.items():
            log.info("%s: rewritings of %d of %d questions", symbol, rewrites.count(name, stems), len(stems))
    if rewrites and (stand_ins := [name for name in wanted.values() if rewrites.is_stand_in(name)]):
        log.warning("by a stand-in, not by a model of the paper's kind: %s", ", ".join(stand_ins))
    return {symbol: rewrite for symbol, rewrite in found.items() if rewrite is not None}


def operators_of(
    config: ParaphraseConfig, bank: QuestionBank, problems: Sequence[Problem], model: QuestionEncoder, to: Accelerator
) -> list[list[Operator]]:
    """The operators of each kind of text: ParaQD's positive and negative ones, or a baseline's alone.

    Raises:
        ConfigError: Of a kind none is left.
    """
    main, seed = to.is_main_process, config.run.seed

    def encode(texts: Sequence[str]) -> np.ndarray:
        return model.encode(as_questions(texts), precision=precision(config.run.precision))

    def phrases() -> Made:
        by, read = phrases_by(config.parser or DEFAULT_MODEL), [asdict(config.model), model.processor.max_length]
        make = partial(without_important_phrases, encode=encode, shows_progress=main)
        return made_of_each(problems, make, model, ["f5", by, read, precision(config.run.precision)])

    def refills() -> Made:
        try:
            masked = load_masked_lm(str(config.masked_model), to.device)
        except (OSError, ValueError) as error:
            raise ConfigError(f"masked_model: {error}") from error
        drawn: dict[str, Any] = {"share": config.share, "count": config.refills, "seed": seed}
        make = partial(refilled, model=masked, shows_progress=main, **drawn)
        return made_of_each(problems, make, masked.logits, ["ssmba", drawn, masked.reading])

    def once(name: str, make: Callable[[], Made], lacking: str) -> LookUp:
        file, provenance = Path(config.run.out) / f"{name}.json", Provenance(config, bank)
        return LookUp(made_once(file, provenance, make, to, config.run.resume), lacking)

    if config.method == "ssmba":
        found = once("refills", refills, "the masked language model guessed all words")
        return [[Operator("masked-words", "ssmba", "positive", found)]]
    if config.method == "uda":
        with session.settings_at_fault():
            light = LightWords.fit([problem.text for problem in problems], config.share)
        given = given_rewrites(config, {"f1": "back-translation"}, bank.column("stem"))
        translated = [Operator("back-translation", "f1", "positive", rewrite) for rewrite in given.values()]
        return [[Operator("light-words", "uda", "positive", light), *translated]]

    models = {"f1": "back-translation", "f9": "lossy-paraphrase"}
    asked = {symbol: name for symbol, name in models.items() if symbol in config.operators}
    given = given_rewrites(config, asked, bank.column("stem"))
    known = once("phrases", phrases, NO_PHRASES) if "f5" in config.operators else None
    weights = WordWeights.fit([problem.text for problem in problems]) if "f_c" in config.operators else None
    every = training_operators(known, given.get("f1"), given.get("f9")) + evaluation_operators(weights)
    chosen = [operator for operator in every if operator.symbol in config.operators]
    kinds = [select(chosen, label) for label in ("positive", "negative")]
    if not all(kinds):
        raise ConfigError(
            f"operators: of {', '.join(config.operators)}, no {'negative' if kinds[0] else 'positive'} is left"
        )
    return kinds
