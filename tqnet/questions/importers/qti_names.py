"""QTI 3 in the names of QTI 2: ``qti-choice-interaction`` is ``choiceInteraction``."""

from __future__ import annotations

import re

from tqnet.questions.importers.safe_xml import Element, strip_namespaces


def normalized(root: Element) -> Element:
    """The tree without namespaces, its elements and attributes under QTI 2's names, in place."""
    strip_namespaces(root)
    for element in root.iter():
        if not isinstance(element.tag, str) or not element.tag.startswith("qti-"):
            continue
        element.tag = _camel(element.tag.removeprefix("qti-"))
        for name, value in list(element.attrib.items()):
            if "-" in name and not name.startswith("data-"):
                del element.attrib[name]
                element.set(_camel(name), value)
    return root


def _camel(name: str) -> str:
    return re.sub(r"-([a-z0-9])", lambda m: m[1].upper(), name)
