"""Doubles in train, originals of labelled paraphrases, and the candidates of both by MinHash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from tqnet.config import ConfigError
from tqnet.questions import Contamination, Question, QuestionBank, find_contamination
from tqnet.questions.leakage import rows_held_out
from tqnet.questions.near_duplicates import MOST, ShingleSets, alike, band_keys, folded_tokens, shingle_sets
from tqnet.training.config import DataConfig
from tqnet.training.session import training_questions

TRAIN = (
    "In the triangle $ABC$ the side $AB$ is $12$ cm long, the side $BC$ is $9$ cm long and the angle at $B$ is a right "
    "angle. How long is the side $AC$, and what is the area of the triangle in square centimetres?"
)


@pytest.fixture
def draw(tmp_path: Path):
    """Draws a polygon, and saves it under the name; returns the path."""

    def draw(name: str, corners: list[tuple[int, int]], size: int = 120) -> str:
        image = Image.new("L", (120, 120), 255)
        ImageDraw.Draw(image).polygon(corners, outline=0, width=4)
        path = tmp_path / name
        image.resize((size, size), Image.Resampling.LANCZOS).save(path)
        return str(path)

    return draw


TRIANGLE = [(10, 110), (110, 100), (60, 15)]
KITE = [(60, 5), (100, 45), (60, 115), (15, 50)]


def _train(**fields: Any) -> Question:
    return Question(**{"id": "train", "stem": TRAIN, "split": "train", **fields})


def _test(stem: str = TRAIN, split: str = "test", **fields: Any) -> Question:
    return Question(**{"id": "test", "stem": stem, "split": split, **fields})


def _find(*questions: Question) -> Contamination:
    return find_contamination(QuestionBank.from_questions(questions))


def _kind(*questions: Question) -> str | None:
    """The kind of the one double, or None."""
    kinds = [double.kind for double in _find(*questions).doubles]
    assert len(kinds) < 2
    return kinds[0] if kinds else None


def test_the_same_text_is_exact_whatever_its_white_space() -> None:
    spaced = TRAIN.replace(" cm", "\u00a0 cm\n")
    assert spaced != TRAIN
    report = _find(_train(), _test(spaced), _test(spaced, "valid", id="valid"))
    assert [(d.row, d.split, d.kind, d.id, d.twin) for d in report.doubles] == [
        (1, "test", "exact", "test", "train"),
        (2, "valid", "exact", "valid", "train"),
    ]
    assert report.counts("test") == {"exact": 1, "near": 0, "figure": 0}
    assert report.clean.tolist() == [0]


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"12": "3.75", "9": "120"}, "near"),
        ({"$12$": r"$\displaystyle 12$", "centimetres?": "centimetres"}, "near"),  # typography and a lost sign
        ({"right angle": "acute one", "area": "circumference", "$AC$": "$CA$"}, None),
    ],
)
def test_numbers_do_not_count_but_some_words_do(changes: dict[str, str], kind: str | None) -> None:
    text = TRAIN
    for old, new in changes.items():
        text = text.replace(old, new)
    assert _kind(_train(), _test(text)) == kind


def test_options_are_part_of_the_text() -> None:
    options, others = ("a square", "a circle"), ("a kite and two of its diagonals", "half of a long rectangle")
    assert _kind(_train(options=options), _test(options=options)) == "exact"
    assert _kind(_train(options=options), _test(options=others)) is None


def test_the_threshold_is_the_jaccard_similarity_of_shingles() -> None:
    words = "one two three four five six seven eight"  # eight shingles; without the last word seven, six of them shared
    questions = _train(stem=words), _test(words.removesuffix(" eight"))
    bank = QuestionBank.from_questions(questions)
    assert len(find_contamination(bank, threshold=6 / 9).doubles) == 1
    assert not find_contamination(bank, threshold=6 / 9 + 0.01).doubles


def test_one_text_below_different_figures_is_no_double(draw) -> None:
    triangle, kite = draw("1.png", TRIANGLE), draw("2.png", KITE)
    assert _kind(_train(stem="Find $x$.", images=[triangle]), _test("Find $x$.", images=[kite])) is None
    assert _kind(_train(stem="Find $x$.", images=[triangle]), _test("Find $x$.")) is None
    assert _kind(_train(stem="Find $x$."), _test("Find $x$.", images=[kite])) is None


def test_a_copy_of_the_figure_is_the_figure(draw) -> None:
    original, copy = draw("1.png", TRIANGLE), draw("copy.bmp", TRIANGLE)
    assert _kind(_train(images=[original]), _test(images=[copy])) == "exact"
    assert _kind(_train(images=[original]), _test("What do you see?", images=[copy])) == "figure"
    assert _kind(_train(images=[original]), _test(TRAIN.replace("9", "10"), images=[copy])) == "near"


def test_a_figure_of_another_size_is_near(draw) -> None:
    original, smaller = draw("1.png", TRIANGLE), draw("smaller.png", TRIANGLE, size=110)
    assert _kind(_train(images=[original]), _test(images=[smaller])) == "near"
    assert _kind(_train(images=[original]), _test("What do you see?", images=[smaller])) == "figure"


def test_all_figures_have_to_agree_for_a_near_text(draw) -> None:
    triangle, kite = draw("1.png", TRIANGLE), draw("2.png", KITE)
    assert _kind(_train(images=[triangle, kite]), _test(images=[triangle])) == "figure"
    assert _kind(_train(images=[triangle, kite]), _test(images=[kite, triangle])) == "figure"
    assert _kind(_train(images=[triangle, kite]), _test(images=[triangle, kite])) == "exact"


def test_plain_figures_are_compared_by_their_pixels(tmp_path: Path) -> None:
    paths = []
    for shade in (250, 251, 250):
        paths.append(str(tmp_path / f"{len(paths)}.png"))
        Image.new("L", (50, 50), shade).save(paths[-1])
    assert _kind(_train(images=[paths[0]]), _test("Draw a graph.", images=[paths[1]])) is None
    assert _kind(_train(images=[paths[0]]), _test("Draw a graph.", images=[paths[2]])) == "figure"


def test_a_figure_that_cannot_be_read_is_itself_alone(tmp_path: Path) -> None:
    images = [str(tmp_path / "gone.png")], [str(tmp_path / "gone too.png")]
    assert _kind(_train(images=images[0]), _test(images=images[1])) is None
    assert _kind(_train(images=images[0]), _test(images=images[0])) == "exact"


def test_the_surest_twin_counts(draw) -> None:
    figure = draw("1.png", TRIANGLE)
    near, exact = TRAIN.replace("9", "8"), TRAIN
    report = _find(
        _train(id="figure", stem="What do you see?", images=[figure]),
        _train(id="near", stem=near, images=[figure]),
        _test(id="a", images=[figure]),
        _train(id="exact", stem=exact, images=[figure]),
        _test(id="b", stem=TRAIN.replace("9", "7"), images=[figure]),
    )
    assert [(d.id, d.kind, d.twin) for d in report.doubles] == [("a", "exact", "exact"), ("b", "near", "near")]
    assert report.clean.tolist() == [0, 1, 3]


def test_only_train_is_compared_with() -> None:
    assert not _find(_test(id="a"), _test(id="b"), _test(id="c", split="valid")).doubles
    assert not _find(_train(id="a"), _train(id="b")).doubles
    report = _find(_train(), Question(id="without a split", stem=TRAIN), _test())
    assert [d.id for d in report.doubles] == ["test"]


ROPE = "A rope of 12 m is cut into pieces of 3 m each, and every piece is sold for 4 euros. What do all pieces bring?"
STEMS = [
    ROPE,
    ROPE.replace("12", "20").replace("4 euros", "7 euros"),
    ROPE.upper().replace(" ", "  "),
    "A rope of 12 m is cut. How long is each of the pieces?",
    "Lena reads 30 pages a day. After how many days has she read 210 pages?",
]


@pytest.fixture
def pairs(tmp_path: Path) -> str:
    rows = [{"original": ROPE, "paraphrase": "What do the pieces bring?", "label": 0}]
    rows += [{"original": "How many sides has a cube?", "paraphrase": STEMS[4], "label": 0}]
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return str(file)


@pytest.fixture
def bank(tmp_path: Path) -> str:
    questions = [Question(str(at), stem=stem, split="train") for at, stem in enumerate(STEMS)]
    QuestionBank.from_questions(questions).save(tmp_path / "questions.jsonl")
    return str(tmp_path / "questions.jsonl")


def test_originals_are_found_but_for_spacing_and_numbers(bank: str, pairs: str) -> None:
    """And no paraphrases: a question that only stands there as one is another question."""
    held_out = rows_held_out(QuestionBank.load(bank).column("stem"), [pairs])
    assert held_out.tolist() == [0, 1, 2]
    assert rows_held_out(QuestionBank.load(bank).column("stem"), []).tolist() == []
    assert rows_held_out([], [pairs]).tolist() == []


def test_no_recipe_trains_on_them(bank: str, pairs: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    data = DataConfig(bank=bank, held_out=[pairs])
    assert training_questions(data, pretraining=True).ids == ["3", "4"]
    assert "3 of 5 questions are left out: they or near-duplicates are in data.held_out" in caplog.text
    data.load().select([0, 1]).save(Path(bank).with_name("two.jsonl"))
    with pytest.raises(ConfigError, match=r"^data\.held_out: leaves no question of .*two\.jsonl to train on"):
        training_questions(DataConfig(bank=str(Path(bank).with_name("two.jsonl")), held_out=[pairs]), pretraining=False)
    with pytest.raises(FileNotFoundError, match=r"nowhere\.csv: no such file"):
        training_questions(DataConfig(bank=bank, held_out=["nowhere.csv"]), pretraining=False)


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
        (r"$\dfrac{1}{2}AB + x_{10}$", [r"\frac", *"{0}{0}", "𝐴", "𝐵", "+", "x", "_", "0"]),
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
            first_runs, second_runs = runs(first), runs(second)
            similarity = len(first_runs & second_runs) / len(first_runs | second_runs)
            assert sets.jaccard(i, j) == sets.jaccards(np.array([[i, 0], [j, 0]]))[0] == similarity


def test_every_near_text_is_a_candidate() -> None:
    texts = _texts(300)
    changed = [text.replace(text.split()[-1], "changed") for text in texts]
    sets = shingle_sets(texts + changed)
    keys = _keys(sets)
    pairs = set(map(tuple, alike(keys[:, :300], keys[:, 300:]).T.tolist()))
    near = {(i, i) for i in range(300) if sets.jaccard(i, 300 + i) >= 0.8}
    assert len(near) > 250
    assert near <= pairs


def test_a_template_of_thousands_stays_linear() -> None:
    keys = _keys(shingle_sets(["one and the same"] * 3000))
    pairs = alike(keys[:, :1000], keys[:, 1000:])
    assert np.array_equal(np.bincount(pairs[0]), np.full(1000, MOST))
