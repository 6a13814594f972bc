"""HTML as plain text with LaTeX formulas: what a question says, wherever an editor has put it.

Formulas come from MathML, attributes (Canvas, Quill, MathLive, WIRIS), scripts (MathJax), images with their LaTeX as
text or address, and rendered output, of which one copy is read. Lists keep their marks, tables their rows.
"""

from __future__ import annotations

import base64
import html as stdlib_html
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from tqnet.text import html
from tqnet.text.editors import latex_source, math_in, math_of, other_versions, script_language, undelimited
from tqnet.text.formulas import segments
from tqnet.text.lists import BULLETS, MarkupList
from tqnet.text.mathml import MathMLError, repair, to_latex
from tqnet.text.notations import MARKS, SUSPECT, as_html

#: A blank to be filled in.
BLANK = "____"

_HIDDEN = frozenset({"script", "style", "template", "noscript", "head", "colgroup"})
#: Neither text nor figures; reported as lost.
_MEDIA = frozenset({"audio", "video", "iframe", "embed", "canvas", "svg"})
_PICTURES = re.compile(r"\.(?:png|jpe?g|gif|bmp|webp|tiff?|svg)$", re.IGNORECASE)

_SVG_TAG = re.compile(r"<(/?)svg\b[^<>]*(?<!/)>", re.IGNORECASE)


class Plain(NamedTuple):
    """A text without markup.

    Attributes:
        images: Sources of its figures in reading order, as the markup names them.
        lost: What could not be read, in words.
    """

    text: str
    images: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


def plain_texts(texts: Sequence[str], language: str | None = None) -> list[Plain]:
    """Return the texts of one record as plain text; all are HTML if one is (an option ``x &lt; 3`` has no tag)."""
    if not any(map(SUSPECT.search, texts)):
        return [Plain(text) for text in texts]
    ready = [as_html(text, language) for text in texts]
    if any(map(html.is_html, ready)):
        return [_plain(text, language) for text in ready]
    return [Plain(text) for text in ready]


def plain(markup: str, language: str | None = None) -> Plain:
    """Return the text of ``markup``, which is read as HTML in any case.

    Blocks and ``<br>`` become line breaks, table cells are separated by ``|``, ``<sup>2</sup>`` is written ``^2``
    (``^{10}`` if longer), ``<sub>`` likewise with ``_``. Formulas that are LaTeX already stay as they are.

    Args:
        language: Of a text in several languages (Moodle's filters), the one to read; by default the first.
    """
    return _plain(as_html(markup, language), language)


def protect(texts: Sequence[str]) -> list[str]:
    """Encode the ``texts`` of a record so that `plain_texts` gives exactly ``texts`` again."""
    if not any(map(SUSPECT.search, texts)) or [Plain(text) for text in texts] == plain_texts(texts):
        return list(texts)
    escaped = (stdlib_html.escape(text, quote=False) for text in texts)
    return [f"<pre>{MARKS.sub(lambda mark: f'&#{ord(mark[0])};', text)}</pre>" for text in escaped]


def _plain(markup: str, language: str | None) -> Plain:
    drawings = _drawings(markup)
    pieces, end = [], 0
    for number, (start, stop) in enumerate(drawings):
        pieces += [markup[end:start], f'<img src="{_ASIDE}{number}">']
        end = stop
    root = html.tree("".join((*pieces, markup[end:])))
    writer = _Writer(root, language)
    writer.children(root)
    images = (
        drawing_uri(markup[slice(*drawings[int(name.removeprefix(_ASIDE))])]) if name.startswith(_ASIDE) else name
        for name in writer.images
    )
    return Plain("".join(writer.out), tuple(images), tuple(writer.lost))


def _drawings(markup: str) -> list[tuple[int, int]]:
    """Return where the outermost SVG drawings are; their text must not be parsed as HTML, which ignores case."""
    starts: list[int] = []
    drawings: list[tuple[int, int]] = []
    for tag in _SVG_TAG.finditer(markup):
        if not tag[1]:
            starts.append(tag.start())
        elif starts:
            start = starts.pop()
            while drawings and drawings[-1][0] > start:
                drawings.pop()
            drawings.append((start, tag.end()))
    return drawings


_ASIDE = "tq-drawing:"


def drawing_uri(drawing: str) -> str:
    """Return an SVG drawing as a ``data:`` URI."""
    return f"data:image/svg+xml;base64,{base64.b64encode(drawing.encode()).decode()}"


class _Writer:
    """Writes a tree as text; white space and breaks wait in ``_pending`` until something follows them."""

    def __init__(self, root: Element, language: str | None):
        self.out: list[str] = []
        self.images: list[str] = []
        self.lost: list[str] = []
        self._language = language
        self._pending = ""
        self._after_mark = False
        self._verbatim = False
        self._is_symbol = False
        self._cells: list[int] = []
        self._options = 0  # of the list of choices that is written
        self._lists: list[MarkupList] = []
        # A text with inline tags only was typed as plain text: its line breaks mean something.
        self._keeps_newlines = not any(element.tag in html.BLOCKS for element in root.iter())
        prose = "".join(_prose(root))
        has_dollars = "$" in prose and any("$" in part.body for part in segments(prose) if not part.is_formula)
        self._delimiters = (r"\(", r"\)", r"\[", r"\]") if has_dollars else ("$", "$", "$$", "$$")
        self._formula_end = -1  # length of `out` after a formula
        self._raised = (-1, "")  # place in `out` of the last superscript, and its text

    def children(self, element: Element) -> None:
        self._data(element.text)
        skipped = _copies(element, self._language)
        for child in element:
            if child not in skipped:
                self._element(child)
            self._data(child.tail)

    def _element(self, element: Element) -> None:
        name, style = element.tag, _style(element)
        if name == html.VERBATIM:
            self._write(element.text or "")
        elif self._formula(element) or name in _HIDDEN or _is_hidden(element, style):
            return
        elif name in _MEDIA:
            self._lose(f"{name}: not read")
        elif name == "img":
            self._image(element)
        elif name == "object":
            self._object(element)
        elif name in ("input", "textarea"):
            if element.get("type", "text").lower() in ("text", "number", "search", "tel", ""):
                self._write(BLANK)
        elif _is_underlined(name, style) and not "".join(element.itertext()).strip():
            self._write(BLANK if "".join(element.itertext()) or style.keys() & {"width", "min-width"} else "")
        elif mark := _script_mark(name, style):
            self._enclose(element, mark, "")
        elif _is_overlined(element, style):
            self._enclose(element, r"\overline", "braces")
        elif name in ("select", "option"):
            if name == "option" and self._options:
                self._wait(" ")
                self._write("/")
                self._wait(" ")
            self._options += 1 if name == "option" else -self._options
            self.children(element)
        elif name == "pre":
            self._wait("\n")
            self._verbatim, before = True, self._verbatim
            self.children(element)
            self._verbatim = before
            self._wait("\n")
        elif name in html.BLOCKS:
            self._block(element)
        elif "symbol" in (element.get("face", "").lower(), style.get("font-family", "").strip("'\"")):
            self._is_symbol = True
            self.children(element)
            self._is_symbol = False
        else:
            self.children(element)

    def _block(self, element: Element) -> None:
        name = element.tag
        if name in ("td", "th"):
            if self._cells and self._cells[-1]:
                self._wait(" ")
                self._write("|")
            self._wait(" ")
            if self._cells:
                self._cells[-1] += 1
            self.children(element)
            return
        self._wait("\n")
        if name in ("ul", "ol"):
            self._lists.append(MarkupList(element, _style(element)))
            self.children(element)
            self._lists.pop()
        elif name == "li":
            mark = self._lists[-1].next_mark(element, self._lists[:-1]) if self._lists else BULLETS[0]
            self._write(f"{mark} " if mark else "")
            self._after_mark = True
            self.children(element)
        elif name == "tr":
            self._cells.append(0)
            self.children(element)
            self._cells.pop()
        else:
            self.children(element)
        self._wait("\n")

    def _image(self, element: Element) -> None:
        if source := element.get("src") or element.get("data-src"):
            self.images.append(unquote(source) if not source.startswith("data:") else source)
            self._wait(" ")

    def _object(self, element: Element) -> None:
        """The content of an object is only its replacement."""
        source = element.get("data", "")
        if element.get("type", "").startswith("image/") or _PICTURES.search(source):
            self.images.append(unquote(source))
            self._wait(" ")
        else:
            self._lose(f"object: {source or 'without data'!r:.200} is no figure")

    def _formula(self, element: Element) -> bool:
        """Write the formula that an element is; return False if it is none, or one that cannot be read."""
        after_formula = self._formula_end == len(self.out) and not self._pending
        if after_formula and _ASSISTIVE.search(element.get("class", "")) and math_in(element) is not None:
            return True  # the same formula for screen readers
        latex, is_block = "", False
        if (source := latex_source(element)) is not None:
            latex, is_block = undelimited(source)
            is_block |= element.tag == "script" and "display" in element.get("type", "")
        elif (math := math_of(element)) is not None:
            try:
                self.lost += [f"a formula in MathML: {problem}" for problem in repair(math)]
                latex, is_block = to_latex(math), math.get("display") == "block"
            except MathMLError as error:
                self._lose(f"a formula in MathML: {error}")
                return False
        elif language := script_language(element):
            if language == "asciimath":  # legible as it stands
                self._data("".join(element.itertext()))
            else:
                self._lose(f"a formula in a script of type math/{language}: not read")
            return True
        elif "katex-html" in element.get("class", ""):
            self._lose("a formula rendered by KaTeX, without its source")
            return False
        else:
            return False
        if latex:
            opening, closing = self._delimiters[2:] if is_block else self._delimiters[:2]
            formula = f"{opening}{latex}{closing}"
            if not (after_formula and self.out[-1] == formula):  # rendered twice, once as an image
                self._write(formula)
                self._formula_end = len(self.out)
        return True

    def _enclose(self, element: Element, command: str, braces: str) -> None:
        """Write ``^2``, ``^{10}`` or ``\\overline{3}`` of an element's text; with a numerator before it, ``3/4``."""
        self._write("")
        place, numerator = self._raised
        outer, self.out, self._formula_end = self.out, [], -1
        self.children(element)
        inner = "".join(self.out).strip()
        self.out, self._formula_end = outer, -1
        self._raised = (len(outer), inner) if command == "^" and inner else (-1, "")
        if not inner:
            return
        between = "".join(outer[place + 1 :]).strip(" ") if numerator and len(outer) - place <= 5 else ""
        if command == "_" and between in _FRACTION_BARS:
            self._fraction(place, numerator, inner)
        else:
            self.out.append(command + (inner if len(inner) == 1 and not braces else f"{{{inner}}}"))

    def _fraction(self, place: int, numerator: str, denominator: str) -> None:
        """Write ``3/4`` in place of what stands since ``place``; ``1 3/4`` after a digit, ``x^2/3`` after a base."""
        before = "".join(self.out[max(0, place - 4) : place])[-1:]
        raised = self.out[place] if _BASE.match(before) else (" " if before.isdigit() else "") + _factor(numerator)
        self.out[place:] = [f"{raised}/{_factor(denominator)}"]

    def _data(self, data: str | None) -> None:
        if not data:
            return
        if self._is_symbol:
            data = data.translate(_SYMBOL_FONT)
        if self._verbatim:
            self._write(data)
            return
        for part in re.split(r"(\s+)", data):
            if part and not part.isspace():
                self._write(part)
            elif part:
                self._wait("\n" if self._keeps_newlines and "\n" in part else " ")

    def _lose(self, message: str) -> None:
        self.lost.append(message)
        self._wait(" ")

    def _wait(self, space: str) -> None:
        if not self._after_mark and self._pending != "\n":
            self._pending = " " if self._cells else space  # a row stays on its line

    def _write(self, text: str) -> None:
        if self.out and self._pending:
            self.out.append(self._pending)
        self._pending = ""
        self._after_mark = False
        self.out.append(text)


#: Elements and values of CSS's vertical-align that move text up or down.
_MOVED = {"sup": "^", "sub": "_", "super": "^", "text-top": "^", "text-bottom": "_"}
#: The font Symbol shows Latin letters as Greek ones.
_SYMBOL_FONT = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIKLMNOPQRSTUWXYZ", "αβχδεφγηιϕκλμνοπθρστυϖωξψζΑΒΧΔΕΦΓΗΙΚΛΜΝΟΠΘΡΣΤΥΩΞΨΖ"
)
#: Signs between the raised and the lowered number of a fraction, and what a power stands at.
_FRACTION_BARS = frozenset("/⁄∕／")
_BASE = re.compile(r"[A-Za-zΑ-Ωα-ω)\]}]")
_ASSISTIVE = re.compile(r"assistive|hidden-readable|screen-?reader|sr-only|visually-?hidden", re.IGNORECASE)


def _style(element: Element) -> dict[str, str]:
    """The CSS declarations in an element's ``style``."""
    pairs = (declaration.partition(":") for declaration in element.get("style", "").lower().split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def _script_mark(name: str, style: dict[str, str]) -> str:
    """Return ``^`` for what an element or its style raises, ``_`` for what it lowers, and nothing for all else."""
    moved = style.get("vertical-align", "")
    if mark := _MOVED.get(name) or _MOVED.get(moved):
        return mark
    up = re.match(r"(-?)[\d.]*[1-9]", moved)
    down = re.match(r"(-?)[\d.]*[1-9]", style.get("top", "")) if style.get("position") == "relative" else None
    return ("_" if up[1] else "^") if up else ("^" if down[1] else "_") if down else ""


def _factor(text: str) -> str:
    """Put a sum or a product in brackets, so that a fraction bar beside it takes all of it."""
    return f"({text})" if re.search(r".[\s+*/·×÷−–-]", text) else text


def _is_hidden(element: Element, style: dict[str, str]) -> bool:
    return style.get("display") == "none" or style.get("visibility") == "hidden" or element.get("hidden") is not None


def _is_overlined(element: Element, style: dict[str, str]) -> bool:
    is_line = any(name.startswith("border-top") for name in style) and "border-bottom" not in style
    named = any("overline" in value for value in (*style.values(), element.get("class", "")))
    return element.tag not in html.BLOCKS and (named or is_line)


def _is_underlined(name: str, style: dict[str, str]) -> bool:
    return name == "u" or "underline" in style.get("text-decoration", "") or "border-bottom" in style


def _prose(element: Element) -> Iterator[str]:
    """The texts outside of MathML and scripts."""
    yield element.text or ""
    for child in element:
        if child.tag not in _HIDDEN and not child.tag.endswith("math"):
            yield from _prose(child)
        yield child.tail or ""


def _copies(parent: Element, language: str | None) -> set[Element]:
    """Return the children that say again what a sibling says: MathJax's output before its script, other languages."""
    copies: set[Element] = set()
    run: list[Element] = []  # adjacent elements
    rendered: list[Element] = []  # those of them that MathJax wrote for the next script
    for child in parent:
        run.append(child)
        if script_language(child):
            copies |= other_versions(child, rendered)
            rendered = []
        elif "MathJax" in child.get("class", ""):
            rendered.append(child)
        if (child.tail or "").strip():
            copies |= _other_languages(run, language)
            run, rendered = [], []
    return copies | _other_languages(run, language)


def _other_languages(run: Sequence[Element], language: str | None) -> set[Element]:
    """Return all spans of Moodle's multi-language filter but the one in ``language``, by default the first."""
    spans = [item for item in run if "multilang" in item.get("class", "").split()]
    chosen = next((span for span in spans if language and span.get("lang", "").lower().startswith(language)), None)
    return {span for span in spans if span is not (spans[0] if chosen is None else chosen)}
