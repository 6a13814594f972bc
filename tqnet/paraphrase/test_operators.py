"""Tokens shuffled, left out, inserted: what a model is to restore (ParaQD, f_b), and random deletion (f_d)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from spacy.tokens import Span as Tokens
from spacy.tokens import Token

from tqnet.paraphrase.problem import NotApplicable, Problem
from tqnet.paraphrase.spans import outside_formulas, rewrite
from tqnet.text.formulas import Span, formula_character_spans
from tqnet.text.replacements import as_written

#: Tokens at the end that tell what is asked (ParaQD, A.3).
_LAST = 3
#: How far a token may move.
_WINDOW = 3


def corrupt(problem: Problem, rng: np.random.Generator, share: float = 0.15) -> str:
    """Tokens moved by a place or two, left out, replaced and inserted, ``share`` of them each; numbers, units, formulas
    and the last three tokens stay where they are (A.3).

    What is inserted are other words of the same text. A model that restores the text from it paraphrases.
    """
    tokens = problem.tokens
    free = _free(problem)
    if len(free) < 2:
        raise NotApplicable("there are fewer than two words besides numbers, units and the end")
    words = [problem.text[start:end] for start, end in tokens]
    own = [words[at] for at in free]
    _shuffle(words, free, share, rng)
    for at in free:
        drawn = rng.random()
        if drawn < share:
            words[at] = ""
        elif drawn < 2 * share:
            words[at] = own[rng.integers(len(own))]
        elif drawn < 3 * share:
            words[at] += f" {own[rng.integers(len(own))]}"
    changes = {token: word for token, word in zip(tokens, words, strict=True) if problem.text[slice(*token)] != word}
    if not changes:
        changes = {tokens[free[rng.integers(len(free))]]: ""}
    return rewrite(problem.text, changes)


def delete_words(problem: Problem, rng: np.random.Generator, share: float = 0.15) -> str:
    """Each token is left out with probability ``share``, one at least; one at least stays (Wei and Zou 2019; f_d)."""
    tokens = problem.tokens
    if len(tokens) < 2:
        raise NotApplicable("there are no two tokens")
    gone = rng.random(len(tokens)) < share
    if not gone.any():
        gone[rng.integers(len(tokens))] = True
    if gone.all():
        gone[rng.integers(len(tokens))] = False
    return rewrite(problem.text, {token: "" for token, out in zip(tokens, gone, strict=True) if out})


def _free(problem: Problem) -> list[int]:
    """The places of the words that may change: those that stand between spaces or before a mark."""
    kept: list[Span] = [number.outer for number in problem.numbers]
    kept += [(unit.start, unit.end) for unit in problem.units] + formula_character_spans(problem.text)
    return [
        at
        for at, (start, end) in enumerate(problem.tokens[:-_LAST])
        if _is_word(problem.text, start, end) and not any(first < end and start < last for first, last in kept)
    ]


def _is_word(text: str, start: int, end: int) -> bool:
    apart = (not start or text[start - 1].isspace()) and (text[end].isspace() or text[end] in ".,;:?!")
    return apart and text[start:end].isalpha()


def _shuffle(words: list[str], free: list[int], share: float, rng: np.random.Generator) -> None:
    """Neighbours among the free places change them, in windows that begin with probability ``share``."""
    for begin in np.flatnonzero(rng.random(len(free)) < share):
        window = free[begin : begin + _WINDOW]
        moved = rng.permutation(len(window))
        for place, word in zip(window, [words[window[other]] for other in moved], strict=True):
            words[place] = word


# Past participles of English verbs.


_IRREGULAR = """
    bear=borne beat=beaten become=become begin=begun bend=bent bet=bet bind=bound bite=bitten bleed=bled blow=blown
    break=broken breed=bred bring=brought broadcast=broadcast build=built burst=burst buy=bought cast=cast catch=caught
    choose=chosen cut=cut deal=dealt dig=dug do=done draw=drawn drink=drunk drive=driven eat=eaten feed=fed feel=felt
    fight=fought find=found fling=flung fly=flown forbid=forbidden forget=forgotten forgive=forgiven freeze=frozen
    get=got give=given grind=ground grow=grown hang=hung hear=heard hide=hidden hit=hit hold=held hurt=hurt keep=kept
    know=known lay=laid lead=led leave=left lend=lent light=lit lose=lost make=made mean=meant meet=met mistake=mistaken
    mow=mowed outgrow=outgrown overcome=overcome overtake=overtaken pay=paid put=put quit=quit read=read rebuild=rebuilt
    resell=resold rewrite=rewritten ride=ridden ring=rung run=run saw=sawed say=said see=seen seek=sought sell=sold
    send=sent set=set sew=sewn shake=shaken shed=shed shoot=shot show=shown shrink=shrunk shut=shut sing=sung sink=sunk
    slay=slain slide=slid sling=slung slit=slit sow=sown speak=spoken spend=spent spill=spilled spin=spun split=split
    spoil=spoiled spread=spread steal=stolen stick=stuck sting=stung string=strung strike=struck sweep=swept swim=swum
    swing=swung take=taken teach=taught tear=torn tell=told think=thought throw=thrown undergo=undergone
    understand=understood undertake=undertaken undo=undone upset=upset wake=woken wear=worn weave=woven win=won
    wind=wound withdraw=withdrawn withhold=withheld withstand=withstood wring=wrung write=written
"""
_PARTICIPLES = dict(pair.split("=") for pair in _IRREGULAR.split())
_DOUBLED = "admit commit occur prefer refer submit transfer permit regret equip control travel cancel label"
#: Two syllables with the stress on the second, or in British spelling: the last consonant is doubled.
_DOUBLES = frozenset(_DOUBLED.split())


def past_participle(lemma: str, past: str | None = None) -> str | None:
    """ "eaten" of "eat"; None where it cannot be told.

    Args:
        past: The simple past, where it is known: a regular verb's is its participle.
    """
    if lemma in _PARTICIPLES:
        return _PARTICIPLES[lemma]
    if past is not None:
        return past if past.endswith("ed") else None
    if lemma.endswith("e"):
        return f"{lemma}d"
    if re.search(r"[^aeiou]y$", lemma):
        return f"{lemma[:-1]}ied"
    if lemma in _DOUBLES or re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", lemma):
        return f"{lemma}{lemma[-1]}ed"
    return f"{lemma}ed"


# Sentences from the active to the passive by their dependencies (ParaQD, f_a), only where nothing is in doubt.
#
# NOTE: ParaQD has a transformer write the passive and another correct it; rules keep every number and name.


_STATES = """
    have cost weigh equal resemble fit lack become contain last take measure need want like love let get hate suit
    belong mean hold remain exceed total average be do go live walk run travel drive ride swim
"""
#: Verbs of which nobody makes a passive, or only in another sense.
_NO_PASSIVE = frozenset(_STATES.split())
_OBJECTIVE = {"i": "me", "he": "him", "she": "her", "they": "them", "we": "us", "it": "it", "you": "you"}
_SUBJECTIVE = {"me": "I", "him": "he", "her": "she", "them": "they", "us": "we", "it": "it", "you": "you"}
_PLURAL = frozenset(("they", "we", "you"))
#: Children of the verb beside its subject and object, by their dependency.
_HARMLESS = frozenset(("prep", "punct", "advmod", "npadvmod", "aux"))


def active_to_passive(problem: Problem, rng: np.random.Generator) -> str:
    """Every sentence of a subject, a verb and an object: "Tom bought 5 pens." to "5 pens were bought by Tom."."""
    formulas = formula_character_spans(problem.text)
    changes: dict[Span, str] = {}
    for start, end in problem.sentences:
        tokens = problem.doc.char_span(start, end)
        inside = any(first < end and start < last for first, last in formulas)
        if tokens is not None and not inside and (passive := _passive(tokens)):
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
    participle = past_participle(verb.lemma_.lower(), verb.lower_ if verb.tag_ == "VBD" else None)
    doc, first, last = sentence.doc, subject.left_edge.i, thing.right_edge.i
    between = doc[subject.right_edge.i + 1 : verb.i]
    adverbs = [token for token in between if token not in auxiliaries]
    if be is None or participle is None or any(token.dep_ != "advmod" for token in adverbs):
        return None
    before, after = doc[sentence.start : first], doc[last + 1 : sentence.end]
    said = [
        before.text,
        _in_place(doc[verb.i + 1 : last + 1], _SUBJECTIVE, begins=first == sentence.start),
        be[0],
        *(token.text for token in adverbs),
        *be[1:],
        participle,
        "by",
        _in_place(doc[first : subject.right_edge.i + 1], _OBJECTIVE, begins=False),
    ]
    behind = ("" if after.text[:1] in ".," else " ") + after.text
    return " ".join(filter(None, said)) + behind


def _only(verb: Token, dependency: str) -> Token | None:
    found = [child for child in verb.children if child.dep_ == dependency]
    return found[0] if len(found) == 1 else None


def _may_act(subject: Token) -> bool:
    """A noun or a personal pronoun without a clause of its own."""
    if subject.pos_ == "PRON" and subject.lower_ not in _OBJECTIVE:
        return False
    clauses = any(
        token.dep_ in ("relcl", "acl", "appos", "cc") and token.head is not subject for token in subject.subtree
    )
    whole = len(list(subject.subtree)) == subject.right_edge.i - subject.left_edge.i + 1
    relative = any(child.dep_ in ("relcl", "acl") for child in subject.children)
    return subject.pos_ in ("NOUN", "PROPN", "PRON") and whole and not clauses and not relative


def _may_be_acted_on(thing: Token, verb: Token) -> bool:
    """An object right behind its verb, neither reflexive nor a clause; "how many" would have moved."""
    if (
        thing.left_edge.i != verb.i + 1
        or thing.lower_.endswith(("self", "selves"))
        or thing.lower_ in ("other", "another")
    ):
        return False
    if thing.pos_ == "PRON" and thing.lower_ not in _SUBJECTIVE:
        return False
    return _is_whole(thing)


def _is_whole(phrase: Token) -> bool:
    """Whether nothing else stands within a phrase."""
    return len(list(phrase.subtree)) == phrase.right_edge.i - phrase.left_edge.i + 1


def _be(verb: Token, thing: Token, modals: list[str]) -> tuple[str, ...] | None:
    if modals:
        return (modals[0], "be") if len(modals) == 1 and verb.tag_ == "VB" else None
    plural = _is_plural(thing)
    if verb.tag_ == "VBD":
        return ("were",) if plural else ("was",)
    return (("are",) if plural else ("is",)) if verb.tag_ in ("VBZ", "VBP") else None


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
    """A phrase that changes places: its case, if it is a pronoun, and its capital."""
    words = pronouns.get(phrase.text.lower(), phrase.text) if len(phrase) == 1 else phrase.text
    if begins:
        return words[0].upper() + words[1:]
    first = phrase[0]
    keeps = first.pos_ == "PROPN" or words.startswith("I ") or (first.text.isupper() and len(first) > 1)
    return words if keeps or words == "I" else words[0].lower() + words[1:]


# Words of weight, by TF-IDF, replaced by any others (ParaQD, f_c).


#: What has a weight.
WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True)
class WordWeights:
    """What the words of some texts weigh.

    Attributes:
        idf: Word -> inverse document frequency, smoothed as scikit-learn does.
        words: The vocabulary.
        rarest: The weight of the rarest words.
    """

    idf: dict[str, float]
    words: tuple[str, ...]
    rarest: float

    @classmethod
    def fit(cls, texts: Sequence[str]) -> WordWeights:
        """Weights by how many of ``texts`` have a word.

        Raises:
            ValueError: The texts have no words.
        """
        vectorizer = TfidfVectorizer(token_pattern=WORD.pattern).fit(texts)
        words = tuple(map(str, vectorizer.get_feature_names_out()))
        idf = dict(zip(words, map(float, vectorizer.idf_), strict=True))
        return cls(idf, words, max(idf.values()))

    def of(self, words: Sequence[str]) -> np.ndarray:
        """TF-IDF of each word of a text, [n]; a word that no text had weighs as much as the rarest."""
        counts = Counter(words)
        return np.array([counts[word] * self.idf.get(word, self.rarest) for word in words])


def replace_heavy_words(problem: Problem, rng: np.random.Generator, weights: WordWeights, share: float = 0.15) -> str:
    """``share`` of the words, one at least, become any of the vocabulary, the heavier the more likely (f_c)."""
    places = outside_formulas(problem.text, WORD)
    if not places:
        raise NotApplicable("there are no words")
    words = [problem.text[start:end] for start, end in places]
    heavy = weights.of([word.lower() for word in words])
    heavy = heavy - heavy.min()
    count = min(max(1, round(share * len(places))), max(1, int(np.count_nonzero(heavy))))
    chosen = rng.choice(len(places), count, replace=False, p=heavy / heavy.sum() if heavy.any() else None)
    changes = {}
    for at in chosen:
        other = words[at].lower()
        while other == words[at].lower() and len(weights.words) > 1:
            other = weights.words[rng.integers(len(weights.words))]
        changes[places[at]] = as_written(other, words[at])
    return rewrite(problem.text, changes)
