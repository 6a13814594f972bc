"""HTML to plain text, with formulas left as they are.

Only real tags outside of formulas make a text HTML: question banks are full of ``a < b``, ``$a<b$ and c>d`` and
``a<b>c``.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from urllib.parse import unquote

_BLOCK_NAMES = (
    "address article blockquote br center dd div dl dt figcaption figure footer h1 h2 h3 h4 h5 h6 header "
    "hr li ol p pre section table tbody tfoot thead tr ul"
)
_INLINE_NAMES = (
    "a abbr b big caption cite code col colgroup del em font i img input ins kbd label mark q s script "
    "small span strike strong style sub sup td th tt u wbr"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_TAGS = _BLOCKS | frozenset(_INLINE_NAMES.split())
_HIDDEN = frozenset({"script", "style"})
_SCRIPTS = {"sup": "^", "sub": "_"}

_FORMULA = re.compile(
    r"\$\$.+?\$\$"
    r"|(?<!\\)\$(?:\\.|[^$\\])+\$"
    r"|\\\(.+?\\\)"
    r"|\\\[.+?\\\]"
    r"|\\begin\{(?P<env>\w+\*?)\}.*?\\end\{(?P=env)\}",
    re.DOTALL,
)
_ATTRIBUTE = r"""\s+[a-zA-Z_:@][-\w:.]*\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>=`]+)"""
_TAG = re.compile(
    rf"<(?P<close>/?)(?:(?P<short>[a-zA-Z])(?P<some>(?:{_ATTRIBUTE})*)"  # no bare words: a<b and c>d
    rf"|(?P<long>[a-zA-Z][a-zA-Z0-9]+)(?:{_ATTRIBUTE}|\s+[a-zA-Z]+)*)\s*/?>"
)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
#: References that end in a semicolon only: ``&lt`` and ``&times`` occur by chance after LaTeX's ``&``.
_REFERENCE = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d+|#[xX][0-9a-fA-F]+);")
_VERBATIM = "tq-formula"  # no HTML name, so that a bank's own tags never meet it


def is_html(text: str) -> bool:
    """Return True if ``text`` has a tag, outside of formulas, that cannot be an inequality."""
    if "<" not in text:
        return False
    if re.match(r"\s*<p\s*>", text, re.IGNORECASE):
        return True
    return any(not formula and _has_certain_tag(piece) for formula, piece in _pieces(text))


def to_plain(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the plain text of an HTML ``text``, and the sources of its images in reading order.

    Blocks and ``<br>`` become line breaks, table cells are separated by ``|``, ``<sup>2</sup>`` is written
    ``^2`` (``^{10}`` if longer), ``<sub>`` likewise with ``_``; entities are decoded. In formulas only references such
    as ``&lt;`` are decoded, without which HTML could not hold them.
    """
    # A text with inline tags only was typed as plain text: its line breaks mean something.
    tags = (tag for is_formula, piece in _pieces(text) if not is_formula for tag in _TAG.finditer(piece))
    blocks = any(_name(tag) in _BLOCKS for tag in tags)
    reader = _PlainText(keep_newlines=not blocks)
    closed = {m["short"].lower() for m in _TAG.finditer(text) if m["close"] and m["short"]} | {"p"}
    for formula, piece in _pieces(text):
        reader.feed(_verbatim(piece) if formula else _escape_stray(piece, closed))
    reader.close()
    return reader.result(), tuple(reader.images)


def protect(texts: Sequence[str]) -> list[str]:
    """Encode the ``texts`` of a record so that reading them as a record gives exactly ``texts`` again.

    Only a record with a text that looks like HTML (once decoded from ``&lt;p&gt;``) needs a change.
    """
    if not any(map(is_html, texts)):
        return list(texts)
    return [f"<pre>{html.escape(text, quote=False)}</pre>" for text in texts]


def _pieces(text: str) -> Iterator[tuple[bool, str]]:
    """Cut ``text`` into (is_formula, piece)."""
    start = position = 0
    while match := _FORMULA.search(text, position):
        if _has_certain_tag(match[0]):  # two prices with markup between them, not a formula
            position = match.start() + 1
            continue
        yield False, text[start : match.start()]
        yield True, match[0]
        start = position = match.end()
    yield False, text[start:]


def _has_certain_tag(piece: str) -> bool:
    return any(_name(tag) in _TAGS and _is_certain(tag) for tag in _TAG.finditer(piece))


def _name(tag: re.Match[str]) -> str:
    return (tag["short"] or tag["long"]).lower()


def _is_certain(tag: re.Match[str]) -> bool:
    """An opening ``<b>`` alone may be ``a<b>c``; a closing tag, an attribute or a long name is markup."""
    return bool(tag["close"] or tag["long"] or tag["some"])


def _verbatim(formula: str) -> str:
    decoded = _REFERENCE.sub(lambda m: html.unescape(m[0]).replace("\xa0", " "), formula)
    return f"<{_VERBATIM}>{html.escape(decoded, quote=False)}</{_VERBATIM}>"


def _escape_stray(piece: str, closed: set[str]) -> str:
    """Escape every ``<`` that starts no tag, so that the parser does not swallow text."""
    parts, start = [], 0
    for match in re.finditer(r"<", piece):
        if match.start() < start:  # within a tag or comment
            continue
        tag = _TAG.match(piece, match.start())
        comment = _COMMENT.match(piece, match.start())
        real = tag and _name(tag) in _TAGS and (_is_certain(tag) or _name(tag) in closed)
        end = comment.end() if comment else tag.end() if tag and real else match.end()
        parts += [piece[start : match.start()], piece[match.start() : end] if comment or real else "&lt;"]
        start = end
    return "".join((*parts, piece[start:]))


class _PlainText(HTMLParser):
    """Collects text; white space and breaks wait in ``_pending`` until something follows them."""

    def __init__(self, keep_newlines: bool):
        super().__init__(convert_charrefs=True)
        self.images: list[str] = []
        self._keep_newlines = keep_newlines
        self._out: list[str] = []
        self._pending = ""
        self._verbatim = 0
        self._hidden = 0
        self._cells = 0
        self._scripts: list[tuple[str, int]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            self._wait("\n")
        if tag in (_VERBATIM, "pre"):
            self._verbatim += 1
        elif tag in _HIDDEN:
            self._hidden += 1
        elif tag in _SCRIPTS:
            self._write("")
            self._scripts.append((tag, len(self._out)))
        elif tag == "tr":
            self._cells = 0
        elif tag in ("td", "th"):
            if self._cells:
                self._wait(" ")
                self._write("|")
            self._wait(" ")
            self._cells += 1
        elif tag == "img" and (source := dict(attrs).get("src")):
            self.images.append(unquote(source))
            self._wait(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in _BLOCKS:
            self._wait("\n")
        if tag in (_VERBATIM, "pre"):
            self._verbatim = max(0, self._verbatim - 1)
        elif tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif self._scripts and tag == self._scripts[-1][0]:
            self._close_script()

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        if self._verbatim:
            self._write(data)
            return
        for part in re.split(r"(\s+)", data):
            if part and not part.isspace():
                self._write(part)
            elif part:
                self._wait("\n" if self._keep_newlines and "\n" in part else " ")

    def result(self) -> str:
        while self._scripts:
            self._close_script()
        return "".join(self._out)

    def _wait(self, space: str) -> None:
        if self._pending != "\n":
            self._pending = space

    def _write(self, text: str) -> None:
        if self._out and self._pending:
            self._out.append(self._pending)
        self._pending = ""
        self._out.append(text)

    def _close_script(self) -> None:
        tag, start = self._scripts.pop()
        inner = "".join(self._out[start:]).strip()
        del self._out[start:]
        if inner:
            self._out.append(_SCRIPTS[tag] + (inner if len(inner) == 1 else f"{{{inner}}}"))
