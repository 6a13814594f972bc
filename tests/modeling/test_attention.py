"""Attention whose gradients are wanted is computed in fp32 on a processor, whatever the rest is computed in."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from tqnet.modeling.attention import SDPA, attention
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


def test_without_gradients_as_it_comes() -> None:
    queries, mask = inputs()
    with torch.no_grad():
        assert torch.equal(
            attention(*queries, attn_mask=mask), F.scaled_dot_product_attention(*queries, attn_mask=mask)
        )


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
