"""Sentences from the active to the passive by their dependencies (ParaQD, f_a), only if nothing is in doubt.

NOTE: ParaQD has a transformer write the passive and another correct it; rules keep every number and name.
"""

from __future__ import annotations

import re
from itertools import chain

import numpy as np
from spacy.tokens import Span as Tokens
from spacy.tokens import Token

from tqnet.paraphrase.problem import NotApplicable, Problem
from tqnet.paraphrase.spans import data, rewrite
from tqnet.text.formulas import Span, formula_character_spans

_PARTICIPLES = dict(pair.split("=") for pair in data("verbs")["participles"].split())
_DOUBLED = frozenset(data("verbs")["doubled"].split())
_NO_PASSIVE = frozenset(data("verbs")["no passive"].split())
_OBJECTIVE = {"i": "me", "he": "him", "she": "her", "they": "them", "we": "us", "it": "it", "you": "you"}
_SUBJECTIVE = {"me": "I", "him": "he", "her": "she", "them": "they", "us": "we", "it": "it", "you": "you"}
_PLURAL = frozenset(("they", "we", "you"))
#: Children of the verb beside its subject and object, by their dependency.
_HARMLESS = frozenset(("prep", "punct", "advmod", "npadvmod", "aux"))


def active_to_passive(problem: Problem, rng: np.random.Generator) -> str:
    """Turn every sentence of a subject, a verb and an object: "Tom bought 5 pens." to "5 pens were bought by Tom."."""
    formulas = formula_character_spans(problem.text)
    changes: dict[Span, str] = {}
    for start, end in problem.sentences:
        tokens = problem.doc.char_span(start, end)
        has_formula = any(first < end and start < last for first, last in formulas)
        if tokens is not None and not has_formula and (passive := _passive(tokens)):
            changes[start, end] = passive
    if not changes:
        raise NotApplicable("no sentence has a subject, a verb and an object of which a passive can be made for sure")
    return rewrite(problem.text, changes)


def _passive(sentence: Tokens) -> str | None:
    verb = sentence.root
    if verb.pos_ != "VERB" or verb.lemma_ in _NO_PASSIVE or not sentence.text.endswith("."):
        return None
    subject, thing = (_only(verb, dependency) for dependency in ("nsubj", "dobj"))
    if subject is None or thing is None or not (_may_act(subject) and _may_be_acted_on(thing, verb)):
        return None
    others = [child for child in verb.children if child not in (subject, thing)]
    auxiliaries = [child for child in others if child.dep_ == "aux"]
    if any(child.dep_ not in _HARMLESS for child in others) or any(token.tag_ != "MD" for token in auxiliaries):
        return None
    be = _be(verb, thing, [token.text for token in auxiliaries])
    participle = _past_participle(verb.lemma_.lower(), verb.lower_ if verb.tag_ == "VBD" else None)
    doc, first, last = sentence.doc, subject.left_edge.i, thing.right_edge.i
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
    """Return "eaten" of "eat"; the simple past, if it is known, is the participle of a regular verb, else None."""
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


def _may_be_acted_on(thing: Token, verb: Token) -> bool:
    """Return True for an object right behind its verb, neither reflexive nor a clause; "how many" would have moved."""
    if thing.left_edge.i != verb.i + 1 or thing.lower_.endswith(("self", "selves")):
        return False
    if thing.lower_ in ("other", "another") or (thing.pos_ == "PRON" and thing.lower_ not in _SUBJECTIVE):
        return False
    return _is_whole(thing)


def _is_whole(phrase: Token) -> bool:
    """Return True if nothing else stands within a phrase."""
    return len(list(phrase.subtree)) == phrase.right_edge.i - phrase.left_edge.i + 1


def _be(verb: Token, thing: Token, modals: list[str]) -> tuple[str, ...] | None:
    if modals:
        return (modals[0], "be") if len(modals) == 1 and verb.tag_ == "VB" else None
    singular, plural = {"VBD": ("was", "were"), "VBZ": ("is", "are"), "VBP": ("is", "are")}.get(verb.tag_, ("", ""))
    return (plural if _is_plural(thing) else singular,) if singular else None


def _is_plural(thing: Token) -> bool:
    first = thing.left_edge
    if any(child.dep_ in ("conj", "cc") for child in thing.children) or _SUBJECTIVE.get(thing.lower_) in _PLURAL:
        return True
    if any(token.is_currency or token.text == "%" for token in chain([thing], thing.children)):
        return False
    if first.pos_ == "NUM":
        return first.lower_ not in ("1", "one")
    return thing.tag_ in ("NNS", "NNPS")


def _in_place(phrase: Tokens, pronouns: dict[str, str], begins: bool) -> str:
    """Return a phrase that changes places: its case, if it is a pronoun, and its capital."""
    words = pronouns.get(phrase.text.lower(), phrase.text) if len(phrase) == 1 else phrase.text
    if begins:
        return words[0].upper() + words[1:]
    first = phrase[0]
    keeps = first.pos_ == "PROPN" or words.startswith("I ") or (first.text.isupper() and len(first) > 1)
    return words if keeps or words == "I" else words[0].lower() + words[1:]
