"""What tells pairs apart without a model: FSE, Table 3, and what else it has to hold."""

from __future__ import annotations

from collections import Counter

import numpy as np
from PIL import Image, ImageDraw

from tqnet.questions import Question
from tqnet.questions.figures import same_drawing
from tqnet.questions.traits import TRAIT_FEATURES, compare, one_form, traits

#: FSE, Table 3, E1 and E2.
SURFACE_CHANGE = (
    "After the price of a commodity is increased by 25%, if you want to restore the original price, you should reduce "
    "the price---",
    "After the price of a commodity is increased by 25% in May 2020, if the original price is to be restored in May "
    "2021, the price shall be reduced---",
)
OTHER_DEGREE = (
    "Given that $x = -1$ is a root of equation $x - 2m = 0$ , the value of M is --",
    "Given that $x = -1$ is a root of equation $x^2 - 2m = 0$ , the value of M is --",
)


def features(a: str | Question, b: str | Question) -> dict[str, float]:
    first, second = (traits(Question("q", question) if isinstance(question, str) else question) for question in (a, b))
    assert np.array_equal(compare(first, second), compare(second, first))
    return dict(zip(TRAIT_FEATURES, compare(first, second).tolist(), strict=True))


def numbers(text: str) -> Counter[str]:
    return traits(Question("q", text)).numbers


def test_table_3() -> None:
    """The years of E1.b are no numbers of it; the square of E2.b is another degree and no other number."""
    first, second = features(*SURFACE_CHANGE), features(*OTHER_DEGREE)
    for same in ("same numbers", "same formulas", "same degrees", "same asked"):
        assert first[same] == 1
    assert second["same numbers"] == second["same asked"] == 1
    assert second["same degrees"] == second["same formulas"] == second["same text"] == 0


def test_spelling_is_no_difference() -> None:
    values = features(r"Find $\dfrac12 x^2$", r"find  \( \frac{1}{2}x^{2} \)")
    assert values["same text"] == values["same formulas"] == values["shared runs"] == 1


def test_numbers() -> None:
    assert numbers("$x-3=1{,}000$ and $x^2$") == Counter({"-3": 1, "1000": 1})
    assert numbers("1,000 men, 12.5% of them, in March 2020 and on 5 May 1999") == Counter({"1000": 1, "12.5": 1})
    assert numbers("第3题（5分）：2020年5月，有20人") == Counter({"20": 1})
    assert numbers("Question 7 (4 points). 2020 men") == Counter({"2020": 1})


def test_names_and_numbers_of_formulas() -> None:
    renamed = features("Solve $x^2+2y=5$.", "Solve $a^2+2b=5$.")
    assert renamed["same formulas"] == 0
    assert renamed["same shapes of formulas"] == renamed["same degrees"] == renamed["same numbers"] == 1
    assert features("Solve $x^2=5$.", "Solve $x^2=7$.")["same shapes of formulas"] == 1
    assert features("Solve $x^2=5$.", "Solve $x^2<5$.")["same signs"] == 0
    assert features(r"Find $\sqrt{x}$.", "Find $x$.")["same degrees"] == 0


def test_what_is_asked() -> None:
    assert features("求周长。", "求面积。")["same asked"] == 0
    assert features("The price rises by 5%.", "The price is raised by 5%.")["same asked"] == 1


def test_options_and_figures(draw_figure) -> None:
    figure, other_figure = draw_figure(1), draw_figure(2)
    a = Question("a", "Find $x$.", options=("$1$", "$2$"), images=(figure,))
    b = Question("b", "Find $x$.", options=("$2$", "$1$"), images=(figure,))
    c = Question("c", "Find $x$.", options=("$2$", "$3$"), images=(other_figure,))
    assert [features(a, b)[name] for name in ("same options", "same figures", "other figures")] == [1, 1, 0]
    assert [features(a, c)[name] for name in ("same options", "same figures", "other figures")] == [0, 0, 1]
    assert features("a", "b")["same figures"] == features("a", "b")["other figures"] == 0


def test_a_figure_that_was_saved_again_is_the_same_and_one_with_another_number_is_not(tmp_path) -> None:
    paths = []
    for name, number in (("a.png", "21"), ("b.png", "23")):
        image = Image.new("RGB", (200, 120), "white")
        pen = ImageDraw.Draw(image)
        pen.polygon([(100, 60), (85, 110), (115, 110)], outline="black", fill="lightblue")
        pen.line([(10, 60), (190, 60)], fill="black", width=3)
        pen.text((50, 40), number, fill="black", font_size=16)
        paths.append(str(tmp_path / name))
        image.save(paths[-1])
    again = str(tmp_path / "again.png")
    Image.open(paths[0]).quantize(32).save(again)
    larger = str(tmp_path / "larger.png")
    Image.open(paths[0]).resize((300, 180), Image.Resampling.BICUBIC).save(larger)
    assert same_drawing(paths[0], paths[0])
    assert same_drawing(paths[0], again)
    assert same_drawing(paths[0], larger)
    assert not same_drawing(paths[0], paths[1])


def test_one_form_of_a_text() -> None:
    assert one_form("求 $x$ 的值？") == one_form("求$x$的值。")
    assert one_form("Find $2x$.") != one_form("Find $3x$.")
    assert one_form("from 1 to 23") != one_form("from 12 to 3")
    assert one_form("1 23") != one_form("12 3")
    assert one_form(r"$40$ of \(48\)") == one_form("40 of 48") != one_form("$40x$ of 48")
    assert one_form("radius 5 cm. ") == one_form("radius 5cm")
    assert one_form("求 x 的值: 2x+1=5") == one_form("求$x$的值：$2x+1=5$。")
    assert one_form(r"计算：$\frac{1}{2}+\frac{1}{3}$＝______．") == one_form("计算:1/2+1/3=（  ）")
    assert one_form(" ") == ""
