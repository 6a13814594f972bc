"""The part of the report that shows queries with their neighbours under the first and the last stage."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tqnet.evaluation.agreement import cosines, rank_name
from tqnet.evaluation.metrics import BoolArray, IntArray
from tqnet.evaluation.ranking import NOBODY
from tqnet.evaluation.similar import RankingScores
from tqnet.evaluation.table import Results
from tqnet.questions import Similarity
from tqnet.questions.distance import KnowledgeDistance
from tqnet.text.markup import figure_html, text_html

if TYPE_CHECKING:
    from tqnet.questions import Question, QuestionBank


#: Questions that are looked at for one with all ranks.
_TRIED = 64


def examples_section(results: Results, bank: QuestionBank, count: int, seed: int) -> str:
    """Queries drawn with a seed, half of them with figures where there are any, each of another group."""
    scored = [(name, stage.similar) for name, stage in results.items() if stage.similar and len(stage.similar.overall)]
    if not scored or count < 1:
        return ""
    ends = scored[:1] if len(scored) == 1 else [scored[0], scored[-1]]
    stages = [(name, similar.overall) for name, similar in ends]
    chosen = draw_examples(stages[-1][1], bank, count, seed)
    cards = "".join(_example(int(query), stages, bank) for query in chosen)
    words = (
        "Drawn at random, not picked: no two of one group, half of them with figures where the bank has any. "
        "“Similar” is what the bank says, not what the reader may think."
    )
    return f"<section><h2>Nearest neighbours</h2><p>{words}</p>{cards}</section>"


def case_section(vectors: Mapping[str, npt.NDArray[np.floating]], bank: QuestionBank, seed: int) -> str:
    """A question with one of each rank, and their cosines under each stage (QuesCo, Figure 7)."""
    case = draw_case(bank, seed) if vectors else None
    if case is None:
        return ""
    anchor, others = case
    near = {
        name: cosines(np.repeat(own[[anchor]], len(others), axis=0), own[list(others.values())])
        for name, own in vectors.items()
    }
    items = []
    for place, (rank, other) in enumerate(others.items()):
        label = " · ".join((rank_name(rank), *(f"{html.escape(name)} {own[place]:.2f}" for name, own in near.items())))
        items.append(f'<li><div><p class="label">{label}</p>{_question_html(bank[other], 400, 200)}</div></li>')
    words = (
        "A question, one of its group, and one of each KH-distance (khd) that there is, the farthest last, with their "
        f"cosines. Of {_TRIED} questions drawn at random it is the one with the most ranks; the others are drawn."
    )
    query = f'<p class="label">Query · {_concept(bank[anchor])}</p>{_question_html(bank[anchor], 1200, 420)}'
    body = (
        f'<div class="query">{query}</div><div class="columns"><div><ol class="case">{"".join(items)}</ol></div></div>'
    )
    return f'<section><h2>A case</h2><p>{words}</p><article class="card example">{body}</article></section>'


def draw_case(bank: QuestionBank, seed: int) -> tuple[int, dict[int, int]] | None:
    """A question and, by rank, another one: 0 of its group, then KH-distances 1 to L + 1; None where there is none.

    Preferably of ``test``, which no training has read; among the first questions that are tried, it is the one with
    the most ranks.
    """
    distance = KnowledgeDistance(bank.column("knowledge"))
    groups = Similarity.from_groups(bank).groups
    splits = np.array([split or "" for split in bank.column("split")])
    places = np.flatnonzero(splits == "test") if (splits == "test").any() else np.arange(len(bank))
    rng = np.random.default_rng(seed)
    best: tuple[int, dict[int, int]] | None = None
    for anchor in rng.permutation(places)[:_TRIED].tolist():
        ranks = distance(np.array([anchor]), places)[0]
        ranks[groups[places] == groups[anchor]] = 0
        ranks[places == anchor] = -1
        found = {rank: places[ranks == rank] for rank in range(distance.depth + 2)}
        others = {rank: int(rng.choice(those)) for rank, those in found.items() if len(those)}
        if len(others) > (len(best[1]) if best else 1):
            best = anchor, others
    return best


def draw_examples(scores: RankingScores, bank: QuestionBank, count: int, seed: int) -> IntArray:
    """Indices of at most ``count`` queries; see ``examples_section``."""
    order = np.random.default_rng(seed).permutation(len(scores))
    one_per_group = list({scores.groups[i]: int(scores.queries[i]) for i in order}.values())
    pictured = [query for query in one_per_group if bank[query].images]
    plain = [query for query in one_per_group if not bank[query].images]
    with_figures = min(len(pictured), max(count - len(plain), count // 2))
    return np.array(pictured[:with_figures] + plain[: count - with_figures], dtype=np.int64)


def _example(query: int, stages: list[tuple[str, RankingScores]], bank: QuestionBank) -> str:
    question = bank[query]
    columns = "".join(_column(name, scores, query, bank) for name, scores in stages)
    return (
        f'<article class="card example"><div class="query"><p class="label">Query · {_concept(question)}</p>'
        f'{_question_html(question, 1200, 420)}</div><div class="columns">{columns}</div></article>'
    )


def _concept(question: Question) -> str:
    return html.escape(" › ".join(question.knowledge[0]) if question.knowledge else question.id)


def _column(name: str, scores: RankingScores, query: int, bank: QuestionBank) -> str:
    rows = np.flatnonzero(scores.queries == query)
    if not len(rows):
        return ""
    nearest: IntArray = scores.nearest[rows[0]]
    hits: BoolArray = scores.hits[rows[0]]
    items = []
    for index, hit in zip(nearest.tolist(), hits.tolist(), strict=True):
        if index != NOBODY:
            mark = '<span class="mark yes">✓ similar</span>' if hit else '<span class="mark no">✗ not similar</span>'
            items.append(f"<li>{mark}<div>{_question_html(bank[index], 260, 200)}</div></li>")
    tally = f"{int(hits.sum())} of {len(hits)} similar"
    return f"<div><h3>{html.escape(name)} <span>{tally}</span></h3><ol>{''.join(items)}</ol></div>"


def _question_html(question: Question, limit: int, largest: int) -> str:
    figures = "".join(figure_html(path, largest) for path in question.images[:4])
    shown = f'<div class="figures">{figures}</div>' if figures else ""
    return f'<div class="text">{text_html(question.content.strip(), limit)}</div>{shown}'
