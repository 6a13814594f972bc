"""JSON: a list, an object per line, or objects one after another; as rows of a table, and as records of data sets."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

from tqnet.importers.columns import columns_by_name, is_figure, singular
from tqnet.importers.encodings import encoding_marked
from tqnet.importers.job import Draft, Job, Place
from tqnet.importers.source import MAX_DOCUMENT, SourceError
from tqnet.importers.tables import Row, drafts
from tqnet.questions.question import FieldError
from tqnet.questions.reading import jsonl_records
from tqnet.text.formulas import segments

_BETWEEN = re.compile(r"[\s,\[\]]*")
_NEXT = re.compile(r"\n[^\S\n]*(?=\{)")

_SPLIT = re.compile(r"(?<![a-z])(?:(?P<train>train)|(?P<valid>dev|val)|(?P<test>test))(?:ing|id|idation|set)?(?![a-z])")


@dataclass(frozen=True)
class Record:
    """An object of a file.

    Attributes:
        name: ``train-12``: the file's stem and the record's number in it, from 1.
        file: Its part of the source.
        split: The split that the names of file and folders say.
    """

    fields: dict[str, Any]
    place: Place
    name: str
    file: str
    split: str | None


def read_json(job: Job) -> Iterator[Draft]:
    """Yield the objects of each ``.json`` and ``.jsonl`` file as rows of a table, with their keys as columns."""
    for name in _files(job):
        yield from drafts(job, _rows(job, name), name, by_program=True)


def _rows(job: Job, name: str) -> Iterator[Row]:
    for place, value in values(job, name):
        records = listed(value)
        for number, record in enumerate(records, 1):
            at = place if len(records) == 1 else Place(f"{place.file}#{number}")
            if isinstance(record, dict):
                record = _flat(record)
                yield at, record if job.settings.columns else _with_answer(record)
            else:
                job.leave_out(at, "record", "expected an object")


#: Objects around the list of questions: {"data": {"questions": [..]}}.
_DEPTH = 4


def listed(value: Any) -> list[Any]:
    """Return the records in a value.

    Of an object without a question, they are those in its lists, in its only list, under their ids, or told apart by
    parallel lists: ``{"article": .., "questions": [..], "options": [[..], ..]}``.
    """
    if not isinstance(value, dict):
        return [value]
    if exchanges := _exchanges(value):
        return exchanges
    if _has_stem(value):
        return [value]
    if several := _parallel(value):
        return several
    if questions := list(_questions(value)):
        return questions
    lists = [item for item in value.values() if isinstance(item, list) and item and isinstance(item[0], dict)]
    if len(lists) == 1:
        return lists[0]
    if 2 * sum(isinstance(item, dict) for item in value.values()) > len(value):
        return [{"id": name} | item if isinstance(item, dict) else item for name, item in value.items()]
    return [value]


def _has_stem(value: Any) -> bool:
    return isinstance(value, dict) and "stem" in _columns(tuple(value))


@lru_cache(maxsize=256)  # most records of a file have the same keys
def _columns(names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return columns_by_name(names)


def _questions(value: dict[str, Any], depth: int = _DEPTH) -> Iterator[Any]:
    """Yield the items of the lists of questions in an object, which have its keys' split: ``{"train": [..]}``."""
    for name, item in value.items():
        if isinstance(item, list) and item and _has_stem(item[0]):
            split = split_of(name)
            yield from ({"split": split} | record if split and isinstance(record, dict) else record for record in item)
        elif isinstance(item, dict) and depth and not _has_stem(item):
            yield from _questions(item, depth - 1)


def _parallel(value: dict[str, Any]) -> list[Any]:
    """Return a record for each of several questions on one passage; [] if an object holds no such lists."""
    names = {name: singular(name) for name in value}
    stems = [name for name, single in names.items() if single != name and _has_stem({single: ""})]
    texts = value[stems[0]] if stems else None
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        return []
    lists = {name for name, item in value.items() if isinstance(item, list) and len(item) == len(texts)}
    rows = [
        {names[name]: item[place] if name in lists else item for name, item in value.items()}
        for place in range(len(texts))
    ]
    return _grouped(rows, value)


def _grouped(rows: list[dict[str, Any]], whole: dict[str, Any]) -> list[Any]:
    """Number the questions of one object that has an id, and make them a group."""
    names = [name for name in _columns(tuple(whole)).get("id", ()) if whole[name] is not None]
    if not names or len(rows) < 2:
        return list(rows)
    name, id = names[0], whole[names[0]]
    return [{"group": id} | row | {name: f"{id}-{place}"} for place, row in enumerate(rows, 1)]


def _exchanges(value: dict[str, Any]) -> list[Any]:
    """Return a record for each question of a chat: ``{"messages": [{"role": "user", "content": ..}, ..]}``.

    Its last turn without a reply is left out, unless there is no other; so is what tools and the system say. Beside a
    stem, a chat is none of the question's; one without a question is the object itself, so that it is reported.
    """
    chats = [name for name, item in value.items() if isinstance(item, list) and item and all(map(_is_turn, item))]
    others = {name: item for name, item in value.items() if name not in chats[:1]}
    if not chats or _has_stem(others):
        return []
    exchanges: list[tuple[list[str], list[Any], list[str]]] = []
    for role, (text, images) in ((turn["role"], _text_and_images(turn.get("content"))) for turn in value[chats[0]]):
        if role == "user":
            if not exchanges or exchanges[-1][-1]:
                exchanges.append(([], [], []))
            exchanges[-1][0].append(text)
            exchanges[-1][1].extend(images)
        elif role == "assistant" and text and exchanges:
            exchanges[-1][2].append(text)
    exchanges = [exchange for exchange in exchanges if exchange[-1]] or exchanges
    answers = _columns(tuple(others)).get("answer", ())
    is_answered = len(exchanges) == 1 and any(others[name] is not None for name in answers)
    rows = [
        others
        | {"question": "\n".join(filter(None, asked))}
        | ({"images": figures} if figures else {})
        | ({"analysis" if is_answered else "answer": replies[-1]} if replies else {})  # the last one, after a tool's
        for asked, figures, replies in exchanges
    ]
    return _grouped(rows, value) if rows else [value]


def _is_turn(item: Any) -> bool:
    return isinstance(item, dict) and "role" in item


def _text_and_images(content: Any) -> tuple[str, list[Any]]:
    """Return what a turn says, which may be in parts: ``[{"type": "text", "text": ..}, {"type": "image_url", ..}]``."""
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    images = [image for part in parts if isinstance(part, dict) for name, image in part.items() if is_figure(name)]
    return "\n".join(text for text in texts if isinstance(text, str)), images


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """Put the keys of an object that is the question beside those around it."""
    for name in _columns(tuple(record)).get("stem", ()):
        if isinstance(record[name], dict):
            return {key: item for key, item in record.items() if key != name} | record[name]
    return record


def _with_answer(record: dict[str, Any]) -> dict[str, Any]:
    """Take an answer out of its derivation, after ``####`` or, if there is no other, out of a box."""
    columns = _columns(tuple(record))
    answer, analysis = (record.get(*columns[name]) if name in columns else None for name in ("answer", "analysis"))
    if isinstance(answer, str) and "####" in answer:
        before, result, equation = derivation(answer)
        others = {name: item for name, item in record.items() if name not in columns["answer"]}
        named = "derivation" if "analysis" in others else "analysis"
        return {"answer": result, named: before, "equation": equation} | others
    if answer is None and "options" not in columns and isinstance(analysis, str) and (in_box := boxed(analysis)):
        return record | {"answer": in_box}
    return record


def _files(job: Job) -> Iterator[str]:
    return (name for name in job.source.names if PurePosixPath(name).suffix.lower() in (".json", ".jsonl"))


def records(job: Job) -> Iterator[Record]:
    """Yield every object of the source's ``.json`` and ``.jsonl`` files; any other value is a fault."""
    for name in _files(job):
        number = 0
        for place, value in values(job, name):
            if not isinstance(value, dict):
                job.leave_out(place, "record", "expected an object")
                continue
            number += 1
            yield Record(value, place, f"{PurePosixPath(name).stem}-{number}", name, split_of(name))


def values(job: Job, name: str) -> Iterator[tuple[Place, Any]]:
    """Yield the JSON values of one part of the source with their places; after a fault, go on with the next line."""
    for place, value in _values(job, name):
        repaired: list[str] = []
        try:
            mended = _repaired(value, repaired)
        except RecursionError:  # a table refuses it
            mended = value
        if repaired:
            message = f"control characters for LaTeX's backslashes, which are put back: {repaired[0]!r:.80}"
            job.fault(place, "record", message)
        yield place, mended


#: LaTeX whose single backslash JSON took for an escape: no text has a backspace or a form feed before a letter, as
#: "\\beta" and "\\frac" give; the white space of "\\theta" is told by the rest of the command, within a formula.
_SIGN = re.compile(r"[\b\f](?=[A-Za-z])")
_SPACE = re.compile(
    r"\t(?=(?:ext|heta|imes|an|au|riangle|frac|ilde|herefore|op|o)(?![A-Za-z]))|"
    r"\n(?=(?:eq|abla|otin|eg|ot)(?![A-Za-z]))|\r(?=(?:ho|ight|ightarrow|angle)(?![A-Za-z]))"
)
_ESCAPES = {"\b": r"\b", "\f": r"\f", "\t": r"\t", "\n": r"\n", "\r": r"\r"}


def _repaired(value: Any, repaired: list[str]) -> Any:
    """Put back the backslashes of LaTeX that JSON took for escapes; add each text that lacked some to ``repaired``."""
    if isinstance(value, list):
        return [_repaired(item, repaired) for item in value]
    if isinstance(value, dict):
        return {name: _repaired(item, repaired) for name, item in value.items()}
    if not isinstance(value, str) or value.isprintable():
        return value
    mended = _SIGN.sub(lambda sign: _ESCAPES[sign[0]], value)
    if _SPACE.search(mended):
        pieces = [(part, mended[part.start : part.end]) for part in segments(mended)]
        mended = "".join(
            _SPACE.sub(lambda sign: _ESCAPES[sign[0]], text) if part.is_formula else text for part, text in pieces
        )
    repaired += [mended] if mended != value else []
    return mended


def _values(job: Job, name: str) -> Iterator[tuple[Place, Any]]:
    if name.lower().endswith(".jsonl") and (lines := _lines(job, name)) is not None:
        yield from lines
        return
    text = document(job, name)
    repeated: list[str] = []
    decoder = json.JSONDecoder(object_pairs_hook=lambda pairs: _object_of(pairs, repeated))
    position = counted = 0
    line = 1
    while text and (position := _BETWEEN.match(text, position).end()) < len(text):  # type: ignore[union-attr]
        line += text.count("\n", counted, position)
        counted = position
        place = job.place(name, line)
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            reason = "a number or a nesting beyond all measure"
            if isinstance(error, json.JSONDecodeError):
                reason, place = f"{error.msg}, column {error.colno}", job.place(name, error.lineno)
            job.leave_unread(place, f"not valid JSON: {reason}")
            after = _NEXT.search(text, getattr(error, "pos", position))
            position = after.end() if after else len(text)
            continue
        for key in repeated:
            job.fault(place, key, "given more than once; the last is taken")
        repeated.clear()
        yield place, value


def _object_of(pairs: list[tuple[str, Any]], repeated: list[str]) -> dict[str, Any]:
    """Return an object; add the keys that are given more than once to ``repeated``."""
    values = dict(pairs)
    if len(values) < len(pairs):
        repeated += (key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
    return values


def _lines(job: Job, name: str) -> Iterator[tuple[Place, Any]] | None:
    """Yield a value per line in constant memory; return None if the file is not laid out like that, or in a zip."""
    try:
        lines = jsonl_records(job.source.file(name))
    except SourceError:
        return None
    first = next(lines, None)
    if first is None or (isinstance(first[1], FieldError) and first[1].field == "record"):
        return None

    def read() -> Iterator[tuple[Place, Any]]:
        for line, value in chain((first,), lines):
            if isinstance(value, FieldError) and value.field == "record":
                job.leave_unread(job.place(name, line), value.message)
            elif isinstance(value, FieldError):
                job.leave_out(job.place(name, line), value.field, value.message)
            else:
                yield job.place(name, line), value

    return read()


def document(job: Job, name: str) -> str:
    """Return the text of a part of the source; empty, with a fault, if it cannot be read."""
    try:
        content = job.source.read(name, MAX_DOCUMENT)
        return content.decode(encoding_marked(content) or "utf-8")
    except UnicodeDecodeError:
        job.leave_unread(job.place(name), "not UTF-8, nor UTF-16 with a byte order mark")
    except SourceError as error:
        job.leave_unread(job.place(name), str(error))
    return ""


def split_of(name: str) -> str | None:
    """Return the split that a path names: ``MATH/train/algebra/1.json``, ``mathqa/dev.json``."""
    match = _SPLIT.search(name.lower())
    return match.lastgroup if match else None


def word(value: Any) -> str | None:
    """Return a non-empty text or a number as text; None for anything else."""
    if isinstance(value, str):
        return value.strip() or None
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def draft(record: Record, source: str, language: str = "en", **fields: Any) -> Draft:
    """Return the draft of a record of the data set ``source``; a missing id is made, empty extras are dropped."""
    fields["extras"] = {name: value for name, value in fields.get("extras", {}).items() if value}
    name = word(record.fields.get("id")) or record.name
    return Draft({"id": name, "language": language, "split": record.split, "source": source} | fields, record.place)


# Answers within derivations, as GSM8K (``#### 24``) and MATH (a box) write them.

_BOX = re.compile(r"\\(?:boxed|fbox)\s*(?:\{|([^\s{}$.,]+))")
_CALCULATION = re.compile(r"<<((?:(?!<<).)*?)>>")


def derivation(text: str) -> tuple[str, str, str]:
    """Return what precedes ``####``, the answer after it, and the calculator's input, ``<<48/2=24>>``."""
    before, _, answer = text.partition("####")
    return _CALCULATION.sub("", before).strip(), answer.strip(), "; ".join(_CALCULATION.findall(before))


def boxed(solution: str) -> str | None:
    r"""Return the contents of the last ``\boxed`` of a solution; None without a closed one."""
    answer = None
    for match in _BOX.finditer(solution):
        if match[1]:
            answer = match[1]
            continue
        depth, place = 1, match.end()
        while place < len(solution) and depth:
            if solution[place] == "\\":
                place += 1
            elif solution[place] in "{}":
                depth += 1 if solution[place] == "{" else -1
            place += 1
        if not depth:
            answer = solution[match.end() : place - 1].strip()
    return answer
