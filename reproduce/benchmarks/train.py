"""Speed of a training step of ``finetune/similar.py``, measured in one run.

    python -m reproduce.benchmarks.train --bank BANK --steps 20 --compile

Compares with the same model written the plain way: batches at random, padded to the longest of their texts; a blank
figure for every question without one; PyTorch's own attention; fp32, and bf16 where that is what ours computes in. They
take turns, so that whatever else the machine does falls on all.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from reproduce.benchmarks.harness import make_parser
from tqnet.libraries import precision, quiet
from tqnet.losses.contrastive import supervised_contrastive
from tqnet.modeling.build import build_model
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import QuestionBank, Similarity
from tqnet.questions.bank import Texts
from tqnet.training.config import OptimConfig
from tqnet.training.content import sort_lengths
from tqnet.training.data import QuestionViews
from tqnet.training.optim import build_optimizer
from tqnet.training.sampler import GroupBatches

#: Steps of each contestant before the clock starts.
WARM_UP = 2


class Trainer:
    """Steps of supervised contrast; a subclass says what a batch is and how it is encoded."""

    autocast = False

    def __init__(self, bank: QuestionBank, batch_size: int, dropout: float, compiled: bool = False):
        torch.manual_seed(0)
        shape = ModelConfig(max_length=128, image_size=128, dropout=dropout)
        built, self.processor = build_model(shape, Texts(bank))
        assert isinstance(built, TQNetModel)
        self.model, self.bank, self.batch_size = built.train(), bank, batch_size
        self.similarity = Similarity.from_groups(bank)
        if compiled:
            self.model.text.compile(dynamic=True)
        self.optimizer = self.build_optimizer()
        self.batches = self.load()

    def build_optimizer(self) -> torch.optim.Optimizer:
        return build_optimizer(self.model, OptimConfig())

    def load(self) -> Iterator[tuple[np.ndarray, dict[str, Tensor]]]:
        """Question numbers and packed batches, without end."""
        views = QuestionViews(self.bank, self.processor, seed=0)
        for epoch in range(1_000_000):
            for index in self.plan(epoch):
                yield index, self.prepare(views.collate([views[epoch, int(i), 0] for i in index]).inputs)

    @cached_property
    def grouped(self) -> GroupBatches:
        lengths = sort_lengths(self.bank, self.processor, self.model.cells_per_image)
        return GroupBatches(self.similarity, lengths, self.batch_size, seed=0)

    def plan(self, epoch: int) -> list[np.ndarray]:
        return self.grouped.epoch(epoch)

    def prepare(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        return inputs

    def embed(self, inputs: dict[str, Tensor]) -> Tensor:
        return self.model(**inputs).embedding

    def step(self) -> float:
        """Seconds of a step."""
        begun = time.perf_counter()
        index, inputs = next(self.batches)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.autocast):
            features = F.normalize(self.embed(inputs).float(), dim=-1)
        similar = torch.from_numpy(self.similarity.matrix(index))
        supervised_contrastive(features, similar, 0.07).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return time.perf_counter() - begun


class Ours(Trainer):
    """As the recipe does it."""

    autocast = precision("auto", "cpu") == "bf16"


class Plain(Trainer):
    """The reference."""

    def __init__(self, bank: QuestionBank, batch_size: int, dropout: float):
        super().__init__(bank, batch_size, dropout)
        self.model.text.set_attn_implementation("sdpa")

    def build_optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.model.parameters(), foreach=False)

    def plan(self, epoch: int) -> list[np.ndarray]:
        order = np.random.default_rng(epoch).permutation(len(self.bank))
        return list(order[: len(order) // self.batch_size * self.batch_size].reshape(-1, self.batch_size))

    def prepare(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """A blank figure where there is none."""
        counts, figures = inputs["image_counts"], inputs["pixel_values"]
        blank = torch.zeros(1, 3, 128, 128)
        parts = [part if len(part) else blank for part in figures.split(counts.tolist())]
        return inputs | {"pixel_values": torch.cat(parts), "image_counts": counts.clamp(min=1)}

    def embed(self, inputs: dict[str, Tensor]) -> Tensor:
        ids, mask = inputs["input_ids"], inputs["attention_mask"].bool()
        text = self.model.text(input_ids=ids, attention_mask=mask).last_hidden_state
        visual, visual_mask = self.model.visual(inputs["pixel_values"], inputs["image_counts"])
        joined = torch.cat([mask, visual_mask], 1)
        tokens = self.model.fusion(torch.cat([text, visual], 1), joined)
        return (tokens * joined[..., None]).sum(1) / joined.sum(1, keepdim=True)


class PlainInBf16(Plain):
    autocast = True


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--bank", required=True)
    parser.add_argument("--steps", type=int, default=20, help=f"steps of each, after {WARM_UP} for warm-up")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--dropout", type=float, default=0.0, help="dropout of all contestants")
    parser.add_argument("--compile", action="store_true", help="one more contestant: ours with its BERT compiled")
    args = parser.parse_args()
    quiet()
    bank = QuestionBank.load(args.bank).split("train")
    contestants: dict[str, Trainer] = {
        "tqnet": Ours(bank, args.batch_size, args.dropout),
        "plain": Plain(bank, args.batch_size, args.dropout),
    }
    if Ours.autocast:
        contestants["plain, bf16"] = PlainInBf16(bank, args.batch_size, args.dropout)
    if args.compile:
        contestants["compiled"] = Ours(bank, args.batch_size, args.dropout, compiled=True)
    seconds: dict[str, float] = defaultdict(float)
    for number in range(args.steps + WARM_UP):
        for name, trainer in contestants.items():
            took = trainer.step()
            seconds[name] += took if number >= WARM_UP else 0.0
    print(json.dumps(_report(contestants, seconds, args.steps), indent=2))


def _report(contestants: dict[str, Trainer], seconds: dict[str, float], steps: int) -> dict[str, Any]:
    speed = {name: steps * trainer.batch_size / seconds[name] for name, trainer in contestants.items()}
    return {
        "questions_per_second": {name: round(value, 1) for name, value in speed.items()},
        "ratios_to_plain": {name: round(value / speed["plain"], 2) for name, value in speed.items()},
    }


if __name__ == "__main__":
    main()
