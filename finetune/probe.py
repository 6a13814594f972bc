"""Linear probe of frozen embeddings for knowledge points (TQ-Net, Table 5).

    python finetune/probe.py data.bank=assets/sample model=runs/demo/scl/model out=runs/demo/probe

Fits and saves one classifier per level of the hierarchy, with the regularisation chosen on ``valid``. ``tqnet predict``
uses the heads of ``finetune/heads.py`` instead.
"""

from __future__ import annotations

import json
from pathlib import Path

from tqnet.config import REQUIRED, Count, Precision, Seed, parse_config, save_config, section, settings
from tqnet.evaluation.probe import evaluate_probe
from tqnet.evaluation.stages import Tasks
from tqnet.evaluation.table import StageResult, render, to_dict
from tqnet.files import atomic
from tqnet.hub.card import write_probe_card
from tqnet.libraries import precision, quiet
from tqnet.modeling.build import load_model
from tqnet.questions import KnowledgeHierarchy
from tqnet.training import session
from tqnet.training.config import DataConfig


@settings
class ProbeConfig:
    """Settings of the probe."""

    data: DataConfig = section(DataConfig)
    model: str = REQUIRED
    """Folder of a trained TQ-Net. Its weights stay frozen."""
    out: str = "runs/probe"
    """Output folder. It gets level-1/, level-2/, ... (the classifiers), results.json and config.yaml."""
    seed: Seed = 0
    """Seed for drawing splits by group if the bank has none."""
    precision: Precision = "auto"
    """Precision for encoding."""
    batch_size: Count = 32
    """Batch size for encoding."""


def main(config: ProbeConfig) -> Path:
    quiet()
    out = Path(config.out)
    out.mkdir(parents=True, exist_ok=True)  # fail before encoding
    config.data.refuse("labelled", "held_out", "pairs", "similar_level", "distractors", "transductive")
    bank = config.data.load()
    hierarchy = KnowledgeHierarchy.from_bank(bank)
    Tasks(bank, hierarchy=hierarchy, seed=config.seed).check_probe()  # likewise
    model = load_model(config.model)
    vectors = model.encode(
        bank, batch_size=config.batch_size, precision=precision(config.precision), show_progress=True
    )
    result = evaluate_probe(vectors, bank, hierarchy, seed=config.seed)

    save_config(config, out / "config.yaml")
    for level in result.levels:
        level.probe.save(out / f"level-{level.level}")
    results = {"model": StageResult(probe=result)}
    with atomic(out / "results.json") as temporary:
        temporary.write_text(json.dumps(to_dict(results), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    write_probe_card(out, config.model, bank, result, render(results, markdown=True))
    print(render(results))
    return out


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(ProbeConfig, __doc__))
