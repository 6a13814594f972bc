"""HTML of learning platforms as text: MathML as LaTeX, lists with their marks, tables row by row, and what is lost.

It is first rewritten so that `tqnet.text.html`, which makes it plain, leaves nothing out.
"""

from __future__ import annotations

import html as stdlib_html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tqnet.text import html
from tqnet.text.formulas import segments

_MATH = re.compile(r"(</?(?:[A-Za-z]\w*:)?math(?:\s[^>]*)?/?>)", re.IGNORECASE)
_TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][\w:-]*)(?P<attributes>(?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>")
_ATTRIBUTE = re.compile(r"([\w:-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_DRAWING = re.compile(r"<svg\b.*?</svg\s*>", re.DOTALL | re.IGNORECASE)
#: The content of an object is only its replacement.
_OBJECT = re.compile(r"(<object\b[^<>]*>).*?</object\s*>", re.DOTALL | re.IGNORECASE)

#: Neither text nor figures; reported as lost.
_MEDIA = frozenset({"audio", "video", "iframe", "embed", "canvas", "svg"})
#: Elements without meaning for a text; their contents stay.
_DROPPED_NAMES = (
    "source track param picture main nav aside details summary dialog button form fieldset legend select optgroup "
    "textarea map area ruby rb rt rp bdi bdo dfn data time var samp tt center font acronym noscript template colgroup "
    "meta link head html body output progress meter input label object"
)
_DROPPED = frozenset(_DROPPED_NAMES.split())
_BULLETS = "•◦▪"
#: Elements that would break the row of a cell.
_BREAKS = frozenset({"p", "div", "br", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6"})
_PICTURES = re.compile(r"\.(?:png|jpe?g|gif|bmp|webp|tiff?|svg)$", re.IGNORECASE)


@dataclass(frozen=True)
class Plain:
    """A text without markup.

    Attributes:
        images: Sources of its figures in reading order, as the markup names them.
        lost: What could not be read, in words.
    """

    text: str
    images: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


def plain(markup: str) -> Plain:
    """Return the text of ``markup``, which is read as HTML in any case."""
    lost: list[str] = []
    with_latex = _with_latex(_OBJECT.sub(r"\1", _DRAWING.sub("<svg>", markup)), lost)
    ready = _Rewriter(lost).rewrite(with_latex)
    text, images = html.to_plain(ready)
    return Plain(text.strip(), images, tuple(lost))


def plain_texts(texts: Sequence[str]) -> list[Plain]:
    """Return the texts of one record, all of them HTML if one is (see `tqnet.questions.reading`)."""
    if any(html.is_html(text) or _MATH.search(text) for text in texts):
        return [plain(text) for text in texts]
    return [Plain(text) for text in texts]


def _with_latex(markup: str, lost: list[str]) -> str:
    """Write each ``<math>`` as LaTeX in dollars, or in ``\\(..\\)`` if the text has dollars of its own."""
    pieces = _MATH.split(markup)
    if len(pieces) == 1:
        return markup
    has_dollars = _has_stray_dollar(" ".join(pieces[::2]))  # what MathML holds is among them, and without dollars
    out, formula = [pieces[0]], ""
    for tag, following in zip(pieces[1::2], pieces[2::2], strict=True):
        if tag.startswith("</"):
            out += [_formula(formula + tag, has_dollars, lost) if formula else "", following]
            formula = ""
        elif tag.endswith("/>"):
            out.append(following)
        else:
            formula = tag + following
    if formula:
        lost.append("a formula in MathML that does not end")
        out.append(_TAG.sub(" ", formula))
    return "".join(out)


def _has_stray_dollar(text: str) -> bool:
    """Return True if a dollar is no delimiter of a formula, as in "it costs $5"."""
    return any("$" in segment.body for segment in segments(text) if not segment.is_formula)


def _formula(math: str, has_dollars: bool, lost: list[str]) -> str:
    from tqnet.importers.mathml import to_latex
    from tqnet.importers.safe_xml import XmlError

    try:
        latex = to_latex(math)
    except XmlError as error:
        lost.append(f"a formula in MathML: {error.message}")
        return _TAG.sub(" ", math)
    if not latex:
        return ""
    is_block = re.search(r"\bdisplay\s*=\s*[\"']block", math[: math.index(">")]) is not None
    opening, closing = (r"\[", r"\]") if is_block else (r"\(", r"\)")
    if not has_dollars:
        opening = closing = "$$" if is_block else "$"
    return stdlib_html.escape(f"{opening}{latex}{closing}", quote=False)


@dataclass
class _Rewriter:
    """Rewrites the tags of a text one by one, knowing the lists and cells that they stand in."""

    lost: list[str]
    lists: list[_List] = field(default_factory=list)
    cells: int = 0

    def rewrite(self, markup: str) -> str:
        out, end = [], 0
        for tag in _TAG.finditer(markup):
            out += [markup[end : tag.start()], self._tag(tag)]
            end = tag.end()
        return "".join((*out, markup[end:]))

    def _tag(self, tag: re.Match[str]) -> str:
        name, closes = tag["name"].lower(), bool(tag["close"])
        if name in ("ol", "ul") and closes:
            del self.lists[-1:]
        elif name in ("ol", "ul"):
            self.lists.append(_List(name == "ol", _attributes(tag)))
        elif name in ("td", "th"):
            self.cells = max(0, self.cells + (-1 if closes else 1))
        elif name == "li" and not closes:
            mark = self.lists[-1].next_mark(self.lists[:-1]) if self.lists else _BULLETS[0]
            return f"{' ' if self.cells else '<li>'}{mark} "
        elif name == "img" and not closes:
            return self._image(tag)
        elif name == "object" and not closes:
            return self._object(tag)
        elif name in _MEDIA:
            if not closes:
                self.lost.append(f"{'a drawing (svg)' if name == 'svg' else name}: not read")
            return " "
        if name in _DROPPED:
            return " " if name in ("option", "button") else ""
        return " " if self.cells and name in _BREAKS else tag[0]

    def _image(self, tag: re.Match[str]) -> str:
        """Return an image, or its formula if an editor keeps the MathML with it (MathType)."""
        if mathml := _attributes(tag).get("data-mathml"):
            return _formula(mathml.translate(_WIRIS), False, self.lost)
        return tag[0]

    def _object(self, tag: re.Match[str]) -> str:
        attributes = _attributes(tag)
        source = attributes.get("data", "")
        if attributes.get("type", "").startswith("image/") or _PICTURES.search(source):
            return f'<img src="{stdlib_html.escape(source)}">'
        self.lost.append(f"object: {source or 'without data'!r:.200} is no figure")
        return " "


#: MathType's spelling of angle brackets, quotes and ampersands within an attribute.
_WIRIS = str.maketrans({"«": "<", "»": ">", "¨": '"', "§": "&"})


def _attributes(tag: re.Match[str]) -> dict[str, str]:
    attributes = _ATTRIBUTE.findall(tag["attributes"])
    return {name.lower(): stdlib_html.unescape(a or b or c) for name, a, b, c in attributes}


class _List:
    """A list and the number of its next item."""

    def __init__(self, ordered: bool, attributes: dict[str, str]):
        start = attributes.get("start", "1")
        self.ordered = ordered
        self.number = int(start) if re.fullmatch(r"-?\d{1,9}", start) else 1
        self.style = attributes.get("type", "1")

    def next_mark(self, parents: Sequence[_List]) -> str:
        """Return ``•`` by depth, or a number after those of the lists around: ``2.1.``."""
        if not self.ordered:
            return _BULLETS[min(sum(not parent.ordered for parent in parents), len(_BULLETS) - 1)]
        number, self.number = self._styled(self.number), self.number + 1
        around = [parent._styled(parent.number - 1) for parent in parents if parent.ordered]
        return "".join(f"{each}." for each in (*around, number))

    def _styled(self, number: int) -> str:
        if self.style in ("a", "A") and 1 <= number <= 26:
            return chr(ord(self.style) + number - 1)
        if self.style in ("i", "I") and 1 <= number < 40:
            roman = _roman(number)
            return roman if self.style == "i" else roman.upper()
        return str(number)


def _roman(number: int) -> str:
    text = ""
    for value, letters in ((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")):
        text += letters * (number // value)
        number %= value
    return text
