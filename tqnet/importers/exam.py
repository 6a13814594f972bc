r"""LaTeX's ``exam`` class: questions, parts, choices, blanks, solutions and figures.

Formulas stay as they are. Tables become lines with ``|``. Drawings in TikZ and macros of the document are reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tqnet.importers.choices import option_places
from tqnet.importers.job import Draft, Job, Place, distinct, lettered
from tqnet.importers.paper_lines import masked
from tqnet.importers.source import SourceError
from tqnet.importers.texts import documents
from tqnet.text.formulas import segments
from tqnet.text.lists import letter
from tqnet.text.plain import BLANK

#: A comment after an even number of backslashes; verbatim text, where there is none, to its end.
_COMMENT = re.compile(
    r"\\begin\{(?P<name>verbatim|lstlisting)\*?\}(?:\[[^\[\]\n]*\])?(?P<verbatim>.*?)(?:\\end\{(?P=name)\*?\}|\Z)"
    r"|(?<!\\)(?P<before>(?:\\\\)*)%[^\n]*",
    re.DOTALL,
)
#: Verbatim texts are set aside as their numbers between these noncharacters.
_ASIDE = re.compile("\ufdd0(\\d+)\ufdd1")
_OPTIONAL = r"(?:\[(?P<option>(?:[^\[\]{}]|\{[^{}]*\})*)\])?"
_TOKEN = re.compile(
    r"\\(?P<command>(?:bonus)?(?:titled)?question|(?:bonus)?part|(?:sub){1,2}part|choice|CorrectChoice|correctchoice|section"
    r"|includegraphics|fillin|answerline|uplevel|fullwidth|begin|end)(?![A-Za-z])\*?"
    rf"[ \t]*{_OPTIONAL}(?:\s*(?P<braces>\{{))?"
)
_QUESTIONS = ("question", "titledquestion", "bonusquestion", "bonustitledquestion")
_PARTS = ("part", "bonuspart", "subpart", "subsubpart")
_CHOICES = ("choices", "checkboxes", "oneparchoices", "oneparcheckboxes")
_SOLUTIONS = ("solution", "solutionorbox", "solutionorlines", "solutionordottedlines")
_SECTIONS = ("EnvFullwidth", "EnvUplevel")
_DRAWINGS = ("tikzpicture", "pspicture", "circuitikz", "asy", "picture")
_LAYOUT = ("document", "parts", "subparts", "subsubparts", "center", "figure", "questions", "minipage", *_SECTIONS)
_DROPPED = re.compile(
    r"\\(?:[vh]space|[vh]fill|newpage|clearpage|pagebreak|noindent|centering|makeemptybox|label|rule|fillwith\w+|maketitle"
    r"|(?:big|med|small)skip|printanswers)(?![A-Za-z])\*?(?:\[[^\[\]]*\]|\{[^{}]*\})*"
)
_SPACE = (
    r"\\(?:hspace|h?phantom|makebox)\*?\s*(?:\[[^\[\]]*\])?\{[^{}]*\}|\\(?:q?quad|enspace)(?![A-Za-z])|\\[ ,;:!]|~|\s"
)
_BLANKS = re.compile(
    rf"\\underline\s*\{{(?:{_SPACE})*\}}|\\rule(?:\[[^\[\]]*\])?\{{(?!\s*0)[^{{}}]*\}}\{{[^{{}}]*\}}"
    r"|\\(?:makebox\s*(?:\[[^\[\]]*\])*\{\\hrulefill\s*\}|hrulefill(?![A-Za-z]))"
)
_STYLE = re.compile(r"\\(?:textbf|textit|emph|underline|textrm)\{([^{}]*)\}")
_TABLE = re.compile(
    r"\\begin\{(?P<name>(?:longtable|tabular)(?P<wide>[xy*])?)\}(?(wide)\{[^{}]*\})(?:\[[^\[\]]*\])?"
    r"\{(?:[^{}]|\{[^{}]*\})*\}(?P<body>(?:(?!\\begin\{(?P=name)\}).)*?)\\end\{(?P=name)\}",
    re.DOTALL,
)
_RULES = re.compile(
    r"\\(?:[hc]line|toprule|midrule|bottomrule|cmidrule|endhead|endfirsthead)(?![A-Za-z])(?:\([^()]*\)|\{[^{}]*\})*"
)
_SPAN = re.compile(r"\\multi(?:column|row)\{[^{}]*\}\{[^{}]*\}\{((?:[^{}]|\{[^{}]*\})*)\}")
_BREAK = re.compile(r"\\\\\*?(?:\[[^\[\]\n]*\])?[ \t]*\n?|\\newline(?![A-Za-z])")
#: Commands between questions, which are of the layout for the most part.
_COMMANDS = re.compile(r"\\[A-Za-z]+\*?(?:\[[^\[\]]*\])?|[{}]")
_MACRO = re.compile(r"\\(?:(?:re)?new|provide)command\*?\s*\{?\s*\\([A-Za-z]+)|\\def\s*\\([A-Za-z]+)")


def read_exam(job: Job) -> Iterator[Draft]:
    r"""LaTeX's ``exam`` class: ``\question``, parts, choices, ``\CorrectChoice``, ``\fillin``, solutions, figures."""
    for name, text in documents(job, ".tex"):
        yield from _Exam(job, name, text).drafts()


class _Exam:
    """A document."""

    def __init__(self, job: Job, name: str, text: str):
        self._job = job
        self._name = name
        self.asides: list[str] = []
        text = _COMMENT.sub(self._without_comment, re.sub("[\ufdd0\ufdd1]", "", text))
        self.source = text.partition("\\end{document}")[0]
        self._section = ""
        braces: list[int] = []
        self.closing: dict[int, int] = {}  # of each brace that is closed
        for brace in re.finditer(r"\\.|[{}]", self.source, re.DOTALL):
            if brace[0] == "{":
                braces.append(brace.start())
            elif brace[0] == "}" and braces:
                self.closing[braces.pop()] = brace.start()

    def _without_comment(self, match: re.Match[str]) -> str:
        if match["verbatim"] is None:
            return match["before"]
        self.asides.append(match["verbatim"])
        return f"\ufdd0{len(self.asides) - 1}\ufdd1" + "\n" * match[0].count("\n")  # as many lines

    def argument(self, token: re.Match[str]) -> tuple[str, int]:
        """Return the argument in braces of a command, and where the text after it begins."""
        start = token.start("braces")
        end = self.closing.get(start) if start >= 0 else None
        if end is None:
            return "", token.end("braces") - 1 if start >= 0 else token.end()
        return self.source[start + 1 : end], end + 1

    def drafts(self) -> Iterator[Draft]:
        begin = max(self.source.find("\\begin{document}"), 0)
        self._report_macros(begin)
        tokens = [token for token in _TOKEN.finditer(self.source) if token.start() >= begin]
        starts = [place for place, token in enumerate(tokens) if token["command"] in _QUESTIONS]
        ends = [tokens[place].start() for place in starts] + [len(self.source)]
        _Question(self, self._job, self._place(0), self._name).read_before(tokens[: (*starts, None)[0]], begin, ends[0])
        line, counted = 1, 0
        for (first, last), (start, end) in zip(pairwise([*starts, len(tokens)]), pairwise(ends), strict=True):
            line, counted = line + self.source.count("\n", counted, start), start
            question = _Question(self, self._job, self._place(line), self._name)
            yield Draft(question.record(tokens[first:last], end, self._section), question.place)

    def begin_section(self, text: str) -> None:
        r"""Note the text of ``\section``, ``\uplevel`` or ``\fullwidth`` for the next questions."""
        self._section = self.plain(text)

    def _place(self, line: int) -> Place:
        return self._job.place(self._name, line)

    def _report_macros(self, begin: int) -> None:
        names = distinct(match[1] or match[2] for match in _MACRO.finditer(self.source))
        used = set(re.findall(r"\\([A-Za-z]+)", self.source[begin:]))
        if shown := [f"\\{name}" for name in names if name in used]:
            self._job.fault(self._place(0), "record", f"macros of the document stay as they are: {', '.join(shown)}")

    def plain(self, text: str) -> str:
        """Return a text without commands of its layout, blanks as such and tables as lines; formulas stay."""
        text = _in_prose(_DROPPED, _BLANKS.sub(BLANK, text))
        text = _TABLE.sub(_rows, _in_prose(_STYLE, text))
        pieces = (
            text[part.start : part.end] if part.is_formula else _BREAK.sub("\n", part.body) for part in segments(text)
        )
        lines = (" ".join(line.split()) for line in "".join(pieces).split("\n"))
        return _ASIDE.sub(lambda number: self.asides[int(number[1])].strip("\n"), "\n".join(filter(None, lines)))


def _in_prose(commands: re.Pattern[str], text: str) -> str:
    """Leave off commands outside of formulas; of one with a group, that remains."""
    pieces, position = [], 0
    for match in commands.finditer(masked(text)):
        kept = text[slice(*match.span(1))] if commands.groups else " "
        pieces += [text[position : match.start()], kept]
        position = match.end()
    return "".join((*pieces, text[position:]))


def _rows(table: re.Match[str]) -> str:
    """Return a table's rows as lines, its cells separated by ``|``."""
    body = _SPAN.sub(r"\1", _RULES.sub(" ", table["body"]))
    hidden = masked(body)
    rows, start, cells = [], 0, []
    for mark in [*re.finditer(r"(?P<cell>(?<!\\)&)|\\\\\*?(?:\[[^\[\]\n]*\])?", hidden), None]:
        cells.append(" ".join(body[start : mark.start() if mark else len(body)].split()))
        start = mark.end() if mark else len(body)
        if mark is None or not mark["cell"]:
            rows.append(" | ".join(cells) if any(cells) else "")
            cells = []
    return "\n" + "\n".join(filter(None, rows)) + "\n"


class _Question:
    """A question as its commands are read one after another."""

    def __init__(self, exam: _Exam, job: Job, place: Place, document: str):
        self._exam = exam
        self._job = job
        self.place = place
        self._document = document
        self._stem: list[str] = []
        self._analysis: list[str] = []
        self._outside: list[str] = []  # before \\begin{questions} and after its end
        self._options: list[list[str]] = []
        self._right: list[int] = []
        self._answers: list[str] = []  # of blanks and parts
        self._images: list[str] = []
        self._extras: dict[str, Any] = {}
        self._target = self._stem
        self._part = ""  # letter
        self._in_parts = False
        self._listed: int | None = None  # choices of a list that is part of the stem

    def record(self, tokens: list[re.Match[str]], end: int, section: str) -> dict[str, Any]:
        """Return the record of a draft; ``tokens`` are its commands, and ``end`` where the next question begins."""
        self._extras = {"section": section} if section else {}
        self._read(tokens, tokens[0].start(), end)
        options = ["".join(pieces) for pieces in self._options]
        stem, analysis, *texts = map(self._exam.plain, ("".join(self._stem), "".join(self._analysis), *options))
        return {
            "stem": stem,
            "options": texts,
            "answer": self._answer(texts),
            "analysis": analysis or None,
            "images": distinct(self._images),
            "extras": self._extras,
        }

    def read_before(self, tokens: list[re.Match[str]], start: int, end: int) -> None:
        """Read what stands before the first question."""
        self._stem = self._target = self._outside
        self._read(tokens, start, end)

    def _answer(self, options: list[str]) -> str | None:
        """Return the letters of the right choices, or the answers in blanks, which may name choices too."""
        blanks = "; ".join(map(self._exam.plain, self._answers))
        named = option_places(blanks, options) if blanks else []
        right = self._right or named
        if self._right and blanks and named != right:
            message = f"{blanks!r:.80} in the blanks, but the right choice is {lettered(right)}"
            self._job.fault(self.place, "answer", message)
        return lettered(right) or blanks or None

    def _read(self, tokens: list[re.Match[str]], position: int, end: int) -> None:
        for token in tokens:
            if token.start() >= position:  # not within an argument
                self._target.append(self._exam.source[position : token.start()])
                position = self._take(token)
        self._target.append(self._exam.source[position:end])
        if text := self._exam.plain(_COMMANDS.sub(" ", "".join(self._outside))):
            self._job.fault(self.place, "record", f"text outside of the questions: {text!r:.80}")

    def _take(self, token: re.Match[str]) -> int:
        """Read a command, and return where the text after it begins."""
        command, option = token["command"], token["option"]
        argument, after = self._exam.argument(token)
        before_braces = token.start("braces") if token["braces"] else token.end()
        if command in _QUESTIONS:
            self._extras |= {"bonus": True} if command.startswith("bonus") else {}
            if "titled" in command:
                self._extras["name"] = self._exam.plain(argument)
                before_braces = _after_options(self._exam.source, after)
                option = self._exam.source[after:before_braces].strip("[]")
            self._extras |= {"points": option} if option else {}
            return before_braces
        if command in _PARTS:
            self._begin_part(is_below=command.startswith("sub"))
            return before_braces
        if command.lower() in ("choice", "correctchoice"):
            self._begin_choice(command != "choice")
            return before_braces
        if command in ("fillin", "answerline"):
            self._target.append(BLANK if command == "fillin" else "")
            self._answers += [option] if option else []
            return _after_options(self._exam.source, before_braces)
        if command == "includegraphics":
            if self._target in (self._stem, *self._options) and self._target is not self._outside:
                self._images += _figure(self._job, self.place, self._document, argument)
            else:
                self._job.fault(self.place, "images", f"a figure of no stem is not kept: {argument!r:.80}")
        elif command == "section" or (command in ("uplevel", "fullwidth") and not self._in_parts):
            self._exam.begin_section(argument)
        elif command in ("uplevel", "fullwidth"):
            self._target.append(f"\n{argument}\n")
        else:
            return self._take_environment(token, argument, after)
        return after

    def _begin_part(self, is_below: bool) -> None:
        self._target = self._stem
        if not is_below:
            self._part = chr(ord(self._part) + 1) if "a" <= self._part < "z" else "a"
        self._stem.append("\n- " if is_below else f"\n({self._part}) ")

    def _begin_choice(self, is_right: bool) -> None:
        """Begin an option; those of a part, or of a second list, are lines of the stem, as a question has one list."""
        if self._listed is None:
            self._right += [len(self._options)] if is_right else []
            self._options.append([])
            self._target = self._options[-1]
            return
        name = letter(self._listed)
        self._listed += 1
        self._stem.append(f"\n{name}. ")
        self._answers += [f"({self._part}) {name}" if self._part else name] if is_right else []

    def _take_environment(self, token: re.Match[str], name: str, after: int) -> int:
        source, begins = self._exam.source, token["command"] == "begin"
        if name == "parts":
            self._in_parts = begins
        if name in _SOLUTIONS:
            self._target = self._analysis if begins else self._stem
        elif name in _CHOICES:
            self._target = self._stem
            self._listed = 0 if begins and (self._in_parts or self._options) else None
        elif name == "questions":
            self._target = self._stem if begins else self._outside
        elif begins and name in _DRAWINGS:
            self._job.fault(self.place, "images", f"a drawing ({name}) is not read")
            return self._end_of(name, after)
        elif begins and name in _SECTIONS and not self._in_parts:
            end = self._end_of(name, after)
            self._exam.begin_section(source[after:end].removesuffix(f"\\end{{{name}}}"))
            return end
        elif name not in _LAYOUT:
            self._target.append(source[token.start() : after])
            return after
        after = _after_options(source, after) if begins else after
        width = _WIDTH.match(source, after) if begins and name == "minipage" else None
        return width.end() if width else after

    def _end_of(self, name: str, start: int) -> int:
        end = self._exam.source.find(f"\\end{{{name}}}", start)
        return len(self._exam.source) if end < 0 else end + len(f"\\end{{{name}}}")


_BRACKETS = re.compile(r"(?:\[[^\[\]]*\])*")
_WIDTH = re.compile(r"(?:\{[^{}]*\})?")


def _after_options(source: str, start: int) -> int:
    match = _BRACKETS.match(source, start)
    return match.end() if match else start


def _figure(job: Job, place: Place, document: str, name: str) -> list[str]:
    folder = document.rpartition("/")[0]
    endings = ("", ".png", ".jpg", ".jpeg", ".svg")
    known = next((e for e in endings if f"{folder}/{name}{e}".lstrip("/") in job.source.names), None)
    if known is None:  # a single file, with figures beside it
        known = next((e for e in endings if e and _exists(job, f"{folder}/{name}{e}".lstrip("/"))), None)
    return job.figure(f"{name}{known or ''}", document, place, "images")


def _exists(job: Job, name: str) -> bool:
    try:
        return job.source.file(name).is_file()
    except SourceError:
        return False
