"""GIFT, Moodle's text format: categories, titles, weights, feedback, matching, numbers, and figures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from latex2mathml.symbols_parser import SYMBOLS

from tqnet.importers.job import Draft, Job, Place, distinct, lettered
from tqnet.importers.moodle import category_path
from tqnet.importers.moodle_types import numbered
from tqnet.importers.texts import documents
from tqnet.text.formulas import FORMULA, segments
from tqnet.text.plain import BLANK, plain, plain_texts

# Until all marks have been read, the characters that are none, being escaped or in a formula, are noncharacters.

_GIFT_LITERAL = str.maketrans("~=#{}:>", "\ufdd1\ufdd2\ufdd3\ufdd4\ufdd5\ufdd6\ufdd7")
_GIFT_PLAIN = {literal: mark for mark, literal in _GIFT_LITERAL.items()}
_GIFT_NEWLINE = "\ufdd0"
_GIFT_ESCAPE = re.compile(r"\\([\\~=#{}:n])")
_GIFT_COMMAND = re.compile(f"{_GIFT_NEWLINE}([A-Za-z]+)")
#: Dollars of prices with marks between them: "$5 {=$6", "5$ ~6$", "$5 ~$6".
_GIFT_MONEY = re.compile(r"\$\s*[=~]|\$[^$]*\{\s*[=~#]|\$[\d.,]+\s*[=~]\s*\$")
_GIFT_FORMAT = re.compile(r"\[(html|moodle|plain|markdown)\]\s*")
_GIFT_SHARE = re.compile(r"%(-?\d+(?:\.\d+)?)%")
_FILE_OF_MOODLE = "@@PLUGINFILE@@"


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield stretches of lines between blank lines, and the number of each one's first line."""
    lines: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.strip():
            lines.append(line)
        elif lines:
            yield number - len(lines), "\n".join(lines)
            lines = []


def read_gift(job: Job) -> Iterator[Draft]:
    """GIFT: Moodle's text format, with categories, titles, weights, feedback, matching and numbers."""
    for name, text in documents(job, ".txt", ".gift"):
        category: list[str] = []
        for line, block in _blocks(re.sub(r"^[ \t]*//.*$", "//", text, flags=re.MULTILINE)):
            lines = [part for part in block.split("\n") if part != "//"]
            while lines and lines[0].startswith("$CATEGORY:"):
                category = category_path(lines.pop(0).removeprefix("$CATEGORY:"))
            if lines:
                question = _GiftQuestion(job, job.place(name, line), name)
                yield Draft(question.record("\n".join(lines), category), question.place)


class _GiftQuestion:
    """A question of a document, and the figures of its texts so far."""

    def __init__(self, job: Job, place: Place, document: str):
        self._job = job
        self.place = place
        self._document = document
        self._images: list[str] = []

    def record(self, block: str, category: list[str]) -> dict[str, Any]:
        """Return the record of a draft."""
        text = _GIFT_ESCAPE.sub(
            lambda sign: _GIFT_NEWLINE if sign[1] == "n" else sign[1].translate(_GIFT_LITERAL), block
        )
        title = re.match(r"::(.*?)::", text, re.DOTALL)
        before, opening, rest = _gift_cut(text[title.end() :] if title else text, "{")
        content, closing, after = _gift_cut(rest, "}")
        gap = f" {BLANK} " if after.strip() else ""
        stem = self._shown(f"{before.rstrip()}{gap}{after.strip()}")
        if opening and not closing:
            self._job.fault(self.place, "answer", "no closing brace")
        if {"{", "}"} & {*before, *content, *_gift_marked(after)}:
            self._job.fault(
                self.place, "answer", "braces outside of formulas and without a backslash are taken for text"
            )
        content, _, general = content.partition("####")
        fields: dict[str, Any] = self._answers(content.strip(), stem) if opening else {"type": "description"}
        name: dict[str, Any] = {"name": self._text(title[1])} if title else {}
        analysis = filter(None, (self._text(general), *fields.get("analysis", ())))
        return {
            "stem": stem,
            "knowledge": [category] if category else [],
            **fields,
            "analysis": "\n".join(analysis) or None,
            "extras": name | fields.get("extras", {}),
            "images": distinct(self._images),
        }

    def _answers(self, content: str, stem: str) -> dict[str, Any]:
        """Return the fields that the answers give; the analysis as a list of texts."""
        if not content:
            return {"type": "essay"}
        word, *comments = content.split("#")
        if word.strip().upper() in ("T", "TRUE", "F", "FALSE"):
            answer = "A" if word[0] in "Tt" else "B"
            analysis = list(map(self._text, comments))
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
            feedback.append(self._text(comment))
        # With "=", a single answer is asked for, and a smaller share is partial credit.
        least = max(shares) if "=" in marks else 0.0
        best = [i for i, share in enumerate(shares) if share > 0 and share >= least]
        if not best:
            self._job.fault(self.place, "answer", "none is right")
        elif 0 < least < 100:
            self._job.fault(self.place, "answer", f"none counts whole; the best, of {least:g} %, is taken")
        fields: dict[str, Any] = {"analysis": feedback}
        if "~" in marks and not is_number:
            texts = list(map(self._shown, answers))
            analysis = [f"{lettered([i])}: {text}" for i, text in enumerate(feedback) if text]
            return {"type": "multichoice", "options": texts, "answer": lettered(best) or None, "analysis": analysis}
        if all("->" in answer for answer in answers) and not is_number:
            pairs = [[self._shown(part) for part in answer.split("->", 1)] for answer in answers]
            options = sorted({match for _, match in pairs})
            items = numbered([item for item, _ in pairs])
            answer = ", ".join(f"{i}-{lettered([options.index(match)])}" for i, (_, match) in enumerate(pairs, 1))
            return fields | {"type": "matching", "stem": f"{stem}\n{items}", "options": options, "answer": answer}
        right, *others = [self._shown(answers[i]) for i in best] or [""]
        partial = {self._shown(answers[i]): share for i, share in enumerate(shares) if 0 < share < least}
        extras: dict[str, Any] = {"accepted": others} if others else {}
        extras |= {"partial": partial} if partial else {}
        if is_number:
            right, _, tolerance = right.partition(":")
            extras |= {"tolerance": tolerance} if tolerance not in ("", "0") else {}
        return fields | {"type": "numerical" if is_number else "shortanswer", "answer": right or None, "extras": extras}

    def _shown(self, text: str) -> str:
        """Return a text of the stem or the options without marks and markup, and take its figures."""
        return self._text(text, is_shown=True)

    def _text(self, text: str, is_shown: bool = False) -> str:
        text = text.strip()
        kind = _GIFT_FORMAT.match(text)
        text = _gift_newlines((text[kind.end() :] if kind else text).translate(_GIFT_PLAIN)).strip()
        read = plain(text) if kind and kind[1] in ("html", "moodle") else plain_texts([text])[0]
        for lost in read.lost:
            self._job.fault(self.place, "stem" if is_shown else "analysis", lost)
        for source in read.images:
            if not is_shown:
                self._job.fault(self.place, "analysis", f"a figure of the feedback is not kept: {source!r:.200}")
                continue
            if source.startswith(_FILE_OF_MOODLE):  # which GIFT leaves out; it may lie beside the file
                source = unquote(source.removeprefix(_FILE_OF_MOODLE).partition("?")[0]).lstrip("/")
            self._images += self._job.figure(source, self._document, self.place, "images")
        return read.text


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
