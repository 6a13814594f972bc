"""The text layer of PDF files as papers: lines, figures between them, and the furniture of pages."""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tqnet.importers.job import Draft, Job, Place
from tqnet.importers.paper import read_paper
from tqnet.importers.paper_lines import Paragraph, mark_of, options_of
from tqnet.importers.source import SourceError

#: "- 2 -", "Page 1 of 3", "第 2 页 共 3 页"; a bare number only where the next page has the next one.
_PAGE_NUMBER = re.compile(
    r"[-–—]\s*\d{1,4}\s*[-–—]|page\s*\d{1,4}(?:\s*(?:of|/)\s*\d{1,4})?|第\s*\d{1,4}\s*页(?:\W*共\s*\d{1,4}\s*页)?",
    re.IGNORECASE,
)
#: Points by which the height of a running head may differ.
_HEIGHT = 3.0


@dataclass
class _Page:
    """A page.

    Attributes:
        lines: Text, left and bottom of each, in the order of the layer.
        figures: Under each line, by its place, those that stand below it.
    """

    place: Place
    lines: list[tuple[str, float, float]]
    figures: dict[int, list[str]] = field(default_factory=dict)

    def edges(self) -> set[int]:
        """Return the places of the highest and the lowest line."""
        heights = [bottom for _, _, bottom in self.lines]
        return {heights.index(max(heights)), heights.index(min(heights))} if heights else set()


def read_pdf(job: Job) -> Iterator[Draft]:
    """The text layer of PDF files as papers, line by line; figures are pictures within pages.

    Formulas are whatever characters the layer has. A page without a text layer is reported as unread. Page numbers are
    dropped, and running heads with a line in the report.
    """
    for name in job.source.names:
        if name.lower().endswith(".pdf"):
            yield from read_paper(job, _paragraphs(job, name), are_lines=True)


def _paragraphs(job: Job, name: str) -> Iterator[Paragraph]:
    """Yield the lines of a document, each picture after the line above it."""
    pages = list(_pages(job, name))
    for page, furniture in zip(pages, _furniture(job, pages), strict=True):
        for at, (text, _, _) in enumerate(page.lines):
            if at not in furniture:
                yield Paragraph(text, page.place)
            if at in page.figures:
                yield Paragraph("", page.place, tuple(page.figures[at]))


def _pages(job: Job, name: str) -> Iterator[_Page]:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(job.source.file(name))
    except (SourceError, pypdfium2.PdfiumError) as error:
        job.leave_unread(job.place(name), str(error))
        return
    for number, page in enumerate(document, 1):
        place = Place(f"{job.source.shown(name)}#{number}")
        text = page.get_textpage().get_text_bounded()
        if text.strip():
            yield _read_page(job, page, place)
        else:
            job.leave_unread(place, "a page without text, perhaps scanned")


def _read_page(job: Job, page: Any, place: Place) -> _Page:
    import pypdfium2.raw as pdfium

    layer = page.get_textpage()
    read, position = _Page(place, []), 0
    for text in layer.get_text_range().split("\n"):
        if text.strip():
            start = position + len(text) - len(text.lstrip())
            left, bottom, _, _ = layer.get_charbox(start)
            read.lines.append((text.strip(), left, bottom))
        position += len(text) + 1
    for image in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE]):
        stream = io.BytesIO()
        image.get_bitmap(render=True).to_pil().save(stream, "PNG")
        _, _, right, top = image.get_bounds()
        above = [at for at, (_, x, y) in enumerate(read.lines) if y >= top - 5 and x <= right]
        nearest = min(above, key=lambda at: read.lines[at][2] - top, default=0)
        read.figures.setdefault(nearest, []).extend(job.embedded(stream.getvalue(), place, "images"))
    return read


def _furniture(job: Job, pages: list[_Page]) -> list[set[int]]:
    """Return the places of page numbers and running heads of each page: its first or last line, at one height."""
    dropped: list[set[int]] = [set() for _ in pages]
    repeated: dict[str, list[tuple[int, int, float]]] = defaultdict(list)
    for number, page in enumerate(pages):
        for at in page.edges():
            text, _, bottom = page.lines[at]
            if _PAGE_NUMBER.fullmatch(text):
                dropped[number].add(at)
            elif text.isdigit():  # page numbers differ from those of the pages by one amount
                repeated[f"#{int(text) - number}"].append((number, at, bottom))
            elif not (mark_of(Paragraph(text, page.place)) or options_of(text, 0, "options")[1]):
                repeated[text].append((number, at, bottom))
    for text, places in repeated.items():
        alike = [place for place in places if abs(place[2] - places[0][2]) <= _HEIGHT]
        if len(alike) < 2 or 3 * len(alike) < len(pages):
            continue
        for number, at, _ in alike:
            dropped[number].add(at)
        if not text.startswith("#"):
            first = pages[alike[0][0]].place
            job.fault(
                first, "paragraph", f"a running head, at one height on {len(alike)} pages, is dropped: {text!r:.80}"
            )
    return dropped
