"""Parts of Word documents, written here."""

from __future__ import annotations

from pathlib import Path

from tests.importers.generators import picture, write_zip

SPACES = "xmlns:w='w' xmlns:m='m' xmlns:r='r' xmlns:a='a' xmlns:v='v'"


def paragraph(*parts: str, properties: str = "") -> str:
    runs = "".join(part if part.startswith("<") else f"<w:r><w:t>{part}</w:t></w:r>" for part in parts)
    return f"<w:p><w:pPr>{properties}</w:pPr>{runs}</w:p>"


def numbered(*parts: str, level: int | str = 0, number: int = 1, style: str = "") -> str:
    listed = f"<w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='{number}'/></w:numPr>"
    return paragraph(*parts, properties=(f"<w:pStyle w:val='{style}'/>" if style else "") + listed)


def run(text: str, properties: str) -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"


def mrun(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


FRACTION = f"<m:f><m:num>{mrun('x+1')}</m:num><m:den>{mrun('2')}</m:den></m:f>"
FIGURE = "<w:r><w:drawing><a:blip r:embed='i1'/></w:drawing></w:r>"
TABLE = "<w:tbl><w:tr>{}</w:tr></w:tbl>"


def cells(*texts: str) -> str:
    return "".join(f"<w:tc>{paragraph(text)}</w:tc>" for text in texts)


def level(depth: int, kind: str, text: str, start: int | str = 1) -> str:
    settings = f"<w:start w:val='{start}'/><w:numFmt w:val='{kind}'/><w:lvlText w:val='{text}'/>"
    return f"<w:lvl w:ilvl='{depth}'>{settings}</w:lvl>"


def definition(name: int, *levels: str) -> str:
    return f"<w:abstractNum w:abstractNumId='{name}'>{''.join(levels)}</w:abstractNum>"


def listed(number: int, definition: int, start: int | None = None) -> str:
    """A list with a definition, and perhaps a start of its own."""
    override = f"<w:lvlOverride w:ilvl='0'><w:startOverride w:val='{start}'/></w:lvlOverride>" if start else ""
    return f"<w:num w:numId='{number}'><w:abstractNumId w:val='{definition}'/>{override}</w:num>"


#: A list of numbers with letters below them.
LISTS = definition(0, level(0, "decimal", "%1."), level(1, "upperLetter", "%2.")) + listed(1, 0)


def write_docx(path: Path, *blocks: str, lists: str = LISTS) -> Path:
    """Write a document with lists, a figure (i1), a metafile (i2) and a footnote (2)."""
    relations = (
        "<Relationships><Relationship Id='i1' Target='media/a.png'/><Relationship Id='i2' Target='media/b.wmf'/>"
    )
    parts = {
        "word/document.xml": f"<w:document {SPACES}><w:body>{''.join(blocks)}</w:body></w:document>",
        "word/_rels/document.xml.rels": relations + "</Relationships>",
        "word/numbering.xml": f"<w:numbering {SPACES}>{lists}</w:numbering>",
        "word/footnotes.xml": (
            f"<w:footnotes {SPACES}><w:footnote w:id='2'>{paragraph('Look here.')}</w:footnote></w:footnotes>"
        ),
        "word/media/a.png": picture(1),
        "word/media/b.wmf": b"x",
    }
    return write_zip(path, parts)
