"""What QuesCo's own parts cost: an augmentation, and its ranking loss against a long queue, compared with a whole step.

    python -m reproduce.benchmarks.quesco --config configs/quesco/sample.yaml data.bank=BANK run.out=OUT \\
        run.max_steps=20

Runs the recipe itself for the time of a step; ``--queue`` is that of the loss, clocked by itself, forwards and back.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pretrain import quesco
from reproduce.benchmarks.harness import make_parser, open_recipe, take_turns
from reproduce.benchmarks.shares import shares
from tqnet.augment.strategies import GROUPS, apply_strategies, strategy_names
from tqnet.losses.ranking import rince, temperatures_for
from tqnet.modeling.heads import KeyQueue
from tqnet.questions import QuestionBank
from tqnet.training import session
from tqnet.training.contrast import KeyRanks, Keys

#: Questions that are augmented.
QUESTIONS = 2000


def augmentation(bank: QuestionBank, probability: float, seed: int = 0) -> dict[str, float]:
    """Milliseconds a question by group of strategies, and for all of them, on one core; a first pass is not clocked."""
    questions = [bank[int(i)] for i in np.random.default_rng(seed).permutation(len(bank))[:QUESTIONS]]

    def augment(names: tuple[str, ...]) -> None:
        rng = np.random.default_rng(seed)
        for question in questions:
            apply_strategies(question, names, probability, rng)

    timings = {}
    for group in (*GROUPS, "all"):
        names = strategy_names(list(GROUPS) if group == "all" else [group])
        timings[group] = round(_milliseconds(lambda names=names: augment(names), 3) / len(questions), 3)
    return timings


def loss(bank: QuestionBank, batch_size: int, size: int, dimension: int, seed: int = 0) -> float:
    """Milliseconds of similarities, ranks and loss of a batch, forwards and back to the queries.

    The bank's questions come in the queue as often as it takes.
    """
    generator = torch.Generator().manual_seed(seed)

    def drawn(rows: int) -> torch.Tensor:
        return torch.nn.functional.normalize(torch.randn(rows, dimension, generator=generator), dim=1)

    queue = KeyQueue(size, dimension)
    numbers = torch.arange(size) % len(bank)
    queue.enqueue(drawn(size), numbers, numbers)
    ranks = KeyRanks(bank)
    temperatures = temperatures_for(ranks.depth)

    def step() -> None:
        ids = torch.randint(len(bank), (batch_size,), generator=generator)
        query = drawn(batch_size).requires_grad_()
        batch = drawn(batch_size)
        gathered = batch, ids, ids, ids >= 0
        keys = Keys(batch, ids.numpy(), ids, ids, present=None, weight=torch.ones(()), gathered=gathered)
        similarity, rank_of = quesco.compare(query, keys, queue, ranks)
        value, _ = rince(similarity, rank_of, temperatures)
        value.backward()

    return _milliseconds(step, 20)


def _milliseconds(work: Callable[[], Any], rounds: int) -> float:
    return 1e3 * take_turns({"": work}, rounds)[""]


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--queue", type=int, default=65_536, metavar="KEYS", help="keys in the loss's queue (65,536)")
    args, settings = parser.parse_known_args()
    with session.clear_errors():
        recipe, config = open_recipe(parser, Path(quesco.__file__), settings)
        assert isinstance(config, quesco.QuesCoConfig)
        bank = session.training_questions(config.data, pretraining=True)
        step = shares(recipe, config)  # which sets the threads too
        long, short = (loss(bank, config.run.batch_size, size, config.dimension) for size in (args.queue, config.queue))
        augmented = augmentation(bank, config.augment.probability)
    # The long queue takes the place of the recipe's.
    whole = 1e3 * config.run.batch_size / step["questions_per_second"] - short + long
    report = {
        "bank": bank.name,
        "augmentation": {"questions": min(QUESTIONS, len(bank)), "milliseconds_a_question": augmented},
        "loss": {
            "batch": config.run.batch_size,
            "queue": args.queue,
            "milliseconds": round(long, 1),
            "step_milliseconds": round(whole, 1),
            "share": round(long / whole, 3),
        },
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
