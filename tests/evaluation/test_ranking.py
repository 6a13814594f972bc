"""Rankings against a full sort, ties by id, and the words that the baselines see."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tqnet.evaluation import ranking
from tqnet.evaluation.ranking import NOBODY, Bm25Ranker, TfidfRanker, VectorRanker, lexical_tokens, top_columns


@given(arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 12)), elements=st.sampled_from([0, 1, 2, 3])))
def test_top_columns_is_a_stable_sort_even_where_scores_are_equal(scores: np.ndarray) -> None:
    for depth in (1, 3, 12):
        for row, columns in zip(scores, top_columns(scores, depth), strict=True):
            expected = sorted(range(len(row)), key=lambda j: (-row[j], j))[:depth]
            assert columns.tolist() == expected


def test_neighbours_are_those_of_a_literal_sort_without_the_query(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.integers(-1, 2, size=(40, 3)).astype(np.float64)  # many equal cosines, some zero vectors
    ids = [f"q{i}" for i in rng.permutation(40)]
    everyone = np.arange(40)
    top = VectorRanker(vectors, ids).top(everyone, everyone, 7)
    norms = np.linalg.norm(vectors, axis=1)
    for query in range(40):

        def key(neighbour: int, query: int = query) -> tuple[float, str]:
            length = norms[query] * norms[neighbour]
            return -round(float(vectors[query] @ vectors[neighbour] / length) if length else 0.0, 6), ids[neighbour]

        assert top[query].tolist() == sorted(set(range(40)) - {query}, key=key)[:7]
    monkeypatch.setattr(ranking, "_BLOCK_SCORES", 100)  # blocks of two queries
    assert np.array_equal(VectorRanker(vectors, ids).top(everyone, everyone, 7), top)


def test_a_small_corpus_runs_out() -> None:
    ranker = VectorRanker(np.eye(4), list("abcd"))
    top = ranker.top(np.array([0, 3]), np.array([0, 2]), 3)
    assert top.tolist() == [[2, NOBODY, NOBODY], [0, 2, NOBODY]]


def test_bad_vectors_are_refused() -> None:
    with pytest.raises(ValueError, match="1 of 2 vectors"):
        VectorRanker(np.array([[1.0], [np.nan]]), ["a", "b"])
    with pytest.raises(ValueError, match="2 vectors for 3"):
        VectorRanker(np.ones((2, 1)), ["a", "b", "c"])


def test_tokens_are_words_commands_and_chinese_characters() -> None:
    assert lexical_tokens(r"Find $\Delta_1$, 已知三角形ABC") == [
        *("find", r"\Delta", "1", "已", "知", "三", "角", "形", "已知", "知三", "三角", "角形", "abc")
    ]


@pytest.mark.parametrize("ranker", [TfidfRanker, Bm25Ranker])
@pytest.mark.parametrize("other", ["Find $x$.", "$x$", ""])
def test_a_text_without_a_word_is_like_no_other(ranker: type[TfidfRanker] | type[Bm25Ranker], other: str) -> None:
    """A bare figure, and a formula of signs alone; with ``other`` empty, so is the whole bank."""
    everyone = np.arange(3)
    scores = ranker(["", "$ + = ?$", other], list("abc")).scores(everyone, everyone)
    assert scores.shape == (3, 3)
    assert scores.dtype == np.float32
    assert not scores[:2].any()
    assert not scores[:, :2].any()
    assert (scores[2, 2] > 0) == bool(other)


def test_vectors_of_texts_that_share_one_word_or_none() -> None:
    assert TfidfRanker(["", "$+$", "?"], list("abc")).vectors().tolist() == [[0], [0], [0]]
    assert TfidfRanker(["", "find", "?"], list("abc")).vectors().tolist() == [[0], [1], [0]]
