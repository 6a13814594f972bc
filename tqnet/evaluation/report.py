"""The evaluation as one HTML file that can be mailed: tables, maps, curves and examples, nothing fetched.

The page is ``report.html.j2``, which escapes all texts; here its values are gathered.
"""

from __future__ import annotations

import math
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tqnet.evaluation import plots
from tqnet.evaluation.agreement import cosines, rank_name
from tqnet.evaluation.metrics import IntArray
from tqnet.evaluation.ranking import NOBODY
from tqnet.evaluation.similar import RankingScores, SimilarResult
from tqnet.evaluation.table import Results, Table, agreement_table, measured, probe_table, stage_table, structure_table
from tqnet.files import atomic
from tqnet.questions import Similarity
from tqnet.questions.hierarchy import KnowledgeDistance
from tqnet.questions.markup import data_uri, figure_html, text_html
from tqnet.version import __version__

if TYPE_CHECKING:
    from tqnet.questions import Question, QuestionBank

Vectors = Mapping[str, npt.NDArray[np.floating]]

_LIBRARIES = ("torch", "transformers", "timm", "numpy", "scikit-learn")

#: Number of questions to look for a case in, and of queries to show with their neighbours.
_TRIED, _EXAMPLES = 64, 6


def write_report(
    path: str | PathLike[str],
    results: Results,
    bank: QuestionBank,
    *,
    title: str = "How well the vectors find similar questions",
    vectors: Vectors | None = None,
    metrics_files: Mapping[str, str | PathLike[str]] | None = None,
    facts: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Path:
    """Write a self-contained report; the file appears whole or not at all.

    Args:
        results: Stage -> its measurements, in the order of training; the others are compared with the first.
        bank: The bank they were measured on; its figures are copied into the file.
        vectors: Stage -> ``[questions, width]``; those given get a t-SNE map (some seconds each).
        metrics_files: Training stage -> its ``metrics.jsonl``.
        facts: More lines for "How it was made", e.g. the command and the checkpoints.
        seed: Draws the questions of the maps and the examples.
    """
    from jinja2 import StrictUndefined, Template

    vectors, logs = vectors or {}, metrics_files
    source = Path(__file__).with_name("report.html.j2").read_text(encoding="utf-8")
    template = Template(source, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    page = template.render(
        title=title,
        bank=bank,
        version=__version__,
        tiles=_tiles(results, bank),
        stages=_stages(results),
        structures=_structures(results),
        probe=_shown(table) if (table := probe_table(results)).rows else None,
        agreement=_agreement(results),
        case=_case(vectors, bank, seed),
        maps=_maps(vectors, bank, seed),
        curves=_picture(lambda theme: plots.training_curves(logs, theme=theme), "svg") if logs else None,
        examples=_examples(results, bank, seed),
        facts=_facts(bank, facts or {}, seed),
    )
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def _scored(results: Results) -> list[tuple[str, SimilarResult]]:
    return [(name, similar) for name, similar in measured(results, "similar").items() if len(similar.overall)]


def _tiles(results: Results, bank: QuestionBank) -> list[tuple[str, str, str]]:
    """Return number, label and note of each tile."""
    pictured = sum(len(images) > 0 for images in bank.column("images"))
    tiles = [(f"{len(bank):,}", "questions", f"{pictured:,} with figures")]
    if scored := _scored(results):
        (first_name, first), (name, last) = scored[0], scored[-1]
        queries = f"queries of {last.split or 'all splits'}"
        gain = f"{first_name}: {first.overall.precision.mean():.3f}" if len(scored) > 1 else ""
        tiles.append((f"{len(last.overall):,}", queries, "each against the whole bank"))
        tiles.append((f"{last.overall.precision.mean():.3f}", f"P@{last.k}, {name}", gain))
    probed = [(name, probe.levels[-1]) for name, probe in measured(results, "probe").items() if probe.levels]
    for name, level in probed[-1:]:
        note = f"{level.classes:,} concepts; always the most frequent: {level.majority.micro_f1:.3f}"
        tiles.append((f"{level.scores.micro_f1:.3f}", f"F1 at level {level.level}, {name}", note))
    return tiles


def _stages(results: Results) -> dict[str, Any] | None:
    scores = measured(results, "similar")
    if not scores:
        return None
    first = next(iter(scores.values()))
    overall = {name: similar.overall for name, similar in scores.items()}
    table = stage_table(results)
    return {
        "k": first.k,
        "queries": f"{len(first.overall):,}",
        "left_out": f"{first.overall.left_out:,}",
        "table": _shown(table, best=(1, *range(4, len(table.header)))),
        "bars": _picture(lambda theme: plots.stage_bars(overall, k=first.k, theme=theme), "svg"),
    }


def _structures(results: Results) -> dict[str, Any] | None:
    table = structure_table(results)
    # With figures everywhere or nowhere there is one structure, which repeats the first table.
    return _shown(table, best=range(1, len(table.header))) if len(table.header) > 2 else None


def _agreement(results: Results) -> dict[str, Any] | None:
    agreements = measured(results, "agreement")
    if not agreements:
        return None
    lines = _picture(lambda theme: plots.similarity_by_rank(agreements, theme=theme), "svg")
    return {"table": _shown(agreement_table(results)), "lines": lines}


def _case(vectors: Vectors, bank: QuestionBank, seed: int) -> dict[str, Any] | None:
    """A question with one of each rank, and their cosines under each stage (QuesCo, Figure 7)."""
    case = draw_case(bank, seed) if vectors else None
    if case is None:
        return None
    anchor, others = case
    rows = list(others.values())
    near = {name: cosines(stage[[anchor] * len(rows)], stage[rows]) for name, stage in vectors.items()}
    shown = [
        {
            "label": " · ".join((rank_name(rank), *(f"{name} {cosine[place]:.2f}" for name, cosine in near.items()))),
            "question": _question(bank[other], 400, 200),
        }
        for place, (rank, other) in enumerate(others.items())
    ]
    query = bank[anchor]
    return {"tried": _TRIED, "concept": _concept(query), "query": _question(query, 1200, 420), "others": shown}


def draw_case(bank: QuestionBank, seed: int) -> tuple[int, dict[int, int]] | None:
    """Draw a question and, by rank, another one: 0 of its group, then KH-distances 1 to L + 1.

    Preferably from ``test``, which no training has read; of the first questions tried, the one with the most ranks.
    None where no question has others of two ranks.
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
        by_rank = {rank: places[ranks == rank] for rank in range(distance.depth + 2)}
        others = {rank: int(rng.choice(members)) for rank, members in by_rank.items() if len(members)}
        if len(others) > (len(best[1]) if best else 1):
            best = anchor, others
    return best


def _maps(vectors: Vectors, bank: QuestionBank, seed: int) -> dict[str, Any] | None:
    paths = [knowledge[0] if knowledge else () for knowledge in bank.column("knowledge")]
    labelled = np.flatnonzero([len(path) > 0 for path in paths])
    if not vectors or len(labelled) < 5:
        return None
    drawn = labelled[plots.sample(len(labelled), seed=seed)]
    maps = {stage: plots.tsne(rows[drawn], seed=seed) for stage, rows in vectors.items()}
    areas = [paths[i][0] for i in drawn]
    coarse = _picture(lambda theme: plots.knowledge_maps(maps, areas, theme=theme), "png")
    shown: dict[str, Any] = {"count": f"{len(drawn):,}", "coarse": coarse, "fine": None}
    area, count = Counter(areas).most_common(1)[0]
    inside = [row for row, i in enumerate(drawn) if paths[i][0] == area]
    topics = [paths[drawn[row]][1] if len(paths[drawn[row]]) > 1 else None for row in inside]
    if len(set(topics) - {None}) > 1:  # QuesCo, Figure 6
        parts = {stage: points[inside] for stage, points in maps.items()}
        fine = _picture(lambda theme: plots.knowledge_maps(parts, topics, theme=theme), "png")
        shown["fine"] = {"area": area, "count": f"{count:,}", "images": fine}
    return shown


def _examples(results: Results, bank: QuestionBank, seed: int) -> list[dict[str, Any]]:
    """Queries with their neighbours under the first and the last stage."""
    scored = [(name, similar.overall) for name, similar in _scored(results)]
    if not scored:
        return []
    ends = [scored[0], scored[-1]][-len(scored) :]
    return [
        {
            "concept": _concept(bank[query]),
            "query": _question(bank[query], 1200, 420),
            "columns": [_column(name, scores, query, bank) for name, scores in ends if query in scores.queries],
        }
        for query in draw_examples(ends[-1][1], bank, _EXAMPLES, seed).tolist()
    ]


def draw_examples(scores: RankingScores, bank: QuestionBank, count: int, seed: int) -> IntArray:
    """Draw at most ``count`` queries, each of another group, half of them with figures where there are any."""
    order = np.random.default_rng(seed).permutation(len(scores))
    one_per_group = list({scores.groups[i]: int(scores.queries[i]) for i in order}.values())
    pictured = [query for query in one_per_group if bank[query].images]
    plain = [query for query in one_per_group if not bank[query].images]
    with_figures = min(len(pictured), max(count - len(plain), count // 2))
    return np.array(pictured[:with_figures] + plain[: count - with_figures], dtype=np.int64)


def _column(name: str, scores: RankingScores, query: int, bank: QuestionBank) -> dict[str, Any]:
    row = int(np.flatnonzero(scores.queries == query)[0])
    neighbours = zip(scores.nearest[row].tolist(), scores.hits[row].tolist(), strict=True)
    shown = [{"similar": hit, "question": _question(bank[i], 260, 200)} for i, hit in neighbours if i != NOBODY]
    return {"stage": name, "similar": int(scores.hits[row].sum()), "depth": scores.hits.shape[1], "neighbours": shown}


def _concept(question: Question) -> str:
    return " › ".join(question.knowledge[0]) if question.knowledge else question.id


def _question(question: Question, limit: int, largest: int) -> dict[str, Any]:
    """Its text, cut at ``limit`` characters, and its first figures, none larger than ``largest`` pixels."""
    from markupsafe import Markup  # both functions escape what they show

    figures = [Markup(figure_html(path, largest)) for path in question.images[:4]]
    return {"text": Markup(text_html(question.content.strip(), limit)), "figures": figures}


def _facts(bank: QuestionBank, facts: Mapping[str, str], seed: int) -> dict[str, str]:
    libraries = (f"{name} {metadata.version(name)}" for name in _LIBRARIES)
    versions = ", ".join((f"tqnet {__version__}", f"Python {platform.python_version()}", *libraries))
    return {**facts, "bank": f"{bank.name}, fingerprint {bank.fingerprint}", "seed": str(seed), "versions": versions}


def _shown(table: Table, best: Iterable[int] = ()) -> dict[str, Any]:
    """A table's cells; in the columns ``best`` the largest number stands out if there are several rows.

    An interval in brackets goes below its number: the table has many columns.
    """
    columns = list(zip(*table.rows, strict=True))
    tops = {i: max(map(_number, columns[i])) for i in best if len(table.rows) > 1}
    rows = []
    for row in table.rows:
        cells = []
        for i, cell in enumerate(row):
            number, bracket, interval = cell.partition(" [")
            is_best = i in tops and -math.inf < tops[i] == _number(cell)
            cells.append({"number": number, "interval": bracket[1:] + interval, "best": is_best})
        rows.append({"cells": cells, "level": row[0].endswith(" majority")})
    return {"header": table.header, "rows": rows, "notes": table.notes}


def _number(cell: str) -> float:
    """The number of a cell for comparison; minus infinity where it has none."""
    try:
        return float(cell)
    except ValueError:
        return -math.inf


def _picture(draw: Callable[[plots.Theme], bytes], fmt: plots.Format) -> dict[str, str]:
    """The picture drawn twice, for light and for dark pages."""
    kind = "svg+xml" if fmt == "svg" else fmt
    return {"light": data_uri(draw(plots.LIGHT), kind), "dark": data_uri(draw(plots.DARK), kind)}
