"""Question text and figures as safe HTML: all text escaped, nothing loaded from elsewhere."""

from __future__ import annotations

import base64
import html
import io
import re
from functools import lru_cache
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from tqnet.text.formulas import segments

#: Presentation only: \href, \style, \class and \id could run or load things.
_MATH_ATTRIBUTE_NAMES = """
    accent accentunder align bevelled columnalign columnspacing depth display displaystyle fence form frame
    height largeop linebreak linethickness lspace mathbackground mathcolor mathsize mathvariant maxsize minsize
    movablelimits notation rowalign rowspacing rspace scriptlevel separator stretchy symmetric voffset width
    xmlns
"""
_MATH_ATTRIBUTES = frozenset(_MATH_ATTRIBUTE_NAMES.split())

#: Environments of rows -> default columns. The converter only knows the array, without its rules.
_TABLES = {"array": "", "tabular": ""}
_TABLES |= dict.fromkeys(("aligned", "alignedat", "align", "alignat", "flalign", "eqnarray", "split"), "rl" * 6)
_TABLES |= dict.fromkeys(("gathered", "gather", "multline"), "c")
_TABLE = re.compile(
    rf"\\(?P<which>begin|end)\s*\{{(?P<name>{'|'.join(_TABLES)})(?P<star>\*?)\}}"
    r"(?:\s*\[[tbc]\])?(?:\s*\{(?P<columns>(?:[^{}]|\{[^{}]*\})*)\})?"
)
_RULE = re.compile(r"\\(?:hdash|h)line\b(?:\s*\[[^\]]*\])?")
#: Parts of a column specification that are not columns, or hold letters that are not.
_NO_COLUMN = re.compile(r"[@!<>]\s*\{(?:[^{}]|\{[^{}]*\})*\}|(?<=[pmb])\{[^{}]*\}|\s")

#: Private-use characters that mark in a cell: a rule above this row; columns that stand close together; and, added to
#: the number of a column, a rule before it.
_ABOVE, _CLOSE, _BEFORE = 0xE000, 0xE001, 0xE100
_MOST_COLUMNS = 100
_SIGN = re.compile(f"[{chr(_ABOVE)}{chr(_CLOSE)}{chr(_BEFORE)}-{chr(_BEFORE + _MOST_COLUMNS)}]")

#: A longer formula has probably lost a delimiter, and is slow to convert.
_LONGEST_FORMULA = 1500

#: Number of converted formulas to cache: some 20 MiB.
_KEPT = 16_384
#: Longer formulas hardly recur, and are not cached.
_COMMON = 200


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
    """Return the MathML of a LaTeX formula, or its escaped source if it cannot be converted."""
    convert = _mathml if len(formula) <= _COMMON else _mathml.__wrapped__
    mathml = convert(formula, block) if len(formula) <= _LONGEST_FORMULA else None
    return mathml or f"<code>{html.escape(source or formula)}</code>"


@lru_cache(_KEPT)
def _mathml(formula: str, block: bool) -> str | None:
    """Convert a formula; None if it cannot be.

    ``latex2mathml.convert`` unescapes the whole result, so that ``\\text{<script>}`` would become a script. Here its
    tree is used instead: texts are unescaped one by one (it writes symbols as ``&#x..;``) and escaped again by the
    serialiser, and only harmless attributes are kept.
    """
    from latex2mathml.converter import convert_to_element

    try:
        root = convert_to_element(_with_tables(formula.strip()), display="block" if block else "inline")
        for element in root.iter():
            element.text = html.unescape(element.text) if element.text else element.text
            element.tail = html.unescape(element.tail) if element.tail else element.tail
            kept = {k: html.unescape(v) for k, v in element.attrib.items() if k in _MATH_ATTRIBUTES}
            element.attrib.clear()
            element.attrib.update(kept)
        for table in root.iter("mtable"):
            _draw_rules(table)
        for element in root.iter():
            element.text = _SIGN.sub("", element.text) if element.text else element.text
        return ElementTree.tostring(root, encoding="unicode")
    except Exception:  # the converter raises many kinds, IndexError and RecursionError among them
        return None


def _with_tables(formula: str) -> str:
    """Write all environments of rows as arrays of plain columns, with signs in place of their rules."""

    def write(match: re.Match[str]) -> str:
        if match["which"] == "end":
            return r"\end{array}" + (f"{{{match['columns']}}}" if match["columns"] else "")
        default, given = _TABLES[match["name"]], match["columns"]
        columns = default or re.sub(r"[^lcr|]", "c", _NO_COLUMN.sub("", given or ""))
        takes_argument = not default or match["name"].endswith("at")
        rest = f"{{{given}}}" if given is not None and not takes_argument else ""
        before = [len(columns[:at].replace("|", "")) for at, sign in enumerate(columns) if sign == "|"]
        signs = [chr(_BEFORE + column) for column in dict.fromkeys(before) if column <= _MOST_COLUMNS]
        close = chr(_CLOSE) if default.startswith("rl") else ""
        return rf"\begin{{array}}{{{columns.replace('|', '') or 'c'}}}{close}{''.join(signs)} {rest}"

    return _RULE.sub(chr(_ABOVE), _TABLE.sub(write, formula))


def _draw_rules(table: Element) -> None:
    """Turn the signs in an array's cells into classes: browsers draw no ``rowlines`` and ``columnlines``."""
    rows = list(table)
    signs = [_take_signs(row) for row in rows]
    last_rule = len(rows) > 1 and chr(_ABOVE) in signs[-1] and not any(len(cell) for cell in rows[-1])
    if last_rule:  # what follows the last line break is a rule alone
        table.remove(rows.pop())
    is_close = any(chr(_CLOSE) in sign for sign in signs[:1])
    rules = {ord(sign) - _BEFORE for sign in "".join(signs[:1]) if ord(sign) >= _BEFORE}
    for row, sign in zip(rows, signs, strict=False):
        for column, cell in enumerate(row):
            sides = {
                "above": chr(_ABOVE) in sign,
                "below": last_rule and row is rows[-1],
                "before": column in rules,
                "after": cell is row[-1] and column + 1 in rules,
                "close": is_close,
            }
            if drawn := " ".join(side for side, is_drawn in sides.items() if is_drawn):
                cell.set("class", drawn)
            if is_close and column % 2:  # so that = stands as after something
                cell.insert(0, Element("mi"))


def _take_signs(row: Element) -> str:
    """Remove the signs from the first cell of a row, and return them."""
    cell = row[0] if len(row) else row
    signs = ""
    for element in list(cell):
        if not element.text or _SIGN.sub("", element.text):
            break
        signs += element.text
        cell.remove(element)
    return signs


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
