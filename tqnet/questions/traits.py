"""Traits that vectors do not hold: numbers, formulas, degrees and targets, compared as features of question pairs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tqnet.questions.figures import same_drawing
from tqnet.questions.near_duplicates import shingle_sets
from tqnet.questions.question import Question
from tqnet.text.formulas import formula_tokens, segments
from tqnet.text.latex import Role, parse_formulas, text_at
from tqnet.text.normal import normal_formula
from tqnet.text.replacements import MONTHS, OTHERS
from tqnet.text.sentences import search_words
from tqnet.text.typed import with_formulas

_MONTH = "|".join(f"{month}|{month[:3]}\\.?" for month in MONTHS)
_YEAR = r"(?:19|20)\d\d(?!\d)"
#: Numbers that are not quantities: dates and years, the question's number, source and points, how many follow.
ASIDE = re.compile(
    rf"(?:\b\d{{1,2}}\s+)?\b(?:{_MONTH})\s+(?:\d{{1,2}},?\s+)?(?<!\d){_YEAR}|\b(?:in|since|of|from|by)\s+{_YEAR}"
    rf"|(?<!\d){_YEAR}\s*年(?:\s*\d{{1,2}}\s*月)?(?:\s*\d{{1,2}}\s*日)?|\d{{1,2}}\s*月\s*\d{{1,2}}\s*日"
    r"|\b(?:question|exercise|problem)\s+\d+|第\s*\d+\s*题"
    r"|\bthe\s+(?:next|following)\s+\w+\s+(?:question|exercise|problem)s?"
    r"|[(（]\s*+(?:本题|共|满分)?\s*+\d+\s*(?:points?|marks?|分)\s*[)）]"
    rf"|【\s*{_YEAR}[^【】]*】|[(（]\s*{_YEAR}\s*年[^()（）\d]*[)）]",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d)|\d+(?:\.\d+)?")
_EXPONENT = re.compile(r"\^\{((?:[^{}]|\{[^{}]*\})*)\}")
_NAME = re.compile(
    r"\\(?:alpha|beta|gamma|delta|epsilon|theta|lambda|mu|nu|rho|sigma|tau|phi|psi|omega|xi|eta)|[A-Za-z]"
)
#: White space, except between two words or numbers: 5 cm is 5cm.
_NEEDLESS_SPACE = re.compile(r"(?<![A-Za-z0-9]) | (?![A-Za-z0-9])|(?<=[0-9]) (?=[A-Za-z])")
#: A place for the answer.
_BLANK = re.compile(r"\( *\)|_{2,}")
#: A number in delimiters of formulas.
_NUMBER_ALONE = re.compile(r"(?:\${1,2}|\\[(\[])\s*(\d+(?:[.,]\d+)*)\s*(?:\${1,2}|\\[)\]])")
_HALF_WIDTH = str.maketrans("，；：？！（）．。＝", ",;:?!()..=")
#: Signs that add nothing to the numbers and names around them; the sign of a number is part of it.
_MUTE = frozenset("{}()[].,;:'\"^_+-") | {r"\{", r"\}", r"\\", r"\cdot", r"\times"}


@dataclass(frozen=True)
class Traits:
    """The parts of one question.

    Attributes:
        text: The text as `one_form` returns it.
        numbers: Numbers with their signs; without dates, points and exponents.
        formulas: Formulas in one form (`tqnet.text.normal`).
        shapes: Formulas with every number 0 and every name by its place: $x+2y$ and $a+3b$ have one shape.
        degrees: Exponents and roots.
        signs: Functions and relations of the formulas.
        words: Words of prose and formulas (`tqnet.text.sentences`), without numbers.
        targets: Phrases of `tqnet.text.replacements.OTHERS`: what is asked and stated.
        runs: Shingles of three tokens, formulas in one form, numbers folded.
        options: Options in one form.
        figures: Paths of the figures.
    """

    text: str
    numbers: Counter[str]
    formulas: Counter[str]
    shapes: Counter[str]
    degrees: Counter[str]
    signs: Counter[str]
    words: frozenset[str]
    targets: frozenset[tuple[int, int]]
    runs: frozenset[int]
    options: frozenset[str]
    figures: tuple[str, ...]


def traits(question: Question) -> Traits:
    """Return the traits of a question."""
    return _traits(question.stem, question.options, question.images)


@lru_cache(maxsize=20_000)
def _traits(stem: str, options: tuple[str, ...], images: tuple[str, ...]) -> Traits:
    content = "\n".join((stem, *options))
    formulas = [normal_formula(part.body) for text in (stem, *options) for part in segments(text) if part.is_formula]
    tokens = [token for formula in formulas for token in formula_tokens(formula)]
    return Traits(
        text=one_form(content),
        numbers=_numbers(content),
        formulas=Counter(formulas),
        shapes=Counter(map(_shape, formulas)),
        degrees=Counter(_shape(power[1]) for formula in formulas for power in _EXPONENT.finditer(formula))
        + Counter(token for token in tokens if token == r"\sqrt"),
        signs=Counter(
            token for token in tokens if not (token in _MUTE or token[0].isdigit() or _NAME.fullmatch(token))
        ),
        words=frozenset(word for word in search_words(content) if not word[0].isdigit() and word[0] != "$"),
        targets=frozenset((phrase.line, phrase.sense) for text in (stem, *options) for phrase in OTHERS.find(text)),
        runs=frozenset(shingle_sets(["\n".join(map(_with_normal_formulas, (stem, *options)))])[0].tolist()),
        options=frozenset(map(one_form, options)),
        figures=images,
    )


#: The features of `compare`, in order; each is from 0 to 1 and the same for (a, b) and (b, a).
TRAIT_FEATURES = (
    "same text",
    "same numbers",
    "shared numbers",
    "numbers of one in the other",
    "same formulas",
    "same shapes of formulas",
    "same degrees",
    "same signs",
    "shared words",
    "words of one in the other",
    "same asked",
    "shared asked",
    "shared runs",
    "runs of one in the other",
    "same options",
    "same figures",
    "other figures",
)


def compare(first: Traits, second: Traits) -> np.ndarray:
    """Return the `TRAIT_FEATURES` of two questions, float32."""
    figures = same_figures(first.figures, second.figures)
    has_figures = bool(first.figures or second.figures)
    values = (
        first.text == second.text,
        first.numbers == second.numbers,
        *_overlap(first.numbers, second.numbers),
        first.formulas == second.formulas,
        first.shapes == second.shapes,
        first.degrees == second.degrees,
        first.signs == second.signs,
        *_overlap(first.words, second.words),
        first.targets == second.targets,
        _overlap(first.targets, second.targets)[0],
        *_overlap(first.runs, second.runs),
        first.options == second.options,
        has_figures and figures,
        has_figures and not figures,
    )
    return np.array(values, dtype=np.float32)


def same_figures(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return True if figures, by their paths, are the same drawings one by one; no figures are the same."""
    return len(first) == len(second) and all(same_drawing(a, b) for a, b in zip(first, second, strict=True))


@lru_cache(maxsize=1024)  # a question's text and options are asked for several times in a row
def one_form(text: str) -> str:
    """Return ``text`` without differences of spelling and typing; formulas need no LaTeX, digits stay."""
    lowered = _with_normal_formulas(_NUMBER_ALONE.sub(r"\1", with_formulas(text)), str.lower)
    blanks = _BLANK.sub("_", " ".join(lowered.translate(_HALF_WIDTH).split()))
    return _NEEDLESS_SPACE.sub("", blanks).rstrip(".?!-_")


def _with_normal_formulas(text: str, prose: Callable[[str], str] = str) -> str:
    return "".join(f"${normal_formula(part.body)}$" if part.is_formula else prose(part.body) for part in segments(text))


def _numbers(text: str) -> Counter[str]:
    numbers: Counter[str] = Counter()
    for part in segments(text):
        if not part.is_formula:
            prose = ASIDE.sub(" ", part.body)
            numbers.update(match[0].replace(",", "") for match in _NUMBER.finditer(prose))
            continue
        for formula in parse_formulas(f"${normal_formula(part.body)}$"):
            for at, token in enumerate(formula):
                if token.role is Role.NUMBER and token.script != "^":  # an exponent is a degree
                    numbers["-" * (text_at(formula, at - 1) == "-") + token.text.replace(",", "")] += 1
    return numbers


def _shape(formula: str) -> str:
    names: dict[str, str] = {}
    tokens = formula_tokens(formula)
    return " ".join(
        "0" if token[0].isdigit() else names.setdefault(token, f"v{len(names)}") if _NAME.fullmatch(token) else token
        for token in tokens
    )


def _overlap(first: Set[Hashable] | Counter[str], second: Set[Hashable] | Counter[str]) -> tuple[float, float]:
    """Return shared elements over all, and over those of the smaller; two empty collections share everything."""
    shared, *sizes = map(_size, (first & second, first, second))  # type: ignore[operator]
    union = sum(sizes) - shared
    return shared / union if union else 1.0, shared / min(sizes) if min(sizes) else float(not max(sizes))


def _size(items: Set[Hashable] | Counter[str]) -> int:
    return items.total() if isinstance(items, Counter) else len(items)
