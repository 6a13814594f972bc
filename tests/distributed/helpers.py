"""What two processes compute, to be compared with what one computes on the joined batch, by the same functions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn
from tqnet.losses.classification import concept_classification
from tqnet.losses.pairs import draw_pairs, pair_logistic
from tqnet.modeling.momentum import KeyQueue, MomentumEncoder

from finetune.knowledge import KnowledgeClassifier
from finetune.similar import SimilarConfig, SimilarityModel
from finetune.solver import SolverConfig, loss_of, triples_of
from pretrain.clip import CrossModalEncoder
from pretrain.moco import stream_loss
from tests.conftest import SAMPLE
from tqnet.losses.contrastive import cross_modal_infonce, supervised_contrastive
from tqnet.modeling.build import build_model, load_model
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.heads import ContrastiveEncoder
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import Question, QuestionBank, Similarity
from tqnet.solver.data import WordProblems, learn_alphabet, solvable
from tqnet.solver.model import MOST_TOKENS, WordProblemSolver
from tqnet.training.contrast import ShuffledKeys, same
from tqnet.training.data import IGNORED, Batch, MaskTokens, QuestionViews
from tqnet.training.labels import ClassLabels, ConceptLabels, label_head, type_labels
from tqnet.training.multitask import MultiTaskModel, Solutions, TaskLosses, TaskViews
from tqnet.training.processes import any_process, gather_with_own_gradient, weight_of_mean
from tqnet.training.sampler import LocalBatches
from tqnet.training.session import content_hashes


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
    groups = np.unique([group for group in bank.column("group") if group])
    has_images = np.array([len(images) > 0 for images in bank.column("images")])
    group = np.array([name or "" for name in bank.column("group")])

    def of(pictured: bool, count: int) -> np.ndarray:
        """Two questions of each group."""
        found: list[int] = []
        for name in groups:
            members = np.flatnonzero((group == name) & (has_images == pictured))[:2]
            found += members.tolist() if len(members) == 2 else []
        return np.array(found[:count])

    bare, pictured = of(False, 8), of(True, 4)
    mixed = [bare[0], bare[1], bare[2], pictured[0], bare[3], pictured[1], pictured[2], pictured[3]]
    one_sided = [*bare[:4], bare[4], bare[5], pictured[0], pictured[1]]
    return {"mixed": bank.select(mixed), "one_sided": bank.select(one_sided), "bare": bank.select(bare)}


def local_batch(
    accelerator: Accelerator, bank: QuestionBank, model: TQNetModel, views: int, prepare: TaskViews | None = None
) -> Batch:
    """This process's share, as a recipe's loader makes it."""
    world, rank = accelerator.num_processes, accelerator.process_index
    assert model.processor is not None
    dataset = QuestionViews(bank, model.processor, seed=0, views=views, prepare=prepare)
    (items,) = LocalBatches(OneBatch(len(bank)), 0, 1, rank, world, views)
    return dataset.collate([dataset[item] for item in items]).to(accelerator.device)


def still(module: nn.Module) -> None:
    """No dropout; the visual stream stays in training, where it does its zero-weight work."""
    module.eval()
    for child in module.modules():
        if type(child).__name__ == "VisualStream":
            child.train()


def gradients(module: nn.Module) -> dict[str, Tensor]:
    """Of everything that is trained; zero where none came (one process has no zero-weight work)."""
    trained = {name: p for name, p in module.named_parameters() if p.requires_grad}
    return {name: torch.zeros_like(p) if p.grad is None else p.grad.clone() for name, p in trained.items()}


def contrast(accelerator: Accelerator, folder: str, bank: QuestionBank, streams: tuple[str, ...]) -> dict[str, Any]:
    """Gradients of momentum contrast, and the queues after the step."""
    torch.manual_seed(1)
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
        queue.enqueue(*keys[stream].everyone)
    states = {f"queue/{s}/{name}": value for s, queue in queues.items() for name, value in queue.state_dict().items()}
    return {"gradients": gradients(encoder), **states}


def supervised(
    accelerator: Accelerator, folder: str, bank: QuestionBank, objective: str, chunk: int = 0
) -> dict[str, Any]:
    """Gradients of the fine-tuning's objectives."""
    torch.manual_seed(1)
    model = load_model(folder)
    similarity_model = SimilarityModel(model, SimilarConfig(objective=objective, chunk=chunk))
    still(similarity_model)
    trained = accelerator.prepare(similarity_model)
    batch = local_batch(accelerator, bank, model, views=1)
    features = gather_with_own_gradient(accelerator, trained(**batch.inputs))
    index = accelerator.gather(batch.index).cpu().numpy()
    similar = torch.from_numpy(Similarity.from_groups(bank).matrix(index))
    if objective == "scl":
        loss = supervised_contrastive(features, similar, 0.1)
    else:
        left, right, label = draw_pairs(similar, torch.Generator().manual_seed(0))
        loss = pair_logistic(features[left], features[right], label, similarity_model.scale, similarity_model.bias)
    accelerator.backward(loss)
    return {"gradients": gradients(similarity_model), "loss": loss.detach(), "features": features.detach()}


def cross_modal(accelerator: Accelerator, folder: str, bank: QuestionBank) -> dict[str, Any]:
    """Gradients of contrast between the modalities."""
    torch.manual_seed(1)
    model = load_model(folder)
    model.fusion.requires_grad_(False)
    encoder = CrossModalEncoder(model, 16, 0.07)
    still(encoder)
    trained = accelerator.prepare(encoder)
    batch = local_batch(accelerator, bank, model, views=1)
    vectors = trained(**batch.inputs)
    text, visual = (gather_with_own_gradient(accelerator, vectors[stream]) for stream in ("text", "visual"))
    index = accelerator.gather(batch.index)
    loss, logits = cross_modal_infonce(text, visual, encoder.scale, same(content_hashes(bank)["text"][index]))
    accelerator.backward(loss)
    return {"gradients": gradients(encoder), "loss": loss.detach(), "logits": logits.detach()}


def classified(accelerator: Accelerator, folder: str, bank: QuestionBank) -> dict[str, Any]:
    """Gradients of a mean over the labelled questions, which are few on one process and many on the other."""
    torch.manual_seed(1)
    model, labels = load_model(folder), ConceptLabels.from_bank(bank, 3)
    classifier = KnowledgeClassifier(model, [labels])
    still(classifier)
    trained = accelerator.prepare(classifier)
    batch = local_batch(accelerator, bank, model, views=1)
    concepts = torch.from_numpy(labels.indicators(batch.index.numpy()))
    concepts[batch.index > 4] = False
    (logits,) = trained(**batch.inputs)
    loss = concept_classification(logits, concepts, labels.multi_label)
    accelerator.backward(weight_of_mean(accelerator, concepts.any(1).sum()) * loss)
    return {"gradients": gradients(classifier)}


def multitask(accelerator: Accelerator, folder: str, bank: QuestionBank) -> dict[str, Any]:
    """Gradients of all tasks together: means over what takes part on both processes, contrasts over both."""
    torch.manual_seed(1)
    model = load_model(folder)
    few = [own if row > 4 else () for row, own in enumerate(ConceptLabels.from_bank(bank, 3).labels)]
    labels = {"type": type_labels(bank), "knowledge": ClassLabels(ConceptLabels.from_bank(bank, 3).names, few)}
    assert model.processor is not None
    solutions = Solutions.of(bank, model.processor, 12)  # which only some have
    heads = {name: label_head(model.config.hidden_size, of) for name, of in labels.items()}
    tasks = ("words", "order", "solution", "figures", *labels)
    module = MultiTaskModel(model, set(tasks), heads)
    still(module)
    trained = accelerator.prepare(module)
    losses = TaskLosses(accelerator, tasks, bank, labels, solutions, model.config.max_images, 0.1)
    mask = MaskTokens(model.processor.tokenizer, 0.15, seed=0)
    names = ("content", "segments", "solution")
    views = TaskViews(names, bank, model.processor, 0, mask, True, solutions)
    for _ in range(2):  # DDP complains of an unused parameter in the second step
        batch = local_batch(accelerator, bank, model, 1, views)
        found = trained(**dict(zip(names, batch.views, strict=True)), masked=batch.extras["words"] != IGNORED)
        terms = losses(found, batch)
        accelerator.backward(torch.stack([term.loss for term in terms.values()]).sum())
    contrasts = {name: terms[name].loss.detach() for name in ("solution", "figures")}
    return {"gradients": gradients(module), **contrasts}


def problems(*equations: str) -> QuestionBank:
    """Word problems with these equations, whose numbers are all of a text that says no more."""
    texts = (re.sub(r"[-+*/()]+", " and ", equation) for equation in equations)
    pairs = zip(texts, equations, strict=True)
    return QuestionBank.from_questions(
        Question(id=f"q{i}", stem=f"How many are {text} pens?", extras={"equation": equation})
        for i, (text, equation) in enumerate(pairs)
    )


#: On the second process trees are deeper, and texts longer; or on the first all of them are leaves.
DEEPER = problems("2+3", "7-4", "5*6", "9/3", "2*(3+4)", "(8-3)*2", "(5+6)/(7-3*2)", "9*(8-(7-(6+5)))")
LEAVES_FIRST = problems("2", "7", "5", "9", "2*(3+4)", "(8-3)*2", "(5+6)/(7-3*2)", "9*(8-(7-(6+5)))")


def gru(bank: QuestionBank) -> QuestionEncoder:
    """A tiny encoder of bidirectional GRUs."""
    torch.manual_seed(1)
    shape = ModelConfig(text="gru", scratch_hidden=48, scratch_layers=2, visual=None, fusion="none")
    return build_model(shape, (question.content for question in bank))[0]


def solved(accelerator: Accelerator, encoder: QuestionEncoder, bank: QuestionBank, **settings: Any) -> dict[str, Any]:
    """Gradients of a solver, of problems or of triples of them; figures and fusion of its encoder are not read."""
    torch.manual_seed(1)
    config = SolverConfig(**settings)
    solver = WordProblemSolver(encoder, learn_alphabet(bank, 1), dropout=0)
    still(solver)
    _, told = solvable(bank, solver, MOST_TOKENS)
    triples = triples_of(config, bank, [problem.equation for problem in told])
    anchors = np.resize(triples.problems, len(bank)).tolist() if triples else []
    views = WordProblems(bank, solver, told, 0, triples, anchors)
    trained = accelerator.prepare(solver)
    for _ in range(2):  # DDP complains of an unused parameter in the second step
        (items,) = LocalBatches(OneBatch(len(bank)), 0, 1, accelerator.process_index, accelerator.num_processes)
        loss, _ = loss_of(config, trained, views.collate([views[item] for item in items]))
        accelerator.backward(loss)
    return {"gradients": gradients(solver), "loss": accelerator.reduce(loss.detach(), "mean")}


def measure(folder: str) -> dict[str, dict[str, Any]]:
    accelerator = Accelerator(cpu=True)
    found = banks()
    results = {}
    for name, bank in found.items():
        results[f"moco uni {name}"] = contrast(accelerator, folder, bank, ("fused",))
        results[f"moco seq {name}"] = contrast(accelerator, folder, bank, ("text", "visual"))
        results[f"scl {name}"] = supervised(accelerator, folder, bank, "scl")
        results[f"multitask {name}"] = multitask(accelerator, folder, bank)
        results[f"scl {name} in chunks"] = supervised(accelerator, folder, bank, "scl", chunk=3)
    results["pair mixed"] = supervised(accelerator, folder, found["mixed"], "pair")
    pictured = found["mixed"].select([i for i, images in enumerate(found["mixed"].column("images")) if images])
    results["clip"] = cross_modal(accelerator, folder, pictured)
    results["pair mixed in chunks"] = supervised(accelerator, folder, found["mixed"], "pair", chunk=1)
    results["classes"] = classified(accelerator, folder, found["mixed"])
    for name, bank in {"deeper": DEEPER, "leaves first": LEAVES_FIRST}.items():
        results[f"solver {name}"] = solved(accelerator, load_model(folder), bank)
        results[f"solver by GRU {name}"] = solved(accelerator, gru(bank), bank)
    for place in ("goal", "subtree"):
        contrasted = {"alpha": 5.0, "contrast_at": place, "positives": "either"}
        results[f"solver by triples, {place}"] = solved(accelerator, load_model(folder), DEEPER, **contrasted)
        results[f"solver by GRU and triples, {place}"] = solved(accelerator, gru(DEEPER), DEEPER, **contrasted)
    flags = [any_process(accelerator, accelerator.process_index == 1), any_process(accelerator, False)]
    results["flags"] = {"any": torch.tensor(flags)}
    return results
