"""The operators of a run of finetune/paraphrase.py, and the texts that models make for some of them before it.

What a model makes is kept in the cache, for every run that would make the same; with the extra ``paraphrase``.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import Accelerator
from filelock import FileLock
from spacy.util import get_package_version
from torch import nn

from tqnet.config import ConfigError
from tqnet.libraries import precision
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.paraphrase.masked_lm import load_masked_lm, refilled
from tqnet.paraphrase.negatives import NO_PHRASES, without_important_phrases
from tqnet.paraphrase.operators import Operator, Rewrite, operators, select
from tqnet.paraphrase.problem import DEFAULT_MODEL, Parser, Problem
from tqnet.paraphrase.rewrites import MODEL_OPERATORS, LookUp, Rewrites
from tqnet.paraphrase.settings import ParaphraseConfig
from tqnet.paraphrase.tokens import LightWords, WordWeights, replace_heavy_words
from tqnet.paraphrase.training import as_questions
from tqnet.questions import QuestionBank
from tqnet.questions.table import cache_folder
from tqnet.version import __version__

log = logging.getLogger(__name__)

#: Problems -> the text of each, and what a model has made of it.
Make = Callable[[Sequence[Problem]], Iterable[tuple[str, list[str]]]]


def made_of_each(problems: Sequence[Problem], make: Make, model: nn.Module, decides: object) -> dict[str, list[str]]:
    """Return what ``make`` gives for each text, made of those alone that no run has had before.

    Results are on the disk as they come, so that a run that is killed loses few. A run waits for another that makes
    texts by the same model.

    Args:
        decides: For JSON: beside the weights of ``model`` and the text, all that decides what is made of it.
    """
    folder = cache_folder() / "made"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{_digest(model, decides)}.jsonl"
    with FileLock(f"{file}.lock"):
        made = _read(file)
        missing = [problem for problem in problems if problem.text not in made]
        if len(missing) < len(problems):
            log.info("%d of %d texts were made before: %s", len(problems) - len(missing), len(problems), file)
        with file.open("a", encoding="utf-8") as stream:
            for text, results in make(missing):
                made[text] = results
                # The line ends before, not behind it: what a killed run has left unfinished spoils no other.
                stream.write("\n" + json.dumps([text, results], ensure_ascii=False))
                stream.flush()
    return {problem.text: made[problem.text] for problem in problems}


def _digest(model: nn.Module, decides: object) -> str:
    digest = hashlib.blake2b(json.dumps([__version__, decides], sort_keys=True).encode(), digest_size=16)
    for name, weights in sorted(model.state_dict().items()):
        digest.update(name.encode() + weights.detach().float().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _read(file: Path) -> dict[str, list[str]]:
    made = {}
    for line in file.read_text(encoding="utf-8").split("\n") if file.is_file() else ():
        try:
            text, results = json.loads(line)
        except ValueError:  # unfinished, or the empty first one
            continue
        made[text] = results
    return made


def parse(bank: QuestionBank, parser: str | None, shows_progress: bool) -> list[Problem]:
    """Return the stems as the operators see them.

    Raises:
        ConfigError: There is no such model of spaCy.
    """
    try:
        of_english = Parser(parser or DEFAULT_MODEL, size=len(bank))
    except OSError as error:
        raise ConfigError(f"parser: {parser or DEFAULT_MODEL}: {error}") from error
    return of_english.parse(bank.column("stem"), shows_progress)


def _given_rewrites(path: str | None, symbols: Iterable[str], stems: Sequence[str]) -> dict[str, Rewrite]:
    """Return symbol -> operator of ``data.rewrites``, of those ``symbols`` that models made.

    Lines say what is left out, and how many of the questions the others have rewritings of.
    """
    wanted = {symbol: name for name, symbol in MODEL_OPERATORS.items() if symbol in symbols}
    rewrites = Rewrites(path) if path else None
    given = {symbol: draw for symbol, name in wanted.items() if rewrites and (draw := rewrites.operator(name))}
    if lacking := [f"{name} ({symbol})" for symbol, name in wanted.items() if symbol not in given]:
        source = f"data.rewrites: {path} has none of them" if path else "data.rewrites: not given"
        log.warning("left out: %s; %s", ", ".join(lacking), source)
    if rewrites:
        for symbol, name in wanted.items():
            log.info("%s: rewritings of %d of %d questions", symbol, rewrites.count(name, stems), len(stems))
        if stand_ins := [name for name in wanted.values() if rewrites.is_stand_in(name)]:
            log.warning("by a stand-in, not by a model of the paper's kind: %s", ", ".join(stand_ins))
    return dict(given)


def operators_of(
    config: ParaphraseConfig, bank: QuestionBank, problems: Sequence[Problem], model: QuestionEncoder, to: Accelerator
) -> list[list[Operator]]:
    """Return the operators of each kind of text: ParaQD's positive and negative ones, or a baseline's alone.

    Raises:
        ConfigError: Of a kind none is left.
    """
    texts, stems, dtype = [problem.text for problem in problems], bank.column("stem"), precision(config.run.precision)

    def encode(texts: Sequence[str]) -> np.ndarray:
        return model.encode(as_questions(texts), precision=dtype)

    def made(make: Callable[..., Any], by: nn.Module, *decides: object) -> dict[str, list[str]]:
        with to.main_process_first():  # the others read what it made
            return made_of_each(problems, partial(make, shows_progress=to.is_main_process), by, decides)

    if config.method == "ssmba":
        try:
            masked = load_masked_lm(str(config.masked_model), to.device)
        except (OSError, ValueError) as error:
            raise ConfigError(f"masked_model: {error}") from error
        drawn: dict[str, Any] = {"share": config.share, "count": config.refills, "seed": config.run.seed}
        refills = made(partial(refilled, model=masked, **drawn), masked.model, "ssmba", drawn, masked.reading)
        lacking = "the masked language model guessed all words"
        return [[Operator("ssmba", "positive", LookUp(refills, lacking))]]
    if config.method == "uda":
        light = LightWords(WordWeights.fit(texts), config.share)
        translated = operators(["f1"], _given_rewrites(config.data.rewrites, ["f1"], stems))
        return [[Operator("uda", "positive", light), *translated]]

    given = _given_rewrites(config.data.rewrites, config.operators, stems)
    if "f5" in config.operators:
        spacy_model = config.parser or DEFAULT_MODEL
        by = [*(f"{name} {version(name)}" for name in ("spacy", "pytextrank")), spacy_model]
        reading = [get_package_version(spacy_model), asdict(config.model), model.processor.max_length, dtype]
        phrases = made(partial(without_important_phrases, encode=encode), model, "f5", by, reading)
        given["f5"] = LookUp(phrases, NO_PHRASES)
    if "f_c" in config.operators:
        given["f_c"] = partial(replace_heavy_words, weights=WordWeights.fit(texts))
    chosen = [operator for operator in operators(given=given) if operator.symbol in config.operators]
    kinds = [select(chosen, label) for label in ("positive", "negative")]
    if not all(kinds):
        lacking = "negative" if kinds[0] else "positive"
        raise ConfigError(f"operators: of {', '.join(config.operators)}, no {lacking} is left")
    return kinds
