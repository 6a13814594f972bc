"""What is named of paraphrases in other languages than English."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("spacy")

from tqnet.paraphrase import readable
from tqnet.paraphrase.check.language import is_english

if TYPE_CHECKING:
    from tqnet.paraphrase.check.explain import Explainer

Explain = Callable[[str, str], str]


def test_other_languages_are_compared_by_digits(explainer: Explainer) -> None:
    pairs = [
        ("小明有15个苹果，吃了3个，还剩几个？", "小明有１５个苹果，吃了几个，还剩几个？"),
        (
            "Anna hat 1.200 Murmeln und bekommt noch 30 dazu. Wie viele hat sie?",
            "Anna besitzt 1200 Murmeln und bekommt 35.",
        ),
        ("It is 5 o'clock. What is the time?", "现在是5点。几点了？"),
    ]
    found = explainer.explain(pairs)
    assert [readable(one.differences) for one in found] == ["lost number: 3", "lost number: 30; new number: 35", ""]
    assert [one.note for one in found] == [
        "not in English: only numbers, their units and some words are compared",
        *["not in English: only numbers in digits are compared"] * 2,
    ]


@pytest.mark.parametrize(
    ("original", "paraphrase", "named"),
    [
        ("小明有15个苹果，吃了3个，还剩几个？", "小明原有十五个苹果，吃掉了三个，剩下几个？", ""),
        ("一根绳子长2米，剪去50厘米，还剩多少？", "把200厘米的绳子剪掉0.5米，剩下多少？", ""),
        ("原价200元，打八折，售价多少？", "原价200元，按80%出售，售价多少？", ""),
        ("原价200元，打八五折，售价多少？", "原价200元，优惠15%，售价多少？", ""),
        ("原价200元，打八折，售价多少？", "原价200元，打六折，售价多少？", "lost number: 八折; new number: 六折"),
        ("原价200元，打八折，售价多少？", "原价200元，打二折，售价多少？", "lost number: 八折; new number: 二折"),
        ("原价200元，打八折，售价多少？", "原价200元，提价20%，售价多少？", "lost number: 八折; new number: 20%"),
        ("原价200元，降价20%，售价多少？", "原价200元，打二折，售价多少？", "lost number: 20%; new number: 二折"),
        ("糖水占20%，打八折卖，多少？", "糖水打八折卖，多少？", "lost number: 20%"),
        ("原价200元，打75折，售价多少？", "原价200元，打七五折，售价多少？", ""),
        ("甲走3小时，乙走180分钟，谁快？", "甲走3小时，乙也走，谁快？", "lost number: 180"),
        ("行2小时，30分钟休息，多远？", "行2.5小时，多远？", "lost numbers: 2, 30; new number: 2.5"),
        ("走两小时半，多远？", "走2.5小时，多远？", ""),
        ("走一小时半，多远？", "走90分钟，多远？", ""),
        ("过了半年，几天？", "过了6个月，几天？", ""),
        ("有3.5万元，花多少？", "有35000元，花多少？", ""),
        ("有１，０００元，花多少？", "有1000元，花多少？", ""),
        ("一堆3吨，多少？", "一堆3000千克，多少？", ""),
        ("一段路长1千米，多少米？", "一段路长1000米，多少米？", ""),
        ("一段路长1千米，多少米？", "一段路长1米，多少米？", "changed unit: 千米 -> 米"),
        ("走了一小时，多远？", "走了60分钟，多远？", ""),
        ("走了2小时30分钟，多远？", "走了150分钟，多远？", ""),
        ("走了2小时30分钟，多远？", "走了2个半小时，多远？", ""),
        ("走了2小时30分钟，多远？", "走了160分钟，多远？", "lost numbers: 2, 30; new number: 160"),
        ("走了半小时，多远？", "走了40分钟，多远？", "lost number: 半; new number: 40"),
        ("长12厘米，面积多少？", "长12米，面积多少？", "changed unit: 厘米 -> 米"),
        ("行60千米，要多久？", "行80千米，要多久？", "lost number: 60; new number: 80"),
    ],
)
def test_chinese_is_compared_by_values_and_units(original: str, paraphrase: str, named: str, explain: Explain) -> None:
    assert explain(original, paraphrase) == named


def test_every_unit_in_chinese_has_a_size() -> None:
    from tqnet.paraphrase.check.chinese import _UNITS
    from tqnet.paraphrase.units import size

    assert all(size(name)[1] > 0 for name in _UNITS)


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("Nora walked 12 km in 3 hours. How many metres did she walk in an hour?", True),
        ("Why?", True),
        (r"Simplify $\cos^2 x + \cos^2 (x + y) - 2 \cos x \cos y \cos (x + y) + \sin x \sin y$.", True),
        ("Juan tiene 5 manzanas y compra 3 más. ¿Cuántas manzanas tiene ahora en total?", False),
        ("У Маши 5 яблок.", False),
    ],
)
def test_english_is_told(text: str, english: bool) -> None:
    assert is_english(text) is english
