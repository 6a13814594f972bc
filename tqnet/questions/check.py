"""The report of `tqnet check` on a bank: counts, labels, lengths, duplicates, and every fault."""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from tqnet.parallel import batched, over_cores
from tqnet.questions.bank import QuestionBank, Texts
from tqnet.questions.figures import FigureHash, hash_figure, hash_name
from tqnet.questions.hierarchy import KnowledgeHierarchy, hierarchy_faults
from tqnet.questions.images import open_image
from tqnet.questions.leakage import MEASURED, Contamination, find_contamination
from tqnet.questions.near_duplicates import normal_text
from tqnet.questions.question import Fault
from tqnet.questions.table import BATCH, hash64, repeats

#: Maximum number of pairs of ids in a report.
_EXAMPLES = 10


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

    def __str__(self) -> str:
        if not self.depth:
            return "none"
        text = f"{self.depth} levels of {' / '.join(map(str, self.classes))} classes"
        if len(self.path_depths) > 1:
            text += f"; path lengths differ ({_shares(self.path_depths)})"
        return f"{text}; {self.missing:,} questions without; {self.ambiguous:,} ambiguous names"


@dataclass(frozen=True)
class Groups:
    """Groups of similar questions: how many, their questions and sizes, those that straddle splits."""

    count: int
    questions: int
    alone: int
    largest: int
    median: float
    across_splits: int

    def __str__(self) -> str:
        if not self.count:
            return "none"
        return (
            f"{self.count:,} with {self.questions:,} questions, median size {self.median:g}, largest "
            f"{self.largest:,}, {self.alone:,} of one question, {self.across_splits:,} across splits"
        )


@dataclass(frozen=True)
class Lengths:
    """Length of stem and options; ``unknown_rate`` is the share of unknown tokens, None for characters."""

    unit: str
    median: float
    percentile_95: float
    most: int
    unknown_rate: float | None

    def __str__(self) -> str:
        text = f"{self.unit}: median {self.median:g}, 95% {self.percentile_95:g}, most {self.most:,}"
        return (
            text
            if self.unknown_rate is None
            else f"{text}; {self.unknown_rate:.3%} unknown before training learns signs"
        )


@dataclass(frozen=True)
class Duplicates:
    """Questions with the text and figures of an earlier one, in its split or in another; some pairs of ids."""

    within_splits: int
    across_splits: int
    examples: list[tuple[str, str]]

    def __str__(self) -> str:
        if not self.examples:
            return "none"
        pairs = ", ".join(f"{first} = {second}" for first, second in self.examples[:3])
        return f"{self.within_splits:,} within a split, {self.across_splits:,} across splits, e.g. {pairs}"


@dataclass(frozen=True)
class Overlap:
    """Questions of ``valid`` and ``test`` with a double in ``train`` (see `tqnet.questions.leakage`).

    Attributes:
        questions: Number of questions of each split.
        doubles: Number of doubles of each split, by kind.
        examples: (kind, id, id of the twin in ``train``) of the first doubles.
    """

    questions: dict[str, int]
    doubles: dict[str, dict[str, int]]
    examples: list[tuple[str, str, str]]

    def __str__(self) -> str:
        parts = []
        for split, kinds in self.doubles.items():
            share = sum(kinds.values()) / self.questions[split]
            parts.append(f"{split} with train: {_shares(kinds)} ({share:.1%} of {self.questions[split]:,})")
        pairs = ", ".join(f"{first} = {twin} ({kind})" for kind, first, twin in self.examples[:3])
        return "; ".join(parts) + (f"; e.g. {pairs}" if pairs else "")


@dataclass(frozen=True)
class BankReport:
    """Everything known about a bank; the counts are over the ``questions`` that could be read.

    Attributes:
        overlap: None without a split ``train``.
    """

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
    faults: tuple[Fault, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return asdict(self)

    def render(self) -> str:
        """Return the report as text, one line per subject, then one line per fault."""
        images, overlap = "none", "not checked: needs questions of train and of valid or test"
        if self.images.total:
            share = self.images.questions / self.questions
            images = f"{self.images.total:,} in {share:.1%} of the questions, at most {self.images.most} in one"
        if self.overlap and self.overlap.questions:
            overlap = str(self.overlap)
        rows = {
            "bank": f"{self.name} ({self.path}), fingerprint {self.fingerprint}",
            "questions": f"{self.questions:,}" + (f" ({self.skipped:,} left out)" if self.skipped else ""),
            "splits": _shares(self.splits),
            "languages": _shares(self.languages),
            "types": _shares(self.types),
            "images": images,
            **{name: getattr(self, name) for name in ("knowledge", "groups", "lengths", "duplicates")},
            "overlap": overlap,
            "faults": f"{len(self.faults):,}" if self.faults else "none",
        }
        return "\n".join([*(f"{name:<11} {text}" for name, text in rows.items()), *map(str, self.faults)])


def _shares(counts: dict[Any, int]) -> str:
    """``train 80, valid 10`` with the first ten values."""
    shown = [f"{value} {count:,}" for value, count in list(counts.items())[:10]]
    more = [f"{len(counts) - 10:,} more"] if len(counts) > 10 else []
    return ", ".join(shown + more) or "none"


def check_bank(
    path: str | os.PathLike[str],
    choose_tokenizer: Callable[[Sequence[str]], Any] | None = None,
    unique_names: bool = False,
    images: bool = True,
) -> BankReport:
    """Read the whole bank at ``path`` and report on it; faulty records are in the faults only.

    Stems are read in batches and kept as 64-bit hashes, so that memory does not grow with them.

    Args:
        path: As for `QuestionBank.load`.
        choose_tokenizer: Returns the tokenizer that counts the tokens of these texts; without, characters are counted.
        unique_names: Treat names of knowledge concepts as unique even without a ``knowledge.jsonl``.
        images: Decode the images; without, they are ignored.

    Raises:
        FileNotFoundError: No such bank.
    """
    figures = _Figures()
    bank, faults = QuestionBank.read(path, figures.inspect if images else None)
    faults = faults + hierarchy_faults(bank, unique_names)
    return BankReport(
        path=str(path),
        name=bank.name,
        fingerprint=bank.fingerprint,
        questions=len(bank),
        skipped=bank.skipped,
        splits=_count(bank, "split"),
        languages=_count(bank, "language"),
        types=_count(bank, "type"),
        images=_images(bank),
        knowledge=_knowledge(KnowledgeHierarchy(bank.column("knowledge"))),  # forgotten at once: it is large
        groups=_groups(bank),
        lengths=_lengths(bank, choose_tokenizer and choose_tokenizer(Texts(bank))),
        duplicates=_duplicates(bank, figures),
        overlap=_overlap(bank, find_contamination(bank, hash_image=figures.looks)),
        faults=tuple(faults),
    )


class _Figures:
    """Inspects images and remembers their hashes, to find copies under different names."""

    def __init__(self) -> None:
        self._content: dict[str, int] = {}
        self._looks: dict[str, FigureHash] = {}

    def inspect(self, paths: list[str]) -> Iterator[str | None]:
        results = (result for batch in over_cores(_inspect, paths, 100) for result in batch)
        for path, result in zip(paths, tqdm(results, "images", len(paths), unit="", disable=None), strict=True):
            if isinstance(result, str):
                yield result
            else:
                self._content[path], self._looks[path] = result
                yield None

    def content(self, path: str) -> int | str:
        """Return a hash of the file, or its path if the image was not inspected."""
        return self._content.get(path, path)

    def looks(self, path: str) -> FigureHash:
        """Return a hash of the pixels, or of the path if the image was not inspected."""
        return self._looks.get(path) or hash_name(path)


def _inspect(paths: list[str]) -> list[str | tuple[int, FigureHash]]:
    """Return the hashes of the file and of the pixels of each image, or its problem."""
    images = map(open_image, paths)
    return [
        image if isinstance(image, str) else (hash64(Path(path).read_bytes()), hash_figure(image))
        for path, image in zip(paths, images, strict=True)
    ]


def _count(bank: QuestionBank, name: str) -> dict[str, int]:
    """Count questions per value of a field, most frequent first; "none" for those without."""
    counts = Counter(value for (values,) in bank.batches(name) for value in values)
    return {value if value is not None else "none": count for value, count in counts.most_common()}


def _images(bank: QuestionBank) -> Images:
    counts = [len(images) for _, images in bank.rows_with_images()]
    return Images(questions=len(counts), total=sum(counts), most=max(counts, default=0))


def _knowledge(hierarchy: KnowledgeHierarchy) -> Knowledge:
    depths = Counter(len(hierarchy.concepts[i]) for concepts in hierarchy.questions for i in concepts)
    return Knowledge(
        depth=hierarchy.depth,
        classes=hierarchy.class_counts,
        missing=sum(not concepts for concepts in hierarchy.questions),
        path_depths=dict(sorted(depths.items())),
        ambiguous=len(hierarchy.ambiguous_names),
    )


def _groups(bank: QuestionBank) -> Groups:
    sizes: Counter[str] = Counter()
    splits: dict[str, str | None] = {}
    across: set[str] = set()
    for names, questions_splits in bank.batches("group", "split"):
        for name, split in zip(names, questions_splits, strict=True):
            if name is None:
                continue
            sizes[name] += 1
            if splits.setdefault(name, split) != split:
                across.add(name)
    return Groups(
        count=len(sizes),
        questions=sum(sizes.values()),
        alone=sum(size == 1 for size in sizes.values()),
        largest=max(sizes.values(), default=0),
        median=float(np.median(list(sizes.values()))) if sizes else 0.0,
        across_splits=len(across),
    )


def _lengths(bank: QuestionBank, tokenizer: Any) -> Lengths:
    lengths, unknown, total = array("q"), 0, 0
    contents = (question.content for question in bank.partial("stem", "options"))
    progress = tqdm(contents, desc="texts", unit="", total=len(bank), disable=None)
    for texts in batched(progress, BATCH):
        if tokenizer is None:
            lengths.extend(map(len, texts))
            continue
        encoded = tokenizer(texts, add_special_tokens=True, truncation=False, verbose=False)["input_ids"]
        lengths.extend(map(len, encoded))
        if tokenizer.unk_token_id is not None:
            unknown += sum(ids.count(tokenizer.unk_token_id) for ids in encoded)
        total += sum(map(len, encoded)) - len(texts) * tokenizer.num_special_tokens_to_add()
    counts = np.frombuffer(lengths, dtype=np.int64) if lengths else np.zeros(1, np.int64)
    return Lengths(
        unit="characters" if tokenizer is None else "tokens",
        median=float(np.median(counts)),
        percentile_95=float(np.percentile(counts, 95)),
        most=int(counts.max()),
        unknown_rate=unknown / total if total else None,
    )


def _duplicates(bank: QuestionBank, figures: _Figures) -> Duplicates:
    """Count questions that repeat an earlier one; across if the first is of another split."""
    hashes = array("Q")
    for question in bank.partial("stem", "options", "images"):
        hashes.append(hash64(repr((normal_text(question.content), list(map(figures.content, question.images))))))
    splits = bank.column("split")
    within = across = 0
    examples: list[tuple[str, str]] = []
    for row, first in repeats(np.frombuffer(hashes, dtype=np.uint64)):
        same = splits[row] == splits[first]
        within, across = within + same, across + (not same)
        if len(examples) < _EXAMPLES:
            examples.append((bank[first].id, bank[row].id))
    return Duplicates(within_splits=within, across_splits=across, examples=examples)


def _overlap(bank: QuestionBank, contamination: Contamination) -> Overlap | None:
    splits = Counter(bank.column("split"))
    if not splits["train"]:
        return None
    measured = [split for split in MEASURED if splits[split]]
    examples = [(double.kind, double.id, double.twin) for double in contamination.doubles]
    return Overlap(
        questions={split: splits[split] for split in measured},
        doubles={split: contamination.counts(split) for split in measured},
        examples=examples[:_EXAMPLES],
    )
