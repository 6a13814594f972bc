"""Attention whose gradients are wanted is computed in fp32 on a processor, whatever the rest is computed in."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest
import torch
from torch.nn import functional as F
from transformers import BertConfig, BertModel

from tqnet.modeling.fusion import SDPA, attention
from tqnet.modeling.model import TQNetModel


def inputs() -> tuple[list[torch.Tensor], torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    queries = [torch.randn(2, 3, 7, 8, generator=generator).bfloat16().requires_grad_() for _ in range(3)]
    mask = torch.arange(7) < torch.tensor([[7], [4]])
    return queries, mask[:, None, None, :]


def test_with_gradients_in_fp32() -> None:
    queries, mask = inputs()
    with torch.autocast("cpu", torch.bfloat16):
        attended = attention(*queries, attn_mask=mask)
    assert attended.dtype == torch.bfloat16
    exact = F.scaled_dot_product_attention(*(query.float() for query in queries), attn_mask=mask)
    assert torch.equal(attended, exact.bfloat16())
    given = torch.autograd.grad(attended.sum(), queries)
    wanted = torch.autograd.grad(exact.sum(), queries)
    for ours, theirs in zip(given, wanted, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("change", ["no gradient wanted", "no gradient possible", "fp64"])
def test_else_as_it_comes(change: str) -> None:
    queries, mask = inputs()
    if change == "no gradient possible":
        queries = [query.detach() for query in queries]
    if change == "fp64":
        queries = [query.double() for query in queries]
    with torch.set_grad_enabled(change != "no gradient wanted"):
        expected = F.scaled_dot_product_attention(*queries, attn_mask=mask)
        assert torch.equal(attention(*queries, attn_mask=mask), expected)


def test_an_encoder_that_asks_for_more_gets_it() -> None:
    """A decoder sees no later word."""
    shape = BertConfig(
        vocab_size=30, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, is_decoder=True
    )
    ids = torch.tensor([[5, 6, 7, 8]])
    encoder = BertModel(shape, add_pooling_layer=False).eval()
    expected = encoder(ids).last_hidden_state
    encoder.set_attn_implementation(SDPA)
    torch.testing.assert_close(encoder(ids).last_hidden_state, expected)
    with torch.autocast("cpu", torch.bfloat16):
        in_bf16 = encoder(ids).last_hidden_state.float()
    torch.testing.assert_close(in_bf16, expected, atol=0.05, rtol=0.05)


def test_the_text_encoder_attends_so_unless_told_otherwise(tiny_model: TQNetModel, tmp_path: Any) -> None:
    assert tiny_model.text.config._attn_implementation == SDPA
    tiny_model.save_pretrained(tmp_path)
    assert SDPA not in (tmp_path / "config.json").read_text()
    eager = TQNetModel.from_pretrained(tmp_path, attn_implementation="eager").eval()
    assert eager.text.config._attn_implementation == "eager"
    batch = {"input_ids": torch.tensor([[5, 6, 7], [5, 6, 0]]), "attention_mask": torch.tensor([[1, 1, 1], [1, 1, 0]])}
    ours, theirs = (model.text(**batch).last_hidden_state for model in (tiny_model.eval(), eager))
    torch.testing.assert_close(ours[0], theirs[0])
    torch.testing.assert_close(ours[1, :2], theirs[1, :2])


@pytest.mark.skipif(find_spec("flash_attn") is not None, reason="flash_attn is installed")
def test_flash_attention_is_a_matter_of_its_package(tiny_model: TQNetModel, tmp_path: Any) -> None:
    tiny_model.save_pretrained(tmp_path)
    with pytest.raises(ImportError, match="FlashAttention2"):
        TQNetModel.from_pretrained(tmp_path, attn_implementation="flash_attention_2")
