"""Word's formulas (Office Math Markup; ECMA-376, part 1, 22.1) as MathML, which `tqnet.text.mathml` makes LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from tqnet.text.mathml import MathMLError, to_latex

_TOKEN = re.compile(r"\d+(?:[.,]\d+)?|[^\W\d_]|\s+|.", re.DOTALL)


def latex_of(formula: Any) -> str:
    """Return the LaTeX of an ``oMath`` element whose names have no namespace, without delimiters.

    Raises:
        MathMLError: It holds an element that is not one of Word's, or is nested too deep.
    """
    math = Element("math")
    try:
        _append(math, formula)
        return to_latex(math)
    except RecursionError:
        raise MathMLError("nested too deep") from None


def _append(parent: Element, element: Any) -> None:
    """Append the MathML of an element's children."""
    for child in element:
        if isinstance(child.tag, str) and not child.tag.endswith("Pr"):
            convert = _CONVERTERS.get(child.tag)
            if convert is None:
                _append(parent, child)  # runs of insertions, smart tags and the like
            else:
                convert(parent, child)


def _row(parent: Element, element: Any, name: str) -> Element:
    """Append a row with the content of the child ``name``, empty without one."""
    row = SubElement(parent, "mrow")
    child = element.find(name)
    if child is not None:
        _append(row, child)
    return row


def _setting(element: Any, name: str, default: str) -> str:
    """Return ``m:val`` of a property of an element; "" where it is set without a value."""
    setting = element.find(f"{element.tag}Pr/{name}")
    if setting is None:
        return default
    return next((value for key, value in setting.attrib.items() if key.rpartition("}")[2] == "val"), "")


def _is_on(element: Any, name: str) -> bool:
    return _setting(element, name, "0") not in ("0", "off", "false")


def _run(parent: Element, element: Any) -> None:
    text = "".join(part.text or "" for part in element.iter("t"))
    properties = element.find("rPr")
    if properties is not None and properties.find("nor") is not None:
        SubElement(parent, "mtext").text = text
        return
    for token in _TOKEN.findall(text):
        last = parent[-1] if len(parent) else None
        if token.isspace():
            if last is not None:
                last.tail = " "
            continue
        name = "mn" if token[0].isdigit() else "mi" if token.isalpha() else "mo"
        if name == "mn" and last is not None and last.tag == "mn" and last.tail:
            SubElement(parent, "mtext").text = " "  # 2 3 is not 23; elsewhere a space means nothing
        SubElement(parent, name).text = token


def _fraction(parent: Element, element: Any) -> None:
    kind = _setting(element, "type", "bar")
    if kind == "lin":
        _row(parent, element, "num")
        SubElement(parent, "mo").text = "/"
        _row(parent, element, "den")
        return
    fraction = SubElement(parent, "mfrac", {"linethickness": "0"} if kind == "noBar" else {})
    _row(fraction, element, "num")
    _row(fraction, element, "den")


def _radical(parent: Element, element: Any) -> None:
    degree = element.find("deg")
    if degree is None or _is_on(element, "degHide") or not "".join(degree.itertext()).strip():
        _row(SubElement(parent, "msqrt"), element, "e")
        return
    root = SubElement(parent, "mroot")
    _row(root, element, "e")
    _row(root, element, "deg")


def _scripts(tag: str, *names: str) -> Callable[[Element, Any], None]:
    def convert(parent: Element, element: Any) -> None:
        script = SubElement(parent, tag)
        for name in names:
            _row(script, element, name)

    return convert


def _prescripts(parent: Element, element: Any) -> None:
    scripts = SubElement(parent, "mmultiscripts")
    _row(scripts, element, "e")
    SubElement(scripts, "mprescripts")
    _row(scripts, element, "sub")
    _row(scripts, element, "sup")


def _nary(parent: Element, element: Any) -> None:
    shown = [name for name in ("sub", "sup") if not _is_on(element, f"{name}Hide") and element.find(name) is not None]
    tag = {("sub", "sup"): "msubsup", ("sub",): "msub", ("sup",): "msup"}.get(tuple(shown))
    holder = SubElement(parent, tag) if tag else parent
    SubElement(holder, "mo").text = _setting(element, "chr", "∫")
    for name in shown:
        _row(holder, element, name)
    _row(parent, element, "e")


def _delimited(parent: Element, element: Any) -> None:
    fences = {"open": _setting(element, "begChr", "("), "close": _setting(element, "endChr", ")")}
    fenced = SubElement(parent, "mfenced", fences | {"separators": _setting(element, "sepChr", "|")})
    for part in element.findall("e"):
        _append(SubElement(fenced, "mrow"), part)


def _matrix(parent: Element, element: Any) -> None:
    table = SubElement(parent, "mtable")
    for row in element.findall("mr"):
        cells = SubElement(table, "mtr")
        for cell in row.findall("e"):
            _append(SubElement(cells, "mtd"), cell)


def _equations(parent: Element, element: Any) -> None:
    table = SubElement(parent, "mtable")
    for equation in element.findall("e"):
        cell = SubElement(SubElement(table, "mtr"), "mtd")
        _append(cell, equation)
        for part in [part for part in cell if part.tag == "mo" and part.text == "&"]:  # marks of alignment
            cell.remove(part)


def _function(parent: Element, element: Any) -> None:
    name = _row(parent, element, "fName")
    if all(part.tag == "mi" for part in name):  # "sin" comes letter by letter
        word = "".join(part.text or "" for part in name)
        name[:] = []
        SubElement(name, "mi").text = word
    SubElement(parent, "mo").text = "\u2061"
    _row(parent, element, "e")


def _limit(tag: str) -> Callable[[Element, Any], None]:
    def convert(parent: Element, element: Any) -> None:
        limit = SubElement(parent, tag)
        base = _row(limit, element, "e")
        if len(base) > 1 and all(part.tag == "mi" for part in base):  # "lim"
            word = "".join(part.text or "" for part in base)
            base[:] = []
            SubElement(base, "mi").text = word
        _row(limit, element, "lim")

    return convert


def _accent(parent: Element, element: Any) -> None:
    over = SubElement(parent, "mover")
    _row(over, element, "e")
    SubElement(over, "mo").text = _setting(element, "chr", "\u0302")


def _bar(parent: Element, element: Any) -> None:
    is_top = _setting(element, "pos", "bot") == "top"
    holder = SubElement(parent, "mover" if is_top else "munder")
    _row(holder, element, "e")
    SubElement(holder, "mo").text = "¯" if is_top else "_"


def _grouped(parent: Element, element: Any) -> None:
    is_top = _setting(element, "pos", "bot") == "top"
    holder = SubElement(parent, "mover" if is_top else "munder")
    _row(holder, element, "e")
    SubElement(holder, "mo").text = _setting(element, "chr", "⏟")


def _framed(parent: Element, element: Any) -> None:
    _row(SubElement(parent, "menclose", notation="box"), element, "e")


_CONVERTERS: dict[str, Callable[[Element, Any], None]] = {
    "r": _run,
    "f": _fraction,
    "rad": _radical,
    "sSup": _scripts("msup", "e", "sup"),
    "sSub": _scripts("msub", "e", "sub"),
    "sSubSup": _scripts("msubsup", "e", "sub", "sup"),
    "sPre": _prescripts,
    "nary": _nary,
    "d": _delimited,
    "m": _matrix,
    "eqArr": _equations,
    "func": _function,
    "limLow": _limit("munder"),
    "limUpp": _limit("mover"),
    "acc": _accent,
    "bar": _bar,
    "groupChr": _grouped,
    "borderBox": _framed,
    "phant": lambda parent, element: None,
}
