"""Heads on frozen vectors that predict knowledge points and difficulty, for ``tqnet predict``.

    python finetune/heads.py data.bank=BANK model=runs/scl/model

They are fitted to ``train`` and calibrated on ``valid``; ``test`` takes no part. docs/predict.md says how.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from pathlib import Path

from tqnet.evaluation.sources import ENCODER, Encoding, SourceError, open_source, source_vectors
from tqnet.libraries import precision, quiet
from tqnet.prediction.fit import HeadData, fit_heads
from tqnet.prediction.heads import BESIDE, Heads, check_replaceable, model_fingerprint, model_of_heads
from tqnet.training import session
from tqnet.training.config import MAX_SEED, ConfigError, DataConfig, at_least, parse_config, within

log = logging.getLogger(__name__)


@dataclass
class HeadsConfig:
    """Settings of the heads.

    Attributes:
        model: A trained folder, or ``encoder:NAME`` for a text encoder as it comes; its weights stay as they are.
        out: Folder of the heads; null is ``heads/`` beside the weights. Heads that are there are replaced.
        seed: Draws ``valid`` by group where the bank has none.
        precision, batch_size: Of encoding.
        vectors: Keep vectors in this folder, and take those that are there (``--vectors`` of ``tqnet evaluate``).
    """

    data: DataConfig = field(default_factory=DataConfig)
    model: str = "???"
    out: str | None = None
    seed: int = 0
    precision: str = "auto"
    batch_size: int = 32
    vectors: str | None = None

    def __post_init__(self) -> None:
        within(0, MAX_SEED, "seed", self.seed)
        at_least(1, "batch_size", self.batch_size)
        precision(self.precision)  # refuses what is none
        if self.out is None and self.model.startswith(ENCODER):
            raise ConfigError(f"out: {self.model} has no folder that heads could lie in; name one")


def main(config: HeadsConfig) -> Path:
    quiet()
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    out = Path(config.out or Path(config.model) / BESIDE)
    with session.settings_at_fault():
        try:
            check_replaceable(out)
        except FileExistsError as error:
            raise ConfigError(f"out: {error}") from error
        config.data.refuse_share()
        bank = config.data.load()
        data = HeadData.of(bank, config.seed)  # before anything is encoded
        try:
            fingerprint = model_fingerprint(config.model)
            open_source(config.model)
        except (SourceError, FileNotFoundError) as error:
            raise ConfigError(f"model: {error}") from error
    for why in filter(None, (data.why_no_knowledge, data.why_no_difficulty)):
        log.info("left out: %s", why)
    if data.splits.drawn:
        held_out = len(data.splits.valid)
        log.info("the bank has no split 'valid': %d labelled questions of train are held out for it", held_out)
        if not config.model.startswith(ENCODER):
            log.warning(
                "they are held out of the heads alone: a model that was trained on them makes the heads too sure, and "
                "intervals of difficulty too narrow; a split 'valid' that neither has seen does not"
            )
    encoding = Encoding(config.batch_size, precision=precision(config.precision))
    vectors = source_vectors(config.model, bank, encoding, Path(config.vectors) if config.vectors else None)
    knowledge, difficulty = fit_heads(data, vectors, show_progress=True)
    Heads(model_of_heads(config.model, out), fingerprint, knowledge, difficulty, data.facts()).save(out)
    if knowledge is not None:
        kind = "several a question" if knowledge.tree.multi_label else "one a question"
        counts = ", ".join(str(len(knowledge.tree.concepts(level))) for level in range(1, knowledge.tree.depth + 1))
        log.info("knowledge points, %s: %s concepts by level", kind, counts)
    if difficulty is not None:
        if why := difficulty.why_no_interval(0.9):
            log.warning(why)
        else:
            log.info("difficulty: intervals that hold for 90 %% reach %.3g to either side", difficulty.reach(0.9))
    log.info("heads: %s", out)
    return out


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(HeadsConfig, __doc__))
