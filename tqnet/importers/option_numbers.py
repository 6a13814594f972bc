"""Numbers and letters in answers: whether they count options, or are texts of options, as a whole column says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tqnet.importers.choices import are_letters
from tqnet.importers.columns import FROM_ZERO
from tqnet.importers.job import Job, Place, lettered

#: Rows whose typed numbers are all texts of options, too, from which on that is no chance.
_NO_CHANCE = 10


class Numbered(NamedTuple):
    """An answer of whole numbers.

    Attributes:
        column: Its heading.
        options: How many the row has, with the empty ones.
        are_texts: The numbers are also texts of options.
        is_text: The answer is written as a text: "2".
        are_places: A program wrote it as a number among options that are texts.
    """

    place: Place
    column: str
    numbers: list[int]
    options: int
    are_texts: bool
    is_text: bool
    are_places: bool


def texts_are_options(answers: Sequence[Numbered]) -> bool:
    """Return True if all numbers that are written as texts are texts of options."""
    written = [answer.are_texts for answer in answers if answer.is_text]
    return bool(written) and all(written)


def first_number(job: Job, answers: Sequence[Numbered]) -> int | None:
    """Return the number that names the first option: what fits all answers, or else is usual; None if they are texts.

    A number that a program wrote among options that are texts is a place; any other may be the text of an option.
    """
    fitting = [answer for answer in answers if max(answer.numbers) <= answer.options]  # others name no option
    are_places = any(answer.are_places for answer in answers)
    are_texts = all(answer.are_texts for answer in answers)
    if not fitting or (are_texts and (len(answers) >= _NO_CHANCE or not are_places)):
        return None
    from_zero = all(max(answer.numbers) < answer.options for answer in fitting)
    from_one = all(min(answer.numbers) > 0 for answer in fitting)
    if from_zero and from_one:
        place, column = fitting[0][:2]
        from_one = not are_places and column not in FROM_ZERO
        job.fault(place, "answer", f"numbers of options fit from 0 and from 1; read from {int(from_one)}, as is usual")
    return int(from_one)


def letters_count(job: Job, answers: Iterable[tuple[Place, str, Sequence[str], Sequence[int]]]) -> bool:
    """Return True if a letter names an option by its place even if it is the text of another, as most answers show.

    Args:
        answers: Each with its place in the source, and its options with their places.
    """
    votes = 0
    unclear: list[tuple[Place, str]] = []
    for place, answer, options, places in answers:
        if answer not in options:
            votes += are_letters(answer)
        elif not are_letters(answer):
            votes -= 1
        elif lettered([places[options.index(answer)]]) != answer:
            unclear.append((place, answer))
    if unclear and votes <= 0:
        place, answer = unclear[0]
        job.fault(place, "answer", f"{answer!r:.80} is an option, maybe the letter of another; read as text")
    return votes > 0
