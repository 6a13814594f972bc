"""HTML as a tree, with formulas left as they are.

Only real tags outside of formulas make a text HTML: question banks are full of ``a < b``, ``$a<b$ and c>d`` and
``a<b>c``. `tqnet.text.plain` writes the tree as text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from html.entities import html5
from html.parser import HTMLParser
from xml.etree.ElementTree import Element, SubElement

_BLOCK_NAMES = (
    "address article aside blockquote br center dd details dialog div dl dt fieldset figcaption figure footer form h1 "
    "h2 h3 h4 h5 h6 header hr legend li main menu nav ol p pre section summary table tbody tfoot thead tr ul td th"
)
_INLINE_NAMES = (
    "a abbr acronym area audio b bdi bdo big button canvas caption cite code col colgroup data del dfn em embed font "
    "html body head i iframe img input ins kbd label link map mark meta meter nobr noscript object optgroup option "
    "output param picture progress q rb rp rt ruby s samp script select small source span strike strong style sub sup "
    "svg template tex textarea time title track tt u var video wbr latex"
)
_MATHML_NAMES = (
    "math annotation annotation-xml maction maligngroup malignmark menclose merror mfenced mfrac mglyph mi mlabeledtr "
    "mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mspace msqrt mstyle msub msubsup msup mtable "
    "mtd mtext mtr munder munderover none semantics"
)
BLOCKS = frozenset(_BLOCK_NAMES.split())
_TAGS = BLOCKS | frozenset(_INLINE_NAMES.split()) | frozenset(_MATHML_NAMES.split())
_VOID_NAMES = "area br col embed hr img input link meta param source track wbr"
_VOID = frozenset(_VOID_NAMES.split())
#: An opening tag -> the open elements that it ends, and those that it never looks beyond.
_ENDS = {
    "li": ({"li"}, {"ul", "ol", "menu"}),
    "p": ({"p"}, {"td", "th", "li", "div", "blockquote", "section"}),
    "dt": ({"dt", "dd"}, {"dl"}),
    "dd": ({"dt", "dd"}, {"dl"}),
    "td": ({"td", "th"}, {"tr", "table"}),
    "th": ({"td", "th"}, {"tr", "table"}),
    "tr": ({"tr"}, {"table"}),
    "option": ({"option"}, {"select"}),
}
#: Deeper elements are read as if they had no tags.
_DEEPEST = 200

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
    rf"|(?P<long>[a-zA-Z][-:a-zA-Z0-9]+)(?:{_ATTRIBUTE}|\s+[a-zA-Z]+)*)\s*/?>"
)
_COMMENT = re.compile(r"<!--.*?-->|<!\[(?:if|endif)[^>]*>", re.DOTALL)
_NAMED = re.compile(r"&(?:(\w+;)|#\d{1,7};|#[xX][0-9a-fA-F]{1,6};)")
#: References that end in a semicolon only: ``&lt`` and ``&times`` occur by chance after LaTeX's ``&``.
_REFERENCE = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d+|#[xX][0-9a-fA-F]+);")
#: Element of a protected formula; no HTML name, so that a bank's own tags never meet it.
VERBATIM = "tq-formula"


def is_html(text: str) -> bool:
    """Return True if ``text`` has a tag that is no inequality, or a reference (``&lt;``), outside of formulas."""
    if "<" not in text and "&" not in text:
        return False
    if re.match(r"\s*<p\s*>", text, re.IGNORECASE):
        return True
    return any(not formula and (_next_tag(piece, 0) or _has_reference(piece)) for formula, piece in _pieces(text))


def tree(markup: str) -> Element:
    """Return the ``body`` of ``markup``; formulas in it are elements named `VERBATIM`."""
    builder = _TreeBuilder()
    closed = {tag["short"].lower() for tag in _TAG.finditer(markup) if tag["close"] and tag["short"]} | {"p"}
    for formula, piece in _pieces(markup):
        builder.feed(_verbatim(piece) if formula else _escape_stray(piece, closed))
    builder.close()
    return builder.root


def _pieces(text: str) -> Iterator[tuple[bool, str]]:
    """Cut ``text`` into (is_formula, piece)."""
    start = position = 0
    tag = _next_tag(text, 0)
    while match := _FORMULA.search(text, position):
        while tag and tag.end() <= match.start():
            tag = _next_tag(text, tag.end())
        if tag and tag.start() < match.start():  # within an attribute
            position = tag.end()
        elif tag and tag.start() < match.end():  # two prices with markup between them, not a formula
            position = match.start() + 1
        else:
            yield False, text[start : match.start()]
            yield True, match[0]
            start = position = match.end()
    yield False, text[start:]


def _next_tag(text: str, start: int) -> re.Match[str] | None:
    """Return the first tag from ``start`` on that is certain to be one."""
    return next((tag for tag in _TAG.finditer(text, start) if _is_known(_name(tag)) and _is_certain(tag)), None)


def _has_reference(piece: str) -> bool:
    return any(match[1] is None or match[1] in html5 for match in _NAMED.finditer(piece))


def _name(tag: re.Match[str]) -> str:
    return (tag["short"] or tag["long"]).lower()


def _is_known(name: str) -> bool:
    """HTML, MathML, custom elements (``mjx-container``) and prefixed ones (``o:p``, ``mml:math``)."""
    return name in _TAGS or "-" in name.strip("-") or ":" in name.strip(":")


def _is_certain(tag: re.Match[str]) -> bool:
    """An opening ``<b>`` alone may be ``a<b>c``; a closing tag, an attribute or a long name is markup."""
    return bool(tag["close"] or tag["long"] or tag["some"])


def _verbatim(formula: str) -> str:
    decoded = _REFERENCE.sub(lambda m: html.unescape(m[0]).replace("\xa0", " "), formula)
    return f"<{VERBATIM}>{html.escape(decoded, quote=False)}</{VERBATIM}>"


def _escape_stray(piece: str, closed: set[str]) -> str:
    """Escape every ``<`` that starts no tag, so that the parser does not swallow text."""
    parts, start = [], 0
    for match in re.finditer(r"<", piece):
        if match.start() < start:  # within a tag or comment
            continue
        tag = _TAG.match(piece, match.start())
        comment = _COMMENT.match(piece, match.start())
        real = tag and _is_known(_name(tag)) and (_is_certain(tag) or _name(tag) in closed)
        end = comment.end() if comment else tag.end() if tag and real else match.end()
        kept = "" if comment else piece[match.start() : end] if real else "&lt;"
        parts += [piece[start : match.start()], kept]
        start = end
    return "".join((*parts, piece[start:]))


class _TreeBuilder(HTMLParser):
    """Builds elements; what is never closed ends with its parent."""

    # Scripts hold formulas, whose stray signs are escaped like those of a text.
    CDATA_CONTENT_ELEMENTS = ("style",)  # type: ignore[misc]

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("body")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = self._start(tag, attrs)
        if element is not None and tag not in _VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._start(tag, attrs)

    def _start(self, tag: str, attrs: list[tuple[str, str | None]]) -> Element | None:
        ends, stops = _ENDS.get(tag, (set(), set()))
        for depth in range(len(self._open) - 1, 0, -1):
            if self._open[depth].tag in stops:
                break
            if self._open[depth].tag in ends:
                del self._open[depth:]
                break
        if len(self._open) >= _DEEPEST:
            return None
        return SubElement(self._open[-1], tag, {name: value or "" for name, value in attrs})

    def handle_endtag(self, tag: str) -> None:
        for depth in range(len(self._open) - 1, 0, -1):
            if self._open[depth].tag == tag:
                del self._open[depth:]
                return
        if tag in BLOCKS:  # a stray </p> still ends a line
            SubElement(self._open[-1], "br")

    def handle_data(self, data: str) -> None:
        parent = self._open[-1]
        if len(parent):
            parent[-1].tail = (parent[-1].tail or "") + data
        else:
            parent.text = (parent.text or "") + data
