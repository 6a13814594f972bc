"""Word problems with gold equations over the numbers of their text (mwp-cl, Section 3.1)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tqnet.questions import Question, QuestionBank
from tqnet.text.equations import OPERATORS, EquationError, Prefix, evaluate, number, parse_equation, prototype
from tqnet.text.numbers import quantities

#: Question field with the equation.
EQUATION = "equation"

#: Numbers in this many equations, but not in their texts, become constants of the alphabet.
MIN_COUNT = 5


@dataclass(frozen=True)
class WordProblem:
    """A problem with its equation in quantities: n1 is the text's first number.

    Attributes:
        values: Values of the quantities; 25% is a quarter.
        equation: Quantities, constants and operators in prefix order.
    """

    values: tuple[Fraction, ...]
    equation: Prefix

    @property
    def answer(self) -> Fraction:
        """The equation's value.

        Raises:
            EquationError: The equation has no value.
        """
        return evaluate(self.equation, named(self.values))


def values_of(text: str) -> list[Fraction]:
    """Return the values of a text's quantities; 25% is a quarter."""
    return [number.value / 100 if number.sign == "%" else number.value for number in quantities(text)]


def named(values: Sequence[Fraction]) -> dict[str, Fraction]:
    """Map quantity names to values."""
    return {f"n{place}": value for place, value in enumerate(values, start=1)}


@dataclass(frozen=True)
class Alphabet:
    """The tokens of equations.

    Attributes:
        constants: Numbers that are in equations but not in their texts, most frequent first: 1, 3.14.
        most: Maximum number of quantities per problem; later ones are ignored.
    """

    constants: tuple[str, ...] = ("1",)
    most: int = 20

    @classmethod
    def learn(cls, problems: Iterable[tuple[str, str]], min_count: int = MIN_COUNT, most: int = 20) -> Alphabet:
        """Collect the constants of (text, equation) pairs; unreadable ones are skipped."""
        counts: Counter[Fraction] = Counter()
        spellings: defaultdict[Fraction, Counter[str]] = defaultdict(Counter)
        for text, equation in problems:
            try:
                known = set(values_of(text))
                tokens = [token for token in _split_fractions(parse_equation(equation), known) if _is_number(token)]
                unknown = [token for token in tokens if number(token) not in known]
            except EquationError:
                continue
            counts.update({number(token) for token in unknown})
            for token in unknown:
                spellings[number(token)][token] += 1
        frequent = sorted((-count, value) for value, count in counts.items() if count >= min_count)
        return cls(tuple(spellings[value].most_common(1)[0][0] for _, value in frequent), most)

    @property
    def fixed(self) -> tuple[str, ...]:
        """All tokens except quantities, in the decoder's output order."""
        return OPERATORS + self.constants

    def place(self, token: str) -> int:
        """Return a token's index in the decoder's output: operators, constants, quantities.

        Raises:
            EquationError: Unknown token.
        """
        if token in self.fixed:
            return self.fixed.index(token)
        if not token.startswith("n") or not 1 <= int(token[1:]) <= self.most:
            raise EquationError(f"{token}: neither one of the first {self.most} numbers nor a constant")
        return len(self.fixed) + int(token[1:]) - 1

    def token(self, place: int) -> str:
        """Return the token at an index; see `place`."""
        return self.fixed[place] if place < len(self.fixed) else f"n{place - len(self.fixed) + 1}"


def read_problem(text: str, equation: str, alphabet: Alphabet) -> WordProblem:
    """Rewrite a problem's equation in quantities and constants.

    A number of the equation becomes a quantity of equal value; the i-th use of a repeated value becomes its i-th
    mention in the text, or the last one.

    Raises:
        EquationError: The equation is malformed or has no value, or a number is neither in the text nor a constant.
    """
    values = values_of(text)[: alphabet.most]
    problem = WordProblem(tuple(values), _in_quantities(parse_equation(equation), values, alphabet))
    _ = problem.answer
    return problem


def gold_problem(question: Question, alphabet: Alphabet) -> WordProblem:
    """Read a bank's question as a problem; see :func:`read_problem`.

    Raises:
        EquationError: The equation is missing or cannot be read.
    """
    if (equation := question.extras.get(EQUATION)) is None:
        raise EquationError(f"has no field {EQUATION!r}")
    return read_problem(question.content, str(equation), alphabet)


def gold_equations(bank: QuestionBank) -> Iterator[tuple[str, str]]:
    """Yield text and equation of questions that have one."""
    for question in bank:
        if (equation := question.extras.get(EQUATION)) is not None:
            yield question.content, str(equation)


def grouped_by_prototype(bank: QuestionBank, alphabet: Alphabet) -> tuple[list[Question], dict[int, str]]:
    """Return a bank's questions with prototype equations as groups, and why others have none, by row number.

    The bank's own groups are dropped.
    """
    questions: list[Question] = []
    faults: dict[int, str] = {}
    for place, question in enumerate(bank):
        group = None
        try:
            group = prototype(gold_problem(question, alphabet).equation)
        except EquationError as error:
            faults[place] = str(error)
        questions.append(replace(question, group=group))
    return questions, faults


def in_values(equation: Prefix, values: Sequence[Fraction]) -> Prefix:
    """Replace an equation's leaves by their values, so that mentions of equal values are the same.

    Raises:
        EquationError: The problem lacks a quantity.
    """
    known = named(values)
    try:
        return tuple(
            token if token in OPERATORS else str(known[token] if token.startswith("n") else number(token))
            for token in equation
        )
    except KeyError as error:
        raise EquationError(f"{error.args[0]}: the text has {len(values)} numbers") from error


def _in_quantities(prefix: Prefix, values: Sequence[Fraction], alphabet: Alphabet) -> Prefix:
    constants = {number(token): token for token in alphabet.constants}
    mentions: defaultdict[Fraction, list[int]] = defaultdict(list)
    for place, value in enumerate(values):
        mentions[value].append(place)
    used: Counter[Fraction] = Counter()
    tokens: list[str] = []
    for token in _split_fractions(prefix, set(mentions)):
        if token in OPERATORS:
            tokens.append(token)
        elif token.startswith("n"):
            if not 1 <= int(token[1:]) <= len(values):
                raise EquationError(f"{token}: the text has {len(values)} numbers")
            tokens.append(token)
        elif places := mentions.get(number(token)):
            tokens.append(f"n{places[min(used[number(token)], len(places) - 1)] + 1}")
            used[number(token)] += 1
        elif constant := constants.get(number(token)):
            tokens.append(constant)
        else:
            raise EquationError(f"{token} is neither in the text nor a constant ({', '.join(alphabet.constants)})")
    return tuple(tokens)


def _is_number(token: str) -> bool:
    return token not in OPERATORS and not token.startswith("n")


def _split_fractions(prefix: Prefix, known: set[Fraction]) -> Iterator[str]:
    """Yield an equation's tokens; fractions that are not in the text become divisions."""
    for token in prefix:
        if token not in OPERATORS and "/" in token and number(token) not in known:
            yield from ("/", *token.split("/"))
        else:
            yield token
