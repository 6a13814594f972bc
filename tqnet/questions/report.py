"""The report on a bank, for people (`render`) and programs (`to_dict`)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from tqnet.questions.question import Fault


@dataclass(frozen=True)
class Images:
    """Questions with images, images in all (a shared one counts each time), the most of one question."""

    questions: int
    total: int
    most: int


@dataclass(frozen=True)
class Knowledge:
    """Hierarchy of the paths: classes per level (coarsest first), paths per length, names used twice."""

    depth: int
    classes: list[int]
    missing: int
    path_depths: dict[int, int]
    ambiguous: int


@dataclass(frozen=True)
class Groups:
    """Groups of similar questions: how many, their questions and sizes, those that straddle splits."""

    count: int
    questions: int
    alone: int
    largest: int
    median: float
    across_splits: int


@dataclass(frozen=True)
class Lengths:
    """Length of stem and options; ``unknown_rate`` is the share of unknown tokens, None for characters."""

    unit: str
    median: float
    percentile_95: float
    most: int
    unknown_rate: float | None


@dataclass(frozen=True)
class Duplicates:
    """Questions with the text and figures of an earlier one, in its split or in another; some id pairs."""

    SHOWN: ClassVar[int] = 10

    within_splits: int
    across_splits: int
    examples: list[tuple[str, str]]


@dataclass(frozen=True)
class Overlap:
    """Questions of ``valid`` and ``test`` with a double in ``train`` (see `tqnet.questions.leakage`).

    Attributes:
        questions: Questions of each split.
        doubles: Those of each split with a double, by its kind.
        examples: (kind, id, id of the twin in ``train``) of the first doubles.
    """

    SHOWN: ClassVar[int] = 10

    questions: dict[str, int]
    doubles: dict[str, dict[str, int]]
    examples: list[tuple[str, str, str]]


@dataclass(frozen=True)
class BankReport:
    """Everything that is known about a bank; the counts are over the ``questions`` that could be read."""

    path: str
    name: str
    fingerprint: str
    questions: int
    skipped: int
    splits: dict[str, int]
    languages: dict[str, int]
    types: dict[str, int]
    images: Images
    knowledge: Knowledge
    groups: Groups
    lengths: Lengths
    duplicates: Duplicates
    overlap: Overlap | None
    """None without a split ``train``."""
    faults: tuple[Fault, ...]

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values."""
        return asdict(self)

    def render(self) -> str:
        """The report as a text of one line per subject, then one line per fault."""
        rows = [
            ("bank", f"{self.name} ({self.path}), fingerprint {self.fingerprint}"),
            ("questions", f"{self.questions:,}" + (f" ({self.skipped:,} left out)" if self.skipped else "")),
            ("splits", _shares(self.splits)),
            ("languages", _shares(self.languages)),
            ("types", _shares(self.types)),
            ("images", self._render_images()),
            ("knowledge", self._render_knowledge()),
            ("groups", self._render_groups()),
            ("lengths", self._render_lengths()),
            ("duplicates", self._render_duplicates()),
            ("overlap", self._render_overlap()),
            ("faults", f"{len(self.faults):,}" if self.faults else "none"),
        ]
        lines = [f"{name:<11} {text}" for name, text in rows]
        return "\n".join(lines + [str(fault) for fault in self.faults])

    def _render_images(self) -> str:
        if not self.images.total:
            return "none"
        share = self.images.questions / self.questions
        return f"{self.images.total:,} in {share:.1%} of the questions, at most {self.images.most} in one"

    def _render_knowledge(self) -> str:
        known = self.knowledge
        if not known.depth:
            return "none"
        text = f"{known.depth} levels of {' / '.join(map(str, known.classes))} classes"
        if len(known.path_depths) > 1:
            text += f"; path lengths differ ({_shares(known.path_depths)})"
        return f"{text}; {known.missing:,} questions without; {known.ambiguous:,} ambiguous names"

    def _render_groups(self) -> str:
        groups = self.groups
        if not groups.count:
            return "none"
        return (
            f"{groups.count:,} with {groups.questions:,} questions, median size {groups.median:g}, largest "
            f"{groups.largest:,}, {groups.alone:,} of one question, {groups.across_splits:,} across splits"
        )

    def _render_lengths(self) -> str:
        lengths = self.lengths
        text = f"{lengths.unit}: median {lengths.median:g}, 95% {lengths.percentile_95:g}, most {lengths.most:,}"
        return text if lengths.unknown_rate is None else f"{text}; {lengths.unknown_rate:.3%} unknown"

    def _render_duplicates(self) -> str:
        found = self.duplicates
        if not found.examples:
            return "none"
        pairs = ", ".join(f"{first} = {second}" for first, second in found.examples[:3])
        return f"{found.within_splits:,} within a split, {found.across_splits:,} across splits, e.g. {pairs}"

    def _render_overlap(self) -> str:
        found = self.overlap
        if found is None or not found.questions:
            return "not looked for: that takes questions of train and of valid or test"
        parts = []
        for split, kinds in found.doubles.items():
            share = sum(kinds.values()) / found.questions[split]
            parts.append(f"{split} with train: {_shares(kinds)} ({share:.1%} of {found.questions[split]:,})")
        pairs = ", ".join(f"{first} = {twin} ({kind})" for kind, first, twin in found.examples[:3])
        return "; ".join(parts) + (f"; e.g. {pairs}" if pairs else "")


def _shares(counts: dict[Any, int]) -> str:
    """``train 80, valid 10`` with the first ten values."""
    shown = [f"{value} {count:,}" for value, count in list(counts.items())[:10]]
    more = [f"{len(counts) - 10:,} more"] if len(counts) > 10 else []
    return ", ".join(shown + more) or "none"
