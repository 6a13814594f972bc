"""Parts of Word documents, written here."""

from __future__ import annotations

from pathlib import Path

from tests.importers.generators import picture, write_zip

SPACES = "xmlns:w='w' xmlns:m='m' xmlns:r='r' xmlns:a='a' xmlns:v='v'"


def paragraph(*parts: str, properties: str = "") -> str:
    runs = "".join(part if part.startswith("<") else f"<w:r><w:t>{part}</w:t></w:r>" for part in parts)
    return f"<w:p><w:pPr>{properties}</w:pPr>{runs}</w:p>"


def numbered(*parts: str, level: int = 0) -> str:
    return paragraph(*parts, properties=f"<w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='1'/></w:numPr>")


def run(text: str, properties: str) -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"


def mrun(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


FRACTION = f"<m:f><m:num>{mrun('x+1')}</m:num><m:den>{mrun('2')}</m:den></m:f>"
FIGURE = "<w:r><w:drawing><a:blip r:embed='i1'/></w:drawing></w:r>"
TABLE = "<w:tbl><w:tr>{}</w:tr></w:tbl>"


def cells(*texts: str) -> str:
    return "".join(f"<w:tc>{paragraph(text)}</w:tc>" for text in texts)


NUMBERING = f"""<w:numbering {SPACES}><w:abstractNum w:abstractNumId='0'>
<w:lvl w:ilvl='0'><w:start w:val='1'/><w:numFmt w:val='decimal'/><w:lvlText w:val='%1.'/></w:lvl>
<w:lvl w:ilvl='1'><w:start w:val='1'/><w:numFmt w:val='upperLetter'/><w:lvlText w:val='%2.'/></w:lvl>
</w:abstractNum><w:num w:numId='1'><w:abstractNumId w:val='0'/></w:num></w:numbering>"""


def write_docx(path: Path, *blocks: str) -> Path:
    """Write a document with a list of numbers and letters, a figure (i1) and a metafile (i2)."""
    relations = (
        "<Relationships><Relationship Id='i1' Target='media/a.png'/><Relationship Id='i2' Target='media/b.wmf'/>"
    )
    parts = {
        "word/document.xml": f"<w:document {SPACES}><w:body>{''.join(blocks)}</w:body></w:document>",
        "word/_rels/document.xml.rels": relations + "</Relationships>",
        "word/numbering.xml": NUMBERING,
        "word/media/a.png": picture(1),
        "word/media/b.wmf": b"x",
    }
    return write_zip(path, parts)
