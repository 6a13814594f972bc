"""``tqnet duplicates`` and ``evaluate pairs``: duplicates in a bank, and the classifier of pairs that finds them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqnet.cli.groups import BANK, EncodingOptions, FaultOptions, LineOptions, ReadingOptions
from tqnet.cli.options import Command, argument, count, number, option, switch

if TYPE_CHECKING:
    import numpy as np

    from tqnet.evaluation.pairs import PairScores
    from tqnet.modeling.encoder import QuestionEncoder
    from tqnet.questions import QuestionBank
    from tqnet.questions.pairs import LabelledPair
    from tqnet.search.duplicates import Cluster, Judge
    from tqnet.search.duplicates import Duplicates as Report

PAIRS_MODEL = "a pair classifier, RUN/model of finetune/pairs.py"

#: Number of characters shown of a cluster's first question.
_SHOWN = 160


@dataclass(frozen=True, kw_only=True)
class Duplicates(Command, LineOptions, ReadingOptions, EncodingOptions, name="duplicates"):
    """Report clusters of duplicates in a bank.

    Duplicates have equal figures, and text that is equal with normalized formulas, or near with no difference in a
    significant word or number; with --pairs-model, questions near by text or vector that the model calls duplicates.
    """

    bank: str = argument(BANK, metavar="BANK")
    pairs_model: str | None = option(PAIRS_MODEL, metavar="DIR")
    model: str | None = option(
        "model whose vectors find the neighbours to judge; by default the classifier's own", metavar="DIR"
    )
    threshold: float | None = option(
        "minimum share of equal three-word runs in near texts (0.9); with --pairs-model, minimum probability (0.5)",
        type=number(0, 1, above=True),
        metavar="SHARE",
    )
    show: int = count("number of clusters to print", default=20, minimum=0)

    def run(self) -> None:
        from tqnet.search.duplicates import find_duplicates
        from tqnet.search.retrieval import NEAR

        if self.model and not self.pairs_model:
            raise ValueError("--model: needs --pairs-model, a classifier to judge the neighbours")
        out = self.out_file
        bank = self.load(self.bank)
        if self.pairs_model:
            with self._judge(self.pairs_model, bank) as judge:
                report = find_duplicates(bank, judge=judge)
        else:
            report = find_duplicates(bank, self.threshold or NEAR)
        self.write(out, [json.dumps(_record(cluster, bank), ensure_ascii=False) for cluster in report.clusters])
        if not self.json:
            print(_text(report, bank, self.show))

    @contextmanager
    def _judge(self, folder: str, bank: QuestionBank) -> Iterator[Judge]:
        """Load the pair classifier; vectors are kept on disk."""
        from tqnet.evaluation.sources import open_source
        from tqnet.modeling.pairs import PairClassifier
        from tqnet.search.duplicates import Judge

        classifier = PairClassifier.from_pretrained(folder)
        other = open_source(self.model) if self.model else None
        with tempfile.TemporaryDirectory() as temporary:
            vectors = self._vectors(classifier.encoder, bank, Path(temporary) / "pairs.npy")
            near = vectors if other is None else self._vectors(other, bank, Path(temporary) / "near.npy")

            def decide(pairs: np.ndarray) -> np.ndarray:
                return classifier.classify_pairs(bank, vectors, pairs, show_progress=True)

            yield Judge(near, decide, self.threshold or 0.5)

    def _vectors(self, model: QuestionEncoder, bank: QuestionBank, file: Path) -> np.ndarray:
        import numpy as np

        shape = (len(bank), model.config.hidden_size)
        out = np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=shape)
        return model.encode(bank, **self.settings, show_progress=True, out=out)


def _record(cluster: Cluster, bank: QuestionBank) -> dict[str, Any]:
    ids = {row: bank[row].id for row in cluster.rows}
    links = [
        {"a": ids[link.first], "b": ids[link.second], "why": link.why, "score": round(link.score, 4)}
        for link in cluster.links
    ]
    return {"ids": list(ids.values()), "links": links, "text": _excerpt(cluster, bank)}


def _text(report: Report, bank: QuestionBank, shown: int) -> str:
    lines = []
    for cluster in report.clusters[:shown]:
        why = ", ".join(sorted({str(link) for link in cluster.links}))
        lines.append(f"{' '.join(bank[row].id for row in cluster.rows)}  {why}\n     {_excerpt(cluster, bank)}")
    clusters, rows = len(report.clusters), sum(len(cluster.rows) for cluster in report.clusters)
    if clusters > shown:
        lines.append(f"... and {clusters - shown:,} more: --out FILE, or --show N")
    summary = f"{clusters:,} clusters of {rows:,} of {len(bank):,} questions"
    lines.append(f"{summary}; keeping one of each removes {rows - clusters:,}")
    if report.relations:
        named = ", ".join(f"{count:,} {relation}" for relation, count in report.relations.items())
        lines.append(f"candidates by the model: {named}")
    return "\n".join(lines)


def _excerpt(cluster: Cluster, bank: QuestionBank) -> str:
    from tqnet.text.sentences import excerpt

    return excerpt(bank[cluster.rows[0]].content, _SHOWN)


@dataclass(frozen=True, kw_only=True)
class Pairs(Command, FaultOptions, EncodingOptions, name="evaluate pairs"):
    """Measure precision and recall of a pair classifier for duplicate, similar, variant and unrelated pairs."""

    model: str | None = option(
        f"{PAIRS_MODEL}; by default the rule for near texts of `tqnet duplicates`", metavar="DIR"
    )
    pairs: str = option(
        "a .jsonl or .csv file of a, b (questions, or ids of --bank) and label", required=True, metavar="FILE"
    )
    bank: str | None = option("bank of the questions that the pairs name by id")
    errors: bool = switch("list the misclassified pairs")
    json: bool = switch("print JSON")

    def run(self) -> None:
        from tqnet.evaluation.pairs import PairScores, pairs_table
        from tqnet.questions import load_bank
        from tqnet.questions.pairs import RELATIONS, read_labelled_pairs

        bank = load_bank(self.bank, self.on_error) if self.bank else None
        pairs = read_labelled_pairs(self.pairs, bank, self.on_error)
        scores = self._score(self.model, pairs) if self.model else PairScores.of_rule(pairs)
        errors = [
            {"a": pair.a.content, "b": pair.b.content, "label": pair.relation, "predicted": RELATIONS[predicted]}
            for pair, predicted in zip(pairs, scores.predicted.tolist(), strict=True)
            if RELATIONS[predicted] != pair.relation
        ]
        if self.json:
            numbers = scores.to_dict() | ({"errors": errors} if self.errors else {})
            print(json.dumps(numbers, indent=2, ensure_ascii=False))
            return
        print(pairs_table(scores).text())
        if self.errors:
            print("\n".join(f"\n{e['label']}, predicted {e['predicted']}:\n  {e['a']}\n  {e['b']}" for e in errors))

    def _score(self, folder: str, pairs: list[LabelledPair]) -> PairScores:
        from tqnet.modeling.pairs import PairClassifier
        from tqnet.training.pairs import pair_vectors, score_pairs

        classifier = PairClassifier.from_pretrained(folder)
        return score_pairs(classifier, pairs, pair_vectors(classifier, pairs, **self.settings))
