"""Candidates from exact text and from vectors, merged, without the query's duplicates (FSE, "Recall Module")."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import zip_longest
from typing import Any, Generic, TypeVar

import numpy as np

from tqnet.questions import Question
from tqnet.questions.near_duplicates import shingle_sets
from tqnet.questions.traits import one_form, same_figures, says_the_same, traits
from tqnet.search.engine import Hit, SearchEngine
from tqnet.search.records import Filter, content_key, query_words, question_of, unit

# What a query is about, as far as the questions nearest to it say.


#: So many of the nearest say it, each by this power of its cosine.
NEAREST, _POWER = 10, 10

#: A path from the coarsest level.
Concept = tuple[str, ...]
#: What stands for a question: its id, or its place among others.
Key = TypeVar("Key", bound=Hashable)


class Votes(Generic[Key]):
    """Those of the nearest for their concepts.

    Args:
        cosines: With the query, of at least the nearest.
        concepts: Of a question.
    """

    def __init__(self, cosines: Mapping[Key, float], concepts: Callable[[Key], Collection[Concept]]):
        nearest = sorted(cosines, key=lambda one: -cosines[one])[:NEAREST]
        self._concepts = concepts
        self._votes = {one: max(cosines[one], 0.0) ** _POWER for one in nearest}
        self._all = sum(self._votes.values())
        self._of_concept: dict[Concept, float] = defaultdict(float)
        for one, vote in self._votes.items():
            for concept in concepts(one):
                self._of_concept[concept] += vote

    def foremost(self, count: int) -> list[Concept]:
        """The concepts with the most votes, at most ``count``."""
        found = [concept for concept, votes in self._of_concept.items() if votes > 0]
        return sorted(found, key=lambda concept: -self._of_concept[concept])[:count]

    def share(self, candidate: Key) -> float:
        """Of the others' votes, those for the foremost of a candidate's concepts, 0 to 1."""
        own = self._votes.get(candidate, 0.0)
        others = self._all - own
        foremost = max((self._of_concept.get(concept, 0.0) for concept in self._concepts(candidate)), default=own) - own
        return max(0.0, foremost / others) if others > 0 else 0.0


#: What the best text is worth beside a cosine of 1, for queries without and with concepts, which are words of the text:
#: chosen with fine-tuned encoders by ``tqnet evaluate retrieval INDEX --split valid --text-weights 0.25 0.5 1 2``.
TEXT_WEIGHT, KNOWN_WEIGHT = 0.25, 2.0

#: Of a query without concepts, so many of those that the nearest are about are searched as well; and what it is worth
#: beside a cosine of 1, if all of the nearest have a candidate's: chosen on `valid` with fine-tuned encoders.
_CONCEPTS, CONCEPT_WEIGHT = 2, 0.8

#: What finds candidates.
SOURCES = ("text", "vector")

#: How candidates are chosen from those of both sources.
MERGINGS = ("score", "halves")

Id = TypeVar("Id", str, int)

#: Least share of three-word runs, numbers as they are and formulas in one form, that near duplicates have in common.
NEAR = 0.9

#: How many candidates are recalled, if nothing else is asked for.
CANDIDATES = 100

#: What a source finds beyond the candidates that are wanted, for those that are duplicates; it is asked for more, up
#: to so many, where there are many of them.
_SPARE, _MOST = 20, 16_000


@dataclass(frozen=True)
class Candidate:
    """A question that may be similar.

    Attributes:
        score: The cosine, and for the text its BM25 by the best one's, times the weight of the text; more is better.
        cosine: With the query; None where the vector was not asked.
        words: BM25 of the words in common; None where the text was not asked or has not found it.
        text: Its words, as they are searched; empty where they were not read.
        evidence: How alike it is by `tqnet.search.ranking`; None where that was not looked at.
        rank: Probability of being similar by the model of the ranking stage; None where it was not asked.
        notes: What re-ranking says of it.
    """

    question: Question
    score: float
    cosine: float | None = None
    words: float | None = None
    text: str = ""
    evidence: float | None = None
    rank: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """What speaks for it, in words."""
        scores = (
            ("similar", self.rank, 3),
            ("evidence", self.evidence, 3),
            ("vector", self.cosine, 3),
            ("text", self.words, 1),
        )
        said = [f"{name} {score:.{digits}f}" for name, score, digits in scores if score is not None]
        return ", ".join([*said, *self.notes])


#: Columns of a record that is found, beside its id and its vector.
_READ = ("stem", "content", "question", "images")


class Recall:
    """Searches by text and by vector at the same time.

    Args:
        engine: Where the records are.
        merging: ``score``, of all that either source finds the best by the score of both; or ``halves``, the paper's
            rule (:func:`merge`), and only then by score. NOTE: half of the places is much for the weaker source.
        text_weight: What the best text adds to a cosine; by default more where the query has concepts.
        guess: Where the query has no concepts, those nearest it by vector say what it is about, and whatever is about
            the same has a better chance to be a candidate; their order is by the score all the same. Not where only one
            source is asked, nor by the paper's rule.

    Raises:
        ValueError: There is no such merging.
    """

    def __init__(
        self, engine: SearchEngine, merging: str = "score", text_weight: float | None = None, guess: bool = True
    ):
        if merging not in MERGINGS:
            raise ValueError(f"merging: {merging!r} is none of {', '.join(MERGINGS)}")
        self.engine, self.merging, self.text_weight, self.guess = engine, merging, text_weight, guess
        self._threads = ThreadPoolExecutor(2, "recall")

    def __call__(
        self,
        query: Question,
        vector: np.ndarray | None = None,
        n: int = CANDIDATES,
        where: Sequence[Filter] = (),
        *,
        by: Collection[str] = SOURCES,
        duplicates: bool = False,
    ) -> list[Candidate]:
        """At most ``n`` candidates that meet ``where``, best first; neither the query nor what says the same with the
        same numbers, and of candidates that are equal to the letter one.

        Args:
            vector: Of the query, ``[width]``; without one, only its text is searched for.
            by: The sources that are asked, of :data:`SOURCES`.
            duplicates: Keep all but the query itself.
        """
        words = query_words(query)
        asked = n + _SPARE
        while True:
            text = self._ask("text" in by, partial(self.engine.by_words, words, asked, where))
            near = self._ask("vector" in by and vector is not None, partial(self._by_vector, vector, asked, where))
            hits = text(), near()
            records = self._records({hit.id for of in hits for hit in of})
            guesses = self.guess and self.merging == "score" and not query.knowledge and set(by) == set(SOURCES)
            votes = _votes(hits[1], records, query.id) if guesses else None
            if votes is not None and (concepts := votes.foremost(_CONCEPTS)):
                about = Filter("concept", "=", tuple("/".join(path) for path in concepts))
                more = self._by_vector(vector, asked, [*where, about])
                records |= self._records({hit.id for hit in more} - records.keys())
                hits = hits[0], _either(hits[1], more)
            found = self._candidates(query, vector if "vector" in by else None, hits, records, votes, n, duplicates)
            if len(found) == n or asked >= _MOST or all(len(of) < asked for of in hits):
                return found
            asked = min(4 * asked, _MOST)

    def _candidates(
        self,
        query: Question,
        vector: np.ndarray | None,
        hits: tuple[list[Hit], list[Hit]],
        records: dict[str, _Found],
        votes: Votes | None,
        n: int,
        duplicates: bool,
    ) -> list[Candidate]:
        stands_for = _representatives(hits, records, query, duplicates)
        bm25, cosine = (_represented(of, stands_for) for of in hits)
        halves = merge(list(bm25)[:n], list(cosine)[:n], n)  # lists of n, as the paper's; what is beyond is spare
        if vector is not None:
            asked = unit(vector[None])[0]
            cosine |= {id: round(float(records[id].vector @ asked), 6) for id in bm25.keys() - cosine.keys()}
        best = max(bm25.values(), default=0.0) or 1.0
        weight = self.text_weight
        if weight is None:
            weight = KNOWN_WEIGHT if query.knowledge else TEXT_WEIGHT
        ids = halves if self.merging == "halves" else bm25.keys() | cosine.keys()
        scores = {id: cosine.get(id, 0.0) + weight * bm25.get(id, 0.0) / best for id in ids}
        ordered = sorted(scores, key=lambda id: (-scores[id], id))
        different = ordered if duplicates else _without_near(ordered, records, query)
        if votes is not None and len(different) > n:
            chances = {id: scores[id] + CONCEPT_WEIGHT * votes.share(id) for id in different}
            chosen = set(sorted(different, key=lambda id: -chances[id])[:n])
            different = [id for id in different if id in chosen]
        return [
            Candidate(records[id].question, scores[id], cosine.get(id), bm25.get(id), records[id].row["stem"])
            for id in different[:n]
        ]

    def _ask(self, wanted: bool, search: Callable[[], list[Hit]]) -> Callable[[], list[Hit]]:
        return self._threads.submit(search).result if wanted else list

    def _by_vector(self, vector: Any, n: int, where: Sequence[Filter]) -> list[Hit]:
        return self.engine.by_vector(vector, n, where)

    def _records(self, ids: Collection[str]) -> dict[str, _Found]:
        if not ids:
            return {}
        table = self.engine.get(sorted(ids), [*_READ, "vector"])
        vectors = table["vector"].combine_chunks().flatten().to_numpy().reshape(len(table), -1)
        rows = table.select(["id", *_READ]).to_pylist()
        return {row["id"]: _Found(row, vector) for row, vector in zip(rows, vectors, strict=True)}


@dataclass(frozen=True)
class _Found:
    """A record; its question is read only if it is a candidate in the end."""

    row: dict[str, Any]
    vector: np.ndarray

    @cached_property
    def question(self) -> Question:
        return question_of(self.row["question"], self.row["images"])

    @cached_property
    def knowledge(self) -> tuple[Concept, ...]:
        """Its concepts, without reading the rest of it."""
        return tuple(map(tuple, json.loads(self.row["question"])["knowledge"]))


def _votes(nearest: Sequence[Hit], records: dict[str, _Found], query: str) -> Votes[str]:
    """Of others than the query itself."""
    cosines = {hit.id: hit.score for hit in nearest if hit.id != query and hit.id in records}
    return Votes(cosines, lambda id: records[id].knowledge)


def _either(one: Sequence[Hit], other: Sequence[Hit]) -> list[Hit]:
    """What is in one list or the other, best first."""
    return sorted({hit.id: hit for hit in [*one, *other]}.values(), key=lambda hit: (-hit.score, hit.id))


def merge(exact: Sequence[Id], embedded: Sequence[Id], n: int) -> list[Id]:
    """``n`` ids of two lists, each best first: those in both, and of what is left to fill one half from the rest of
    each (FSE, "Merging the Exercises"). Where one list is too short for its half, the other one fills it.
    """
    shared = set(exact) & set(embedded)
    both = [id for id in embedded if id in shared][:n]
    rests = [[id for id in ids if id not in shared] for ids in (embedded, exact)]
    left = n - len(both)
    half = min(len(rests[0]), max((left + 1) // 2, left - len(rests[1])))
    parts = rests[0][:half], rests[1][: left - half]
    return both + [id for turn in zip_longest(*parts) for id in turn if id is not None]


def _representatives(
    lists: Sequence[Sequence[Hit]], found: dict[str, _Found], query: Question, duplicates: bool
) -> dict[str, str]:
    """Id -> of those that say the same, the one that was found first; without the query and what says the same."""
    own = content_key(query)
    first: dict[str, str] = {}
    stands_for: dict[str, str] = {}
    for hit in (hit for turn in zip_longest(*lists) for hit in turn if hit is not None and hit.id in found):
        content = found[hit.id].row["content"]
        if hit.id == query.id:  # though its figures may have moved since
            continue
        if duplicates:
            stands_for[hit.id] = hit.id
        elif content != own:
            stands_for[hit.id] = first.setdefault(content, hit.id)
    return stands_for


def _represented(hits: Sequence[Hit], stands_for: dict[str, str]) -> dict[str, float]:
    """Representative -> its score, best first."""
    scores: dict[str, float] = {}
    for hit in hits:
        if hit.id in stands_for:
            scores.setdefault(stands_for[hit.id], hit.score)
    return scores


def _without_near(ids: Iterable[str], found: dict[str, _Found], query: Question) -> list[str]:
    """Those that differ from the query by more than a word or two, or in what matters, or by what they show."""
    ids, own = list(ids), set(query_words(query)["stem"])
    suspects = [id for id in ids if jaccard(own, _words(found[id])) >= NEAR]
    questions = [query, *(found[id].question for id in suspects)]
    sets = shingle_sets([one_form(question.content) for question in questions], fold_numbers=False)
    near = {
        id
        for place, (id, question) in enumerate(zip(suspects, questions[1:], strict=True), 1)
        if sets.jaccard(0, place) >= NEAR
        and says_the_same(traits(query), traits(question))
        and _show_the_same(query, question)
    }
    return [id for id in ids if id not in near]


def _show_the_same(one: Question, other: Question) -> bool:
    try:
        return same_figures(one.images, other.images)
    except (OSError, ValueError):  # a figure has gone, or cannot be read: who knows
        return False


def _words(found: _Found) -> set[str]:
    return set(found.row["stem"].split())


def jaccard(one: Set[Hashable], other: Set[Hashable]) -> float:
    """Share of what two sets have that both have."""
    return len(one & other) / max(1, len(one | other))
