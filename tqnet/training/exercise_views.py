"""What the ranking stage reads of a pair of exercises (FSE, "Discovering New Tasks")."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch

from tqnet.modeling.images import fit_square, open_figure
from tqnet.modeling.processor import TQNetProcessor
from tqnet.questions import Question, QuestionBank, Similarity
from tqnet.search.evidence import EVIDENCE
from tqnet.training.data import Batch, Item, QuestionViews
from tqnet.training.exercise_pairs import ExercisePairs, dissimilar, questions_of_concepts

#: Of a pair: are the questions similar (stems and options), do their analyses match, is an analysis that of a stem?
TASKS = ("questions", "analyses", "analysis")


class PairViews(QuestionViews):
    """Pairs as a DataLoader hands them out: for each task that a pair has, both texts as one.

    A batch's ``index`` are numbers of pairs; its inputs have a row for each task of each pair, and ``extras`` say of
    the row: its ``pair`` (place in the batch), ``task`` (number in `TASKS`), ``label``, float, and ``evidence``
    ``[rows, 3]``, 0 but for the first task: recall knows nothing of analyses.

    Args:
        analyses: Whether pairs have the tasks that read analyses, where there are any (FSE's T2 and T3).
            NOTE: of T3, where the paper has both, a pair has a positive or a negative, drawn anew in every epoch; and
            its negatives of similar pairs are chosen by ``similarity``, whatever the noise in the labels.
        length: Tokens of a pair.
    """

    def __init__(
        self,
        pairs: ExercisePairs,
        bank: QuestionBank,
        similarity: Similarity,
        processor: TQNetProcessor,
        seed: int,
        length: int,
        analyses: bool = True,
        workers: int = 0,
        read_images: bool = True,
    ):
        super().__init__(bank, processor, seed, workers=workers, read_images=read_images)
        self.pairs, self.similarity, self.length, self.analyses = pairs, similarity, length, analyses
        self._analysed = np.array([bool(text) for text in bank.column("analysis")], dtype=bool)
        self._of_concept = questions_of_concepts(bank) if analyses else {}

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, item: Item) -> tuple[Item, list[_Row]]:  # type: ignore[override]
        epoch, number, _ = item
        ends = int(self.pairs.query[number]), int(self.pairs.candidate[number])
        query, candidate = (self.bank[end] for end in ends)
        similar = bool(self.pairs.similar[number])
        evidence = self.pairs.evidence[number]
        rows = [_Row("questions", query.content, candidate.content, similar, (query, candidate), evidence)]
        if self.analyses and query.analysis:
            if candidate.analysis:
                rows.append(_Row("analyses", query.analysis, candidate.analysis, similar))
            rng = np.random.default_rng([self.seed, epoch, number])
            if rng.random() < 0.5:
                rows.append(_Row("analysis", query.content, query.analysis, True, (query, None)))
            elif wrong := candidate.analysis if not similar else self._wrong_analysis(ends[0], rng):
                rows.append(_Row("analysis", query.content, wrong, False, (query, None)))
        return item, rows

    def _wrong_analysis(self, query: int, rng: np.random.Generator) -> str | None:
        """That of a question of the same concept: a similar one's might fit."""
        others = [at for path in self.bank[query].knowledge for at in self._of_concept[path] if self._analysed[at]]
        drawn = dissimilar(others, query, self.similarity.neighbours(query), 1, rng)
        return self.bank[drawn[0]].analysis if drawn else None

    def collate(self, rows: list[tuple[Item, list[_Row]]]) -> Batch:  # type: ignore[override]
        """Rows of :meth:`__getitem__` as a :class:`Batch`."""
        size = self.processor.image_processor.image_size
        flat = [(place, row) for place, (_, of) in enumerate(rows) for row in of]
        first = self.processor.tokenize([row.first for _, row in flat])
        second = self.processor.tokenize([row.second for _, row in flat])
        ids = [self.processor.join(a, b, self.length) for a, b in zip(first, second, strict=True)]
        figures = [[fit_square(open_figure(path), size) for path in self._paths(row)] for _, row in flat]
        extras = {
            "pair": torch.tensor([place for place, _ in flat]),
            "task": torch.tensor([TASKS.index(row.task) for _, row in flat]),
            "label": torch.tensor([float(row.label) for _, row in flat]),
            "evidence": torch.tensor(np.stack([row.evidence for _, row in flat])),
        }
        return Batch(
            torch.tensor([number for (_, number, _), _ in rows]), [dict(self.processor.pack(ids, figures))], extras
        )

    def _paths(self, row: _Row) -> list[str]:
        first, second = (question.images if question and self.read_images else () for question in row.of)
        return self.processor.join_images(first, second)

    def ids(self, index: torch.Tensor) -> list[str]:
        """Ids of both questions of the pairs of a batch."""
        ends = ((self.pairs.query[i], self.pairs.candidate[i]) for i in index.tolist())
        return [" and ".join(self.bank[int(end)].id for end in pair) for pair in ends]


@dataclass(frozen=True)
class _Row:
    """What one task reads of a pair.

    Attributes:
        of: The questions whose figures belong to the two texts.
        evidence: What recall finds the second by, ``[3]``.
    """

    task: str
    first: str
    second: str
    label: bool
    of: tuple[Question | None, Question | None] = (None, None)
    evidence: np.ndarray = field(default_factory=lambda: np.zeros(len(EVIDENCE), dtype=np.float32))
