"""Fit, save and find the heads of a model, and predict with them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tqnet.evaluation.metrics import IntArray
from tqnet.evaluation.probe import draw_by_group
from tqnet.evaluation.sources import ENCODER
from tqnet.files import atomic_folder, content_digest
from tqnet.prediction.difficulty import DifficultyHead, fit_difficulty_head
from tqnet.prediction.features import Examples, Vectors
from tqnet.prediction.knowledge import KnowledgeHead, fit_knowledge_head
from tqnet.prediction.tree import maximal
from tqnet.questions import QuestionBank
from tqnet.questions.splits import question_units
from tqnet.version import __version__

#: Folder of the heads next to a model's weights.
HEADS_FOLDER = "heads"

_FACTS = "heads.json"

#: Share of the training questions that replaces a missing ``valid``.
VALID_SHARE = 0.2


class HeadsError(ValueError):
    """Heads that are missing, damaged, or from another model."""


@dataclass(frozen=True)
class HeadData:
    """Labelled questions to fit heads to.

    Attributes:
        knowledge, difficulty: Rows of ``train`` and ``valid`` with labels; None if there are too few.
        left_out: A reason for each of the two that is None.
        drawn: Questions of ``train`` that replace a missing ``valid``.
    """

    bank: QuestionBank
    knowledge: tuple[IntArray, IntArray] | None
    difficulty: tuple[IntArray, IntArray] | None
    left_out: tuple[str, ...]
    drawn: int

    @classmethod
    def of(cls, bank: QuestionBank, seed: int = 0) -> HeadData:
        """Select the labelled questions of a bank.

        Raises:
            ValueError: There is nothing to learn.
        """
        *sides, drawn = _splits(bank, seed)
        paths, rated = bank.column("knowledge"), bank.column("difficulty")

        def having(has_label: Callable[[int], bool]) -> tuple[IntArray, IntArray]:
            train, valid = (rows[[has_label(i) for i in rows]] for rows in sides)
            return train, valid

        labelled, known = having(lambda i: bool(paths[i])), having(lambda i: rated[i] is not None)
        kinds = len({tuple(maximal(paths[i])) for i in labelled[0]}), len({rated[i] for i in known[0]})
        no_knowledge = _why_not(kinds[0], len(labelled[1]), "knowledge point")
        no_difficulty = _why_not(kinds[1], len(known[1]), "difficulty")
        if no_knowledge and no_difficulty:
            raise ValueError(f"{bank.path or bank.name}: nothing to learn: {no_knowledge}; {no_difficulty}")
        left_out = tuple(filter(None, (no_knowledge, no_difficulty)))
        return cls(bank, None if no_knowledge else labelled, None if no_difficulty else known, left_out, drawn)

    def examples(self, column: str, sides: tuple[IntArray, IntArray], vectors: Vectors) -> tuple[Examples, Examples]:
        """Return training and validation questions with labels from a column; vectors ``[bank, width]``."""
        texts, labels = [question.content for question in self.bank], self.bank.column(column)
        groups = question_units(self.bank)
        train, valid = (
            Examples(vectors[rows], *([values[i] for i in rows] for values in (texts, labels, groups)))
            for rows in sides
        )
        return train, valid

    def facts(self) -> dict[str, Any]:
        """Return facts on the training for JSON."""
        counts = {
            name: {"train": len(rows[0]), "valid": len(rows[1])}
            for name, rows in (("knowledge", self.knowledge), ("difficulty", self.difficulty))
            if rows is not None
        }
        return {
            "bank": self.bank.name,
            "bank_fingerprint": self.bank.fingerprint,
            "questions": counts,
            "valid_drawn_from_train": self.drawn > 0,
        }


def _splits(bank: QuestionBank, seed: int) -> tuple[IntArray, IntArray, int]:
    """Return ``train`` (all questions if none has a split), ``valid``, and how many of the latter were drawn.

    A missing ``valid`` is drawn by group from labelled questions; then unlabelled ones are dropped.
    """
    given = np.array([split or "" for split in bank.column("split")])
    train = np.flatnonzero(given == ("train" if given.any() else ""))
    valid = np.flatnonzero(given == "valid")
    if not len(train):
        raise ValueError(f"{bank.path or bank.name}: no question of split 'train'")
    paths, rated = bank.column("knowledge"), bank.column("difficulty")
    labelled = train[[bool(paths[i]) or rated[i] is not None for i in train]]
    if len(valid) or not len(labelled):
        return train, valid, 0
    units = question_units(bank)
    parts = draw_by_group(units, labelled, {"valid": VALID_SHARE}, seed)
    if not len(parts["train"]):
        count = len({units[i] for i in labelled})
        raise ValueError(
            f"{bank.path or bank.name}: the bank has no split 'valid', and none can be drawn by group: the "
            f"{len(labelled)} labelled questions of train are of {count} {'group' if count == 1 else 'groups'}, all "
            "of which would be drawn; give the bank a split 'valid'"
        )
    return parts["train"], parts["valid"], len(parts["valid"])


def _why_not(kinds: int, validation: int, label: str) -> str:
    if kinds < 2:
        return f"all questions of train have the same {label}" if kinds else f"no question of train has a {label}"
    return "" if validation else f"no question of valid has a {label}"


def fit_heads(
    data: HeadData, vectors: Vectors, *, words_only: bool = False, show_progress: bool = False
) -> tuple[KnowledgeHead | None, DifficultyHead | None]:
    """Fit a head for each task with labels.

    Args:
        vectors: ``[questions of the bank, width]``.
        words_only: Leave the vectors out: a baseline.

    Raises:
        ValueError: The vectors are not finite, or their number differs from that of the questions.
    """
    if len(vectors) != len(data.bank):
        raise ValueError(f"{len(vectors)} vectors for {len(data.bank)} questions")
    if not np.isfinite(vectors).all():
        raise ValueError("the vectors hold NaN or infinity")
    knowledge = difficulty = None
    if data.knowledge is not None:
        sides = data.examples("knowledge", data.knowledge, vectors)
        knowledge = fit_knowledge_head(*sides, words_only=words_only, show_progress=show_progress)
    if data.difficulty is not None:
        sides = data.examples("difficulty", data.difficulty, vectors)
        difficulty = fit_difficulty_head(*sides, words_only=words_only)
    return knowledge, difficulty


@dataclass(frozen=True)
class Heads:
    """The heads of a model.

    Attributes:
        model: Folder of the model, relative to the heads' folder, or ``encoder:NAME``.
        fingerprint: Digest of its files (:func:`model_fingerprint`).
        knowledge, difficulty: None if the bank had no labels.
        facts: Training facts: bank, questions of each split, and so on.
    """

    model: str
    fingerprint: str
    knowledge: KnowledgeHead | None
    difficulty: DifficultyHead | None
    facts: dict[str, Any] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Write ``heads.json`` and a file of arrays for each head, atomically.

        Raises:
            FileExistsError: The folder holds something else.
        """
        from safetensors.numpy import save_file

        folder = folder.absolute()
        check_replaceable(folder)
        document: dict[str, Any] = {"model": self.model, "fingerprint": self.fingerprint, "version": __version__}
        with atomic_folder(folder) as made:
            for name, head in (("knowledge", self.knowledge), ("difficulty", self.difficulty)):
                document[name], tensors = head.state() if head is not None else (None, {})
                if tensors:
                    contiguous = {key: np.ascontiguousarray(value) for key, value in tensors.items()}
                    save_file(contiguous, made / f"{name}.safetensors")
            text = json.dumps(document | {"facts": self.facts}, ensure_ascii=False)
            (made / _FACTS).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Heads:
        """Read what ``save`` wrote.

        Raises:
            HeadsError: A file is missing or damaged.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        if not (folder / _FACTS).is_file():
            raise HeadsError(f"{folder}: no heads here ({_FACTS} is missing)")
        try:
            facts = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
            heads: Any = {
                name: kind.load(facts[name], load_file(folder / f"{name}.safetensors")) if facts[name] else None
                for name, kind in (("knowledge", KnowledgeHead), ("difficulty", DifficultyHead))
            }
            return cls(facts["model"], facts["fingerprint"], **heads, facts=facts["facts"])
        except (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise HeadsError(f"{folder}: these heads cannot be read: {type(error).__name__}: {error}") from error


def check_replaceable(folder: Path) -> None:
    """Raise FileExistsError if a folder holds anything but heads."""
    if folder.exists() and not (folder.is_dir() and ((folder / _FACTS).is_file() or not any(folder.iterdir()))):
        raise FileExistsError(f"{folder}: already exists and holds no heads")


def model_of_heads(source: str, folder: Path) -> str:
    """Return the path from heads in a folder to their model: ``..`` if they are inside it, so that both may move."""
    if source.startswith(ENCODER):
        return source
    is_inside = Path(source).resolve() / HEADS_FOLDER == folder.resolve()
    return ".." if is_inside else str(Path(source).absolute())


def heads_of(source: str) -> tuple[str, Heads]:
    """Find the model and the heads of a source.

    Args:
        source: A model's folder with ``heads/``, or a folder of heads.

    Returns:
        A model's folder or ``encoder:NAME``, and its heads.

    Raises:
        HeadsError: There are no heads, or they are from another model.
        FileNotFoundError: There is no such folder, or the heads' model is gone.
    """
    folder = Path(source)
    if (folder / _FACTS).is_file():
        heads, parent = Heads.load(folder), folder.absolute().parent
        model = heads.model
        if folder.absolute().name == HEADS_FOLDER and (parent / "config.json").is_file():  # both may have moved
            model = str(parent)
        elif not model.startswith(ENCODER):
            model = os.path.normpath(folder.absolute() / model)
    elif (folder / HEADS_FOLDER / _FACTS).is_file():
        heads, model = Heads.load(folder / HEADS_FOLDER), source
    else:
        raise HeadsError(f"{source}: {_missing(source)}")
    if not model.startswith(ENCODER) and not (Path(model) / "config.json").is_file():
        raise FileNotFoundError(f"{source}: the heads belong to {model}, where there is no model")
    if model_fingerprint(model) != heads.fingerprint:
        raise HeadsError(
            f"{source}: the heads were fitted to other weights than those of {model}; refit them: {_command(model)}"
        )
    return model, heads


def model_fingerprint(source: str) -> str:
    """Return the digest of a model's folder, or of the text encoder of ``encoder:NAME``.

    Raises:
        FileNotFoundError: There is no model.
        ImportError: The encoder's package is missing.
    """
    if not source.startswith(ENCODER):
        return content_digest(Path(source))
    from tqnet.modeling.pretrained import text_encoder_path

    path = Path(text_encoder_path(source.removeprefix(ENCODER)))
    return content_digest(path) if path.is_dir() else source  # a name on the hub


def _missing(source: str) -> str:
    if source.startswith(ENCODER):
        return f"an off-the-shelf encoder has no heads; fit them with {_command(source)} out=HEADS; use HEADS"
    if not Path(source).is_dir():
        return "no such folder"
    if not (Path(source) / "config.json").is_file():
        return "neither a model nor a folder of heads"
    return f"the model has no heads; fit them with {_command(source)}"


def _command(model: str) -> str:
    return f"python finetune/heads.py data.bank=BANK model={model}"


def check_levels(heads: Heads, levels: Sequence[int]) -> list[int]:
    """Return the requested levels, all by default; ValueError for an unknown one."""
    depth = heads.knowledge.tree.depth if heads.knowledge else 0
    for level in levels:
        if level > depth:
            known = f"levels 1 to {depth}" if depth else "no knowledge points"
            raise ValueError(f"--levels: there is no level {level}; the heads have {known}")
    return sorted(set(levels)) or list(range(1, depth + 1))


def predict(
    heads: Heads, vectors: Vectors, texts: Sequence[str], *, k: int, levels: Sequence[int], coverage: float
) -> list[dict[str, Any]]:
    """Return a JSON record per question: the likeliest concepts of each level, and difficulty with its interval.

    Args:
        vectors: ``[questions, width]``, from the heads' model.
        texts: ``question.content`` of each.
        k: Concepts per level; ties go to the first by name.
        levels: From 1, the coarsest.
        coverage: Share of questions whose difficulty is in the interval; the record has null for it and the ends if
            ``valid`` has too few groups.
    """
    records: list[dict[str, Any]] = [{} for _ in texts]
    if heads.knowledge is not None:
        tree = heads.knowledge.tree
        nodes = {level: tree.concepts(level) for level in levels}
        for record, chance in zip(records, heads.knowledge.predict(vectors, texts), strict=True):
            record["knowledge"] = [
                {
                    "level": level,
                    "concepts": [
                        {"path": list(tree.nodes[i]), "probability": round(float(chance[i]), 6)}
                        for i in concepts[np.argsort(-chance[concepts], kind="stable")[:k]]
                    ],
                }
                for level, concepts in nodes.items()
            ]
    if heads.difficulty is not None:
        for record, value, low, high in zip(records, *heads.difficulty.predict(vectors, texts, coverage), strict=True):
            ends = [round(float(end), 4) if np.isfinite(end) else None for end in (low, high)]
            record["difficulty"] = {
                "value": round(float(value), 4),
                "low": ends[0],
                "high": ends[1],
                "coverage": None if None in ends else coverage,
            }
    return records
