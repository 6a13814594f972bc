"""Presentation MathML to LaTeX (MathML Core and what editors write beyond it).

No maintained library converts in this direction (latex2mathml goes the other way). Supported are the elements of
school formulas: tokens, rows, scripts, fractions, roots, tables, fences, accents and enclosures; not content MathML
(``<apply>``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from xml.etree.ElementTree import Element

from tqnet.text.symbols import SPACE, join, symbols, text_command

#: Names that LaTeX has a command for.
_FUNCTION_NAMES = (
    "arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf limsup ln log max "
    "min sec sin sinh sup tan tanh Pr"
)
FUNCTIONS = frozenset(_FUNCTION_NAMES.split())

#: Accent over a base -> its command.
OVER = {
    "¯": r"\overline", "‾": r"\overline", "―": r"\overline", "_": r"\overline", "→": r"\overrightarrow",
    "⃗": r"\vec", "⇀": r"\vec", "←": r"\overleftarrow", "↔": r"\overleftrightarrow", "^": r"\hat", "ˆ": r"\hat",
    "̂": r"\hat", "~": r"\tilde", "˜": r"\tilde", "˙": r"\dot", ".": r"\dot", "¨": r"\ddot", "⏞": r"\overbrace",
    "︷": r"\overbrace", "ˇ": r"\check", "´": r"\acute", "`": r"\grave", "˘": r"\breve", "⌢": r"\overset{\frown}",
    "⌒": r"\overset{\frown}", "⏜": r"\overset{\frown}", "︵": r"\overset{\frown}",
}  # fmt: skip
UNDER = dict.fromkeys("_―̲¯", r"\underline") | dict.fromkeys("⏟︸", r"\underbrace")
#: Operators that take their limits as scripts.
LARGE = frozenset("∑∏∐⋃⋂⋁⋀∫∬∭∮⨁⨂") | {"lim", "max", "min", "sup", "inf", "gcd", "limsup", "liminf"}
ARROWS = {"→": r"\xrightarrow", "⟶": r"\xrightarrow", "←": r"\xleftarrow", "⟵": r"\xleftarrow"}
VARIANTS = {
    "bold": r"\mathbf",
    "double-struck": r"\mathbb",
    "script": r"\mathcal",
    "fraktur": r"\mathfrak",
    "sans-serif": r"\mathsf",
    "monospace": r"\mathtt",
}
#: Fences of a table -> its environment.
FENCED_TABLES = {("(", ")"): "pmatrix", ("[", "]"): "bmatrix", ("|", "|"): "vmatrix", ("‖", "‖"): "Vmatrix"}
NOTATIONS = {
    "box": r"\boxed", "roundedbox": r"\boxed", "top": r"\overline", "bottom": r"\underline", "radical": r"\sqrt",
    "actuarial": r"\overline", "updiagonalstrike": r"\cancel", "downdiagonalstrike": r"\bcancel",
    "horizontalstrike": r"\cancel", "circle": r"\boxed", "longdiv": r"\overline", "vector": r"\vec",
}  # fmt: skip


class MathMLError(ValueError):
    """An element that is not presentation MathML, or has contents that it must not have."""


def to_latex(math: Element) -> str:
    r"""Convert a ``<math>`` element to LaTeX, without delimiters; prefixes of names are ignored.

    Raises:
        MathMLError: It contains an element that is not presentation MathML.
    """
    for element in math.iter():
        element.tag = element.tag.rpartition(":")[2]
    return _latex(math).strip()


def repair(math: Element) -> list[str]:
    """Replace unknown elements and stray text of a ``<math>`` so that `to_latex` reads it; return the problems."""
    problems: list[str] = []
    for element in list(math.iter()):
        element.tag = element.tag.rpartition(":")[2]
        if element.tag.startswith("annotation") or element.tag in _TOKENS:
            continue
        if element.tag not in _CONVERTERS and element.tag not in _PARTS:
            problems.append(f"<{element.tag}> is not presentation MathML")
            element.tag = "mrow"
        if any(map(str.strip, (element.text or "", *(child.tail or "" for child in element)))):
            problems.append(f"<{element.tag}> contains text")
            children = [_token(element.text)]
            for child in list(element):
                children += [child, _token(child.tail)]
                child.tail = None
            element.text = None
            element[:] = [child for child in children if child is not None]
        wanted = {"mtable": ("mtr", "mlabeledtr"), "mtr": ("mtd",), "mlabeledtr": ("mtd",)}.get(element.tag)
        for place, child in enumerate(element if wanted else ()):
            if wanted and child.tag.rpartition(":")[2] not in wanted:
                element[place] = Element(wanted[0])
                element[place].append(child)
    return problems


def _token(text: str | None) -> Element | None:
    token = Element("mtext")
    token.text = (text or "").strip()
    return token if token.text else None


def _latex(element: Element) -> str:
    convert = _CONVERTERS.get(element.tag)
    if convert is None:
        raise MathMLError(f"<{element.tag}> is not presentation MathML")
    if element.tag not in _TOKENS and any(map(str.strip, (element.text or "", *(part.tail or "" for part in element)))):
        raise MathMLError(f"<{element.tag}> contains text")
    return convert(element)


def _group(element: Element) -> str:
    return f"{{{_latex(element).strip()}}}"


def _base(element: Element) -> str:
    """Convert the base of a script, in braces if it is more than one sign."""
    latex = _latex(element).strip()
    simple = re.fullmatch(r"(?:\\?[^\\{}^_]|\\[A-Za-z]+|[\d.,]+|\\(?:mathrm|mathbf|mathbb|text)\{[^{}]*\})", latex)
    return latex if simple else f"{{{latex}}}"


def _children(element: Element, count: int) -> list[Element]:
    children = list(element)
    if len(children) != count:
        raise MathMLError(f"<{element.tag}> has {len(children)} elements, not {count}")
    return children


def _text(element: Element) -> str:
    return "".join(element.itertext()).strip(" \t\r\n")


def _row(element: Element) -> str:
    children = list(element)
    pieces = []
    place = 0
    while place < len(children):
        fenced, width = _fenced_table(children[place : place + 3])
        pieces.append(fenced if width else _latex(children[place]))
        place += width or 1
    return join(pieces)


def _fenced_table(children: Sequence[Element]) -> tuple[str, int]:
    """Convert a matrix, cases or binomial at the start of a row; also return the number of elements used, or 0."""
    if len(children) < 2 or children[0].tag != "mo":
        return "", 0
    inner = _unwrapped(children[1])
    closed = len(children) > 2 and children[2].tag == "mo"
    fences = _text(children[0]), _text(children[2]) if closed else ""
    if inner.tag == "mtable" and (name := _environment_name(*fences)):
        return _environment(name, inner), 3 if closed else 2
    if inner.tag == "mfrac" and _is_barless(inner) and fences == ("(", ")"):
        over, under = map(_group, _children(inner, 2))
        return rf"\binom{over}{under}", 3
    return "", 0


def _environment_name(opening: str, closing: str) -> str | None:
    """Return the environment of a table between fences."""
    return "cases" if opening == "{" and closing in ("", "}") else FENCED_TABLES.get((opening, closing))


def _unwrapped(element: Element) -> Element:
    while element.tag in ("mrow", "mstyle", "mpadded") and len(element) == 1:
        element = element[0]
    return element


def _identifier(element: Element) -> str:
    name = _text(element)
    if name in FUNCTIONS:
        return rf"\{name}"
    latex = symbols(name)
    if variant := VARIANTS.get(element.get("mathvariant", "").removesuffix("-italic")):
        return f"{variant}{{{latex}}}"
    if len(name) > 1 and name.isalpha() and not name.isupper():
        return rf"\mathrm{{{name}}}" if name.isascii() else text_command(name)
    return latex


def _operator(element: Element) -> str:
    text = _text(element)
    if text in FUNCTIONS:
        return rf"\{text}"
    if len(text) > 1 and text.isalpha():
        return rf"\operatorname{{{text}}}" if text.isascii() else text_command(text)
    latex = symbols(text)
    return f" {latex} " if latex in ("=", "<", ">") else latex


def _words(element: Element) -> str:
    text = "".join(element.itertext()).replace("\u00a0", " ")
    return text_command(re.sub(r"\s+", " ", text)) if text.strip() else (SPACE if text else "")


def _space(element: Element) -> str:
    if element.get("linebreak") == "newline":
        return r"\\ "
    width = re.fullmatch(r"(\d*\.?\d+)(em|ex|px|pt)", element.get("width", ""))
    if not width or not float(width[1]):
        return ""
    return r"\quad " if width[2] == "em" and float(width[1]) >= 1 else SPACE


def _script(element: Element) -> str:
    mark = "^" if element.tag == "msup" else "_"
    base, script = _children(element, 2)
    inner = _latex(script).strip()
    if mark == "^" and set(inner) == {"'"}:
        return _base(base) + inner
    if inner == r"^{\circ}":
        inner = r"\circ"
    return f"{_base(base)}{mark}{_short(inner)}" if inner else _latex(base)


def _both_scripts(element: Element) -> str:
    base, below, above = _children(element, 3)
    inner = _latex(above).strip()
    raised = inner if inner and set(inner) == {"'"} else f"^{_short(inner)}"
    return f"{_base(base)}_{_short(_latex(below).strip())}{raised}"


def _short(script: str) -> str:
    """Write a script as people type it, and like `tqnet.text.plain`: ``^2``, ``^{10}``."""
    return script if len(script) == 1 else f"{{{script}}}"


def _many_scripts(element: Element) -> str:
    children = [child for child in element if child.tag != "mprescripts"]
    if not children:
        return ""
    split = next((i for i, child in enumerate(element) if child.tag == "mprescripts"), len(children))

    def pairs(scripts: Sequence[Element]) -> str:
        marked = zip("_^" * len(scripts), scripts, strict=False)
        converted = ((mark, _latex(script).strip()) for mark, script in marked if script.tag != "none")
        return "".join(f"{mark}{{{latex}}}" for mark, latex in converted if latex)

    before = pairs(children[split:])
    return ("{}" + before if before else "") + _base(children[0]) + pairs(children[1:split])


def _under_and_over(element: Element) -> str:
    """Convert mover, munder and munderover: limits, long arrows, accents, or a stack."""
    base, *scripts = _children(element, 3 if element.tag == "munderover" else 2)
    below = None if element.tag == "mover" else scripts[0]
    above = None if element.tag == "munder" else scripts[-1]
    if _is_large(base):
        limits = ((mark, limit) for mark, limit in (("_", below), ("^", above)) if limit is not None)
        return _latex(base).strip() + "".join(f"{mark}{_group(limit)}" for mark, limit in limits)
    if above is not None and (arrow := ARROWS.get(_text(base))):
        return f"{arrow}{'' if below is None else f'[{_latex(below).strip()}]'}{_group(above)}"
    command = OVER.get(_text(above)) if above is not None and below is None else None
    command = UNDER.get(_text(below)) if below is not None and above is None else command
    if command:
        return f"{command}{_group(base)}"
    stack = _group(base) if above is None else rf"\overset{_group(above)}{_group(base)}"
    if below is None:
        return stack
    return rf"\underset{_group(below)}{stack if above is None else f'{{{stack}}}'}"


def _is_large(base: Element) -> bool:
    return _text(_unwrapped(base)) in LARGE


def _fraction(element: Element) -> str:
    over, under = map(_group, _children(element, 2))
    return rf"{{{over} \atop {under}}}" if _is_barless(element) else rf"\frac{over}{under}"


def _is_barless(element: Element) -> bool:
    return re.fullmatch(r"0(?:\.0*)?(?:\w+|%)?", element.get("linethickness", "")) is not None


def _fenced(element: Element) -> str:
    opening, closing = element.get("open", "("), element.get("close", ")")
    children = list(element)
    table = _unwrapped(children[0]) if len(children) == 1 else element
    if table.tag == "mtable" and (name := _environment_name(opening, closing)):
        return _environment(name, table)
    marks = element.get("separators", ",").replace(" ", "")
    pieces = [symbols(opening)]
    for i, child in enumerate(children):
        if i and marks:
            pieces.append(symbols(marks[min(i - 1, len(marks) - 1)]) + " ")
        pieces.append(_latex(child))
    return join((*pieces, symbols(closing)))


def _environment(name: str, table: Element) -> str:
    rows = []
    for row in table:
        cells = list(row)[1:] if row.tag == "mlabeledtr" else list(row)
        rows.append(" & ".join(_latex(cell).strip() for cell in cells))
    body = r" \\ ".join(rows)
    return rf"\begin{{{name}}} {body} \end{{{name}}}"


def _enclosed(element: Element) -> str:
    latex = _row(element).strip()
    for notation in element.get("notation", "longdiv").split():
        latex = f"{NOTATIONS[notation]}{{{latex}}}" if notation in NOTATIONS else latex
    return latex


def _semantics(element: Element) -> str:
    for child in element:
        if child.tag == "annotation" and child.get("encoding", "").lower() in ("application/x-tex", "tex", "latex"):
            return _text(child)
    return _first(element)


def _first(element: Element) -> str:
    return _latex(element[0]) if len(element) else ""


_PARTS = frozenset({"mtr", "mlabeledtr"})
_TOKENS = frozenset({"mi", "mn", "mo", "mtext", "ms"})
_CONVERTERS: dict[str, Callable[[Element], str]] = {
    **dict.fromkeys(("math", "mrow", "mstyle", "mpadded", "merror", "mtd"), _row),
    **dict.fromkeys(("none", "mprescripts", "mphantom", "malignmark", "maligngroup", "mglyph"), lambda _: ""),
    "mi": _identifier,
    "mn": lambda element: symbols(_text(element)),
    "mo": _operator,
    **dict.fromkeys(("mtext", "ms"), _words),
    "mspace": _space,
    **dict.fromkeys(("msup", "msub"), _script),
    "msubsup": _both_scripts,
    "mmultiscripts": _many_scripts,
    **dict.fromkeys(("mover", "munder", "munderover"), _under_and_over),
    "mfrac": _fraction,
    "msqrt": lambda element: rf"\sqrt{{{_row(element).strip()}}}",
    "mroot": lambda element: "\\sqrt[{1}]{{{0}}}".format(*(_latex(part).strip() for part in _children(element, 2))),
    "mfenced": _fenced,
    "mtable": lambda element: _environment("matrix", element),
    "menclose": _enclosed,
    "semantics": _semantics,
    "maction": _first,
}
