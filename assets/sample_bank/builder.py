"""From templates to records: deals the members of every group, splits by group, numbers and writes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from PIL import Image

from . import templates
from .draw import Draw
from .registry import Check, Draft, Kind
from .splits import split_kinds

#: How many members a group has.
SIZES = (6, 8)


@dataclass
class Built:
    """A finished question: its record, its figures and the check of its answer."""

    record: dict[str, object]
    check: Check
    figures: dict[str, Image.Image] = field(default_factory=dict)


def build(seed: int = 0) -> list[Built]:
    """The whole bank; the same for the same seed."""
    kinds = templates.KINDS
    split_of = split_kinds(kinds, seed)
    seen: set[str] = set()
    drafts = [(kind, draft) for kind in kinds for draft in _members(kind, seed, seen)]
    # Numbered in random order: neither an id nor a place in the file tells the group.
    drafts = Draw(f"{seed}/order").shuffled(drafts)
    return [_finish(f"s{k:04d}", kind, draft, split_of[kind.name]) for k, (kind, draft) in enumerate(drafts, 1)]


def size_of(kind: Kind, seed: int) -> int:
    return Draw(f"{seed}/size/{kind.name}").num(*SIZES) if kind.grouped else 1


def write(bank: list[Built], out: Path) -> None:
    """``questions.jsonl`` and ``images/`` below ``out``; figures of an earlier bank are removed."""
    images = out / "images"
    images.mkdir(parents=True, exist_ok=True)
    for old in images.glob("*.png"):
        old.unlink()
    for built in bank:
        for name, figure in built.figures.items():
            figure.save(out / name, optimize=True)
    (out / "questions.jsonl").write_text(to_jsonl(bank), encoding="utf-8")


def to_jsonl(bank: list[Built]) -> str:
    return "".join(json.dumps(built.record, ensure_ascii=False) + "\n" for built in bank)


def _members(kind: Kind, seed: int, seen: set[str]) -> list[Draft]:
    """As many different questions as the group holds; a repeated one is drawn again."""
    turn = Draw(f"{seed}/turn/{kind.name}").pick(0, 0, 0, 2, 3, 4)
    members = []
    for member in range(size_of(kind, seed)):
        for attempt in range(50):
            draft = kind.make(Draw(f"{seed}/{kind.name}/{member}/{attempt}", member, turn))
            key = _fingerprint(draft)
            if key not in seen:
                seen.add(key)
                members.append(draft)
                break
        else:
            raise ValueError(f"{kind.name}: no new question after 50 attempts")
    return members


def _fingerprint(draft: Draft) -> str:
    # Figures alone must differ too, so that none is shared by two questions.
    drawn = [figure.convert("RGB").tobytes() for figure in draft.figures]
    content = drawn or [draft.stem.encode(), repr(draft.options).encode()]
    return hashlib.sha256(b"\0".join(content)).hexdigest()


def _finish(name: str, kind: Kind, draft: Draft, split: str) -> Built:
    answer = draft.shown(draft.answer)
    options = [draft.shown(option) for option in draft.options]
    figures = {f"images/{name}-{k}.png": figure for k, figure in enumerate(draft.figures, 1)}
    harder = isinstance(draft.answer, Fraction) or any(isinstance(option, Fraction) for option in draft.options)
    record: dict[str, object] = {
        "id": name,
        "stem": draft.stem,
        "options": options,
        "answer": chr(ord("A") + options.index(answer)) if options else answer,
        "analysis": draft.analysis,
        "images": list(figures),
        "knowledge": [list(path) for path in kind.knowledge],
        "difficulty": min(5, kind.level + harder),
        "type": "choice" if options else "fill" if "____" in draft.stem else "solve",
        "language": draft.language,
        "group": kind.name if kind.grouped else None,
        "split": split,
        "source": "tqnet sample bank",
    }
    if kind.figure_only:
        record["figure_only"] = True
    return Built(record, draft.check, figures)
