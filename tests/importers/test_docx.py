"""Word papers made here: automatic and typed numbers, formulas, figures, tables, keys, and what is reported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("lxml")

from tests.importers.conftest import Loaded
from tests.importers.generators import picture
from tests.importers.word import (
    FIGURE,
    FRACTION,
    SPACES,
    TABLE,
    cells,
    definition,
    level,
    listed,
    mrun,
    numbered,
    paragraph,
    run,
    write_docx,
)
from tqnet.importers.omml import latex_of
from tqnet.importers.safe_xml import parse, strip_namespaces


@pytest.fixture
def docx(tmp_path: Path) -> Callable[..., Path]:
    return lambda *blocks, **options: write_docx(tmp_path / "paper.docx", *blocks, **options)


def test_automatic_numbers(docx: Callable[..., Path], load: Callable[..., Loaded], faults: Callable) -> None:
    path = docx(
        paragraph("Answer all questions."),
        paragraph("Fractions", properties="<w:pStyle w:val='Heading1'/>"),
        numbered(
            "Find ", f"<m:oMath>{FRACTION}</m:oMath>", " for x", run("1", "<w:vertAlign w:val='subscript'/>"), " = 3."
        ),
        numbered("one", level=1),
        numbered("two", level=1),
        paragraph("Answer: B"),
        numbered("Read the table", run("  ", "<w:u w:val='single'/>"), "."),
        TABLE.format(cells("x", "1", "2") + f"<w:tc>{TABLE.format(cells('inner'))}</w:tc>"),
        paragraph(FIGURE),
        paragraph("Solution: Look."),
        paragraph("Then read."),
        paragraph("Topic: Numbers &gt; Tables; Reading"),
        paragraph("Difficulty: 3"),
    )
    questions, imported = load(path)
    first, second = questions.values()
    assert (first.stem, first.options, first.answer) == (r"Find $\frac{x+1}{2}$ for x_1 = 3.", ("one", "two"), "B")
    assert first.extras == {"number": 1, "section": "Fractions"}
    assert (second.stem, second.analysis) == ("Read the table____.\nx | 1 | 2 | inner", "Look.\nThen read.")
    assert (second.knowledge, second.difficulty) == ((("Numbers", "Tables"), ("Reading",)), 3)
    assert Path(second.images[0]).read_bytes() == picture(1)
    assert faults(imported) == ["paper.docx:1: paragraph: part of no question: 'Answer all questions.'"]


def test_typed_numbers(docx: Callable[..., Path], load: Callable[..., Loaded], faults: Callable) -> None:
    path = docx(
        paragraph("1. Which is 3.5 or 2. more? A. Smith asks."),
        paragraph("A. 1  B. 2"),
        paragraph("*C. 3"),
        paragraph("2、下列正确的是（  ）A．甲 B．乙 C．丙 D．丁"),
        paragraph("【答案】D"),
        paragraph("【解析】略"),
        paragraph("3) Match:"),
        paragraph("1. this is a list"),
        TABLE.format(cells("A. left", "B. right")),
        paragraph("<w:r><w:object><v:imagedata r:id='i2'/></w:object></w:r>"),
        paragraph(
            "<w:r><w:instrText> EQ \\f(1,2)</w:instrText></w:r>",
            "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>",
        ),
        TABLE.format(cells("4.", "In a cell")),
        paragraph("Answers"),
        paragraph("3. A 4. yes, it is"),
        paragraph("The end"),
    )
    questions, imported = load(path)
    assert [(question.stem, question.options, question.answer) for question in questions.values()] == [
        ("Which is 3.5 or 2. more? A. Smith asks.", ("1", "2", "3"), "C"),
        ("下列正确的是（  ）", ("甲", "乙", "丙", "丁"), "D"),
        ("Match:\n1. this is a list", ("left", "right"), "A"),
        ("In a cell", (), "yes, it is"),
    ]
    assert [line.split(":", 2)[2].strip() for line in faults(imported)] == [
        "paragraph: a formula of MathType as a Windows metafile is not read: 'media/b.wmf'",
        "paragraph: a field EQ (an old formula) is not read",
        "paragraph: part of no question: 'The end'",
    ]


def _table(*rows: str | tuple[str, ...]) -> str:
    return f"<w:tbl>{''.join(f'<w:tr>{cells(*row)}</w:tr>' for row in rows)}</w:tbl>"


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (["A. 1|B. 2", "C. 3|D. 4"], ["1", "2", "3", "4"]),
        (["A. 1|B. 2", "C. 3|D. 4", "E. 5|F. 6"], ["1", "2", "3", "4", "5", "6"]),
        (["A. 1|C. 3", "B. 2|D. 4"], ["1", "2", "3", "4"]),
        (["A.|x", "B.|y", "C.|z"], ["x", "y", "z"]),
        (["A.|x|B.|y"], ["x", "y"]),
        (["A|x", "B|y"], ["x", "y"]),
        (["A|B", "x|y"], ["x", "y"]),
        (["A. x   B. y", "C. z"], ["x", "y", "z"]),
        (["A.|1|2", "B.|3|4"], ["1 | 2", "3 | 4"]),
    ],
)
def test_options_in_tables(
    docx: Callable[..., Path], load: Callable[..., Loaded], rows: list[str], options: list[str]
) -> None:
    table = _table(*(tuple(row.split("|")) for row in rows))
    first, second = load(docx(paragraph("1. Choose"), table, paragraph("2. Next")))[0].values()
    assert (list(first.options), second.stem) == (options, "Next")


@pytest.mark.parametrize(
    ("rows", "stem"),
    [
        (["x|y", "1|3", "2|5"], "x | y\n1 | 3\n2 | 5"),
        (["2|3", "3|5"], "2 | 3\n3 | 5"),
        (["1|red", "2|blue"], "1 | red\n2 | blue"),  # the next question is 2
        (["Rank|Fruit", "2|apple"], "Rank | Fruit\n2 | apple"),
        (["A|1", "B|2"], "A | 1\nB | 2"),  # options follow
    ],
)
def test_tables_of_data(docx: Callable[..., Path], load: Callable[..., Loaded], rows: list[str], stem: str) -> None:
    table = _table(*(tuple(row.split("|")) for row in rows))
    path = docx(paragraph("1. Read"), table, paragraph("A. x"), paragraph("B. y"), paragraph("2. Next"))
    first, second = load(path)[0].values()
    assert (first.stem, first.options, second.stem) == (f"Read\n{stem}", ("x", "y"), "Next")


def test_questions_in_a_table(docx: Callable[..., Path], load: Callable[..., Loaded], faults: Callable) -> None:
    table = _table(("2.", "Why is it?"), ("A.", "x"), ("B.", "y"), ("3.", "How?"), ("A.", "p"), ("B.", "q"))
    questions, imported = load(docx(paragraph("1. What?"), table))
    read = [(question.stem, question.options) for question in questions.values()]
    assert read == [("What?", ()), ("Why is it?", ("x", "y")), ("How?", ("p", "q"))]
    assert faults(imported) == []


@pytest.mark.parametrize(
    ("title", "rows"),
    [
        ("Answers", ["题号|1|2|3", "答案|B|7|B"]),
        ("", ["题号|1|2|3", "答案|B|7|B"]),
        ("Answers", ["1|2", "B|A", "3", "B"]),
        ("答案", ["1|2|3", "B|A|B"]),
        ("Answers", ["Question|Answer", "1|B", "2|7", "3|B"]),
        ("Answers", ["1|B|2|7", "3|B"]),
        ("Answers", ["1. B|2. 7|3. B"]),
    ],
)
def test_keys_in_tables(
    docx: Callable[..., Path], load: Callable[..., Loaded], faults: Callable, title: str, rows: list[str]
) -> None:
    questions = [paragraph(text) for n in (1, 2, 3) for text in (f"{n}. Which?", "A. x", "B. 7")]
    table = _table(*(tuple(row.split("|")) for row in rows))
    read, imported = load(docx(*questions, *([paragraph(title)] if title else []), table))
    second = "A" if "B|A" in "".join(rows) else "B"
    if rows[-1] == "B":  # an odd row
        assert {question.answer for question in read.values()} == {None}
        assert len(imported.faults) > 1
    else:
        assert [question.answer for question in read.values()] == ["B", second, "B"]
        assert faults(imported) == []


def test_figures_and_texts_that_are_not_kept(
    docx: Callable[..., Path], load: Callable[..., Loaded], faults: Callable
) -> None:
    path = docx(
        paragraph(FIGURE),
        paragraph("1. Why", "<w:r><w:footnoteReference w:id='2'/></w:r>", run(" ever", "<w:strike/>"), "?"),
        paragraph("Answer: 5", FIGURE),
        "<w:altChunk r:id='i1'/>",
        paragraph("Answers"),
        paragraph("1. 5", FIGURE),
    )
    (question,), imported = load(path)[0].values(), load(path, "again")[1]
    assert (question.stem, question.answer, question.images) == ("Why ever?", "5", ())
    assert [line.split(":", 2)[2].strip() for line in faults(imported)] == [
        "paragraph: part of no question: a figure",
        "paragraph: a footnote is not kept: 'Look here.'",
        "paragraph: an embedded document (altChunk) is not read",
        "images: a figure of the answer is not kept",
        "images: a figure of the key is not kept",
    ]


def test_lists_of_one_definition_count_on(docx: Callable[..., Path], load: Callable[..., Loaded]) -> None:
    """Unless a list has a start of its own; a heading lets the numbers of questions begin again."""
    path = docx(
        numbered("One", number=1),
        numbered("Two", number=2),
        numbered("Three", number=1),
        paragraph("Part two", properties="<w:pStyle w:val='Heading1'/>"),
        numbered("Again", number=3),
        numbered("Then", number=3),
        lists=definition(0, level(0, "decimalZero", "%1.")) + listed(1, 0) + listed(2, 0) + listed(3, 0, start=1),
    )
    questions = load(path)[0].values()
    assert [(question.extras["number"], question.stem) for question in questions] == [
        *((1, "One"), (2, "Two"), (3, "Three"), (1, "Again"), (2, "Then")),
    ]


@pytest.mark.parametrize("numbers", [(2, 2, 2), (2, 3, 4), (2, 5, 2)], ids=["one list", "lists that go on", "restarts"])
@pytest.mark.parametrize("typed", [False, True])
def test_letters_name_the_options_of_their_question(
    docx: Callable[..., Path], load: Callable[..., Loaded], numbers: tuple[int, ...], typed: bool
) -> None:
    """Also where Word itself shows C and D in the second question."""
    blocks = []
    for place, number in enumerate(numbers, 1):
        blocks.append(paragraph(f"{place}. Which?") if typed else numbered("Which?"))
        blocks += [numbered(f"left {place}", number=number), paragraph("of all"), numbered("right", number=number)]
        blocks.append(paragraph("Answer: B"))
    letters = definition(1, level(0, "lowerLetter", "%1)")) + "".join(listed(number, 1) for number in (2, 3, 4))
    numerals = definition(0, level(0, "decimal", "%1.")) + listed(1, 0)
    questions = load(docx(*blocks, lists=numerals + letters + listed(5, 1, start=1)))[0].values()
    assert [(question.options, question.answer) for question in questions] == [
        ((f"left {place}\nof all", "right"), "B") for place in (1, 2, 3)
    ]


def test_lettered_headings_go_on(docx: Callable[..., Path], load: Callable[..., Loaded]) -> None:
    """Those of headings, and those of a list whose next level numbers the questions."""
    path = docx(
        numbered("Sums", style="Heading1"),
        numbered("Add.", level=1),
        numbered("Sets", style="Heading1"),
        numbered("Count.", level=1),
        lists=definition(0, level(0, "upperLetter", "%1."), level(1, "decimal", "%2.")) + listed(1, 0),
    )
    questions = load(path)[0].values()
    assert [question.extras for question in questions] == [
        {"number": 1, "section": "A. Sums"},
        {"number": 1, "section": "B. Sets"},
    ]


@pytest.mark.parametrize(
    ("kind", "start", "mark"),
    [
        ("chineseCountingThousand", 1, "一"),
        ("japaneseCounting", 12, "十二"),
        ("chineseCounting", 20, "二十"),
        ("chineseCounting", 135, "135"),
        ("ideographTraditional", 2, "乙"),
        ("upperRoman", 4, "IV"),
        ("lowerRoman", 900000000, "900000000"),
        ("lowerLetter", 28, "ab"),
        ("decimal", 0, "0"),
        ("ordinal", "many", "1"),
    ],
)
def test_numbers_that_are_no_questions(
    docx: Callable[..., Path], load: Callable[..., Loaded], faults: Callable, kind: str, start: int | str, mark: str
) -> None:
    path = docx(
        numbered("选择题"), paragraph("1. Why?"), lists=definition(0, level(0, kind, "【%1】", start)) + listed(1, 0)
    )
    assert faults(load(path)[1]) == [f"paper.docx:1: paragraph: part of no question: '【{mark}】 选择题'"]


def test_bad_numbers_and_deep_formulas_cost_themselves(
    docx: Callable[..., Path], load: Callable[..., Loaded], faults: Callable
) -> None:
    deep = "<m:rad><m:e>" * 400 + mrun("x") + "</m:e></m:rad>" * 400
    symbol = "<w:r><w:sym w:char='no'/></w:r>"
    path = docx(numbered("Why", symbol, "?", level="deep"), numbered("Find ", f"<m:oMath>{deep}</m:oMath>", "."))
    questions, imported = load(path)
    assert [question.stem for question in questions.values()] == ["Why?", "Find x."]
    assert faults(imported) == [
        "paper.docx:1: paragraph: a character of a symbol font is not read: 0",
        "paper.docx:2: paragraph: a formula: nested too deep",
    ]


@pytest.mark.parametrize(
    ("markup", "latex"),
    [
        (f"<m:rad><m:deg/><m:e>{mrun('2x')}</m:e></m:rad>", r"\sqrt{2x}"),
        (f"<m:rad><m:deg>{mrun('3')}</m:deg><m:e>{mrun('x')}</m:e></m:rad>", r"\sqrt[3]{x}"),
        (f"<m:sSup><m:e>{mrun('x')}</m:e><m:sup>{mrun('2')}</m:sup></m:sSup>", "x^2"),
        (f"<m:sSubSup><m:e>{mrun('x')}</m:e><m:sub>{mrun('1')}</m:sub><m:sup>{mrun('2')}</m:sup></m:sSubSup>", "x_1^2"),
        (
            f"<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr><m:sub>{mrun('i')}</m:sub><m:sup>{mrun('n')}</m:sup>"
            f"<m:e>{mrun('i')}</m:e></m:nary>",
            r"\sum_i^n i",
        ),
        (
            "<m:d><m:dPr><m:begChr m:val='['/><m:endChr m:val=')'/></m:dPr>"
            f"<m:e>{mrun('0')}</m:e><m:e>{mrun('1')}</m:e></m:d>",
            "[0| 1)",
        ),
        (f"<m:func><m:fName>{mrun('sin')}</m:fName><m:e>{mrun('α')}</m:e></m:func>", r"\sin\alpha"),
        (
            f"<m:func><m:fName><m:limLow><m:e>{mrun('lim')}</m:e><m:lim>{mrun('x→0')}</m:lim></m:limLow></m:fName>"
            f"<m:e>{mrun('x')}</m:e></m:func>",
            r"\lim_{x\to 0}x",
        ),
        (f"<m:bar><m:barPr><m:pos m:val='top'/></m:barPr><m:e>{mrun('AB')}</m:e></m:bar>", r"\overline{AB}"),
        (f"<m:acc><m:accPr><m:chr m:val='⃗'/></m:accPr><m:e>{mrun('v')}</m:e></m:acc>", r"\vec{v}"),
        (
            f"<m:d><m:dPr><m:begChr m:val='{{'/><m:endChr m:val=''/></m:dPr><m:e><m:eqArr><m:e>{mrun('x=1')}</m:e>"
            f"<m:e>{mrun('y')}</m:e></m:eqArr></m:e></m:d>",
            r"\begin{cases} x = 1 \\ y \end{cases}",
        ),
        (f"<m:m><m:mr><m:e>{mrun('1')}</m:e><m:e>{mrun('2')}</m:e></m:mr></m:m>", r"\begin{matrix} 1 & 2 \end{matrix}"),
        (f"<m:f><m:fPr><m:type m:val='lin'/></m:fPr><m:num>{mrun('a')}</m:num><m:den>{mrun('b')}</m:den></m:f>", "a/b"),
        ("<m:r><m:rPr><m:nor/></m:rPr><m:t>if it is</m:t></m:r>", r"\text{if it is}"),
        (f"<m:ins>{mrun('3≤x')}</m:ins>", r"3\leq x"),
        (mrun("1 000 +  x y = 2") + mrun(" 3"), r"1\;000+xy = 2\;3"),
        (mrun("2") + mrun("3"), "23"),
    ],
)
def test_formulas(markup: str, latex: str) -> None:
    assert latex_of(strip_namespaces(parse(f"<m:oMath {SPACES}>{markup}</m:oMath>"))) == latex


def test_documents_that_are_none(tmp_path: Path, load: Callable[..., Loaded]) -> None:
    (tmp_path / "paper.docx").write_bytes(b"no zip")
    with pytest.raises(ValueError, match=r"paper\.docx: .*not a zip that can be read"):
        load(tmp_path / "paper.docx")
