"""Notations within a text that are not HTML: WIRIS, ``[tex]``, Markdown images, several languages."""

from __future__ import annotations

import html
import re

from tqnet.text.editors import WIRIS
from tqnet.text.formulas import FORMULA
from tqnet.text.html import TAG

# None of these notations holds another of its kind: a text of openings alone would take quadratic time.
_WIRIS_MATH = r"«math\b(?:(?!«math\b).)*?«/math»|«math\b[^«»]*/»"
_CODE = re.compile(
    r"\[(?P<name>tex|latex|math|mathjax)\](?P<latex>(?:(?!\[(?P=name)\]).)+?)\[/(?P=name)\]", re.IGNORECASE | re.DOTALL
)
_TWICE = re.compile(
    r"(?<![\\$])(?P<dollars>\$\$?)\s*(?P<inner>\\\[(?:\\[^\]]|[^\\$])+\\\]|\\\((?:\\[^)]|[^\\$])+\\\))\s*(?P=dollars)"
)
_MARKDOWN_IMAGE = (
    r"!\[[^\[\]\n]*\]\(\s*<?(?P<source>[^()<>\s]+\.\w{2,4}(?:\?[^()\s]*)?|data:image/[^()\s]+"
    r"|(?<=<)[^<>\n]+\.\w{2,4}(?=>))>?(?:\s+\"[^\"]*\")?\s*\)"
)
#: ``[1]: figure.png "a title"``
_MARKDOWN_SOURCE = re.compile(
    r"^ {0,3}\[(?P<label>[^\[\]]+)\]:[ \t]*<?(?P<source>[^\s<>]+)>?"
    r"""(?:[ \t]+(?:"[^"\n]*"|'[^'\n]*'))?[ \t]*(?:\n|\Z)""",
    re.MULTILINE,
)
#: What Markdown's marks are not in: formulas, escapes, code.
_LITERAL = re.compile(rf"{FORMULA.pattern}|\\(?P<escaped>[\\`*_{{}}\[\]()#+.!~-])|`(?P<code>[^`\n]+)`", re.DOTALL)
_HEADING = re.compile(r"^#{1,6}[ \t]+", re.MULTILINE)
#: Emphasis, but no product ``2*3*4`` and no blanks.
_EMPHASIS = re.compile(
    r"(?<![A-Za-z0-9*])(?P<stars>\*{1,3})(?=[^\s*])(?P<starred>[^*\n]*)(?<=[^\s*])(?P=stars)(?![A-Za-z0-9*])"
    r"|(?<!\w)(?P<lines>_{1,3})(?=[^\W_]|\x00)(?P<lined>[^_\n]*)(?<=[^\s_])(?P=lines)(?!\w)"
)
_MARKDOWN_FIGURE = re.compile(r"!\[(?P<text>[^\[\]]*)\](?:\[(?P<label>[^\[\]]*)\])?(?!\()")
_MARKUP_OR_TAG = re.compile(rf"{TAG.pattern}|{_WIRIS_MATH}|{_MARKDOWN_IMAGE}", re.DOTALL)
_MULTILANG = re.compile(r"\{mlang\s+([\w,]+)\}((?:(?!\{mlang\s).)*?)\{mlang\}", re.DOTALL | re.IGNORECASE)
#: A text without any of these has no markup.
SUSPECT = re.compile(r"[<«&]|!\[|\[[tlmTLM]|\$\s*\\[\[(]|\{ml|\{ML")
#: Signs that begin the notations of `as_html`.
MARKS = re.compile(r"«(?=math)|\[(?=tex|latex|math)|!(?=\[)|\{(?=mlang)|\$(?=\s*\\[\[(])", re.IGNORECASE)


def as_html(text: str, language: str | None) -> str:
    """Write editors' notations that are not HTML as HTML or in dollars."""
    text = _CODE.sub(r"$\g<latex>$", text)
    text = _TWICE.sub(r"\g<inner>", text)
    if "![" in text:
        text = _with_sources(text)
    if "«math" in text or "![" in text:
        text = _MARKUP_OR_TAG.sub(_markup, text)
    return _in_language(text, language)


def without_marks(text: str) -> str:
    """Return a text of Markdown without escapes and marks of emphasis, code and headings; formulas stay as they are."""
    text = text.replace("\x00", "")
    literals = [match["escaped"] or match["code"] or match[0] for match in _LITERAL.finditer(text)]
    text = _HEADING.sub("", _LITERAL.sub("\x00", text))
    for _ in range(2):  # one within the other
        text = _EMPHASIS.sub(lambda match: match["starred"] or match["lined"], text)
    rest = iter(literals)
    return re.sub("\x00", lambda _: next(rest), text)


def _with_sources(text: str) -> str:
    """Write ``![graph][1]``, with ``[1]: figure.png`` in a line of its own, as ``![graph](figure.png)``."""
    sources = {match["label"].lower(): match["source"] for match in _MARKDOWN_SOURCE.finditer(text)}
    used = {(match["label"] or match["text"]).lower() for match in _MARKDOWN_FIGURE.finditer(text)} & sources.keys()

    def named(figure: re.Match[str]) -> str:
        label = (figure["label"] or figure["text"]).lower()
        return f"![{figure['text']}]({sources[label]})" if label in used else figure[0]

    rest = _MARKDOWN_SOURCE.sub(lambda match: "" if match["label"].lower() in used else match[0], text)
    return _MARKDOWN_FIGURE.sub(named, rest)


def _markup(match: re.Match[str]) -> str:
    """Write WIRIS's formulas and Markdown's images as HTML; within a tag, their quotes would end an attribute."""
    if match[0].startswith("<"):
        return match[0]
    return f'<img src="{html.escape(match["source"])}">' if match["source"] else match[0].translate(WIRIS)


def _in_language(text: str, language: str | None) -> str:
    """Keep one language of ``{mlang en}..{mlang}{mlang de,other}..{mlang}``: the given one or "other", or the first."""
    start, *rest = _MULTILANG.split(text)
    if not rest:
        return text
    blocks = list(zip((names.lower().split(",") for names in rest[::3]), rest[1::3], rest[2::3], strict=True))
    languages = [name for names, _, _ in blocks for name in names]
    known = next((name for name in (language, "other") if name in languages), None) if language else None
    wanted = known or languages[0]
    out: list[str] = [start]
    run: dict[str, str] = {}  # adjacent blocks
    for names, body, after in blocks:
        run |= {name: f"{run.get(name, '')} {body}".strip() for name in set(names)}
        if after.strip():
            out += [run.get(wanted, run.get("other", "")), after]
            run = {}
    return "".join((*out, run.get(wanted, run.get("other", ""))))
