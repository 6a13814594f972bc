"""UDA and SSMBA change the share of words that they should, and leave formulas alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from tqnet.paraphrase.baselines import LightWords, mask_and_refill

from tqnet.paraphrase.problem import NotApplicable, Parser

CORPUS = [
    "The baker sold 12 loaves to the school. How many loaves did the baker sell?",
    "The train left at noon. How far is the next station?",
    "How many of the 30 marbles in the bag are green?",
    "The farmer has 7 goats and 5 sheep. How many animals does the farmer have?",
]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def test_light_words_go_and_heavy_ones_stay(parse: Parser) -> None:
    light, problem = LightWords.fit(CORPUS, 0.3), parse(CORPUS[0])
    kept: Counter[str] = Counter()
    shares = []
    for seed in range(200):
        before, after = words(problem.text), words(light(problem, np.random.default_rng(seed)))
        assert len(before) == len(after)
        kept.update(old for old, new in zip(before, after, strict=True) if old == new)
        shares.append(np.mean([old != new for old, new in zip(before, after, strict=True)]))
    times = Counter(words(problem.text))
    assert kept["12"] == 200
    assert kept["loaves"] / times["loaves"] > kept["many"] / times["many"] + 50
    assert 0.15 < np.mean(shares) < 0.35
    assert problem.text == CORPUS[0]


def test_what_replaces_a_word_is_of_the_corpus_and_says_little(parse: Parser) -> None:
    light = LightWords.fit(CORPUS, 0.3)
    drawn: Counter[str] = Counter()
    for seed in range(200):
        drawn.update(words(light(parse(CORPUS[1]), np.random.default_rng(seed))))
    assert drawn.keys() <= {word for text in CORPUS for word in words(text)}
    assert drawn["the"] == 2 * 200  # of the text's words it weighs most, of the corpus's too: it neither goes nor comes


def test_the_same_generator_draws_the_same(parse: Parser) -> None:
    light, problem = LightWords.fit(CORPUS, 0.3), parse(CORPUS[3])
    assert light(problem, np.random.default_rng(3)) == light(problem, np.random.default_rng(3))


def test_a_text_without_words(parse: Parser) -> None:
    with pytest.raises(NotApplicable, match="no words"):
        LightWords.fit(CORPUS, 0.3)(parse("$x^2$ = 5?"), np.random.default_rng(0))


def test_gaps_are_filled_with_what_is_guessed() -> None:
    seen: list[str] = []

    def fill(texts: Sequence[str]) -> list[list[tuple[Sequence[str], np.ndarray]]]:
        seen.extend(texts)
        return [[(("alpha", "beta"), np.array([0.0, 1.0]))] * text.count("[MASK]") for text in texts]

    texts = ["Ann has 3 pens and $x+1$ pencils left over in her bag.", "?", "Why?"]
    rngs = [np.random.default_rng(at) for at in range(3)]
    made = mask_and_refill(texts, fill, "[MASK]", 0.4, rngs)
    assert seen[0].count("[MASK]") == 4  # of 11 words
    assert made[0].lower() == seen[0].replace("[MASK]", "beta").lower()
    assert "$x+1$" in made[0]
    assert made[1:] == ["?", "Beta?"]
    again = mask_and_refill(texts[::-1], fill, "[MASK]", 0.4, [np.random.default_rng(at) for at in (2, 1, 0)])
    assert again[::-1] == made


def test_gaps_beyond_what_the_model_reads_keep_their_words() -> None:
    def fill(texts: Sequence[str]) -> list[list[tuple[Sequence[str], np.ndarray]]]:
        return [[(("new",), np.ones(1))] for _ in texts]

    (made,) = mask_and_refill(["one two three"], fill, "[MASK]", 0.99, [np.random.default_rng(0)])
    assert made == "new two three"
