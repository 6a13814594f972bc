"""ParaQD's operators that are models: back-translation (f1), lossy paraphrase (f9, f_e), reconstruction (f_b)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tqnet.augment.paraphrase.keeping import farthest_first, joined
from tqnet.augment.paraphrase.problem import NotApplicable
from tqnet.augment.paraphrase.sentences import sentences
from tqnet.modeling.seq2seq import Seq2Seq


class Rewriting(Protocol):
    """What all of them do."""

    def __call__(self, texts: Sequence[str]) -> list[list[str]]:
        """Of each text its candidates, the farthest by edit distance first, never the text itself."""


@dataclass(frozen=True)
class Settings:
    """How candidates are searched.

    Attributes:
        candidates: Of a text, by diverse beam search.
        diversity: How strongly they keep away from each other (`tqnet.modeling.diverse_beams`).
        beams: Of the first translation.
    """

    candidates: int = 4
    diversity: float = 0.5
    beams: int = 5


@dataclass(frozen=True)
class BackTranslator:
    """Sentence by sentence into another language by beam search, and back by diverse beam search (f1, A.1).

    Args:
        there, back: A translation pair: English to German and German to English in the paper (FSMT, WMT'19).

    NOTE: The paper keeps one candidate, that of the farthest sentences. It comes first here; behind it come those of
    the second farthest sentences, and so on. A sentence that cannot be translated stays as it is.
    """

    there: Seq2Seq
    back: Seq2Seq
    settings: Settings = Settings()

    def __call__(self, texts: Sequence[str]) -> list[list[str]]:
        spans = [sentences(text) for text in texts]
        parts = [[text[slice(*span)] for span in own] for text, own in zip(texts, spans, strict=True)]
        rewritten = self._rewritten(list(dict.fromkeys(part for own in parts for part in own)))
        return [
            farthest_first(text, joined(_gaps(text, own), [rewritten[part] for part in of])) if of else []
            for text, own, of in zip(texts, spans, parts, strict=True)
        ]

    def _rewritten(self, parts: Sequence[str]) -> dict[str, list[str]]:
        """Sentence -> what it became, the farthest first; at least itself."""
        translations = self.there.best(parts, self.settings.beams)
        translated = [part for part, of in zip(parts, translations, strict=True) if of]
        foreign = [of[0] for of in translations if of]
        candidates = self.back.diverse(foreign, self.settings.candidates, self.settings.diversity)
        found = {part: farthest_first(part, of) for part, of in zip(translated, candidates, strict=True)}
        return {part: found.get(part) or [part] for part in parts}


@dataclass(frozen=True)
class Paraphraser:
    """A model that says a whole text in other words, well or badly (f9: Pegasus on PAWS; f_e: T5 on Quora's questions).

    Args:
        prefix: What the model was trained to see before a text ("paraphrase: ").
    """

    model: Seq2Seq
    settings: Settings = Settings()
    prefix: str = ""

    def __call__(self, texts: Sequence[str]) -> list[list[str]]:
        prefixed = [self.prefix + text for text in texts]
        candidates = self.model.diverse(prefixed, self.settings.candidates, self.settings.diversity, likeness=texts)
        return [farthest_first(text, of) for text, of in zip(texts, candidates, strict=True)]


@dataclass(frozen=True)
class Restorer:
    """What a model makes of a text that was damaged before (f_b).

    Args:
        model: Trained to restore texts (``pretrain/rewriter.py``).
        damage: A text -> what the model gets to see of it; raises NotApplicable.
    """

    model: Seq2Seq
    damage: Callable[[str], str]
    settings: Settings = Settings()

    def __call__(self, texts: Sequence[str]) -> list[list[str]]:
        damaged = {}
        for text in dict.fromkeys(texts):
            try:
                damaged[text] = self.damage(text)
            except NotApplicable:
                continue
        known = list(damaged)
        candidates = self.model.diverse(
            list(damaged.values()), self.settings.candidates, self.settings.diversity, likeness=known
        )
        found = {text: farthest_first(text, of) for text, of in zip(known, candidates, strict=True)}
        return [found.get(text, []) for text in texts]


def _gaps(text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """What stands before each span and behind the last."""
    starts = [start for start, _ in spans] + [len(text)]
    ends = [0] + [end for _, end in spans]
    return [text[end:start] for end, start in zip(ends, starts, strict=True)]
