"""Safe reading of untrusted XML: no entities, nothing external, bounded by libxml2; a bad spot costs one element."""

from __future__ import annotations

import html
import io
import mmap
import re
from collections.abc import Iterator
from html.entities import html5
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from tqnet.importers.source import MAX_MEMBER

#: An element of lxml, which has no types of its own.
Element = Any

_SAFE: dict[str, Any] = dict.fromkeys(("resolve_entities", "load_dtd"), False)
_SAFE |= dict.fromkeys(("no_network", "remove_comments", "remove_pis"), True)

_ENCODING = re.compile(rb"""<\?xml[^>]*\bencoding\s*=\s*["']([\w.-]+)["']""")
_CONTROL = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|&#(?:0*(?:[0-8]|1[124-9]|2\d|3[01])|x0*(?:[0-8bcefBCEF]|1[\da-fA-F]));"
)
_CDATA = re.compile(r"(<!\[CDATA\[.*?\]\]>)", re.DOTALL)
#: What opens a stretch that may hold any sign -> what closes it.
_CLOSERS = {b"<![CDATA[": b"]]>", b"<!--": b"-->"}
_AMPERSAND = re.compile(r"&(?!(?:lt|gt|amp|quot|apos|#\d+|#x[\da-fA-F]+);)(?:(\w+;))?")


class XmlError(ValueError):
    """XML that cannot be read; ``line`` is 0 if unknown."""

    def __init__(self, message: str, line: int = 0):
        super().__init__(message)
        self.message = message
        self.line = line


def parse(content: bytes | str) -> Element:
    """Return the root of a document; raise XmlError if it is not well-formed or declares entities."""
    parser = etree.XMLParser(huge_tree=True, **_SAFE)  # a figure may have more than 10 MB; callers bound the whole
    try:
        root = etree.fromstring(content.encode() if isinstance(content, str) else content, parser)
    except etree.XMLSyntaxError as error:
        raise XmlError(f"not well-formed XML: {error.msg}", error.lineno or 0) from None
    declared = root.getroottree().docinfo.internalDTD
    if declared is not None and next(iter(declared.iterentities()), None) is not None:
        raise XmlError("declares entities, which are not read")
    return root


def parse_repaired(content: bytes, encoding: str = "") -> tuple[Element, str]:
    """Return the root of a document and, in words, what was mended to read it: a raw ``&``, a control character.

    Raises:
        XmlError: As for `parse`.
    """
    declared = _ENCODING.match(content)
    encoding = encoding or (declared[1].decode() if declared else "utf-8")
    try:
        content.decode(encoding)
    except LookupError:
        encoding = "utf-8"
    except UnicodeDecodeError:
        return parse_repaired(_decoded(content, encoding).encode(), "utf-8")[0], f"mended: bytes that are no {encoding}"
    try:
        return parse(content if declared else _decoded(content, encoding)), ""
    except XmlError as error:
        if "<!ENTITY" in content[:4096].decode("latin-1"):
            raise
        text = re.sub(r"^\s*<\?xml[^>]*\?>", "", _decoded(content, encoding))
        mended = _CONTROL.sub(" ", text)
        last = mended.rfind("]]>") + 3  # behind it no section has an end; to look for one would take quadratic time
        pieces = _CDATA.split(mended[:last])
        pieces[-1] += mended[last:]
        pieces[::2] = [_AMPERSAND.sub(_escaped, piece) for piece in pieces[::2]]
        mended = "".join(pieces)
        if mended == text:
            raise
        reason = error.message.removeprefix("not well-formed XML: ")
    return parse(mended), f"mended: {reason}"


def _decoded(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding, errors="replace")
    except LookupError:
        return content.decode("utf-8", errors="replace")


def _escaped(ampersand: re.Match[str]) -> str:
    name = ampersand[1] or ""
    return html5.get(name, f"&amp;{name}")


class Piece(NamedTuple):
    """One element of a document, cut out and parsed alone.

    Attributes:
        line: Where it begins.
        element: None if it cannot be read.
        problem: What was mended to read it, or why it cannot be read; empty if it is well-formed.
        comment: The comment before it.
    """

    line: int
    element: Element | None
    problem: str
    comment: str


def elements(file: Path, tag: str) -> Iterator[Piece]:
    """Yield each element called ``tag`` of a large document, so that one that cannot be read costs no other.

    Raises:
        XmlError: The document declares entities, or has no such element.
    """
    with file.open("rb") as stream:
        head = stream.read(4096)
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            yield from _elements(file.read_text("utf-16", errors="replace").encode(), tag, "utf-8")
            return
        declared = _ENCODING.search(head)
        if not head:
            raise XmlError("empty")
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield from _elements(content, tag, declared[1].decode() if declared else "utf-8")


def _elements(content: Any, tag: str, encoding: str) -> Iterator[Piece]:
    start, end = rf"(?P<start><{tag}[\s>])".encode(), rf"(?P<end></{tag}\s*>)".encode()
    first = re.search(start, content)
    if first is None:
        raise XmlError(f"no <{tag}>")
    if b"<!ENTITY" in content[: first.start()]:
        raise XmlError("declares entities, which are not read")
    line, counted, begin, comment, before = 1, 0, -1, "", ""
    for kind, opening, closing in chain(_tokens(content, start, end), [("end of file", len(content), len(content))]):
        if kind == "comment":
            if begin < 0:
                comment = _decoded(content[opening + 4 : closing - 3], encoding).strip()
            continue
        if begin >= 0:
            line += content[counted:begin].count(b"\n")
            counted = begin
            stop = closing if kind == "end" else opening
            yield from _pieces(content[begin:stop], line, start, end, encoding, before)
            begin = -1
        if kind == "start":
            begin, before, comment = opening, comment, ""


def _tokens(content: Any, start: bytes, end: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield kind, begin and end of each start tag, end tag and comment outside of CDATA sections, in linear time."""
    token = re.compile(rb"(?P<cdata><!\[CDATA\[)|(?P<comment><!--)|" + start + rb"|" + end)
    closers = dict(_CLOSERS)
    position = 0
    while match := token.search(content, position):
        kind, position = match.lastgroup or "", match.end()
        if closer := _CLOSERS.get(match[0]):
            closing = content.find(closer, position) if match[0] in closers else -1
            if closing < 0:  # text, and there is none behind either
                closers.pop(match[0], None)
                continue
            position = closing + len(closer)
        if kind != "cdata":
            yield kind, match.start(), position


def _pieces(markup: bytes, line: int, start: bytes, end: bytes, encoding: str, comment: str) -> Iterator[Piece]:
    """Yield one element, or, where an open CDATA section runs several together, each of them."""
    places = [match.start() for match in re.finditer(start, markup)]
    try:
        if len(markup) > MAX_MEMBER:
            raise XmlError(f"larger than {MAX_MEMBER >> 20} MiB")
        if len(places) > 1 and re.search(end, markup[: places[1]]):
            raise XmlError("a CDATA section without an end")
        yield Piece(line, *parse_repaired(markup, encoding), comment)
    except XmlError as error:
        if len(places) == 1:
            yield Piece(line + max(error.line - 1, 0), None, error.message, comment)
            return
        for before, begin, stop in zip([0, *places], places, [*places[1:], len(markup)], strict=False):
            line += markup.count(b"\n", before, begin)
            yield from _pieces(markup[begin:stop], line, start, end, encoding, comment)


def root_name(head: bytes) -> str:
    """Return the name of the first element without namespace, from the first bytes of a file; empty if no XML."""
    try:
        for _, element in etree.iterparse(io.BytesIO(head), events=("start",), recover=True, **_SAFE):
            return etree.QName(element).localname
    except etree.XMLSyntaxError:
        pass
    return ""


def strip_namespaces(root: Element) -> Element:
    """Drop prefixes of names and entity references, which nothing resolves, in place."""
    for element in root.iter():
        if isinstance(element.tag, str) and "}" in element.tag:
            element.tag = etree.QName(element).localname
    etree.strip_tags(root, etree.Entity)
    etree.cleanup_namespaces(root)
    return root


def inner_markup(element: Element) -> str:
    """Return the markup between an element's tags."""
    pieces = [html.escape(element.text or "", quote=False)]
    pieces += [etree.tostring(child, encoding="unicode", with_tail=True) for child in element]
    return re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", "".join(pieces))
