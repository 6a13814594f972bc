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

from tqnet.evaluation.curves import training_curves
from tqnet.evaluation.plots import (
    DARK,
    LIGHT,
    Format,
    Theme,
    knowledge_maps,
    sample,
    similarity_by_rank,
    stage_bars,
    tsne,
)
from tqnet.evaluation.report_examples import case_section, examples_section
from tqnet.evaluation.report_style import STYLE
from tqnet.evaluation.table import Results, Table, agreement_table, probe_table, stage_table, structure_table
from tqnet.files import atomic
from tqnet.text.markup import data_uri
from tqnet.version import __version__

if TYPE_CHECKING:
    from tqnet.questions import QuestionBank

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
