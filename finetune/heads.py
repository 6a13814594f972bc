"""Fit heads on frozen vectors that predict knowledge points and difficulty, for ``tqnet predict``.

    python finetune/heads.py data.bank=BANK model=runs/scl/model

Fits them on ``train``, calibrates them on ``valid`` and ignores ``test``. See docs/predict.md.
"""

from __future__ import annotations

import logging
from pathlib import Path

from tqnet.config import REQUIRED, ConfigError, Count, Precision, Seed, parse_config, section, settings
from tqnet.evaluation.sources import ENCODER, Encoding, VectorSourceError, open_source, source_vectors
from tqnet.libraries import precision, quiet
from tqnet.prediction.heads import (
    HEADS_FOLDER,
    HeadData,
    Heads,
    check_replaceable,
    fit_heads,
    model_fingerprint,
    model_of_heads,
)
from tqnet.training import session
from tqnet.training.config import DataConfig

log = logging.getLogger(__name__)


@settings
class HeadsConfig:
    """Settings of the heads."""

    data: DataConfig = section(DataConfig)
    model: str = REQUIRED
    """Folder of a trained model, or encoder:NAME for an off-the-shelf text encoder. Its weights stay frozen."""
    out: str | None = None
    """Folder of the heads; existing heads are replaced. null for heads/ in the model's folder."""
    seed: Seed = 0
    """Seed for drawing a validation split by group if the bank has none."""
    precision: Precision = "auto"
    """Precision for encoding."""
    batch_size: Count = 32
    """Batch size for encoding."""
    vectors: str | None = None
    """Folder to cache vectors in, like --vectors of `tqnet evaluate`."""

    def __post_init__(self) -> None:
        if self.out is None and self.model.startswith(ENCODER):
            raise ConfigError(f"out: {self.model} has no folder for heads; set one")


def main(config: HeadsConfig) -> Path:
    quiet()
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    out = Path(config.out or Path(config.model) / HEADS_FOLDER)
    try:
        check_replaceable(out)
    except FileExistsError as error:
        raise ConfigError(f"out: {error}") from error
    config.data.refuse("labelled", "held_out", "pairs", "similar_level", "distractors", "transductive")
    bank = config.data.load()
    data = HeadData.of(bank, config.seed)  # before anything is encoded
    try:
        fingerprint = model_fingerprint(config.model)
        open_source(config.model)
    except (VectorSourceError, FileNotFoundError) as error:
        raise ConfigError(f"model: {error}") from error
    for reason in data.left_out:
        log.info("left out: %s", reason)
    if data.drawn:
        log.info("the bank has no split 'valid': %d labelled questions of train are held out for it", data.drawn)
        if not config.model.startswith(ENCODER):
            log.warning(
                "they are held out from the heads only: if the model was trained on them, the heads are overconfident "
                "and intervals of difficulty too narrow; set a split 'valid' that neither has seen"
            )
    encoding = Encoding(config.batch_size, precision=precision(config.precision))
    vectors = source_vectors(config.model, bank, encoding, Path(config.vectors) if config.vectors else None)
    knowledge, difficulty = fit_heads(data, vectors, show_progress=True)
    Heads(model_of_heads(config.model, out), fingerprint, knowledge, difficulty, data.facts()).save(out)
    if knowledge is not None:
        kind = "several per question" if knowledge.tree.multi_label else "one per question"
        counts = ", ".join(str(len(knowledge.tree.concepts(level))) for level in range(1, knowledge.tree.depth + 1))
        log.info("knowledge points, %s: %s concepts by level", kind, counts)
    if difficulty is not None:
        if reason := difficulty.why_no_interval(0.9):
            log.warning(reason)
        else:
            log.info("difficulty: intervals that hold for 90 %% reach %.3g to either side", difficulty.reach(0.9))
    log.info("heads: %s", out)
    return out


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(HeadsConfig, __doc__))
