"""HTML of learning platforms as text."""

from __future__ import annotations

import pytest

pytest.importorskip("lxml")

from hypothesis import given
from hypothesis import strategies as st

from tests.importers.generators import FRACTION, NESTED, TABLE
from tqnet.importers.markup import Plain, plain, plain_texts


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (f"<p>If {FRACTION}.</p>", r"If $\frac{1}{\sqrt{x}} < 2$."),
        (f"<p>For $5: {FRACTION}.</p>", r"For $5: \(\frac{1}{\sqrt{x}} < 2\)."),
        (f"<p>If $y$: {FRACTION}.</p>", r"If $y$: $\frac{1}{\sqrt{x}} < 2$."),
        ("<math display='block'><mi>x</mi></math>", "$$x$$"),
        ("a &lt; b &amp; c", "a < b & c"),
        ("<p>$a<b$ &nbsp; and a<b</p>", "$a<b$ and a<b"),
        (TABLE, "x | y\n1 | 4"),
        (NESTED, "1. Draw it.\n• the base\n• the height\n2. Measure it."),
        ("<ol start='3' type='a'><li>x</li><li>y<ol><li>z</li></ol></li></ol>", "c. x\nd. y\nd.1. z"),
        ("<ul><li>x<ul><li>y</li></ul></li></ul>", "• x\n◦ y"),
        ("<p>one <var>x</var> <section>two</section></p>", "one x\ntwo"),
        (
            "<p>So <img data-mathml='«math»«msup»«mi»x«/mi»«mn»2«/mn»«/msup»«/math»' src='f.png'></p>",
            "So $x^2$",
        ),
        ("<math/>nothing<math></math>", "nothing"),
    ],
)
def test_texts(markup: str, text: str) -> None:
    assert plain(markup) == Plain(text)


def test_figures_and_what_is_lost() -> None:
    found = plain(
        "<p>See <img src='a%20b.png'><object data='c.svg' type='image/svg+xml'>a circle</object>"
        "<object data='d.swf'></object><svg><path/><text>words</text></svg><audio src='e.mp3'></audio>"
        "<math><apply/></math></p><math><mi>x</mi>"
    )
    assert found.text == "See\nx"
    assert found.images == ("a b.png", "c.svg")
    assert [lost.split(":")[0] for lost in found.lost] == [
        "a formula in MathML",
        "a formula in MathML that does not end",
        "object",
        "a drawing (svg)",
        "audio",
    ]


def test_a_record_is_html_as_a_whole() -> None:
    assert [text.text for text in plain_texts(["<p>x</p>", "a &lt; b"])] == ["x", "a < b"]
    assert [text.text for text in plain_texts(["x", "a &lt; b"])] == ["x", "a &lt; b"]


_TYPED = (
    "<p> </p> <ol> <ul> </ul> <li> <td> </td> <math> </math> <mi>x</mi> <mfrac> </mfrac> <mtable> <mtr> <mo>{</mo> "
    "<mmultiscripts> <mover> </mover> <mfenced/> <msqrt/> <img> <svg> </svg> <object> $ \\( < > & &lt; &amp &nbsp; x "
    "' \" <!-- --> <![CDATA["
)


@given(st.lists(st.sampled_from(_TYPED.split()), max_size=12).map("".join))
def test_whatever_is_typed_gives_a_text(markup: str) -> None:
    found = plain(markup)
    assert found.text == found.text.strip()
    assert "<math" not in found.text
