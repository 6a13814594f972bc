"""Train the ranker: a cross-encoder of query and candidate (FSE, "Ranking Module").

    accelerate launch finetune/ranker.py --config configs/small/ranker.yaml data.bank=BANK model.start=runs/scl/model \\
        run.out=runs/ranker

Pair labels come from the bank's groups, candidates from retrieval by text and by the start model's vectors; or both
come from ``data.pairs``. If questions have analyses, two more tasks help (T2, T3), weighted by coefficients that
experts learn (Eq. 5). Confident learning leaves out pairs whose labels look wrong. ``tqnet search --ranker`` uses the
result and scores by the first task alone.
"""

from __future__ import annotations

import json
import logging
from dataclasses import field, replace
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import Tensor
from torch.nn import functional as F

from tqnet.config import (
    ConfigError,
    Count,
    CountOrZero,
    Positive,
    Share,
    ShareBelowOne,
    parse_config,
    section,
    settings,
)
from tqnet.evaluation.metrics import mean_average_precision
from tqnet.evaluation.sources import source_digest
from tqnet.files import atomic
from tqnet.hub.card import write_card
from tqnet.libraries import precision
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.questions import QuestionBank, Similarity
from tqnet.questions.pairs import read_pairs
from tqnet.search.ranker import CrossEncoder, MultiTaskRanker
from tqnet.search.ranker_data import (
    TASKS,
    ExercisePairs,
    RankerViews,
    Sources,
    SourcesOfBanks,
    check_installed,
    confident,
    made_exercise_pairs,
    vectors_of_index,
)
from tqnet.search.versions import Versions
from tqnet.training import session
from tqnet.training.config import OptimConfig, RecipeConfig, RunConfig
from tqnet.training.content import sort_lengths
from tqnet.training.loop import TrainingLoop
from tqnet.training.processes import encode_in_shares, in_shares
from tqnet.training.provenance import Provenance
from tqnet.training.sampler import ShuffledBatches

log = logging.getLogger(__name__)


@settings
class RankerConfig(RecipeConfig):
    """Settings of the stage."""

    optim: OptimConfig = section(OptimConfig, lr=1e-3, text_lr=2e-5)
    run: RunConfig = section(RunConfig, out="runs/ranker")
    index: str | None = None
    """Folder of the index that the ranker is for: retrieval searches its vectors. null computes them with the start
    model."""
    max_length: Count = 256
    """Maximum number of tokens of a pair; longer pairs are cut."""
    queries: Count = 1500
    """Maximum number of questions to make pairs of; each has a similar question. data.pairs replaces these pairs."""
    retrieved: Count = 16
    """Candidates per query from the top of retrieval, like those the ranker will see."""
    similar: CountOrZero = 0
    """Similar questions per query, retrieved or not. Those that retrieval misses share little with the query, and teach
    the ranker to prefer low similarity."""
    concept: CountOrZero = 2
    """Dissimilar questions of the same concept per query."""
    random: CountOrZero = 2
    """Random dissimilar questions per query."""
    unseen: bool = False
    """Take the queries from one half of valid, by group, which the start model was not fine-tuned on; candidates come
    from train and valid, and the other half of valid chooses the best state. On questions seen in fine-tuning, its
    cosines are too good and leave the ranker little to learn (stacked generalization, Wolpert 1992)."""
    label_noise: ShareBelowOne = 0.0
    """Share of labels to flip, to measure the benefit of confident learning. A start model fine-tuned on the same
    groups has seen the right labels, and its cosines are features, which makes the noise easier to find."""
    analyses: bool = True
    """Also learn from analyses, if questions have them: tasks T2 and T3."""
    experts: bool = True
    """Learn the coefficients of the tasks. Otherwise they are fixed."""
    coefficients: list[Positive] = field(default_factory=lambda: [1.0, 1.0, 1.0])
    """Fixed coefficients of T1, T2 and T3, scaled to sum to 1 over the tasks that a pair has."""
    entropy_floor: Share = 0.8
    """Minimum entropy of learnt coefficients, as a share of the entropy of equal ones."""
    folds: CountOrZero = 3
    """Folds of confident learning, by query: a model trained on the other folds judges each one, pairs with doubtful
    labels are left out, and a final model trains on the rest. 0 trains on all pairs."""

    def __post_init__(self) -> None:
        if self.folds == 1:
            raise ConfigError("folds: 1 leaves nothing to train on; 0 trusts all labels")
        if self.unseen and (self.data.pairs or self.data.held_out):
            raise ConfigError("unseen: uses queries of split 'valid', without data.pairs and data.held_out")
        if len(self.coefficients) != len(TASKS):
            raise ConfigError(f"coefficients: expected {len(TASKS)} numbers, not {self.coefficients}")

    @property
    def counts(self) -> dict[str, int]:
        """Candidates per query, by kind."""
        return {kind: getattr(self, kind) for kind in ("retrieved", "similar", "concept", "random")}


def main(config: RankerConfig) -> Path:
    accelerator = session.start(config.run)
    if config.unseen:
        config.data.refuse("labelled")
    bank = train_and_valid(config) if config.unseen else session.training_questions(config.data, pretraining=False)
    similarity = session.similar_questions(bank, config.data)
    if config.folds:
        check_installed()  # fail before hours of training
    sources = sources_of_banks(config, bank)
    pairs = training_pairs(config, bank, similarity, sources, accelerator)
    if config.analyses and not any(bank.column("analysis")):
        log.info("no training question has an analysis: the first task is the only one")
    validation = validation_pairs(config, sources)
    if config.folds:
        doubted = ~confident(pairs.similar, out_of_fold(config, bank, similarity, pairs, accelerator))
        log.info("confident learning: %d of %d pairs are left out", doubted.sum(), len(pairs))
        pairs = pairs.select(~doubted)
    return train(config, bank, similarity, pairs, accelerator, validation)


def training_pairs(
    config: RankerConfig, bank: QuestionBank, similarity: Similarity, sources: SourcesOfBanks, accelerator: Accelerator
) -> ExercisePairs:
    """Return the pairs of ``data.pairs``, or made ones, saved as ``pairs.jsonl`` in the run for all processes.

    Raises:
        ConfigError: The folder has the pairs of another run, or of this one without ``run.resume``.
    """
    kept, identity = (Path(config.run.out) / name for name in ("pairs.jsonl", "pairs.identity.json"))
    has_pairs = identity.is_file()
    accelerator.wait_for_everyone()  # before the main process writes it
    if has_pairs and not config.run.resume:
        raise ConfigError(f"run.out: {kept} belongs to an earlier run; run.resume=true continues it")
    provenance = Provenance(config, bank)
    if has_pairs:
        provenance.check(json.loads(identity.read_text(encoding="utf-8")), str(kept))
    else:
        searched = sources(bank)  # encoded by all processes
        if accelerator.is_main_process:
            kept.parent.mkdir(parents=True, exist_ok=True)
            new_pairs(config, bank, similarity, searched).save(kept, bank)
            with atomic(identity) as temporary:
                temporary.write_text(json.dumps(provenance.identity, indent=1) + "\n", encoding="utf-8")
    accelerator.wait_for_everyone()
    try:
        pairs = ExercisePairs.load(kept, bank)
    except KeyError:
        raise ConfigError(f"run.out: {kept} was written by an earlier version; choose another folder") from None
    log.info("%d pairs, %d of them similar", len(pairs), pairs.similar.sum())
    return pairs


def new_pairs(config: RankerConfig, bank: QuestionBank, similarity: Similarity, sources: Sources) -> ExercisePairs:
    """Read the pairs of ``data.pairs``, or make new ones, and add label noise if set.

    Raises:
        ConfigError: All pairs are similar, or none.
    """
    if config.data.pairs:
        pairs = judged_pairs(config, bank, sources)
    else:
        candidates = np.flatnonzero(similarity.has_similar)
        if config.unseen:
            candidates, _ = queries_of_valid(config, bank, similarity)
        queries = drawn_queries(candidates, config.queries, config.run.seed)
        pairs = made_exercise_pairs(bank, similarity, sources, queries, config.counts, config.run.seed)
    if not pairs.similar.any() or pairs.similar.all():
        raise ConfigError("data.bank: needs both similar and dissimilar pairs; they come from group or data.pairs")
    return pairs.with_noise(config.label_noise, config.run.seed)


def judged_pairs(config: RankerConfig, bank: QuestionBank, sources: Sources) -> ExercisePairs:
    """Read the pairs of ``data.pairs`` among the questions of ``bank``; the query is the first one in the bank."""
    assert config.data.pairs
    whole = config.data.load()
    row = {name: i for i, name in enumerate(whole.ids)}
    judged = read_pairs(config.data.pairs, whole, 0.5, config.data.on_error)
    judged = judged.select([row[name] for name in bank.ids])
    features = sources.features(judged.first, judged.second)
    return ExercisePairs(judged.first, judged.second, judged.score.astype(bool), ("judged",) * len(judged), features)


def drawn_queries(candidates: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Draw up to ``count`` of ``candidates``, ascending."""
    return np.sort(np.random.default_rng(seed).permutation(candidates)[:count])


def sources_of_banks(config: RankerConfig, training: QuestionBank) -> SourcesOfBanks:
    """Set up retrieval by text, and by vectors of the index or start model.

    Args:
        training: Questions from which a new model learns its vocabulary.
    """

    def index_vectors(bank: QuestionBank) -> np.ndarray:
        return vectors_of_index(Path(str(config.index)), bank)

    def model_vectors(bank: QuestionBank) -> np.ndarray:
        chosen = precision(config.run.precision)
        return encode_in_shares(start_model(config, training), bank, precision=chosen, show_progress=True)

    return SourcesOfBanks(index_vectors if config.index else model_vectors)


def start_model(config: RankerConfig, bank: QuestionBank) -> QuestionEncoder:
    """Build the start model from a fresh seed: a resumed run builds fewer, but must get the same."""
    set_seed(config.run.seed)
    return session.build(config, bank)


def searched_by(config: RankerConfig) -> str | None:
    """Return the digest of the model whose vectors retrieval searches; None for a model without files."""
    if config.index:
        return Versions.load(Path(config.index)).manifest.digest
    return source_digest(config.model.start) if config.model.start else None


def validation_pairs(config: RankerConfig, sources: SourcesOfBanks) -> tuple[QuestionBank, ExercisePairs] | None:
    """Pair a tenth as many queries, at least fifty, of ``valid`` with candidates of ``train`` and ``valid``.

    Return None without queries.
    """
    bank = train_and_valid(config)
    queries = np.array([], dtype=int)
    if "valid" in bank.column("split"):
        similarity = session.similar_questions(bank, config.data)
        _, queries = queries_of_valid(config, bank, similarity)
    if not len(queries):
        log.info("no question of split 'valid' has a similar one: the last state is kept, not the best")
        return None
    queries = drawn_queries(queries, max(50, config.queries // 10), config.run.seed)
    return bank, made_exercise_pairs(bank, similarity, sources(bank), queries, config.counts, config.run.seed)


def train_and_valid(config: RankerConfig) -> QuestionBank:
    """Select ``train`` and ``valid``, which queries of ``valid`` are searched in."""
    whole = config.data.load()
    splits = np.asarray(whole.column("split"), dtype=object)
    return whole.select(np.flatnonzero(np.isin(splits, ("train", "valid"))))


def queries_of_valid(config: RankerConfig, bank: QuestionBank, similarity: Similarity) -> tuple[np.ndarray, np.ndarray]:
    """Return questions of ``valid`` with a similar one: to train on, if ``unseen``, and to choose the best state.

    Raises:
        ConfigError: They are all of one group and cannot be halved.
    """
    is_valid = np.asarray(bank.column("split"), dtype=object) == "valid"
    queries = np.flatnonzero(is_valid & similarity.has_similar)
    if not config.unseen:
        return queries[:0], queries
    groups = np.random.default_rng(config.run.seed).permutation(np.unique(similarity.groups[queries]))
    if len(groups) < 2:
        raise ConfigError("unseen: split 'valid' needs two groups of similar questions, to learn from and to choose by")
    chooses = np.isin(similarity.groups[queries], groups[len(groups) // 2 :])
    return queries[~chooses], queries[chooses]


def out_of_fold(
    config: RankerConfig, bank: QuestionBank, similarity: Similarity, pairs: ExercisePairs, accelerator: Accelerator
) -> np.ndarray:
    """Return the probability that each pair is similar, [p], by a model trained on the other folds."""
    fold_of = pairs.folds(config.folds, config.run.seed)
    probability = np.empty(len(pairs))
    for fold in range(config.folds):
        out = Path(config.run.out) / "folds" / str(fold)
        judged = out / "probabilities.npy"
        held_out = fold_of == fold
        if not (config.run.resume and judged.exists()):
            fold_config = replace(config, run=replace(config.run, out=str(out)))
            folder = train(fold_config, bank, similarity, pairs.select(~held_out), accelerator, None)
            chances = score(folder, bank, pairs.select(held_out), accelerator, config)
            if accelerator.is_main_process:
                with atomic(judged) as temporary, temporary.open("wb") as stream:
                    np.save(stream, chances)
            accelerator.wait_for_everyone()
        probability[held_out] = np.load(judged)
    return probability


def score(
    folder: Path, bank: QuestionBank, pairs: ExercisePairs, accelerator: Accelerator, config: RankerConfig
) -> np.ndarray:
    """Return the probability that each pair is similar, [p], computed on all processes."""
    cross = CrossEncoder.from_pretrained(folder, accelerator.device)
    cross.encoder.processor.blank_unreadable = config.data.on_error == "skip"
    options = {"precision": precision(config.run.precision), "show_progress": accelerator.is_main_process}

    def probabilities(rows: np.ndarray) -> np.ndarray:
        share = pairs.select(rows)
        return cross.probabilities(share.questions(bank), share.features, **options)

    return in_shares(probabilities, len(pairs))


def train(
    config: RankerConfig,
    bank: QuestionBank,
    similarity: Similarity,
    pairs: ExercisePairs,
    accelerator: Accelerator,
    validation: tuple[QuestionBank, ExercisePairs] | None,
) -> Path:
    """Train a cross-encoder on ``pairs`` and return its folder."""
    model = start_model(config, bank)
    cross = CrossEncoder(model, config.max_length, searched_by(config))
    tasks = config.coefficients if config.analyses else config.coefficients[:1]
    ranker = MultiTaskRanker(cross, tasks, config.entropy_floor if config.experts else None)
    # The start model may have been fine-tuned on the groups of `train`, where its cosines are too good.
    unseen = validation[1] if validation else pairs
    ranker.calibrate(unseen.features, unseen.similar)
    lengths = sort_lengths(bank, model.processor, model.cells_per_image)
    loop = TrainingLoop(
        accelerator,
        config,
        model=cross,
        trained=ranker,
        plan=ShuffledBatches(lengths[pairs.query] + lengths[pairs.candidate], config.run.batch_size, config.run.seed),
        views=RankerViews(
            pairs,
            bank,
            similarity,
            model.processor,
            config.run.seed,
            config.max_length,
            config.analyses,
            config.data.workers,
            model.config.reads_images,
        ),
        parts=model.parts,
        evaluate=validation and ValidationOrder(cross, *validation, precision(config.run.precision)),
    )
    for batch in loop:
        pair, task, features = (batch.extras[name] for name in ("pair", "task", "features"))
        if loop.micro == 0:
            ranker.centre(accelerator, task, features, **batch.inputs)
            ranker.train()
        logits, coefficients = loop.trained(pair=pair, task=task, features=features, **batch.inputs)
        labels = torch.zeros_like(logits).index_put((pair, task), batch.extras["label"])
        losses = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
        loop.step((coefficients * losses).sum(1).mean(), metrics(logits, labels, losses, coefficients))
    folder = loop.finish(write_card)
    accelerator.free_memory()  # for the next fold
    return folder


def metrics(logits: Tensor, labels: Tensor, losses: Tensor, coefficients: Tensor) -> dict[str, Tensor]:
    """Return loss and accuracy of each task in the batch, and its mean coefficient over pairs with several tasks."""
    logged = {}
    for number in range(logits.shape[1]):
        has_task = coefficients[:, number] > 0
        if has_task.any():
            logged[f"loss/{TASKS[number]}"] = losses[has_task, number].detach().mean()
            right = (logits[has_task, number] > 0) == labels[has_task, number].bool()
            logged[f"accuracy/{TASKS[number]}"] = right.float().mean()
            shared = has_task & (coefficients < 1).all(1)
            if shared.any():
                logged[f"coefficient/{TASKS[number]}"] = coefficients[shared, number].detach().mean()
    return logged


class ValidationOrder:
    """Mean average precision over the queries of ``valid``, which chooses the best state."""

    def __init__(self, cross: CrossEncoder, bank: QuestionBank, pairs: ExercisePairs, precision: str):
        self.cross, self.pairs, self.precision = cross, pairs, precision
        self.questions = pairs.questions(bank)

    def __call__(self) -> dict[str, float]:
        def probabilities(rows: np.ndarray) -> np.ndarray:
            questions = [self.questions[row] for row in rows]
            return self.cross.probabilities(questions, self.pairs.features[rows], precision=self.precision)

        chances = in_shares(probabilities, len(self.pairs))
        return {"valid/map": mean_average_precision(self.pairs.query, self.pairs.similar, chances)}


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(RankerConfig, __doc__))
