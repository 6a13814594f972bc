"""The tree decoder against reproduce/benchmarks/stacks.py, the same written with stacks, and its parts by autograd."""

from __future__ import annotations

import pytest
import torch

from reproduce.benchmarks import stacks
from tqnet.solver import decoder as attention
from tqnet.solver.beams import beam_search
from tqnet.solver.decoder import Source, TreeBatch, TreeDecoder, additive_scores, weighted_sums
from tqnet.text.equations import OPERATORS

HIDDEN, CONSTANTS = 16, 2
FIXED = len(OPERATORS) + CONSTANTS
EQUATIONS = (("+", "n1", "n2"), ("n1",), ("*", "-", "n1", "n2", "+", "n3", "1"), ("-", "+", "*", "n2", "1", "n1", "2"))
PLACES = {**{token: place for place, token in enumerate((*OPERATORS, "1", "2"))}, "n1": 7, "n2": 8, "n3": 9}


@pytest.fixture
def decoder() -> TreeDecoder:
    torch.manual_seed(0)
    decoder = TreeDecoder(HIDDEN, CONSTANTS, dropout=0.0)
    for weight in decoder.parameters():  # far from even odds
        torch.nn.init.normal_(weight, std=0.3)
    return decoder


def _texts() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """States, mask and places of numbers of four padded texts."""
    generator = torch.Generator().manual_seed(1)
    hidden = torch.randn(4, 9, HIDDEN, generator=generator)
    mask = torch.arange(9) < torch.tensor([9, 5, 7, 8])[:, None]
    return hidden, mask, torch.tensor([[1, 3, -1], [2, -1, -1], [1, 4, 6], [2, 5, -1]])


def _unpadded(hidden: torch.Tensor, mask: torch.Tensor, number_at: torch.Tensor) -> list[stacks.Text]:
    rows = zip(hidden, mask, number_at, strict=True)
    return [stacks.Text(states[real], places[places >= 0]) for states, real, places in rows]


@pytest.mark.parametrize("at_once", [1, 2**18])
def test_loss_and_gradients_are_those_of_stacks(
    decoder: TreeDecoder, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(attention, "_CHUNK_ON_CPU", at_once)
    tokens = [[PLACES[token] for token in equation] for equation in EQUATIONS]
    hidden, mask, number_at = _texts()
    hidden.requires_grad_()
    source = decoder.read(hidden, mask, number_at)
    all_different = torch.arange(FIXED + 3).expand(4, -1)
    actual = decoder(source, TreeBatch.from_equations(EQUATIONS, tokens), all_different)[0].sum()
    by_stacks = stacks.StackDecoder(decoder)
    texts = _unpadded(hidden, mask, number_at)
    expected = sum(map(stacks.log_likelihood, [by_stacks] * 4, texts, EQUATIONS, tokens), torch.zeros(()))
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)
    weights = (hidden, *decoder.parameters())
    gradients = (torch.autograd.grad(value, weights, retain_graph=True) for value in (actual, expected))
    for gradient, by_autograd in zip(*gradients, strict=True):
        assert by_autograd.any()
        torch.testing.assert_close(gradient, by_autograd, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("beams", [1, 3, 8])
def test_beams_are_those_of_stacks(decoder: TreeDecoder, beams: int) -> None:
    texts = _texts()
    with torch.no_grad():
        tokens, lengths, scores = beam_search(decoder, decoder.read(*texts), beams, most=11)
    for row, text in enumerate(_unpadded(*texts)):
        beam = stacks.beam_search(stacks.StackDecoder(decoder), text, beams, most=11)
        assert [tokens[row, w, : lengths[row, w]].tolist() for w in range(beams)] == [tree for _, tree in beam]
        torch.testing.assert_close(scores[row], torch.tensor([score for score, _ in beam]), rtol=1e-5, atol=1e-5)


def test_attention_has_the_gradients_of_its_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "_CHUNK_ON_CPU", 40)
    torch.manual_seed(0)
    query, keys, weight, weights = (
        torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in ((5, 4), (3, 6, 4), (4,), (5, 6))
    )
    problem = torch.tensor([2, 0, 0, 2, 1])
    literal = torch.tanh(query[:, None] + keys[problem]) @ weight
    torch.testing.assert_close(additive_scores(query, keys, weight, problem), literal)
    assert torch.autograd.gradcheck(additive_scores, (query, keys, weight, problem))
    torch.testing.assert_close(
        weighted_sums(weights, keys, problem), torch.einsum("nk,nkh->nh", weights, keys[problem])
    )
    assert torch.autograd.gradcheck(weighted_sums, (weights, keys, problem))


def test_in_bf16_scores_are_near_those_in_fp32(decoder: TreeDecoder) -> None:
    tokens = [[PLACES[token] for token in equation] for equation in EQUATIONS]
    trees, all_different = TreeBatch.from_equations(EQUATIONS, tokens), torch.arange(FIXED + 3).expand(4, -1)

    def losses() -> tuple[torch.Tensor, torch.Tensor]:
        source: Source = decoder.read(*_texts())
        loss = -decoder(source, trees, all_different)[0].sum()
        return loss, torch.autograd.grad(loss, decoder.merge.both.weight)[0]

    expected = losses()
    with torch.autocast("cpu", torch.bfloat16):
        in_bf16 = losses()
        with torch.inference_mode():
            scores = beam_search(decoder, decoder.read(*_texts()), 3, most=7)[2]
    with torch.inference_mode():
        expected_scores = beam_search(decoder, decoder.read(*_texts()), 3, most=7)[2]
    torch.testing.assert_close(scores[:, 0], expected_scores[:, 0], rtol=0.05, atol=0.05)
    for value, expected_value in zip(in_bf16, expected, strict=True):
        assert (value.float() - expected_value).norm() < 0.05 * expected_value.norm()
