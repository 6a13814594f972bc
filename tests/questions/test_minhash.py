import numpy as np
import pytest

from tqnet.questions.near_duplicates import MOST, ShingleSets, alike, band_keys, folded_tokens, shingle_sets


def _texts(count: int, length: int = 40, seed: int = 0) -> list[str]:
    """Texts of random words, which share next to no shingle."""
    words = np.random.default_rng(seed).integers(500, size=(count, length))
    return [" ".join("w" + chr(97 + w // 26) + chr(97 + w % 26) for w in row) for row in words]


def _keys(sets: ShingleSets) -> np.ndarray:
    return band_keys(sets, np.arange(len(sets)))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Find 12.5 Apples, or 1,000!", ["find", "0", "apples", ",", "or", "0", "!"]),
        (r"$\dfrac{1}{2}AB + x_{10}$", [r"\frac", *"{0}{0}", "𝐴", "𝐵", "+", "x", "_", *"{0}"]),
        (r"$\displaystyle\Delta \left(a\right)$", [r"\Delta", "(", "a", ")"]),
        ("求面积是12", ["求", "面", "积", "是", "0"]),
        ("１２ ____", ["0", "____"]),
    ],
)
def test_folded_tokens(text: str, tokens: list[str]) -> None:
    assert folded_tokens(text) == tokens


def test_jaccard_is_that_of_the_runs_of_three_tokens() -> None:
    def runs(text: str) -> set[tuple[str, ...]]:
        tokens = ["<", *text.split(), ">"]
        return {tuple(tokens[i : i + 3]) for i in range(len(tokens) - 2)}

    texts = ["a b c d e", "a b c d f", "a b a b a b", "b", "b c"]
    sets = shingle_sets(texts)
    assert sets.sizes.tolist() == [len(runs(text)) for text in texts]
    for i, first in enumerate(texts):
        for j, second in enumerate(texts):
            one, other = runs(first), runs(second)
            assert sets.jaccard(i, j) == len(one & other) / len(one | other)


def test_every_near_text_is_a_candidate() -> None:
    texts = _texts(300)
    changed = [text.replace(text.split()[-1], "changed") for text in texts]
    sets = shingle_sets(texts + changed)
    keys = _keys(sets)
    pairs = set(map(tuple, alike(keys[:, :300], keys[:, 300:]).T.tolist()))
    near = {(i, i) for i in range(300) if sets.jaccard(i, 300 + i) >= 0.8}
    assert len(near) > 250
    assert near <= pairs


def test_candidates_grow_with_the_texts_and_not_with_their_square() -> None:
    counts = []
    for size in (500, 2000):
        texts = _texts(2 * size)
        keys = _keys(shingle_sets(texts + texts[:size]))  # each query has one twin in the corpus
        counts.append(alike(keys[:, 2 * size :], keys[:, : 2 * size]).shape[1])
    assert counts == [500, 2000]


def test_a_template_of_thousands_stays_linear() -> None:
    keys = _keys(shingle_sets(["one and the same"] * 3000))
    pairs = alike(keys[:, :1000], keys[:, 1000:])
    assert np.array_equal(np.bincount(pairs[0]), np.full(1000, MOST))
