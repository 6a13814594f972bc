"""Numbers of papers: sections that begin anew, headings without a style, lists within questions, keys, and doubts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("lxml")

from tqnet.importers.figures import FigureFolder
from tqnet.importers.job import Draft, Job, Place
from tqnet.importers.paper import read_paper
from tqnet.importers.paper_key import title
from tqnet.importers.paper_lines import Paragraph
from tqnet.importers.source import open_source


class Paper(NamedTuple):
    drafts: list[Draft]
    faults: list[str]

    @property
    def answers(self) -> list[tuple[str, str | None]]:
        return [(draft.record["stem"], draft.record["answer"]) for draft in self.drafts]

    @property
    def sections(self) -> list[tuple[str, str | None]]:
        return [(draft.record["stem"], draft.record["extras"].get("section")) for draft in self.drafts]


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], Paper]:
    """Reads a paper from its lines."""
    (tmp_path / "paper.txt").touch()

    def read(text: str, headings: Sequence[str] = (), are_lines: bool = False) -> Paper:
        job = Job(open_source(tmp_path / "paper.txt"), FigureFolder(tmp_path))
        lines = enumerate(text.strip().split("\n"), 1)
        paragraphs = (Paragraph(line, Place("paper", number), is_heading=line in headings) for number, line in lines)
        drafts = list(read_paper(job, paragraphs, are_lines))
        return Paper(drafts, [f"{fault.line}: {fault.field}: {fault.message}" for fault in job.faults])

    return read


Read = Callable[..., Paper]

SECTIONS = "Part I\n1. a\n2. b\n3. c\nPart II\n1. d\n2. e\n"


def test_a_key_has_a_list_for_each_section(read: Read) -> None:
    paper = read(SECTIONS + "Answers\nPart I\n1. A 2. B\n3. C\nPart II\n1. D\n2. E")
    assert (paper.answers, paper.faults) == ([("a", "A"), ("b", "B"), ("c", "C"), ("d", "D"), ("e", "E")], [])
    assert paper.sections == [(stem, "Part I") for stem in "abc"] + [(stem, "Part II") for stem in "de"]


@pytest.mark.parametrize(
    "key",
    ["1. A 2. B", "1. A 2. B 3. C", "1. A\n1. D\n1. E", "1. A 2. B\n1. C 2. D 3. E"],
    ids=["one list", "one list of the first section's length", "more lists than sections", "sections in another order"],
)
def test_an_uncertain_key_answers_nothing(read: Read, key: str) -> None:
    paper = read(f"{SECTIONS}Answers\n{key}")
    assert {answer for _, answer in paper.answers} == {None}
    (fault,) = paper.faults
    assert fault.startswith("9: answer: numbers 1-")
    assert fault.endswith("of the key for questions 1-3, 1-2: uncertain, so none of its answers is taken")


def test_sections_may_number_on(read: Read) -> None:
    paper = read("一、选择题\n1. a\n2. b\n二、填空题（每题5分）\n3. c\n参考答案\n一、选择题：1. A 2. B\n二、\n3. 7")
    assert (paper.answers, paper.faults) == ([("a", "A"), ("b", "B"), ("c", "7")], [])
    assert paper.sections[-1] == ("c", "二、填空题（每题5分）")


@pytest.mark.parametrize(
    ("key", "answers", "faults"),
    [
        ("1-3 ABD", "A B D", 0),
        ("1~2. AC BD 3. A", "AC BD A", 0),
        ("1-B；2-C 3-D", "B C D", 0),
        ("1. 3.5 2. 5-7 3. x: 2", "3.5|5-7|x: 2", 0),
        ("1-3 AB", "None None None", 1),
        ("1. A 4. D", "A None None", 1),
        ("so 2. B", "None None None", 1),
        ("1．A　2．3　3．12", "A 3 12", 0),
        ("1.A 2.3 3.12", "A 3 12", 0),
        ("1.A，2.3；3.12", "A 3 12", 0),
        ("1.B2.A3.B", "B A B", 0),
        ("1.√2.×3.√", "√ × √", 0),
        ("1.2.5 2.1.5 3.0.5", "2.5 1.5 0.5", 0),
        ("1. x = 2.5 2. A 3. B", "x = 2.5|A|B", 0),
        ("1. 5 or 2.5 2. 3 3. B", "5 or 2.5|3|B", 0),
        ("1. Vitamin B2. is it\n2. A", "Vitamin B2. is it|A|None", 0),
        ("1.$2.5$ 2.3 3.B", "$2.5$|3|B", 0),
        ("1.2或2.5 2.3 3.C", "None None None", 1),
        ("1.about 2.5 m", "None None None", 1),  # or 2: "5 m"
        ("1. A 2.3 3. C", "None None None", 1),  # or 1: "A 2.3"
        ("1.3 2.5 2.7 3.B", "None None None", 1),
    ],
)
def test_entries_of_a_key(read: Read, key: str, answers: str, faults: int) -> None:
    paper = read(f"1. a\n2. b\n3. c\nAnswer key\n{key}")
    assert [str(answer) for _, answer in paper.answers] == answers.split("|" if "|" in answers else None)
    assert len(paper.faults) == faults


@pytest.mark.parametrize(
    "line",
    [
        *("ANSWERS", "Answers and explanations", "Answers to Exercises", "Answer Sheet", "Correct answers:"),
        *("Answer key - Section A", "Solutions and Answers", "Marking scheme", "Answers (teacher's copy)"),
        *("Lösungen", "Réponses", "Ответы", "參考答案"),
        *("答案与解析", "参考答案与试题解析", "【参考答案】", "附：参考答案"),
    ],
)
def test_titles_of_keys(read: Read, line: str) -> None:
    paper = read(f"1. a\nA. x\nB. y\n2. b\nA. x\nB. y\n{line}\n1. B\n2. A")
    assert (paper.answers, paper.faults) == ([("a", "B"), ("b", "A")], [])


@pytest.mark.parametrize(
    "line",
    ["Answer the questions", "Key questions", "Answer: B", "Answers: 7", "The solution of 2", "答案是什么", "Keys"],
)
def test_lines_that_are_no_titles(line: str) -> None:
    assert title(line) == ""


def test_a_heading_of_questions_is_no_key(read: Read) -> None:
    paper = read("1. a\nA. x\nB. y\nSolutions\n1. Which is acid?\nA. p\nB. q")
    assert paper.sections == [("a", None), ("Which is acid?", "Solutions")]


@pytest.mark.parametrize("line", ["Answers: 1. B 2. A", "【答案】1. B 2. A", "参考答案：1.B2.A", "答案：1.Ｂ2.Ａ"])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_key_in_the_line_of_its_title(read: Read, line: str, is_first: bool) -> None:
    questions = "1. a\nA. x\nB. y\n2. b\nA. x\nB. y"
    paper = read(f"{line}\n{questions}" if is_first else f"{questions}\n{line}")
    assert (paper.answers, paper.faults) == ([("a", "B"), ("b", "A")], [])


@pytest.mark.parametrize("text", ["1. a\nAnswer: x\n2. b", "1. a\n2. b\n3. c"])
def test_a_list_in_an_answer_is_no_key(read: Read, text: str) -> None:
    assert read(f"{text}\nAnswer: 1. p 2. q").answers[-1][1] == "1. p 2. q"


def test_reasons_in_a_key_are_the_analysis(read: Read) -> None:
    paper = read("1. a\nA. x\nB. y\n2. b\nA. x\nB. y\nAnswers\n1. (A) because x\n2. B - it is y")
    assert [(draft.record["answer"], draft.record["analysis"]) for draft in paper.drafts] == [
        ("A", "because x"),
        ("B", "it is y"),
    ]


def test_answers_without_a_question_are_reported(read: Read) -> None:
    assert read("1. a\nAnswers\n1. A\n2. B").faults == ["4: answer: the key answers question 2, which there is not"]


def test_a_title_of_a_key_may_be_that_of_an_answer(read: Read) -> None:
    paper = read("1. a\nAnswer:\n5\n2. b\nSolution\nLook.\n3. c\n答案\n1. A 2. B 3. C")
    assert (paper.answers, paper.faults) == ([("a", "5"), ("b", "B"), ("c", "C")], [])
    assert paper.drafts[1].record["analysis"] == "Look."
    listed = read("1. a\n2. b\nAnswer:\n1. x\n2. y\n3. c\nA. 1\nB. 2")
    assert [stem for stem, _ in listed.answers] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "heading",
    [
        "一、选择题",
        "二、填空题（每题5分）",
        "第二部分 非选择题",
        "第Ⅱ卷",
        "Part II",
        "Section B",
        "PART A: Multiple choice",
        "Section 2. Proofs",
        "Part II Short answer",
        "Part B Multiple Choice",
        "Exercises",
        "B. Short questions",
        "应用题",
    ],
)
def test_headings_without_a_style(read: Read, heading: str) -> None:
    paper = read(f"1. a\nA. x\nB. y\n{heading}\n1. b")
    assert (paper.sections, paper.faults) == ([("a", None), ("b", heading)], [])
    assert paper.drafts[0].record["options"] == ["x", "y"]


@pytest.mark.parametrize("line", ["Part A of the figure is red.", "Section 2.3 says more.", "一共三人", "part II"])
def test_lines_that_are_no_headings(read: Read, line: str) -> None:
    paper = read(f"1. a\n{line}\n2. b")
    assert (paper.answers[0][0], paper.faults) == (f"a\n{line}", [])


def test_headings_without_questions_are_reported(read: Read) -> None:
    paper = read("The exam\nPart I\n1. a\nPart II\nPart III\n1. b\nPart IV\nAnswers\n1. A\n1. B", ["The exam"])
    assert [line.partition(" part of no question: ")[::2] for line in sorted(paper.faults)] == [
        ("1: paragraph:", "'The exam'"),
        ("4: paragraph:", "'Part II'"),
        ("7: paragraph:", "'Part IV'"),
    ]
    assert paper.answers == [("a", "A"), ("b", "B")]


@pytest.mark.parametrize("ending", ["A. x\nB. y", "Answer: 5", "Answer: 5\nTopic: Sums"])
def test_a_list_of_questions_may_begin_after_a_complete_one(read: Read, ending: str) -> None:
    paper = read(f"1. a\n2. b\n{ending}\n1. c\n2. d\nAnswers\n1. 1 2. 2\n1. 3 2. 4")
    assert [stem for stem, _ in paper.answers] == list("abcd")
    assert ([answer for _, answer in paper.answers[2:]], paper.faults) == (["3", "4"], [])


@pytest.mark.parametrize(
    ("text", "stems", "doubts"),
    [
        ("1. a\n2. b\n1. c\n2. d\n3. e", ["a", "b\n1. c\n2. d", "e"], "3"),  # a list in the stem, or another section
        ("1. a\nA. x\nB. y\n3. c", ["a"], "4"),
        ("1. a\nSolution: Look.\n1. add", ["a"], "3"),
        ("1. a\n2. Which?\nA. x\n(1) b", ["a", "Which?"], "4"),
        ("1. a\nTrue are:\n1. x\n2. y\nA. 1\nB. 2\n2. b", ["a\nTrue are:\n1. x\n2. y", "b"], ""),
        ("1. a\n(1) x\n(2) y\n2. b\n(1) x\n(2) y\n(3) z\n3. c", ["a\n(1) x\n(2) y", "b\n(1) x\n(2) y\n(3) z", "c"], ""),
        ("1. a (1) x\n(2) y\n2. b", ["a (1) x\n(2) y", "b"], ""),
        ("(1) a\n(2) b\n(3) c", ["a", "b", "c"], ""),
        ("1、a\nQuestion 2: b\n3) c", ["a", "b", "c"], ""),
        ("1.2024 is\nA. even\nB. odd\n2.5+5=\nA. 9\nB. about\n7.5", ["2024 is", "5+5="], ""),
        ("1. a\nA. 1\nB. about\n2.5\n2. b", ["a", "b"], "4"),
        ("1. It weighs\n3.5 kg.\n2.5 kg.\n2．3+1=", ["It weighs\n3.5 kg.\n2.5 kg.", "3+1="], "3"),
    ],
)  # fmt: skip
def test_numbers_that_begin_no_question(read: Read, text: str, stems: list[str], doubts: str) -> None:
    paper = read(text)
    assert [stem for stem, _ in paper.answers] == stems
    assert " ".join(fault.partition(":")[0] for fault in paper.faults) == doubts
    assert all("may begin a question, but is read as part of question" in fault for fault in paper.faults)


def test_the_paragraph_with_the_number_is_the_stem(read: Read) -> None:
    paper = read("1. Answer: the following\nAnswer: B\n2. Key: what is it? A. x B. y C. z\n3. 解：是什么\n答案：7")
    assert paper.answers == [("Answer: the following", "B"), ("Key: what is it?", None), ("解：是什么", "7")]
    assert paper.drafts[1].record["options"] == ["x", "y", "z"]


@pytest.mark.parametrize("before", ["A. x\nB. y", "A. x\nB. y\nAnswer: A", "A. x\nB. y\nAnswer: A\nTopic: T"])
def test_what_follows_a_complete_question_is_no_part_of_it(read: Read, before: str) -> None:
    paper = read(f"1. a\n{before}\nPassage: The cat sat. It purred.\n--- page 2 ---\n2. b\nA. x\nB. y")
    record, number = paper.drafts[0].record, before.count("\n") + 3
    assert (record["stem"], record["options"]) == ("a", ["x", "y"])
    assert (record["answer"], record["knowledge"]) == (
        "A" if "A\n" in before + "\n" and "Answer" in before else None,
        [["T"]] if "T" in before else [],
    )
    assert paper.faults == [
        f"{number}: paragraph: part of no question: 'Passage: The cat sat. It purred.'",
        f"{number + 1}: paragraph: part of no question: '--- page 2 ---'",
    ]


def test_options_may_go_on(read: Read) -> None:
    """In the next line if it begins within a sentence, or if the line before is as wide as the page."""
    wide = "It is a long option that goes on to the edge of the page"
    text = f"1. a\nA. x\nB. y,\nZ\n2. b\nA. x\nB. y\nand z\n3. c\nA. x\nB. {wide}\nPage\n4. d"
    paper = read(text, are_lines=True)
    assert [draft.record["options"][1:] for draft in paper.drafts] == [["y,\nZ"], ["y\nand z"], [f"{wide}\nPage"], []]
    assert paper.faults == []


def test_a_text_about_several_questions_is_part_of_each(read: Read) -> None:
    paper = read(
        "Read, and answer questions 1-2.\nTen cows.\n1. a\nA. x\nB. y\n"
        "Questions 2 and 3 are about it.\n2. b\n3. c\n4. d"
    )
    assert [stem for stem, _ in paper.answers] == [
        "Read, and answer questions 1-2.\nTen cows.\na",
        "Questions 2 and 3 are about it.\nb",
        "Questions 2 and 3 are about it.\nc",
        "d",
    ]
    assert paper.faults == []
    assert read("1. a\n阅读材料，回答2～3题。\n材料\n2. b").answers[1][0] == "阅读材料，回答2～3题。\n材料\nb"
    assert len(read("1. a\nQuestions 2 to 3 are here.\nSo\nPart I\n1. b").faults) == 2


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("答案 AB", "A, B"),
        ("Answer B", "B"),
        ("Answer – B", "B"),
        ("Ans. B", "B"),
        ("Correct: B", "B"),
        ("答案B", "B"),
        ("答案Ｂ", "B"),
        ("Lösung: b", "B"),
        ("Réponse : B", "B"),
        ("Ответ: B", "B"),
    ],
)
def test_answers_without_a_colon(read: Read, line: str, answer: str) -> None:
    assert read(f"1. a\nA. x\nB. y\n{line}\n2. b\nAns. 42").answers == [("a", answer), ("b", "42")]


@pytest.mark.parametrize("line", ["A.1B.2C.3D.4", "A.1;B.2;C.3;D.4", "Ａ．1；Ｂ．2；Ｃ．3；Ｄ．4", "A)1 B)2 C)3 D)4"])
def test_options_close_together(read: Read, line: str) -> None:
    assert read(f"1. a\n{line}").drafts[0].record["options"] == list("1234")


@pytest.mark.parametrize(
    ("text", "stem", "options"),
    [
        ("1. Is it? A. x B. y", "Is it?", ["x", "y"]),
        ("1. One A. x B. y\n2. Two A. x B. y", "One", ["x", "y"]),
        ("1. One A. x B. y", "One A. x B. y", []),  # perhaps names
        ("1. Vitamin A. is good. Vitamin B. too?", "Vitamin A. is good. Vitamin B. too?", []),
        ("1. If A. B. C. then", "If A. B. C. then", []),
        ("1. Let (a) x, (b) y, (c) z: find it.\nA. 1\nB. 2", "Let (a) x, (b) y, (c) z: find it.", ["1", "2"]),
    ],
)
def test_options_in_the_line_of_the_stem(read: Read, text: str, stem: str, options: list[str]) -> None:
    record = read(text).drafts[0].record
    assert (record["stem"], record["options"]) == (stem, options)


@pytest.mark.parametrize(
    ("lines", "options", "answer", "doubts"),
    [
        ("☐ 4\n☒ 5\nor so\n☐ 6", ["4", "5\nor so", "6"], "B", 0),
        ("- [ ] 4\n- [x] 5", ["4", "5"], "B", 0),
        ("[*] 2\n[ ] 4\n[*] 3", ["2", "4", "3"], "A, C", 0),
        ("[x] is whole\n[x] is part", [], None, 0),
        ("i) 4\nii) 5\nAns: ii", ["4", "5"], "B", 0),
        ("1) 4\n2) 5\n3) 6\nAnswer: (2)", ["4", "5", "6"], "B", 0),
        ("1) 2\n2) 3\n3) 4\nAnswer: 2", [], "2", 1),  # the number or the text of an option
        ("i) 4\nii) 5", [], None, 1),
        ("i) Is it 4?\nii) Is it 5?\nAnswer: yes", [], "yes", 0),
        ("i) 4\nii) 5\nA. i\nB. ii\nAnswer: B", ["i", "ii"], "B", 0),
    ],
)  # fmt: skip
def test_options_without_letters(read: Read, lines: str, options: list[str], answer: str | None, doubts: int) -> None:
    for question in ("How many are right?", "下列说法正确的有几个？"):  # their answer is a number
        counted = read(f"1. {question}\n1) a\n2) b\nAnswer: 2\n2. b").drafts[0].record
        assert (counted["options"], counted["answer"]) == ([], "2")
    for question in (
        "Which is the correct order?",
        "Quantos dias tem?",
        "It rolls.\nHow many sides has it?",
        "几何体中，哪个是旋转体？",
    ):
        record = read(f"1. {question}\n{lines}\n2. b").drafts[0].record
        assert (record["options"], record["answer"]) == (options, answer)
    paper = read(f"1. Which?\n{lines}\n2. b")
    assert (paper.drafts[0].record["options"], paper.drafts[0].record["answer"]) == (options, answer)
    assert [fault.partition(",")[0] for fault in paper.faults] == ["2: paragraph: may begin options"] * doubts


PIECES = [
    "☐ a\n☒ b\n",
    "1. a?\n1) b\n",
    "1.\n",
    "1. ",
    "A. ",
    "A.\n",
    "答案",
    "答案：\n1.\n",
    "Answer:\n2.\n",
    "1. a\n2) b\n",
    "$",
    "\\(",
    " ",
    "1-",
    "1.1",
    "1.A2.B",
    "Answers: 1. B ",
    "A.1",
    "Questions 2 and 3 are\n",
    "一、",
    "Part 1",
]


@pytest.mark.parametrize("text", [*PIECES, "1. a:\n1. b\n2. c\n"])
@pytest.mark.parametrize("before", ["", "1. a\nA. b\n", "1. a\nAnswers\n", "1. a\nA. b\nanswer", "1. a\n1-"])
def test_time_is_linear(read: Read, before: str, text: str) -> None:
    start = time.process_time()
    read(before + text * (40_000 // len(text)))
    assert time.process_time() - start < 10  # quadratic: half a minute
