"""The key encoder follows its formula, and the queue is a ring."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from tqnet.modeling.momentum import KeyQueue, MomentumEncoder

from tqnet.modeling.heads import ContrastiveEncoder
from tqnet.modeling.model import TQNetModel


@pytest.mark.parametrize("momentum", [0.0, 0.9, 0.999])
def test_the_key_encoder_moves_by_its_formula(momentum: float) -> None:
    query = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    key = MomentumEncoder(query, momentum)
    start = [p.detach().clone() for p in query.parameters()]
    assert all(torch.equal(p, s) for p, s in zip(key.encoder.parameters(), start, strict=True))
    expected = start
    for _ in range(3):
        for parameter in query.parameters():
            parameter.data.normal_()
        key.update(query)
        queries = [p.detach() for p in query.parameters()]
        expected = [momentum * k + (1 - momentum) * q for k, q in zip(expected, queries, strict=True)]
    for moved, wanted in zip(key.encoder.parameters(), expected, strict=True):
        torch.testing.assert_close(moved, wanted)
        assert not moved.requires_grad


def test_keys_of_a_bf16_query_move_in_fp32() -> None:
    query = nn.Linear(3, 3).to(torch.bfloat16)
    key = MomentumEncoder(query, 0.999)
    before = key.encoder.weight.clone()
    assert before.dtype == torch.float32
    query.weight.data += 1
    for _ in range(10):
        key.update(query)
    assert (key.encoder.weight > before).all()
    assert torch.equal(query.weight, query.weight.to(torch.bfloat16))


def test_keys_have_no_gradient_and_the_query_encoder_is_another_one(tiny_model: TQNetModel) -> None:
    torch.manual_seed(0)
    encoder = ContrastiveEncoder(tiny_model, ("fused", "text"), 16).eval()
    key_encoder = MomentumEncoder(encoder)
    batch = tiny_model.processor(["Find $x$.", "求面积。"])
    queries = encoder(**batch)
    keys = key_encoder(**batch)
    for stream in ("fused", "text"):
        assert not keys[stream].requires_grad
        assert queries[stream].requires_grad
        torch.testing.assert_close(keys[stream], queries[stream].detach())
        torch.testing.assert_close(keys[stream].norm(dim=1), torch.ones(2))
    encoder.model.text.embeddings.word_embeddings.weight.data += 1
    again = key_encoder(**batch)
    assert torch.equal(again["fused"], keys["fused"])


@given(st.integers(1, 12), st.lists(st.integers(0, 20), max_size=8))
def test_the_queue_is_a_ring_of_the_newest_keys(size: int, batches: list[int]) -> None:
    queue = KeyQueue(size, 2)
    pushed: list[int] = []
    ring: dict[int, int] = {}
    for count in batches:
        ids = torch.arange(len(pushed), len(pushed) + count)
        before = queue.ids.tolist()
        queue.enqueue(torch.stack([ids, -ids], 1).float(), ids, ids + 1000)
        pushed += ids.tolist()
        newest = pushed[-size:]
        valid = int(queue.valid)
        assert valid == min(len(pushed), size)
        held = queue.ids[:valid].tolist()
        assert sorted(held) == newest
        assert queue.ids[valid:].tolist() == [-1] * (size - valid)
        assert queue.keys[:valid].tolist() == [[i, -i] for i in held]
        assert queue.hashes[:valid].tolist() == [i + 1000 for i in held]
        # What stays does so in its place; the pointer is at the oldest, or at the first free place.
        ring = {i: held.index(i) for i in held if i in before}
        assert all(before[place] == i for i, place in ring.items())
        pointer = int(queue.pointer)
        assert pointer == valid % size if valid < size else held[pointer] == min(held)
        keys, excluded = queue.negatives(torch.tensor([0]), torch.tensor([0]))
        assert keys.shape == (valid, 2)
        assert excluded.shape == (1, valid)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6), st.integers(1, 6))
def test_keys_of_the_same_question_or_content_are_masked(entries: list[tuple[int, int]], size: int) -> None:
    queue = KeyQueue(size, 1)
    ids, hashes = (torch.tensor(column) for column in zip(*entries, strict=True))
    queue.enqueue(torch.zeros(len(entries), 1), ids, hashes)
    asked = [(i, h) for i in range(4) for h in range(4)]
    _, excluded = queue.negatives(*(torch.tensor(column) for column in zip(*asked, strict=True)))
    held = list(zip(queue.ids.tolist(), queue.hashes.tolist(), strict=True))[: int(queue.valid)]
    assert excluded.tolist() == [[i == j or h == g for j, g in held] for i, h in asked]


def test_an_empty_queue_has_no_negative_even_for_question_minus_one() -> None:
    keys, excluded = KeyQueue(4, 3).negatives(torch.tensor([-1]), torch.tensor([0]))
    assert keys.shape == (0, 3)
    assert excluded.shape == (1, 0)


def test_a_queue_goes_on_where_it_was_saved() -> None:
    queue, loaded = KeyQueue(5, 2), KeyQueue(5, 2)
    batches = [(torch.randn(n, 2), torch.arange(n) + 10 * n, torch.arange(n)) for n in (3, 4, 2)]
    for batch in batches[:2]:
        queue.enqueue(*batch)
    loaded.load_state_dict(queue.state_dict())
    for each in (queue, loaded):
        each.enqueue(*batches[2])
    assert all(torch.equal(a, b) for a, b in zip(queue.buffers(), loaded.buffers(), strict=True))
