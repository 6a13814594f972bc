"""DisenQNet's estimators: the equations read out loud, and what they hold apart."""

from __future__ import annotations

import copy
import math
from types import SimpleNamespace

import pytest
import torch
from accelerate import Accelerator
from torch import nn
from tqnet.losses.baselines import dependence, mutual_information

from pretrain.disenqnet import Critic, DisentangledEncoder
from tqnet.questions import Question, QuestionBank
from tqnet.training.labels import ConceptLabels


def test_mutual_information_term_by_term() -> None:
    own, other = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]], dtype=torch.bool)
    terms = [
        math.log1p(math.exp(-float(own[row, word]))) + math.log1p(math.exp(float(other[row, word])))
        for row, word in mask.nonzero().tolist()
    ]
    assert float(mutual_information(own, other, mask)) == pytest.approx(sum(terms) / len(terms), rel=1e-6)
    nothing = torch.zeros(3, 4)
    assert float(mutual_information(nothing, nothing, mask)) == pytest.approx(2 * math.log(2))
    assert float(mutual_information(own, other, torch.zeros_like(mask))) == 0


def test_a_critic_tells_halves_that_depend_from_halves_that_do_not() -> None:
    """Its slope is at most 1, so that what it says is bounded by how far its inputs are moved."""
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True)
    found = {}
    for kind in ("dependent", "independent"):
        critic = Critic(8, lr=1e-2)
        for _ in range(60):
            concept = torch.randn(64, 4)
            individual = concept if kind == "dependent" else torch.randn(64, 4)
            critic.improve(concept, individual, 5, accelerator)
        concept = torch.randn(2000, 4)
        individual = concept if kind == "dependent" else torch.randn(2000, 4)
        found[kind] = float(critic.dependence(concept, individual))
        assert not any(parameter.requires_grad for parameter in critic.parameters())
        points = torch.randn(500, 8)
        moved = points + 0.1 * torch.randn(500, 8)
        slope = (critic(*points.chunk(2, 1)) - critic(*moved.chunk(2, 1))).abs() / (points - moved).norm(dim=1)
        assert float(slope.max()) <= 1.05  # spectral norms are estimates
    assert found["dependent"] > 0.3
    assert abs(found["independent"]) < 0.1
    assert float(dependence(torch.ones(3), torch.ones(5))) == 0


class Fixed(nn.Module):
    """An encoder whose vectors are parameters."""

    def __init__(self, questions: int, width: int):
        super().__init__()
        self.config = SimpleNamespace(hidden_size=width)
        self.vectors = nn.Parameter(torch.randn(questions, width))
        self.embedding = nn.Embedding(10, 4)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embedding

    def forward(self, **_: torch.Tensor) -> SimpleNamespace:
        return SimpleNamespace(embedding=self.vectors)


def test_what_the_estimators_read_and_what_the_encoder_learns_of_the_critic() -> None:
    torch.manual_seed(0)
    bank = QuestionBank.from_questions(Question(id=str(i), stem="x", knowledge=((f"c{i}",),)) for i in range(3))
    model = Fixed(3, 6)
    encoder = DisentangledEncoder(model, ConceptLabels.from_bank(bank, 1))
    ids = torch.tensor([[1, 2], [3, 4], [5, 6]])
    found = encoder(input_ids=ids)
    unit = nn.functional.normalize(model.vectors, dim=1) * math.sqrt(6)
    words = encoder.words(model.embedding(ids)) / math.sqrt(6)
    for row in range(3):
        assert torch.allclose(found["own"][row], words[row] @ unit[row])
        assert torch.allclose(found["other"][row], words[row] @ unit[row - 1])
    assert torch.equal(torch.cat([found["concept"], found["individual"]], 1), unit)
    assert found["logits"].shape == (3, 3)

    critic = Critic(6, lr=1e-2)
    critic.improve(found["concept"], found["individual"], 20, Accelerator(cpu=True))
    held = critic.dependence(found["concept"], found["individual"])
    held.backward()
    assert model.vectors.grad is not None
    model.vectors.data -= 0.1 * model.vectors.grad
    less = encoder(input_ids=ids)
    assert float(critic.dependence(less["concept"], less["individual"])) < float(held)


def test_a_critic_is_kept_with_its_optimizer() -> None:
    torch.manual_seed(0)
    halves = torch.randn(2, 16, 4)
    critic, again = Critic(8, lr=1e-2), Critic(8, lr=1e-2)
    critic.improve(*halves, 2, Accelerator(cpu=True))
    again.load_state_dict(copy.deepcopy(critic.state_dict()))
    for one in (critic, again):
        one.improve(*halves, 2, Accelerator(cpu=True))
    assert torch.equal(critic(*halves), again(*halves))
