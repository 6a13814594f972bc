"""Formulas where editors keep them: attributes, scripts, addresses of images, rendered output."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote, unquote_plus
from xml.etree.ElementTree import Element

from tqnet.text import html

#: Attributes that hold a formula's LaTeX on any element, and those that do on an element called after formulas.
_LATEX_ATTRIBUTES = ("data-equation-content", "data-latex", "data-tex", "data-formula", "data-katex", "latex")
_NAMED_ATTRIBUTES = ("data-value", "data-content", "alt")
_MATHML_ATTRIBUTES = ("data-mathml", "x-canvaslms-safe-mathml")
_LOOKS_LIKE_LATEX = re.compile(r"[\\^_=+<>]|^\S{1,3}$")
_CALLED_FORMULA = re.compile(r"formula|latex|\btex|tex\b|texrender|\bmath|mathquill|equation|wiris", re.IGNORECASE)
#: Addresses of images that are made of LaTeX.
_LATEX_ADDRESS = re.compile(
    r"codecogs\.com/[\w./-]{0,99}\?(.+)"
    r"|/equation_images/(.+?)(?:\?scale=.*)?$"
    r"|(?:mathtex|mimetex)(?:\.cgi)?\?(.+)"
    r"|[?&](?:chl|latex|tex)=([^&]+)",
    re.IGNORECASE | re.DOTALL,
)
_APPEARANCE = re.compile(
    r"\\(?:dpi|fn|bg|color)(?:_\w+|\s*\{[^{}]*\})|\\(?:inline|displaystyle|large|huge|normalsize)(?![a-z])",
    re.IGNORECASE,
)
#: Containers of rendered formulas.
_RENDERED = re.compile(r"(?:^|\s)(?:katex|mathjax(?:_\w+)?|mjx-\S+|mq-math-mode|mathml)(?:\s|$)", re.IGNORECASE)
#: MathJax's scripts.
_SCRIPT_TYPE = re.compile(r"\s*math/([a-z]+)", re.IGNORECASE)

#: MathType's spelling of angle brackets, quotes and ampersands.
WIRIS = str.maketrans({"«": "<", "»": ">", "¨": '"', "§": "&", "`": "'"})


def latex_source(element: Element) -> str | None:
    """Return the LaTeX that an element holds beside its content, or in place of it; None if there is none."""
    if script_language(element) == "tex":
        return re.sub(r"(?:%\s*)?(?:<!\[CDATA\[|\]\]>)", "", "".join(element.itertext()))
    for name in _LATEX_ATTRIBUTES:
        if element.get(name, "").strip():
            return unquote(element.get(name, "")) if "%5C" in element.get(name, "") else element.get(name, "")
    alt, source = element.get("alt", ""), element.get("src", "")
    if alt.startswith("LaTeX:"):
        return alt.removeprefix("LaTeX:")
    if (inner := undelimited(alt)[0]) != alt.strip() and _LOOKS_LIKE_LATEX.search(inner):
        return alt
    if element.tag == "img" and (address := _LATEX_ADDRESS.search(source)):
        latex = next(filter(None, address.groups()))
        decoded = unquote(unquote_plus(latex) if "chl=" in source or "latex=" in source else unquote(latex))
        return _APPEARANCE.sub("", decoded.replace("&space;", " ").replace("\\space", " "))
    if element.tag in ("math-field", "tex", "latex"):
        return element.get("value") or "".join(element.itertext())
    has_mathml = any(element.get(name) for name in _MATHML_ATTRIBUTES)  # WIRIS's ``alt`` reads it aloud
    if element.tag in ("img", "span") and _CALLED_FORMULA.search(element.get("class", "")) and not has_mathml:
        values = [element.get(name, "").strip() for name in _NAMED_ATTRIBUTES]
        if not len(element) and "\\" in (element.text or ""):  # MathQuill, before its script has run
            values.append((element.text or "").strip())
        return next(filter(_LOOKS_LIKE_LATEX.search, values), None)
    return None


def math_of(element: Element) -> Element | None:
    """Return the ``<math>`` that an element is, keeps in an attribute, or shows rendered."""
    if element.tag.rpartition(":")[2] == "math":
        return element
    for name in _MATHML_ATTRIBUTES:
        if mathml := element.get(name):
            return math_in(html.tree(mathml.translate(WIRIS)))
    is_rendered = element.tag.startswith("mjx-") or _RENDERED.search(element.get("class", ""))
    return math_in(element) if is_rendered or script_language(element) == "mml" else None


def script_language(element: Element) -> str:
    """Return the language of a formula in a script of MathJax: "tex", "mml" or "asciimath"; nothing for all else."""
    match = _SCRIPT_TYPE.match(element.get("type", "")) if element.tag == "script" else None
    return match[1].lower() if match else ""


def other_versions(script: Element, rendered: Sequence[Element]) -> set[Element]:
    """Return all but one of MathJax's script and what it rendered of it: the first that can be read remains."""
    legible = script if script_language(script) == "asciimath" else None
    chosen = next(filter(_holds_formula, (script, *rendered)), legible)
    return {version for version in (script, *rendered) if version is not chosen} if chosen is not None else set()


def _holds_formula(element: Element) -> bool:
    """Return True if an element or one within it has a formula that can be read."""
    return any((latex_source(part) or "").strip() or math_of(part) is not None for part in element.iter())


def math_in(element: Element) -> Element | None:
    return next((part for part in element.iter() if part.tag.rpartition(":")[2] == "math"), None)


def undelimited(latex: str) -> tuple[str, bool]:
    """Return LaTeX without delimiters of its own, and if these were those of a display."""
    latex = latex.strip()
    for opening, closing in (("$$", "$$"), (r"\[", r"\]"), (r"\(", r"\)"), ("$", "$")):
        if latex.startswith(opening) and latex.endswith(closing) and len(latex) > len(opening) + len(closing):
            return latex[len(opening) : -len(closing)].strip(), opening in ("$$", r"\[")
    return latex, False
