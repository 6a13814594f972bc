"""What every command says of what is wrong with a call: ``python -m docs.faults`` tries it, and writes docs/faults.md.

``python -m docs.faults WORD ..`` tries the cases whose ``command: fault`` begins with a WORD, and keeps what is known
of the others; ``--render`` tries none. The table is :mod:`tests.faults.table`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.faults.table import Case, cases
from tqnet.files import atomic

PAGE = Path(__file__).with_suffix(".md")
KNOWN = Path(__file__).parent / "results" / "faults.json"

HEAD = """# What may be wrong with a call, and what is said of it

Written by `python -m docs.faults`, which runs every command of `tqnet` and every recipe with one thing wrong at a time,
each in a process of its own. `nothing` is the call as it works, to see that what fails does so for its fault alone.

- **Exit codes**: 0 all is well; 1 it failed, or found faults in the data; 2 it was called wrongly; 130 Ctrl-C; 141 the
  reader of its output has gone (`tqnet ... | head`), without a word.
- **What is said** is one line on stderr, but that a bank's faults have a line each, and that argparse shows the usage
  first; the last line is here. `tqnet check` reports on stdout. `--debug`, or `TQNET_DEBUG=1`, shows the traceback.
- **An error that nobody has foreseen** is one line too, which begins with `unexpected` and names a file with the
  traceback.
- **Full disk** is a limit of one byte on a file that a process writes ("file too large"); a disk that is full says "no
  space left on device".
- **Ctrl-C** is a SIGINT as the output is first opened or takes its name. No file is then left half-written.
- What is not in the table of a command has not been tried since the table grew.
- The encoder within a solver or a classifier of pairs is a model like any other, and is taken in place of one.
"""


def known() -> dict[str, dict[str, Any]]:
    """What was tried, by the case's id."""
    return json.loads(KNOWN.read_text(encoding="utf-8")) if KNOWN.is_file() else {}


def document(found: Mapping[str, Mapping[str, Any]]) -> str:
    """All of docs/faults.md."""
    sections = [HEAD]
    for command, rows in _by_command(cases()).items():
        told = [(case, found[case.id]) for case in rows if case.id in found]
        if told:
            call = next((one["argv"] for case, one in told if case.fault in ("nothing", "Ctrl-C")), told[0][1]["argv"])
            name = "" if command.endswith(".py") else "tqnet "
            sections.append(f"## {command}\n\n`{name}{' '.join(map(_quoted, call))}`\n")
            sections.append("| fault | exit code | what is said |\n|---|---:|---|")
            sections += [f"| {case.fault} | {one['code']} | {_cell(one['said'])} |" for case, one in told]
            sections.append("")
    return "\n".join(sections)


def _keep(case: Case, outcome: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What is known with this case, written at once: a run that is stopped loses nothing."""
    found = known() | {case.id: outcome}
    found = {one.id: found[one.id] for one in cases() if one.id in found}
    with atomic(KNOWN) as temporary:
        temporary.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return found


def _by_command(table: Iterable[Case]) -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in table:
        found.setdefault(case.command, []).append(case)
    return found


def _quoted(word: str) -> str:
    return f"'{word}'" if re.search(r"[\s$\\]", word) else word


def _cell(text: str) -> str:
    return f"`{text.replace('|', chr(92) + '|').replace('`', chr(39))}`" if text else ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m docs.faults", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD", help="only cases that begin with it, such as 'encode:'")
    parser.add_argument(
        "--materials", metavar="DIR", help="keep there what commands are tried on, and take it from there"
    )
    parser.add_argument("--render", action="store_true", help="only write the page anew")
    args = parser.parse_args()
    found, wrong = known(), 0
    if not args.render:
        from tests.faults.trial import outcomes

        with tempfile.TemporaryDirectory() as folder:
            for case, outcome in outcomes(Path(args.materials or f"{folder}/materials").absolute(), args.words):
                right = "ok   " if outcome.right else "WRONG"
                print(f"{right} {outcome.code:>3}  {case.id}: {outcome.said}", *outcome.left, flush=True)
                wrong += not outcome.right
                found = _keep(case, {"argv": list(case.argv), "code": outcome.code, "said": outcome.said})
    PAGE.write_text(document(found), encoding="utf-8")
    print(f"{PAGE}: {len(found)} cases, {wrong} wrong", file=sys.stderr)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
