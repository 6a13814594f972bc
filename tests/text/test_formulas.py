"""Formulas are found where a LaTeX parser finds them, and a text cut into units is put together again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pylatexenc.latexwalker import LatexMathNode, LatexWalker

from tqnet.questions import QuestionBank
from tqnet.text.formulas import formula_tokens, join_units, segments, units

Span = tuple[int, int]

PROSE = st.text("ab 1,.?()求面积，。", min_size=1, max_size=12)
TOKENS = ["x", "AB", "12", "3.5", "+", "=", "{", "}", "^", "_", "(", "[", "]", "|", "%", "&", "求", " "]
TOKENS += [r"\frac", r"\alpha ", r"\{", r"\$", r"\\", r"\text{cm and}", r"\mathrm{AB}", r"\begin{cases}"]
FORMULA = st.lists(st.sampled_from(TOKENS), min_size=1, max_size=8).map("".join)
DELIMITERS = st.sampled_from([("$", "$"), ("$$", "$$"), (r"\(", r"\)"), (r"\[", r"\]")])


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A text, and the bodies of its formulas in order."""
    pieces, bodies = [draw(PROSE)], []
    for _ in range(draw(st.integers(0, 3))):
        opening, closing = draw(DELIMITERS)
        bodies.append(draw(FORMULA.filter(str.strip)))
        # A space between, since "$1$2" may be money.
        pieces += [" ", opening, bodies[-1], closing, " ", draw(PROSE)]
    return "".join(pieces), bodies


def formula_spans(text: str) -> list[Span]:
    return [(segment.start, segment.end) for segment in segments(text) if segment.is_formula]


def parsed(text: str) -> list[Span]:
    """Places of the math nodes that pylatexenc's parser sees, at any depth."""
    spans: list[Span] = []

    def walk(nodes: object) -> None:
        for node in nodes or []:  # type: ignore[attr-defined]
            if node is None:
                continue
            if node.isNodeType(LatexMathNode):
                spans.append((node.pos, node.pos + node.len))
                continue
            walk(getattr(node, "nodelist", None))
            walk(node.nodeargd.argnlist if getattr(node, "nodeargd", None) else None)

    walk(LatexWalker(text, tolerant_parsing=True).get_latex_nodes()[0])
    return spans


def test_formulas_of_the_sample_bank_are_those_of_a_latex_parser(sample_bank: QuestionBank) -> None:
    stems = sample_bank.column("stem")
    assert sum(bool(formula_spans(stem)) for stem in stems) > 100
    for stem in stems:
        assert formula_spans(stem) == parsed(stem), stem


@given(texts())
def test_formulas_are_found_whatever_their_delimiters(text_and_bodies: tuple[str, list[str]]) -> None:
    text, bodies = text_and_bodies
    assert [segment.body for segment in segments(text) if segment.is_formula] == bodies


@pytest.mark.parametrize(
    "text", ["$5 and $6", "from $5 to $10.", "US$5 or US$6", r"\$5 and \$6", "costs $5", r"a \\(b\\)", "$$$$"]
)
def test_money_and_escaped_delimiters_are_prose(text: str) -> None:
    assert formula_spans(text) == []


@pytest.mark.parametrize(
    ("text", "bodies"),
    [
        ("A ticket costs $5; find $x$ tickets.", ["x"]),
        ("He pays $20 per month and saves $x$.", ["x"]),
        ("It costs $5 or $x$, then $10 and $y$.", ["x", "y"]),
        ("Tickets (in $100). The cheapest is $ ____.", []),
        ("He pays $20 per month and saves $ x $, or $5, then $|x|$.", [" x ", "|x|"]),
        ("每支铅笔$3元，共$n$支", ["n"]),
        ("每支铅笔$3元，共$ n $支，共$-n$", [" n ", "-n"]),
        ("每支铅笔$3元,共$n$支", ["n"]),
        ("$3个，2个$", ["3个，2个"]),
        (r"$2 \times 3 $ and $ 5 $, $4 x + $ more", [r"2 \times 3 ", " 5 ", "4 x + "]),
        ("$12 min $ and $3 sin x $ and $0 < x < max $, $y$", ["12 min ", "3 sin x ", "0 < x < max ", "y"]),
        ("$2 sin x + 3 cos x $ for $x$", ["2 sin x + 3 cos x ", "x"]),
        ("$60 miles per hour $ and $1, 2, and 3 $, $12 $m", ["60 miles per hour ", "1, 2, and 3 ", "12 "]),
        ("速度 $60 千米/时 $，时间 $t$", ["60 千米/时 ", "t"]),
    ],
)
def test_money_before_a_formula_does_not_turn_formulas_inside_out(text: str, bodies: list[str]) -> None:
    assert [segment.body for segment in segments(text) if segment.is_formula] == bodies


@pytest.mark.parametrize(
    ("text", "bodies"),
    [
        (r"(4※4)$\times$5-(5※5)", [r"\times"]),  # a digit right behind is no money
        (r"$\{$12, $x$, 14$\}$", [r"\{", "x", r"\}"]),
        (r"is $\$$13.20", [r"\$"]),
        ("$3$ and $4$", ["3", "4"]),
        (r"$$a \\$$ b", [r"a \\"]),
        (r"$x$$y$", ["x", "y"]),
    ],
)
def test_awkward_formulas_are_found(text: str, bodies: list[str]) -> None:
    assert [segment.body for segment in segments(text) if segment.is_formula] == bodies


def test_a_formula_holds_no_other_of_its_kind() -> None:
    r"""Else texts of ``\(`` alone would take a time by the square of their length."""
    assert [segment.body for segment in segments(r"\(" * 3 + r"x\)") if segment.is_formula] == ["x"]
    assert [segment.body for segment in segments(r"\[ a \\[2pt] b \]") if segment.is_formula] == [r" a \\[2pt] b "]


@given(st.text("$\\()[]{}a1 求\n", max_size=40))
def test_joined_segments_give_the_text_back(text: str) -> None:
    cut = list(segments(text))
    assert "".join(text[segment.start : segment.end] for segment in cut) == text
    for segment in cut:
        assert segment.body in text[segment.start : segment.end]
        assert segment.body
        assert segment.is_formula or segment.body == text[segment.start : segment.end]


def test_a_formula_in_the_words_of_another_is_part_of_it() -> None:
    assert [(part.body, part.is_formula) for part in segments(r"so $x = 5 \text{ if $y>0$}$ or $\text{a}$")] == [
        *(("so ", False), (r"x = 5 \text{ if $y>0$}", True), (" or ", False), (r"\text{a}", True))
    ]


def test_tokens_of_a_formula_are_commands_numbers_letters_signs_and_words() -> None:
    assert formula_tokens(r"2x+\frac12=3.5\text{ cm}\,AB\{") == [
        *("2", "x", "+", r"\frac", "12", "=", "3.5", r"\text{ cm}", r"\,", "A", "B", r"\{")
    ]


@given(texts(), st.data())
def test_any_part_of_a_texts_units_joins_to_whole_formulas(
    text_and_bodies: tuple[str, list[str]], data: st.DataObject
) -> None:
    parts = units(text_and_bodies[0])
    keep = data.draw(st.lists(st.booleans(), min_size=len(parts), max_size=len(parts)))
    kept = [unit for unit, wanted in zip(parts, keep, strict=True) if wanted]
    again = units(join_units(kept))
    per_formula: dict[int, list[str]] = {}
    for unit in kept:
        if unit.formula is not None:
            per_formula.setdefault(unit.formula, []).append(unit.text)
    per_formula_again: dict[int, list[str]] = {}
    for unit in again:
        if unit.formula is not None:
            per_formula_again.setdefault(unit.formula, []).append(unit.text)
    assert list(per_formula_again.values()) == list(per_formula.values())
    prose = ["".join(unit.text for unit in kept_units if unit.formula is None) for kept_units in (kept, again)]
    assert prose[0] == prose[1]


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        (r"If \begin{align*} x &= 2 \end{align*} then $y$.", [r"\begin{align*} x &= 2 \end{align*}", "y"]),
        (
            r"\begin{split} 1 \end{split}\begin{math}x\end{math}",
            [r"\begin{split} 1 \end{split}", r"\begin{math}x\end{math}"],
        ),
        (r"$\begin{matrix} 1 \end{matrix}$", [r"\begin{matrix} 1 \end{matrix}"]),
        (r"\begin{tabular}{c} 1 \end{tabular} \begin{align} x", []),
    ],
)
def test_environments_without_delimiters(text: str, formulas: list[str]) -> None:
    assert [segment.body for segment in segments(text) if segment.is_formula] == formulas
