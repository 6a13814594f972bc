r"""Plain texts: Moodle's GIFT, Aiken, LaTeX's ``exam`` class, papers as text, and the text layer of PDF."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

from tqnet.importers.encodings import EncodingError, encoding_of
from tqnet.importers.job import Draft, Job, Place, lettered
from tqnet.importers.moodle import category_path, numbered
from tqnet.importers.paper import Paragraph, read_paper
from tqnet.importers.source import SourceError
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


def looks_like(text: str) -> str | None:
    """Return the format of a text file: ``gift``, ``aiken``, ``exam`` or ``text``; None if it has no questions."""
    if re.search(r"\\question\b|\\documentclass(?:\[[^\]]*\])?\{exam\}", text):
        return "exam"
    if re.search(r"^ANSWER:\s*[A-Z]\s*$", text, re.MULTILINE):
        return "aiken"
    if re.search(r"^\s*::|(?<!\\)\{\s*(?:[=~#]|T(?:RUE)?\s*\}|F(?:ALSE)?\s*\}|\})", text, re.MULTILINE):
        return "gift"
    return "text" if re.search(r"^\s*(?:1\s*[.)、．]|\(1\)|第\s*1\s*题)\s*\S", text, re.MULTILINE) else None


def read_aiken(job: Job) -> Iterator[Draft]:
    """Aiken: a question, options ``A. ..`` or ``A) ..``, and ``ANSWER: B``."""
    for name, text in _documents(job, ".txt"):
        stem: list[str] = []
        options: list[str] = []
        for number, line in enumerate([*text.split("\n"), ""], 1):
            place = job.place(name, number)
            if match := re.match(r"ANSWER:\s*([A-Z])\s*$", line):
                letter = ord(match[1]) - ord("A")
                if letter >= len(options):
                    job.fault(place, "answer", f"no option {match[1]}")
                answer = lettered([letter]) if letter < len(options) else None
                yield Draft({"stem": "\n".join(stem), "options": options, "answer": answer}, place)
                stem, options = [], []
            elif (match := re.match(r"([A-Z])[.)]\s+(.*)", line)) and match[1] == chr(ord("A") + len(options)) and stem:
                options.append(match[2].strip())
            elif options and line.strip():
                options[-1] += f"\n{line.strip()}"
            elif line.strip():
                stem.append(line.strip())
        if stem:
            job.leave_out(job.place(name, text.count("\n") + 1), "answer", "no ANSWER line after the last question")


# GIFT.

_GIFT_SPECIAL = re.compile(r"\\([~=#{}:])")
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
    title = re.match(r"::((?:\\:|[^:])*)::\s*", block)
    body = block[title.end() :] if title else block
    braces = re.search(r"(?<!\\)\{(.*?)(?<!\\)\}", body, re.DOTALL)
    before, after = (body[: braces.start()], body[braces.end() :]) if braces else (body, "")
    gap = f" {BLANK} " if after.strip() else ""
    record: dict[str, Any] = {
        "stem": _gift_text(f"{before.rstrip()}{gap}{after.strip()}"),
        "knowledge": [category] if category else [],
        "extras": {"name": _gift_text(title[1])} if title else {},
    }
    if braces is None:
        return record | {"type": "description"}
    content, _, general = braces[1].partition("####")
    if general.strip():
        record["analysis"] = _gift_text(general.strip())
    return record | _gift_answers(job, place, content.strip(), record["stem"])


def _gift_answers(job: Job, place: Place, content: str, stem: str) -> dict[str, Any]:
    if not content:
        return {"type": "essay"}
    if match := re.match(r"(T|TRUE|F|FALSE)\s*(?:(?<!\\)#|$)", content, re.IGNORECASE):
        return {"type": "truefalse", "options": ["True", "False"], "answer": "A" if match[1][0] in "Tt" else "B"}
    is_number = content.startswith("#")
    parts = re.findall(r"(?<!\\)([=~])((?:\\.|[^=~\\])*)", content.removeprefix("#"), re.DOTALL)
    if is_number and not parts:
        parts = [("=", content[1:])]
    answers = []  # (share, text)
    for mark, text in parts:
        share = _GIFT_SHARE.match(text.strip())
        value = float(share[1]) if share else 100.0 if mark == "=" else 0.0
        answer = re.split(r"(?<!\\)#", text.strip()[share.end() :] if share else text)[0]
        answers.append((value, _gift_text(answer.strip())))
    right = [text for value, text in answers if value > 0]
    if not right:
        job.fault(place, "answer", "none is right")
    if is_number:
        number, _, tolerance = right[0].partition(":") if right else ("", "", "")
        return {"type": "numerical", "answer": number or None, "extras": {"tolerance": tolerance} if tolerance else {}}
    pairs = [tuple(part.strip() for part in text.split("->", 1)) for text in right if "->" in text]
    if pairs and len(pairs) == len(answers):
        options = sorted({match for _, match in pairs})
        items = numbered([item for item, _ in pairs])
        answer = ", ".join(f"{i}-{lettered([options.index(match)])}" for i, (_, match) in enumerate(pairs, 1))
        return {"type": "matching", "stem": f"{stem}\n{items}", "options": options, "answer": answer}
    if any(mark == "~" for mark, _ in parts):
        best = [i for i, (value, _) in enumerate(answers) if value > 0]
        return {"type": "multichoice", "options": [text for _, text in answers], "answer": lettered(best) or None}
    extras = {"accepted": right[1:]} if right[1:] else {}
    return {"type": "shortanswer", "answer": right[0] if right else None, "extras": extras}


def _gift_text(text: str) -> str:
    kind = _GIFT_FORMAT.match(text)
    text = _GIFT_SPECIAL.sub(r"\1", text[kind.end() :] if kind else text).replace("\\n", "\n").strip()
    if kind and kind[1] in ("html", "moodle"):
        return plain(text).text
    return plain_texts([text])[0].text


# LaTeX's exam class.

_EXAM_TOKEN = re.compile(
    r"\\(?P<command>question|titledquestion|part|subpart|subsubpart|choice|CorrectChoice|correctchoice|section|"
    r"includegraphics|fillin|begin|end)\b\*?\s*(?:\[(?P<option>[^\]]*)\])?\s*(?P<braces>\{[^{}]*\})?(?:\[[^\]]*\])?"
)
_EXAM_CHOICES = ("choices", "checkboxes", "oneparchoices", "oneparcheckboxes")
_EXAM_SOLUTIONS = ("solution", "solutionorbox", "solutionorlines", "solutionordottedlines")
_EXAM_DROPPED = re.compile(
    r"\\(?:vspace|hspace|vfill|newpage|clearpage|noindent|centering|makeemptybox|answerline|label)\*?(?:\[[^\]]*\]|\{[^{}]*\})*"
)


def read_exam(job: Job) -> Iterator[Draft]:
    r"""LaTeX's ``exam`` class: ``\question``, parts, choices, ``\CorrectChoice``, ``\fillin``, solutions, figures."""
    for name, text in _documents(job, ".tex"):
        source = re.sub(r"(?<!\\)%.*$", "", text, flags=re.MULTILINE)
        questions = [match.start() for match in re.finditer(r"\\(?:titled)?question\b", source)]
        section = ""
        for begin, end in zip(questions, [*questions[1:], len(source)], strict=True):
            headings = re.findall(r"\\section\*?\{([^{}]*)\}", source[:begin])
            section = headings[-1] if headings else ""
            place = job.place(name, source.count("\n", 0, begin) + 1)
            yield Draft(_exam(job, place, name, source[begin:end], section), place)


def _exam(job: Job, place: Place, document: str, source: str, section: str) -> dict[str, Any]:
    parts: dict[str, list[str]] = {"stem": [], "analysis": []}
    options: list[str] = []
    right: list[int] = []
    answers: list[str] = []
    images: list[str] = []
    extras: dict[str, Any] = {"section": section} if section else {}
    target, position, depth = "stem", 0, 0
    source = re.split(r"\\end\{(?:questions|document)\}", source)[0]

    def add(text: str) -> None:
        if target == "options" and options:
            options[-1] += text
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
            options.append("")
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
    stem, analysis, *texts = map(_exam_text, ("".join(parts["stem"]), "".join(parts["analysis"]), *options))
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
    text = re.sub(r"\\\\(?:\[[^\]]*\])?\s*\n", "\n", text)
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
