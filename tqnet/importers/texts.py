r"""Plain texts: Moodle's GIFT, Aiken, LaTeX's ``exam`` class, papers as text, and the text layer of PDF."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from latex2mathml.symbols_parser import SYMBOLS

from tqnet.importers.encodings import EncodingError, encoding_of
from tqnet.importers.job import Draft, Job, Place, lettered
from tqnet.importers.moodle import category_path, numbered
from tqnet.importers.paper import Paragraph, read_paper
from tqnet.importers.source import SourceError
from tqnet.text.formulas import FORMULA, segments
from tqnet.text.plain import BLANK, plain, plain_texts


def _documents(job: Job, *endings: str) -> Iterator[tuple[str, str]]:
    """Yield the name and text of each file with one of the endings, or of a single file of any."""
    names = [name for name in job.source.names if name.lower().endswith(endings)] or job.source.names[:1]
    for name in names:
        try:
            content = job.source.read(name)
            encoding = job.settings.encoding or encoding_of(job.source.file(name))
            yield name, content.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
        except (SourceError, EncodingError, UnicodeError) as error:
            job.leave_unread(job.place(name), str(error))


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield stretches of lines between blank lines, and the number of each one's first line."""
    lines: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.strip():
            lines.append(line)
        elif lines:
            yield number - len(lines), "\n".join(lines)
            lines = []


_AIKEN_LINE = r"^[ \t]*ANSWER[ \t]*[:：][ \t]*\(?[A-Z][.)]*[ \t]*$"
_GIFT_BLOCK = r"^[ \t]*::|(?<!\\)\{\s*(?:[=~#]|T(?:RUE)?\s*\}|F(?:ALSE)?\s*\}|\})"
#: What tells a format, in order. No pattern begins with white space across lines: on blank lines its time is quadratic.
_SIGNS = (
    ("exam", re.compile(r"\\question\b|\\documentclass(?:\[[^\[\]]*\])?\{exam\}")),
    ("aiken", re.compile(_AIKEN_LINE, re.MULTILINE)),
    ("gift", re.compile(_GIFT_BLOCK, re.MULTILINE)),
    ("text", re.compile(r"^[ \t]*(?:1[ \t]*[.)、．]|\(1\)|第[ \t]*1[ \t]*题)\s*\S", re.MULTILINE)),
    ("aiken", re.compile(_AIKEN_LINE, re.MULTILINE | re.IGNORECASE)),  # papers have "Answer: B" too
)


def looks_like(text: str) -> str | None:
    """Return the format of a text file: ``gift``, ``aiken``, ``exam`` or ``text``; None if it has no questions."""
    return next((name for name, sign in _SIGNS if sign.search(text)), None)


_AIKEN_ANSWER = re.compile(r"ANSWER\s*[:：]\s*(?:\(?(?P<letter>[A-Z])[.)]*$)?", re.IGNORECASE)
_AIKEN_OPTION = re.compile(r"\(?(?P<letter>[A-Za-z])[.)](?:\s+(?P<text>.*))?")


def read_aiken(job: Job) -> Iterator[Draft]:
    """Aiken: a question, options ``A. ..`` or ``A) ..``, and ``ANSWER: B``; also ``a)``, ``(A)`` and ``Answer: b``."""
    for name, text in _documents(job, ".txt"):
        stem: list[str] = []
        options: list[list[str]] = []
        first = ""  # letter of the question's options
        for number, line in enumerate(map(str.strip, text.split("\n")), 1):
            expected = chr(ord(first) + len(options)) if options else "Aa"
            if (answer := _AIKEN_ANSWER.match(line)) and (answer["letter"] or options):
                place = job.place(name, number)
                yield Draft(_aiken(job, place, stem, options, answer["letter"] or ""), place)
                stem, options = [], []
            elif stem and (option := _AIKEN_OPTION.fullmatch(line)) and option["letter"] in expected:
                first = first if options else option["letter"]
                options.append([option["text"] or ""])
            elif line:
                (options[-1] if options else stem).append(line)
        if stem:
            job.leave_out(job.place(name, text.count("\n") + 1), "answer", "no ANSWER line after the last question")


def _aiken(job: Job, place: Place, stem: list[str], options: list[list[str]], letter: str) -> dict[str, Any]:
    right = ord(letter.upper()) - ord("A") if letter else len(options)
    if right >= len(options):
        job.fault(place, "answer", f"no option {letter.upper()}" if letter else "no single letter")
    answer = lettered([right]) if right < len(options) else None
    return {"stem": "\n".join(stem), "options": ["\n".join(lines) for lines in options], "answer": answer}


# GIFT. Until all marks have been read, the characters that are none, being escaped or in a formula, are noncharacters.

_GIFT_LITERAL = str.maketrans("~=#{}:>", "\ufdd1\ufdd2\ufdd3\ufdd4\ufdd5\ufdd6\ufdd7")
_GIFT_PLAIN = {literal: mark for mark, literal in _GIFT_LITERAL.items()}
_GIFT_NEWLINE = "\ufdd0"
_GIFT_ESCAPE = re.compile(r"\\([\\~=#{}:n])")
_GIFT_COMMAND = re.compile(f"{_GIFT_NEWLINE}([A-Za-z]+)")
#: Dollars of prices with marks between them: "$5 {=$6", "5$ ~6$", "$5 ~$6".
_GIFT_MONEY = re.compile(r"\$\s*[=~]|\$[^$]*\{\s*[=~#]|\$[\d.,]+\s*[=~]\s*\$")
_GIFT_FORMAT = re.compile(r"\[(html|moodle|plain|markdown)\]\s*")
_GIFT_SHARE = re.compile(r"%(-?\d+(?:\.\d+)?)%")


def read_gift(job: Job) -> Iterator[Draft]:
    """GIFT: Moodle's text format, with categories, titles, weights, feedback, matching and numbers."""
    for name, text in _documents(job, ".txt", ".gift"):
        category: list[str] = []
        for line, block in _blocks(re.sub(r"^[ \t]*//.*$", "//", text, flags=re.MULTILINE)):
            lines = [part for part in block.split("\n") if part != "//"]
            while lines and lines[0].startswith("$CATEGORY:"):
                category = category_path(lines.pop(0).removeprefix("$CATEGORY:"))
            if lines:
                yield Draft(_gift(job, job.place(name, line), "\n".join(lines), category), job.place(name, line))


def _gift(job: Job, place: Place, block: str, category: list[str]) -> dict[str, Any]:
    text = _GIFT_ESCAPE.sub(lambda sign: _GIFT_NEWLINE if sign[1] == "n" else sign[1].translate(_GIFT_LITERAL), block)
    title = re.match(r"::(.*?)::", text, re.DOTALL)
    before, opening, rest = _gift_cut(text[title.end() :] if title else text, "{")
    content, closing, after = _gift_cut(rest, "}")
    gap = f" {BLANK} " if after.strip() else ""
    record: dict[str, Any] = {
        "stem": _gift_text(f"{before.rstrip()}{gap}{after.strip()}"),
        "knowledge": [category] if category else [],
        "extras": {"name": _gift_text(title[1])} if title else {},
    }
    if opening and not closing:
        job.fault(place, "answer", "no closing brace")
    if {"{", "}"} & {*before, *content, *_gift_marked(after)}:
        job.fault(place, "answer", "braces outside of formulas and without a backslash are taken for text")
    if not opening:
        return record | {"type": "description"}
    content, _, general = content.partition("####")
    fields = _gift_answers(job, place, content.strip(), record["stem"])
    analysis = filter(None, (_gift_text(general), *fields.get("analysis", ())))
    return record | fields | {"analysis": "\n".join(analysis) or None}


def _gift_marked(text: str) -> str:
    """Return a text of the same length in which nothing but marks is written as such."""
    pieces, position = [], 0
    plain_text = text.translate(_GIFT_PLAIN)
    while formula := FORMULA.search(plain_text, position):
        piece = text[formula.start() : formula.end()]
        is_formula = not _GIFT_MONEY.match(piece) and piece.count("{") == piece.count("}")
        end = formula.end() if is_formula else formula.start() + 1  # a dollar that is a price
        pieces += [text[position : formula.start()], piece.translate(_GIFT_LITERAL) if is_formula else piece[:1]]
        position = end
    return "".join([*pieces, text[position:]])


def _gift_cut(text: str, mark: str) -> tuple[str, str, str]:
    """Partition a text at a mark; formulas are sought on each side alone, since dollars may be prices."""
    before, mark, _ = _gift_marked(text).partition(mark)
    return before, mark, text[len(before) + len(mark) :]


def _gift_answers(job: Job, place: Place, content: str, stem: str) -> dict[str, Any]:
    """Return the fields that the answers give; the analysis as a list of texts."""
    if not content:
        return {"type": "essay"}
    word, *comments = content.split("#")
    if word.strip().upper() in ("T", "TRUE", "F", "FALSE"):
        answer = "A" if word[0] in "Tt" else "B"
        analysis = list(map(_gift_text, comments))
        return {"type": "truefalse", "options": ["True", "False"], "answer": answer, "analysis": analysis}
    is_number = content.startswith("#")
    first, *parts = re.split("([=~])", content.removeprefix("#"))
    if first.strip():
        parts = ["=" if is_number or "~" not in parts else "~", first, *parts]
    marks, answers, shares, feedback = parts[::2], [], [], []
    for mark, text in zip(marks, parts[1::2], strict=True):
        text, _, comment = text.strip().partition("#")
        share = _GIFT_SHARE.match(text)
        shares.append(float(share[1]) if share else 100.0 if mark == "=" else 0.0)
        answers.append(text[share.end() :] if share else text)
        feedback.append(_gift_text(comment))
    # With "=", a single answer is asked for, and a smaller share is partial credit.
    least = max(shares) if "=" in marks else 0.0
    best = [i for i, share in enumerate(shares) if share > 0 and share >= least]
    if not best:
        job.fault(place, "answer", "none is right")
    fields: dict[str, Any] = {"analysis": feedback}
    if "~" in marks and not is_number:
        texts = list(map(_gift_text, answers))
        analysis = [f"{lettered([i])}: {text}" for i, text in enumerate(feedback) if text]
        return {"type": "multichoice", "options": texts, "answer": lettered(best) or None, "analysis": analysis}
    pairs = [[_gift_text(part) for part in answer.split("->", 1)] for answer in answers]
    if all(len(pair) == 2 for pair in pairs) and not is_number:
        options = sorted({match for _, match in pairs})
        items = numbered([item for item, _ in pairs])
        answer = ", ".join(f"{i}-{lettered([options.index(match)])}" for i, (_, match) in enumerate(pairs, 1))
        return fields | {"type": "matching", "stem": f"{stem}\n{items}", "options": options, "answer": answer}
    right, *others = [_gift_text(answers[i]) for i in best] or [""]
    if is_number:
        right, _, tolerance = right.partition(":")
        extras: dict[str, Any] = {"tolerance": tolerance} if tolerance not in ("", "0") else {}
        return fields | {"type": "numerical", "answer": right or None, "extras": extras}
    return fields | {"type": "shortanswer", "answer": right or None, "extras": {"accepted": others} if others else {}}


def _gift_text(text: str) -> str:
    text = text.strip()
    kind = _GIFT_FORMAT.match(text)
    text = _gift_newlines((text[kind.end() :] if kind else text).translate(_GIFT_PLAIN)).strip()
    if kind and kind[1] in ("html", "moodle"):
        return plain(text).text
    return plain_texts([text])[0].text


def _gift_newlines(text: str) -> str:
    r"""Write newlines for ``\n``, unless it begins a command of a formula, ``\neq``."""
    pieces = []
    for part in segments(text):
        piece = text[part.start : part.end]
        pieces.append(_GIFT_COMMAND.sub(_gift_command, piece) if part.is_formula else piece)
    return "".join(pieces).replace(_GIFT_NEWLINE, "\n")


def _gift_command(match: re.Match[str]) -> str:
    command = f"\\n{match[1]}"
    return command if command in SYMBOLS else match[0]


# LaTeX's exam class.

_EXAM_TOKEN = re.compile(
    r"\\(?P<command>question|titledquestion|part|subpart|subsubpart|choice|CorrectChoice|correctchoice|section|"
    r"includegraphics|fillin|begin|end)\b\*?\s*(?:\[(?P<option>[^\[\]]*)\])?\s*(?P<braces>\{[^{}]*\})?(?:\[[^\[\]]*\])?"
)
_EXAM_CHOICES = ("choices", "checkboxes", "oneparchoices", "oneparcheckboxes")
_EXAM_SOLUTIONS = ("solution", "solutionorbox", "solutionorlines", "solutionordottedlines")
_EXAM_DROPPED = re.compile(
    r"\\(?:vspace|hspace|vfill|newpage|clearpage|noindent|centering|makeemptybox|answerline|label)\*?(?:\[[^\[\]]*\]|\{[^{}]*\})*"
)


def read_exam(job: Job) -> Iterator[Draft]:
    r"""LaTeX's ``exam`` class: ``\question``, parts, choices, ``\CorrectChoice``, ``\fillin``, solutions, figures."""
    for name, text in _documents(job, ".tex"):
        source = re.sub(r"(?<!\\)%.*$", "", text, flags=re.MULTILINE)
        questions: list[tuple[int, str]] = []  # where each begins, and its section
        section, line, counted = "", 1, 0
        for match in re.finditer(r"\\section\*?\{(?P<section>[^{}]*)\}|\\(?:titled)?question\b", source):
            if match["section"] is None:
                questions.append((match.start(), section))
            else:
                section = match["section"]
        for (begin, section), (end, _) in pairwise([*questions, (len(source), "")]):
            line, counted = line + source.count("\n", counted, begin), begin
            place = job.place(name, line)
            yield Draft(_exam(job, place, name, source[begin:end], section), place)


def _exam(job: Job, place: Place, document: str, source: str, section: str) -> dict[str, Any]:
    parts: dict[str, list[str]] = {"stem": [], "analysis": []}
    options: list[list[str]] = []
    right: list[int] = []
    answers: list[str] = []
    images: list[str] = []
    extras: dict[str, Any] = {"section": section} if section else {}
    target, position, depth = "stem", 0, 0
    source = re.split(r"\\end\{(?:questions|document)\}", source)[0]

    def add(text: str) -> None:
        if target == "options" and options:
            options[-1].append(text)
        elif target != "options":
            parts[target].append(text)

    for token in _EXAM_TOKEN.finditer(source):
        add(source[position : token.start()])
        position = token.end()
        command, argument = token["command"], (token["braces"] or "")[1:-1]
        if command in ("question", "titledquestion"):
            if token["option"]:
                extras["points"] = token["option"]
            position = token.end() if command == "titledquestion" or not argument else token.start("braces")
        elif command in ("part", "subpart", "subsubpart"):
            depth += command == "part"
            add(f"\n({chr(ord('a') + (depth - 1) % 26)}) " if command == "part" else "\n- ")
        elif command.lower() in ("choice", "correctchoice"):
            target = "options"
            if command.lower() == "correctchoice":
                right.append(len(options))
            options.append([])
        elif command == "includegraphics":
            images += _exam_figure(job, place, document, argument)
        elif command == "fillin":
            add(BLANK)
            answers += [token["option"]] if token["option"] else []
        elif command == "begin" and argument in _EXAM_SOLUTIONS:
            target = "analysis"
        elif command in ("begin", "end") and argument in (*_EXAM_CHOICES, *_EXAM_SOLUTIONS):
            target = "options" if command == "begin" else "stem"
        elif command in ("begin", "end") and argument not in ("parts", "subparts", "center", "figure", "questions"):
            add(token[0])
    add(source[position:])
    stem, analysis, *texts = map(_exam_text, map("".join, (parts["stem"], parts["analysis"], *options)))
    answer = lettered(right) or "; ".join(map(_exam_text, answers)) or None
    return {
        "stem": stem,
        "options": texts,
        "answer": answer,
        "analysis": analysis or None,
        "images": images,
        "extras": extras,
    }


def _exam_figure(job: Job, place: Place, document: str, name: str) -> list[str]:
    folder = document.rpartition("/")[0]
    endings = ("", ".png", ".jpg", ".jpeg", ".svg")
    known = next((e for e in endings if f"{folder}/{name}{e}".lstrip("/") in job.source.names), None)
    if known is None and len(job.source.names) == 1:  # a single file, with figures beside it
        known = next((e for e in endings if e and _exists(job, f"{folder}/{name}{e}".lstrip("/"))), None)
    return job.figure(f"{name}{known or ''}", document, place, "images")


def _exists(job: Job, name: str) -> bool:
    try:
        return job.source.file(name).is_file()
    except SourceError:
        return False


def _exam_text(text: str) -> str:
    text = _EXAM_DROPPED.sub(" ", text)
    text = re.sub(r"\\(?:textbf|textit|emph|underline|textrm)\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\\\(?:\[[^\[\]\n]*\])?[ \t]*\n", "\n", text)
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))


# Papers.


def read_text(job: Job) -> Iterator[Draft]:
    """A paper as a text file: `tqnet.importers.paper` says which layout is understood."""
    for name, text in _documents(job, ".txt", ".md"):
        lines = enumerate(text.split("\n"), 1)
        yield from read_paper(job, (Paragraph(line, job.place(name, number)) for number, line in lines))


def read_pdf(job: Job) -> Iterator[Draft]:
    """The text layer of PDF files as papers, line by line; figures are pictures within pages.

    Formulas are whatever characters the layer has. A page without a text layer is reported as unread.
    """
    for name in job.source.names:
        if name.lower().endswith(".pdf"):
            yield from read_paper(job, _pdf_lines(job, name))


def _pdf_lines(job: Job, name: str) -> Iterator[Paragraph]:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(job.source.file(name))
    except (SourceError, pypdfium2.PdfiumError) as error:
        job.leave_unread(job.place(name), str(error))
        return
    for number, page in enumerate(document, 1):
        place = Place(f"{job.source.shown(name)}#{number}")
        text = page.get_textpage().get_text_bounded()
        if not text.strip():
            job.leave_unread(place, "a page without text, perhaps scanned")
            continue
        yield from _pdf_page(job, page, place)


def _pdf_page(job: Job, page: Any, place: Place) -> Iterator[Paragraph]:
    """Yield the lines of a page in the order of its text layer, each picture after the line above it."""
    import pypdfium2.raw as pdfium

    layer = page.get_textpage()
    lines: list[tuple[str, float, float]] = []  # text, left, bottom
    position = 0
    for text in layer.get_text_range().split("\n"):
        if text.strip():
            start = position + len(text) - len(text.lstrip())
            left, bottom, _, _ = layer.get_charbox(start)
            lines.append((text.strip(), left, bottom))
        position += len(text) + 1
    below: dict[int, list[str]] = {}
    for image in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE]):
        stream = io.BytesIO()
        image.get_bitmap(render=True).to_pil().save(stream, "PNG")
        left, _, right, top = image.get_bounds()
        above = [at for at, (_, x, y) in enumerate(lines) if y >= top - 5 and x <= right]
        nearest = min(above, key=lambda at: lines[at][2] - top, default=0)
        below.setdefault(nearest, []).extend(job.embedded(stream.getvalue(), place, "images"))
    for at, (text, _, _) in enumerate(lines):
        yield Paragraph(text, place, tuple(below.get(at, ())))
