"""The pair classifier: symmetric, saved and loaded, its encoder untouched."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tqnet.modeling.build import load_model
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.pairs import PairClassifier, PairHead
from tqnet.questions import Question, QuestionBank
from tqnet.questions.traits import TRAIT_FEATURES


@pytest.fixture
def classifier(tiny_model: TQNetModel) -> PairClassifier:
    torch.manual_seed(0)
    made = PairClassifier(tiny_model, hidden=16)
    torch.nn.init.normal_(made.head.vectors.weight, std=0.3)
    return made.eval()


def test_either_order_is_the_same() -> None:
    head = PairHead(8, 16, 0.0)
    torch.nn.init.normal_(head.vectors.weight)
    u, v, features = torch.randn(5, 8), torch.randn(5, 8), torch.rand(5, len(TRAIT_FEATURES))
    assert torch.equal(head(u, v, features), head(v, u, features))
    assert torch.allclose(head(3 * u, v, features), head(u, v, features), atol=1e-5)  # lengths say nothing
    assert not torch.allclose(head(u, v, features), head(u, u, features))


def test_the_head_starts_from_the_features() -> None:
    head, features = PairHead(8, 16, 0.0), torch.rand(2, len(TRAIT_FEATURES))
    assert torch.equal(head(torch.randn(2, 8), torch.randn(2, 8), features), head(*torch.randn(2, 2, 8), features))


def test_probabilities_of_candidates(classifier: PairClassifier, tiny_bank: QuestionBank) -> None:
    query, candidates = tiny_bank[0], [tiny_bank[i] for i in range(1, 9)]
    probabilities = classifier.classify(query, candidates)
    assert probabilities.shape == (8, 4)
    assert probabilities.dtype == np.float32
    assert np.allclose(probabilities.sum(1), 1, atol=1e-5)
    assert np.allclose(classifier.classify(candidates[3], [query])[0], probabilities[3], atol=1e-4)
    assert classifier.classify(query, []).shape == (0, 4)


def test_saved_and_loaded(classifier: PairClassifier, tmp_path: Path) -> None:
    classifier.save_pretrained(tmp_path)
    again = PairClassifier.from_pretrained(tmp_path)
    pair = Question("a", "Find $x$."), [Question("b", "Find $y$.")]
    assert np.allclose(classifier.classify(*pair), again.classify(*pair), atol=1e-6)
    assert load_model(str(tmp_path)).encode("Find $x$.").shape == (1, 48)
    (tmp_path / "pairs.json").write_text((tmp_path / "pairs.json").read_text().replace("same text", "text"))
    with pytest.raises(ValueError, match="made by another version of tqnet"):
        PairClassifier.from_pretrained(tmp_path)
    (tmp_path / "pairs.json").unlink()
    with pytest.raises(FileNotFoundError, match="no pair classifier here"):
        PairClassifier.from_pretrained(tmp_path)
