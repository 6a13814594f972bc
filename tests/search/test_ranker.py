from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch.nn import functional as F

from tqnet.modeling.model import TQNetModel
from tqnet.questions import QuestionBank
from tqnet.search.ranker import CrossEncoder


@pytest.fixture
def cross(tiny_model: TQNetModel) -> CrossEncoder:
    made = CrossEncoder(copy.deepcopy(tiny_model), length=120).eval()
    torch.nn.init.normal_(made.head.score.weight)  # as if it were trained
    torch.nn.init.constant_(made.head.scale, 1.0)
    return made


def test_two_texts_as_one(tiny_model: TQNetModel) -> None:
    processor = tiny_model.processor
    first, second = processor.tokenize(["Find the area of the circle.", "Solve $x + 1 = 2$ for the unknown $x$."])
    whole = processor.join(first, second, 100)
    assert whole == first + second[1:]
    start, separator = first[0], first[-1]
    for length in range(4, len(whole)):
        cut = processor.join(first, second, length)
        assert len(cut) == length
        assert cut[0] == start
        assert cut[-1] == separator
        assert cut.count(separator) == 2
        parts = cut.index(separator) - 1, length - cut.index(separator) - 2
        assert min(parts) == min(len(first) - 2, len(second) - 2, (length - 3) // 2)
        assert cut[1 : 1 + parts[0]] == first[1 : 1 + parts[0]]
        assert cut[-1 - parts[1] : -1] == second[1 : 1 + parts[1]]
    assert processor.cut_texts


def test_a_pair_scores_the_same_in_any_batch(cross: CrossEncoder, tiny_bank: QuestionBank) -> None:
    pairs = [(tiny_bank[i], tiny_bank[-1 - i % 7]) for i in range(20)]
    evidence = np.random.default_rng(0).random((20, 3))
    found = cross.probabilities(pairs, evidence)
    assert found.dtype == np.float32
    assert ((found > 0) & (found < 1)).all()
    assert len(set(found.round(6).tolist())) > 10
    for size in (1, 3):
        np.testing.assert_allclose(cross.probabilities(pairs, evidence, batch_size=size), found, atol=1e-5)
    np.testing.assert_allclose(cross.probabilities(pairs[::-1], evidence[::-1])[::-1], found, atol=1e-5)
    assert cross.probabilities([], np.empty((0, 3))).shape == (0,)


def test_figures_of_both_count(cross: CrossEncoder, tiny_bank: QuestionBank) -> None:
    from dataclasses import replace

    pictured = next(question for question in tiny_bank if question.images)
    plain = replace(pictured, images=())
    pairs = [(plain, plain), (pictured, plain), (plain, pictured), (pictured, pictured)]
    scores = cross.probabilities(pairs, np.zeros((4, 3)))
    assert len(set(scores.round(6).tolist())) >= 3


def test_saved_and_loaded(cross: CrossEncoder, tiny_bank: QuestionBank, tmp_path: Path) -> None:
    pairs = [(tiny_bank[0], tiny_bank[1]), (tiny_bank[30], tiny_bank[2])]
    cross.save_pretrained(tmp_path / "ranker")
    loaded = CrossEncoder.from_pretrained(tmp_path / "ranker", "cpu")
    assert loaded.length == 120
    assert not loaded.training
    evidence = np.array([[0.5, 0.0, 0.2], [0.7, 1.0, 0.0]])
    np.testing.assert_allclose(loaded.probabilities(pairs, evidence), cross.probabilities(pairs, evidence), atol=1e-6)
    assert loaded.searched_by is None
    head = tmp_path / "ranker" / "cross_encoder.safetensors"
    save_file({"scale": torch.tensor(1.0)}, head)  # that of another version
    with pytest.raises(ValueError, match=r"cross_encoder.safetensors: not as this version of finetune/ranker.py"):
        CrossEncoder.from_pretrained(tmp_path / "ranker")
    head.write_bytes(b"half")
    with pytest.raises(ValueError, match=r"cross_encoder.safetensors: not as this version"):
        CrossEncoder.from_pretrained(tmp_path / "ranker")
    (tmp_path / "ranker" / "cross_encoder.json").write_text("{}")
    with pytest.raises(ValueError, match=r"cross_encoder.json: not as this version"):
        CrossEncoder.from_pretrained(str(tmp_path / "ranker"))
    cross.encoder.save_pretrained(tmp_path / "encoder")
    with pytest.raises(FileNotFoundError, match="no ranker"):
        CrossEncoder.from_pretrained(tmp_path / "encoder")


@pytest.mark.parametrize("length", [3, 100_000])
def test_no_positions_for_so_many_tokens(tiny_model: TQNetModel, length: int) -> None:
    with pytest.raises(ValueError, match=f"pairs of {length} tokens, but the encoder reads 4 to"):
        CrossEncoder(tiny_model, length)


def test_the_likeness_of_two_texts_that_are_read_together(cross: CrossEncoder) -> None:
    processor = cross.encoder.processor
    texts = ["Find the area of the circle.", "Solve $x + 1 = 2$ for $x$.", "Find the area of the circle."]
    tokens = processor.tokenize(texts)
    joined = [processor.join(tokens[a], tokens[b], cross.length) for a, b in ((0, 1), (0, 2), (1, 0))]
    with torch.no_grad():
        vectors, cosines = cross.read(**processor.pack_text(joined))
        ids = torch.tensor(joined[0])[None]
        words = cross.encoder.text(input_ids=ids).last_hidden_state[0]
    end = joined[0].index(tokens[0][-1])
    expected = F.cosine_similarity(words[:end].mean(0), words[end:-1].mean(0), dim=0)
    assert cosines[0] == pytest.approx(float(expected), abs=1e-4)
    assert cosines[1] > cosines[0]
    evidence = torch.tensor([[0.9, 0.0, 0.1], [0.2, 1.0, 0.0], [0.2, 0.0, 0.6]])
    features, logits = cross.head(vectors, cosines, evidence)
    likeness = cosines + evidence.sum(1)
    torch.testing.assert_close(
        logits, cross.head.score(features).squeeze(-1) + cross.head.scale * (likeness - cross.head.centre)
    )


def test_what_tells_candidates_apart_is_not_rounded_away(cross: CrossEncoder) -> None:
    evidence = torch.stack([torch.linspace(0.8, 0.82, 40), torch.full((40,), 0.3), torch.full((40,), 0.9)], 1)
    vectors, cosines = torch.zeros(40, cross.encoder.config.hidden_size), torch.ones(40)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        logits = cross.head(vectors, cosines, evidence)[1]
    assert len(set(logits.tolist())) == 40
    assert (logits.diff() > 0).all()
