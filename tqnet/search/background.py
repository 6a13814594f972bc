"""Statistics of a bank: how rare its words are, and the likeness of what unrelated queries find.

A version of an index holds ``background.json``. The words are in lower case, outside formulas.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path

from tqnet.files import atomic
from tqnet.questions import Question
from tqnet.text.latex import prose

_FILE = "background.json"

#: Maximum number of words; the rarest beyond are dropped. A bank of a million questions has about as many.
_MOST = 200_000

#: A word of Latin letters only: not a variable, command, ``x2``, blob, word with accents or inside Chinese.
_LATIN = re.compile(r"(?<![\\\w])[A-Za-z]{2,30}(?!\w)")


class Words(dict[str, int]):
    """Word -> number of questions with it. If empty, all words are equally rare."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> Words:
        """Count the words of search terms, which are separated by spaces."""
        return cls(Counter(word for terms in texts for word in words_of(terms)))

    @cached_property
    def most(self) -> int:
        """Number of questions with the most frequent word."""
        return max(self.values(), default=1)

    def rarity(self, word: str) -> float:
        """Return the inverse document frequency of a word."""
        return math.log(1 + self.most / (1 + self.get(word, 0)))


@dataclass(frozen=True)
class Background:
    """Statistics of a bank for ranking.

    Attributes:
        words: Word counts, for the weight of shared words and for spelling correction.
        unrelated: Likeness of the best results of unrelated queries, by what is searched (`tqnet.search.calibration`).
        measured: Number of questions when ``unrelated`` was measured.
    """

    words: Words = field(default_factory=Words)
    unrelated: Mapping[str, float] = field(default_factory=dict)
    measured: int = 0

    def save(self, folder: Path) -> None:
        """Write to the folder of a version."""
        with atomic(folder / _FILE) as temporary:
            temporary.write_text(json.dumps(vars(self)), encoding="utf-8")

    @staticmethod
    def load(folder: Path) -> Background:
        """Read from the folder of a version."""
        file = folder / _FILE
        status = file.stat()
        return _read(file, status.st_ino, status.st_mtime_ns)

    def with_words(self, questions: Iterable[Question], terms: Iterable[str]) -> Background:
        """Add the words of questions: of stem, options and names of concepts.

        Counts only grow: a replaced question counts again, and a deleted one is still counted.

        Args:
            terms: The search terms of each question, separated by spaces, without stop words, but also in Chinese.
        """
        counts = Counter(self.words)
        for question, searched in zip(questions, terms, strict=True):
            names = (name for path in question.knowledge for name in path)
            counts.update({match[0].lower() for match in latin_words("\n".join((question.content, *names)))})
            counts.update(word for word in words_of(searched) if not _LATIN.fullmatch(word))
        return replace(self, words=Words(counts.most_common(_MOST)))


@lru_cache(2)  # a server reads the current version and the next
def _read(file: Path, *written: int) -> Background:
    values = json.loads(file.read_text(encoding="utf-8"))
    return Background(**values | {"words": Words(values["words"])})


def words_of(terms: str) -> set[str]:
    """Return the words among search terms, without numbers, signs, formulas and names of variables."""
    return {term for term in terms.split() if term.isalpha() and not (len(term) == 1 and term.isascii())}


def latin_words(text: str) -> Iterator[re.Match[str]]:
    """Yield the Latin words of a text outside its formulas, including stop words."""
    for start, end in prose(text):
        yield from _LATIN.finditer(text, start, end)
