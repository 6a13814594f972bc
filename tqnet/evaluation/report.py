"""The evaluation as one HTML file that can be mailed: tables, maps, curves and examples, nothing fetched."""

from __future__ import annotations

import html
import math
import platform
from collections import Counter
from collections.abc import Callable, Mapping
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tqnet.evaluation.agreement import cosines, rank_name
from tqnet.evaluation.metrics import BoolArray, IntArray
from tqnet.evaluation.plots import (
    DARK,
    LIGHT,
    Format,
    Theme,
    knowledge_maps,
    sample,
    similarity_by_rank,
    stage_bars,
    training_curves,
    tsne,
)
from tqnet.evaluation.ranking import NOBODY
from tqnet.evaluation.similar import RankingScores
from tqnet.evaluation.table import Results, Table, agreement_table, probe_table, stage_table, structure_table
from tqnet.files import atomic
from tqnet.questions import Similarity
from tqnet.questions.hierarchy import KnowledgeDistance
from tqnet.questions.markup import data_uri, figure_html, text_html
from tqnet.version import __version__

if TYPE_CHECKING:
    from tqnet.questions import Question, QuestionBank


# The part of the report that shows queries with their neighbours under the first and the last stage.


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


# The style sheet of the report: one file, no fonts from elsewhere, light and dark.


STYLE = """
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --ink: #1d2229; --soft: #626b77; --line: #e3e6ea;
  --accent: #0b63a5; --yes: #0a7a55; --yes-soft: #e3f4ec; --no: #8a5a12; --no-soft: #f7f0e3;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171c; --card: #1c2027; --ink: #e4e8ed; --soft: #98a2af; --line: #2e343d;
    --accent: #6cb6ee; --yes: #5fd0a0; --yes-soft: #17352a; --no: #dcae68; --no-soft: #352b1a;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 Inter, "Segoe UI", system-ui, -apple-system, "Helvetica Neue", Arial, "Noto Sans",
    "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif;
}
main { max-width: 1120px; margin: 0 auto; padding: 48px 28px 72px; }
header .kicker { color: var(--accent); font-weight: 600; font-size: 14px; margin: 0 0 6px; }
h1 { font-size: 34px; line-height: 1.2; letter-spacing: -0.02em; margin: 0 0 10px; text-wrap: balance; }
.lead { color: var(--soft); font-size: 17px; max-width: 70ch; margin: 0; }
h2 { font-size: 21px; letter-spacing: -0.01em; margin: 52px 0 6px; }
section > p { color: var(--soft); max-width: 76ch; margin: 0 0 16px; font-size: 15px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 20px 22px; }
.card + .card { margin-top: 16px; }
.tiles .card { margin: 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); gap: 14px; margin: 30px 0 0; }
.tile b { display: block; font-size: 30px; line-height: 1.2; letter-spacing: -0.02em; font-weight: 650; }
.tile span { color: var(--soft); font-size: 14px; }
.tile i { display: block; font-style: normal; font-size: 13px; color: var(--soft); margin-top: 2px; }
.scroll { overflow-x: auto; padding: 6px 22px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 14.5px; }
th { color: var(--soft); font-weight: 500; font-size: 13px; vertical-align: bottom; }
th, td { padding: 9px 0 9px 18px; text-align: right; border-top: 1px solid var(--line); }
td { white-space: nowrap; }
td small { display: block; color: var(--soft); font-size: 12px; }
.note { color: var(--soft); font-size: 13px; margin: 8px 2px 0; }
thead th { border-top: 0; line-height: 1.3; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
tbody td:first-child { font-weight: 550; }
td.best { font-weight: 700; color: var(--accent); }
tr.level:not(:first-child) td { border-top: 2px solid var(--soft); }
tr.level td { color: var(--soft); font-weight: 400; }
picture img { display: block; width: 100%; height: auto; }
.narrow picture { display: block; max-width: 760px; }
.example { padding: 0; overflow: hidden; }
.query { padding: 20px 22px; border-bottom: 1px solid var(--line); }
.label { color: var(--soft); font-size: 13px; margin: 0 0 6px; }
.text { white-space: pre-line; overflow-wrap: anywhere; }
.text math { font-size: 1.06em; }
.text math[display="block"] { white-space: normal; margin: 6px 0; }
.figures { display: flex; flex-wrap: wrap; gap: 10px; margin-top: 12px; }
.figures img { max-height: 170px; max-width: 100%; background: #fff; border-radius: 6px; padding: 6px;
  border: 1px solid var(--line); }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(320px, 1fr)); }
.columns > div { padding: 16px 22px 20px; min-width: 0; }
.columns > div + div { border-left: 1px solid var(--line); }
.columns h3 { margin: 0 0 4px; font-size: 15px; font-weight: 600; display: flex; justify-content: space-between; }
.columns h3 span { color: var(--soft); font-weight: 450; font-size: 13.5px; }
ol { list-style: none; margin: 0; padding: 0; }
li { display: grid; grid-template-columns: auto 1fr; gap: 4px 12px; padding: 11px 0; font-size: 14px;
  border-top: 1px solid var(--line); line-height: 1.45; }
li:first-child { border-top: 0; }
li .text { white-space: normal; }
.case li { display: block; }
li .figures img { max-height: 84px; padding: 3px; }
.mark { font-size: 12px; font-weight: 600; border-radius: 99px; padding: 2px 9px; align-self: start;
  min-width: 112px; text-align: center; }
.mark.yes { color: var(--yes); background: var(--yes-soft); }
.mark.no { color: var(--no); background: var(--no-soft); }
.missing { color: var(--soft); font-size: 13px; font-style: italic; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 8px 24px; margin: 0; font-size: 14.5px; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
code { font: 0.9em ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
footer { color: var(--soft); font-size: 13px; margin-top: 40px; }
@media (max-width: 720px) {
  main { padding: 28px 16px 48px; }
  h1 { font-size: 27px; }
  .columns > div + div { border-left: 0; border-top: 1px solid var(--line); }
  dl { grid-template-columns: 1fr; gap: 2px; } dd { margin-bottom: 8px; }
}
@media print { body { background: #fff; } .card { break-inside: avoid; } }
"""


#: What is loaded when a file says otherwise: nothing but the images and styles inside the file itself.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

_LIBRARIES = ("torch", "transformers", "timm", "numpy", "scikit-learn")


def write_report(
    path: str | PathLike[str],
    results: Results,
    bank: QuestionBank,
    *,
    title: str = "How well the vectors find similar questions",
    vectors: Mapping[str, npt.NDArray[np.floating]] | None = None,
    metrics_files: Mapping[str, str | PathLike[str]] | None = None,
    facts: Mapping[str, str] | None = None,
    examples: int = 6,
    seed: int = 0,
) -> Path:
    """Write a self-contained report; the file appears whole or not at all.

    Args:
        results: Stage -> what was measured, in the order in which the stages were trained; the first one is what
            the others are compared with.
        bank: The bank they were measured on; its figures are copied into the file.
        vectors: Stage -> ``[questions, width]``; those given get a t-SNE map (some seconds each).
        metrics_files: Training stage -> its ``metrics.jsonl``.
        facts: More lines for "How it was made", e.g. the command and the checkpoints.
        examples: How many queries to show with their neighbours.
        seed: Draws the questions of the maps and the examples.

    Returns:
        The path of the file.
    """
    sections = [
        _header(title, results, bank),
        _stages_section(results),
        _structure_section(results),
        _probe_section(results),
        _agreement_section(results),
        case_section(vectors or {}, bank, seed),
        _maps_section(vectors or {}, bank, seed),
        _curves_section(metrics_files or {}),
        examples_section(results, bank, examples, seed),
        _origin_section(bank, facts or {}, seed),
    ]
    document = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(section for section in sections if section)
        + f"\n<footer>Written by tqnet {html.escape(__version__)}.</footer>\n</main>\n</body>\n</html>\n"
    )
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as temporary:
        temporary.write_text(document, encoding="utf-8")
    return path


def _header(title: str, results: Results, bank: QuestionBank) -> str:
    pictured = sum(len(images) > 0 for images in bank.column("images"))
    tiles = [(f"{len(bank):,}", "questions", f"{pictured:,} with figures")]
    scored = [(name, stage.similar) for name, stage in results.items() if stage.similar and len(stage.similar.overall)]
    if scored:
        name, last = scored[-1]
        value, first = last.overall.precision.mean(), scored[0][1].overall.precision.mean()
        gain = f"{scored[0][0]}: {first:.3f}" if len(scored) > 1 else ""
        asked = f"queries of {last.split or 'all splits'}"
        tiles.append((f"{len(last.overall):,}", asked, "each against the whole bank"))
        tiles.append((f"{value:.3f}", f"P@{last.k}, {name}", gain))
    probed = [(name, stage.probe.levels[-1]) for name, stage in results.items() if stage.probe and stage.probe.levels]
    if probed:
        name, level = probed[-1]
        what = f"{level.classes:,} concepts; always the most frequent: {level.majority.micro_f1:.3f}"
        tiles.append((f"{level.scores.micro_f1:.3f}", f"F1 at level {level.level}, {name}", what))
    cards = "".join(
        f'<div class="card tile"><b>{html.escape(number)}</b><span>{html.escape(what)}</span>'
        f"<i>{html.escape(note)}</i></div>"
        for number, what, note in tiles
    )
    return (
        f'<header><p class="kicker">Test-question vectors on {html.escape(bank.name)}</p>'
        f"<h1>{html.escape(title)}</h1>"
        '<p class="lead">What each training stage adds: do the nearest questions teach the same thing, and '
        f'does the vector know its knowledge point?</p><div class="tiles">{cards}</div></header>'
    )


def _stages_section(results: Results) -> str:
    similar = next((stage.similar for stage in results.values() if stage.similar), None)
    if similar is None:
        return ""
    k, overall = similar.k, similar.overall
    words = (
        f"P@{k} is the share of the {k} nearest questions that are similar to the query. A query counts if the bank "
        f"holds at least {k} similar ones: {len(overall):,} do, {overall.left_out:,} were left out. Intervals are "
        "95 % bootstrap intervals over groups of similar questions, those of the gain over the same queries. "
        "F1 is micro F1 of a linear probe at each level of the knowledge hierarchy."
    )
    scores = {name: stage.similar.overall for name, stage in results.items() if stage.similar}
    bars = _picture(lambda theme: stage_bars(scores, k=k, theme=theme), "svg", f"P@{k} of each stage")
    table = stage_table(results)
    shown = _table_html(table, best=(1, *range(4, len(table.header))))
    return _section("Stages", words, f'{shown}<div class="card narrow">{bars}</div>')


def _structure_section(results: Results) -> str:
    table = structure_table(results)
    # With figures everywhere or nowhere there is one structure, and it says what the table above said.
    if len(table.header) < 3:
        return ""
    words = (
        "Queries and corpus restricted by whether they have figures. Each column has its own queries (their number "
        "is in brackets): compare down a column, not along a row."
    )
    return _section("By pair structure", words, _table_html(table, best=range(1, len(table.header))))


def _probe_section(results: Results) -> str:
    table = probe_table(results)
    if not table.rows:
        return ""
    words = (
        "A linear classifier on the frozen vectors, its penalty chosen on valid. Concepts that occur in no training "
        "question cannot be predicted and count as missed. Macro F1 is over concepts in the test set or predicted."
    )
    return _section("Knowledge points", words, _table_html(table))


def _agreement_section(results: Results) -> str:
    found = {name: stage.agreement for name, stage in results.items() if stage.agreement}
    if not found:
        return ""
    words = (
        "Are questions the more similar the nearer they are in the knowledge hierarchy? Pairs were drawn of each rank, "
        "as many where there are as many: of one group (similar), then by KH-distance (khd). What counts is that the "
        "line falls, not how high it lies."
    )
    lines = _picture(lambda theme: similarity_by_rank(found, theme=theme), "svg", "mean cosine of each rank")
    table = agreement_table(results)
    return _section("Similarity by rank", words, f'{_table_html(table)}<div class="card narrow">{lines}</div>')


def _maps_section(vectors: Mapping[str, npt.NDArray[np.floating]], bank: QuestionBank, seed: int) -> str:
    paths = [own[0] if own else () for own in bank.column("knowledge")]
    labelled = np.flatnonzero([len(path) > 0 for path in paths])
    if not vectors or len(labelled) < 5:
        return ""
    drawn = labelled[sample(len(labelled), seed=seed)]
    maps = {stage: tsne(own[drawn], seed=seed) for stage, own in vectors.items()}
    coarse = [paths[i][0] for i in drawn]
    picture = _picture(lambda theme: knowledge_maps(maps, coarse, theme=theme), "png", "t-SNE map of each stage")
    words = (
        f"t-SNE of the vectors of the same {len(drawn):,} questions, coloured by knowledge at level 1. Near points "
        "are near vectors; distances between clusters and their sizes mean nothing."
    )
    cards = f'<div class="card">{picture}</div>'
    largest, count = Counter(coarse).most_common(1)[0]
    inside = [row for row, i in enumerate(drawn) if paths[i][0] == largest]
    fine = [paths[drawn[row]][1] if len(paths[drawn[row]]) > 1 else None for row in inside]
    if len(set(fine) - {None}) > 1:  # QuesCo, Figure 6
        words += f" Below, the {count:,} of {largest} alone, at the same places, coloured by level 2."
        parts = {stage: points[inside] for stage, points in maps.items()}
        picture = _picture(lambda theme: knowledge_maps(parts, fine, theme=theme), "png", f"the same within {largest}")
        cards += f'<div class="card">{picture}</div>'
    return _section("Maps", words, cards)


def _curves_section(files: Mapping[str, str | PathLike[str]]) -> str:
    if not files:
        return ""
    picture = _picture(lambda theme: training_curves(files, theme=theme), "svg", "loss and validation curves")
    words = "The loss of each step in grey with its running mean, and what was measured on valid on the way."
    return _section("Training", words, f'<div class="card">{picture}</div>')


def _origin_section(bank: QuestionBank, facts: Mapping[str, str], seed: int) -> str:
    versions = [f"tqnet {__version__}", f"Python {platform.python_version()}"]
    for name in _LIBRARIES:
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    lines = {
        **facts,
        "bank": f"{bank.name}, fingerprint {bank.fingerprint}",
        "seed": str(seed),
        "versions": ", ".join(versions),
    }
    rows = "".join(
        f"<dt>{html.escape(name)}</dt><dd><code>{html.escape(value)}</code></dd>" for name, value in lines.items()
    )
    return _section("How it was made", "", f'<div class="card"><dl>{rows}</dl></div>')


def _section(title: str, words: str, body: str) -> str:
    lead = f"<p>{html.escape(words)}</p>" if words else ""
    return f"<section><h2>{html.escape(title)}</h2>{lead}{body}</section>"


def _table_html(table: Table, best: range | tuple[int, ...] = ()) -> str:
    """The table as HTML; in the columns ``best`` the largest number stands out if there are several rows."""
    several = len(table.rows) > 1
    columns = list(zip(*table.rows, strict=True))
    tops = {i: max(map(_number, columns[i])) for i in best if several and i < len(columns)}
    tops = {i: top for i, top in tops.items() if top > -math.inf}
    body = []
    for row in table.rows:
        cells = (
            f"<td{' class=best' if _number(cell) == tops.get(i, math.nan) else ''}>{_cell_html(cell)}</td>"
            for i, cell in enumerate(row)
        )
        body.append(f"<tr{' class=level' if row[0].endswith(' majority') else ''}>{''.join(cells)}</tr>")
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in table.header)
    notes = "".join(f'<p class="note">{html.escape(note)}</p>' for note in table.notes)
    return (
        f'<div class="card scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'
        + notes
    )


def _number(cell: str) -> float:
    """What a cell counts in a comparison; one without a number, less than any."""
    try:
        return float(cell)
    except ValueError:
        return -math.inf


def _cell_html(cell: str) -> str:
    """An interval in brackets goes below its number: the table has many columns."""
    number, bracket, interval = cell.partition(" [")
    return html.escape(number) + (f"<small>[{html.escape(interval)}</small>" if bracket else "")


def _picture(draw: Callable[[Theme], bytes], fmt: Format, words: str) -> str:
    """The picture drawn twice, for light and for dark pages."""
    kind = "svg+xml" if fmt == "svg" else fmt
    light, dark = (data_uri(draw(theme), kind) for theme in (LIGHT, DARK))
    return (
        f'<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img alt="{html.escape(words)}" src="{light}"></picture>'
    )
