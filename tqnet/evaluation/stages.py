"""Measuring the stages of a training, and the baselines, on one bank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from tqnet.evaluation.agreement import Pairs, draw_ranked_pairs, evaluate_agreement, judged_pairs
from tqnet.evaluation.difficulty import evaluate_difficulty, has_difficulties
from tqnet.evaluation.metrics import BoolArray
from tqnet.evaluation.plots import questions_and_pace, read_series
from tqnet.evaluation.probe import evaluate_probe, fittable_levels, probe_splits
from tqnet.evaluation.ranking import Bm25Ranker, Ranker, TfidfRanker
from tqnet.evaluation.similar import evaluate_similar, has_figures, in_split, rank_recall
from tqnet.evaluation.sources import ENCODER
from tqnet.evaluation.table import StageResult
from tqnet.questions import Contamination, KnowledgeHierarchy, QuestionBank, Similarity
from tqnet.questions.pairs import ScoredPairs
from tqnet.questions.splits import show

#: Names that stand for no model: word overlap.
LEXICAL: dict[str, type[TfidfRanker] | type[Bm25Ranker]] = {"tfidf": TfidfRanker, "bm25": Bm25Ranker}

#: Width of the vectors that TF-IDF is reduced to for the probe, that of the usual start encoder.
LEXICAL_WIDTH = 384


@dataclass(frozen=True)
class Tasks:
    """The tasks that are measured on a bank; ``None`` or ``False`` leaves one out.

    Attributes:
        similarity: Relation for similar-question search: queries of ``split`` (``None``: of all), their ``k`` nearest.
        hierarchy: Concepts for the linear probe.
        difficulty: Whether difficulties are predicted.
        recall: n of R@n, of the same queries and of those with fewer than ``k`` similar questions.
        agreement: Whether similarities are compared with groups and KH-distances, of pairs within ``split``.
        judged: Pairs with judges' scores, which similarities are compared with instead, within ``split``.
        seed: Seed of the bootstrap, and of the splits that the probe draws where the bank has none.
        left_out: Near-duplicates of ``train`` that are no longer in ``bank`` (see ``without``).
        pictured: Which questions count as having figures, where ``bank`` shows only a part of each.
    """

    bank: QuestionBank
    similarity: Similarity | None = None
    hierarchy: KnowledgeHierarchy | None = None
    difficulty: bool = False
    recall: int | None = None
    agreement: bool = False
    judged: ScoredPairs | None = None
    split: str | None = "test"
    k: int = 5
    seed: int = 0
    left_out: Contamination | None = None
    pictured: BoolArray | None = None

    def without(self, doubles: Contamination) -> Tasks:
        """Return the same tasks without these questions: neither queries nor neighbours, and not probed."""
        bank = self.bank.select(doubles.clean)
        return replace(
            self,
            bank=bank,
            similarity=self.similarity.select(doubles.clean) if self.similarity is not None else None,
            hierarchy=KnowledgeHierarchy.from_bank(bank) if self.hierarchy is not None else None,
            judged=self.judged.select(doubles.clean) if self.judged is not None else None,
            left_out=doubles,
            pictured=self.pictured[doubles.clean] if self.pictured is not None else None,
        )

    def showing(self, part: str) -> Tasks:
        """Return the same tasks for a model that is shown only this part of a question (`tqnet.questions.splits`)."""
        shown = show(self.bank, part)
        return self if shown is self.bank else replace(self, bank=shown, pictured=has_figures(self.bank))

    def check(self) -> None:
        """Check before anything is encoded that there is something to measure.

        Raises:
            ValueError: There is not, for example because no query has k similar questions.
        """
        self.check_similar()
        self.check_probe()
        if self.difficulty and not has_difficulties(self.bank, self.seed):
            raise ValueError("train and test have no questions of different difficulty")
        if self.agreement and not self.has_ranks:
            where = "the bank" if self.split is None else f"split {self.split!r}"
            if self.judged is None:
                raise ValueError(f"{where} has no pairs of questions of two ranks (similar, and KH-distances)")
            within = f"{len(self._pairs.first):,} of the {len(self.judged):,} pairs lie within {where}"
            raise ValueError(f"{within}, and no two of them were judged differently")

    def check_similar(self) -> None:
        """Raise a ValueError unless some query has k similar questions."""
        if self.similarity is None:
            return
        queries = np.flatnonzero(in_split(self.bank, self.split)).tolist()
        if any(len(self.similarity.neighbours(query)) >= self.k for query in queries):
            return
        present = {split for split in self.bank.column("split") if split}
        splits = sorted(present, key=lambda split: ("train", "valid", "test", split).index(split))
        subject = "no question" if self.split is None else f"no question of split {self.split!r}"
        hint = "" if self.similarity.has_similar.any() else "; no question is similar to any other"
        raise ValueError(
            f"{subject} has {self.k} similar ones (splits of the bank: {', '.join(splits) or 'none'}{hint})"
        )

    def check_probe(self) -> None:
        """Raise a ValueError unless some level of knowledge can be probed."""
        if self.hierarchy is None:
            return
        if not self.hierarchy.depth:
            raise ValueError("no question of the bank has a knowledge point")
        if not fittable_levels(self.hierarchy, probe_splits(self.bank, seed=self.seed)):
            raise ValueError("no level of knowledge has two concepts in train and a question in test")

    @property
    def has_ranks(self) -> bool:
        """True if there are pairs that are not all equally near."""
        return len(np.unique(self._pairs.nearness)) > 1

    def measure_lexical(self, name: str) -> StageResult:
        """Measure word overlap. TF-IDF also gives vectors for the probe, by a truncated SVD of its matrix."""
        ranker = LEXICAL[name]([question.content for question in self.bank], self.bank.ids)
        if self.hierarchy is None and not self.difficulty and not self.agreement:
            return self._measure(ranker, None)
        if isinstance(ranker, TfidfRanker):
            vectors = ranker.vectors(LEXICAL_WIDTH, seed=self.seed)
            note = f"the probe reads its matrix reduced to {vectors.shape[1]} dimensions by a truncated SVD"
            return self._measure(ranker, vectors, note)
        return self._measure(ranker, None, "scores pairs of questions and has no vectors that a probe could read")

    def measure_vectors(self, vectors: np.ndarray, *notes: str) -> StageResult:
        """Measure a model's vectors ``[questions, width]``; ``notes`` go below the tables."""
        return self._measure(vectors, vectors, *notes)

    def _measure(self, ranker: Ranker | np.ndarray, vectors: np.ndarray | None, *notes: str) -> StageResult:
        result = StageResult(notes=notes, without=self.left_out)
        if self.similarity is not None:
            searched = self.bank, self.similarity, self.split
            similar = evaluate_similar(
                ranker, *searched, k=self.k, depth=max(100, self.k), pictured=self.pictured, seed=self.seed
            )
            recall = rank_recall(ranker, *searched, self.recall) if self.recall else None
            result = replace(result, similar=similar, recall=recall)
        if vectors is None:
            return result
        if self.hierarchy is not None:
            result = replace(result, probe=evaluate_probe(vectors, self.bank, self.hierarchy, seed=self.seed))
        if self.difficulty:
            result = replace(result, difficulty=evaluate_difficulty(vectors, self.bank, seed=self.seed))
        if self.agreement:
            result = replace(result, agreement=evaluate_agreement(vectors, self._pairs, seed=self.seed))
        return result

    @cached_property
    def _pairs(self) -> Pairs:
        groups = Similarity.from_groups(self.bank)
        if self.judged is not None:
            return judged_pairs(self.bank, groups, self.judged, self.split)
        return draw_ranked_pairs(self.bank, groups, self.split, seed=self.seed)


def parse_stages(specifications: list[str], *, lexical: bool = True) -> dict[str, str]:
    """Parse ``NAME=SOURCE`` of each stage; a source alone is its own name.

    Args:
        lexical: Whether word overlap, which has no vectors, is allowed.

    Raises:
        ValueError: Two stages have the same name, or one lacks the vectors that are needed.
    """
    pairs = [text.partition("=") if "=" in text else (text, "=", text) for text in specifications]
    names = [name for name, _, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError(f"two stages have the same name: {', '.join(names)}")
    stages = {name: source for name, _, source in pairs}
    if words := sorted(LEXICAL.keys() & stages.values() if not lexical else ()):
        raise ValueError(f"{words[0]}: has no vectors; give a model folder or encoder:NAME")
    return stages


def training_logs(stages: Mapping[str, str]) -> dict[str, Path]:
    """metrics.jsonl of every stage whose model is in the folder of a run."""
    folders = {name: Path(source) for name, source in stages.items() if source not in LEXICAL}
    files = {name: folder.parent / "metrics.jsonl" for name, folder in folders.items()}
    return {name: path for name, path in files.items() if path.exists() and not stages[name].startswith(ENCODER)}


def provenance(command: str, bank: QuestionBank, logs: Mapping[str, Path]) -> dict[str, str]:
    """The command, the data, and the questions that each stage saw in training, for a report."""
    return {
        "command": command,
        "bank": f"{bank.name}, {len(bank):,} questions, fingerprint {bank.fingerprint}",
        "training": "; ".join(f"{name}: {_training(path)}" for name, path in logs.items()),
    }


def _training(log: Path) -> str:
    """Questions that a training saw, its minutes of steps at their median pace, and its padding."""
    series = read_series(log)
    if "questions" not in series:
        return "no step logged"
    questions, pace = questions_and_pace(series)
    facts = [f"{questions:,} questions", f"{questions / pace / 60:,.0f} min of steps"]
    if "padding" in series:
        facts.append(f"{series['padding'][1].mean():.2f} tokens computed for each real one")
    return ", ".join(facts)
