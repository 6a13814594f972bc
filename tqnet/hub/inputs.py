"""Encoders of questions in other libraries, and their inputs there: texts, figures, dicts of both, turns of a chat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from tqnet.modeling.build import load_model
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.interchange import kind_of
from tqnet.modeling.processor import as_question
from tqnet.questions import Question
from tqnet.questions.images import figure_array, fit_square, open_figure

#: A figure, or its path.
Figure = str | Image.Image | np.ndarray | Tensor


def load_encoder(folder: str) -> QuestionEncoder:
    """Load a trained folder.

    Raises:
        FileNotFoundError: The folder holds no model.
        ValueError: Its model is not an encoder of questions, or its weights are damaged.
    """
    kind = kind_of(folder)
    if not kind.gives_vectors:
        raise ValueError(f"{folder}: a {kind.what}, not an encoder of questions; {kind.taken_by} takes it")
    return load_model(folder)


@dataclass(frozen=True)
class Read:
    """The text of a question, and its figures, which need not be files."""

    text: str
    figures: tuple[Figure, ...] = ()


def read(item: Any) -> Read:
    """Read an input.

    Args:
        item: A text; a question as :meth:`~tqnet.modeling.encoder.QuestionEncoder.encode` takes it; a figure; a dict
            of ``text`` and ``image``, each a value or a list; or a turn of a chat (``role``, ``content``), or a list of
            turns, whose texts and figures are read in order.

    Raises:
        ValueError: Anything else, audio and video included.
        FieldError: A field of a question is invalid.
    """
    if isinstance(item, Image.Image | np.ndarray | Tensor):
        return Read("", (item,))
    turns = item if isinstance(item, list) else [item]
    if turns and all(isinstance(turn, Mapping) and "content" in turn for turn in turns):
        return _joined(map(_of_turn, turns))
    if isinstance(item, Mapping) and item.keys() & {"text", "image", "audio", "video"}:
        return _of_parts(item)
    if isinstance(item, str | Question | Mapping):
        return _of_question(item)
    raise ValueError(f"input: expected a text, a figure or a dict of text and image, got {type(item).__name__}")


def pack(model: QuestionEncoder, questions: Sequence[Read]) -> dict[str, Tensor]:
    """Pack a batch for ``model``, without figures if it reads none.

    Raises:
        OSError: A figure cannot be read; the message has its path.
        ValueError: An array is not a figure.
    """
    processor = model.processor
    ids = processor.tokenize([question.text for question in questions])
    if not model.config.reads_images:
        return processor.pack_text(ids)
    size = processor.image_processor.image_size
    figures = [processor.kept_images(question.figures) for question in questions]
    return dict(processor.pack(ids, [[fit_square(_array(figure), size) for figure in shown] for shown in figures]))


def _of_question(item: Any) -> Read:
    question = as_question(item)
    return Read(question.content, question.images)


def _of_parts(parts: Mapping[str, Any]) -> Read:
    if unread := sorted(parts.keys() - {"text", "image"}):
        raise ValueError(f"input: {unread[0]!r} is not read, only text and image")
    texts = [_of_question(text) for text in _listed(parts.get("text"))]
    return _joined([*texts, Read("", tuple(_listed(parts.get("image"))))])


def _of_turn(turn: Mapping[str, Any]) -> Read:
    content = turn["content"]
    if isinstance(content, str):
        return _of_question(content)
    # {"type": "text", "text": ...}, {"type": "image", "image": ...}
    return _joined(_of_parts({name: value for name, value in part.items() if name != "type"}) for part in content)


def _joined(parts: Iterable[Read]) -> Read:
    parts = list(parts)
    text = "\n".join(part.text for part in parts if part.text)
    return Read(text, tuple(figure for part in parts for figure in part.figures))


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _array(figure: Figure) -> np.ndarray:
    """Convert a path, an image, or an array [H, W, c] or [c, H, W], uint8 or from 0 to 1, to uint8 [H, W, 3]."""
    if isinstance(figure, str):
        if "://" in figure or figure.startswith("data:"):
            raise ValueError(f"figure: {figure[:60]!r} is not a file; nothing is fetched")
        return open_figure(figure)
    if isinstance(figure, Image.Image):
        return figure_array(figure)
    if isinstance(figure, torch.Tensor):
        figure = figure.detach().cpu().numpy()
    if not isinstance(figure, np.ndarray) or figure.ndim not in (2, 3):
        raise ValueError(f"figure: expected a path, an image or an array of three axes, got {type(figure).__name__}")
    if figure.ndim == 3:
        if figure.shape[0] in (1, 3, 4) and figure.shape[2] not in (1, 3, 4):
            figure = figure.transpose(1, 2, 0)
        if figure.shape[2] not in (1, 3, 4):
            raise ValueError(f"figure: an array of shape {list(figure.shape)} is not an image")
        figure = figure[:, :, 0] if figure.shape[2] == 1 else figure
    if np.issubdtype(figure.dtype, np.floating):
        figure = (figure.clip(0, 1) * 255).round()
    return figure_array(Image.fromarray(figure.astype(np.uint8)))
