"""LaTeX of strangers, whole and broken."""

from __future__ import annotations

import unicodedata

from hypothesis import assume, given

from tests.fuzz.texts import FORMULAS, TEXTS
from tqnet.text.formulas import formula_tokens, join_units, segments, units
from tqnet.text.latex import parse_formulas
from tqnet.text.linear import ROOTS
from tqnet.text.normal import normal_formula
from tqnet.text.sentences import excerpt, halved, halves, readable, search_words
from tqnet.text.typed import with_formulas


@given(FORMULAS)
def test_a_normal_form_is_its_own(formula: str) -> None:
    form = normal_formula(formula)
    assert normal_formula(form) == form


@given(TEXTS)
def test_braces_of_a_normal_form_are_in_pairs(text: str) -> None:
    tokens = formula_tokens(normal_formula(text))
    assert tokens.count("{") == tokens.count("}")


@given(TEXTS)
def test_segments_are_the_text(text: str) -> None:
    parts = list(segments(text))
    assert "".join(text[part.start : part.end] for part in parts) == text
    formulas = [part for part in parts if part.is_formula]
    assert len(parse_formulas(text)) == len(formulas)
    for formula, part in zip(parse_formulas(text), formulas, strict=True):
        for token in formula:
            assert text[token.start : token.end] == token.text
            assert part.start <= token.start < token.end <= part.end


@given(TEXTS)
def test_units_keep_all_but_white_space(text: str) -> None:
    joined = "".join("".join(unit.text for unit in units(text)).split())
    assert joined == "".join("".join(part.body for part in segments(text)).split())
    assert isinstance(join_units(units(text)), str)


@given(TEXTS)
def test_search_words_are_words(text: str) -> None:
    words = search_words(text)
    assert len(words) == len({*words})
    assert all(word and not any(map(str.isspace, word)) for word in words)


@given(TEXTS)
def test_what_is_typed_keeps_its_digits(text: str) -> None:
    assume(not any(root in text for root, degree in ROOTS.items() if degree))  # ∛ has a 3 that is not typed
    assert _digits(with_formulas(text)) == _digits(text)


def _digits(text: str) -> list[str]:
    return sorted(filter(str.isdigit, unicodedata.normalize("NFKC", text)))


@given(TEXTS)
def test_views_of_a_text(text: str) -> None:
    assert isinstance(readable(text), str)
    assert len(excerpt(text, 40)) <= 40
    for cut in halves(text):
        assert all(any(map(str.isalnum, half)) for half in halved(text, cut))
