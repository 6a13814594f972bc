r"""MathML as LaTeX: by its elements, and from LaTeX and back."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from latex2mathml.converter import convert

from tqnet.questions import QuestionBank
from tqnet.text.formulas import segments
from tqnet.text.html import tree
from tqnet.text.mathml import MathMLError, to_latex


@pytest.mark.parametrize(
    ("markup", "latex"),
    [
        ("<mfrac><mn>1</mn><mi>x</mi></mfrac>", r"\frac{1}{x}"),
        (
            "<mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow><msqrt><mn>2</mn></msqrt></mfrac>",
            r"\frac{a+1}{\sqrt{2}}",
        ),
        ("<mroot><mi>x</mi><mn>3</mn></mroot>", r"\sqrt[3]{x}"),
        ("<msup><mi>x</mi><mn>2</mn></msup><msub><mi>a</mi><mn>10</mn></msub>", "x^2 a_{10}"),
        ("<msup><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></msup>", "{a+b}^2"),
        ("<msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup><mi>y</mi>", "x_1^2 y"),
        ("<mn>30</mn><mo>&#176;</mo>", r"30^{\circ}"),
        ("<msup><mn>30</mn><mo>&#8728;</mo></msup>", r"30^{\circ}"),
        ("<msup><mi>f</mi><mo>&prime;</mo></msup><mo>&ApplyFunction;</mo><mfenced><mi>x</mi></mfenced>", "f'(x)"),
        ("<mi>sin</mi><mi>&alpha;</mi><mo>&#8804;</mo><mn>1</mn>", r"\sin\alpha\leq 1"),
        ("<mi>A</mi><mi>B</mi><mo>&#8741;</mo><mi>CD</mi>", r"AB\parallel CD"),
        ("<mover><mi>AB</mi><mo>&#175;</mo></mover>", r"\overline{AB}"),
        ("<mover><mi>v</mi><mo>&#8594;</mo></mover>", r"\overrightarrow{v}"),
        ("<munder><mi>lim</mi><mrow><mi>x</mi><mo>&#8594;</mo><mn>0</mn></mrow></munder>", r"\lim_{x\to 0}"),
        ("<munderover><mo>&#8721;</mo><mi>i</mi><mi>n</mi></munderover>", r"\sum_{i}^{n}"),
        ("<mover><mi>x</mi><mtext>def</mtext></mover>", r"\overset{\text{def}}{x}"),
        (
            "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr></mtable>",
            r"\begin{matrix} 1 & 2 \end{matrix}",
        ),
        (
            "<mo>{</mo><mtable><mtr><mtd><mi>x</mi></mtd></mtr><mtr><mtd><mi>y</mi></mtd></mtr></mtable>",
            r"\begin{cases} x \\ y \end{cases}",
        ),
        ("<mo>(</mo><mfrac linethickness='0'><mi>n</mi><mi>k</mi></mfrac><mo>)</mo>", r"\binom{n}{k}"),
        ("<mfenced open='[' close=')' separators=';'><mn>1</mn><mn>2</mn></mfenced>", "[1; 2)"),
        ("<mn>50</mn><mo>%</mo><mspace width='1em'/><mi>cm</mi>", r"50\%\quad \mathrm{cm}"),
        ("<mtext>if x_1&#160;is</mtext>", r"\text{if x\_1 is}"),
        ("<menclose notation='box'><mn>1</mn></menclose>", r"\boxed{1}"),
        (
            "<semantics><mi>x</mi><annotation encoding='application/x-tex'>\\tfrac12</annotation></semantics>",
            r"\tfrac12",
        ),
        (
            "<mmultiscripts><mi>C</mi><none/><mn>4</mn><mprescripts/><mn>6</mn><mn>14</mn></mmultiscripts>",
            "{}_{6}^{14}C^{4}",
        ),
        ("<mi mathvariant='double-struck'>R</mi><mi>ℕ</mi><mi>𝑥</mi>", r"\mathbb{R}\mathbb{N}x"),
        ("<mo>{</mo><mn>1</mn><mo>}</mo>", r"\{1\}"),
        ("<mtext>米</mtext>", r"\text{米}"),
    ],
)
def test_elements(markup: str, latex: str) -> None:
    assert latex_of(f'<math xmlns="http://www.w3.org/1998/Math/MathML">{markup}</math>') == latex
    assert latex_of(f"<math>{markup}</math>") == latex


def test_prefixes() -> None:
    assert latex_of("<mml:math><mml:mi>x</mml:mi></mml:math>") == "x"


def latex_of(markup: str) -> str:
    return to_latex(tree(markup)[0])


@pytest.mark.parametrize(
    ("markup", "message"),
    [
        ("<math><apply><plus/><ci>x</ci></apply></math>", "contains text"),
        ("<math><mfrac><mn>1</mn></mfrac></math>", "<mfrac> has 1 elements, not 2"),
    ],
)
def test_what_is_no_formula(markup: str, message: str) -> None:
    with pytest.raises(MathMLError, match=message):
        latex_of(markup)


def test_from_latex_and_back(sample_bank: QuestionBank) -> None:
    """The MathML of what came back is that of what was given, but for its spaces and rows."""
    formulas = {segment.body for stem in sample_bank.column("stem") for segment in segments(stem) if segment.is_formula}
    chosen = sorted(formulas)[::5]
    same = [_plain(convert(latex_of(convert(formula)))) == _plain(convert(formula)) for formula in chosen]
    assert len(chosen) > 50
    assert sum(same) / len(same) > 0.95, [formula for formula, good in zip(chosen, same, strict=True) if not good]


_ELEMENTS = "mrow mfrac msup msubsup mmultiscripts munderover mover mtable mtr mtd mfenced menclose semantics mi"


@given(
    st.recursive(
        st.sampled_from(
            ["<mi>x</mi>", "<mo>(</mo>", "<mo>{</mo>", "<mprescripts/>", "<none/>", "<mtext> </mtext>", "7"]
        ),
        lambda inner: st.tuples(st.sampled_from(_ELEMENTS.split()), st.lists(inner, max_size=4)).map(
            lambda made: f"<{made[0]}>{''.join(made[1])}</{made[0]}>"
        ),
        max_leaves=12,
    )
)
def test_any_tree_is_converted_or_refused(markup: str) -> None:
    with contextlib.suppress(MathMLError):
        latex = latex_of(f"<math>{markup}</math>").replace(r"\{", "").replace(r"\}", "")
        assert latex.count("{") == latex.count("}")


def _plain(mathml: str) -> str:
    import html
    import re

    shown = html.unescape(re.sub(r"<mspace[^>]*/>|</?(?:mrow|mstyle)[^>]*>| \w+=\"[^\"]*\"", "", mathml))
    return re.sub(r"\s", "", shown)
