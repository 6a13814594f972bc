"""What operators and baselines make of a question (``operators.jsonl``), and that nothing makes one fall."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tqnet.paraphrase import TRAINING
from tqnet.paraphrase.negatives import NO_PHRASES, without_important_phrases, without_phrases
from tqnet.paraphrase.operators import Operator, first_that_applies, operators, select
from tqnet.paraphrase.problem import NotApplicable, Parser, Problem
from tqnet.paraphrase.tokens import LightWords, WordWeights, corrupt, mask_and_refill, replace_heavy_words
from tqnet.paraphrase.units import find_units
from tqnet.text.numbers import find_numbers

ALEX = "Alex travelled 100 km from New York at a constant speed of 20 kmph. How many hours did it take him in total?"
CORPUS = [ALEX, "Tom bought 5 apples.", "the cat sat on the mat"]


def encode(texts: Sequence[str]) -> np.ndarray:
    """Counts of letters."""
    return np.array(
        [[text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz0123456789"] for text in texts]
    )


def shorten(problem: Problem, rng: np.random.Generator) -> str:
    ((_, texts),) = without_important_phrases([problem], encode)
    if not texts:
        raise NotApplicable(NO_PHRASES)
    return texts[0]


def heavy(*texts: str) -> partial[str]:
    return partial(replace_heavy_words, weights=WordWeights.fit(texts))


OPERATORS = {operator.symbol: operator for operator in operators(given={"f5": shorten, "f_c": heavy(*CORPUS)})}


def results(operator: Operator, parse: Parser, text: str, seeds: int = 60) -> set[str]:
    return {operator(parse(text), np.random.default_rng(seed)) for seed in range(seeds)}


CASES = [json.loads(line) for line in (Path(__file__).parent / "operators.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['operator']} {case['text'][:30]}")
def test_cases(parse: Parser, case: dict[str, Any]) -> None:
    """All that becomes of a question, whatever is drawn; or why an operator does not apply."""
    operator = OPERATORS[case["operator"]]
    if reason := case.get("not applicable"):
        with pytest.raises(NotApplicable, match=reason):
            operator(parse(case["text"]), np.random.default_rng(0))
    else:
        assert results(operator, parse, case["text"]) == set(case["results"])


def test_names_are_never_renamed_throughout(parse: Parser) -> None:
    text = "Natalia met Tom. Natalia gave Tom a pen. What has Tom?"
    for new in results(OPERATORS["f7"], parse, text):
        assert new != text
        capitals = {word.strip(".?") for word in new.split() if word[0].isupper()}
        assert all(new.count(name) == 1 for name in capitals - {"Natalia", "Tom", "What", "Met", "Gave", "Has"})


def test_the_most_important_phrase(parse: Parser, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever texts are encoded with it."""
    problems = [parse(text) for text in (ALEX, "Run!", "Tom ate 5 apples.")]
    chosen = dict(without_important_phrases(problems, encode))
    assert chosen["Run!"] == []
    assert ALEX.replace("New York ", "") in without_phrases(problems[0])
    for problem in (problems[0], problems[2]):
        assert chosen[problem.text] == [
            min(without_phrases(problem), key=lambda text, original=problem.text: cosine(text, original))
        ]
    monkeypatch.setattr("tqnet.paraphrase.negatives._ENCODED", 1)
    assert dict(without_important_phrases(problems, encode)) == chosen


def cosine(first: str, second: str) -> float:
    a, b = encode([first, second]).astype(float)
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_heavy_words_are_replaced_by_any(parse: Parser) -> None:
    (operator,) = operators(["f_c"], {"f_c": heavy("the cat sat", "the dog sat", "the bird flew")})
    for new in results(operator, parse, "The cat sat on $x^2$"):
        before, after = ["The", "cat", "sat", "on"], new.removesuffix(" $x^2$").split()
        assert len(before) == len(after)
        assert sum(old != word for old, word in zip(before, after, strict=True)) == 1
        assert after[0] == "The"  # it weighs least
    with pytest.raises(ValueError, match="empty vocabulary"):
        WordWeights.fit(["1 2 3"])


def test_a_corrupted_text_keeps_what_cannot_be_guessed(parse: Parser) -> None:
    for seed in range(30):
        new = corrupt(parse(ALEX), np.random.default_rng(seed))
        assert new != ALEX
        assert all(kept in new for kept in ("100 km", "20 kmph", "hours"))
        assert new.endswith("in total?")


AWKWARD = [
    "",
    " \n\t",
    "Why",
    "?!... ,",
    "$",
    "$$",
    "5",
    "$5",
    "%",
    "Tom",
    "小明有3个苹果，吃了5%，还剩多少千克？",
    r"Given $x^2+3x=\frac{1}{2}$ and \(y=5\), find $x$. It is $12$ km.",
    r"\frac{1}{2",
    "1/0 of 0 km in 00:61 on 99/99/9999 at -–−5",
    "one one one and and half a a dozen and a half a third",
    "é ﬁ ½ ² 😀 5😀km",
    "$5$6$7 $ 8 $ . rs rs . rs . . per per cent / / hr",
    "9" * 400,
    "Tom bought 5 apples for $3.20. " * 200,
    "( [ { 5 km",
]


@pytest.mark.parametrize("text", AWKWARD, ids=lambda text: text[:20] or "empty")
@pytest.mark.parametrize("symbol", OPERATORS)
def test_nothing_makes_an_operator_fall(parse: Parser, symbol: str, text: str) -> None:
    with suppress(NotApplicable):
        new = OPERATORS[symbol](parse(text), np.random.default_rng(0))
        assert any(map(str.isalnum, new))
        assert new != text or symbol == "f2"


@pytest.mark.parametrize("symbol", OPERATORS)
def test_a_result_is_its_seed(parse: Parser, symbol: str) -> None:
    text = "Tom bought 5 apples for $3 in London on Monday. Tom walked 3 km in 2 hours. How many miles is it?"
    first, again = (OPERATORS[symbol](parse(text), np.random.default_rng(7)) for _ in "ab")
    assert first == again


@pytest.mark.parametrize(
    "text",
    [
        "A 20 ft pole, 3/4 of 1,250 kg, $5.25 or 2 1/2 lbs at 30%?",
        "rs . 1,500 at 5 % for 3 years, 6 km / hr, 25 sq m",
        "It took 1.5 hrs for 121/100 of 17 in. at $1.",
    ],
)
def test_positives_keep_every_number_and_unit(parse: Parser, text: str) -> None:
    def carried(text: str) -> tuple[list[object], list[str]]:
        numbers = find_numbers(text)
        return [number.value for number in numbers], sorted(unit.name for unit in find_units(text, numbers))

    for symbol in ("f3", "f4"):
        assert carried(OPERATORS[symbol](parse(text), np.random.default_rng(0))) == carried(text)


def test_operators_that_lack_something_are_left_out() -> None:
    rules = operators(TRAINING)
    assert [operator.symbol for operator in rules] == ["f2", "f3", "f4", "f6", "f7", "f8", "f10"]
    assert [operator.symbol for operator in select(rules, "positive")] == ["f2", "f3", "f4"]
    assert [operator.symbol for operator in operators(["f_b", "f_a", "f1"], {"f1": shorten})] == ["f_a", "f1"]


@pytest.mark.parametrize(("text", "reason"), [("Tom ran.", "nothing would change"), ("?", "nothing would be left")])
def test_what_changes_nothing_does_not_apply(parse: Parser, text: str, reason: str) -> None:
    operator = Operator("f1", "positive", lambda problem, rng: text)
    with pytest.raises(NotApplicable, match=reason):
        operator(parse("Tom ran."), np.random.default_rng(0))


def test_operators_are_drawn(parse: Parser) -> None:
    negatives = select(operators(TRAINING), "negative")
    drawn = [first_that_applies(parse(ALEX), negatives, np.random.default_rng(seed)) for seed in range(60)]
    assert {symbol for _, symbol in drawn} == {"f6", "f7", "f8", "f10"}
    assert all(text != ALEX for text, _ in drawn)
    reasons = r"f10: there are no units; f6: it is one sentence of 1 tokens; f7: .*; f8: "
    with pytest.raises(NotApplicable, match=reasons):
        first_that_applies(parse("Why"), negatives, np.random.default_rng(0))


BAKER = [
    "The baker sold 12 loaves to the school. How many loaves did the baker sell?",
    "The train left at noon. How far is the next station?",
    "How many of the 30 marbles in the bag are green?",
    "The farmer has 7 goats and 5 sheep. How many animals does the farmer have?",
]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


@pytest.fixture
def light() -> LightWords:
    return LightWords(WordWeights.fit(BAKER), 0.3)


def test_light_words_go_and_heavy_ones_stay(light: LightWords, parse: Parser) -> None:
    kept: Counter[str] = Counter()
    shares = []
    for seed in range(200):
        before, after = words(BAKER[0]), words(light(parse(BAKER[0]), np.random.default_rng(seed)))
        kept.update(old for old, new in zip(before, after, strict=True) if old == new)
        shares.append(np.mean([old != new for old, new in zip(before, after, strict=True)]))
    times = Counter(words(BAKER[0]))
    assert kept["12"] == 200
    assert kept["loaves"] / times["loaves"] > kept["many"] / times["many"] + 50
    assert 0.15 < np.mean(shares) < 0.35


def test_what_replaces_a_word_is_of_the_corpus_and_says_little(light: LightWords, parse: Parser) -> None:
    texts = [light(parse(BAKER[1]), np.random.default_rng(seed)) for seed in (*range(200), *range(200))]
    assert texts[:200] == texts[200:]
    drawn = Counter(word for text in texts[:200] for word in words(text))
    assert drawn.keys() <= {word for text in BAKER for word in words(text)}
    assert drawn["the"] == 2 * 200  # of the text's words it weighs most, of the corpus's too: it neither goes nor comes
    with pytest.raises(NotApplicable, match="no words"):
        light(parse("$x^2$ = 5?"), np.random.default_rng(0))


def test_gaps_are_filled_with_what_is_guessed() -> None:
    seen: list[str] = []

    def fill(texts: Sequence[str]) -> list[list[tuple[Sequence[str], np.ndarray]]]:
        seen.extend(texts)
        return [[(("alpha", "beta"), np.array([0.0, 1.0]))] * text.count("[MASK]") for text in texts]

    texts = ["Ann has 3 pens and $x+1$ pencils left over in her bag.", "?", "Why?"]
    made = mask_and_refill(texts, fill, "[MASK]", 0.4, [np.random.default_rng(at) for at in range(3)])
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
