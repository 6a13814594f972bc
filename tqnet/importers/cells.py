"""The values of a table's cells."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from tqnet.importers.choices import is_picture, json_value, size

_STEPS = re.compile("->|[>＞›→]|::")


def items_of(cell: Any) -> list[Any]:
    """Return the items of a list, also in JSON; of another cell, itself; of an empty one, none."""
    listed = json_value(cell) or cell
    return [item for item in (listed if isinstance(listed, list) else [listed]) if item is not None]


def is_content(item: Any) -> bool:
    return isinstance(item, bytes) or (is_picture(item) and isinstance(item.get("bytes"), bytes))


def paths(texts: Sequence[str]) -> list[list[str]]:
    """Read ``Algebra > Equations`` as a path from coarse to fine."""
    split = ([step for step in map(str.strip, _STEPS.split(text)) if step] for text in texts)
    return [path for path in split if path]


def read_cell(cell: Any) -> Any:
    """Return a cell as a JSON value; None for an empty one."""
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return None
    if isinstance(cell, str):
        return cell.strip() or None
    if isinstance(cell, float) and cell.is_integer():  # as spreadsheets hold 3
        return int(cell)
    if isinstance(cell, list | tuple):
        return [read_cell(item) for item in cell] or None
    if isinstance(cell, Mapping):
        return {str(name): read_cell(value) for name, value in cell.items()}
    if isinstance(cell, datetime | date | time):
        return cell.isoformat()
    if isinstance(cell, Decimal):
        return float(cell)
    return cell if isinstance(cell, bool | int | float | bytes) else str(cell)


def as_extra(value: Any) -> Any:
    """Return a JSON value; bytes are replaced by their number."""
    return json.loads(json.dumps(value, default=size))
