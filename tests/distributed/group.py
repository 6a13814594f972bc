"""Two processes that stay up and run what they are sent.

    torchrun --nproc_per_node 2 -m tests.distributed.group FOLDER

Task N is a file ``FOLDER/N.json`` with a function of this module and its arguments; each process answers with
``FOLDER/N.RANK``, which is empty or holds a traceback.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import logging
import os
import re
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch import Tensor, nn

from finetune.knowledge import KnowledgeClassifier
from finetune.similar import SimilarConfig, SimilarityModel
from finetune.solver import SolverConfig, loss_of, triples_of
from pretrain.clip import CrossModalEncoder
from pretrain.moco import stream_loss
from tests.conftest import SAMPLE
from tests.recipes.conftest import run_recipe
from tqnet.losses.contrastive import cross_modal_infonce, draw_pairs, pair_logistic, supervised_contrastive
from tqnet.losses.prediction import concept_classification
from tqnet.modeling.build import build_model, load_model
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.heads import ContrastiveEncoder, KeyQueue, MomentumEncoder
from tqnet.modeling.settings import ModelConfig
from tqnet.modeling.visual import VisualStream
from tqnet.questions import Question, QuestionBank, Similarity
from tqnet.solver.data import WordProblems, learn_alphabet, solvable
from tqnet.solver.model import MOST_TOKENS, WordProblemSolver
from tqnet.training.content import content_hashes
from tqnet.training.contrast import ShuffledKeys, same
from tqnet.training.data import IGNORED, Batch, MaskTokens, QuestionViews
from tqnet.training.labels import ClassLabels, ConceptLabels, class_head, type_labels
from tqnet.training.loop import TrainingLoop
from tqnet.training.multitask import MultiTaskModel, Solutions, TaskLosses, TaskViews
from tqnet.training.processes import HostFlags, Interrupted, gather_with_own_gradient, weight_of_mean
from tqnet.training.sampler import LocalBatches


@dataclass
class OneBatch:
    """A plan whose only batch is the whole bank in its order."""

    batch_size: int

    def __len__(self) -> int:
        return 1

    def epoch(self, epoch: int) -> list[np.ndarray]:
        return [np.arange(self.batch_size)]


def banks() -> dict[str, QuestionBank]:
    """Eight questions each: figures on both processes, on the second only, and on none."""
    bank = QuestionBank.load(SAMPLE).split("train")
    has_images = np.array([len(images) > 0 for images in bank.column("images")])
    group = np.array([name or "" for name in bank.column("group")])

    def two_of_each_group(pictured: bool, count: int) -> list[int]:
        rows = [np.flatnonzero((group == name) & (has_images == pictured))[:2] for name in np.unique(group) if name]
        return [row for pair in rows if len(pair) == 2 for row in pair.tolist()][:count]

    bare, pictured = two_of_each_group(False, 8), two_of_each_group(True, 4)
    mixed = [*bare[:3], pictured[0], bare[3], *pictured[1:]]
    return {
        "mixed": bank.select(mixed),
        "one-sided": bank.select([*bare[:6], *pictured[:2]]),
        "bare": bank.select(bare),
        "pictured": bank.select(pictured),
    }


def local_batch(
    accelerator: Accelerator, bank: QuestionBank, model: QuestionEncoder, views: int = 1, prepare: Any = None
) -> Batch:
    """This process's share, as a recipe's loader makes it."""
    dataset = QuestionViews(bank, model.processor, seed=0, views=views, prepare=prepare)
    batch = dataset.collate([dataset[item] for item in local_items(accelerator, bank, views)])
    return dataclasses.replace(batch, everywhere=np.arange(len(bank)))


def local_items(accelerator: Accelerator, bank: QuestionBank, views: int = 1) -> list[tuple[int, int, int]]:
    world, rank = accelerator.num_processes, accelerator.process_index
    (items,) = LocalBatches(OneBatch(len(bank)), 0, 1, rank, world, views)
    return items


def still(module: nn.Module) -> None:
    """No dropout; the visual stream stays in training, where it does its zero-weight work."""
    module.eval()
    for child in module.modules():
        if isinstance(child, VisualStream):
            child.train()


def gradients(module: nn.Module) -> dict[str, Tensor]:
    """Of everything that is trained; zero where none came (one process has no zero-weight work)."""
    trained = {name: p for name, p in module.named_parameters() if p.requires_grad}
    return {name: torch.zeros_like(p) if p.grad is None else p.grad.clone() for name, p in trained.items()}


def contrast(accelerator: Accelerator, folder: str, bank: QuestionBank, streams: tuple[str, ...]) -> dict[str, Any]:
    """Gradients of momentum contrast, and the queues after the step."""
    model = load_model(folder)
    if "fused" not in streams:
        model.fusion.requires_grad_(False)
    encoder = ContrastiveEncoder(model, streams, 16)
    key_encoder = MomentumEncoder(encoder)
    queues = {stream: KeyQueue(24, 16) for stream in streams}
    for queue in queues.values():
        keys = nn.functional.normalize(torch.randn(20, 16), dim=1)
        queue.enqueue(keys, torch.arange(20) - 4, torch.arange(20))
    keys_of = ShuffledKeys(accelerator, key_encoder, content_hashes(bank), seed=0)
    key_encoder.train = lambda mode=True: key_encoder  # type: ignore[method-assign,assignment]
    still(encoder)
    still(key_encoder.encoder)
    trained = accelerator.prepare(encoder)
    for _ in range(2):  # DDP complains of an unused parameter in the second step
        batch = local_batch(accelerator, bank, model, views=2)
        queries = trained(**batch.inputs)
        keys = keys_of(batch, 0)
        terms = [stream_loss(query, keys[s], queues[s], 0.2)[0] for s, query in queries.items()]
        accelerator.backward(torch.stack(terms).sum())
    for stream, queue in queues.items():
        queue.enqueue(*keys[stream].gathered)
    states = {f"queue/{s}/{name}": value for s, queue in queues.items() for name, value in queue.state_dict().items()}
    return {"gradients": gradients(encoder), **states}


def supervised(accelerator: Accelerator, folder: str, bank: QuestionBank, objective: str, chunk: int) -> dict[str, Any]:
    """Gradients of the fine-tuning's objectives."""
    model = load_model(folder)
    similarity_model = SimilarityModel(model, SimilarConfig(objective=objective, chunk=chunk))
    still(similarity_model)
    trained = accelerator.prepare(similarity_model)
    batch = local_batch(accelerator, bank, model)
    features = gather_with_own_gradient(accelerator, trained(**batch.inputs))
    similar = torch.from_numpy(Similarity.from_groups(bank).matrix(batch.everywhere))
    if objective == "scl":
        loss = supervised_contrastive(features, similar, 0.1)
    else:
        left, right, label = draw_pairs(similar, torch.Generator().manual_seed(0))
        loss = pair_logistic(features[left], features[right], label, similarity_model.scale, similarity_model.bias)
    accelerator.backward(loss)
    return {"gradients": gradients(similarity_model), "loss": loss.detach(), "features": features.detach()}


def cross_modal(accelerator: Accelerator, folder: str, bank: QuestionBank) -> dict[str, Any]:
    """Gradients of contrast between the modalities."""
    model = load_model(folder)
    model.fusion.requires_grad_(False)
    encoder = CrossModalEncoder(model, 16, 0.07)
    still(encoder)
    trained = accelerator.prepare(encoder)
    batch = local_batch(accelerator, bank, model)
    vectors = trained(**batch.inputs)
    text, visual = (gather_with_own_gradient(accelerator, vectors[stream]) for stream in ("text", "visual"))
    excluded = same(content_hashes(bank)["text"][torch.from_numpy(batch.everywhere)])
    loss, logits = cross_modal_infonce(text, visual, encoder.scale, excluded)
    accelerator.backward(loss)
    return {"gradients": gradients(encoder), "loss": loss.detach(), "logits": logits.detach()}


def classified(accelerator: Accelerator, folder: str, bank: QuestionBank) -> dict[str, Any]:
    """Gradients of a mean over the labelled questions, which are few on one process and many on the other."""
    model, labels = load_model(folder), ConceptLabels.from_bank(bank, 3)
    classifier = KnowledgeClassifier(model, [labels])
    still(classifier)
    trained = accelerator.prepare(classifier)
    batch = local_batch(accelerator, bank, model)
    concepts = torch.from_numpy(labels.indicators(batch.index.numpy()))
    concepts[batch.index > 4] = False
    (logits,) = trained(**batch.inputs)
    loss = concept_classification(logits, concepts, labels.multi_label)
    accelerator.backward(weight_of_mean(accelerator, concepts.any(1).sum()) * loss)
    return {"gradients": gradients(classifier)}


def multitask(accelerator: Accelerator, folder: str, bank: QuestionBank) -> dict[str, Any]:
    """Gradients of all tasks together: means over what takes part on both processes, contrasts over both."""
    model, concepts = load_model(folder), ConceptLabels.from_bank(bank, 3)
    few = [classes if row > 4 else () for row, classes in enumerate(concepts.labels)]
    labels = {"type": type_labels(bank), "knowledge": ClassLabels(concepts.names, few)}
    solutions = Solutions.from_bank(bank, model.processor, 12)  # which only some have
    heads = {name: class_head(model.config.hidden_size, classes) for name, classes in labels.items()}
    tasks = ("words", "order", "solution", "figures", *labels)
    module = MultiTaskModel(model, tasks, heads)
    still(module)
    trained = accelerator.prepare(module)
    losses = TaskLosses(accelerator, tasks, bank, labels, solutions, model.config.max_images, 0.1)
    mask = MaskTokens(model.processor, 0.15, seed=0)
    names = ("content", "segments", "solution")
    views = TaskViews(names, bank, model.processor, 0, mask, True, solutions)
    for _ in range(2):
        batch = local_batch(accelerator, bank, model, prepare=views)
        outputs = trained(**dict(zip(names, batch.views, strict=True)), masked=batch.extras["words"] != IGNORED)
        terms = losses(outputs, batch)
        accelerator.backward(torch.stack([term.loss for term in terms.values()]).sum())
    contrasts = {name: terms[name].loss.detach() for name in ("solution", "figures")}
    return {"gradients": gradients(module), **contrasts}


#: On the second process trees are deeper, and texts longer; or on the first all of them are leaves.
DEEPER = ("2+3", "7-4", "5*6", "9/3", "2*(3+4)", "(8-3)*2", "(5+6)/(7-3*2)", "9*(8-(7-(6+5)))")
LEAVES_FIRST = ("2", "7", "5", "9", *DEEPER[4:])


def solved(accelerator: Accelerator, folder: str | None, equations: tuple[str, ...], **settings: Any) -> dict[str, Any]:
    """Gradients of a solver, of problems or of triples of them; figures and fusion of its encoder are not read.

    Args:
        folder: None for a tiny encoder of bidirectional GRUs.
    """
    texts = [re.sub(r"[-+*/()]+", " and ", equation) for equation in equations]
    bank = QuestionBank.from_questions(
        Question(id=f"q{i}", stem=f"How many are {text} pens?", extras={"equation": equations[i]})
        for i, text in enumerate(texts)
    )
    shape = ModelConfig(text="gru", scratch_hidden=48, scratch_layers=2, visual=None, fusion="none")
    encoder = load_model(folder) if folder else build_model(shape, bank.column("stem"))[0]
    config = SolverConfig(**settings)
    solver = WordProblemSolver(encoder, learn_alphabet(bank, 1), dropout=0)
    still(solver)
    _, problems = solvable(bank, solver, MOST_TOKENS)
    triples = triples_of(config, bank, [problem.equation for problem in problems])
    anchors = np.resize(triples.problems, len(bank)).tolist() if triples else []
    views = WordProblems(bank, solver, problems, 0, triples, anchors)
    trained = accelerator.prepare(solver)
    for _ in range(2):
        loss, _ = loss_of(config, trained, views.collate([views[item] for item in local_items(accelerator, bank)]))
        accelerator.backward(loss)
    return {"gradients": gradients(solver), "loss": accelerator.reduce(loss.detach(), "mean")}


def results(folder: str) -> dict[str, dict[str, Any]]:
    """What this process computes, to be compared with what one computes on the joined batch by the same functions."""
    accelerator, bank = Accelerator(cpu=True), banks()
    triples = {"alpha": 5.0, "positives": "either"}
    cases = {
        "moco, one-sided": (contrast, folder, bank["one-sided"], ("fused",)),
        "moco, bare": (contrast, folder, bank["bare"], ("text", "visual")),
        "scl in chunks, mixed": (supervised, folder, bank["mixed"], "scl", 3),
        "pair in chunks": (supervised, folder, bank["mixed"], "pair", 1),
        "clip": (cross_modal, folder, bank["pictured"]),
        "classes": (classified, folder, bank["mixed"]),
        "multitask, one-sided": (multitask, folder, bank["one-sided"]),
        "solver by GRU": (solved, None, LEAVES_FIRST),
        "solver by triples": (partial(solved, contrast_at="subtree", **triples), folder, DEEPER),
    }
    by_case: dict[str, dict[str, Any]] = {}
    for name, (compute, *arguments) in cases.items():
        torch.manual_seed(1)
        by_case[name] = compute(accelerator, *arguments)
    flags = HostFlags(accelerator)
    either = [flags.any(accelerator.process_index == 1), flags.any(False)]
    return by_case | {"flags": {"any": torch.tensor(either)}}


def measure(folder: str, out: str) -> None:
    """Write what this process computes to ``out/rank-N.pt``."""
    torch.save(results(folder), Path(out) / f"rank-{os.environ['RANK']}.pt")


def recipe(name: str, *settings: str) -> None:
    """Train by the recipe ``pretrain.mlm`` or another."""
    run_recipe(name, *settings)


def interrupted(name: str, *settings: str) -> None:
    """Train until the second process gets SIGTERM in the third step, which is to end both."""
    step = TrainingLoop.step

    def step_and_signal(loop: TrainingLoop, *arguments: Any) -> None:
        step(loop, *arguments)
        if loop.step_number == 3 and os.environ["RANK"] == "1":
            signal.raise_signal(signal.SIGTERM)

    with patch.object(TrainingLoop, "step", step_and_signal), pytest.raises(Interrupted) as stopped:
        run_recipe(name, *settings)
    assert stopped.value.code == 128 + signal.SIGTERM


def serve(folder: Path) -> None:
    """Run one task after the other; end with the first that fails, for the processes may no longer be in step."""
    torch.set_num_threads(1)
    for number in itertools.count():
        task, answer = folder / f"{number}.json", folder / f"{number}.{os.environ['RANK']}"
        while not task.exists():
            time.sleep(0.02)
        function, arguments = json.loads(task.read_text())
        AcceleratorState._reset_state(reset_partial_state=True)
        logging.disable(logging.NOTSET)
        error = ""
        try:
            globals()[function](*arguments)
        except BaseException:
            error = traceback.format_exc()
        half = answer.with_name(f".{answer.name}")
        half.write_text(error)
        half.rename(answer)
        if error:
            sys.exit(1)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
