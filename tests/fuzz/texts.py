"""Texts, records and sources as strangers write them: whole, broken off, nested, and mixed with what must not run."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import fields

from hypothesis import strategies as st

from tests.fuzz.doubling import FRAGMENTS
from tqnet.questions import Question
from tqnet.search.records import FIELDS, KEYS

ATTACKS = [
    *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>", "javascript:alert(1)"),
    *(
        '"><script>',
        "<!--><script>",
        "<math><mtext></mtext><script>",
        "</pre><script>",
        "&lt;script&gt;",
        "<tq-formula>",
    ),
    *(
        r"\href{javascript:alert(1)}{x}",
        r"\style{x:url(//a)}{y}",
        r"\class{x}{y}",
        r"\input{/etc/passwd}",
        r"\write18{x}",
    ),
    *(
        "../../etc/passwd",
        "file:///etc/passwd",
        "http://example.org/a.png",
        "data:text/html,<script>",
        "\x00",
        "\ufdd1",
    ),
    *("' or 1=1 --", "'; drop table records; --", "\\'", '"', "\u202e", "\ud7ff", "\ufeff", "�"),
]


def pieces(fragments: Sequence[str], most: int = 25) -> st.SearchStrategy[str]:
    """Texts of fragments one after another, some of them of any signs."""
    anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
    return st.lists(st.one_of(st.sampled_from(fragments), st.sampled_from(ATTACKS), anything), max_size=most).map(
        "".join
    )


#: Anything at all.
TEXTS = pieces(FRAGMENTS)

_MARKUP_NAMES = (
    "p b i u sub sup span div ul ol li table tr td pre br img math select option script style a input object"
)
_ATTRIBUTES = ["", " style='display:none'", " class=katex-html", " onclick=x", " src='../x.png'", " start=9", " type=I"]


def elements(names: str, attributes: Sequence[str], inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Elements within elements, each well-formed by itself."""
    return st.recursive(
        inner,
        lambda within: st.builds(
            "<{0}{1}>{2}</{0}>".format,
            st.sampled_from(names.split()),
            st.sampled_from(attributes),
            st.lists(within, max_size=4).map("".join),
        ),
        max_leaves=12,
    )


MARKUP = st.one_of(TEXTS, elements(_MARKUP_NAMES, _ATTRIBUTES, pieces(["a", " ", "$x^2$", "1", "&lt;", "\n"], 4)))

_MATHML_NAMES = (
    "mrow mi mn mo mfrac msup msub msubsup mroot msqrt mover munder munderover mtable mtr mtd mfenced mtext mstyle "
    "menclose mmultiscripts mprescripts none semantics annotation mspace mpadded"
)
MATHML = elements(
    _MATHML_NAMES,
    ["", " open='['", " linethickness='0'", " encoding='application/x-tex'", " notation='box'", " mathvariant=bold"],
    st.sampled_from([*"abx12+-()[]{}|_^\\&%$∑→√′", "sin", "lim", "&lt;", "&#8721;", ""]),
)

_COMMANDS = [r"\sin", r"\alpha ", r"\leq ", r"\cdot ", r"\pi ", r"\infty ", r"\to ", r"\pm "]
#: LaTeX that a compiler would take.
FORMULAS = st.recursive(
    st.sampled_from(
        [*string.ascii_letters, *"0123456789", "10", "2.5", "+", "-", "=", "<", ",", "(x)", "!", *_COMMANDS]
    ),
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds(r"\frac{{{}}}{{{}}}".format, inner, inner),
        st.builds(r"\sqrt{{{}}}".format, inner),
        st.builds(r"\sqrt[3]{{{}}}".format, inner),
        st.builds("x^{{{}}}".format, inner),
        st.builds("a_{{{}}}".format, inner),
        st.builds(r"\left( {} \right)".format, inner),
        st.builds(r"\begin{{matrix}} {} & {} \\ 1 & 2 \end{{matrix}}".format, inner, inner),
    ),
    max_leaves=10,
)

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)
_FIELDS = [field.name for field in fields(Question)]


def records() -> st.SearchStrategy[object]:
    """JSON values that are nearly records of a bank."""
    good = {
        "id": st.text(min_size=1, max_size=5),
        "stem": TEXTS,
        "options": st.lists(TEXTS, max_size=3),
        "answer": st.one_of(st.none(), TEXTS),
        "knowledge": st.lists(st.lists(st.text(max_size=3), max_size=3), max_size=2),
        "images": st.lists(st.sampled_from(["a.png", "../a.png", "/etc/passwd", "", "http://a/b.png"]), max_size=2),
        "difficulty": st.one_of(st.none(), st.floats(), st.integers()),
        "split": st.sampled_from(["train", "valid", "test", "", "all"]),
    }
    others = {name: st.one_of(good[name], JSON) if name in good else JSON for name in _FIELDS}
    required = {name: others.pop(name) for name in ("id", "stem")}
    return st.one_of(JSON, st.fixed_dictionaries(required, optional=others), st.fixed_dictionaries({}, optional=good))


_FILTER_FIELDS = [*FIELDS, *KEYS, "vector"]
_VALUES = [
    "1",
    "2.5",
    "-0",
    "1e3",
    "nan",
    "inf",
    "1_000",
    "choice",
    "en",
    "q001",
    "Geometry/Circle",
    "q001|q002",
    "'",
    "''",
]
FILTERS = st.builds(
    "{}{}{}".format,
    st.one_of(st.sampled_from(_FILTER_FIELDS), st.text(max_size=3)),
    st.sampled_from(["=", "!=", "<", "<=", ">", ">=", " = ", "==", "=!", ""]),
    st.one_of(st.sampled_from(_VALUES), pieces(_VALUES, 4)),
)
