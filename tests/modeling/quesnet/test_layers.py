"""The layers of QuesNet against the paper's formulas read out loud, and what they may not see."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tqnet.modeling.configuration import QuesNetConfig
from tqnet.modeling.quesnet import ContentLayer, SentenceLayer, hole_contexts, one_sequence, turned

LENGTHS = (5, 3, 1)


def config(**options: object) -> QuesNetConfig:
    return QuesNetConfig(**({"hidden_size": 8, "sentence_heads": 2, "visual_backbone": None} | options))


def mask_of(lengths: tuple[int, ...] = LENGTHS) -> Tensor:
    return torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


@pytest.fixture
def items() -> Tensor:
    return torch.randn(3, 5, 8, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def content() -> ContentLayer:
    torch.manual_seed(1)
    return ContentLayer(config()).eval()


def test_words_then_figures_without_a_gap() -> None:
    words = torch.tensor([[1.0, 2, 0], [3, 4, 5]]).unsqueeze(-1)
    figures = torch.tensor([[6.0, 7], [8, 0]]).unsqueeze(-1)
    masks = torch.tensor([[True, True, False], [True] * 3]), torch.tensor([[True, True], [True, False]])
    sequence, mask = one_sequence(words, masks[0], figures, masks[1])
    assert sequence[mask].flatten().tolist() == [1, 2, 6, 7, 3, 4, 5, 8]
    assert mask.tolist() == [[True] * 4 + [False]] * 2


def test_turning_twice_is_nothing() -> None:
    order = turned(mask_of())
    assert order.tolist() == [[4, 3, 2, 1, 0], [2, 1, 0, 3, 4], [0, 1, 2, 3, 4]]
    assert torch.equal(order.gather(1, order), torch.arange(5).expand(3, 5))


@torch.no_grad()
def test_each_direction_is_a_stack_of_lstms_over_the_row_alone(items: Tensor, content: ContentLayer) -> None:
    left, right = content(items, mask_of())
    for row, length in enumerate(LENGTHS):
        alone = items[row : row + 1, :length]
        torch.testing.assert_close(left[row, :length], content.from_left(alone)[0][0])
        torch.testing.assert_close(right[row, :length], content.from_right(alone.flip(1))[0][0].flip(0))
        assert not left[row, length:].any()
        assert not right[row, length:].any()


@torch.no_grad()
def test_one_lstm_is_its_formula(items: Tensor) -> None:
    torch.manual_seed(2)
    layer = ContentLayer(config(content_layers=1)).eval()
    left, _ = layer(items[:1], mask_of((5,)))
    lstm = layer.from_left
    h = c = torch.zeros(4)
    for place in range(5):
        gates = lstm.weight_ih_l0 @ items[0, place] + lstm.bias_ih_l0 + lstm.weight_hh_l0 @ h + lstm.bias_hh_l0
        i, f, g, o = gates.chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        torch.testing.assert_close(left[0, place], h)


@torch.no_grad()
def test_a_hole_sees_all_places_but_its_own(items: Tensor, content: ContentLayer) -> None:
    """Of a change at place j, the context of place i shows nothing where i = j or j is padding, else something."""
    mask = mask_of()
    before = hole_contexts(*content(items, mask))
    for place in range(5):
        changed = items.clone()
        changed[:, place] += 1
        moved = (hole_contexts(*content(changed, mask)) != before).any(-1)
        for row, length in enumerate(LENGTHS):
            others = [i != place and place < length for i in range(length)]
            assert moved[row, :length].tolist() == others, (row, place)


@torch.no_grad()
def test_a_hole_is_the_state_before_it_and_the_state_behind_it(items: Tensor, content: ContentLayer) -> None:
    left, right = content(items, mask_of())
    contexts = hole_contexts(left, right)
    for row, length in enumerate(LENGTHS):
        for place in range(length):
            before = left[row, place - 1] if place else torch.zeros(4)
            behind = right[row, place + 1] if place + 1 < length else torch.zeros(4)
            assert torch.equal(contexts[row, place], torch.cat([before, behind]))


@torch.no_grad()
@pytest.mark.parametrize("pooling", ["max", "mean"])
def test_the_sentence_layer_is_its_formula(pooling: str, items: Tensor) -> None:
    torch.manual_seed(3)
    layer = SentenceLayer(config(sentence_pooling=pooling)).eval()
    vectors = layer(items, mask_of())
    for row, length in enumerate(LENGTHS):
        x = items[row, :length]
        heads = []
        query, key, value = layer.query_key_value(x).chunk(3, -1)
        for q, k, v in zip(*(part.split(4, -1) for part in (query, key, value)), strict=True):
            heads.append((q @ k.T / 4**0.5).softmax(-1) @ v)
        tokens = layer.norm(x + layer.attention_out(torch.cat(heads, -1)))
        torch.testing.assert_close(vectors[row], tokens.amax(0) if pooling == "max" else tokens.mean(0))


@pytest.mark.parametrize(
    ("field", "value"),
    [("sentence_pooling", "sum"), ("visual_norm", "layer"), ("content_layers", 0), ("sentence_heads", 3)],
)
def test_a_wrong_setting_is_named(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{field}: .*{value}"):
        config(**{field: value})
