"""QTI 2.x and 3: items alone, in folders, and in packages with ``imsmanifest.xml``."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from tqnet.questions.importers.job import Draft, Job
from tqnet.questions.importers.qti_item import item_draft
from tqnet.questions.importers.qti_names import normalized
from tqnet.questions.importers.safe_xml import Element, XmlError, parse
from tqnet.questions.importers.source import SourceError, inside

_MANIFEST = "imsmanifest.xml"
#: Kinds of resources that hold no item and are no fault.
_OTHERS = ("test", "section", "stimulus", "rubric", "webcontent", "associatedcontent", "manifest", "outcome", "lom")


@dataclass(frozen=True)
class Resource:
    """An item's file, and the concepts that the manifest's metadata names for it, coarse to fine."""

    name: str
    knowledge: tuple[tuple[str, ...], ...] = ()


def read(job: Job) -> Iterator[Draft]:
    """The items in the order of the manifest; without one, of all XML files by name."""
    manifests = [name for name in job.source.names if posixpath.basename(name) == _MANIFEST]
    for manifest in manifests:
        root = _root(job, manifest)
        if root is not None:
            for resource in _resources(job, manifest, root):
                yield from _item(job, resource, listed=True)
    if not manifests:
        for name in job.source.names:
            if name.lower().endswith(".xml"):
                yield from _item(job, Resource(name), listed=False)


def _root(job: Job, name: str) -> Element | None:
    try:
        return normalized(parse(job.source.read(name)))
    except SourceError as error:
        job.leave_out(job.place(name), "record", str(error))
    except XmlError as error:
        job.leave_out(job.place(name, error.line), "record", error.message)
    return None


def _item(job: Job, resource: Resource, listed: bool) -> Iterator[Draft]:
    root = _root(job, resource.name)
    if root is None:
        return
    if root.tag == "assessmentItem":
        yield item_draft(job, root, resource.name, resource.knowledge)
    elif root.tag == "questestinterop":
        job.leave_out(job.place(resource.name), "record", "QTI 1, which is not read")
    elif listed:
        job.leave_out(job.place(resource.name, root.sourceline or 0), "record", f"<{root.tag}> is no item")


def _resources(job: Job, manifest: str, root: Element) -> Iterator[Resource]:
    """What the manifest lists as items, each once; a path that leads outside is a fault."""
    found: set[str] = set()
    for element in root.iter("resource"):
        kind, reference = element.get("type", "").lower(), element.get("href")
        is_item = "item" in kind or ("xmlv1p" in kind and "test" not in kind)
        if not is_item or any(other in kind for other in _OTHERS) or reference is None:
            continue
        try:
            name = inside(reference, posixpath.dirname(manifest))
        except SourceError as error:
            job.leave_out(job.place(manifest, element.sourceline or 0), "resource", str(error))
            continue
        if name not in found:
            found.add(name)
            yield Resource(name, _knowledge(element))


def _knowledge(resource: Element) -> tuple[tuple[str, ...], ...]:
    """The taxon paths of the resource's LOM metadata."""
    paths = []
    for path in resource.iter("taxonPath"):
        names = [" ".join("".join(entry.itertext()).split()) for entry in path.iterfind("taxon/entry")]
        if path_names := tuple(name for name in names if name):
            paths.append(path_names)
    return tuple(paths)
