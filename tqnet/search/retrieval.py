"""Candidates by exact text, vectors and figures, merged, without duplicates of the query (FSE, "Recall Module")."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from tqnet.questions import Question
from tqnet.questions.differences import says_the_same
from tqnet.questions.near_duplicates import shingle_sets
from tqnet.questions.traits import one_form, same_figures
from tqnet.search.engine import Hit, SearchEngine
from tqnet.search.figures import Looks, figure_evidence
from tqnet.search.records import Filter, content_key, query_words, record_question, table_rows, unit

#: Default number of candidates to retrieve.
CANDIDATES = 100

#: Sources of candidates, and ways to merge their two lists.
SOURCES = ("text", "vector")
MERGINGS = ("score", "halves")

#: Weight of the best BM25 relative to a cosine of 1, for queries without and with concepts, which count as text: chosen
#: with fine-tuned encoders by ``tqnet evaluate retrieval INDEX --split valid --text-weights 0.25 0.5 1 2``.
TEXT_WEIGHT, KNOWN_WEIGHT = 0.25, 2.0

#: Number of neighbours' concepts that a query without concepts also searches; and weight of the neighbours' votes for a
#: candidate's concepts, relative to a cosine of 1: chosen on `valid` with fine-tuned encoders.
_CONCEPTS, CONCEPT_WEIGHT = 2, 0.8

#: Number of neighbours that vote for concepts, each with this power of its cosine.
NEAREST, _POWER = 10, 10

#: Minimum share of three-word runs that near duplicates have in common, with numbers and normalized formulas.
NEAR = 0.9

#: Number of extra hits, to make up for duplicates, and maximum number of hits if there are many duplicates.
_EXTRA_HITS, _MAX_HITS = 20, 16_000

#: Columns to read for each hit; for hits by text, also the vector.
_COLUMNS = ("stem", "content", "template", "question", "images")

#: A path from the coarsest level.
Concept = tuple[str, ...]
#: A question's id, or its place among others.
Key = TypeVar("Key", bound=Hashable)
Id = TypeVar("Id", str, int)


class Votes(Generic[Key]):
    """Votes of a query's nearest questions for their concepts.

    Args:
        cosines: Question -> cosine with the query, at least for the nearest.
        concepts: Question -> its concepts.
    """

    def __init__(self, cosines: Mapping[Key, float], concepts: Callable[[Key], Collection[Concept]]):
        nearest = sorted(cosines, key=lambda key: -cosines[key])[:NEAREST]
        self._concepts = concepts
        self._votes = {key: max(cosines[key], 0.0) ** _POWER for key in nearest}
        self._total = sum(self._votes.values())
        self._by_concept: dict[Concept, float] = defaultdict(float)
        for key, vote in self._votes.items():
            for concept in concepts(key):
                self._by_concept[concept] += vote

    def foremost(self, count: int) -> list[Concept]:
        """Return the concepts with the most votes, at most ``count``."""
        elected = [concept for concept, votes in self._by_concept.items() if votes > 0]
        return sorted(elected, key=lambda concept: -self._by_concept[concept])[:count]

    def share(self, candidate: Key) -> float:
        """Return the share of the others' votes for the candidate's most popular concept, from 0 to 1."""
        self_vote = self._votes.get(candidate, 0.0)
        others = self._total - self_vote
        votes = (self._by_concept.get(concept, 0.0) for concept in self._concepts(candidate))
        return max(0.0, (max(votes, default=self_vote) - self_vote) / others) if others > 0 else 0.0


@dataclass(frozen=True)
class Candidate:
    """A question that may be similar to the query.

    Attributes:
        score: Score of retrieval: the cosine, plus BM25 relative to the best one, times the weight of the text; the
            same figure counts as much as both.
        cosine: Cosine with the query; None if vectors were not searched.
        bm25: BM25 of the shared terms; None if text was not searched or did not find the question.
        figure: Best cosine of its figures with those of the query (`tqnet.search.figures`); None without figures.
        terms, template: Search terms, and hash of the text without numbers (`tqnet.search.records`); empty if not read.
        likeness: Likeness by features (`tqnet.search.ranking`), about 0 to 1; None before ranking.
        probability: Probability of being similar, by the ranker; None without a ranker.
        notes: Remarks of re-ranking.
        folded: Candidates of lower rank that are like this one (`tqnet.search.folding`).
    """

    question: Question
    score: float
    cosine: float | None = None
    bm25: float | None = None
    figure: float | None = None
    terms: str = ""
    template: str = ""
    likeness: float | None = None
    probability: float | None = None
    notes: tuple[str, ...] = ()
    folded: tuple[Candidate, ...] = ()

    @property
    def relevance(self) -> float:
        """Value that orders the results: the probability, else the likeness, else the score of retrieval."""
        return next(value for value in (self.probability, self.likeness, self.score) if value is not None)

    @property
    def why(self) -> str:
        """The scores of the candidate in words."""
        scores = {
            "similar": (self.probability, 3),
            "likeness": (self.likeness, 3),
            "vector": (self.cosine, 3),
            "text": (self.bm25, 1),
            "figure": (self.figure, 2),
        }
        parts = [f"{name} {score:.{digits}f}" for name, (score, digits) in scores.items() if score is not None]
        return ", ".join([*parts, *self.notes])


class Retrieved(NamedTuple):
    """Candidates, best first, and the ids of the query's near duplicates, which were left out."""

    candidates: list[Candidate]
    near_duplicates: list[str]


@dataclass(frozen=True)
class _Record:
    """A retrieved record, whose question is parsed when needed."""

    row: Mapping[str, Any]

    @cached_property
    def question(self) -> Question:
        return record_question(self.row)


class Retriever:
    """Searches by text and by vector in parallel, and then by figures.

    Args:
        figures: Engine with the figures of the questions; by default figures are not compared.
        merging: ``score`` ranks the hits of both sources by their joint score; ``halves`` first selects by the paper's
            rule (:func:`merge`). NOTE: half of the places is a lot for the weaker source.
        text_weight: Weight of the best BM25; by default larger for queries with concepts.
        guess: For a query without concepts, let its nearest questions vote for some, and prefer candidates with these;
            the order is still by score. Only if both sources are searched and merged by score.

    Raises:
        ValueError: The merging is unknown.
    """

    def __init__(
        self,
        engine: SearchEngine,
        merging: str = "score",
        text_weight: float | None = None,
        guess: bool = True,
        figures: SearchEngine | None = None,
    ):
        if merging not in MERGINGS:
            raise ValueError(f"merging: {merging!r} is not one of {', '.join(MERGINGS)}")
        self.engine, self.merging, self.text_weight, self.guess = engine, merging, text_weight, guess
        self.figures = figures
        self._threads = ThreadPoolExecutor(2, "retrieval")

    def __call__(self, query: Question, *how: Any, **options: Any) -> list[Candidate]:
        """Return the candidates of :meth:`retrieve`."""
        return self.retrieve(query, *how, **options).candidates

    def retrieve(
        self,
        query: Question,
        vector: np.ndarray | None = None,
        n: int = CANDIDATES,
        where: Sequence[Filter] = (),
        *,
        by: Collection[str] = SOURCES,
        duplicates: bool = False,
    ) -> Retrieved:
        """Return at most ``n`` candidates that meet ``where``, best first.

        The query, its duplicates (same text with the same numbers) and repeated candidates are left out.

        Args:
            vector: Vector of the query, ``[width]``; without it, only text and figures are searched.
            by: The sources to search, of :data:`SOURCES`; figures are searched with vectors.
            duplicates: Keep duplicates, and leave out only the query itself.
        """
        words = query_words(query)
        guess = self.guess and self.merging == "score" and not query.knowledge and set(by) == set(SOURCES)
        looks = None
        if "vector" not in by:
            vector = None
        elif self.figures is not None and query.images:
            looks = Looks.read(self.figures, query.images)
        limit = n + _EXTRA_HITS
        while True:
            read = _COLUMNS if vector is None else (*_COLUMNS, "vector")
            searching = "text" in by and self._threads.submit(self.engine.by_words, words, limit, where, read)
            near = [] if vector is None else self.engine.by_vector(vector, limit, where, _COLUMNS)
            exact = searching.result() if searching else []
            records = {hit.id: _Record(hit.row) for hit in [*near, *exact]}
            votes = _votes(near, records, query.id) if guess and vector is not None else None
            if votes is not None and vector is not None and (concepts := votes.foremost(_CONCEPTS)):
                about = Filter("concept", "=", tuple("/".join(path) for path in concepts))
                more = self.engine.by_vector(vector, limit, [*where, about], _COLUMNS)
                records |= {hit.id: _Record(hit.row) for hit in more if hit.id not in records}
                near = sorted({hit.id: hit for hit in [*near, *more]}.values(), key=lambda hit: (-hit.score, hit.id))
            alike = looks.nearest(limit, where) if looks else []
            missing = [id for id in alike if id not in records]
            records |= {row["id"]: _Record(row) for row in table_rows(self.engine.get(missing, read))}
            hits = exact, near, [Hit(id, 0.0) for id in alike if id in records]
            retrieved = self._merged(query, vector, looks, hits, records, votes, n, duplicates)
            if len(retrieved.candidates) == n or limit >= _MAX_HITS or max(len(exact), len(near), len(alike)) < limit:
                return retrieved
            limit = min(4 * limit, _MAX_HITS)

    def _merged(
        self,
        query: Question,
        vector: np.ndarray | None,
        looks: Looks | None,
        hits: tuple[Sequence[Hit], Sequence[Hit], Sequence[Hit]],
        records: dict[str, _Record],
        votes: Votes[str] | None,
        n: int,
        duplicates: bool,
    ) -> Retrieved:
        bm25, cosine, alike = _best_scores(hits, records, query, duplicates)
        halves = merge(list(bm25)[:n], list(cosine)[:n], n)  # lists of n, as in the paper, without the extra hits
        if vector is not None:
            direction = unit(vector[None])[0]
            cosine |= {
                id: round(float(records[id].row["vector"] @ direction), 6)
                for id in (bm25 | alike).keys() - cosine.keys()
            }
        best = max(bm25.values(), default=0.0) or 1.0
        weight = self.text_weight
        if weight is None:
            weight = KNOWN_WEIGHT if query.knowledge else TEXT_WEIGHT
        ids = alike.keys() | (halves if self.merging == "halves" else bm25.keys() | cosine.keys())
        figure = looks.cosines({id: len(records[id].row["images"]) for id in ids}) if looks else {}
        scores = {
            id: cosine.get(id, 0.0) + weight * bm25.get(id, 0.0) / best + (1 + weight) * figure_evidence(figure.get(id))
            for id in ids
        }
        ordered = sorted(scores, key=lambda id: (-scores[id], id))
        near_duplicates = [] if duplicates else _near_duplicates(ordered, records, query)
        ordered = [id for id in ordered if id not in near_duplicates]
        if votes is not None:
            chances = {id: scores[id] + CONCEPT_WEIGHT * votes.share(id) for id in ordered}
            chosen = set(sorted(ordered, key=lambda id: -chances[id])[:n])
            ordered = [id for id in ordered if id in chosen]
        candidates = [
            Candidate(question, scores[id], cosine.get(id), bm25.get(id), figure.get(id), row["stem"], row["template"])
            for id, row, question in ((id, records[id].row, records[id].question) for id in ordered[:n])
        ]
        return Retrieved(candidates, near_duplicates)


def _votes(hits: Sequence[Hit], records: dict[str, _Record], query: str) -> Votes[str]:
    cosines = {hit.id: hit.score for hit in hits if hit.id != query}
    return Votes(cosines, lambda id: records[id].question.knowledge)


def merge(exact: Sequence[Id], embedded: Sequence[Id], n: int) -> list[Id]:
    """Merge two lists of ids, each best first, into ``n`` (FSE, "Merging the Exercises").

    Ids in both come first; the rest of each list fills half of the remaining places, or more if the other is short.
    """
    shared = set(exact) & set(embedded)
    both = [id for id in embedded if id in shared][:n]
    rests = [[id for id in ids if id not in shared] for ids in (embedded, exact)]
    places = n - len(both)
    half = min(len(rests[0]), max((places + 1) // 2, places - len(rests[1])))
    parts = rests[0][:half], rests[1][: places - half]
    return both + [id for pair in zip_longest(*parts) for id in pair if id is not None]


def _best_scores(
    hits: Sequence[Sequence[Hit]], records: dict[str, _Record], query: Question, duplicates: bool
) -> list[dict[str, float]]:
    """Return for each source id -> best score, merging hits of equal content, without the query and its content.

    With ``duplicates``, all hits except the query are kept separate.
    """
    query_content = content_key(query)
    first: dict[str, str] = {}
    representatives: dict[str, str] = {}
    for hit in (hit for places in zip_longest(*hits) for hit in places if hit is not None):
        content = records[hit.id].row["content"]
        # Compare ids, too: the query's figures may have moved since.
        if hit.id != query.id and (duplicates or content != query_content):
            representatives[hit.id] = first.setdefault(hit.id if duplicates else content, hit.id)
    scores: list[dict[str, float]] = [{} for _ in hits]
    for best, source in zip(scores, hits, strict=True):
        for hit in source:
            if hit.id in representatives:
                best.setdefault(representatives[hit.id], hit.score)
    return scores


def _near_duplicates(ids: Sequence[str], records: dict[str, _Record], query: Question) -> list[str]:
    """Return the near duplicates of the query: the same figures, and nearly the same words without a significant
    difference.
    """
    words = set(query_words(query)["stem"])
    suspects = [id for id in ids if jaccard(words, set(records[id].row["stem"].split())) >= NEAR]
    questions = [query, *(records[id].question for id in suspects)]
    sets = shingle_sets([one_form(question.content) for question in questions], fold_numbers=False)
    return [
        id
        for place, (id, question) in enumerate(zip(suspects, questions[1:], strict=True), 1)
        if sets.jaccard(0, place) >= NEAR and says_the_same(query, question) and _same_figures(query, question)
    ]


def _same_figures(first: Question, second: Question) -> bool:
    try:
        return same_figures(first.images, second.images)
    except (OSError, ValueError):  # a figure is missing or unreadable
        return False


def jaccard(first: Set[Hashable], second: Set[Hashable]) -> float:
    """Return the size of the intersection over that of the union; 0 for two empty sets."""
    return len(first & second) / max(1, len(first | second))
