"""``tqnet score`` and ``tqnet evaluate paraphrase``: does a rewritten question still ask the same thing?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqnet.cli.groups import (
    EncodingOptions,
    LanguageModelOptions,
    LineOptions,
    ReportOptions,
    SeedOptions,
    StageOptions,
    model_fact,
)
from tqnet.cli.options import Command, argument, number, option, switch

if TYPE_CHECKING:
    from tqnet.evaluation.table import Table
    from tqnet.paraphrase import ParaphraseScore
    from tqnet.paraphrase.evaluation import ParaphraseMetrics
    from tqnet.paraphrase.scorer import TextVectors
    from tqnet.questions.paraphrase_pairs import ParaphrasePair


@dataclass(frozen=True, kw_only=True)
class Score(Command, LineOptions, LanguageModelOptions, EncodingOptions, name="score"):
    """Score whether a rewritten question still asks the same thing.

    The score is the cosine of the two questions' vectors; the explanation lists what was lost, changed or added:
    numbers, units, entities, words, conditions, the question itself. A pair is valid if its score is above the
    threshold and the check finds no difference that changes what is asked.
    """

    texts: Sequence[str] = argument("the original and its paraphrase", nargs="*", metavar="TEXT")
    model: str = option("a trained model, or minilm, encoder:NAME", required=True, metavar="DIR")
    pairs: str | None = option("a .csv or .jsonl file: original, paraphrase and, if known, label", metavar="FILE")
    threshold: float | None = option("scores above this are valid; by default the paper's", type=number(-1, 1))
    no_explain: bool = switch("print scores without explanations, as fast as encoding")

    def run(self) -> None:
        from tqnet.paraphrase import ParaphraseScorer
        from tqnet.paraphrase.evaluation import THRESHOLD

        threshold = THRESHOLD if self.threshold is None else self.threshold
        pairs, out = self._pairs(), self.out_file
        explain = not self.no_explain
        scorer = ParaphraseScorer(
            self.model,
            explain=explain,
            language_model=self.english_parser() if explain and self.language_model else None,
            batch_size=self.batch_size,
            device=self.device,
            precision=self.precision,
        )
        scores = scorer.score(pairs, show_progress=bool(self.pairs))
        records = [self._record(pair, score, threshold) for pair, score in zip(pairs, scores, strict=True)]
        self.write(out, [json.dumps(record, ensure_ascii=False) for record in records])
        if self.json:
            return
        if not self.pairs:
            print(_verdict(scores[0], threshold))
            return
        if out is None:
            print(_table(pairs, scores, threshold))
        valid = sum(score.checked > threshold for score in scores)
        same = ", nothing that changes what is asked" if scorer.explainer else ""
        where = f": {out}" if out is not None else ""
        print(f"{len(pairs):,} pairs, {valid:,} valid (score above {threshold:g}{same}){where}")

    def _pairs(self) -> list[ParaphrasePair]:
        from tqnet.questions.paraphrase_pairs import ParaphrasePair, read_paraphrase_pairs

        if self.pairs and self.texts:
            raise ValueError("give two texts or --pairs, not both")
        if self.pairs:
            return read_paraphrase_pairs(self.pairs)
        if len(self.texts) != 2:
            raise ValueError(f"give the original and its paraphrase, or --pairs; got {len(self.texts)} texts")
        original, paraphrase = self.texts
        return [ParaphrasePair(original, paraphrase, None, "1")]

    def _record(self, pair: ParaphrasePair, score: ParaphraseScore, threshold: float) -> dict[str, Any]:
        known = {"id": pair.id} if self.pairs else {}
        label = {} if pair.label is None else {"label": pair.label}
        return known | score.to_dict() | {"valid": score.checked > threshold} | label


def _verdict(score: ParaphraseScore, threshold: float) -> str:
    if score.score <= threshold:
        verdict = f"invalid, not above {threshold:g}"
    elif score.checked <= threshold:
        verdict = "invalid by what was lost or changed"
    else:
        verdict = f"valid, above {threshold:g}"
    explained = "" if score.differences is None else f"\n{score.explanation or 'no loss or change detected'}"
    return f"{score.score:.3f} ({verdict}){explained}"


def _table(pairs: Sequence[ParaphrasePair], scores: Sequence[ParaphraseScore], threshold: float) -> str:
    """Return a table of the pairs, with explanations of any length in the last column."""
    width = max(len("pair"), *(len(pair.id) for pair in pairs))
    rows = [("pair", "score", "", "label", "lost or changed" if scores[0].differences is not None else "")]
    for pair, score in zip(pairs, scores, strict=True):
        verdict = "valid" if score.checked > threshold else "invalid"
        label = "" if pair.label is None else str(pair.label)
        rows.append((pair.id, f"{score.score:.3f}", verdict, label, score.explanation))
    labelled = any(pair.label is not None for pair in pairs)
    return "\n".join(
        f"{name:<{width}}  {score:>6}  {verdict:<7}  {f'{label:<5}  ' if labelled else ''}{explanation}".rstrip()
        for name, score, verdict, label, explanation in rows
    )


@dataclass(frozen=True, kw_only=True)
class EvaluateParaphrase(
    Command, StageOptions, SeedOptions, ReportOptions, EncodingOptions, name="evaluate paraphrase"
):
    """Measure precision, recall, F1 and separation of scores of labelled paraphrases (ParaQD)."""

    pairs: Sequence[str] = option(
        "files of original, paraphrase, label and optionally kind", required=True, nargs="+", metavar="FILE"
    )
    checked: bool = switch("also measure scores with the check of numbers and units, as in tqnet score")

    def run(self) -> None:
        from tqnet.evaluation.sources import open_source, shortest_length
        from tqnet.files import content_digest
        from tqnet.paraphrase.evaluation import kind_scores, kind_table, paraphrase_table, scored_pairs
        from tqnet.paraphrase.scorer import PairTexts
        from tqnet.questions.paraphrase_pairs import read_labelled_sets

        stages, sets = self.sources(), read_labelled_sets(list(self.pairs))
        self.make_folder()
        length = shortest_length(stages.values())
        texts = PairTexts.read(t for pairs in sets.values() for pair in pairs for t in (pair.original, pair.paraphrase))
        vectors = {
            name: texts.encode(open_source(source, length), **self.settings, show_progress=True)
            for name, source in stages.items()
        }
        numbers: dict[str, Any] = {}
        tables: list[Table] = []
        pictures: dict[str, bytes] = {}
        for name, pairs in sets.items():
            results = {stage: scored_pairs(pairs, encoded) for stage, encoded in vectors.items()}
            if self.checked:
                from tqnet.paraphrase.check.compare import asks_otherwise

                changed = asks_otherwise(pairs)
                results |= {f"{stage}, checked": scored_pairs(pairs, v, changed) for stage, v in vectors.items()}
            kinds = {stage: kind_scores(pairs, result.scores, result.threshold) for stage, result in results.items()}
            tables.append(paraphrase_table(results, name))
            if any(kinds.values()):
                tables.append(kind_table(kinds, f"{name}, by kind"))
            numbers[name] = {stage: result.to_dict() for stage, result in results.items()}
            for stage, rows in kinds.items():
                if rows:
                    numbers[name][stage]["kinds"] = [kind.to_dict() for kind in rows]
            drawn = _draw(pairs, results, vectors, self.seed)
            pictures |= {f"{what}-{name}": picture for what, picture in drawn.items()}
        facts = {
            "pairs": "; ".join(f"{Path(file).name}: {content_digest(Path(file))}" for file in self.pairs),
            "models": model_fact(stages),
            "precision": self.chosen_precision,
        }
        self.report({"paraphrase": numbers}, tables, facts, pictures)


def _draw(
    pairs: Sequence[ParaphrasePair],
    results: Mapping[str, ParaphraseMetrics],
    vectors: Mapping[str, TextVectors],
    seed: int,
) -> dict[str, bytes]:
    """Draw histograms of a file's scores, and maps of its triplets if it has any."""
    from tqnet.evaluation.plots import sample, tsne
    from tqnet.paraphrase.evaluation import score_histograms, triplet_maps, triplets

    pictures = {"scores": score_histograms(results)}
    known = triplets(pairs)
    if len(known) > 1:
        texts = [text for at in sample(len(known), 500, seed) for text in known[at]]
        maps = {stage: tsne(encoded.of(texts), seed=seed) for stage, encoded in vectors.items()}
        pictures["triplets"] = triplet_maps(maps)
    return pictures
