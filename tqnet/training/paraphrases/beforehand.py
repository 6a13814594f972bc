"""Texts that a model makes once, before the first step: without the most important phrase, or with gaps refilled."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from accelerate import Accelerator
from tqdm import tqdm

from tqnet.augment.paraphrase.baselines import mask_and_refill
from tqnet.augment.paraphrase.deletion import Encode, delete_important_phrases
from tqnet.augment.paraphrase.problem import NotApplicable, Problem
from tqnet.files import atomic
from tqnet.modeling.masked_lm import MaskedLM
from tqnet.questions.table import hash64
from tqnet.training.config import ConfigError
from tqnet.training.provenance import Provenance

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
