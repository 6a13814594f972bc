"""Concepts with unique names: which is under which, and what contradicts that."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqnet.questions.faults import Fault
from tqnet.questions.question import FieldError, KnowledgePath


@dataclass
class ConceptTree:
    """A forest of named concepts that grows link by link.

    Attributes:
        parents: The parents of each concept in the order they were named, with the line that did; None is
            the parent of a root. More than one is a fault, but later links are checked against all.
    """

    parents: dict[str, dict[str | None, int]] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> tuple[ConceptTree, list[Fault]]:
        """The tree of a ``knowledge.jsonl`` (an object with ``concept`` and ``parent`` or null a line)."""
        tree, faults = cls(), []
        for line, text in enumerate(file.read_bytes().split(b"\n"), 1):
            if not text.strip():
                continue
            try:
                concept, parent = _read_link(text)
                tree.add(concept, parent, line)
            except FieldError as error:
                faults.append(Fault(str(file), line, error.field, error.message))
        faults += [Fault(str(file), line, "parent", message) for line, message in tree._unknown_parents()]
        return tree, sorted(faults, key=lambda fault: fault.line)

    def add(self, concept: str, parent: str | None, line: int) -> None:
        """Puts ``concept`` under ``parent`` (None: at the root); a link that is known already changes nothing.

        Raises:
            FieldError: The concept has another parent already, or the link closes a cycle.
        """
        known = self.parents.setdefault(concept, {})
        if parent in known:
            return
        cycle = None if parent is None else self._way_up(parent, concept)
        known[parent] = line
        if cycle:
            raise FieldError("parent", f"cycle: {' > '.join((*reversed(cycle), cycle[-1]))}")
        if len(known) > 1:
            first, at = next(iter(known.items()))
            raise FieldError("parent", f"{concept!r} has two parents: {_show(first)} (line {at}) and {_show(parent)}")

    def contradictions(self, path: KnowledgePath) -> Iterator[tuple[int, str]]:
        """(position in ``path``, what is wrong there) for each concept that is unknown or elsewhere."""
        above: str | None = None
        for j, name in enumerate(path):
            known = self.parents.get(name)
            if known is None:
                yield j, f"unknown concept {name!r}"
            elif above not in known and (above is None or above in self.parents):
                declared = _show(next(iter(known)))
                yield j, f"{name!r} is under {_show(above)} here, but declared under {declared}"
            above = name

    def _way_up(self, start: str, goal: str) -> list[str] | None:
        """The concepts from ``start`` up to ``goal``, or None; a loop, as trees may be of any depth."""
        came_from: dict[str, str | None] = {start: None}
        waiting = [start]
        while waiting:
            concept = waiting.pop()
            if concept == goal:
                way: list[str] = []
                step: str | None = concept
                while step is not None:
                    way.append(step)
                    step = came_from[step]
                return way[::-1]
            for parent in self.parents.get(concept, {}):
                if parent is not None and parent not in came_from:
                    came_from[parent] = concept
                    waiting.append(parent)
        return None

    def _unknown_parents(self) -> Iterator[tuple[int, str]]:
        for known in self.parents.values():
            for parent, line in known.items():
                if parent is not None and parent not in self.parents:
                    yield line, f"unknown concept {parent!r}"


def _show(parent: str | None) -> str:
    return "no parent" if parent is None else repr(parent)


def _read_link(text: bytes) -> tuple[str, str | None]:
    try:
        record: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise FieldError("record", "not valid JSON") from None
    if not isinstance(record, dict):
        raise FieldError("record", "expected an object with concept and parent")
    for name in ("concept", "parent"):
        if name not in record:
            raise FieldError(name, "missing")
    concept, parent = record["concept"], record["parent"]
    if not isinstance(concept, str) or not concept.strip():
        raise FieldError("concept", "expected a non-empty string")
    if parent is not None and not isinstance(parent, str):
        raise FieldError("parent", "expected a string or null")
    return concept, parent
