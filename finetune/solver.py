"""Train a solver of word problems: text encoder, tree decoder and contrast of equation patterns (mwp-cl, Section 4).

    accelerate launch finetune/solver.py --config configs/small/solver.yaml data.bank=BANK run.out=runs/solver alpha=5
    accelerate launch finetune/solver.py --config configs/small/solver2.yaml data.bank=BANK run.out=runs/solver2 \\
        model.start=runs/solver/model

With ``alpha``, this is stage I: it solves triples of problems and pulls those with similar patterns together. Without
it, this is stage II, which solves all problems, even without a triple; or the whole training of a solver without
contrast. The bank's questions need a field ``equation``.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from tqnet.config import ConfigError, Count, NonNegative, Share, ShareBelowOne, parse_config, section, settings
from tqnet.hub.card import write_card
from tqnet.libraries import precision
from tqnet.losses.contrastive import cosine_triplet
from tqnet.modeling.interchange import SOLVER, kind_of
from tqnet.questions import QuestionBank
from tqnet.solver.augmentation import ProblemAugmentation, ProblemAugmentConfig
from tqnet.solver.data import Triples, ValidationAnswers, WordProblems, learn_alphabet, solvable
from tqnet.solver.decoder import TreeBatch
from tqnet.solver.model import BEAMS, MOST_TOKENS, WordProblemSolver, load_solver
from tqnet.text.equations import commutative
from tqnet.training import session
from tqnet.training.config import OptimConfig, RecipeConfig, RunConfig
from tqnet.training.data import Batch
from tqnet.training.loop import TrainingLoop
from tqnet.training.sampler import ShuffledBatches

log = logging.getLogger(__name__)


@settings
class SolverConfig(RecipeConfig):
    """Settings of both stages. They only use the text stream of ``model``."""

    optim: OptimConfig = section(OptimConfig, lr=5e-5, clip=3.0)
    run: RunConfig = section(RunConfig, out="runs/solver")
    alpha: NonNegative = 0.0
    """Weight of the contrastive loss (Eq. 4), 5 in the paper; 0 trains on equations alone."""
    equation_loss: Literal["sum", "mean"] = "sum"
    """Loss of an equation: the sum over its tokens, as in Eq. 3, or their mean, as in the authors' code, which
    gives the contrast more weight."""
    commutative: bool = False
    """Learn one form of each equation, whatever the order of its summands and factors."""
    ramp: Share = 0.1
    """Share of the steps in which alpha rises from 0, since a random decoder has no patterns yet."""
    margin: Annotated[float, Field(ge=0, le=2)] = 0.2
    """Margin eta of Eq. 1."""
    contrast_at: Literal["goal", "subtree"] = "goal"
    """Embeddings to contrast: the goal of a node, or the subtree below it."""
    augment: ProblemAugmentConfig = section(ProblemAugmentConfig)
    positives: Literal["subtree", "either", "same"] = "subtree"
    """Choice of positives (`tqnet.solver.data.Triples`)."""
    negatives: Literal["hard", "random"] = "hard"
    """Choice of negatives (`tqnet.solver.data.Triples`)."""
    multilingual: bool = False
    """Take positives from another language of the bank, and negatives from the same."""
    pairs: Count = 4
    """Triples per problem and epoch."""
    decoder_dropout: ShareBelowOne = 0.5
    """Dropout of a new decoder."""
    min_count: Count = 5
    """Numbers in at least this many equations, but not in their texts, become constants."""
    most_tokens: Annotated[int, Field(ge=3)] = MOST_TOKENS
    """Maximum number of tokens of an equation; longer ones are left out."""
    beams: Count = BEAMS
    """Beam width on valid."""
    choose: bool = True
    """Keep the state with the most correct answers on valid. Otherwise keep the last one."""


def build(config: SolverConfig, bank: QuestionBank) -> WordProblemSolver:
    """Load the solver of ``model.start``, or put a new decoder on the encoder of ``model``."""
    encoder = session.build(config, bank, read_images=False)
    if config.model.start and kind_of(config.model.start) is SOLVER:
        return load_solver(config.model.start, encoder)
    return WordProblemSolver(encoder, learn_alphabet(bank, config.min_count), config.decoder_dropout)


def triples_of(config: SolverConfig, views_bank: QuestionBank, equations: list[tuple[str, ...]]) -> Triples | None:
    """Build the sampler of triples; None without ``alpha``.

    Raises:
        ConfigError: No problem has a triple, or ``multilingual`` finds only one language.
    """
    if not config.alpha:
        return None
    languages = list(views_bank.column("language")) if config.multilingual else None
    if languages is not None and len(set(languages)) < 2:
        raise ConfigError(f"multilingual: {views_bank.name} has only one language: {languages[0]}")
    triples = Triples(equations, languages, config.positives, config.negatives)
    if not triples.problems:
        raise ConfigError("alpha: no problem has both a positive and a negative; alpha=0 needs none")
    log.info("%d of %d problems have a triple", len(triples.problems), len(equations))
    return triples


def contrast(embeddings: Tensor, nodes: Tensor, margin: float) -> Tensor:
    """Compute Eq. 1: max(0, eta + sim(e, e-) - sim(e, e+)), mean over triples.

    NOTE: the paper sums over a batch's triples, whose number is fixed there.

    Args:
        embeddings: [n, h], of all nodes.
        nodes: [z, 3], node numbers in p, p+ and p-.
    """
    anchor, positive, negative = F.normalize(embeddings.float(), dim=-1)[nodes].unbind(1)
    return cosine_triplet(anchor, positive, negative, margin)


def loss_of(
    config: SolverConfig, solver: nn.Module, batch: Batch, rising: float = 1.0
) -> tuple[Tensor, dict[str, Tensor]]:
    """Compute L_equation + alpha L_contrast (Eq. 4), and both terms for the log.

    Averaged by DDP, means over a process's problems equal the mean over the whole batch, since all processes have as
    many problems and triples.

    NOTE: the paper's loss of z triples is the sum over 3z problems plus alpha times the sum over z triples. Here it is
    divided by 3z: mean over problems + alpha / 3 * mean over triples. The authors' code computes mean over tokens +
    alpha * mean over triples (``equation_loss=mean``).

    Args:
        solver: A `WordProblemSolver`, possibly wrapped by DDP.
        batch: From `WordProblems`.
        rising: Factor of ``alpha`` in the warm-up.
    """
    extras = dict(batch.extras)
    equal, nodes = extras.pop("equal"), extras.pop("nodes", None)
    trees = TreeBatch(**extras)
    log_probability, goals, subtrees = solver(equal, trees, **batch.inputs)
    if config.equation_loss == "mean":
        ones = torch.ones_like(trees.problem, dtype=log_probability.dtype)
        log_probability = log_probability / torch.zeros_like(log_probability).index_add(0, trees.problem, ones)
    loss = -log_probability.mean()
    logged = {"equation": loss.detach()}
    if nodes is not None:
        contrastive = contrast(goals if config.contrast_at == "goal" else subtrees, nodes, config.margin)
        share = 1 / 3 if config.equation_loss == "sum" else 1
        loss = loss + rising * config.alpha * share * contrastive
        logged["contrastive"] = contrastive.detach()
    return loss, logged


def main(config: SolverConfig) -> Path:
    accelerator = session.start(config.run)
    bank = session.training_questions(config.data, pretraining=False)
    solver = build(config, bank).to(accelerator.device)
    rows, problems = solvable(bank, solver, config.most_tokens)
    form = commutative if config.commutative else tuple
    problems = [replace(problem, equation=form(problem.equation)) for problem in problems]
    bank = bank.select(np.array(rows))
    triples = triples_of(config, bank, [problem.equation for problem in problems])
    anchors = np.repeat(triples.problems, config.pairs).tolist() if triples else []
    augmentation = None
    if config.augment.strategies or config.augment.distract:
        tokenize, most = solver.encoder.processor.tokenize, solver.alphabet.most
        augmentation = ProblemAugmentation(config.augment, list(bank), problems, tokenize, most, form)
    views = WordProblems(bank, solver, problems, config.run.seed, triples, anchors, config.data.workers, augmentation)

    valid = config.data.load().split("valid")
    answers = ValidationAnswers(solver, valid, config.beams, precision(config.run.precision), config.run.seed)
    loop = TrainingLoop(
        accelerator,
        config,
        model=solver,
        trained=solver,
        plan=ShuffledBatches(views.lengths(), config.run.batch_size, config.run.seed),
        views=views,
        per_item=3 if triples else 1,  # all three are solved
        evaluate=answers if config.choose and answers.problems else None,
    )
    for batch in loop:
        rising = min(1.0, (loop.step_number + 1) / max(1.0, config.ramp * loop.steps))
        loss, logged = loss_of(config, loop.trained, batch, rising)
        loop.step(loss, logged)
    return loop.finish(write_card)


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(SolverConfig, __doc__))
