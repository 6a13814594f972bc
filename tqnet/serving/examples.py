"""Examples of the API description: requests, and an answer to a search."""

from __future__ import annotations

from typing import Any

SEARCH: dict[str, Any] = {"text": "Solve $x^2-5x+6=0$", "k": 3, "filters": ["difficulty<=3", "language=en"]}

BATCH: dict[str, Any] = {"searches": [{"text": "Find x if x²=9", "ids_only": True}, {"text": "How long is a circle?"}]}

CHECK: dict[str, Any] = {"text": "What is 3 + 4?", "options": ["6", "7", "8"]}

QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "algebra-1",
        "stem": "Solve $x^2-5x+6=0$",
        "answer": "$x=2$ or $x=3$",
        "knowledge": [["Algebra", "Equations", "Quadratic"]],
        "difficulty": 2,
        "language": "en",
    },
    {"id": "arithmetic-1", "stem": "What is 3 + 4?", "options": ["6", "7", "8"], "answer": "B"},
]

PAIR: dict[str, Any] = {"text": "Solve $x^2-7x+12=0$", "result": "algebra-1", "label": "variant"}

_NO_TEXTS: dict[str, Any] = {"options": [], "answer": None, "analysis": None}

_QUESTION: dict[str, Any] = {
    "id": "algebra-1",
    "stem": "Solve x²-5x+6=0",
    **_NO_TEXTS,
    "knowledge": [["Algebra", "Equations", "Quadratic"]],
    "difficulty": 2.0,
    "type": None,
    "language": "en",
    "source": None,
    "figures": 0,
    "html": {"stem": "Solve x²-5x+6=0", **_NO_TEXTS},
}

ANSWER: dict[str, Any] = {
    "query": {"stem": "Solve x²-7x+12=0", **_NO_TEXTS},
    "duplicates": [],
    "results": [
        {
            "score": 0.83,
            "cosine": 0.94,
            "words": 3.1,
            "figure": None,
            "evidence": 0.83,
            "rank": None,
            "remarks": [],
            "shared": ["Solve"],
            "question": _QUESTION,
            "more": [],
        }
    ],
    "more": False,
    "notes": [],
    "dropped": [],
}
