"""``tqnet predict`` and ``evaluate predict``: knowledge points and difficulty of new questions."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tqnet.cli.groups import (
    BANK,
    EncodingOptions,
    LeakageOptions,
    LineOptions,
    ReadingOptions,
    ReportOptions,
    SplitOptions,
    StageOptions,
    VectorOptions,
    typed_question,
)
from tqnet.cli.options import Command, argument, count, number, option, switch, whole_number

if TYPE_CHECKING:
    import numpy as np

    from tqnet.prediction.difficulty import DifficultyHead
    from tqnet.prediction.knowledge import KnowledgeHead
    from tqnet.questions import QuestionBank

#: Number of questions encoded and predicted at a time, before they are written.
_CHUNK = 1024

HEADS = "a trained model with heads next to it, or a folder of heads"


@dataclass(frozen=True, kw_only=True)
class Predict(Command, LineOptions, ReadingOptions, EncodingOptions, name="predict"):
    """Predict knowledge points and difficulty of new questions.

    For each question: the likeliest concepts of every level with calibrated probabilities, where a parent is at least
    as likely as its child, and the difficulty with an interval, as far as the model has heads (finetune/heads.py) for
    them.
    """

    model: str = option(HEADS, required=True, metavar="DIR")
    bank: str | None = option("the questions: " + BANK)
    text: str | None = option("a single question: a stem with LaTeX formulas")
    image: Sequence[str] = option("figures of the single question", default=(), metavar="FILE")
    top: int = count("number of concepts per level", "-k", "--top", default=3)
    levels: Sequence[int] = option(
        "levels to predict, 1 the coarsest; by default all", default=(), type=whole_number(1), metavar="N"
    )
    coverage: float = option(
        "share of questions whose difficulty lies in their interval", default=0.9, type=number(0, 1, above=True)
    )

    def run(self) -> None:
        from tqnet.files import atomic
        from tqnet.prediction.heads import check_levels, heads_of

        if bool(self.bank) == bool(self.text or self.image):
            raise ValueError("give --bank, or a single question with --text and --image")
        if self.coverage >= 1:
            raise ValueError("--coverage: an interval that always holds says nothing; take less than 1")
        out = self.out_file
        source, heads = heads_of(self.model)
        levels = check_levels(heads, list(self.levels))
        questions = self.load(self.bank) if self.bank else [typed_question(self.text, self.image)]
        if heads.difficulty is not None and (why := heads.difficulty.why_no_interval(self.coverage)):
            print(f"tqnet: {why}", file=sys.stderr)
        records = self._records(source, heads, questions, levels)
        if out is None:
            for record in records:
                print(json.dumps(record, ensure_ascii=False) if self.json else _shown(record))
            return
        # Closed before an error is printed, so that the progress bar does not follow it.
        with closing(records), atomic(out) as temporary, temporary.open("w", encoding="utf-8") as stream:
            for record in records:
                line = json.dumps(record, ensure_ascii=False)
                stream.write(line + "\n")
                if self.json:
                    print(line)
        if not self.json:
            print(f"{len(questions):,} questions: {out}")

    def _records(
        self, source: str, heads: Any, questions: Any, levels: Sequence[int]
    ) -> Generator[dict[str, Any], None, None]:
        """Yield each question's id and predictions, chunk by chunk in bounded memory."""
        import numpy as np
        from tqdm import tqdm

        from tqnet.evaluation.sources import open_source
        from tqnet.prediction.heads import predict

        model = open_source(source)
        with tqdm(total=len(questions), unit=" questions", desc="predict", disable=not self.bank) as progress:
            for start in range(0, len(questions), _CHUNK):
                rows = range(start, min(start + _CHUNK, len(questions)))
                chunk = questions.select(np.array(rows)) if self.bank else questions
                texts = [question.content for question in chunk]
                vectors = model.encode(chunk, **self.settings)
                predictions = predict(heads, vectors, texts, k=self.top, levels=levels, coverage=self.coverage)
                for question, record in zip(chunk, predictions, strict=True):
                    yield ({"id": question.id} if self.bank else {"text": question.stem}) | record
                progress.update(len(rows))


def _shown(record: dict[str, Any]) -> str:
    """Return the concepts with their probabilities in per cent, level by level, and the difficulty."""
    lines = [str(record["id"])] if "id" in record else []
    for level in record.get("knowledge", ()):
        lines.append(f"level {level['level']}")
        lines += [f"  {100 * c['probability']:5.1f} %  {' > '.join(c['path'])}" for c in level["concepts"]]
    if difficulty := record.get("difficulty"):
        line, coverage = f"difficulty {difficulty['value']:.2f}", difficulty["coverage"]
        if coverage is not None:
            line += f", with {100 * coverage:g} % between {difficulty['low']:.2f} and {difficulty['high']:.2f}"
        lines.append(line)
    return "\n".join(lines)


_BASELINE = "TF-IDF + logistic regression"


@dataclass(frozen=True, kw_only=True)
class EvaluatePredict(
    Command, StageOptions, SplitOptions, LeakageOptions, VectorOptions, ReportOptions, ReadingOptions, EncodingOptions,
    name="evaluate predict",
):  # fmt: skip
    """Measure accuracy and calibration of tqnet predict."""

    stages: Sequence[str] = argument(HEADS, nargs="+", metavar="NAME=DIR")
    bank: str = option("labelled questions: " + BANK, required=True)
    coverage: float = option("coverage of the intervals of difficulty", default=0.9, type=number(0, 0.999, above=True))
    no_baselines: bool = switch(f"leave out {_BASELINE}, fitted to the bank's train split")

    def run(self) -> None:
        import numpy as np

        from tqnet.evaluation.sources import source_vectors
        from tqnet.prediction.evaluation import difficulty_table, knowledge_table, reliability_plot
        from tqnet.prediction.heads import HeadData, fit_heads, heads_of

        heads = {name: heads_of(source) for name, source in self.sources().items()}
        bank = self.load(self.bank)
        split_rows, measured = self._rows(bank)
        rows = split_rows[measured]
        self.make_folder()
        left_out = ""
        models: dict[str, tuple[KnowledgeHead | None, DifficultyHead | None, np.ndarray]] = {}
        if not self.no_baselines:
            try:
                data = HeadData.of(bank)
            except ValueError as error:
                left_out = f"{_BASELINE} is left out: {error}"
                print(f"tqnet: {left_out}", file=sys.stderr)
            else:
                empty = np.zeros((len(bank), 1), dtype=np.float32)
                fitted = fit_heads(data, empty, words_only=True, show_progress=True)
                models[_BASELINE] = (*fitted, empty[: len(rows)])
        encoding = self.encoding()
        for name, (source, head) in heads.items():
            vectors = source_vectors(source, bank, encoding, self.cache, split_rows)
            models[name] = (head.knowledge, head.difficulty, vectors[measured])
        knowledge, difficulty = _scores(models, bank, rows, self.coverage)
        tables = [knowledge_table(knowledge)] if knowledge else []
        tables += [difficulty_table(difficulty)] if difficulty else []
        if not tables:
            raise ValueError(f"{self.bank}: split {self.split!r} has no labels for what the heads predict")
        without = ", duplicates left out" if self.without_duplicates else ""
        facts = {
            "bank": f"{bank.name}, {len(rows):,} questions of {self.split}{without}, fingerprint {bank.fingerprint}",
            "heads": "; ".join(
                f"{name}: fitted to {head.facts['bank']} {head.facts['bank_fingerprint']}, model {head.fingerprint}"
                for name, (_, head) in heads.items()
            ),
            "precision": encoding.precision,
        } | ({"baseline": left_out} if left_out else {})
        document = {
            "knowledge": {
                name: {level: score.to_dict() for level, score in levels.items()} for name, levels in knowledge.items()
            },
            "difficulty": {name: score.to_dict() for name, score in difficulty.items()},
        }
        self.report(document, tables, facts, {"reliability": reliability_plot(knowledge)} if knowledge else {})

    def _rows(self, bank: QuestionBank) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of ``--split``, int64 [n], and which are measured, bool [n]; ValueError if there are none."""
        import numpy as np

        rows = np.flatnonzero(np.asarray(bank.column("split"), dtype=object) == self.split)
        if not len(rows):
            raise ValueError(f"{bank.path}: no question of split {self.split!r}")
        measured = ~np.isin(rows, list(self.rows_left_out(bank)))
        if not measured.any():
            raise ValueError(
                f"--without-duplicates: {bank.path}: all questions of split {self.split!r} have a duplicate in train"
            )
        return rows, measured


def _scores(
    models: Any, bank: QuestionBank, rows: np.ndarray, coverage: float
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Score knowledge by model and level, and difficulty by model, as far as bank and heads have them.

    Args:
        models: Name -> heads of knowledge and difficulty, and vectors ``[rows, width]``.
    """
    import numpy as np

    from tqnet.prediction.evaluation import score_difficulty, score_knowledge
    from tqnet.questions.splits import question_units

    part = bank.select(rows)
    texts, paths, rated = [question.content for question in part], part.column("knowledge"), part.column("difficulty")
    all_units = question_units(bank)
    units = [all_units[i] for i in rows]
    known = [i for i, value in enumerate(rated) if value is not None]
    truth = np.array([rated[i] for i in known], dtype=np.float64)
    knowledge, difficulty = {}, {}
    for name, (concepts, regression, vectors) in models.items():
        if concepts is not None and any(paths):
            knowledge[name] = score_knowledge(concepts, concepts.predict(vectors, texts), paths, units)
        if regression is not None and known:
            estimates = regression.predict(vectors[known], [texts[i] for i in known], coverage)
            difficulty[name] = score_difficulty(estimates, truth, [units[i] for i in known], coverage)
    return knowledge, difficulty
