"""HTML and editors' notations as plain text with LaTeX formulas."""

from __future__ import annotations

import base64
import html as stdlib_html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.importers.generators import FRACTION, NESTED, TABLE
from tqnet.text.html import is_html
from tqnet.text.notations import without_marks
from tqnet.text.plain import Plain, plain, plain_texts, protect

FORMULA = st.text(st.sampled_from("abx<>^{}_+ \n"), min_size=1).map("${}$".format)
WORDS = st.text(st.sampled_from("abc"), min_size=1)
WIRIS_ROOT = "«math xmlns=¨http://www.w3.org/1998/Math/MathML¨»«msqrt»«mn»2«/mn»«/msqrt»«/math»"
SQUARE = "<math><msup><mi>x</mi><mn>2</mn></msup></math>"


@pytest.mark.parametrize(
    "text",
    [
        "a < b",
        "a<b and c>d",
        "a<b>c",
        "$a<b$ and c>d",
        r"\(a<b>c\)",
        "the tuple <u, v> and the list <x>",
        "<http://example.org>",
        "if (i<p && p>i) a &lt b",
        "$<p>$ is a span",
        "Find the index of <p> in S_5, where <p> is what p spans.",
        "$a &lt; b$",
        "a list<input>, if a < b and x<y>z",
        "Which of <!DOCTYPE html> and <?xml version='1.0'?> begins a page?",
    ],
)
def test_text_that_is_not_html(text: str) -> None:
    assert not is_html(text)
    assert plain_texts([text]) == [Plain(text)]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>One</p><p>two</p>", "One\ntwo"),
        ("<p>One", "One"),
        ("One</p>two", "One\ntwo"),
        ("<P CLASS=x>One</P>", "One"),
        ("one<br>two<br/>three", "one\ntwo\nthree"),
        ("<div>  much \n space </div>", "much space"),
        ("x<sup>2</sup> + H<sub>2</sub>O", "x^2 + H_2O"),
        ("2<sup>10</sup><sub></sub>", "2^{10}"),
        ("x<sup>a<sub>2</sub></sup>", "x^{a_2}"),
        ("<b>3 &lt; 4 &amp; 5&nbsp;m</b>", "3 < 4 & 5 m"),
        ("1 &lt; 2 &times; &#51;", "1 < 2 × 3"),
        ("<table><tr><th>x</th><td>1</td></tr><tr><td></td><td>2</td></tr></table>", "x | 1\n| 2"),
        (TABLE, "x | y\n1 | 4"),
        ("<table><tr><td><ol><li>a<li>b</ol><td>c<tr><td>d</table>", "1. a 2. b | c\nd"),
        ("<p>if a < b, a<b and c>d</p>", "if a < b, a<b and c>d"),
        ("<p>if a<b>c</p>", "if a<b>c"),
        ("<p>if <b>bold</b></p>", "if bold"),
        ("<p>$a<b$,  $c>d$</p>", "$a<b$, $c>d$"),
        ("<p>$a &lt; b \\times &nbsp; c$</p>", "$a < b \\times   c$"),
        ("<p>\\begin{cases} a &times b<c \\end{cases}</p>", "\\begin{cases} a &times b<c \\end{cases}"),
        ("It costs $5 <b>now</b> and $6 <i>then</i>", "It costs $5 now and $6 then"),
        ("<p>$5</p><p>$6</p>", "$5\n$6"),
        ("line\nline <i>two</i>", "line\nline two"),
        ("<style>p {}</style><p>a<!-- <p>b</p> --></p><script>x</script>", "a"),
        ("<pre>a\n  b</pre>", "a\n  b"),
        ("<ul><li>x<ul><li><p>y</p></li></ul></li></ul>", "• x\n◦ y"),
        (NESTED, "1. Draw it.\n• the base\n• the height\n2. Measure it."),
        ("<ol start='3' type='a'><li>x</li><li>y<ol><li>z</li></ol></li></ol>", "c. x\nd. y\nd.1. z"),
        ("<ol type='I'><li>x<li>y<ol type='i' start='9'><li>z</ol></ol>", "I. x\nII. y\nII.ix. z"),
        ("<p>one <var>x</var> <section>two</section></p>", "one x\ntwo"),
        ("<p>see<o:p></o:p> <nobr>a b</nobr> <mjx-break>c</mjx-break></p>", "see a b c"),
        ("<p>7<span style='vertical-align: super; color: red'>3</span> m</p>", "7^3 m"),
        ("<p>0.1<span style='text-decoration:overline'>6</span></p>", r"0.1\overline{6}"),
        (
            "<p>2<span style='vertical-align:4px'>5</span>a<span style='position:relative;top:3px'>1</span></p>",
            "2^5a_1",
        ),
        ("<p><font face='Symbol'>a</font> + <span style='font-family: Symbol'>p</span></p>", "α + π"),
        ("<p>4 + <input type='text'> = <input size=3><input type='hidden'></p>", "4 + ____ = ____"),
        ("<p>2+3=<input> apples, list<object></p>", "2+3=____ apples, list<object>"),
        ("<p>a</p><![if !supportLists]>1.<![endif]>b<!-- c --><![if !vml]>c", "a\n1.bc"),
        ("<?xml:namespace prefix = o ns = 'urn:schemas' /><p>c < d</p>", "c < d"),
        ("<?xml version='1.0'?>\n<!DOCTYPE html>\n<html><b>d</b></html>", "d"),
        ("1<sup>3</sup>/<sub>4</sub> cups", "1 3/4 cups"),
        ("用了1 <sup>3</sup>&frasl;<sub>14</sub>或<sup>3</sup> / <sub>4</sub>小时", "用了1 3/14或3/4小时"),
        (
            "<p><b><sup>a+1</sup></b>&#8260;<small><sub>2</sub></small> - v<sup>2</sup>/<sub>r</sub></p>",
            "(a+1)/2 - v^2/r",
        ),
        ("e<sup><sup>1</sup>/<sub>2</sub></sup>, (x + 1)<sup>2</sup>/<sub>r</sub>", "e^{1/2}, (x + 1)^2/r"),
        ("x<sup>2</sup>/y<sub>3</sub> + 1<sup>2</sup><br>/<sub>4</sub>", "x^2/y_3 + 1^2\n/_4"),
        ("<p>It is <select><option>big<option>small</select>.</p>", "It is big / small."),
        (
            "<p>The sum <u>&nbsp; &nbsp;</u> is <u>even</u>, <span style='border-bottom: 1px solid'> </span></p>",
            "The sum ____ is even, ____",
        ),
        ("<ol style='list-style-type: upper-alpha'><li value=4>x<li>y</ol>", "D. x\nE. y"),
        ("<ul style='list-style: none'><li>x</ul>", "x"),
        ("One. <p>Two <p>three", "One.\nTwo\nthree"),
        (
            "<p>0.<span style='border-top:1px solid'>3</span> <span hidden>no</span><b style='display:none'>no</b></p>",
            "0.\\overline{3}",
        ),
        ("<p>an <title>, an <area of <map>one</map></p>", "an <title>, an <area of one"),
        ("<div class='math-task' data-value='a_b'>whole</div>", "whole"),
    ],
)
def test_html_becomes_plain(markup: str, text: str) -> None:
    assert is_html(markup)
    assert plain_texts([markup]) == [plain(markup)] == [Plain(text)]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (f"<p>If {FRACTION}.</p>", r"If $\frac{1}{\sqrt{x}} < 2$."),
        (f"<p>For $5: {FRACTION}.</p>", r"For $5: \(\frac{1}{\sqrt{x}} < 2\)."),
        (f"<p>If $y$: {FRACTION}.</p>", r"If $y$: $\frac{1}{\sqrt{x}} < 2$."),
        ("<math display='block'><mi>x</mi></math>", "$$x$$"),
        ("<math/>nothing<math></math>", "nothing"),
        ("So <img data-mathml='«math»«msup»«mi»x«/mi»«mn»2«/mn»«/msup»«/math»' src='f.png'>", "So $x^2$"),
        (
            f'Find <img class="Wirisformula" alt="x_1" data-mathml="{WIRIS_ROOT}">, {WIRIS_ROOT}',
            r"Find $\sqrt{2}$, $\sqrt{2}$",
        ),
        (f"<b title='![a](b.png)'>设</b><img data-mathml='{WIRIS_ROOT}' src='f.png'>，x<y>z", r"设$\sqrt{2}$，x<y>z"),
        ("So «math xmlns=¨m¨»«mi»§#945;«/mi»«/math»", r"So $\alpha$"),
        (r"<img class='equation_image' src='/equation_images/%255Cpi' data-equation-content='\pi'>", r"$\pi$"),
        ("<img src='/equation_images/%255Csqrt%257B2%257D?scale=1'>", r"$\sqrt{2}$"),
        (r"<img src='a.png' alt='LaTeX: \frac{1}{3}'>", r"$\frac{1}{3}$"),
        (r"<img src='https://latex.codecogs.com/svg.image?\dpi{110}&space;x^{2}'>", "$x^{2}$"),
        (r"<img src='https://latex.codecogs.com/gif.latex?%5Cfrac%7B1%7D%7B2%7D' alt='f'>", r"$\frac{1}{2}$"),
        ("<img class='latex' src='https://s0.wp.com/latex.php?latex=a%2Bb+%3D+c&bg=ffffff'>", "$a+b = c$"),
        ("<img src='a.png' alt='$a_2$'>", "$a_2$"),
        ("<tex>b^2</tex>", "$b^2$"),
        (r"<img class='texrender' src='x.png' alt='a_1'>", "$a_1$"),
        ("<script type='math/tex'>a<b</script>", "$a<b$"),
        ("<script type='math/tex; mode=display'>% <![CDATA[\nx %]]></script>", "$$x$$"),
        ("<span class='ql-formula' data-value='y^2'><span class='katex'>y2</span></span>", "$y^2$"),
        (r"<span data-latex='\(z\)'>z</span>", "$z$"),
        ("<math-field>n!</math-field>", "$n!$"),
        (
            f"a <span class='katex'><span class='katex-mathml'>{SQUARE}</span><span class='katex-h'>x2</span></span>",
            "a $x^2$",
        ),
        (f"<mjx-container><svg><path/></svg><mjx-assistive-mml>{SQUARE}</mjx-assistive-mml></mjx-container>", "$x^2$"),
        (
            "<span class='MathJax_Preview'></span><span class='MathJax'>x2</span><script type='math/tex'>x^2</script>",
            "$x^2$",
        ),
        (f"<script type='math/mml'>{SQUARE}</script>", "$x^2$"),
        (f"<span class='MathJax' data-mathml='{SQUARE}'>x2</span><script type='math/mml'>{SQUARE}</script>", "$x^2$"),
        (f"<span class='MathJax' data-mathml='{SQUARE}'>x2</span><script type='math/mml'></script>", "$x^2$"),
        (f"<div class='MathJax_Display'>{SQUARE}</div><script type='math/asciimath'>x</script>", "$x^2$"),
        ("<span class='MathJax'>x2</span><script type='math/asciimath'>x^2 < 3</script>", "x^2 < 3"),
        (f"<span class='mwe-math'>{SQUARE}<img class='mwe-math-fallback-image' src='x.svg' alt='x^2'></span>", "$x^2$"),
        (f"<img data-equation-content='x^{{2}}'><span class='hidden-readable'>{SQUARE}</span>", "$x^{2}$"),
        ("x [tex]a^b[/tex] y", "x $a^b$ y"),
        (r"$\[x\]$ and $$\(y\)$$", r"\[x\] and \(y\)"),
        ("So <span class='mathquill-embedded-latex'>\\frac12</span>", "So $\\frac12$"),
        ("<math><mi>x</mi><mo>∙</mo><mi>ⅆ</mi></math>", r"$x\cdot d$"),
    ],
)
def test_formulas(markup: str, text: str) -> None:
    assert plain_texts([markup]) == [Plain(text)]


def test_figures_and_what_is_lost() -> None:
    result = plain(
        "<p>See <img src='a%20b.png'><object data='c.svg' type='image/svg+xml'>a circle</object>"
        "<object data='d.swf'></object><svg><path/></svg><audio src='e.mp3'></audio>![graph](f.png)"
        "<img class='math' alt='a triangle' src='g.png'><img alt='no source'>"
        "<math><foo-bar/>y</math></p><math><mi>x</mi>"
    )
    assert result.text == "See $\\text{y}$\n$x$"
    assert result.images[:2] + result.images[3:] == ("a b.png", "c.svg", "f.png", "g.png")
    assert result.images[2].startswith("data:image/svg+xml;base64,")
    assert [lost.split(":")[0] for lost in result.lost] == ["object", "audio", *["a formula in MathML"] * 2]


@pytest.mark.parametrize(
    ("markup", "texts"),  # in English, German, French and without a choice
    [
        ("{mlang de}Vier{mlang} {mlang en}Four{mlang} x", ["Four x", "Vier x", "Vier x", "Vier x"]),
        ("<p>{mlang en}Four{mlang}</p><p>{mlang de}Vier{mlang}</p>", ["Four", "Vier", "Four", "Four"]),
        ("{mlang en}Four{mlang}{mlang other}4{mlang}", ["Four", "4", "4", "Four"]),
        ("{mlang en,other}Four{mlang}{mlang de}Vier{mlang} x", ["Four x", "Vier x", "Four x", "Four x"]),
        (
            "<span class='multilang' lang='de'>Vier</span> <span class='multilang' lang='en'>Four</span> x",
            ["Four x", "Vier x", "Vier x", "Vier x"],
        ),
    ],
)
def test_one_of_several_languages(markup: str, texts: list[str]) -> None:
    assert [plain(markup, language).text for language in ("en", "de", "fr", None)] == texts


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        (r"2\*3, a\_1, 1\. x", "2*3, a_1, 1. x"),
        ("**bold *and* more** __b__ _i_ `x*y*z`", "bold and more b i x*y*z"),
        ("## Title\n* one\n* two", "Title\n* one\n* two"),
        (r"**If $a*b*c$** and \(x_1\), _then_", r"If $a*b*c$ and \(x_1\), then"),
        ("2*3*4, a_1_b, 5 * 3, (___) and (___), ____", "2*3*4, a_1_b, 5 * 3, (___) and (___), ____"),
        ("**粗**体", "粗体"),
    ],
)
def test_marks_of_markdown(markdown: str, text: str) -> None:
    assert without_marks(markdown) == text


def test_a_picture_that_only_looks_like_a_formula() -> None:
    names = ["chart.png?formula=1", "money.png", "plan.png"]
    alts = ["", "$5 and 6$", "a plan"]
    markup = "".join(f"<img src='{name}' alt='{alt}'>" for name, alt in zip(names, alts, strict=True))
    assert plain(f"<p>See {markup}</p>") == Plain("See", tuple(names))


def test_a_formula_with_what_is_none_keeps_its_value() -> None:
    fraction = "<mfrac><mn>1</mn><mn>3</mn></mfrac>"
    result = plain(f"<math><mn>2</mn>{fraction}<b><mi>x</mi></b><mtable>y<mtr>z<mn>8</mn></mtr></mtable></math>")
    assert result.text == r"$2\frac{1}{3}x\begin{matrix} \text{y} \\ \text{z} & 8 \end{matrix}$"
    assert len(result.lost) == 3


def test_rendered_output_without_a_source_is_reported() -> None:
    result = plain("<p>So <span class='katex'><span class='katex-html'>x<span class='vlist'>2</span></span></span></p>")
    assert (result.text, result.lost) == ("So x2", ("a formula rendered by KaTeX, without its source",))
    result = plain("<p>So <span class='MathJax'>x2</span><script type='math/mml'><mn>2</mn></script></p>")
    assert (result.text, result.lost) == ("So x2", ("a formula in a script of type math/mml: not read",))


def test_nested_drawings_are_one_figure() -> None:
    drawing = "<svg viewBox='0 0 1 1'><svg><path/></svg></svg>"
    result = plain(f"<p>x {drawing}</p><svg>")
    assert result.text == "x\n<svg>"
    assert base64.b64decode(result.images[0].partition(",")[2]).decode() == drawing


def test_a_record_is_html_as_a_whole() -> None:
    assert [text.text for text in plain_texts(["<p>x</p>", "a\n&lt; b"])] == ["x", "a\n< b"]


@given(st.lists(FORMULA | WORDS, min_size=1))
def test_formulas_are_untouched(parts: list[str]) -> None:
    assert plain(f"<p>{' '.join(parts)}</p>") == Plain(" ".join(parts))


@given(st.text(st.sampled_from("ab <>&;$\n")))
def test_escaped_text_is_recovered(text: str) -> None:
    assert plain(f"<pre>{stdlib_html.escape(text)}</pre>") == Plain(text)


_PIECES = [
    "<p>a</p>",
    "&lt;",
    "a<br>b",
    " ",
    "$<b></b>$",
    "\\(",
    "\\)",
    "x",
    "[tex]",
    "[/tex]",
    "«math»",
    "«/math»",
    "$\\[",
]
_PIECES += ["\\]$", "![a](b.png)", "{mlang en}", "{mlang}", "<svg></svg>"]


@given(st.lists(st.lists(st.sampled_from(_PIECES), max_size=6).map("".join)))
def test_protected_texts_are_recovered(texts: list[str]) -> None:
    assert plain_texts(protect(texts)) == [Plain(text) for text in texts]


_BITS = [
    *"<>/$\\&;p b\"'=!-«»",
    "<p>",
    "</p>",
    "<sup>",
    "<td>",
    "<!--",
    "<math>",
    "</math>",
    "<mi>x</mi>",
    "<li>",
    "<ol>",
]
_BITS += ["<mfrac>", "<mtable>", "<svg>", "</svg>", "<![CDATA[", "<object>", "<select>", "<pre>", "<script>", "[tex]"]


@given(st.lists(st.sampled_from(_BITS), max_size=12).map("".join))
def test_no_text_is_too_broken(markup: str) -> None:
    read = plain(f"w1 {markup} w2")
    assert "<math" not in read.text
    assert "w1" in read.text
    assert "w2" in read.text.replace("_", "") or read.lost


def test_deep_markup_is_read() -> None:
    assert plain("<div><span>" * 5000 + "x").text == "x"
    assert "x" in plain("<math>" + "<mrow>" * 5000 + "<mi>x</mi>").text
