"""What a formula says is spelt out token by token; new tokens, and what their vectors start from."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn
from transformers import AutoTokenizer, BertTokenizer

from tqnet.questions import QuestionBank
from tqnet.text.vocabulary import (
    CAPITALS,
    TYPOGRAPHIC,
    Legible,
    add_tokens,
    fold,
    learn_tokens,
    learn_wordpiece,
    spell,
    spell_formula,
    start_embeddings,
)

Make = Callable[[], BertTokenizer]

TEXTS = [r"$x\in\infty$", r"$\Delta+\delta$ 面积", r"the area of 三角形 $\frac{A}{b}$ \frac"] * 3
COMMANDS = [r"\in", r"\infty", r"\Delta", r"\delta", r"\frac"]


def pieces(tokenizer: BertTokenizer, text: str) -> list[str]:
    return tokenizer.convert_ids_to_tokens(tokenizer.encode(spell(text), add_special_tokens=False))


def test_commands_and_unknown_characters_are_learnt_most_frequent_first(tokenizer: BertTokenizer) -> None:
    learnt = learn_tokens(TEXTS, tokenizer, min_count=3)
    assert learnt[:26] == list(CAPITALS.values())
    assert learnt[26] == r"\frac"  # six times, the others three
    assert set(learnt[26:]) == {*COMMANDS, *"面积三角形"}
    assert learnt[27:] == sorted(learnt[27:])
    assert learn_tokens(TEXTS, tokenizer, min_count=4)[26:] == [r"\frac"]
    assert len(learn_tokens(TEXTS, tokenizer, min_count=3, max_tokens=2)) == 28


def test_what_is_known_is_not_learnt_again(tokenizer: BertTokenizer) -> None:
    assert add_tokens(tokenizer, learn_tokens(TEXTS, tokenizer, min_count=1)) > 26
    assert learn_tokens(TEXTS, tokenizer, min_count=1) == []


@pytest.mark.parametrize("order", itertools.permutations([r"\in", r"\infty", r"\int"]))
def test_a_command_never_matches_inside_a_longer_one(make_tokenizer: Make, order: tuple[str, ...]) -> None:
    tokenizer = make_tokenizer()
    add_tokens(tokenizer, order)
    assert pieces(tokenizer, r"$x\in\infty\int y$") == ["x", r"\in", r"\infty", r"\int", "y"]
    for alone in ([r"\in"], [r"\infty"]):
        tokenizer = make_tokenizer()
        add_tokens(tokenizer, alone)
        other_command = ({r"\in", r"\infty"} - set(alone)).pop()
        assert alone[0] not in pieces(tokenizer, f"${other_command}$")
        assert pieces(tokenizer, f"${alone[0]}$") == alone


def test_case_tells_commands_apart(tokenizer: BertTokenizer) -> None:
    assert tokenizer.encode(r"\Delta") == tokenizer.encode(r"\delta")
    add_tokens(tokenizer, [r"\Delta", r"\delta"])
    assert pieces(tokenizer, r"$\Delta\delta$") == [r"\Delta", r"\delta"]


def test_chinese_is_no_longer_unknown(tokenizer: BertTokenizer) -> None:
    assert set(pieces(tokenizer, "面积")) == {"[UNK]"}
    add_tokens(tokenizer, learn_tokens(TEXTS, tokenizer, min_count=2))
    assert pieces(tokenizer, "面积of三角形") == ["面", "积", "of", "三", "角", "形"]


def test_a_saved_tokenizer_reads_the_same(tokenizer: BertTokenizer, tiny_bank: QuestionBank, tmp_path: Path) -> None:
    texts = [spell(question.content) for question in tiny_bank]
    add_tokens(tokenizer, learn_tokens(texts, tokenizer, min_count=2))
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert loaded.get_vocab() == tokenizer.get_vocab()
    assert loaded(texts)["input_ids"] == tokenizer(texts)["input_ids"]


def started(tokenizer: BertTokenizer, tokens: list[str], seed: int = 0) -> tuple[nn.Embedding, torch.Tensor]:
    """An embedding with rows for ``tokens``, and its weight before they were started."""
    old = len(tokenizer)
    add_tokens(tokenizer, tokens)
    embedding = nn.Embedding(len(tokenizer), 8)
    nn.init.normal_(embedding.weight[:old].detach(), generator=torch.Generator().manual_seed(7))
    nn.init.normal_(embedding.weight[old:].detach(), generator=torch.Generator().manual_seed(seed))
    before = embedding.weight.detach().clone()
    start_embeddings(embedding, tokenizer, tokens)
    return embedding, before


def test_new_tokens_start_at_the_mean_of_their_pieces_and_old_rows_stay(make_tokenizer: Make) -> None:
    tokens = [r"\frac", r"\parallel", r"\in", r"\infty", r"\Delta", CAPITALS["B"], "面", "积"]
    tokenizer, plain = make_tokenizer(), make_tokenizer()
    embedding, before = started(tokenizer, tokens)
    after = embedding.weight.detach()
    assert torch.equal(after[: len(plain)], before[: len(plain)])
    vocabulary = plain.get_vocab()
    literal = {
        r"\frac": ["fra", "##c"],
        r"\parallel": ["par", "##allel"],
        r"\in": ["in"],
        r"\infty": ["in", "##f", "##ty"],
        r"\Delta": ["del", "##ta"],
        CAPITALS["B"]: ["b"],
    }
    for token, split in literal.items():
        expected = sum(before[vocabulary[piece]] for piece in split) / len(split)
        torch.testing.assert_close(after[tokenizer.convert_tokens_to_ids(token)], expected)


def test_characters_without_pieces_differ_and_are_like_the_others_in_size(make_tokenizer: Make) -> None:
    characters = list("面积三角形已知求证")
    tokenizer = make_tokenizer()
    embedding, _ = started(tokenizer, characters)
    rows = embedding.weight[tokenizer.convert_tokens_to_ids(characters)].detach()
    assert torch.cdist(rows, rows).add(torch.eye(len(rows)) * 9).min() > 0.1
    assert 0.5 < rows.std() / embedding.weight[: len(make_tokenizer())].std() < 2


def test_a_learnt_wordpiece_keeps_chinese_by_character_and_case(tiny_bank: QuestionBank, tmp_path: Path) -> None:
    texts = [question.content for question in tiny_bank] + ["求三角形面积 Area area"] * 3
    tokenizer = learn_wordpiece(texts, vocab_size=600)
    assert tokenizer.tokenize("三角形面积") == list("三角形面积")
    assert tokenizer.encode("Area") != tokenizer.encode("area")
    assert len(tokenizer) <= 600
    assert not any(tokenizer.unk_token_id in tokenizer.encode(spell(text)) for text in texts)
    ids = tokenizer.encode("area")
    assert (ids[0], ids[-1]) == (tokenizer.cls_token_id, tokenizer.sep_token_id)
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert loaded(texts)["input_ids"] == tokenizer(texts)["input_ids"]
    assert learn_wordpiece(texts, vocab_size=600).get_vocab() == tokenizer.get_vocab()


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
    ("first", "second"),
    [
        (r"$\displaystyle \dfrac{1}{2}$", r"$\frac{1}{2}$"),
        (r"$\left( x\,+\,y \right)$", "$(x+y)$"),
        (r"\(x \le 3\)", r"$x\leq3$"),
        (r"$$\bigl[ a \bigr]\quad b$$", "$[a]b$"),
        (r"$a\ b\>c$", "$abc$"),
        (r"$\triangle\mathrm{ABC}$", r"$\triangle ABC$"),
        (r"$\int_{0}^{12} x^{2}\,dx$", r"$\int_0^12x^2dx$"),
        (r"$90^{\circ}$", r"$90^\circ$"),
    ],
)
def test_typography_and_synonyms_do_not_tell_formulas_apart(first: str, second: str) -> None:
    assert spell(first) == spell(second)


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
    assert back == re.sub(r"([\^_])\{([^ ]|[0-9]+)\}", r"\1\2", formula)


@given(st.lists(st.sampled_from(sorted(TYPOGRAPHIC)), max_size=4), st.lists(st.sampled_from(["x", "2", "+"])))
def test_typography_vanishes_wherever_it_stands(looks: list[str], tokens: list[str]) -> None:
    mixed = [
        token for pair in zip(looks + [""] * len(tokens), tokens + [""] * len(looks), strict=True) for token in pair
    ]
    assert spell_formula(" ".join(mixed)).split() == tokens


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("１＋２＝３ａ，（x）", "1+2=3a，（x）"),
        ("25℃ and 5㎝, 3㎡", "25°C and 5cm, 3m^2"),
        ("𝑥² + 𝐀¹⁰", "x^2 + A^{10}"),
        ("plain ℝ ∠", "plain ℝ ∠"),
    ],
)
def test_characters_are_folded(text: str, folded: str) -> None:
    assert fold(text) == folded


def test_an_unknown_sign_swallows_no_neighbours() -> None:
    backend = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "90": 2, "##°": 3}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    legible = Legible(backend)
    assert backend.encode("∠a").tokens == ["[UNK]"]
    assert legible("∠a＝90°") == " ∠ a=90°"
    assert backend.encode(legible("∠a")).tokens == ["[UNK]", "a"]
