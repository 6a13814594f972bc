"""Operators that keep what a question asks: same sentence, numbers in words, units in full (ParaQD, f2 to f4), and the
passive (f_a).
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import chain

import numpy as np
from num2words import num2words
from spacy.tokens import Span as Tokens
from spacy.tokens import Token

from tqnet.paraphrase.problem import NotApplicable, Problem
from tqnet.paraphrase.spans import data, rewrite
from tqnet.paraphrase.units import Form, Unit, in_words, money_name
from tqnet.text.formulas import Span, formula_character_spans
from tqnet.text.numbers import Kind, Number

_ONE_BEFORE = re.compile(r"(?:\b(?:per|an?|each|every|one|half)|/)\s*$", re.IGNORECASE)
#: "120-page", or "120 - page" in a tokenized text.
_HYPHEN_AFTER = re.compile(r"\s?-\s?[a-z]{2}", re.IGNORECASE)
_ARTICLE_BEFORE = re.compile(r"\ban?\s+$", re.IGNORECASE)
_SIGN_BEFORE = re.compile(r"(?:[=+*×^|<>≤≥≠÷]|[\d)]\s?[:/–−-]|\b[a-z]\s[/–−-]|(?:^|\s)[–−-]\s)\s?$", re.IGNORECASE)
_SIGN_AFTER = re.compile(r"\s?(?:[=+*×^|<>≤≥≠÷]|:\s?\d|[/–−-]\s?[\d(\[]|x\s?\d|[–−-]\s[a-z]\b)", re.IGNORECASE)
_SENTENCE_BEGINS = re.compile(r"(?:^|[.?!]\s)\s*$")
_AMERICAN = re.compile(r"(?:met|lit)er")
_LEADING = re.compile(r"\$?\s*(?P<minus>[-−–])?(?P<digits>\d[\d,\s]*(?<!\s)(?:\.\d+)?|\.\d+)(?P<rest>\D*)$")
_FRACTION = re.compile(r"[-−–]?(?:(\d+)[\s-]+)?(\d+)\s?/\s?(\d+)(?:st|nd|rd|th)?")
#: Maximum number of digits; longer numbers are not quantities, and nobody would read them out.
_DIGITS = 13


def same_sentence(problem: Problem, rng: np.random.Generator) -> str:
    """Return the text itself: dropout makes another view of it (f2)."""
    if not problem.text.strip():
        raise NotApplicable("there is no text")
    return problem.text


def numbers_to_words(problem: Problem, rng: np.random.Generator) -> str:
    """Write every number in words, with its percent or currency (f3); dates, times of day and calculations stay."""
    changes: dict[Span, str] = {}
    for number in problem.numbers:
        words = None if is_calculated(problem.text, number) else _spelled_out(problem.text, number)
        if words is None:
            continue
        start, end = number.outer
        if number.sign == "%":
            words += " percent"
        elif number.sign and not _is_named(problem, number):
            words = _money(problem, number, words)
        space = " " if problem.text[end : end + 1].isalpha() else ""  # 5km
        changes[start, end] = capital_of(problem, start, words + space)
    if not changes:
        raise NotApplicable("there are no numbers in digits" if problem.numbers else "there are no numbers")
    return rewrite(problem.text, changes)


def expand_units(problem: Problem, rng: np.random.Generator) -> str:
    """Write every abbreviated unit in full, and money by its name: "20 km/h" to "20 kilometres per hour" (f4)."""
    text = problem.text
    changes: dict[Span, str] = {}
    for unit in problem.units:
        if unit.form not in (Form.ABBREVIATED, Form.SIGN):
            continue
        if unit.form is Form.SIGN and unit.number and _is_named(problem, unit.number):
            continue
        words = in_words(unit.name, is_plural(problem, unit), is_american(text))
        if unit.number is None or unit.start >= unit.number.end:
            glued = text[unit.start - 1 : unit.start].isdigit()
            changes[unit.start, unit.end] = f" {words}" if glued else words
        else:
            changes[unit.start, unit.number.end] = f"{written(text, unit.number)} {words}"
    if not changes:
        raise NotApplicable("there are no abbreviated units" if problem.units else "there are no units")
    return rewrite(text, changes)


def is_plural(problem: Problem, unit: Unit) -> bool:
    """Return True if a unit must be in the plural: "5 metres", but "1 metre", "per metre", "a 5 metre walk"."""
    if unit.number is None:
        return _ONE_BEFORE.search(problem.text, 0, unit.start) is None
    number = unit.number
    if abs(number.value) == 1 or (number.kind is Kind.FRACTION and abs(number.value) < 1):
        return False
    return not _is_attributive(problem, number, max(unit.end, number.end))


def is_calculated(text: str, number: Number) -> bool:
    """Return True for a part of a calculation, a ratio or a range: "3 : 4", "2 x + 5 = 7", "10 x 12"."""
    start, end = number.outer
    return bool(_SIGN_BEFORE.search(text, max(0, start - 4), start) or _SIGN_AFTER.match(text, end))


def capital_of(problem: Problem, place: int, words: str) -> str:
    """Return ``words`` capitalized if they begin a sentence of a text that has capitals."""
    begins = _SENTENCE_BEGINS.search(problem.text, max(0, place - 4), place) if place else True
    return words[:1].upper() + words[1:] if begins and any(map(str.isupper, problem.text)) else words


def written(text: str, number: Number) -> str:
    """Return a number as written, joined if it was tokenized: "1 , 036.70"."""
    return text[number.start : number.end].replace(" , ", ",")


def is_american(text: str) -> bool:
    """Return True if a text writes "meter" or "liter"."""
    return _AMERICAN.search(text) is not None


def _is_attributive(problem: Problem, number: Number, end: int) -> bool:
    """Return True if a quantity that ends at ``end`` tells what kind of thing follows: "a 5 km walk"."""
    text, (start, _) = problem.text, number.outer
    if _ARTICLE_BEFORE.search(text, max(0, start - 4), start) or _HYPHEN_AFTER.match(text, number.end):
        return True
    span = problem.doc.char_span(start, end, alignment_mode="expand")
    if span is None or not span.start or span.end >= len(problem.doc) or text[span.end_char] != " ":
        return False
    before, after = problem.doc[span.start - 1], problem.doc[span.end]
    return before.tag_ in ("DT", "PRP$", "POS", "CD") and after.tag_ in ("NN", "NNS")


def _is_named(problem: Problem, number: Number) -> bool:
    """Return True if an amount of money has both a sign and a name: "$5 dollars"."""
    place = number.outer[1]
    return any(
        unit.dimension == "Currency" and unit.form is Form.WORD and place < unit.start <= place + 2
        for unit in problem.units
    )


def _spelled_out(text: str, number: Number) -> str | None:
    """Return the words for a number in digits, without its sign; None for what is better left alone: 007, a date, a
    time.

    ``num2words`` does not know fractions: they are built from its cardinals and ordinals.
    """
    if number.spelled or number.kind in (Kind.DATE, Kind.CLOCK, Kind.MULTIPLE):
        return None
    digits = text[number.start : number.end]
    if len(re.sub(r"\D", "", digits)) > _DIGITS:
        return None
    if number.kind is Kind.ORDINAL:
        return _words(str(number.value), "ordinal")
    if "/" in digits:
        return _fraction(number.value, digits)
    leading = _LEADING.match(digits.rstrip("$"))
    if not leading or re.match(r"0\d", leading["digits"]):
        return None
    words = _words(re.sub(r"[,\s]", "", leading["digits"]), "cardinal")
    return ("minus " if leading["minus"] else "") + words + leading["rest"]


def _fraction(value: Fraction, digits: str) -> str | None:
    whole, over, under = _FRACTION.fullmatch(digits.strip("$ ")).groups()  # type: ignore[union-attr]
    if int(under) == 1 or value < 0:
        return None
    if int(under) >= 100:
        return None if whole else f"{_words(over, 'cardinal')} over {_words(under, 'cardinal')}"
    is_half, plural = int(under) == 2, int(over) != 1
    name = ("halves" if plural else "half") if is_half else _words(under, "ordinal") + ("s" if plural else "")
    part = f"{_words(over, 'cardinal')} {name}"
    return f"{_words(whole, 'cardinal')} and {part}" if whole else part


def _money(problem: Problem, number: Number, words: str) -> str:
    """Return an amount; "five dollars and twenty-five cents" if it has exactly two decimals."""
    name, value = money_name(number.sign), number.value
    singular, plural = in_words(name, plural=False), in_words(name, plural=True)
    is_attributive = _is_attributive(problem, number, number.outer[1])
    has_cents = value > 1 and value.denominator != 1 and (100 * value).denominator == 1
    if has_cents and not is_attributive and name in ("dollar", "euro"):
        whole, cents = divmod(int(100 * value), 100)
        dollars = f"{_words(str(whole), 'cardinal')} {singular if whole == 1 else plural}"
        return f"{dollars} and {_words(str(cents), 'cardinal')} {'cent' if cents == 1 else 'cents'}"
    return f"{words} {singular if is_attributive or value == 1 else plural}"


@lru_cache(10_000)
def _words(number: str, to: str) -> str:
    return str(num2words(Decimal(number) if "." in number else int(number), to=to)).replace(",", "")


_PARTICIPLES = dict(pair.split("=") for pair in data("verbs")["participles"].split())
_DOUBLED = frozenset(data("verbs")["doubled"].split())
_NO_PASSIVE = frozenset(data("verbs")["no passive"].split())
_OBJECTIVE = {"i": "me", "he": "him", "she": "her", "they": "them", "we": "us", "it": "it", "you": "you"}
_SUBJECTIVE = {"me": "I", "him": "he", "her": "she", "them": "they", "us": "we", "it": "it", "you": "you"}
_PLURAL = frozenset(("they", "we", "you"))
#: Dependencies of children of the verb, other than subject and object, that do not stand in the way of a passive.
_HARMLESS = frozenset(("prep", "punct", "advmod", "npadvmod", "aux"))


def active_to_passive(problem: Problem, rng: np.random.Generator) -> str:
    """Turn active sentences into the passive: "Tom bought 5 pens." to "5 pens were bought by Tom." (f_a).

    NOTE: ParaQD has one transformer write the passive and another correct it; rules over the dependencies, applied only
    to clear cases, keep every number and name.
    """
    formulas = formula_character_spans(problem.text)
    changes: dict[Span, str] = {}
    for start, end in problem.sentences:
        tokens = problem.doc.char_span(start, end)
        has_formula = any(first < end and start < last for first, last in formulas)
        if tokens is not None and not has_formula and (passive := _passive(tokens)):
            changes[start, end] = passive
    if not changes:
        raise NotApplicable("no sentence can safely be turned into the passive")
    return rewrite(problem.text, changes)


def _passive(sentence: Tokens) -> str | None:
    verb = sentence.root
    if verb.pos_ != "VERB" or verb.lemma_ in _NO_PASSIVE or not sentence.text.endswith("."):
        return None
    subject, target = (_only(verb, dependency) for dependency in ("nsubj", "dobj"))
    if subject is None or target is None or not (_may_act(subject) and _may_be_acted_on(target, verb)):
        return None
    others = [child for child in verb.children if child not in (subject, target)]
    auxiliaries = [child for child in others if child.dep_ == "aux"]
    if any(child.dep_ not in _HARMLESS for child in others) or any(token.tag_ != "MD" for token in auxiliaries):
        return None
    be = _be(verb, target, [token.text for token in auxiliaries])
    participle = _past_participle(verb.lemma_.lower(), verb.lower_ if verb.tag_ == "VBD" else None)
    doc, first, last = sentence.doc, subject.left_edge.i, target.right_edge.i
    adverbs = [token for token in doc[subject.right_edge.i + 1 : verb.i] if token not in auxiliaries]
    if be is None or participle is None or any(token.dep_ != "advmod" for token in adverbs):
        return None
    before, after = doc[sentence.start : first], doc[last + 1 : sentence.end]
    parts = [
        before.text,
        _in_place(doc[verb.i + 1 : last + 1], _SUBJECTIVE, begins=first == sentence.start),
        be[0],
        *(token.text for token in adverbs),
        *be[1:],
        participle,
        "by",
        _in_place(doc[first : subject.right_edge.i + 1], _OBJECTIVE, begins=False),
    ]
    return " ".join(filter(None, parts)) + ("" if after.text[:1] in ".," else " ") + after.text


def _past_participle(lemma: str, past: str | None) -> str | None:
    """Return "eaten" for "eat"; for a verb that is not listed, its simple past if given and regular, else None."""
    if lemma in _PARTICIPLES:
        return _PARTICIPLES[lemma]
    if past is not None:
        return past if past.endswith("ed") else None
    if lemma.endswith("e"):
        return f"{lemma}d"
    if re.search(r"[^aeiou]y$", lemma):
        return f"{lemma[:-1]}ied"
    is_doubled = lemma in _DOUBLED or re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", lemma)
    return f"{lemma}{lemma[-1]}ed" if is_doubled else f"{lemma}ed"


def _only(verb: Token, dependency: str) -> Token | None:
    children = [child for child in verb.children if child.dep_ == dependency]
    return children[0] if len(children) == 1 else None


def _may_act(subject: Token) -> bool:
    """Return True for a noun or a personal pronoun without a clause of its own."""
    if subject.pos_ not in ("NOUN", "PROPN", "PRON") or (subject.pos_ == "PRON" and subject.lower_ not in _OBJECTIVE):
        return False
    has_clause = any(child.dep_ in ("relcl", "acl") for child in subject.children) or any(
        token.dep_ in ("relcl", "acl", "appos", "cc") and token.head is not subject for token in subject.subtree
    )
    return _is_whole(subject) and not has_clause


def _may_be_acted_on(target: Token, verb: Token) -> bool:
    """Return True for an object right after its verb, neither reflexive nor a clause; "how many" would have moved."""
    if target.left_edge.i != verb.i + 1 or target.lower_.endswith(("self", "selves")):
        return False
    if target.lower_ in ("other", "another") or (target.pos_ == "PRON" and target.lower_ not in _SUBJECTIVE):
        return False
    return _is_whole(target)


def _is_whole(phrase: Token) -> bool:
    """Return True if a phrase is contiguous."""
    return len(list(phrase.subtree)) == phrase.right_edge.i - phrase.left_edge.i + 1


def _be(verb: Token, target: Token, modals: list[str]) -> tuple[str, ...] | None:
    if modals:
        return (modals[0], "be") if len(modals) == 1 and verb.tag_ == "VB" else None
    singular, plural = {"VBD": ("was", "were"), "VBZ": ("is", "are"), "VBP": ("is", "are")}.get(verb.tag_, ("", ""))
    return (plural if _takes_are(target) else singular,) if singular else None


def _takes_are(target: Token) -> bool:
    first = target.left_edge
    if any(child.dep_ in ("conj", "cc") for child in target.children) or _SUBJECTIVE.get(target.lower_) in _PLURAL:
        return True
    if any(token.is_currency or token.text == "%" for token in chain([target], target.children)):
        return False
    if first.pos_ == "NUM":
        return first.lower_ not in ("1", "one")
    return target.tag_ in ("NNS", "NNPS")


def _in_place(phrase: Tokens, pronouns: dict[str, str], begins: bool) -> str:
    """Return a moved phrase with its capital adjusted, and its case if it is a pronoun."""
    words = pronouns.get(phrase.text.lower(), phrase.text) if len(phrase) == 1 else phrase.text
    if begins:
        return words[0].upper() + words[1:]
    first = phrase[0]
    keeps = first.pos_ == "PROPN" or words.startswith("I ") or (first.text.isupper() and len(first) > 1)
    return words if keeps or words == "I" else words[0].lower() + words[1:]
