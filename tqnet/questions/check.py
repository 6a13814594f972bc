"""What `tqnet check` says about a bank: counts, labels, lengths, duplicates, and every fault."""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from tqnet.questions.bank import QuestionBank, batched
from tqnet.questions.figures import FigureHash, hash_figure, hash_name
from tqnet.questions.hierarchy import KnowledgeHierarchy, hierarchy_faults
from tqnet.questions.images import open_image
from tqnet.questions.leakage import MEASURED, Contamination, find_contamination
from tqnet.questions.near_duplicates import normal_text
from tqnet.questions.question import Question
from tqnet.questions.report import BankReport, Duplicates, Groups, Images, Knowledge, Lengths, Overlap
from tqnet.questions.table import BATCH, hash64, repeats


def check_bank(
    path: str | os.PathLike[str], tokenizer: Any = None, unique_names: bool = False, images: bool = True
) -> BankReport:
    """Reads the whole bank at ``path`` and reports on it; faulty records are in the faults only.

    Stems are read in batches and kept as 64-bit hashes, so that memory does not grow with them.

    Args:
        path: As for `QuestionBank.load`.
        tokenizer: Any tokenizer of transformers, to count tokens; characters are counted without.
        unique_names: Take names of knowledge concepts for unique even without a ``knowledge.jsonl``.
        images: Decode the images; without, they are not looked at.

    Raises:
        FileNotFoundError: No such bank.
    """
    figures = _Figures()
    with tqdm(desc="images", unit="", disable=None if images else True) as progress:
        figures.progress = progress
        bank, faults = QuestionBank.read(path, figures.inspect if images else None)
    faults = faults + hierarchy_faults(bank, unique_names)
    hierarchy = KnowledgeHierarchy(bank.column("knowledge"))
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
        knowledge=_knowledge(hierarchy),
        groups=_groups(bank),
        lengths=_lengths(bank, tokenizer),
        duplicates=_duplicates(bank, figures),
        overlap=_overlap(bank, find_contamination(bank, hash_image=figures.looks)),
        faults=tuple(faults),
    )


class _Figures:
    """Inspects images, and remembers what is in each, for copies under different names."""

    def __init__(self) -> None:
        self.progress: tqdm | None = None
        self._content: dict[str, int] = {}
        self._looks: dict[str, FigureHash] = {}

    def inspect(self, path: str) -> str | None:
        if self.progress is not None:
            self.progress.update()
        image = open_image(path)
        if isinstance(image, str):
            return image
        self._content[path] = hash64(Path(path).read_bytes())
        self._looks[path] = hash_figure(image)
        return None

    def content(self, path: str) -> int | str:
        """A hash of the file, or its path if the image was not looked at."""
        return self._content.get(path, path)

    def looks(self, path: str) -> FigureHash:
        """A hash of the pixels, or of the path if the image was not looked at."""
        return self._looks.get(path) or hash_name(path)


def _count(bank: QuestionBank, name: str) -> dict[str, int]:
    """Questions per value of a field, most frequent first; "none" for those without."""
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


def _contents(bank: QuestionBank) -> Iterator[str]:
    """What the text encoder reads of each question."""
    for stems, options in bank.batches("stem", "options"):
        for stem, choices in zip(stems, options, strict=True):
            yield Question(id="", stem=stem, options=choices).content


def _lengths(bank: QuestionBank, tokenizer: Any) -> Lengths:
    lengths, unknown, total = array("q"), 0, 0
    progress = tqdm(_contents(bank), desc="texts", unit="", total=len(bank), disable=None)
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
    """Questions that repeat an earlier one; each counted once, across if the first is of another split."""
    hashes = array("Q")
    images = (paths for (batch,) in bank.batches("images") for paths in batch)
    for text, paths in zip(_contents(bank), images, strict=True):
        hashes.append(hash64(repr((normal_text(text), [figures.content(path) for path in paths]))))
    splits = bank.column("split")
    within = across = 0
    examples: list[tuple[str, str]] = []
    for row, first in repeats(np.frombuffer(hashes, dtype=np.uint64)):
        same = splits[row] == splits[first]
        within, across = within + same, across + (not same)
        if len(examples) < Duplicates.SHOWN:
            examples.append((bank[first].id, bank[row].id))
    return Duplicates(within_splits=within, across_splits=across, examples=examples)


def _overlap(bank: QuestionBank, found: Contamination) -> Overlap | None:
    splits = Counter(bank.column("split"))
    if not splits["train"]:
        return None
    measured = [split for split in MEASURED if splits[split]]
    examples = [(double.kind, double.id, double.twin) for double in found.doubles]
    return Overlap(
        questions={split: splits[split] for split in measured},
        doubles={split: found.counts(split) for split in measured},
        examples=examples[: Overlap.SHOWN],
    )
