"""HTML as a tree, with formulas left as they are.

Only real tags outside of formulas make a text HTML: question banks are full of ``a < b``, ``$a<b$ and c>d`` and
``a<b>c``. `tqnet.text.plain` writes the tree as text.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Iterator
from html.entities import html5
from html.parser import HTMLParser
from xml.etree.ElementTree import Element, SubElement

from tqnet.text.formulas import FORMULA

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

#: Tags that authors leave open. Another without an attribute is a tag only if it is closed: code has ``list<object>``.
_OPEN_NAMES = "br dd div dt em font hr input li nobr ol p span strong sub sup tbody td tfoot th thead tr ul wbr"
_LEFT_OPEN = frozenset(_OPEN_NAMES.split()) | frozenset(_MATHML_NAMES.split())

_ATTRIBUTE = r"""\s+[a-zA-Z_:@][-\w:.]*\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>=`]+)"""
TAG = re.compile(
    rf"<(?P<close>/?)(?:(?P<short>[a-zA-Z])(?:{_ATTRIBUTE})*"  # no bare words: a<b and c>d
    rf"|(?P<long>[a-zA-Z][-:a-zA-Z0-9]+)(?:{_ATTRIBUTE}|\s+[a-zA-Z]+)*)\s*/?>"
)
#: A ``<p>`` within a sentence is mathematics: "the index of <p> in S_5".
_IN_SENTENCE = re.compile(r"[^<>\n]{0,8}[\w,(] ?<p>[ ,)][ ]?[a-z(]?", re.IGNORECASE)
_CLOSING = re.compile(r"</([a-zA-Z][-:a-zA-Z0-9]*)\s*>")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
#: Word's conditions and namespaces, and what precedes a document's tags: by itself, a question may be about it.
_DECLARATION = re.compile(r"<(?:!\[(?:if|endif)\b|\?xml:)[^<>]*>|<(?:\?xml|!doctype)\b[^<>]*>(?=\s*<)", re.IGNORECASE)
_NAMED = re.compile(r"&(?:(\w+;)|#\d{1,7};|#[xX][0-9a-fA-F]{1,6};)")
#: References that end in a semicolon only: ``&lt`` and ``&times`` occur by chance after LaTeX's ``&``.
_REFERENCE = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d+|#[xX][0-9a-fA-F]+);")
#: Element of a protected formula; no HTML name, so that a bank's own tags never meet it.
VERBATIM = "tq-formula"


def is_html(text: str) -> bool:
    """Return True if ``text`` has a tag that is no inequality, or a reference (``&lt;``), outside of formulas."""
    if "<" not in text and "&" not in text:
        return False
    text = _without_declarations(text)
    tags = _tags(text)
    places = [tag.start() for tag in tags]
    return any(
        _has_reference(text[start:end]) or bisect_left(places, start) < bisect_left(places, end)
        for is_formula, start, end in _pieces(text, tags)
        if not is_formula
    )


def tree(markup: str) -> Element:
    """Return the ``body`` of ``markup``; formulas in it are elements named `VERBATIM`."""
    markup = _without_declarations(markup)
    tags = _tags(markup)
    places = {tag.start() for tag in tags}
    builder = _TreeBuilder()
    for is_formula, start, end in _pieces(markup, tags):
        piece = markup[start:end]
        builder.feed(_verbatim(piece) if is_formula else _escape_stray(piece, start, places))
    builder.close()
    return builder.root


def _without_declarations(markup: str) -> str:
    last = markup.rfind("-->") + 3  # behind it, a comment has no end
    return _DECLARATION.sub("", _COMMENT.sub("", markup[:last]) + markup[last:] if last > 2 else markup)


def _tags(text: str) -> list[re.Match[str]]:
    """Return the tags of ``text`` in order; ``<b>`` without ``</b>`` may be ``a<b>c``, ``<input>`` alone a name."""
    closed = {name.lower() for name in _CLOSING.findall(text)}

    def is_tag(tag: re.Match[str]) -> bool:
        name = (tag["short"] or tag["long"]).lower()
        # HTML, MathML, custom elements (``mjx-container``) and prefixed ones (``o:p``, ``mml:math``)
        if name not in _TAGS and "-" not in name.strip("-") and ":" not in name.strip(":"):
            return False
        if (
            name == "p"
            and name not in closed
            and "=" not in tag[0]
            and _IN_SENTENCE.match(text, max(0, tag.start() - 9))
        ):
            return False
        is_whole = tag["close"] or "=" in tag[0] or tag[0].endswith("/>")
        within = "select" in closed if name == "option" else name not in _TAGS
        return bool(is_whole or within or name in closed or name in _LEFT_OPEN)

    tags = list(filter(is_tag, TAG.finditer(text)))
    return tags if any(tag[0].lower() != "<input>" for tag in tags) else []


def _pieces(text: str, tags: list[re.Match[str]]) -> Iterator[tuple[bool, int, int]]:
    """Cut ``text`` into (is_formula, start, end)."""
    start = position = number = 0
    tags = [tag for tag in tags if tag["long"] or tag["close"] or tag[0][1:2] != "p" or "=" in tag[0]]  # $<p>$
    while match := FORMULA.search(text, position):
        while number < len(tags) and tags[number].end() <= match.start():
            number += 1
        tag = tags[number] if number < len(tags) else None
        if tag and tag.start() < match.start():  # within an attribute
            position = tag.end()
        elif tag and tag.start() < match.end():  # two prices with markup between them, not a formula
            position = match.start() + 1
        else:
            yield False, start, match.start()
            yield True, match.start(), match.end()
            start = position = match.end()
    yield False, start, len(text)


def _has_reference(piece: str) -> bool:
    return any(match[1] is None or match[1] in html5 for match in _NAMED.finditer(piece))


def _verbatim(formula: str) -> str:
    decoded = _REFERENCE.sub(lambda m: html.unescape(m[0]).replace("\xa0", " "), formula)
    return f"<{VERBATIM}>{html.escape(decoded, quote=False)}</{VERBATIM}>"


def _escape_stray(piece: str, offset: int, tags: set[int]) -> str:
    """Escape every ``<`` that starts none of the tags, so that the parser does not swallow text."""
    return re.sub("<", lambda sign: "<" if sign.start() + offset in tags else "&lt;", piece)


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
