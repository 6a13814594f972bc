from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from tqnet.questions import Contamination, Question, QuestionBank, find_contamination

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
    found = _find(_train(), _test(spaced), _test(spaced, "valid", id="valid"))
    assert [(d.row, d.split, d.kind, d.id, d.twin) for d in found.doubles] == [
        (1, "test", "exact", "test", "train"),
        (2, "valid", "exact", "valid", "train"),
    ]
    assert found.counts("test") == {"exact": 1, "near": 0, "figure": 0}
    assert found.clean.tolist() == [0]


def test_numbers_do_not_count() -> None:
    assert _kind(_train(), _test(TRAIN.replace("12", "3.75").replace("9", "120"))) == "near"


def test_nor_do_typography_and_a_lost_sign() -> None:
    assert _kind(_train(), _test(TRAIN.replace("$12$", r"$\displaystyle 12$").removesuffix("?"))) == "near"


def test_some_other_words_make_another_question() -> None:
    other = TRAIN.replace("right angle", "acute one").replace("area", "circumference").replace("$AC$", "$CA$")
    assert _kind(_train(), _test(other)) is None


def test_options_are_part_of_the_text() -> None:
    own, others = ("a square", "a circle"), ("a kite and two of its diagonals", "half of a long rectangle")
    assert _kind(_train(options=own), _test(options=own)) == "exact"
    assert _kind(_train(options=own), _test(options=others)) is None


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
    one, copy = draw("1.png", TRIANGLE), draw("copy.bmp", TRIANGLE)
    assert _kind(_train(images=[one]), _test(images=[copy])) == "exact"
    assert _kind(_train(images=[one]), _test("What do you see?", images=[copy])) == "figure"
    assert _kind(_train(images=[one]), _test(TRAIN.replace("9", "10"), images=[copy])) == "near"


def test_a_figure_of_another_size_is_near(draw) -> None:
    one, smaller = draw("1.png", TRIANGLE), draw("smaller.png", TRIANGLE, size=110)
    assert _kind(_train(images=[one]), _test(images=[smaller])) == "near"
    assert _kind(_train(images=[one]), _test("What do you see?", images=[smaller])) == "figure"


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
    found = _find(
        _train(id="figure", stem="What do you see?", images=[figure]),
        _train(id="near", stem=near, images=[figure]),
        _test(id="a", images=[figure]),
        _train(id="exact", stem=exact, images=[figure]),
        _test(id="b", stem=TRAIN.replace("9", "7"), images=[figure]),
    )
    assert [(d.id, d.kind, d.twin) for d in found.doubles] == [("a", "exact", "exact"), ("b", "near", "near")]
    assert found.clean.tolist() == [0, 1, 3]


def test_only_train_is_compared_with() -> None:
    assert not _find(_test(id="a"), _test(id="b"), _test(id="c", split="valid")).doubles
    assert not _find(_train(id="a"), _train(id="b")).doubles
    found = _find(_train(), Question(id="without a split", stem=TRAIN), _test())
    assert [d.id for d in found.doubles] == ["test"]


def test_texts_without_a_token() -> None:
    assert _kind(_train(stem=" "), _test("?")) is None
    assert np.array_equal(_find(_train(stem=" "), _test("?")).clean, [0, 1])
