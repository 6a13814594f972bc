"""Word documents (.docx) as papers: automatic numbers, formulas as LaTeX, figures, tables, blanks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby

from tqnet.importers.job import Draft, Job, Place
from tqnet.importers.omml import latex_of
from tqnet.importers.paper import Paragraph, read_paper
from tqnet.importers.safe_xml import Element, XmlError, parse, strip_namespaces
from tqnet.importers.source import SourceError, ZipSource
from tqnet.text.lists import chinese, letter, roman
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
_OPTION = re.compile(r"\s*[(（]?A\s?[.)）、．:：]")
_NUMBER_CELL = re.compile(r"(\d{1,4})\s*[.)）、．]?")
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
        self._lists = _Lists(self._optional("word/numbering.xml"))
        self._styles = (
            {} if (styles := self._optional("word/styles.xml")) is None else _named(styles, "style", "styleId")
        )
        self._line = 0
        self._images: list[str] = []

    def _root(self, part: str) -> Element:
        return strip_namespaces(parse(self._parts.read(part)))

    def _optional(self, part: str) -> Element | None:
        return self._root(part) if part in self._parts.names else None

    def paragraphs(self) -> Iterator[Paragraph]:
        for paragraph in self._blocks(self._body):
            self._lists.questions += bool(paragraph.number or _QUESTION.match(paragraph.text))
            yield paragraph

    def _blocks(self, parent: Element) -> Iterator[Paragraph]:
        for block in parent:
            if block.tag == "p":
                yield self._paragraph(block)
            elif block.tag == "tbl":
                yield from self._table(block)
            elif block.tag in ("sdt", "sdtContent", "customXml", "ins"):
                yield from self._blocks(block)

    def _paragraph(self, element: Element) -> Paragraph:
        self._line += 1
        self._images = []
        text = self._text(element).strip(" ")
        style = _value(element, "pPr/pStyle")
        names = (style, _value(self._styles.get(style), "name"))
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
            if holder is not None and (number := _value(holder, "pPr/numPr/numId")):
                return number, _int(_value(holder, "pPr/numPr/ilvl"), 0)
        return "", 0

    def _table(self, table: Element) -> Iterator[Paragraph]:
        """Yield each row as a line, its cells where one begins with an option; a number and a cell are a question."""
        for row in (row for row in table.iter("tr") if next(row.iterancestors("tbl")) is table):  # not of inner tables
            cells = [[part for part in self._blocks(cell) if part.text or part.images] for cell in row.findall("tc")]
            if any(_OPTION.match(part.text) for cell in cells for part in cell):
                yield from (part for cell in cells for part in cell)
                continue
            texts = [" ".join(part.text for part in cell) for cell in cells]
            images = tuple(image for cell in cells for part in cell for image in part.images)
            number = _NUMBER_CELL.fullmatch(texts[0].strip()) if len(texts) > 1 else None
            text = f"{number[1]}. {' '.join(texts[1:])}" if number and len(texts) == 2 else " | ".join(texts)
            yield Paragraph(text if any(texts) else "", self._place(), images)

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
        script = _SCRIPTS.get(_value(run, "rPr/vertAlign"), "")
        is_underlined = _value(run, "rPr/u") not in ("", "none")
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
            elif child.tag in ("drawing", "pict", "object"):
                yield "", self._drawing(child)
            elif child.tag not in _SKIPPED:
                yield from self._run(child)

    def _symbol(self, element: Element) -> str:
        code = _int(_attribute(element, "char"), 0, base=16)
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


@dataclass(frozen=True)
class _List:
    """A list of Word (``w:num``).

    Attributes:
        definition: The ``w:abstractNum`` that it is a use of.
        starts: Level -> the number that it starts with in this list alone.
    """

    definition: str
    levels: dict[int, Element]
    starts: dict[int, int]


class _Lists:
    """Automatic numbers of paragraphs, as Word counts them (ECMA-376, part 1, 17.9).

    Lists with one definition continue one count, unless a list has a start of its own. A level begins again below the
    next item of a higher one.

    NOTE: Where Word goes on with E in the options of the next question, letters begin again, as they name options.

    Attributes:
        questions: Number of questions up to here.
    """

    def __init__(self, numbering: Element | None):
        self.questions = 0
        self._lists: dict[str, _List] = {}
        self._counts: dict[str, list[int]] = {}  # by definition, of each level
        self._asked: dict[str, int] = {}  # by definition, `questions` at its last item
        self._started: set[tuple[str, int]] = set()  # lists and levels
        if numbering is None:
            return
        definitions = _named(numbering, "abstractNum", "abstractNumId")
        for number, element in _named(numbering, "num", "numId").items():
            definition = _value(element, "abstractNumId")
            if definition in definitions:
                levels = (*definitions[definition].iter("lvl"), *element.iter("lvl"))
                starts = [part for part in element.findall("lvlOverride") if part.find("startOverride") is not None]
                self._lists[number] = _List(
                    definition,
                    {_int(_attribute(level, "ilvl"), 0): level for level in levels},
                    {_int(_attribute(part, "ilvl"), 0): _int(_value(part, "startOverride"), 1) for part in starts},
                )

    def next_number(self, number: str, level: int, is_heading: bool) -> tuple[int, str]:
        """Return the number of a question, or the mark of an option or other item, that a paragraph has."""
        listed = self._lists.get(number)
        if listed is None or level not in listed.levels or not 0 <= level <= 8:
            return 0, ""
        levels = [listed.levels.get(depth) for depth in range(level + 1)]
        kinds = [_value(part, "numFmt") or "decimal" for part in levels]
        starts = [listed.starts.get(depth, _int(_value(part, "start"), 1)) for depth, part in enumerate(levels)]
        counts = self._counts.setdefault(listed.definition, [])
        is_fresh = level in listed.starts and (number, level) not in self._started
        is_asked = self._asked.get(listed.definition, 0) < self.questions
        # An item of a higher level may be the heading above questions that the list numbers itself.
        if is_fresh or (is_asked and kinds[level] in _LETTERS and len(counts) == level + 1 and not is_heading):
            del counts[level:]
        self._started.add((number, level))
        self._asked[listed.definition] = self.questions
        counts += [start - 1 for start in starts[len(counts) :]]
        counts[level] += 1
        del counts[level + 1 :]
        if kinds[level] == "bullet":
            return 0, "•"
        if level == 0 and kinds[level].startswith("decimal") and counts[0] > 0:
            return counts[0], ""
        text = _value(levels[level], "lvlText")
        for depth, count in enumerate(counts):
            shown = _FORMATS.get(kinds[depth], str)(max(count, starts[depth]))
            text = text.replace(f"%{depth + 1}", shown)
        return 0, text


_LETTERS = ("upperLetter", "lowerLetter")
_CHINESE = (
    "chineseCounting chineseCountingThousand ideographDigital japaneseCounting taiwaneseCounting "
    "taiwaneseCountingThousand"
)
#: Formats of numbers that are not shown in digits.
_FORMATS: dict[str, Callable[[int], str]] = {
    "upperLetter": lambda number: letter(number - 1),
    "lowerLetter": lambda number: letter(number - 1).lower(),
    "upperRoman": roman,
    "lowerRoman": lambda number: roman(number).lower(),
    "none": lambda number: "",
    "decimalEnclosedCircle": lambda number: chr(ord("①") + number - 1) if 0 < number <= 20 else str(number),
    "ideographTraditional": lambda number: "甲乙丙丁戊己庚辛壬癸"[number - 1] if 0 < number <= 10 else str(number),
    **dict.fromkeys(_CHINESE.split(), chinese),
}


def _int(text: str, default: int, base: int = 10) -> int:
    """Read a number of a file; the ``default`` for what is none, or longer than any that Word writes."""
    try:
        return int(text, base) if len(text) < 10 else default
    except ValueError:
        return default


def _attribute(element: Element, name: str) -> str:
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def _value(element: Element | None, path: str) -> str:
    """Return ``w:val`` of the element at ``path``; of a property that is set without a value, its name."""
    found = None if element is None else element.find(path)
    return "" if found is None else _attribute(found, "val") or found.tag


def _named(root: Element, tag: str, name: str) -> dict[str, Element]:
    return {_attribute(element, name): element for element in root.findall(tag)}
