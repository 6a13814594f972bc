"""Texts as the check reads them: tidied, in English or not, as words, and sentence by sentence."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from spacy.lang.en.stop_words import STOP_WORDS
from spacy.tokens import Token

from tqnet.paraphrase.problem import Problem
from tqnet.paraphrase.spans import data
from tqnet.text.formulas import Span, formula_character_spans
from tqnet.text.numbers import CARDINALS
from tqnet.text.replacements import WORDINGS

#: A text of at least this many words is English if at least this share of them are frequent English words. Of 18,650
#: English word problems, 4 have fewer, all of them formulas; so has nearly every text in another European language.
_WORDS, _SHARE = 8, 0.15
_LETTERS = re.compile(r"[^\W\d_]{2,}")


def with_macros(pattern: str, macros: dict[str, str]) -> str:
    """Return ``pattern`` with each ``<name>`` replaced."""
    for name, replacement in macros.items():
        pattern = pattern.replace(f"<{name}>", replacement)
    return pattern


def is_english(text: str, language: str | None = None) -> bool:
    """Return True if ``language`` is ``en``, or is unknown and script and words look like English."""
    if language:
        return language == "en"
    for start, end in reversed(formula_character_spans(text)):
        text = text[:start] + text[end:]
    letters = [character for character in text if character.isalpha()]
    if sum(map(str.isascii, letters)) < len(letters) / 2:
        return False
    words = [word.casefold() for word in _LETTERS.findall(text)]
    return len(words) < _WORDS or sum(word in STOP_WORDS for word in words) >= _SHARE * len(words)


_DOLLAR_SIGNS = re.compile(r"\$\d|(?<=\d) ?\$(?!\d)")
_DOLLARS_BEHIND = re.compile(r"(?<![\d,.$])(\d+(?:,\d{3})*(?:\.\d+)?) ?\$(?!\d)")
#: This many words between two dollar signs are not a formula.
_PROSE = 3
#: "0,6 miles"; not the "0,1" of "digits 0,1 and 2".
_DECIMAL_COMMA = re.compile(
    r"(?<=\s)0,(?=\d+\s+(?:[kcm]?m|[km]?g|[cm]?l|miles?|(?:kilo|centi)?met(?:re|er)s?|(?:kilo)?grams?|lit(?:re|er)s?|hours?)\b)"
)
_FRACTION_SIGN = re.compile(r"[\u00bc-\u00be\u2150-\u215e]")
_TIDIED = (
    # A missing space between sentences, as translators leave it: "sold for $5.How much".
    (re.compile(r"(?<=[\da-z%)$])[.?!](?=[A-Z][a-z]|\$\d)|(?<=[a-z]{2})[.?!](?=\d+%)"), r"\g<0> "),
    (re.compile(r"(?<!\s)\s*\^\s*"), "^"),
    # "5 Rs" as "Rs. 5", apart from the word after it.
    (
        re.compile(r"(?i)(?<![\d,.:/])((?:\d+\s)?\d+/\d+|\d+(?:,\d{2,3})*(?:\.\d+)?)\s*Rs\b\.?+(?!\s*\d)"),
        r"Rs. \1",
    ),
    (re.compile(r"(Rs\. [\d.,/ ]*\d)(?=(?!th|st|nd|rd)[a-z]{2})"), r"\1 "),
)

#: Numbers turned into words by a careless program: "two00", "one/three", "fourteencm", "$twenty".
_DIGITS = {word: str(value if value < 20 else 10 * (value - 18)) for value, word in enumerate(CARDINALS)}
_DIGITS |= {f"{tens}-{ones}": _DIGITS[tens][0] + _DIGITS[ones] for tens in CARDINALS[20:] for ones in CARDINALS[1:10]}
_WORD = rf"(?:{'|'.join(sorted(_DIGITS, key=len, reverse=True))})"
_HALF_IN_WORDS = re.compile(
    rf"(?<![\w-])(?:\d++{_WORD}|{_WORD}(?=\d))(?:\d++|{_WORD})*(?!\w)"
    rf"|(?<![\w/.-]){_WORD}/{_WORD}(?![\w/-])|(?<![\w/.(-]){_WORD}\.(?-i:(?=[a-z])){_WORD}(?![\w/-])"
    rf"|(?<![\w-]){_WORD}(?=(?:km|cm|mm|kg|mg|ml|mph|kmph|m|g)\b)",
    re.IGNORECASE,
)
_WORD_AS_DIGITS = re.compile(_WORD, re.IGNORECASE)
_MONEY_IN_WORDS = re.compile(rf"\$(?={_WORD}\b(?!\$|\\))", re.IGNORECASE)
_MONEY = re.compile(rf"\$\s?(?:\d|{_WORD}\b)|(?:\d|\b(?:{_WORD}|hundred|thousand))\s?\$", re.IGNORECASE)
#: "Twenty one/two-bed rooms": the number ends after what would be a fraction.
_NUMBER_BEFORE = re.compile(rf"\b{_WORD}\s+$", re.IGNORECASE)


def tidied(text: str) -> str:
    """Return ``text`` with "2½" as "2 1/2", "5 Rs" as "Rs. 5", "5$" as "$5", "0,6 km" as "0.6 km", "cm ^ 2" as "cm^2",
    numbers half in words in digits, and a space between sentences. Dollar signs of formulas stay as they are.
    """
    text = _DECIMAL_COMMA.sub("0.", text)
    if text.count("$") == len(_MONEY.findall(text)):
        text = _MONEY_IN_WORDS.sub("dollars ", text)
    text = _HALF_IN_WORDS.sub(_in_digits, text)
    for pattern, replacement in _TIDIED:
        text = pattern.sub(replacement, text)
    is_money = len(_DOLLAR_SIGNS.findall(text)) == text.count("$") and "\\" not in text
    if is_money and all(len(_LETTERS.findall(between)) >= _PROSE for between in text.split("$")[1:-1]):
        text = _DOLLARS_BEHIND.sub(r"$\1", text)
    text = re.sub(rf"(?<=\d)(?={_FRACTION_SIGN.pattern})", " ", text)
    return _FRACTION_SIGN.sub(lambda sign: unicodedata.normalize("NFKC", sign[0]).replace("\u2044", "/"), text)


def _in_digits(match: re.Match[str]) -> str:
    if _NUMBER_BEFORE.search(match.string, max(0, match.start() - 12), match.start()):
        return match[0]
    return _WORD_AS_DIGITS.sub(lambda word: _DIGITS[word[0].lower()], match[0])


def lemma(token: Token) -> str:
    """Return the lemma in lower case."""
    return token.lemma_.lower()


def lemmas(tokens: Iterable[Token]) -> set[str]:
    """Return the lemmas of tokens in lower case."""
    return {token.lemma_.lower() for token in tokens}


def within(span: Span, parts: Any, start: Callable[[Any], int]) -> Any:
    """Return the parts that begin within a span; ``parts`` are sorted by position."""
    first, end = (bisect_left(parts, place, key=start) for place in span)
    return parts[first:end]


def words_of(problem: Problem, span: Span | None = None) -> list[Token]:
    """Return the words within ``span``, or of the whole text."""
    tokens = within(span, problem.doc, lambda token: token.idx) if span else problem.doc
    return [token for token in tokens if any(map(str.isalnum, token.text))]


def plain(token: Token) -> str:
    """Return a word without the marks that the tokenizer leaves on it: "{1" is "1"."""
    return "".join(filter(str.isalnum, token.lower_))


def question_of(problem: Problem) -> str:
    """Return the sentence that asks, in lower case; empty if there is none."""
    start, end = problem.question or (0, 0)
    return problem.text[start:end].lower()


@cache
def nouns(kind: str) -> frozenset[str]:
    """Return a list of ``data/nouns.yaml``: "anything", "kinds" or "pronouns"."""
    return frozenset(data("nouns")[kind].split())


def may_be_the_same(noun: str, other: str) -> bool:
    """Return True if two lemmas of nouns may mean the same thing: "student" and "pupil", "nurse" and "person"."""
    if {noun, other} & nouns("anything") or _lines(noun) & _lines(other):
        return True
    phrases, others = WORDINGS.find(noun), WORDINGS.find(other)
    return bool(phrases and others) and phrases[0].line == others[0].line


def may_be_called(noun: str, other: str) -> bool:
    """Return True if one noun may be called by the other: "the hotel" "the building"."""
    return may_be_the_same(noun, other) or other in nouns("kinds")


@cache
def _lines(noun: str) -> frozenset[int]:
    return frozenset(at for at, line in enumerate(data("nouns")["alike"].splitlines()) if noun in line.split())


#: In alike sentences, at most this many words differ, and at least twice as many do not.
_MOVED, _SAME = 2, 2
#: Maximum number of sentences; exercise sheets have more, too many to compare all pairs.
_SENTENCES = 30
_TOKEN = re.compile(r"[^\W_]+|[^\w\s]")
_JOINTS = ("and", "or", ",", "&", "with")


@dataclass(frozen=True)
class AlikeSentences:
    """The words of two sentences of equal length that differ in one or two words.

    A free rewording changes the whole sentence; where only a word differs, that word was replaced.
    """

    before: list[str]
    after: list[str]

    @cached_property
    def moved(self) -> list[int]:
        """The indices of the words that differ."""
        both = enumerate(zip(self.before, self.after, strict=True))
        return [place for place, (old, new) in both if old.lower() != new.lower()]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The words that differ."""
        return [(self.before[place], self.after[place]) for place in self.moved]

    @property
    def lone_pairs(self) -> list[tuple[str, str]]:
        """The words that differ, with the same words on both sides."""
        are_neighbours = len(self.moved) == 2 and self.moved[1] - self.moved[0] == 1
        return [] if are_neighbours else self.pairs

    @property
    def stayed(self) -> set[str]:
        """The words that are the same."""
        return {word.lower() for place, word in enumerate(self.before) if place not in self.moved}

    @property
    def is_turned_round(self) -> bool:
        """True if two phrases swapped sides of an "and", which changes nothing: "x + y and x - y"."""
        if len(self.moved) != _MOVED:
            return False
        first, second = self.moved
        before, after = ([word.lower() for word in words] for words in (self.before, self.after))
        if (before[first], before[second]) != (after[second], after[first]):
            return False
        many = second - first - 1
        return many > 0 and any(
            before[joint - many : joint] == after[joint + 1 : joint + 1 + many]
            for joint in range(max(first + 1, many), second)
            if before[joint] in _JOINTS
            or (before[joint] == "to" and before[joint - many - 1 : joint - many] == ["from"])
        )


def alike_sentences(original: Problem, paraphrase: Problem) -> list[AlikeSentences]:
    """Return each sentence of the original with the most similar one of the paraphrase, if they are alike."""
    if max(len(original.sentences), len(paraphrase.sentences)) > _SENTENCES:
        return []
    befores, afters = ([_words(problem.text, span) for span in problem.sentences] for problem in (original, paraphrase))
    old, new = ({" ".join(words).lower() for words in sentences} for sentences in (befores, afters))
    changed = [words for words in afters if " ".join(words).lower() not in old]
    alike = []
    for before in befores:
        candidates = [before] if " ".join(before).lower() in new else changed
        pairs = [AlikeSentences(before, after) for after in candidates if len(after) == len(before)]
        best = min(pairs, key=lambda pair: len(pair.moved), default=None)
        if best is not None and len(best.moved) <= min(_MOVED, len(before) // (_SAME + 1)):
            alike.append(best)
    return alike


def _words(text: str, span: Span) -> list[str]:
    """Return the words and marks of a sentence, without the mark that ends it."""
    words: list[str] = _TOKEN.findall(text, *span)
    return words[:-1] if words and words[-1] in ".?!" else words
