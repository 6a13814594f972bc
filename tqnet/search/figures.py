"""Figures as separate records, found by their looks: from their pixels, whatever the model of an index reads."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from PIL import Image
from scipy.fft import dctn

from tqnet.questions import Question
from tqnet.questions.images import open_figure
from tqnet.search.engine import SearchEngine, id_filters
from tqnet.search.records import FIELDS, Filter, schema, table_vectors, unit

#: Side of the square that a figure is scaled to, and number of frequencies kept in each direction: chosen on copies in
#: geometry's `valid` (``reproduce.benchmarks.figures``).
_SIDE, _WAVES = 64, 16

#: Length of a figure's vector.
WIDTH = _WAVES**2

#: Minimum difference in grey, 0 to 255, from the margin; JPEG noise is less.
_DRAWN = 40

#: Share of a side that a careless screenshot cuts off.
_CUT = 0.035

#: Cosine that is meaningless: usually that of the nearest of 5,000 other drawings.
_OTHER = 0.6

#: Factor on the scores of questions without the query's figure: for a query with text, and for a figure alone.
_BESIDE_TEXT, _ALONE = 0.9, 0.5


def describe(figure: np.ndarray) -> np.ndarray:
    """Describe a figure, uint8 ``[H, W, 3]``, by its low frequencies without its margin.

    Returns:
        float32 ``[2, 256]``, for the figure as it is and as if it had been cropped; each of length 1, or 0 if nothing
        is drawn.
    """
    grey = np.asarray(Image.fromarray(figure).convert("L"), dtype=np.float32)
    grey = grey - np.median(np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]]))
    drawn = np.abs(grey) > _DRAWN
    rows, columns = (np.flatnonzero(drawn.any(axis)) for axis in (1, 0))
    if len(rows):
        grey = grey[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    return unit(np.stack([_waves(grey, cut) for cut in (0.0, _CUT)]))


def _waves(grey: np.ndarray, cut: float) -> np.ndarray:
    """Return the frequencies ``[256]`` of a figure ``[h, w]`` centred in a square, with ``cut`` added on each side."""
    side = round(max(grey.shape) * (1 + 2 * cut))
    wide = grey if grey.shape[1] >= grey.shape[0] else grey.T
    # One side after the other, the longer one first: the square of a long thin figure would not fit into memory.
    small = _scaled(_scaled(wide, side).T, side).T
    waves = dctn(small if wide is grey else small.T, norm="ortho")[:_WAVES, :_WAVES]
    waves[0, 0] = 0  # overall darkness
    return (np.sign(waves) * np.sqrt(np.abs(waves))).ravel()  # so that no frequency drowns out the others


def _scaled(rows: np.ndarray, side: int) -> np.ndarray:
    """Centre rows ``[n, width]`` in rows of length ``side``, and scale them to ``[n, 64]``."""
    height, width = rows.shape
    left = (side - width) // 2
    longer = np.pad(rows, ((0, 0), (left, side - width - left)))
    return np.asarray(Image.fromarray(longer).resize((_SIDE, height), Image.Resampling.BILINEAR))


def figure_records(questions: pa.Table) -> pa.Table:
    """Return a record for each readable figure of ``questions`` (`tqnet.search.records`).

    Filter fields and ``state`` are the question's; ``content`` is the question's id, and texts are empty.
    """
    rows, ids, vectors = [], [], [np.zeros(0, np.float32)]
    for row, (id, paths) in enumerate(zip(questions["id"].to_pylist(), questions["images"].to_pylist(), strict=True)):
        for number, path in enumerate(paths, 1):
            with suppress(OSError):
                vectors.append(describe(open_figure(path))[0])
                rows.append(row)
                ids.append(_figure_id(id, number))
    copied = questions.take(pa.array(rows, pa.int64()))
    columns = {
        "id": pa.array(ids, pa.string()),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(np.concatenate(vectors), pa.float32()), WIDTH),
        "content": copied["id"],
        **{field: copied[field] for field in ("state", *FIELDS) if field != "id"},
    }
    empty = {
        field.name: pa.array([[] if pa.types.is_list(field.type) else ""] * len(rows), field.type)
        for field in schema(WIDTH)
        if field.name not in columns
    }
    return pa.table(columns | empty, schema=schema(WIDTH))


def _figure_id(question: str, number: int) -> str:
    return f"{question}#{number}"


def filters_of_questions(ids: Collection[str]) -> Iterator[Filter]:
    """Yield filters for the figures of questions."""
    return (replace(condition, field="content") for condition in id_filters(sorted(ids)))


@dataclass(frozen=True)
class Looks:
    """The figures of a query, to compare with those of an index.

    Attributes:
        vectors: Vectors of `describe`, without zeros, ``[n, 256]``.
    """

    engine: SearchEngine
    vectors: np.ndarray

    @classmethod
    def read(cls, engine: SearchEngine, figures: Sequence[str]) -> Looks | None:
        """Read the figures at these paths, skipping missing, damaged and blank ones; None if none is left."""
        described = [np.zeros((0, WIDTH), np.float32)]
        for path in figures:
            with suppress(OSError):
                described.append(describe(open_figure(path)))
        vectors = np.concatenate(described)
        drawn = vectors[vectors.any(1)]
        return cls(engine, drawn) if len(drawn) else None

    def nearest(self, k: int, where: Sequence[Filter] = ()) -> list[str]:
        """Return the ids of the questions with the ``k`` figures nearest to each figure of the query."""
        where = [replace(condition, field="content") if condition.field == "id" else condition for condition in where]
        hits = [hit for vector in self.vectors for hit in self.engine.by_vector(vector, k, where, ["content"])]
        return list(dict.fromkeys(hit.row["content"] for hit in sorted(hits, key=lambda hit: (-hit.score, hit.id))))

    def cosines(self, figures: Mapping[str, int]) -> dict[str, float]:
        """Return question -> best cosine of its figures with those of the query.

        Args:
            figures: Question -> number of its figures.
        """
        ids = [_figure_id(id, number) for id, count in figures.items() for number in range(1, count + 1)]
        table = self.engine.get(ids, ["content", "vector"])
        best = (table_vectors(table) @ self.vectors.T).max(1)
        cosines: dict[str, float] = {}
        for id, cosine in zip(table["content"].to_pylist(), best.tolist(), strict=True):
            cosines[id] = max(round(cosine, 6), cosines.get(id, -1.0))
        return cosines


def figure_evidence(cosine: float | None) -> float:
    """Return the evidence of a figure for a question, from 0 to 1; 1 for the same picture."""
    return max((cosine or 0.0) - _OTHER, 0.0) / (1 - _OTHER)


def with_figures(query: Question, scores: Sequence[float] | np.ndarray, cosines: Sequence[float | None]) -> np.ndarray:
    """Add the cosines of figures to scores of at most 1, ``[candidates]``; unchanged if there are none.

    The same figure makes a score 1; a cosine of 0.96 beats any text without a similar figure. With figures, a score
    below 0 counts as 0: a similar figure is found whatever the text.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if all(cosine is None for cosine in cosines):
        return scores
    evidence = np.array(list(map(figure_evidence, cosines)))
    return evidence + (1 - evidence) * (_BESIDE_TEXT if query.content.strip() else _ALONE) * np.maximum(scores, 0)
