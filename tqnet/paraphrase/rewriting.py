"""ParaQD's operators that are models: back-translation (f1), lossy paraphrase (f9, f_e), reconstruction (f_b).

Each gives of every text its candidates, the farthest by edit distance first, never the text itself (A.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from spacy.matcher.levenshtein import levenshtein

from tqnet.paraphrase.negatives import without_phrases
from tqnet.paraphrase.operators import Rewrite
from tqnet.paraphrase.problem import NotApplicable, Problem
from tqnet.paraphrase.seq2seq import Seq2Seq
from tqnet.paraphrase.spans import sentences
from tqnet.paraphrase.tokens import corrupt, delete_words

#: Texts -> the candidates of each.
Rewriting = Callable[[Sequence[str]], list[list[str]]]


@dataclass(frozen=True)
class Settings:
    """How candidates are searched.

    Attributes:
        candidates: Of a text, by diverse beam search.
        diversity: How strongly they keep away from each other (`tqnet.paraphrase.seq2seq`).
        beams: Of the first translation.
    """

    candidates: int = 4
    diversity: float = 0.5
    beams: int = 5


def back_translate(texts: Sequence[str], there: Seq2Seq, back: Seq2Seq, settings: Settings) -> list[list[str]]:
    """Translate sentence by sentence into another language by beam search, and back by diverse beam search (f1, A.1).

    NOTE: The paper keeps one candidate, that of the farthest sentences. It comes first here; behind it come those of
    the second farthest sentences, and so on. A sentence that cannot be translated stays as it is.

    Args:
        there, back: A translation pair: English to German and German to English in the paper (FSMT, WMT'19).
    """
    spans = [sentences(text) for text in texts]
    parts = [[text[slice(*span)] for span in places] for text, places in zip(texts, spans, strict=True)]
    distinct = list(dict.fromkeys(part for row in parts for part in row))
    translations = dict(zip(distinct, there.best(distinct, settings.beams), strict=True))
    translated = [part for part in distinct if translations[part]]
    foreign = [translations[part][0] for part in translated]
    candidates = back.diverse(foreign, settings.candidates, settings.diversity)
    found = {part: farthest_first(part, row) for part, row in zip(translated, candidates, strict=True)}
    return [
        farthest_first(text, joined(_gaps(text, places), [found.get(part) or [part] for part in row])) if row else []
        for text, places, row in zip(texts, spans, parts, strict=True)
    ]


def say_otherwise(
    texts: Sequence[str], model: Seq2Seq, shown: Callable[[str], str], settings: Settings
) -> list[list[str]]:
    """Have a model say whole texts in other words (f9: Pegasus on PAWS; f_e: T5 on Quora's questions) or restore them.

    Args:
        shown: A text -> what the model gets to see of it: behind the prefix that it was trained with, "paraphrase: ",
            or damaged, for a model that restores; raises NotApplicable for a text that has no candidates.
    """
    visible = {}
    for text in dict.fromkeys(texts):
        try:
            visible[text] = shown(text)
        except NotApplicable:
            continue
    known = list(visible)
    rows = model.diverse(list(visible.values()), settings.candidates, settings.diversity, likeness=known)
    candidates = {text: farthest_first(text, row) for text, row in zip(known, rows, strict=True)}
    return [candidates.get(text, []) for text in texts]


def farthest_first(text: str, candidates: Iterable[str]) -> list[str]:
    """Return distinct candidates by Levenshtein distance from ``text``, the farthest first, never ``text``.

    Texts that differ in their spaces alone are one; what has no letter and no digit is no text.
    """
    distinct: dict[str, str] = {}
    for candidate in candidates:
        distinct.setdefault(" ".join(candidate.split()), candidate.strip())
    distinct.pop(" ".join(text.split()), None)
    left = [candidate for candidate in distinct.values() if any(map(str.isalnum, candidate))]
    return sorted(left, key=lambda candidate: -levenshtein(text, candidate))


def joined(gaps: Sequence[str], parts: Sequence[Sequence[str]]) -> list[str]:
    """Return rewritings of a text from those of its parts: the first of each, the second of each, and so on.

    Args:
        gaps: What stands before each part, and behind the last.
        parts: Of each part its rewritings, one at least; the last stands in if there are no more.
    """
    return [
        "".join(gap + part[min(rank, len(part) - 1)] for gap, part in zip(gaps, parts, strict=False)) + gaps[-1]
        for rank in range(max(map(len, parts), default=0))
    ]


def _gaps(text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """Return what stands before each span and behind the last."""
    ends, starts = [0, *(end for _, end in spans)], [*(start for start, _ in spans), len(text)]
    return [text[end:start] for end, start in zip(ends, starts, strict=True)]


#: Of the words; half of what the model learnt to restore, if its result is to ask the same.
_LIGHTLY = 0.08
#: Of the words of a text without phrases.
_HEAVILY = 0.3


def _leave_out(problem: Problem, rng: np.random.Generator) -> str:
    """Leave out one of the key phrases of a text; without any, some of its words."""
    try:
        texts = without_phrases(problem)
    except NotApplicable:
        return delete_words(problem, rng, _HEAVILY)
    return texts[rng.integers(len(texts))]


#: Operator -> what a model that restores is shown in order to do its work.
#:
#: NOTE: only reconstruction is ParaQD's own use of such a model (f_b); in the others it is a stand-in. The paper's
#: models lose information by themselves; here it is lost before the model makes a sentence of the rest.
DAMAGES: dict[str, Rewrite] = {
    "back-translation": partial(corrupt, share=_LIGHTLY),
    "lossy-paraphrase": _leave_out,
    "reconstruction": corrupt,
    "paraphrase": _leave_out,
}
