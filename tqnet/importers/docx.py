"""Word documents (.docx) as papers: automatic numbers, formulas as LaTeX, figures, tables, blanks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from tqnet.importers.job import Draft, Job, Place
from tqnet.importers.omml import latex_of
from tqnet.importers.paper import read_paper
from tqnet.importers.paper_key import is_of_one_question, title
from tqnet.importers.paper_lines import Paragraph, mark_of, options_of
from tqnet.importers.safe_xml import Element, XmlError, parse, strip_namespaces
from tqnet.importers.source import SourceError, ZipSource
from tqnet.importers.word_lists import Lists, attribute, integer, named, value_at
from tqnet.importers.word_tables import paragraphs_of
from tqnet.text.mathml import MathMLError
from tqnet.text.plain import BLANK

#: Elements that hold runs.
_HOLDERS = frozenset(
    ["hyperlink", "ins", "moveTo", "smartTag", "sdt", "sdtContent", "fldSimple", "customXml", "bdo", "dir", "Choice"]
)
#: Deleted text, and the copies of drawings for old versions.
_SKIPPED = frozenset(["del", "moveFrom", "delText", "instrText", "fldChar", "pPr", "rPr", "sdtPr", "Fallback"])
_SCRIPTS = {"superscript": "^", "subscript": "_"}
#: Characters of the font Symbol that occur in school papers, by their codes (Word adds F000).
_SYMBOL_CODES = {
    "α": 0x61, "β": 0x62, "γ": 0x67, "Δ": 0x44, "δ": 0x64, "ε": 0x65, "θ": 0x71, "λ": 0x6C, "μ": 0x6D, "π": 0x70,
    "σ": 0x73, "φ": 0x66, "ω": 0x77, "Ω": 0x57, "≤": 0xA3, "≥": 0xB3, "±": 0xB1, "×": 0xB4, "°": 0xB0, "≠": 0xB9,
    "∠": 0xD0, "→": 0xAE, "•": 0xB7, "∞": 0xA5, "√": 0xD6, "∩": 0xC7, "∪": 0xC8, "∈": 0xCE, "⊥": 0x5E, "·": 0xD7,
}  # fmt: skip
_SYMBOLS = {code: character for character, code in _SYMBOL_CODES.items()}
_QUESTION = re.compile(
    r"\s*(?:(?:question|problem|exercise|q|例|第)\s*)?[(（\[]?\d{1,4}\s*(?:[)）\]、:：题]|[.．](?!\d))", re.IGNORECASE
)
_UNREAD_IMAGES = (".emf", ".wmf", ".emz", ".wmz")


def read_docx(job: Job) -> Iterator[Draft]:
    """Yield the questions of each ``.docx`` file; `tqnet.importers.paper` says which layout is understood."""
    for name in job.source.names:
        if not name.lower().endswith(".docx"):
            continue
        try:
            document = _Document(job, name)
            yield from read_paper(job, document.paragraphs())
        except (SourceError, ValueError) as error:  # XmlError is one
            job.leave_unread(job.place(name), str(error))
        except RecursionError:
            job.leave_unread(job.place(name), "nested too deep")


class _Document:
    """A document's parts: its body, relations, styles and lists."""

    def __init__(self, job: Job, name: str):
        self._parts = ZipSource(job.source.file(name))
        # Figures are read from the document; faults are those of the whole import.
        self._job = Job(self._parts, job.figures, job.settings, job.faults)
        self._name = job.source.shown(name)
        body = self._root("word/document.xml").find("body")
        if body is None:
            raise XmlError("no document of Word")
        self._body = body
        relations = self._optional("word/_rels/document.xml.rels")
        self._targets = {} if relations is None else {part.get("Id", ""): part for part in relations}
        self._lists = Lists(self._optional("word/numbering.xml"))
        self._styles = (
            {} if (styles := self._optional("word/styles.xml")) is None else named(styles, "style", "styleId")
        )
        self._notes = {kind: self._optional(f"word/{kind}s.xml") for kind in ("footnote", "endnote")}
        self._line = 0
        self._number = 0  # of the last question
        self._in_key, self._below_title, self._starts_anew = False, False, False
        self._images: list[str] = []

    def _root(self, part: str) -> Element:
        return strip_namespaces(parse(self._parts.read(part)))

    def _optional(self, part: str) -> Element | None:
        return self._root(part) if part in self._parts.names else None

    def paragraphs(self) -> Iterator[Paragraph]:
        for paragraph in self._blocks(self._body):
            self._lists.questions += bool(paragraph.number or _QUESTION.match(paragraph.text))
            self._note(paragraph)
            yield paragraph

    def _note(self, paragraph: Paragraph) -> None:
        """Note what tells how the next table is read: the numbers so far, and the title of a key."""
        if not paragraph.text and not paragraph.images:
            return
        mark, words = mark_of(paragraph), title(paragraph.text.strip()) if self._number else ""
        self._below_title = bool(words)
        self._in_key |= bool(words) and not is_of_one_question(words)
        self._starts_anew = paragraph.is_heading
        if mark and mark.number in (self._number + 1, 1):
            self._number = max(mark.number, self._number if mark.number == 1 else 0)

    def _blocks(self, parent: Element) -> Iterator[Paragraph]:
        for block in parent:
            if block.tag == "p":
                yield self._paragraph(block)
            elif block.tag == "tbl":
                yield from self._table(block)
            elif block.tag == "altChunk":
                self._fault("an embedded document (altChunk) is not read")
            elif block.tag in ("sdt", "sdtContent", "customXml", "ins"):
                yield from self._blocks(block)

    def _paragraph(self, element: Element) -> Paragraph:
        self._line += 1
        self._images = []
        text = self._text(element).strip(" ")
        style = value_at(element, "pPr/pStyle")
        names = (style, value_at(self._styles.get(style), "name"))
        is_heading = any(re.match(r"heading|title|标题", name, re.IGNORECASE) for name in names)
        number, mark = self._lists.next_number(*self._list_of(element, style), is_heading)
        if mark and text:
            text = f"{mark} {text}"
        images = tuple(self._images)
        return Paragraph(text, self._place(), images, number, is_heading and not number and not images)

    def _place(self) -> Place:
        return Place(self._name, self._line)

    def _list_of(self, element: Element, style: str) -> tuple[str, int]:
        """Return the list and level of a paragraph, by itself or by its style; "" without one."""
        for holder in (element, self._styles.get(style)):
            if holder is not None and (number := value_at(holder, "pPr/numPr/numId")):
                return number, integer(value_at(holder, "pPr/numPr/ilvl"), 0)
        return "", 0

    def _table(self, table: Element) -> Iterator[Paragraph]:
        rows = [
            [[part for part in self._blocks(cell) if part.text or part.images] for cell in row.findall("tc")]
            for row in table.iter("tr")
            if next(row.iterancestors("tbl")) is table  # not of inner tables
        ]
        starts = {self._number + 1, 1} if self._starts_anew else {self._number + 1}
        following = table.getnext()
        follows = following is not None and following.tag == "p" and self._begins_option(following)
        yield from paragraphs_of(rows, self._in_key or self._below_title, starts, follows)

    def _begins_option(self, element: Element) -> bool:
        """Return True if a paragraph begins with the first option."""
        text = "".join(part.text or "" for part in element.iter("t")).strip()
        is_lettered = self._lists.is_lettered(*self._list_of(element, value_at(element, "pPr/pStyle")))
        return is_lettered or bool(options_of(text, 0, "options")[1])

    def _text(self, element: Element) -> str:
        """Return the text of runs and formulas, those raised or lowered marked as such."""
        pieces = ((script, text) for script, text in self._runs(element) if text)
        out = ""
        for script, group in groupby(pieces, key=lambda piece: piece[0]):
            text = "".join(text for _, text in group)
            if script and text.strip():
                text = text.strip()
                text = script + (text if len(text) == 1 else f"{{{text}}}")
            out += text
        return out

    def _runs(self, element: Element) -> Iterator[tuple[str, str]]:
        for child in element:
            if child.tag == "r":
                yield from self._run(child)
            elif child.tag == "oMath":
                yield "", self._formula(child, "$")
            elif child.tag == "oMathPara":
                for formula in child.iter("oMath"):
                    yield "", self._formula(formula, "$$")
            elif child.tag in _HOLDERS or child.tag == "AlternateContent":
                yield from self._runs(child)

    def _run(self, run: Element) -> Iterator[tuple[str, str]]:
        properties = run.find("rPr")
        if properties is not None and properties.find("vanish") is not None:
            return
        script = _SCRIPTS.get(value_at(run, "rPr/vertAlign"), "")
        is_underlined = value_at(run, "rPr/u") not in ("", "none")
        for child in run:
            if child.tag == "t":
                text = child.text or ""
                yield script, BLANK if is_underlined and not text.strip() else text
            elif child.tag in ("tab", "ptab"):
                yield script, BLANK if is_underlined else "\t"
            elif child.tag in ("br", "cr"):
                yield script, "\n"
            elif child.tag == "noBreakHyphen":
                yield script, "-"
            elif child.tag == "sym":
                yield script, self._symbol(child)
            elif child.tag == "instrText" and (child.text or "").strip().upper().startswith("EQ"):
                self._fault("a field EQ (an old formula) is not read")
            elif child.tag in ("footnoteReference", "endnoteReference"):
                self._report_note(child.tag.removesuffix("Reference"), attribute(child, "id"))
            elif child.tag in ("drawing", "pict", "object"):
                yield "", self._drawing(child)
            elif child.tag not in _SKIPPED:
                yield from self._run(child)

    def _report_note(self, kind: str, name: str) -> None:
        notes = self._notes[kind]
        note = None if notes is None else named(notes, kind, "id").get(name)
        text = "" if note is None else "".join(part.text or "" for part in note.iter("t")).strip()
        self._fault(f"a {kind} is not kept: {text!r:.80}")

    def _symbol(self, element: Element) -> str:
        code = integer(attribute(element, "char"), 0, base=16)
        if text := _SYMBOLS.get(code & 0xFFF):
            return text
        self._fault(f"a character of a symbol font is not read: {code:x}")
        return ""

    def _formula(self, element: Element, delimiter: str) -> str:
        try:
            latex = latex_of(element)
        except MathMLError as error:
            self._fault(f"a formula: {error}")
            return "".join(element.itertext())
        return f"{delimiter}{latex}{delimiter}" if latex else ""

    def _drawing(self, element: Element) -> str:
        """Take the figures of a drawing, and return the text of its boxes."""
        texts = [self._text(part) for box in element.iter("txbxContent") for part in box.iter("p")]
        references = [
            value
            for part in element.iter("blip", "imagedata")
            for key, value in part.attrib.items()
            if key.rpartition("}")[2] in ("embed", "id", "link") and value in self._targets
        ]
        if not references and not texts:
            self._fault("a chart or drawing of Word is not read")
        for reference in references:
            target = self._targets[reference].get("Target", "")
            if target.lower().endswith(_UNREAD_IMAGES):
                kind = "a formula of MathType" if element.tag == "object" else "a drawing"
                self._fault(f"{kind} as a Windows metafile is not read: {target!r:.80}")
            else:
                name = target.lstrip("/") if target.startswith("/") else f"word/{target}"
                name = target if self._targets[reference].get("TargetMode") == "External" else name
                self._images += self._job.figure(name, "", self._place(), "images")
        return "\n".join(filter(None, texts))

    def _fault(self, message: str) -> None:
        self._job.fault(self._place(), "paragraph", message)
