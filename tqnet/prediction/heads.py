"""The heads of one model in a folder: what they predict, and a mark of whose vectors they read."""

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
    """There are no heads, or they are another model's, or damaged."""


@dataclass(frozen=True)
class Heads:
    """What is predicted from a model's vectors.

    Attributes:
        model: Where the model was: a folder, from that of the heads where it is not absolute, or ``encoder:NAME``.
        fingerprint: Of its files (:func:`model_fingerprint`).
        knowledge, difficulty: None where the bank had no labels for it.
        facts: On the training: bank, questions of each split, and so on.
    """

    model: str
    fingerprint: str
    knowledge: KnowledgeHead | None
    difficulty: DifficultyHead | None
    facts: dict[str, Any] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Write ``heads.json`` and a file of weights for each head; the folder appears whole or not at all.

        Raises:
            FileExistsError: Something else is there (:func:`check_replaceable`).
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
            HeadsError: There are none, or a file is damaged or missing.
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
    """Whether heads may be written to a folder, in place of what is there.

    Raises:
        FileExistsError: What is there are no heads.
    """
    if folder.exists() and not (folder.is_dir() and ((folder / _FACTS).is_file() or not any(folder.iterdir()))):
        raise FileExistsError(f"{folder}: is there already, and holds no heads")


def model_of_heads(source: str, folder: Path) -> str:
    """What heads in a folder call their model: ``..`` where they lie beside it, so that both may move."""
    if source.startswith(ENCODER):
        return source
    beside = Path(source).resolve() / BESIDE == folder.resolve()
    return ".." if beside else str(Path(source).absolute())


def heads_of(source: str) -> tuple[str, Heads]:
    """The model and the heads that a source names.

    Args:
        source: A model's folder with ``heads/`` beside its weights, or a folder of heads, which says whose they are.

    Returns:
        A model's folder or ``encoder:NAME``, and its heads.

    Raises:
        HeadsError: No heads, or those of another model.
        FileNotFoundError: No such folder, or the model that the heads belong to is gone.
    """
    folder = Path(source)
    if (folder / _FACTS).is_file():
        heads = Heads.load(folder)
        # Beside their model, wherever both have moved to.
        if _is_beside(folder):
            model = str(folder.absolute().parent)
        else:
            model = (
                heads.model if heads.model.startswith(ENCODER) else os.path.normpath(folder.absolute() / heads.model)
            )
    elif (folder / BESIDE / _FACTS).is_file():
        heads, model = Heads.load(folder / BESIDE), source
    else:
        raise HeadsError(_missing(source))
    if not model.startswith(ENCODER) and not (Path(model) / "config.json").is_file():
        raise FileNotFoundError(f"{source}: the heads are those of {model}, where no model is")
    if model_fingerprint(model) != heads.fingerprint:
        raise HeadsError(
            f"{source}: the heads were fitted to other weights than those of {model}; fit them anew: {_command(model)}"
        )
    return model, heads


def model_fingerprint(source: str) -> str:
    """Of the files of a model's folder, or of the text encoder that ``encoder:NAME`` names.

    Raises:
        FileNotFoundError: There is no model.
        ImportError: The encoder's package is missing.
    """
    if not source.startswith(ENCODER):
        return content_digest(Path(source))
    from tqnet.modeling.pretrained import text_encoder_path

    path = Path(text_encoder_path(source.removeprefix(ENCODER)))
    return content_digest(path) if path.is_dir() else source  # a name on the hub


def _is_beside(folder: Path) -> bool:
    return folder.absolute().name == BESIDE and (folder.absolute().parent / "config.json").is_file()


def _missing(source: str) -> str:
    if source.startswith(ENCODER):
        return (
            f"{source}: an encoder as it comes has no heads; fit them with {_command(source)} out=HEADS, and name HEADS"
        )
    if not Path(source).is_dir():
        return f"{source}: no such folder"
    if not (Path(source) / "config.json").is_file():
        return f"{source}: neither a model nor a folder of heads"
    return f"{source}: the model has no heads; fit them with {_command(source)}"


def _command(model: str) -> str:
    return f"python finetune/heads.py data.bank=BANK model={model}"


# Predictions of questions: the likeliest concepts of every level, and difficulty with its interval.


def check_levels(heads: Heads, levels: Sequence[int]) -> list[int]:
    """The levels that are asked for, all where none is.

    Raises:
        ValueError: One that the head does not have.
    """
    depth = heads.knowledge.tree.depth if heads.knowledge else 0
    for level in levels:
        if level > depth:
            known = f"levels 1 to {depth}" if depth else "no knowledge points"
            raise ValueError(f"--levels: there is no level {level}; the heads have {known}")
    return sorted(set(levels)) or list(range(1, depth + 1))


def predict(
    heads: Heads, vectors: Vectors, texts: Sequence[str], *, k: int, levels: Sequence[int], coverage: float
) -> list[dict[str, Any]]:
    """Of each question a plain object for JSON.

    Args:
        vectors: ``[questions, width]``, by the model of the heads.
        texts: ``question.content`` of each.
        k: Concepts of each level, the likeliest first.
        levels: Which, 1 the coarsest.
        coverage: Share of questions for which the interval of difficulty is to hold; null, and no ends, in a record
            where ``valid`` has too few groups for it.
    """
    records: list[dict[str, Any]] = [{} for _ in texts]
    if heads.knowledge is not None:
        chance = heads.knowledge.predict(vectors, texts)
        for record, own in zip(records, chance, strict=True):
            record["knowledge"] = [
                {"level": level, "concepts": likeliest(heads.knowledge, own, level, k)} for level in levels
            ]
    if heads.difficulty is not None:
        for record, value, low, high in zip(records, *heads.difficulty.predict(vectors, texts, coverage), strict=True):
            ends = [round(float(end), 4) if np.isfinite(end) else None for end in (low, high)]
            holds = None if None in ends else coverage
            record["difficulty"] = {
                "value": round(float(value), 4),
                "low": ends[0],
                "high": ends[1],
                "coverage": holds,
            }
    return records


def likeliest(head: KnowledgeHead, chance: FloatMatrix, level: int, k: int) -> list[dict[str, Any]]:
    """The ``k`` likeliest concepts of a level, equals by name; ``chance [nodes]`` of one question."""
    own = head.tree.concepts(level)
    order = own[np.argsort(-chance[own], kind="stable")[:k]]
    return [{"path": list(head.tree.nodes[i]), "probability": round(float(chance[i]), 6)} for i in order]
