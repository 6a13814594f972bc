"""HTML and MathML of strangers: it is read as text, and nothing in it runs where the text is shown."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.texts import MARKUP, MATHML, TEXTS
from tqnet.questions.markup import text_html
from tqnet.text.formulas import formula_tokens, segments
from tqnet.text.html import is_html
from tqnet.text.plain import Plain, plain, plain_texts, protect

#: What `text_html` writes besides MathML.
_OTHERS = {"code", "span"}
_NEVER = ("on", "href", "src", "style", "class", "id", "xlink")


class _Tags(HTMLParser):
    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, list[str]]] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, [name for name, _ in attrs]))


@given(MARKUP)
def test_nothing_runs_where_a_text_is_shown(markup: str) -> None:
    for text in (markup, plain(markup).text):
        shown = text_html(text)
        for tag, attributes in _Tags(shown).tags:
            assert tag.startswith("m") or tag in _OTHERS, shown
            assert tag in _OTHERS or not any(name.startswith(_NEVER) for name in attributes), shown


@given(st.lists(MARKUP, min_size=1, max_size=3))
def test_protected_texts_come_back(texts: list[str]) -> None:
    assert plain_texts(protect(texts)) == [Plain(text) for text in texts]


@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_what_is_no_markup_stays_as_it_is(texts: list[str]) -> None:
    if not any(map(is_html, texts)) and not any(sign in "".join(texts) for sign in "&<{«[!`~"):
        assert plain_texts(texts) == [Plain(text) for text in texts]


@given(MATHML.filter(lambda markup: "$" not in markup))  # a text between dollars is a formula, if it is half of one
def test_mathml_is_a_formula_or_reported(markup: str) -> None:
    read = plain(f"<p>Is <math>{markup}</math> so?</p>")
    assert read.text.startswith("Is")
    assert "so?" in read.text
    for part in segments(read.text):
        tokens = formula_tokens(part.body) if part.is_formula else []
        assert tokens.count("{") == tokens.count("}"), read.text
