"""Markdown whose figures are named apart from their text."""

from __future__ import annotations

import re

#: ``[1]: figure.png "a title"``
_DEFINITION = re.compile(
    r"^ {0,3}\[(?P<label>[^\[\]]+)\]:[ \t]*<?(?P<source>[^\s<>]+)>?"
    r"""(?:[ \t]+(?:"[^"\n]*"|'[^'\n]*'))?[ \t]*(?:\n|\Z)""",
    re.MULTILINE,
)
_FIGURE = re.compile(r"!\[(?P<text>[^\[\]]*)\](?:\[(?P<label>[^\[\]]*)\])?(?!\()")


def with_sources(text: str) -> str:
    """Write ``![graph][1]``, with ``[1]: figure.png`` in a line of its own, as ``![graph](figure.png)``."""
    if "![" not in text:
        return text
    sources = {match["label"].lower(): match["source"] for match in _DEFINITION.finditer(text)}
    used = {(match["label"] or match["text"]).lower() for match in _FIGURE.finditer(text)} & sources.keys()

    def named(figure: re.Match[str]) -> str:
        label = (figure["label"] or figure["text"]).lower()
        return f"![{figure['text']}]({sources[label]})" if label in used else figure[0]

    rest = _DEFINITION.sub(lambda match: "" if match["label"].lower() in used else match[0], text)
    return _FIGURE.sub(named, rest)
