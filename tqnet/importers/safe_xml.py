"""Safe reading of untrusted XML: no entities, nothing external, bounded by libxml2."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lxml import etree

#: An element of lxml, which has no types of its own.
Element = Any

#: libxml2's own bounds (256 levels, 10 MB in one text) stay on.
_SAFE: dict[str, Any] = dict.fromkeys(("resolve_entities", "load_dtd", "huge_tree"), False)
_SAFE |= dict.fromkeys(("no_network", "remove_comments", "remove_pis"), True)


class XmlError(ValueError):
    """XML that cannot be read; ``line`` is 0 if unknown."""

    def __init__(self, message: str, line: int = 0):
        super().__init__(message)
        self.message = message
        self.line = line


def parse(content: bytes | str) -> Element:
    """Return the root of a document; raise XmlError if it is not well-formed or declares entities."""
    try:
        root = etree.fromstring(content.encode() if isinstance(content, str) else content, etree.XMLParser(**_SAFE))
    except etree.XMLSyntaxError as error:
        raise _broken(error) from None
    _refuse_entities(root)
    return root


def elements(file: Path, tag: str) -> Iterator[Element]:
    """Yield the elements called ``tag`` of a large document; each is cleared before the next.

    Raises:
        XmlError: As for `parse`, after the elements before the fault.
    """
    with file.open("rb") as stream:
        parsed = etree.iterparse(stream, events=("end",), tag=tag, **_SAFE)
        try:
            for number, (_, element) in enumerate(parsed):
                if number == 0:
                    _refuse_entities(element)
                yield element
                element.clear()
                while element.getprevious() is not None:
                    del element.getparent()[0]
        except etree.XMLSyntaxError as error:
            raise _broken(error) from None


def root_name(head: bytes) -> str:
    """Return the name of the first element without namespace, from the first bytes of a file; empty if no XML."""
    try:
        for _, element in etree.iterparse(io.BytesIO(head), events=("start",), recover=True, **_SAFE):
            return etree.QName(element).localname
    except etree.XMLSyntaxError:
        pass
    return ""


def strip_namespaces(root: Element) -> Element:
    """Drop prefixes of names and entity references, which nothing resolves, in place."""
    for element in root.iter():
        if isinstance(element.tag, str) and "}" in element.tag:
            element.tag = etree.QName(element).localname
    etree.strip_tags(root, etree.Entity)
    etree.cleanup_namespaces(root)
    return root


def inner_markup(element: Element) -> str:
    """Return the markup between an element's tags."""
    pieces = [html.escape(element.text or "", quote=False)]
    pieces += [etree.tostring(child, encoding="unicode", with_tail=True) for child in element]
    return re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", "".join(pieces))


def _refuse_entities(element: Element) -> None:
    declared = element.getroottree().docinfo.internalDTD
    if declared is not None and next(iter(declared.iterentities()), None) is not None:
        raise XmlError("declares entities, which are not read")


def _broken(error: etree.XMLSyntaxError) -> XmlError:
    return XmlError(f"not well-formed XML: {error.msg}", error.lineno or 0)
