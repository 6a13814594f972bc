"""Each contrastive loss against its formula read out loud, its gradient, and what must not change it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.losses.conftest import assert_gradient, relation, unit
from tqnet.losses.contrastive import (
    cosine_triplet,
    cross_modal_infonce,
    draw_pairs,
    euclidean_triplet,
    even_odds,
    in_batch_infonce,
    infonce,
    nt_xent,
    pair_logistic,
    supervised_contrastive,
)

DENOMINATORS = ("negatives", "all")
TRIPLETS = {"cosine": cosine_triplet, "euclidean": euclidean_triplet}


def mean(terms: Iterable[float]) -> float:
    values = list(terms)
    return sum(values) / len(values) if values else 0.0


def surprise(query: Tensor, positive: Tensor, negatives: Iterable[Tensor], temperature: float) -> float:
    """-log of the softmax at the positive, which most formulas are made of."""
    above, *others = (math.exp(float(query @ key) / temperature) for key in (positive, *negatives))
    return -math.log(above / (above + sum(others)))


def literal_infonce(query: Tensor, key: Tensor, queue: Tensor, excluded: Tensor, temperature: float) -> float:
    return mean(surprise(query[i], key[i], queue[~excluded[i]], temperature) for i in range(len(query)))


def literal_in_batch(query: Tensor, key: Tensor, excluded: Tensor, temperature: float) -> float:
    n = len(query)
    kept = [[j for j in range(len(key)) if j != i and (j >= n or not excluded[i, j])] for i in range(n)]
    return mean(surprise(query[i], key[i], key[kept[i]], temperature) for i in range(n))


def literal_cross_modal(text: Tensor, visual: Tensor, excluded: Tensor, scale: float) -> float:
    text_to_visual, visual_to_text = (
        literal_in_batch(*pair, excluded, 1 / scale) for pair in ((text, visual), (visual, text))
    )
    return (text_to_visual + visual_to_text) / 2


def literal_nt_xent(first: Tensor, second: Tensor, excluded: Tensor, temperature: float) -> float:
    b, views = len(first), torch.cat([first, second])
    kept = [[k for k in range(2 * b) if k % b != i % b and not excluded[i % b, k % b]] for i in range(2 * b)]
    return mean(surprise(views[i], views[(i + b) % (2 * b)], views[kept[i]], temperature) for i in range(2 * b))


def literal_supervised(
    features: Tensor, similar: Tensor, temperature: float, denominator: str, excluded: Tensor | None = None
) -> float:
    """Eq. 3 of TQ-Net, or L_out of Khosla et al. 2020, Eq. 2; a mean over pairs, then over seeds."""
    b, seeds = len(features), []
    for s in range(b):
        pairs = [p for p in range(b) if similar[s, p]]
        others = {p: [o for o in range(b) if o not in (s, p)] for p in pairs}
        if denominator == "negatives":
            others = {p: [o for o in rest if not similar[s, o]] for p, rest in others.items()}
        if excluded is not None:
            others = {p: [o for o in rest if similar[s, o] or not excluded[s, o]] for p, rest in others.items()}
        terms = [surprise(features[s], features[p], features[others[p]], temperature) for p in pairs]
        seeds += [mean(terms)] if terms else []
    return mean(seeds)


def literal_pairs(left: Tensor, right: Tensor, scale: float, bias: float, label: list[int]) -> float:
    scores = [float(scale * (a @ b) + bias) for a, b in zip(left, right, strict=True)]
    return mean(math.log1p(math.exp(-score if same else score)) for score, same in zip(scores, label, strict=True))


def literal_triplet(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, name: str) -> float:
    def distance(a: Tensor, b: Tensor) -> float:
        return 1 - float(a @ b) / float(a.norm() * b.norm()) if name == "cosine" else float((a - b).norm())

    rows = zip(anchor, positive, negative, strict=True)
    return mean(max(0.0, margin - distance(q, far) + distance(q, near)) for q, near, far in rows)


def masks(rows: int, columns: int, seed: int) -> list[Tensor]:
    """None excluded, some, and all."""
    some = torch.rand(rows, columns, generator=torch.Generator().manual_seed(seed)) < 0.35
    return [torch.zeros_like(some), some, torch.ones_like(some)]


@given(st.integers(1, 5), st.integers(0, 5), st.sampled_from([0.07, 0.2, 1.0]), st.integers(0, 99))
def test_contrast_with_one_positive(b: int, k: int, temperature: float, seed: int) -> None:
    query, key, others = unit(b, 4, seed=seed), unit(b, 4, seed=seed + 1), unit(k, 4, seed=seed + 2)
    for excluded in masks(b, k, seed):
        loss, logits = infonce(query, key, others, temperature, excluded)
        assert loss.item() == pytest.approx(literal_infonce(query, key, others, excluded, temperature), abs=1e-4)
        torch.testing.assert_close(logits[:, 0], ((query * key).sum(1) / temperature).float())
    for excluded in masks(b, b, seed):
        keys = torch.cat([key, others])  # hard negatives
        loss, logits = in_batch_infonce(query, keys, temperature, excluded)
        assert loss.item() == pytest.approx(literal_in_batch(query, keys, excluded, temperature), abs=1e-4)
        torch.testing.assert_close(logits.diagonal(), ((query * key).sum(1) / temperature).float())
        symmetric = excluded | excluded.T
        loss, _ = cross_modal_infonce(query, key, 1 / temperature, symmetric)
        assert loss.item() == pytest.approx(literal_cross_modal(query, key, symmetric, 1 / temperature), abs=1e-4)
        loss, logits = nt_xent(query, key, temperature, symmetric)
        assert loss.item() == pytest.approx(literal_nt_xent(query, key, symmetric, temperature), abs=1e-4)
        assert logits.shape == (2 * b, 2 * b)


def test_their_gradients() -> None:
    query, key, queue = unit(3, 4), unit(3, 4, seed=1), unit(5, 4, seed=2)
    of_queue, of_batch = torch.arange(15).view(3, 5) == 1, relation(3, (0, 1))
    assert_gradient(
        lambda q: infonce(q, key, queue, 0.2, of_queue)[0],
        lambda q: literal_infonce(q, key, queue, of_queue, 0.2),
        query,
    )
    assert_gradient(
        lambda q, k: in_batch_infonce(q, k, 0.5, of_batch)[0],
        lambda q, k: literal_in_batch(q, k, of_batch, 0.5),
        *(query, queue),
    )
    assert_gradient(
        lambda t, s: cross_modal_infonce(t, key, s, of_batch)[0],
        lambda t, s: literal_cross_modal(t, key, of_batch, float(s)),
        *(query, torch.tensor(5.0, dtype=torch.float64)),
    )


def test_excluded_keys_do_not_matter_not_even_in_the_gradient() -> None:
    query, key, negatives = unit(3, 4).requires_grad_(), unit(3, 4, seed=1), unit(5, 4, seed=2)
    excluded = torch.zeros(3, 5, dtype=torch.bool)
    excluded[:, [1, 4]] = True
    changed = negatives.clone()
    changed[[1, 4]] = unit(2, 4, seed=3)
    results = []
    for queue, mask in ((negatives, excluded), (changed, excluded), (negatives[[0, 2, 3]], None)):
        loss, _ = infonce(query, key, queue, 0.2, mask)
        results.append(torch.stack([loss.double(), *torch.autograd.grad(loss, query)[0].flatten()]))
    torch.testing.assert_close(results[0], results[1])
    torch.testing.assert_close(results[0], results[2])


ALL = torch.ones(3, 3, dtype=torch.bool)


@pytest.mark.parametrize(
    "loss",
    [
        lambda q: infonce(q, unit(3, 4, seed=1), unit(0, 4), 0.1)[0],
        lambda q: infonce(q, unit(3, 4, seed=1), unit(3, 4, seed=2), 0.1, ALL)[0],
        lambda q: in_batch_infonce(q, unit(1, 4).expand(3, 4), 0.05, ALL)[0],
        lambda q: in_batch_infonce(q[:0], q[:0], 0.05, ALL[:0, :0])[0],
        lambda q: cross_modal_infonce(q, unit(1, 4).expand(3, 4), 10.0, ALL)[0],
        lambda q: supervised_contrastive(q, ~ALL, 0.1),
        lambda q: supervised_contrastive(q, ~ALL, 0.1, "all"),
        lambda q: cosine_triplet(q, q.detach(), -q.detach(), 1.5),
        lambda q: euclidean_triplet(q, q.detach(), -q.detach(), 1.5),
    ],
)
def test_where_nothing_is_to_be_told_apart_nothing_is_learnt(loss: Callable[[Tensor], Tensor]) -> None:
    """And still there is a gradient, which other processes wait for."""
    query = unit(3, 4).requires_grad_()
    value = loss(query)
    assert value.item() == 0
    assert not torch.autograd.grad(value, query)[0].any()


@st.composite
def label_matrices(draw: st.DrawFn) -> Tensor:
    """Any symmetric relation without the diagonal; pairs files need not be transitive."""
    b = draw(st.integers(1, 7))
    return relation(b, *((i, j) for i in range(b) for j in range(i) if draw(st.booleans())))


@given(label_matrices(), st.sampled_from(DENOMINATORS), st.sampled_from([0.07, 0.3, 1.0]), st.randoms(), st.data())
def test_supervised_contrast(
    similar: Tensor, denominator: str, temperature: float, random: object, data: st.DataObject
) -> None:
    features = unit(len(similar), 4).requires_grad_()
    copies = data.draw(st.lists(st.integers(0, 3), min_size=len(similar), max_size=len(similar)))
    excluded = torch.tensor(copies)[:, None] == torch.tensor(copies)[None]
    loss = supervised_contrastive(features, similar, temperature, denominator, excluded)
    literal = literal_supervised(features.detach(), similar, temperature, denominator, excluded)
    assert loss.item() == pytest.approx(literal, rel=1e-4, abs=1e-4)
    assert torch.autograd.grad(loss, features)[0].isfinite().all()
    order = list(range(len(similar)))
    random.shuffle(order)  # type: ignore[attr-defined]
    reordered = (matrix[order][:, order] for matrix in (similar, excluded))
    again = supervised_contrastive(features[order], next(reordered), temperature, denominator, next(reordered))
    assert again.item() == pytest.approx(loss.item(), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("denominator", DENOMINATORS)
def test_the_gradient_of_supervised_contrast(denominator: str) -> None:
    similar = relation(5, (0, 1), (0, 2), (3, 1))
    assert_gradient(
        lambda features: supervised_contrastive(features, similar, 0.2, denominator),
        lambda features: literal_supervised(features, similar, 0.2, denominator),
        unit(5, 4),
    )


@given(st.lists(st.integers(0, 1), min_size=1, max_size=6), st.floats(-5, 12), st.floats(-5, 5), st.integers(0, 99))
def test_the_pair_objective(label: list[int], scale: float, bias: float, seed: int) -> None:
    left, right = unit(len(label), 4, seed=seed), unit(len(label), 4, seed=seed + 1)
    loss = pair_logistic(left, right, torch.tensor(label), scale, bias)
    assert loss.item() == pytest.approx(literal_pairs(left, right, scale, bias, label), rel=1e-4, abs=1e-4)


def test_the_gradients_of_the_pair_objective() -> None:
    label, right = [1, 0, 0, 1], unit(4, 4, seed=1)
    assert_gradient(
        lambda left, scale, bias: pair_logistic(left, right, torch.tensor(label), scale, bias),
        lambda left, scale, bias: literal_pairs(left, right, float(scale), float(bias), label),
        *(unit(4, 4), torch.tensor(10.0, dtype=torch.float64), torch.tensor(-5.0, dtype=torch.float64)),
    )


def test_even_odds_lie_between_the_two_kinds_of_pairs() -> None:
    left, right, label = unit(6, 4), unit(6, 4, seed=1), torch.tensor([1, 0, 0, 1, 0, 0])
    cosine = (left * right).sum(1)
    logits = 10 * cosine + even_odds(left, right, label, 10.0)
    assert logits[label == 1].mean().item() == pytest.approx(-logits[label == 0].mean().item(), abs=1e-5)
    assert even_odds(left, right, torch.ones(6), 10.0).item() == pytest.approx(-10 * cosine.mean().item(), abs=1e-5)
    assert even_odds(left[:0], right[:0], label[:0], 10.0) == 0


@given(label_matrices(), st.integers(0, 2**31))
def test_every_similar_pair_is_drawn_once_and_each_seed_gets_a_dissimilar_partner(similar: Tensor, seed: int) -> None:
    drawn = draw_pairs(similar, torch.Generator().manual_seed(seed))
    pairs = list(zip(*(column.tolist() for column in drawn), strict=True))
    b, positives = len(similar), [(i, j) for i, j, y in pairs if y == 1]
    assert positives == [(i, j) for i in range(b) for j in range(i + 1, b) if similar[i, j]]
    negatives = [(i, j) for i, j, y in pairs if y == 0]
    assert all(i != j and not similar[i, j] for i, j in negatives)
    drawable = [i for i, _ in positives if any(j != i and not similar[i, j] for j in range(b))]
    assert Counter(i for i, _ in negatives) == Counter(drawable)
    _, _, label = draw_pairs(similar, torch.Generator().manual_seed(seed), torch.ones_like(similar))
    assert label.all()
    again = draw_pairs(similar, torch.Generator().manual_seed(seed))
    assert all(map(torch.equal, drawn, again))


def test_dissimilar_partners_are_drawn_evenly() -> None:
    similar, generator = relation(5, (0, 1)), torch.Generator().manual_seed(0)
    drawn = Counter(int(draw_pairs(similar, generator)[1][1]) for _ in range(600))
    assert drawn.keys() == {2, 3, 4}
    assert min(drawn.values()) > 150


@pytest.mark.parametrize("name", TRIPLETS)
@given(n=st.integers(1, 6), margin=st.sampled_from([0.1, 1.0, 5.0]), seed=st.integers(0, 99))
def test_triplets(name: str, n: int, margin: float, seed: int) -> None:
    rows = unit(n, 4, seed=seed), unit(n, 4, seed=seed + 1), unit(n, 4, seed=seed + 2)
    assert TRIPLETS[name](*rows, margin).item() == pytest.approx(literal_triplet(*rows, margin, name), abs=1e-5)


def test_the_gradients_of_triplets() -> None:
    rows = unit(3, 4), unit(3, 4, seed=1), unit(3, 4, seed=2)
    assert_gradient(lambda *r: euclidean_triplet(*r, 5.0), lambda *r: literal_triplet(*r, 5.0, "euclidean"), *rows)
    for loss in TRIPLETS.values():  # the same sentence without dropout: its distance is 0, where a root has no slope
        anchor = rows[0].clone().requires_grad_()
        (gradient,) = torch.autograd.grad(loss(anchor, anchor, rows[1], 5.0), anchor)
        assert gradient.isfinite().all()
        assert gradient.any()


@pytest.mark.parametrize(
    "loss",
    [
        lambda query, key, negatives: infonce(query, key, negatives, 0.07)[0],
        lambda query, key, _: in_batch_infonce(query, key, 0.05)[0],
        lambda text, visual, _: cross_modal_infonce(text, visual, 100.0)[0],
        lambda features, *_: supervised_contrastive(features, relation(8, (0, 4), (1, 5)), 0.07),
        lambda *rows: cosine_triplet(*rows, 1.0),
        lambda *rows: euclidean_triplet(*rows, 1.0),
    ],
)
def test_the_loss_is_in_fp32_under_autocast(loss: Callable[..., Tensor]) -> None:
    """To the bit as without it."""
    rows = [unit(8, 64, seed=seed).float() for seed in range(3)]
    with torch.autocast("cpu", torch.bfloat16):
        value = loss(*rows)
    assert value.dtype == torch.float32
    assert torch.equal(value, loss(*rows))
