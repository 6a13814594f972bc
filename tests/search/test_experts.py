from __future__ import annotations

import math

import pytest
import torch

from tqnet.search.ranker import TaskExperts


def entropy(coefficients: torch.Tensor) -> torch.Tensor:
    return -(coefficients * coefficients.clamp(min=1e-12).log()).sum(1) / math.log(3)


@pytest.mark.parametrize("floor", [0.0, 0.5, 0.8, 1.0])
def test_coefficients_sum_to_one_and_keep_their_entropy(floor: float) -> None:
    torch.manual_seed(0)
    experts = TaskExperts(8, 3, floor)
    features = 1000 * torch.randn(64, 3, 8)  # so that softmax chooses one task alone
    coefficients = experts(features, torch.ones(64, 3, dtype=torch.bool)).detach()
    assert torch.allclose(coefficients.sum(1), torch.ones(64))
    assert entropy(coefficients).min() >= floor - 1e-5
    assert entropy(coefficients).min() == pytest.approx(floor, abs=0.02)
    assert len(coefficients.argmax(1).unique()) > 1 or floor == 1


def test_absent_tasks_count_nothing() -> None:
    experts = TaskExperts(8, 3, 0.8)
    present = torch.tensor([[True, False, False], [True, False, True], [True, True, True]])
    coefficients = experts(torch.randn(3, 3, 8), present)
    assert torch.allclose(coefficients.sum(1), torch.ones(3))
    assert ((coefficients > 0) == present).all()
    assert coefficients[0, 0] == 1


def test_experts_read_features_without_shaping_them() -> None:
    experts = TaskExperts(8, 3, 0.8)
    features = torch.randn(4, 3, 8, requires_grad=True)
    loss = (experts(features, torch.ones(4, 3, dtype=torch.bool)) * torch.tensor([1.0, 2.0, 3.0])).sum()
    loss.backward()
    assert features.grad is None
    # Each learns but where its features change nothing, and the cheapest task gains.
    assert all(expert[-1].bias.grad.abs().item() > 0 for expert in experts.experts)
    assert experts.experts[0][-1].bias.grad.item() < 0 < experts.experts[2][-1].bias.grad.item()
