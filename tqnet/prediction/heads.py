"""The heads of a model in a folder: saving, loading, finding and predicting."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tqnet.evaluation.sources import ENCODER
from tqnet.files import atomic_folder, content_digest
from tqnet.prediction.difficulty import DifficultyHead
from tqnet.prediction.features import Vectors
from tqnet.prediction.knowledge import KnowledgeHead
from tqnet.prediction.tree import FloatMatrix
from tqnet.version import __version__

#: Folder of the heads beside a model's weights.
BESIDE = "heads"

_FACTS = "heads.json"


class HeadsError(ValueError):
    """Heads that are missing, damaged, or another model's."""


@dataclass(frozen=True)
class Heads:
    """The heads of a model.

    Attributes:
        model: Folder of the model, relative to that of the heads, or ``encoder:NAME``.
        fingerprint: Of its files (:func:`model_fingerprint`).
        knowledge, difficulty: None if the bank had no labels.
        facts: On the training: bank, questions of each split, and so on.
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
        document: dict[str, Any] = {
            "model": self.model,
            "fingerprint": self.fingerprint,
            "version": __version__,
            "facts": self.facts,
        }
        with atomic_folder(folder) as made:
            for name, head in (("knowledge", self.knowledge), ("difficulty", self.difficulty)):
                document[name] = None if head is None else head.to_dict()
                if head is not None:
                    tensors = {key: np.ascontiguousarray(value) for key, value in head.tensors().items()}
                    save_file(tensors, made / f"{name}.safetensors")
            (made / _FACTS).write_text(json.dumps(document, ensure_ascii=False) + "\n", encoding="utf-8")

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
            tensors = {
                name: load_file(folder / f"{name}.safetensors") for name in ("knowledge", "difficulty") if facts[name]
            }
            return cls(
                facts["model"],
                facts["fingerprint"],
                KnowledgeHead.load(facts["knowledge"], tensors["knowledge"]) if "knowledge" in tensors else None,
                DifficultyHead.load(facts["difficulty"], tensors["difficulty"]) if "difficulty" in tensors else None,
                facts["facts"],
            )
        except (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise HeadsError(f"{folder}: these heads cannot be read: {type(error).__name__}: {error}") from error


def check_replaceable(folder: Path) -> None:
    """Raise FileExistsError if a folder holds anything but heads."""
    if folder.exists() and not (folder.is_dir() and ((folder / _FACTS).is_file() or not any(folder.iterdir()))):
        raise FileExistsError(f"{folder}: is there already, and holds no heads")


def model_of_heads(source: str, folder: Path) -> str:
    """Return the reference of heads in a folder to their model: ``..`` if they lie in it, so that both may move."""
    if source.startswith(ENCODER):
        return source
    beside = Path(source).resolve() / BESIDE == folder.resolve()
    return ".." if beside else str(Path(source).absolute())


def heads_of(source: str) -> tuple[str, Heads]:
    """Find the model and the heads of a source.

    Args:
        source: A model's folder with ``heads/``, or a folder of heads.

    Returns:
        A model's folder or ``encoder:NAME``, and its heads.

    Raises:
        HeadsError: There are no heads, or they are another model's.
        FileNotFoundError: There is no such folder, or the model of the heads is gone.
    """
    folder = Path(source)
    if (folder / _FACTS).is_file():
        heads = Heads.load(folder)
        parent = folder.absolute().parent
        if folder.absolute().name == BESIDE and (parent / "config.json").is_file():  # wherever both have moved to
            model = str(parent)
        else:
            model = heads.model
            if not model.startswith(ENCODER):
                model = os.path.normpath(folder.absolute() / model)
    elif (folder / BESIDE / _FACTS).is_file():
        heads, model = Heads.load(folder / BESIDE), source
    else:
        raise HeadsError(_missing(source))
    if not model.startswith(ENCODER) and not (Path(model) / "config.json").is_file():
        raise FileNotFoundError(f"{source}: the heads belong to {model}, where there is no model")
    if model_fingerprint(model) != heads.fingerprint:
        raise HeadsError(
            f"{source}: the heads were fitted to other weights than those of {model}; refit them: {_command(model)}"
        )
    return model, heads


def model_fingerprint(source: str) -> str:
    """Return the digest of the files of a model's folder, or of the text encoder of ``encoder:NAME``.

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
        return f"{source}: an off-the-shelf encoder has no heads; fit them with {_command(source)} out=HEADS; use HEADS"
    if not Path(source).is_dir():
        return f"{source}: no such folder"
    if not (Path(source) / "config.json").is_file():
        return f"{source}: neither a model nor a folder of heads"
    return f"{source}: the model has no heads; fit them with {_command(source)}"


def _command(model: str) -> str:
    return f"python finetune/heads.py data.bank=BANK model={model}"


def check_levels(heads: Heads, levels: Sequence[int]) -> list[int]:
    """Return the requested levels, by default all; ValueError for one that the head does not have."""
    depth = heads.knowledge.tree.depth if heads.knowledge else 0
    for level in levels:
        if level > depth:
            known = f"levels 1 to {depth}" if depth else "no knowledge points"
            raise ValueError(f"--levels: there is no level {level}; the heads have {known}")
    return sorted(set(levels)) or list(range(1, depth + 1))


def predict(
    heads: Heads, vectors: Vectors, texts: Sequence[str], *, k: int, levels: Sequence[int], coverage: float
) -> list[dict[str, Any]]:
    """Return a JSON record for each question: the likeliest concepts of each level, and difficulty with its interval.

    Args:
        vectors: ``[questions, width]``, by the model of the heads.
        texts: ``question.content`` of each.
        k: Concepts of each level.
        levels: From 1, the coarsest.
        coverage: Share of questions whose interval of difficulty holds; null, without ends, if ``valid`` has too few
            groups for it.
    """
    records: list[dict[str, Any]] = [{} for _ in texts]
    if heads.knowledge is not None:
        chance = heads.knowledge.predict(vectors, texts)
        for record, row in zip(records, chance, strict=True):
            record["knowledge"] = [
                {"level": level, "concepts": _likeliest(heads.knowledge, row, level, k)} for level in levels
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


def _likeliest(head: KnowledgeHead, chance: FloatMatrix, level: int, k: int) -> list[dict[str, Any]]:
    """Return the ``k`` likeliest concepts of a level, ties by name, from a question's ``chance`` [nodes]."""
    nodes = head.tree.concepts(level)
    order = nodes[np.argsort(-chance[nodes], kind="stable")[:k]]
    return [{"path": list(head.tree.nodes[i]), "probability": round(float(chance[i]), 6)} for i in order]
