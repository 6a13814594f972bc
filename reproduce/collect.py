"""Write docs/results.md, docs/results/*.md and the README's table: ``python -m reproduce.collect``.

A page is ``reproduce/results/PAGE.md`` with its placeholders filled from ``reproduce/results/PAGE/*.json``:

    {{claims}}                                the claims of the page's paper
    {{table4}}                                how table4.json was made, and its tables
    {table4 | TQ-Net (UNI), SCL | P@5}        a cell
    {table4 | SEQ, SCL > TQ-Net (UNI), SCL | P@5}     a difference with its interval

On the main page, ``summary.md``, a name is preceded by its page: ``{tqnet/table4 | ...}``. Numbers of a paper, and
counts in notes, are written as they are.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from reproduce.claims import claim_table, count_table, load_claims
from tqnet.evaluation.metrics import Interval, gain_text
from tqnet.evaluation.table import Table

RESULTS = Path(__file__).parent / "results"
ROOT = Path(__file__).parents[1]
PAGES = ("tqnet", "quesco", "fse", "paraqd", "mwp-cl", "goals", "beyond")

#: Between these, the README has the stages' P@5.
SUMMARY = "<!-- results: python -m reproduce.collect -->", "<!-- end of results -->"
BANKS = ("opl", "openstax", "geometry")
STAGES = ("BM25", "start encoder", "MLM", "MoCo", "SCL")

_NOTICE = "<!-- written by `python -m reproduce.collect` from reproduce/results -->\n\n"
_SECTION = re.compile(r"^\{\{([\w-]+)\}\}$", re.MULTILINE)
_INLINE = re.compile(r"\{([\w/-]+(?: \| [^|{}]+)+)\}")

#: More decimals than a measurement has.
_LONG_NUMBER = re.compile(r"\d+\.\d{7,}")

#: The table of costs is summed up in a line.
_COSTS = "What the rows took"


def documents() -> dict[Path, str]:
    """Return the text of every page, by file."""
    readme, docs = ROOT / "README.md", ROOT / "docs"
    pages = {docs / "results" / f"{name}.md": page(name) for name in PAGES}
    return {**pages, docs / "results.md": summary(), readme: with_stages(readme.read_text(encoding="utf-8"))}


def page(name: str, results: Path = RESULTS) -> str:
    """Return a page of a paper.

    Raises:
        ValueError: A placeholder names nothing, or a result is on no page.
    """
    template = (results / f"{name}.md").read_text(encoding="utf-8")
    shown = set(_SECTION.findall(template))
    if hidden := {file.stem for file in (results / name).glob("*.json")} - shown:
        raise ValueError(f"{name}.md: no section for {', '.join(sorted(hidden))}")

    def section(match: re.Match[str]) -> str:
        if match[1] == "claims":
            return claim_table(load_claims(results, name)).markdown()
        return section_text(load(results / name / f"{match[1]}.json"))

    return _NOTICE + _filled(_SECTION.sub(section, template), results, f"{name}/")


def summary(results: Path = RESULTS) -> str:
    """Return the main page."""
    claims = [claim for name in PAGES for claim in load_claims(results, name)]
    sections = {"claims": lambda: count_table(claims).markdown(), "stages": lambda: stage_table(results)}
    template = (results / "summary.md").read_text(encoding="utf-8")
    return _NOTICE + _filled(_SECTION.sub(lambda match: sections[match[1]](), template), results, "")


def _filled(text: str, results: Path, folder: str) -> str:
    return _INLINE.sub(lambda match: inline(match[1], results, folder), text)


def inline(placeholder: str, results: Path = RESULTS, folder: str = "") -> str:
    """Return the cell or the difference that a placeholder names."""
    name, row, measure, *pairs = placeholder.split(" | ")
    file = name if "/" in name else f"{folder}{name}"
    document = load(results / f"{file}.json")
    row, is_difference, over = row.partition(" > ")
    if is_difference:
        for difference in document["differences"]:
            named = [difference["row"], difference["over"], *filter(None, [difference.get("paraphrases")])]
            if named == [row, over, *pairs]:
                return gain_text(difference[measure]["difference"], Interval.from_json(difference[measure]["interval"]))
    for table in document["tables"]:
        if measure in table["header"] and (not pairs or table["title"].endswith(pairs[0])):
            for cells in table["rows"]:
                if cells[0] == row and not is_difference:
                    return str(cells[table["header"].index(measure)])
    raise ValueError(f"{{{placeholder}}}: no such number")


def section_text(document: dict[str, Any]) -> str:
    """Return how results were made, their tables, and the questions that each row has seen."""
    facts = [f"- {name}: `{fact}`" for name, fact in document["made_by"].items()]
    parts = ["\n".join(facts)]
    for each in document["tables"]:
        rows = tuple(tuple(_LONG_NUMBER.sub(_rounded, cell) for cell in row) for row in each["rows"])
        table = Table(each["title"], tuple(each["header"]), rows, tuple(each["notes"]))
        if table.title == _COSTS:
            seen = table.header.index("questions seen")
            budgets = "; ".join(f"{cells[0]}: {cells[seen]}" for cells in table.rows)
            parts.append(f"Questions seen in training: {budgets}.")
        else:
            parts.append(f"**{table.title}**\n\n{table.markdown()}" if table.title else table.markdown())
    return "\n\n".join(parts)


def _rounded(number: re.Match[str]) -> str:
    return f"{float(f'{float(number[0]):.4g}'):.12g}"


def stage_table(results: Path = RESULTS) -> str:
    """P@5 of similar questions, bank by bank: by words alone, and stage by stage."""
    lines = [f"| bank | {' | '.join(STAGES)} | 95 % interval of {STAGES[-1]} |", f"|---|{'---:|' * (len(STAGES) + 1)}"]
    for bank in BANKS:
        cells = [inline(f"tqnet/stages-{bank} | {stage} | P@5", results) for stage in STAGES]
        interval = inline(f"tqnet/stages-{bank} | {STAGES[-1]} | 95 % interval", results)
        lines.append(f"| {bank} | {' | '.join(cells)} | {interval} |")
    return "\n".join(lines)


def with_stages(readme: str) -> str:
    """Return the README with the stages' P@5 between its marks."""
    before, mark, rest = readme.partition(SUMMARY[0])
    _, end, after = rest.partition(SUMMARY[1])
    if not (mark and end):
        raise ValueError(f"README.md: {' .. '.join(SUMMARY)} is missing")
    return f"{before}{mark}\n\n{stage_table()}\n\n{end}{after}"


@cache
def load(file: Path) -> dict[str, Any]:
    """Read a published result.

    Raises:
        ValueError: There is none.
    """
    if not file.is_file():
        raise ValueError(f"{file}: no such result")
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document


if __name__ == "__main__":
    for file, text in documents().items():
        file.write_text(text, encoding="utf-8")
