"""One bank of several, or of a part of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tqnet.questions.bank import QuestionBank
from tqnet.questions.question import Question


def merge(banks: Sequence[QuestionBank], keep: Callable[[Question], bool] = lambda _: True) -> QuestionBank:
    """The questions of all banks in order, without those that are not kept.

    Questions of several banks are called BANK/ID, and their groups likewise: ``1`` of one bank is not ``1`` of another.

    Raises:
        ValueError: Two banks have the same name, or no question is left.
    """
    names = [bank.name for bank in banks]
    if len(set(names)) < len(names):
        raise ValueError(f"two of the banks have the same name: {', '.join(sorted(names))}")
    merged = [
        _named(question, bank.name if len(banks) > 1 else "") for bank in banks for question in bank if keep(question)
    ]
    if not merged:
        raise ValueError(f"no question of {', '.join(names)} is left")
    return QuestionBank.from_questions(merged)


def kept(splits: Iterable[str] = (), languages: Iterable[str] = ()) -> Callable[[Question], bool]:
    """Whether a question is of one of these splits and in one of these languages; none named means any."""
    of_splits, of_languages = set(splits), set(languages)
    return lambda question: (
        (not of_splits or question.split in of_splits) and (not of_languages or question.language in of_languages)
    )


def _named(question: Question, bank: str) -> Question:
    if not bank:
        return question
    return replace(question, id=f"{bank}/{question.id}", group=f"{bank}/{question.group}" if question.group else None)
