"""The heads of the training stages."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from tqnet.modeling.heads import ContrastiveEncoder, FigureDecoder, MaskedTokenHead
from tqnet.modeling.model import TQNetModel
from tqnet.questions import Question


def test_each_stream_is_projected_from_its_own_output(tiny_model: TQNetModel, mixed_questions: list[Question]) -> None:
    torch.manual_seed(0)
    encoder = ContrastiveEncoder(tiny_model, ("fused", "text", "visual"), 8).eval()
    with torch.no_grad():
        batch = tiny_model.processor(mixed_questions)
        projected, output = encoder(**batch), tiny_model(**batch)
    for stream, field in (("fused", "embedding"), ("text", "text_embedding"), ("visual", "visual_embedding")):
        first, _, last = encoder.projectors[stream]
        expected = last(first(output[field]).clamp(min=0))
        expected = expected / expected.norm(dim=1, keepdim=True)
        torch.testing.assert_close(projected[stream], expected)
        assert projected[stream].dtype == torch.float32


def test_masked_tokens_are_scored_by_the_word_embedding() -> None:
    torch.manual_seed(0)
    head, embedding, tokens = MaskedTokenHead(6, 11), torch.randn(11, 6), torch.randn(4, 6)
    hidden = F.layer_norm(F.gelu(tokens @ head.dense.weight.T + head.dense.bias), (6,))
    torch.testing.assert_close(head(tokens, embedding), hidden @ embedding.T)


@pytest.mark.parametrize(("cells", "size"), [(2, 64), (4, 64), (3, 50)])
def test_a_figure_is_drawn_at_the_size_that_is_asked_for(cells: int, size: int) -> None:
    drawn = FigureDecoder(12, size, width=32)(torch.randn(2, 12, cells, cells))
    assert drawn.shape == (2, 1, size, size)


def test_without_a_projection_the_vectors_themselves_are_contrasted(
    tiny_model: TQNetModel, mixed_questions: list[Question]
) -> None:
    encoder = ContrastiveEncoder(tiny_model, ("fused",), 0).eval()
    with torch.no_grad():
        batch = tiny_model.processor(mixed_questions)
        torch.testing.assert_close(encoder(**batch)["fused"], F.normalize(tiny_model(**batch).embedding, dim=-1))
    assert encoder.dimension == tiny_model.config.hidden_size
