"""The sentences of a question: what it asks, its conditions, and words that other words need."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from spacy.tokens import Token

from tqnet.paraphrase.check import Change, Difference, Part
from tqnet.paraphrase.check.text import lemma, lemmas, plain, within, words_of
from tqnet.paraphrase.check.units import value_of
from tqnet.paraphrase.problem import Problem
from tqnet.paraphrase.spans import Covered
from tqnet.paraphrase.units import spellings
from tqnet.text.formulas import Span, segments, unspaced_money
from tqnet.text.normal import normal_formula

#: A sentence with at least this many content words is missing if less than this share of them is left.
_WORDS, _SHARE = 2, 1 / 3
#: No text ends in these words; "a" and "an" may be variables.
_DANGLING = re.compile(
    r"\b(?:the|and|or|if|than|whose|what\s+(?:is|are|was|were)|how\s+many\s+(?:did|does|do|will))\s*[.?!]?\s*$",
    re.IGNORECASE,
)
#: Every question has one of these words, unless it is a sentence to be completed.
_ASKS = re.compile(
    r"[?？:=_…]|(?<!of\s)(?<!,\s)\b(?:which|who|whose|whom|where)\b|"
    r"\b(?:how|what|when|why|whether|find|calculate|compute|determine|evaluate|solve|simplify|express|give|state|name|tell|"
    r"show|prove|estimate|work\s+out|figure\s+out|write|list|choose|select|identify|explain|describe|convert|factor\w*|"
    r"expand|let|say|need(?:ed)?|requir\w+|asked|want(?:ed)?|unknown|mini\w+|maxi\w+|count|draw|add|subtract|multiply|divide|"
    r"reduce|round|approximate|complete|fill|help|look\w*|sought|see|check|if)\b",
    re.IGNORECASE,
)
#: A question to be completed: "the sum is", "the sum gives", "the cost is in dollars".
_TO_COMPLETE = re.compile(r"\b(?:is|are|was|were|gives?|equals?)(?:\s+in\s+[a-z]+)?[\s:=>.…_-]*$", re.IGNORECASE)
_LAST = 40


def question_differences(original: Problem, paraphrase: Problem, renamed: Sequence[str]) -> list[Difference]:
    """Return sentences that are missing, and a question that is missing, breaks off or lost words.

    A question in other words is not judged: that is what the score is for.

    Args:
        renamed: Names that entities of the original no longer have.
    """
    statements = [span for span in original.sentences if span != original.question]
    kept = _contents(paraphrase) | {("word", name.lower()) for name in renamed}
    differences = [
        Difference(Part.SENTENCE, Change.LOST, original.text[slice(*span)])
        for span in statements
        if len(contents := _contents(original, span)) >= _WORDS and len(contents & kept) < _SHARE * len(contents)
    ]
    if original.question is None:
        return differences
    question = original.text[slice(*original.question)]
    if not _asks(original, paraphrase, statements):
        return [*differences, Difference(Part.QUESTION, Change.LOST, question)]
    before, after = words_of(original, original.question), words_of(paraphrase, paraphrase.question)
    lost = [token for row in _left_out(before, after) for token in row if not token.is_stop]
    dangles = _DANGLING.search(paraphrase.text[-_LAST:]) and not _DANGLING.search(original.text[-_LAST:])
    if dangles or (lost and _waits(before, after)):
        rest = paraphrase.text[slice(*(paraphrase.question or (0, len(paraphrase.text))))]
        differences.append(Difference(Part.QUESTION, Change.CUT_OFF, question, rest))
    elif lost:
        differences.append(Difference(Part.QUESTION, Change.SHORTENED, " ".join(token.text for token in lost)))
    return differences


def _asks(original: Problem, paraphrase: Problem, statements: Sequence[Span]) -> bool:
    """Return True if the paraphrase demands something, or has a question that the original does not state."""
    if all(_TO_COMPLETE.search(problem.text[-_LAST:]) for problem in (original, paraphrase)):
        return not _is_stated(paraphrase, paraphrase.sentences[-1], original, statements)
    if original.text.rstrip().endswith("?") and not _ASKS.search(paraphrase.text):
        return _TO_COMPLETE.search(paraphrase.text[-_LAST:]) is not None
    if paraphrase.question is None:
        sentences = (words_of(paraphrase, span) for span in paraphrase.sentences)
        first = (next((word for word in words if word.lower_ != "please"), None) for words in sentences)
        return any(word is not None and word.tag_ == "VB" for word in first)  # "Give the value of x."
    if paraphrase.text[slice(*paraphrase.question)].rstrip().endswith(("?", "？")):
        return True
    return not _is_stated(paraphrase, paraphrase.question, original, statements)


def _is_stated(paraphrase: Problem, span: Span, original: Problem, statements: Sequence[Span]) -> bool:
    """Return True if a sentence of the paraphrase is a statement of the original, word for word."""
    words = list(map(plain, words_of(paraphrase, span)))
    return any(list(map(plain, words_of(original, other))) == words for other in statements)


def _left_out(before: Sequence[Token], after: Sequence[Token]) -> list[list[Token]]:
    """Return runs of deleted words if the texts differ only by deletions, else an empty list."""
    rows: list[list[Token]] = [[]]
    rest = list(reversed(after))
    for token in before:
        if rest and plain(token) == plain(rest[-1]):
            rest.pop()
            rows.append([])
        else:
            rows[-1].append(token)
    return [] if rest else [row for row in rows if row]


def _waits(question: Sequence[Token], begun: Sequence[Token]) -> bool:
    """Return True if the first words of a question wait for the rest: "how many did she", "what is the value of"."""
    if not begun or list(map(plain, begun)) != list(map(plain, question[: len(begun)])):
        return False
    last, cut = question[len(begun) - 1], question[len(begun) :]
    if last.dep_ == "nsubj" and last.head in cut:
        return any(token.dep_ == "aux" and token.head == last.head for token in question[: len(begun)])
    if last.dep_ in ("amod", "compound") and last.head in cut:  # "what is the average?" may be the whole question
        return not begun[-1].doc.text.rstrip().endswith((".", "?", "!"))
    governs = any(token.head == last and token.dep_ in ("pobj", "pcomp") for token in cut)
    return governs or (last.dep_ in ("det", "poss") and last.head in cut)


def _contents(problem: Problem, span: Span | None = None) -> set[tuple[str, object]]:
    """Return the content words and numbers within ``span``, or of the whole text."""
    words = {("word", lemma(token)) for token in words_of(problem, span) if token.is_alpha and not token.is_stop}
    numbers = within(span, problem.numbers, lambda number: number.start) if span else problem.numbers
    return words | {("number", value_of(number)) for number in numbers}


#: Words whose deletion changes what a text says,
_BOUNDS = frozenset(("not", "never", "no", "without", "except", "unless", "least", "most", "each", "every"))
#: and words whose clause matters likewise; the second set only in a question: "she went out when it rained" is a story.
_CONDITIONS = frozenset(("if", "only", "provided", "given", "remaining", "rest"))
_CONDITIONS_OF_QUESTIONS = frozenset(("when", "so", "such", "all"))
_ARTICLES = frozenset(("a", "an", "the", "every", "their", "its", "my", "our", "your"))
_OF_NOUNS = frozenset(("DET", "ADJ", "NOUN", "PROPN", "NUM", "PRON", "SYM"))


def deleted_conditions(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Return deleted words, in texts that differ only by deletions, that restrict the text or leave others without
    their noun: "at least", "not", a clause with "if", the "port" of "leaves a port".
    """
    start, end = original.question or (0, 0)
    rows = _left_out(words_of(original), words_of(paraphrase))
    gone = {token for row in rows for token in row}
    return [
        Difference(Part.WORD, Change.LOST, " ".join(token.text for token in row))
        for row in rows
        if _restricts(row, start <= row[0].idx < end) or any(_is_missing(token, gone) for token in row)
    ]


def _is_missing(noun: Token, gone: set[Token]) -> bool:
    """Return True if a deleted noun leaves words that need it: the "a" of "a state", the "of" of "of salt and water".

    A number does not need it ("a class of 30"), and the next word may have taken its place.
    """
    if noun.pos_ not in ("NOUN", "PROPN") or noun.lower_ in spellings():
        return False
    kept = [child for child in noun.children if child not in gone]
    if any(child.dep_ in ("amod", "compound", "nmod") for child in kept):
        return False
    if any(child.lower_ in _ARTICLES for child in kept):
        return True
    following = next((token for token in noun.doc[noun.i + 1 :] if token not in gone), None)
    if following is None or following.i == len(noun.doc) - 1:  # a text that breaks off
        return False
    return noun.dep_ == "pobj" and noun.head not in gone and following.pos_ not in _OF_NOUNS


def _restricts(row: Sequence[Token], is_in_question: bool) -> bool:
    words = [token.lower_ for token in row]
    if "or" in words[:-1] and words[words.index("or") + 1] == "not":  # "whether or not"
        return False
    if not _BOUNDS.isdisjoint(words):
        return True
    if sum(not token.is_stop for token in row) < _WORDS:
        return False
    gives_some = any(token.lower_ == "some" and "dobj" in (token.dep_, token.head.dep_) for token in row)
    conditions = _CONDITIONS | _CONDITIONS_OF_QUESTIONS if is_in_question else _CONDITIONS
    return gives_some or not conditions.isdisjoint(words)


#: If a paraphrase keeps this share of the original, word for word and in order, the rest of it is an addition.
_KEPT = 0.95
#: A condition has at least this many words, one of them with new content, or this many words with new content.
_ADDED, _ADDED_CONTENTS = 3, 2
#: Longer texts, such as exercise sheets, take too long to align.
_ALIGNED = 300


def added_conditions(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Return the conditions that the paraphrase adds: "... but half of them were broken".

    The words of both texts are aligned. If nearly all of the original is there, each run of inserted words that says
    something new is a condition.
    """
    before, after = words_of(original), words_of(paraphrase)
    if max(len(before), len(after)) > _ALIGNED:
        return []
    aligned = SequenceMatcher(None, list(map(plain, before)), list(map(plain, after)), autojunk=False)
    if sum(block.size for block in aligned.get_matching_blocks()) < _KEPT * len(before):
        return []
    known = lemmas(original.doc) | {token.lower_ for token in original.doc}
    amounts = Covered([*(number.outer for number in paraphrase.numbers), *((u.start, u.end) for u in paraphrase.units)])
    added = []
    for kind, first, last, start, end in aligned.get_opcodes():
        if kind not in ("insert", "replace"):
            continue
        row, replaced = after[start:end], before[first:last]
        new = (token for token in row if token.is_alpha and not token.is_stop and token.idx not in amounts)
        contents = sum(not {lemma(token), token.lower_} & known for token in new)
        contents -= sum(not token.is_stop for token in replaced)
        if contents >= _ADDED_CONTENTS or (contents > 0 and len(row) - len(replaced) >= _ADDED):
            added.append(Difference(Part.CONDITION, Change.NEW, after=" ".join(token.text for token in row)))
    return added


_PREPOSITIONS = "of|in|on|at|to|from|by|for|with|into|per"
_NO_NOUN = rf"is|are|was|were|has|have|had|would|could|weighs|{_PREPOSITIONS}|and|or|that|which|who|if"
_GAPS = re.compile(
    rf"\b(?:(?P<a>(?-i:(?<!\.)(?<!\.\s)a))|(?-i:an)|the|their|its|my|our|your|every)\s*"
    rf"(?:[.,;:?!](?!m\b|\d)|\b(?:{_NO_NOUN})\b(?!-))"
    r"|\bof\s+(?:and|or|from|to|for)\b",
    re.IGNORECASE,
)
#: "a" is a name where there is a "b", or a sum with "a".
_NAMES = re.compile(
    r"\b[bc]\b|\ba\s*[-+*/=<>^]|[-+*/=<>^\d]\s*a\b(?=\s*[.,:;?!)=+*/-])"
    r"|\b(?i:let|find|if)\s+a(?=\s*(?:[.,:;?!]|(?:be|and|when|if)\b))"
)


def missing_nouns(original: str, paraphrase: str) -> list[Difference]:
    """Return the first words that lack their noun, unlike in the original: "leaving a .", "the sum of and 5"."""
    known = {" ".join(match[0].lower().split()) for match in _GAPS.finditer(original)}
    has_names = _NAMES.search(original) or _NAMES.search(paraphrase)
    gaps = (match[0].lower().split() for match in _GAPS.finditer(paraphrase) if not (match["a"] and has_names))
    gap = next((gap for gap in map(" ".join, gaps) if gap not in known), None)
    return [Difference(Part.WORD, Change.LOST, before=f"the noun of '{gap}'")] if gap else []


def formula_differences(original: Problem, paraphrase: Problem) -> list[Difference]:
    """Compare LaTeX formulas by their normal form; a number alone is left to the numbers.

    A formula that the other text writes without LaTeX is found as text: "x = 3" for "$x=3$".
    """
    before, after = _formulas(original), _formulas(paraphrase)
    texts = [problem.text.replace(" ", "") for problem in (paraphrase, original)]
    lost = [written for form, (written, body) in before.items() if form not in after and body not in texts[0]]
    new = [written for form, (written, body) in after.items() if form not in before and body not in texts[1]]
    if len(lost) == len(new) == 1:
        return [Difference(Part.FORMULA, Change.CHANGED, lost[0], new[0])]
    return [
        *(Difference(Part.FORMULA, Change.LOST, before=written) for written in lost),
        *(Difference(Part.FORMULA, Change.NEW, after=written) for written in new),
    ]


def _formulas(problem: Problem) -> dict[str, tuple[str, str]]:
    """Return normal form -> the formula as written, and without its delimiters and spaces."""
    numbers = Covered(number.span for number in problem.numbers)
    parts = segments(unspaced_money(problem.text))
    return {
        normal_formula(part.body): (problem.text[part.start : part.end], part.body.replace(" ", ""))
        for part in parts
        if part.is_formula and part.start not in numbers
    }
