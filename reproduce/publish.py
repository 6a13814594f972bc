"""Keep what was measured: ``python -m reproduce.publish FROM NAME`` writes reproduce/results/NAME.json.

FROM is the output folder of `tqnet evaluate` or `python -m reproduce.bench`, or a file with what a benchmark printed.
NAME is a page and a section, as in ``tqnet/table4``; then ``python -m reproduce.collect`` writes the page.

A published result is ``{"made_by": {fact: text}, "tables": [{"title", "header", "rows", "notes"}]}``, of a suite with
``paper_metric`` and the full-precision ``differences``. Scores of single questions stay where they were measured.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"

_FACT = re.compile(r"- ([^:]+): `(.*)`")


def published(source: Path, command: str = "") -> dict[str, Any]:
    """Return the results in the folder or file ``source``, in the format above."""
    if source.is_file():
        table = {"title": "", "header": ["", "measured"], "rows": flat(json.loads(source.read_text(encoding="utf-8")))}
        return {"made_by": {"command": command}, "tables": [table | {"notes": []}]}
    document = parsed((source / "results.md").read_text(encoding="utf-8"))
    if (file := source / "results.json").is_file():
        numbers = json.loads(file.read_text(encoding="utf-8"))
        document |= {name: numbers[name] for name in ("paper_metric", "differences") if name in numbers}
    return document


def parsed(markdown: str) -> dict[str, Any]:
    """Read the facts and tables of a ``results.md``."""
    facts: dict[str, str] = {}
    tables: list[dict[str, Any]] = []
    title = ""
    for block in re.split(r"\n\s*\n", markdown.strip()):
        lines = block.splitlines()
        if fact := [_FACT.fullmatch(line) for line in lines if line.startswith("- ")]:
            facts |= {match[1]: match[2] for match in fact if match}
        elif block.startswith("### "):
            title = block.removeprefix("### ")
        elif block.startswith("| "):
            header, _, *rows = map(_cells, lines)
            tables.append({"title": title, "header": header, "rows": rows, "notes": []})
            title = ""
        elif tables:
            tables[-1]["notes"].append(" ".join(lines))
    return {"made_by": facts, "tables": tables}


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def flat(numbers: Any, path: str = "") -> list[list[str]]:
    """Return nested numbers as rows of a name and a cell; a small group such as percentiles shares a cell."""
    if not isinstance(numbers, dict):
        return [[path, _cell(numbers)]]
    if path and len(numbers) <= 2 and not any(isinstance(value, dict) for value in numbers.values()):
        return [[path, ", ".join(f"{name} {_cell(value)}" for name, value in numbers.items())]]
    return [row for name, value in numbers.items() for row in flat(value, f"{path}: {name}" if path else name)]


def _cell(value: Any) -> str:
    return ", ".join(map(_cell, value)) if isinstance(value, list) else str(value)


def save(document: dict[str, Any], name: str) -> Path:
    """Write a published result, one table row per line, so that changes can be read."""
    file = RESULTS / f"{name}.json"
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    text = text.replace('"],["', '"],\n["').replace('},{"title"', '},\n{"title"').replace('},{"row"', '},\n{"row"')
    file.write_text(text + "\n", encoding="utf-8")
    return file


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m reproduce.publish", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path, metavar="FROM")
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--command", default="", help="command that made the file of a benchmark")
    args = parser.parse_args()
    print(save(published(args.source, args.command), args.name))


if __name__ == "__main__":
    main()
