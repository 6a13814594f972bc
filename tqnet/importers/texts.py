"""Text files: which format they have, Aiken, and papers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tqnet.importers.encodings import EncodingError, encoding_of
from tqnet.importers.job import Draft, Job, lettered
from tqnet.importers.paper import read_paper
from tqnet.importers.paper_lines import QUESTION_WORDS, Paragraph
from tqnet.importers.source import SourceError


def documents(job: Job, *endings: str) -> Iterator[tuple[str, str]]:
    """Yield the name and text of each file with one of the endings, or of a single file of any."""
    names = [name for name in job.source.names if name.lower().endswith(endings)] or job.source.names[:1]
    for name in names:
        try:
            content = job.source.read(name)
            encoding = job.settings.encoding or encoding_of(job.source.file(name))
            yield name, content.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
        except (SourceError, EncodingError, UnicodeError) as error:
            job.leave_unread(job.place(name), str(error))


_AIKEN_LINE = r"^[ \t]*ANSWER[ \t]*[:：][ \t]*\(?[A-Z][.)]*[ \t]*$"
_GIFT_BLOCK = r"^[ \t]*::|(?<!\\)\{\s*(?:[=~#]|T(?:RUE)?\s*\}|F(?:ALSE)?\s*\}|\})"
_FIRST_QUESTION = rf"1[ \t]*[.)、．]|\(1\)|第[ \t]*1[ \t]*[题題]|(?i:{QUESTION_WORDS}|Q)[ \t]*1(?!\d)[.):：]?"
#: What tells a format, in order. No pattern begins with white space across lines: on blank lines its time is quadratic.
_SIGNS = (
    ("exam", re.compile(r"\\question\b|\\documentclass(?:\[[^\[\]]*\])?\{exam\}")),
    ("aiken", re.compile(_AIKEN_LINE, re.MULTILINE)),
    ("gift", re.compile(_GIFT_BLOCK, re.MULTILINE)),
    ("text", re.compile(rf"^[ \t]*(?:{_FIRST_QUESTION})\s*\S", re.MULTILINE)),
    ("aiken", re.compile(_AIKEN_LINE, re.MULTILINE | re.IGNORECASE)),  # papers have "Answer: B" too
)


def looks_like(text: str) -> str | None:
    """Return the format of a text file: ``gift``, ``aiken``, ``exam`` or ``text``; None if it has no questions."""
    return next((name for name, sign in _SIGNS if sign.search(text)), None)


_AIKEN_ANSWER = re.compile(r"ANSWER\s*[:：]\s*(?:\(?(?P<letter>[A-Z])[.)]*$)?", re.IGNORECASE)
_AIKEN_OPTION = re.compile(r"\(?(?P<letter>[A-Za-z])[.)](?:\s+(?P<text>.*))?")
_AIKEN_FEEDBACK = re.compile(r"(?:FEEDBACK|EXPLANATION)\s*[:：]\s*", re.IGNORECASE)


def read_aiken(job: Job) -> Iterator[Draft]:
    """Aiken: a question, options ``A. ..`` or ``A) ..``, and ``ANSWER: B``; also ``a)``, ``(A)`` and ``Answer: b``.

    ``FEEDBACK:`` below the answer, which some tools write, is the analysis. A question without an answer ends where
    options begin again.
    """
    for name, text in documents(job, ".txt"):
        yield from _AikenFile(job, name).drafts(text)


class _AikenFile:
    """The question of a file that is being read; blank lines are kept until it is clear what they separate."""

    def __init__(self, job: Job, name: str):
        self._job = job
        self._name = name
        self._stem: list[str] = []
        self._options: list[list[str]] = []
        self._last: Draft | None = None  # its feedback may follow
        self._in_feedback = False

    def drafts(self, text: str) -> Iterator[Draft]:
        first = ""  # letter of the question's options
        for number, line in enumerate(map(str.strip, text.split("\n")), 1):
            expected = chr(ord(first) + len(self._options)) if self._options else "Aa"
            option = _AIKEN_OPTION.fullmatch(line) if self._stem else None
            letter = option["letter"] if option else ""
            if (answer := _AIKEN_ANSWER.match(line)) and (answer["letter"] or self._options):
                yield from self._ended(number, answer["letter"] or "")
            elif option and letter in expected:
                first = first if self._options else letter
                self._options.append([option["text"] or ""])
            elif option and letter == first and (stem := self._next_stem()):
                self._job.fault(self._job.place(self._name, number), "answer", "no ANSWER line before these options")
                yield from self._ended(number, None)
                self._stem, self._options = stem, [[option["text"] or ""]]
            elif not self._takes_feedback(line):
                (self._options[-1] if self._options else self._stem).append(line)
                self._stem = self._stem if any(self._stem) else []
        if any(self._stem):
            place = self._job.place(self._name, text.count("\n") + 1)
            self._job.leave_out(place, "answer", "no ANSWER line after the last question")
        yield from filter(None, [self._last])

    def _next_stem(self) -> list[str]:
        """Take the next question's stem from the end of the last option: what follows a blank line, or its own line."""
        lines = self._options[-1]
        cut = lines.index("", 1) if "" in lines[1:-1] else 0
        self._options[-1], stem = lines[: cut + 1], lines[cut + 1 :]
        return stem if any(stem) else []

    def _takes_feedback(self, line: str) -> bool:
        feedback = None if self._stem or self._last is None else _AIKEN_FEEDBACK.match(line)
        self._in_feedback = bool(feedback) or (self._in_feedback and bool(line))
        if self._in_feedback and self._last:
            lines = [self._last.record.get("analysis"), line[feedback.end() :] if feedback else line]
            self._last.record["analysis"] = "\n".join(filter(None, lines)) or None
        return self._in_feedback

    def _ended(self, number: int, letter: str | None) -> Iterator[Draft]:
        """Yield the question before, and keep this one, which ends at a line without an answer if it is None."""
        place = self._job.place(self._name, number)
        right = ord(letter.upper()) - ord("A") if letter else len(self._options)
        if right >= len(self._options) and letter is not None:
            self._job.fault(place, "answer", f"no option {letter.upper()}" if letter else "no single letter")
        answer = lettered([right]) if right < len(self._options) else None
        texts = ["\n".join(filter(None, lines)) for lines in self._options]
        yield from filter(None, [self._last])
        stem = "\n".join(filter(None, self._stem))
        self._last = Draft({"stem": stem, "options": texts, "answer": answer}, place)
        self._stem, self._options, self._in_feedback = [], [], False


# Papers.


def read_text(job: Job) -> Iterator[Draft]:
    """A paper as a text file: `tqnet.importers.paper` says which layout is understood."""
    for name, text in documents(job, ".txt", ".md"):
        lines = enumerate(text.split("\n"), 1)
        yield from read_paper(job, (Paragraph(line, job.place(name, number)) for number, line in lines), are_lines=True)
