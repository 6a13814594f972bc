"""What a template is, and the one list of all templates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from PIL import Image

from .draw import Draw
from .values import Number, Value, plain, tex
from .wording import fill, language_of, words_for

Check = Callable[..., bool]
Figure = Callable[[], "Image.Image | list[Image.Image]"]


@dataclass(frozen=True)
class Ask:
    """A phrase that asks for something else than its template's usual answer."""

    text: str
    answer: Value
    check: Check
    unit: str = ""


@dataclass
class Draft:
    """A question before it gets its id and its split. ``check`` puts an answer back into the conditions."""

    stem: str
    answer: Value
    analysis: str
    check: Check
    language: str
    unit: str = ""
    options: list[Value] = field(default_factory=list)
    figures: list[Image.Image] = field(default_factory=list)

    def shown(self, value: Value) -> str:
        return value if isinstance(value, str) else f"${tex(value)}{self.unit}$"

    def conclusion(self) -> str:
        """The last sentence of the analysis."""
        shown = self.shown(self.answer)
        return f"答案是 {shown}。" if self.language == "zh" else f" The answer is {shown}."


@dataclass(frozen=True)
class Kind:
    """A template: ``make`` draws one question of it."""

    name: str
    make: Callable[[Draw], Draft]
    knowledge: tuple[tuple[str, ...], ...]
    level: int
    grouped: bool = True
    figure_only: bool = False


#: Which phrase each member of a group gets, counted from the group's own start: three or four phrasings, each
#: coming back with other numbers, so that words help to find a group but never find all of it.
DEAL = (0, 1, 0, 2, 0, 1, 0, 3)

KINDS: list[Kind] = []
Path = tuple[str, str, str]


def group(
    *knowledge: Path, level: int, figure_only: bool = False
) -> Callable[[Callable[[Draw], Draft]], Callable[[Draw], Draft]]:
    """Register the decorated function as a solution method; its questions are one group."""

    def keep(make: Callable[[Draw], Draft]) -> Callable[[Draw], Draft]:
        KINDS.append(Kind(make.__name__.replace("_", "-"), make, knowledge, level, figure_only=figure_only))
        return make

    return keep


def single(
    knowledge: Path,
    level: int,
    stem: str,
    answer: Value,
    work: str,
    check: Check,
    *,
    wrong: Sequence[Value] = (),
    unit: str = "",
    figures: Callable[[Draw], list[Image.Image]] | None = None,
) -> None:
    """Register a question that stands alone. With ``wrong`` it is multiple choice."""
    language = language_of(stem)

    def make(r: Draw) -> Draft:
        options = r.shuffled([answer, *wrong]) if wrong else []
        drawn = figures(r) if figures else []
        draft = Draft(stem, answer, _closed(work, language), check, language, unit, options, drawn)
        draft.analysis += draft.conclusion()
        return draft

    KINDS.append(Kind(f"single-{len(KINDS)}", make, (knowledge,), level, grouped=False))


def pose(
    r: Draw,
    phrases: Sequence[str | Ask],
    *,
    answer: Value,
    check: Check,
    work: tuple[str, str, str],
    unit: str = "",
    figure: Figure | None = None,
    wrong: Sequence[Value] = (),
    choice: float = 0.3,
    **values: Value,
) -> Draft:
    """One question from a template's phrases, dealt out in turn over the members of the group.

    Args:
        phrases: Whole questions with slots; a leading ``#`` says that the phrase needs the figure.
        work: The reason in English, in Chinese, and the working they share.
        wrong: Likely mistakes, the distractors of the multiple-choice form; more are made up if needed.
        choice: How often a numeric question gets options.
    """
    phrase = phrases[(r.turn + DEAL[r.member % len(DEAL)]) % len(phrases)]
    ask = Ask(phrase, answer, check, unit) if isinstance(phrase, str) else phrase
    language = language_of(ask.text)
    slots = words_for(r, language) | values
    stem = fill(ask.text.removeprefix("#"), slots)
    lead = work[1] if language == "zh" else work[0]
    gap = "" if language == "zh" else " "
    analysis = _closed(fill(f"{lead}{gap}{work[2]}", slots | {"answer": ask.answer}), language)
    draft = Draft(stem, ask.answer, analysis, ask.check, language, ask.unit)
    draft.analysis += draft.conclusion()
    if figure and ask.text.startswith("#"):
        drawn = figure()
        draft.figures = drawn if isinstance(drawn, list) else [drawn]
    if isinstance(ask.answer, int | Fraction) and r.chance(choice):
        draft.options = options_for(r, ask.answer, wrong if ask.answer == answer else ())
    return draft


def options_for(r: Draw, answer: Number, wrong: Sequence[Value]) -> list[Value]:
    """The answer among three distractors, numbers in rising order half of the time."""
    step = max(1, round(abs(Fraction(answer)) / 10))
    near = [answer + step, answer - step, answer * 2, answer + 2 * step, answer + 3 * step, -answer]
    positive = [plain(k) for k in near if answer <= 0 or k > 0]
    options: list[Value] = [answer]
    for candidate in [*wrong, *r.shuffled(positive)]:
        if len(options) < 4 and candidate not in options:
            options.append(candidate)
    numbers = [k for k in options if isinstance(k, int | Fraction)]
    if len(numbers) == len(options) and r.chance(0.5):
        return [*sorted(numbers)]
    return r.shuffled(options)


def _closed(text: str, language: str) -> str:
    return text if text.endswith((".", "。")) else text + ("。" if language == "zh" else ".")
