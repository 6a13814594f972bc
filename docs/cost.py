"""What large banks and trainings cost, as arithmetic on docs/results: ``python -m docs.cost`` fills docs/large.md.

Each table stands between its marks, with how it is reckoned in its head.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import timm
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode
from transformers import BertConfig, BertModel

from tqnet.modeling.configuration import TQNetConfig
from tqnet.modeling.fusion import CoordinatedFusion

HERE = Path(__file__).parent
PAGE, SPEED = HERE / "large.md", HERE / "results" / "speed"

QUESTIONS = 50_000_000
#: Of all-MiniLM-L6-v2: numbers of a vector, 4 bytes each.
WIDTH, BYTES = 384, 4

#: Of the paper's configuration: text tokens of a question, its figure's pixels, epochs of `configs/paper/moco.yaml`.
TOKENS, PIXELS, EPOCHS = 128, 224, 200
#: Forward passes that a step of MoCo is worth: forwards, backwards (two), and forwards by the momentum encoder.
PASSES = 4
#: Dense bf16 by NVIDIA's data sheets, TFLOP/s.
PEAKS = {"A100": 312.0, "H100 (SXM)": 989.0}


def _measured(name: str) -> dict[str, Any]:
    return json.loads((SPEED / f"{name}.json").read_text(encoding="utf-8"))


def index() -> str:
    """Vectors and index of :data:`QUESTIONS`, from those of a million."""
    million = _measured("search")
    times = QUESTIONS / million["questions"]
    disk = million["MiB on disk"]
    rows = [
        ("vectors, as fp32", f"{WIDTH} x {BYTES} bytes x {QUESTIONS:,}", f"{WIDTH * BYTES * QUESTIONS / 1e9:.1f} GB"),
        ("the same, one bit a number", f"{WIDTH} / 8 bytes x {QUESTIONS:,}", f"{WIDTH / 8 * QUESTIONS / 1e9:.1f} GB"),
        ("index on disk (LanceDB)", f"{disk:,.0f} MiB x {times:.0f}", f"{disk * times / 1024:,.0f} GiB"),
        *(
            (
                f"to {verb}, on two cores",
                f"{million[f'minutes to {verb}']:.2f} min x {times:.0f}",
                f"{million[f'minutes to {verb}'] * times / 60:.1f} h",
            )
            for verb in ("write", "index")
        ),
    ]
    return _table(("what", "reckoned as", "for 50 million"), rows)


def encoding() -> str:
    """Hours to encode :data:`QUESTIONS`, from questions a second on two cores."""
    speeds = _measured("encode")["questions_per_second"]
    rows = []
    for name, told in (("tqnet none", "text alone"), ("tqnet fused", "through the fusion, without figures")):
        for precision in ("fp32", "bf16"):
            speed = speeds[f"{name} {precision}"]
            hours = QUESTIONS / speed / 3600
            rows.append((f"{told}, {precision}", f"{speed:.1f}", f"{hours:.0f}", f"{hours / 16:.1f}"))
    return _table(("MiniLM on two cores with AMX", "questions/s", "hours on one", "hours on 16 such machines"), rows)


def training() -> str:
    """GPU hours of MoCo in the paper's configuration, for a million questions."""
    operations = PASSES * sum(forward_operations().values()) * 1e6
    utilisation = _measured("mfu")["mfu"]
    rows = []
    for card, peak in PEAKS.items():
        for share, told in ((utilisation, "as on two cores"), (0.3, "assumed")):
            hours = operations / (peak * 1e12 * share) / 3600
            rows.append((card, f"{peak:g}", f"{share:.2f} ({told})", f"{hours:.2f}", f"{hours * EPOCHS:,.0f}"))
    return _table(("card", "peak, TFLOP/s", "MFU", "GPU hours an epoch", f"{EPOCHS} epochs"), rows)


def operations() -> str:
    """Operations of a forward pass, part by part."""
    parts = forward_operations()
    rows = [(name, f"{count / 1e9:.1f}") for name, count in parts.items()]
    whole = sum(parts.values())
    rows += [
        ("together", f"{whole / 1e9:.1f}"),
        (f"a step of MoCo: {PASSES} times that", f"{PASSES * whole / 1e9:.0f}"),
    ]
    return _table(("of one question", "GFLOP"), rows)


@cache
def forward_operations() -> dict[str, int]:
    """Part of the model -> floating-point operations of a question's forward pass, counted without computing them."""
    with torch.device("meta"):
        text = BertModel(BertConfig(), add_pooling_layer=False)
        visual = timm.create_model("resnet50", num_classes=0, global_pool="")
        fusion = CoordinatedFusion(TQNetConfig(text_config=BertConfig(), visual_backbone="resnet50", image_size=PIXELS))
        figure = torch.empty(1, 3, PIXELS, PIXELS)
        cells = visual(figure).flatten(2).shape[2]
        joint = torch.empty(1, TOKENS + cells, BertConfig().hidden_size)
        words = torch.zeros(1, TOKENS, dtype=torch.long)
    return {
        f"BERT-base, {TOKENS} tokens": _count(text, words),
        f"ResNet-50, a figure of {PIXELS} x {PIXELS}": _count(visual, figure),
        f"fusion, {TOKENS} + {cells} tokens": _count(fusion.blocks[0], joint, None),
    }


def _count(model: nn.Module, *inputs: torch.Tensor | None) -> int:
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model.eval()(*inputs)
    return counter.get_total_flops()


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


TABLES: dict[str, Callable[[], str]] = {
    "index": index,
    "encoding": encoding,
    "operations": operations,
    "training": training,
}


def filled(text: str) -> str:
    """The page with every table between its marks."""
    for name, make in TABLES.items():
        start, end = f"<!-- {name}: python -m docs.cost -->", f"<!-- end of {name} -->"
        pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
        if not pattern.search(text):
            raise ValueError(f"{PAGE.name}: {start} .. {end} is not there")
        text = pattern.sub(f"{start}\n\n{make()}\n\n{end}", text)  # which has no backslash
    return text


def main() -> None:
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
