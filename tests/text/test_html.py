import html as stdlib_html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tqnet.text.html import is_html, protect, to_plain

FORMULA = st.text(st.sampled_from("abx<>^{}_+ \n"), min_size=1).map("${}$".format)
WORDS = st.text(st.sampled_from("abc"), min_size=1)


@pytest.mark.parametrize(
    "text",
    [
        "a < b",
        "a<b and c>d",
        "a<b>c",
        "$a<b$ and c>d",
        r"\(a<b>c\)",
        "1 &lt; 2",
        "the tuple <u, v> and the list <x>",
        "<http://example.org>",
        "if (i<p && p>i)",
        "$<p>$ is a span",
    ],
)
def test_text_that_is_not_html(text: str) -> None:
    assert not is_html(text)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("<p>One</p><p>two</p>", "One\ntwo"),
        ("<p>One", "One"),
        ("<P CLASS=x>One</P>", "One"),
        ("one<br>two<br/>three", "one\ntwo\nthree"),
        ("<div>  much \n space </div>", "much space"),
        ("x<sup>2</sup> + H<sub>2</sub>O", "x^2 + H_2O"),
        ("2<sup>10</sup><sub></sub>", "2^{10}"),
        ("x<sup>a<sub>2</sub></sup>", "x^{a_2}"),
        ("<b>3 &lt; 4 &amp; 5&nbsp;m</b>", "3 < 4 & 5 m"),
        ("<table><tr><th>x</th><td>1</td></tr><tr><td></td><td>2</td></tr></table>", "x | 1\n| 2"),
        ("<ul><li>one</li><li>two</li></ul>", "one\ntwo"),
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
    ],
)
def test_html_becomes_plain(text: str, plain: str) -> None:
    assert is_html(text)
    assert to_plain(text) == (plain, ())


def test_images_in_reading_order() -> None:
    text = "<p>See <img src='b%20c.png' alt='x'/> and <IMG width=3 SRC=a.png>.</p><img alt='no source'>"
    assert to_plain(text) == ("See and .", ("b c.png", "a.png"))


@given(st.lists(FORMULA | WORDS, min_size=1))
def test_formulas_are_untouched(parts: list[str]) -> None:
    plain, images = to_plain(f"<p>{' '.join(parts)}</p>")
    assert plain == " ".join(parts)
    assert images == ()


@given(st.text(st.sampled_from("ab <>&;$\n")))
def test_escaped_text_is_recovered(text: str) -> None:
    assert to_plain(f"<pre>{stdlib_html.escape(text)}</pre>") == (text, ())


@given(st.lists(st.sampled_from(["<p>a</p>", "&lt;", "a<br>b", " ", "$<b></b>$", "\\(", "x"]).map(lambda s: s * 2)))
def test_protected_texts_are_recovered(texts: list[str]) -> None:
    written = protect(texts)
    if any(map(is_html, texts)):
        assert [to_plain(text)[0] for text in written] == texts
    else:
        assert written == texts


BITS = [*"<>/$\\&;p b\"'=!-", "<p>", "</p>", "<sup>", "<td>", "<!--"]


@given(st.lists(st.sampled_from(BITS)).map("".join))
def test_no_text_is_too_broken(text: str) -> None:
    plain, _ = to_plain(text)
    assert set(plain) <= set(text) | set("\n |^_{}<>&p'\"")
