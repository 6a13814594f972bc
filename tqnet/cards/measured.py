"""Scores that ``tqnet evaluate`` has written, as rows of a card."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

#: Metric of similar-question search -> what it is called.
_SEARCH = {"precision": "P@{k}", "mrr": "MRR@{depth}", "recall": "R@{k}", "ndcg": "nDCG@{k}"}

#: (metric, score).
Rows = Sequence[tuple[str, str]]

#: Begins the titles of all that is measured afterwards.
_AFTERWARDS = "Measured afterwards: "

#: A section of a card, and a row of its table.
_SECTION = re.compile(rf"^## ({_AFTERWARDS}.+)\n\n((?:\|.*\|\n)+)", re.MULTILINE)
_ROW = re.compile(r"^\| (.*) \| (.*) \|$", re.MULTILINE)


def stated_measured(markdown: str) -> dict[str, Rows]:
    """Title -> rows that a card of :meth:`tqnet.cards.render.Card.markdown` has of evaluations afterwards."""
    return {title: _ROW.findall(table)[2:] for title, table in _SECTION.findall(markdown)}


def read_measured(file: Path, name: str | None = None) -> dict[str, list[tuple[str, str]]]:
    """Title -> rows of (metric, score).

    Args:
        file: results.json of ``tqnet evaluate stages`` or ``tqnet evaluate mteb``.
        name: Which of its models; by default the last.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is of another kind, or knows no such model.
    """
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        of_stages, of_mteb = document.get("stages"), document.get("mteb")
        bank = str((document.get("made_by") or {}).get("bank", "a bank that is not told"))
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{file}: no results of tqnet evaluate ({error})") from None
    if isinstance(of_mteb, Mapping):
        rows = [
            (f"{task}, {metric}", f"{score:.4f}")
            for task, scores in of_mteb.items()
            for metric, score in scores.items()
        ]
        return {f"{_AFTERWARDS}mteb": rows}
    if not isinstance(of_stages, Mapping) or not of_stages:
        raise ValueError(f"{file}: no results of tqnet evaluate stages or of tqnet evaluate mteb")
    if name is not None and name not in of_stages:
        raise ValueError(f"{file}: --name: {name!r} is none of {', '.join(of_stages)}")
    chosen = of_stages[name] if name is not None else list(of_stages.values())[-1]
    return {f"{_AFTERWARDS}{bank}": [*_search(chosen.get("similar")), *_probe(chosen.get("probe"))]}


def _search(similar: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    if not similar:
        return []
    scores, where = similar["overall"], f"similar questions, {similar.get('split') or 'all splits'}"
    rows = [
        (f"{where}: {called.format(k=similar['k'], depth=similar['depth'])}", f"{scores[metric]:.3f}")
        for metric, called in _SEARCH.items()
        if scores.get(metric) is not None
    ]
    return [*rows, (f"{where}: queries", f"{scores['queries']:,}")]


def _probe(probe: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    return [
        (f"knowledge points by a linear probe, level {level['level']}: micro F1", f"{level['scores']['micro_f1']:.3f}")
        for level in (probe or {}).get("levels", [])
    ]
