"""Texts that a model makes once, before the first step: without the most important phrase, or with gaps refilled."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import Accelerator
from filelock import FileLock
from torch import nn
from tqdm import tqdm

from tqnet.config import ConfigError
from tqnet.files import atomic
from tqnet.libraries import precision
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.paraphrase.baselines import LightWords, mask_and_refill
from tqnet.paraphrase.negatives import NO_PHRASES, Encode, delete_important_phrases, phrases_by
from tqnet.paraphrase.operators import Operator, Rewrite, evaluation_operators, select, training_operators
from tqnet.paraphrase.problem import DEFAULT_MODEL, NotApplicable, Parser, Problem
from tqnet.paraphrase.rewrites import Rewrites
from tqnet.paraphrase.rewriting import MaskedLM, load_masked_lm
from tqnet.paraphrase.settings import ParaphraseConfig
from tqnet.paraphrase.test_operators import WordWeights
from tqnet.paraphrase.training import as_questions
from tqnet.questions import QuestionBank
from tqnet.questions.table import cache_folder, hash64
from tqnet.training.provenance import Provenance
from tqnet.version import __version__

#: Text -> what a model has made of it.
Made = dict[str, list[str]]

#: Questions whose candidates for f5 are encoded at once, some eight texts each.
_ENCODED = 256
#: Texts whose gaps are filled at once: every token of each has a logit for every word.
_FILLED = 16


@dataclass(frozen=True)
class LookUp:
    """An operator that draws one of the texts that were made of a question.

    Attributes:
        lacking: Why there is none.
    """

    made: Mapping[str, Sequence[str]]
    lacking: str

    def __call__(self, problem: Problem, rng: np.random.Generator) -> str:
        if not (own := self.made.get(problem.text)):
            raise NotApplicable(self.lacking)
        return own[int(rng.integers(len(own)))]


def without_important_phrases(
    problems: Sequence[Problem], encode: Encode, shows_progress: bool
) -> Iterator[tuple[str, list[str]]]:
    """Each text, and the same without the phrase whose removal moves its vector most (f5), if it has phrases."""
    with tqdm(total=len(problems), unit=" questions", desc="phrases", disable=not shows_progress) as progress:
        for start in range(0, len(problems), _ENCODED):
            part = problems[start : start + _ENCODED]
            for problem, text in zip(part, delete_important_phrases(part, encode), strict=True):
                yield problem.text, [] if text is None else [text]
            progress.update(len(part))


def refilled(
    problems: Sequence[Problem], model: MaskedLM, share: float, count: int, seed: int, shows_progress: bool
) -> Iterator[tuple[str, list[str]]]:
    """Each text, and ``count`` with a share of its words drawn anew by a masked language model (SSMBA), as far as they
    differ from it."""
    # Of like length together: little is padded. What a text draws does not depend on the texts around it.
    texts = sorted((problem.text for problem in problems), key=len)
    with tqdm(total=len(texts), unit=" questions", desc="refill", disable=not shows_progress) as progress:
        for start in range(0, len(texts), _FILLED):
            part = texts[start : start + _FILLED]
            others = []
            for number in range(count):
                generators = [np.random.default_rng([seed, number, hash64(text)]) for text in part]
                others.append(mask_and_refill(part, model, model.gap, share, generators))
            for text, made in zip(part, zip(*others, strict=True), strict=True):
                yield text, [other for other in made if other != text]
            progress.update(len(part))


def made_once(
    file: Path, provenance: Provenance, make: Callable[[], Made], accelerator: Accelerator, resume: bool
) -> Made:
    """What ``make`` gives in the main process; kept in ``file``, which all processes and a resumed run read.

    Raises:
        ConfigError: The file is of another run, or of this one without ``run.resume``.
    """
    there = file.is_file()
    accelerator.wait_for_everyone()  # until all have looked
    if there and not resume:
        raise ConfigError(f"run.out: {file} is of an earlier run; run.resume=true goes on with it")
    if there:
        provenance.check(json.loads(file.read_text(encoding="utf-8"))["identity"], str(file))
    elif accelerator.is_main_process:
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomic(file) as temporary:
            kept = {"identity": provenance.identity, "made": make()}
            temporary.write_text(json.dumps(kept, ensure_ascii=False) + "\n", encoding="utf-8")
    accelerator.wait_for_everyone()
    made: Made = json.loads(file.read_text(encoding="utf-8"))["made"]
    return made


# What a model makes of texts, kept in the cache for every run that would make the same of them.


log = logging.getLogger(__name__)

#: Problems -> the text of each, and what a model has made of it.
Make = Callable[[Sequence[Problem]], Iterable[tuple[str, list[str]]]]


def made_of_each(problems: Sequence[Problem], make: Make, model: nn.Module, decides: object) -> dict[str, list[str]]:
    """What ``make`` gives for each text, made of those alone that no run has had before.

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


# The operators of a run, with what models make beforehand for some of them; with the extra ``paraphrase``.


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
