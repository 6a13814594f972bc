"""Differences that a paper reports between two methods, next to those measured here."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from tqnet.evaluation.metrics import Interval, gain_text
from tqnet.evaluation.table import Table

AGREES, CHANCE, CONTRADICTS = "as in the paper", "within chance", "contradicts the paper"
VERDICTS = (AGREES, CONTRADICTS, CHANCE)
UNKNOWN = "not known"
CAUSES = ("budget", "data", "method", "settings", "start", UNKNOWN)


@dataclass(frozen=True)
class Claim:
    """A difference between two rows that a paper has numbers for.

    Attributes:
        page, table, pairs: Where it is measured; ``pairs`` is the file of labelled paraphrases, or empty.
        paper, measured: How much ``row`` is above ``over``.
        interval: 95 % interval of ``measured``.
        cause, because: One of :data:`CAUSES` and its grounds, for a difference that is not as in the paper.
    """

    page: str
    table: str
    pairs: str
    measure: str
    row: str
    over: str
    paper: float
    measured: float
    interval: Interval
    cause: str = UNKNOWN
    because: str = ""

    @property
    def group(self) -> str:
        """The table, with the labelled paraphrases it is measured on."""
        return f"{self.table}, {self.pairs}" if self.pairs else self.table

    @property
    def verdict(self) -> str:
        low, high = self.interval
        if np.isnan(low) or low <= 0 <= high:
            return CHANCE
        return AGREES if self.measured * self.paper > 0 else CONTRADICTS


@dataclass(frozen=True)
class Reason:
    """Why differences are not as in the paper; ``table``, ``row``, ``over`` and ``pairs`` are patterns."""

    table: str
    cause: str
    because: str
    row: str = "*"
    over: str = "*"
    pairs: str = "*"

    def __post_init__(self) -> None:
        if self.cause not in CAUSES:
            raise ValueError(f"{self.table}: {self.cause!r} is not one of {', '.join(CAUSES)}")

    def explains(self, claim: Claim) -> bool:
        names = ("table", "row", "over", "pairs")
        return all(fnmatchcase(getattr(claim, name), getattr(self, name)) for name in names)


def load_reasons(results: Path) -> list[Reason]:
    """Read ``reasons.yaml``."""
    return [Reason(**reason) for reason in yaml.safe_load((results / "reasons.yaml").read_text(encoding="utf-8"))]


def load_claims(results: Path, page: str) -> list[Claim]:
    """Return the claims of a page, by table, with the reason of those that are not as in the paper."""
    reasons = load_reasons(results)
    claims = []
    for file in sorted((results / page).glob("*.json")):
        for claim in _claims(page, file.stem, json.loads(file.read_text(encoding="utf-8"))):
            reason = too_small(claim) or next((reason for reason in reasons if reason.explains(claim)), None)
            if claim.verdict != AGREES and reason:
                claim = replace(claim, cause=reason.cause, because=reason.because)
            claims.append(claim)
    return claims


def too_small(claim: Claim) -> Reason | None:
    """Return the reason for a difference whose interval holds the paper's as well as none: too few test questions."""
    low, high = claim.interval
    small = claim.verdict == CHANCE and low <= claim.paper <= high
    return Reason(claim.table, "data", "the interval holds the paper's difference too") if small else None


def _claims(page: str, table: str, document: dict[str, Any]) -> Iterator[Claim]:
    for difference in document.get("differences", ()):
        measure = _measure(document["paper_metric"], difference)
        if difference["paper"] is None or measure not in difference:
            continue
        gain = difference[measure]
        yield Claim(
            page,
            table,
            difference.get("paraphrases", ""),
            measure,
            difference["row"],
            difference["over"],
            difference["paper"],
            gain["difference"],
            Interval.from_json(gain["interval"]),
        )


def _measure(metric: str, difference: Iterable[str]) -> str:
    """The measure that the paper has; its F1 is of hundreds of concepts, which is the finest level here."""
    return metric if metric != "F1" else max((name for name in difference if name.startswith("F1 L")), default=metric)


def claim_table(claims: Sequence[Claim]) -> Table:
    """One row per claim."""
    rows = tuple(
        (
            f"{claim.row}, over {claim.over}",
            f"{claim.group}: {claim.measure}",
            f"{claim.paper:+.3f}",
            gain_text(claim.measured, claim.interval),
            claim.verdict,
            "–" if claim.verdict == AGREES else f"{claim.cause}: {claim.because}".removesuffix(": "),
        )
        for claim in claims
    )
    return Table("Claims", ("difference", "table", "paper", "here", "verdict", "reason"), rows)


def count_table(claims: Sequence[Claim]) -> Table:
    """One row per group of claims, and their sum."""
    groups: dict[tuple[str, str], list[Claim]] = {}
    for claim in claims:
        groups.setdefault((claim.page, claim.group), []).append(claim)
    rows = [(f"[{page}](results/{page}.md)", group, *_counts(members)) for (page, group), members in groups.items()]
    header = ("paper", "table", AGREES, CONTRADICTS, CHANCE, *(f"reason: {cause}" for cause in CAUSES))
    return Table("Claims", header, (*rows, ("all", "", *_counts(claims))))


def _counts(claims: Sequence[Claim]) -> list[str]:
    verdicts = Counter(claim.verdict for claim in claims)
    causes = Counter(claim.cause for claim in claims if claim.verdict != AGREES)
    return [str(verdicts[verdict]) for verdict in VERDICTS] + [str(causes[cause]) for cause in CAUSES]
