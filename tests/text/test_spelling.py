"""What a formula says is spelt out token by token; how it looks is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertTokenizer

from tqnet.text.vocabulary import CAPITALS, TYPOGRAPHIC, add_tokens, spell, spell_formula


def test_capitals_and_small_letters_have_different_ids_where_the_tokenizer_folds_case(tokenizer: BertTokenizer) -> None:
    assert tokenizer.encode("AB") == tokenizer.encode("ab")
    add_tokens(tokenizer, CAPITALS.values())
    for big, small in (("$AB$", "$ab$"), (r"$\mathrm{ABC}$", r"$\mathrm{abc}$"), (r"$\mathbf{A}$", r"$\mathbf{a}$")):
        ids = tokenizer.encode(spell(big))
        assert ids != tokenizer.encode(spell(small))
        assert tokenizer.unk_token_id not in ids
    assert len({tuple(tokenizer.encode(spell(f"${letter}$"))) for letter in CAPITALS}) == 26


def test_case_is_folded_in_prose_alone(tokenizer: BertTokenizer) -> None:
    add_tokens(tokenizer, CAPITALS.values())
    assert tokenizer.encode(spell("The Area")) == tokenizer.encode(spell("the area"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"$\displaystyle \dfrac{1}{2}$", r"$\frac{1}{2}$"),
        (r"$\left( x\,+\,y \right)$", "$(x+y)$"),
        (r"\(x \le 3\)", r"$x\leq3$"),
        (r"$$\bigl[ a \bigr]\quad b$$", "$[a]b$"),
        (r"$a\ b\>c$", "$abc$"),
        (r"$\triangle\mathrm{ABC}$", r"$\triangle ABC$"),
    ],
)
def test_typography_and_synonyms_do_not_tell_formulas_apart(one: str, other: str) -> None:
    assert spell(one) == spell(other)


def test_words_in_formulas_stay_words() -> None:
    assert spell_formula(r"5\text{ cm}") == "5 cm"
    assert spell_formula(r"\operatorname{lcm}(a)") == "lcm ( a )"
    assert spell_formula(r"\text{If A is}") == "If A is"
    assert spell_formula(r"\text{ }x") == " x"


def test_a_masked_token_of_a_formula_stays_one_token(tokenizer: BertTokenizer) -> None:
    ids = tokenizer.encode(spell("find $x [MASK] AB$"), add_special_tokens=False)
    assert ids.count(tokenizer.mask_token_id) == 1
    assert spell("$x <mask> 2$").split() == ["x", "<mask>", "2"]


def test_prose_is_left_as_it_is() -> None:
    for text in ("AB costs $5 and $6", "求 AB 的长。", r"a \alpha outside"):
        assert spell(text) == text


@given(st.text("ABxyz12+-={}^_", min_size=1, max_size=20))
def test_nothing_but_looks_is_lost(formula: str) -> None:
    letters = {italic: letter for letter, italic in CAPITALS.items()}
    back = "".join(letters.get(token, token) for token in spell_formula(formula).split())
    assert back == formula


@given(st.lists(st.sampled_from(sorted(TYPOGRAPHIC)), max_size=4), st.lists(st.sampled_from(["x", "2", "+"])))
def test_typography_vanishes_wherever_it_stands(looks: list[str], tokens: list[str]) -> None:
    mixed = [
        token for pair in zip(looks + [""] * len(tokens), tokens + [""] * len(looks), strict=True) for token in pair
    ]
    assert spell_formula(" ".join(mixed)).split() == tokens
