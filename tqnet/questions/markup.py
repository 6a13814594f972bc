"""Question text and figures as safe HTML: all text escaped, nothing loaded from elsewhere."""

from __future__ import annotations

import base64
import html
import io
from xml.etree import ElementTree

from tqnet.text.formulas import segments

#: Presentation only: \href, \style, \class and \id could run or load things.
_MATH_ATTRIBUTE_NAMES = """
    accent accentunder align bevelled columnalign columnlines columnspacing depth display displaystyle fence form frame
    height largeop linebreak linethickness lspace mathbackground mathcolor mathsize mathvariant maxsize minsize
    movablelimits notation rowalign rowlines rowspacing rspace scriptlevel separator stretchy symmetric voffset width
    xmlns
"""
_MATH_ATTRIBUTES = frozenset(_MATH_ATTRIBUTE_NAMES.split())

#: A longer formula has probably lost a delimiter, and is slow to convert.
_LONGEST_FORMULA = 1500


def text_html(text: str, limit: int | None = None) -> str:
    """Escape a text, with its formulas as MathML, cut after about ``limit`` characters, never inside a formula."""
    room = len(text) if limit is None else limit
    pieces: list[str] = []
    for segment in segments(text):
        if segment.start >= room:
            break
        source = text[segment.start : segment.end]
        if segment.is_formula:
            pieces.append(formula_html(segment.body, source, block=source.startswith(("$$", "\\[", "\\begin"))))
        else:
            pieces.append(html.escape(source[: room - segment.start]))
    return "".join(pieces) + (" …" if room < len(text) else "")


def formula_html(formula: str, source: str | None = None, *, block: bool = False) -> str:
    """Return the MathML of a LaTeX formula, or its escaped source if it cannot be converted.

    ``latex2mathml.convert`` unescapes the whole result, so that ``\\text{<script>}`` would become a script. Here its
    tree is used instead: texts are unescaped one by one (it writes symbols as ``&#x..;``) and escaped again by the
    serialiser, and only harmless attributes are kept.
    """
    from latex2mathml.converter import convert_to_element

    fallback = f"<code>{html.escape(source or formula)}</code>"
    if len(formula) > _LONGEST_FORMULA:
        return fallback
    try:
        root = convert_to_element(formula.strip(), display="block" if block else "inline")
        for element in root.iter():
            element.text = html.unescape(element.text) if element.text else element.text
            element.tail = html.unescape(element.tail) if element.tail else element.tail
            kept = {k: html.unescape(v) for k, v in element.attrib.items() if k in _MATH_ATTRIBUTES}
            element.attrib.clear()
            element.attrib.update(kept)
        return ElementTree.tostring(root, encoding="unicode")
    except Exception:  # the converter raises many kinds, IndexError and RecursionError among them
        return fallback


def data_uri(content: bytes, kind: str) -> str:
    """Return ``data:image/..;base64,..``; ``kind`` is ``png`` or ``svg+xml``."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"


def figure_html(path: str, largest: int) -> str:
    """Return an ``<img>`` of a figure on white, scaled down to ``largest`` pixels, or a note if it is unreadable."""
    try:
        picture = figure_png(path, largest)
    except ValueError:
        return '<span class="missing">figure not readable</span>'
    return f'<img alt="figure" src="{data_uri(picture, "png")}" loading="lazy">'


def figure_png(path: str, largest: int, colours: int = 64) -> bytes:
    """Return a figure on white, scaled down to ``largest`` pixels, as PNG: its pixels and nothing else of the file.

    Raises:
        ValueError: It cannot be read; the message does not give its path.
    """
    from tqnet.questions.images import on_white, open_image

    try:
        opened = open_image(path)
        if isinstance(opened, str):
            raise ValueError(opened)
        picture = on_white(opened)
        picture.thumbnail((largest, largest))
        buffer = io.BytesIO()
        picture.quantize(colours).save(buffer, "PNG", optimize=True)
    except (OSError, ValueError) as error:
        raise ValueError("figure not readable") from error
    return buffer.getvalue()
