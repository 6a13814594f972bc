"""``tqnet evaluate``: similar questions, knowledge points, difficulty; one model, or all stages of a training."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tqnet.cli.groups import (
    BANK,
    MODEL,
    STAGES,
    EncodingOptions,
    LeakageOptions,
    ReadingOptions,
    ReportOptions,
    SeedOptions,
    SimilarityOptions,
    SplitOptions,
    StageOptions,
    VectorOptions,
    bank_fact,
    model_fact,
)
from tqnet.cli.options import Command, argument, count, option, switch

if TYPE_CHECKING:
    import numpy as np

    from tqnet.evaluation.concept_pairs import ConceptPair
    from tqnet.evaluation.plots import ConceptMap
    from tqnet.evaluation.stages import Tasks
    from tqnet.evaluation.table import StageResult
    from tqnet.questions import QuestionBank

_START_NAME = "start encoder"


@dataclass(frozen=True, kw_only=True)
class _TaskOptions(SeedOptions, LeakageOptions, ReadingOptions, EncodingOptions):
    bank: str = option("the corpus: " + BANK, required=True)
    show: str = option(
        "part of a question that models see: all, text, figures, or shuffled (with another question's figures)",
        default="all",
        metavar="WHAT",
    )

    def tasks(self, **tasks: Any) -> Tasks:
        from tqnet.evaluation.stages import Tasks

        made = Tasks(seed=self.seed, **tasks).showing(self.show)
        leakage = self.leakage(tasks["bank"])
        return made.without(leakage) if leakage else made

    def measure(
        self, stages: dict[str, str], tasks: Tasks, optional: str | None = None, cache: Path | None = None
    ) -> tuple[dict[str, StageResult], dict[str, Any]]:
        """Return the results of each stage, in order, and the vectors of the models.

        The stage ``optional`` is left out, with a line on stderr, if its encoder cannot be loaded. Off-the-shelf
        encoders read no more of a text than the trained models, so that both are compared on the same words.
        """
        from tqnet.evaluation.sources import VectorSourceError, shortest_length, source_notes, source_vectors
        from tqnet.evaluation.stages import LEXICAL

        encoding = self.encoding(shortest_length(source for source in stages.values() if source not in LEXICAL))
        results, vectors = {}, {}
        for name, source in stages.items():
            if source in LEXICAL:
                results[name] = tasks.measure_lexical(source)
                continue
            print(f"{name}: {source}", file=sys.stderr)
            try:
                vectors[name] = source_vectors(source, tasks.bank, encoding, cache)
            except VectorSourceError as error:
                if name != optional:
                    raise
                print(f"tqnet: {name} left out: {error}", file=sys.stderr)
                continue
            results[name] = tasks.measure_vectors(vectors[name], *source_notes(source))
        return results, vectors


@dataclass(frozen=True, kw_only=True)
class _OneModelOptions(_TaskOptions, VectorOptions):
    model: str = option(MODEL, required=True, metavar="DIR")
    name: str = option("name of the model in tables and pictures", default="model")
    json: bool = switch("print JSON")
    no_baselines: bool = switch("leave out TF-IDF, BM25 and the start encoder")
    start: str | None = option(
        "encoder to compare the model with; by default that of the bank's language", metavar="SOURCE"
    )

    def compare(self, *lexical: str, **tasks: Any) -> dict[str, StageResult]:
        """Measure the model and the baselines, and print the results."""
        from tqnet.evaluation.table import render, to_dict
        from tqnet.modeling.pretrained import encoder_for
        from tqnet.questions.bank import Texts

        made = self.tasks(**tasks)
        made.check()
        baselines = {}
        if not self.no_baselines:
            start = self.start or f"encoder:{encoder_for(Texts(tasks['bank']))}"
            baselines = {"TF-IDF": "tfidf", **{name: name.lower() for name in lexical}, _START_NAME: start}
        # The default encoder may be missing; one that was named may not.
        optional = None if self.start else _START_NAME
        results, _ = self.measure({**baselines, self.name: self.model}, made, optional, self.cache)
        print(json.dumps(to_dict(results), indent=2, ensure_ascii=False) if self.json else render(results))
        return results


@dataclass(frozen=True, kw_only=True)
class _SearchOptions(SplitOptions, SimilarityOptions):
    k: int = count("the k of P@k", default=5)

    def search(self, bank: QuestionBank) -> dict[str, Any]:
        return {"bank": bank, "similarity": self.similarity(bank), "split": self.one_split, "k": self.k}


@dataclass(frozen=True, kw_only=True)
class Similar(Command, _OneModelOptions, _SearchOptions, name="evaluate similar"):
    """Measure P@k, MRR, recall and nDCG of similar-question search."""

    def run(self) -> None:
        self.compare("BM25", **self.search(self.load(self.bank)))


@dataclass(frozen=True, kw_only=True)
class Probe(Command, _OneModelOptions, name="evaluate probe"):
    """Measure a linear probe for knowledge points at each level of the hierarchy."""

    def run(self) -> None:
        from tqnet.questions import KnowledgeHierarchy

        bank = self.load(self.bank)
        self.compare(bank=bank, hierarchy=KnowledgeHierarchy.from_bank(bank))


@dataclass(frozen=True, kw_only=True)
class Difficulty(Command, _OneModelOptions, name="evaluate difficulty"):
    """Measure a linear regression for difficulty: MAE, RMSE, PCC, DOA."""

    def run(self) -> None:
        self.compare(bank=self.load(self.bank), difficulty=True)


def _picture(path: str) -> str:
    if Path(path).suffix not in (".svg", ".png"):
        raise argparse.ArgumentTypeError(f"{path}: pictures are .svg or .png")
    return path


@dataclass(frozen=True, kw_only=True)
class Agreement(Command, _OneModelOptions, SplitOptions, name="evaluate agreement"):
    """Correlate similarities with human scores, or with groups and the knowledge hierarchy."""

    pairs: str | None = option("scored pairs within the split; by default groups and concepts are used", metavar="FILE")
    plot: str | None = option("draw similarity by rank: .svg or .png", type=_picture, metavar="FILE")

    def run(self) -> None:
        from tqnet.evaluation.plots import similarity_by_rank
        from tqnet.files import atomic
        from tqnet.questions.pairs import read_pairs

        bank = self.load(self.bank)
        judged = read_pairs(self.pairs, bank, on_error=self.on_error) if self.pairs else None
        if self.plot:
            Path(self.plot).parent.mkdir(parents=True, exist_ok=True)
        results = self.compare(bank=bank, agreement=True, judged=judged, split=self.one_split)
        if self.plot:
            path = Path(self.plot)
            agreements = {name: stage.agreement for name, stage in results.items() if stage.agreement}
            with atomic(path) as temporary:
                temporary.write_bytes(similarity_by_rank(agreements, fmt="png" if path.suffix == ".png" else "svg"))
            print(f"picture: {path}", file=sys.stderr)


@dataclass(frozen=True, kw_only=True)
class Stages(Command, _TaskOptions, _SearchOptions, ReportOptions, name="evaluate stages"):
    """Measure all tasks for several models and write a table, JSON and an HTML report."""

    stages: Sequence[str] = argument(f"{STAGES}; or tfidf, bm25", nargs="+", metavar="NAME=SOURCE")
    out: str = option("folder for results.json, results.md and report.html", required=True, metavar="DIR")
    title: str = option("title of the report", default="Question vectors, stage by stage")

    def run(self) -> None:
        from tqnet.evaluation.report import write_report
        from tqnet.evaluation.stages import parse_stages, provenance, training_logs
        from tqnet.evaluation.table import render, to_dict, write_results
        from tqnet.questions import KnowledgeHierarchy

        stages = parse_stages(list(self.stages))
        bank, logs = self.load(self.bank), training_logs(stages)
        hierarchy = KnowledgeHierarchy.from_bank(bank)
        tasks = _labelled(self.tasks(**self.search(bank), hierarchy=hierarchy))
        out = self.make_folder()
        results, vectors = self.measure(stages, tasks, cache=out / "vectors")
        facts = provenance(self.command, bank, logs)
        write_results(out, facts, {"stages": to_dict(results)}, render(results, markdown=True))
        report = write_report(
            out / "report.html",
            results,
            tasks.bank,
            title=self.title,
            vectors=vectors,
            metrics_files=logs,
            facts=facts,
            seed=self.seed,
        )
        print(f"{render(results)}\nreport: {report}")


def _labelled(tasks: Tasks) -> Tasks:
    """Leave out the tasks that the bank has no labels for, with a line each; fail if there are no labels at all.

    Difficulty, which few banks have, and agreement are left out silently.
    """
    from tqnet.evaluation.difficulty import has_difficulties

    tasks = replace(tasks, difficulty=has_difficulties(tasks.bank, tasks.seed))
    try:
        tasks.check_probe()
    except ValueError as error:
        print(f"tqnet: knowledge points left out: {error}", file=sys.stderr)
        tasks = replace(tasks, hierarchy=None)
    related = tasks.similarity is not None and tasks.similarity.has_similar.any()
    if related or (tasks.hierarchy is None and not tasks.difficulty):
        tasks.check_similar()
    else:
        print("tqnet: similar questions left out: no question is similar to any other", file=sys.stderr)
        tasks = replace(tasks, similarity=None)
    ranked = replace(tasks, agreement=True)
    return ranked if ranked.has_ranks else tasks


#: Number of pairs of each kind drawn as maps, as in the paper.
_DRAWN = 2


@dataclass(frozen=True, kw_only=True)
class Concepts(
    Command, StageOptions, SplitOptions, SeedOptions, VectorOptions, ReportOptions, ReadingOptions, EncodingOptions,
    name="evaluate concepts",
):  # fmt: skip
    """Measure how far apart near and far concepts are, and map four pairs with the last model."""

    bank: str = option(BANK, required=True)
    level: int | None = count("level of the concepts; by default the deepest", minimum=2, metavar="N")
    pairs: int = count("number of pairs of each kind", default=100, minimum=_DRAWN, metavar="N")

    def run(self) -> None:
        from tqnet.evaluation.concept_pairs import concept_table, draw_concept_pairs, measure_concept_pairs, to_numbers
        from tqnet.evaluation.plots import concept_maps
        from tqnet.evaluation.sources import shortest_length, source_vectors

        stages = self.sources()
        bank = self.load(self.bank)
        pairs = draw_concept_pairs(bank, self.one_split, level=self.level, pairs=self.pairs, seed=self.seed)
        encoding = self.encoding(shortest_length(stages.values()))
        self.make_folder()
        vectors = {name: source_vectors(source, bank, encoding, self.cache) for name, source in stages.items()}
        results = {name: measure_concept_pairs(width, pairs) for name, width in vectors.items()}
        facts = {"bank": bank_fact(bank), "models": model_fact(stages)}
        maps = concept_maps(list(_maps(next(reversed(vectors.values())), pairs, self.seed)))
        document = {"concepts": to_numbers(results, pairs)}
        self.report(document, [concept_table(results, pairs)], facts, {"concepts": maps})


def _maps(vectors: np.ndarray, pairs: Sequence[ConceptPair], seed: int) -> Iterator[ConceptMap]:
    from tqnet.evaluation.concept_pairs import FAR, NEAR
    from tqnet.evaluation.plots import ConceptMap, tsne

    for kind in (NEAR, FAR):
        candidates = [pair for pair in pairs if pair.kind == kind]
        for pair in sorted(candidates, key=lambda pair: -pair.questions.size)[:_DRAWN]:  # a few points are not a cloud
            first, second = pair.concepts
            yield ConceptMap(kind, (first[-1], second[-1]), tsne(vectors[pair.questions.ravel()], seed=seed))


@dataclass(frozen=True, kw_only=True)
class Mteb(Command, _SearchOptions, ReportOptions, ReadingOptions, EncodingOptions, name="evaluate mteb"):
    """Evaluate a model in mteb: on the similar questions of a bank, and on mteb's own tasks by name.

    Needs pip install 'tqnet[mteb]'. mteb fetches its tasks over the network.
    """

    model: str = option(MODEL, required=True, metavar="DIR")
    bank: str | None = option("bank whose similar questions are a task: " + BANK)
    tasks: Sequence[str] = option("mteb tasks: NFCorpus, STS12, ...", default=(), metavar="NAME")

    def run(self) -> None:
        if not (self.bank or self.tasks):
            raise ValueError("--bank or --tasks: nothing to measure")
        import mteb

        from tqnet.evaluation.table import Table
        from tqnet.hub.mteb import TQNetEncoder, similar_questions_task

        tasks: list[Any] = []
        facts = {"mteb": mteb.__version__}
        encoder = TQNetEncoder(self.model, device=self.device, precision=self.chosen_precision)
        if self.bank:
            bank = self.load(self.bank)
            figures = encoder.encoder.config.reads_images
            tasks.append(similar_questions_task(bank, self.similarity(bank), self.one_split, self.k, figures))
            facts["bank"] = bank_fact(bank)
        for name in self.tasks:
            try:
                tasks.append(mteb.get_task(name))
            except KeyError as error:
                raise ValueError(f"--tasks: {error.args[0] if error.args else name}") from None
        result = mteb.evaluate(
            cast(Any, encoder),  # the signatures of its protocols and base class differ
            tasks,
            encode_kwargs={"batch_size": self.batch_size},
            cache=mteb.ResultCache(self.make_folder() / "mteb"),
            overwrite_strategy="always",  # another bank's results may have the same name
            co2_tracker=False,
        )
        results = zip(result.task_results, tasks, strict=True)
        scores = {measured.task_name: _main_scores(measured, task) for measured, task in results}
        rows = [(task, metric, f"{value:.4f}") for task, row in scores.items() for metric, value in row.items()]
        self.report({"mteb": scores}, [Table("mteb", ("task", "metric", "score"), tuple(rows))], facts)


def _main_scores(result: Any, task: Any) -> dict[str, float]:
    """Return the task's main metric by split, and by subset if there are several; for a bank, also R and nDCG."""
    metric = task.metadata.main_score
    names = [metric]
    if metric.startswith("precision_at_"):
        names += [metric.replace("precision", other) for other in ("recall", "ndcg")]
    return {
        f"{split if len(subsets) == 1 else f'{split} ' + scores['hf_subset']}: {name}": float(scores[name])
        for split, subsets in result.scores.items()
        for scores in subsets
        for name in names
    }
