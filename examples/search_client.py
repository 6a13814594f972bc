"""A client of ``tqnet serve`` in the standard library: similar questions, and whether a question is there already.

python examples/search_client.py http://127.0.0.1:8000 'Solve x²-5x+6=0'
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen


class Client:
    """A server's address, and its key if it asks for one."""

    def __init__(self, address: str, key: str | None = None):
        self.address, self.key = address.rstrip("/"), key

    def search(self, text: str, k: int = 5, **options: Any) -> dict[str, Any]:
        """Return the answer to a search; the options are the fields of ``POST /search``, described at ``/docs``."""
        return self._send("/search", {"text": text, "k": k, **options})

    def search_all(self, texts: list[str], k: int = 5, **options: Any) -> list[dict[str, Any]]:
        """Return ``status`` and ``answer`` or ``detail`` of each search, a hundred at most."""
        return self._send("/search/batch", {"searches": [{"text": text, "k": k} | options for text in texts]})[
            "answers"
        ]

    def check(self, text: str, options: list[str] | None = None) -> str | None:
        """Return ``identical``, ``near`` or ``variant`` if the bank has the question, and None if it is new."""
        return self._send("/check", {"text": text, "options": options or []})["relation"]

    def put(self, questions: list[dict[str, Any]]) -> dict[str, int]:
        """Insert or replace questions, a thousand at most; needs the key to write, as :meth:`delete` does."""
        return self._send("/questions", questions, "PUT")

    def delete(self, id: str) -> None:
        self._send(f"/questions/{quote(id)}", method="DELETE")

    def _send(self, path: str, body: Any = None, method: str = "POST") -> Any:
        headers = {"Content-Type": "application/json"} | ({"X-API-Key": self.key} if self.key else {})
        request = Request(self.address + path, json.dumps(body).encode(), headers, method=method)
        try:
            with urlopen(request, timeout=300) as answer:  # a thousand questions take a while
                return json.loads(answer.read() or "null")
        except HTTPError as error:  # the body says why
            raise ValueError(json.load(error)["detail"]) from None


def main() -> None:
    text, client = sys.argv[2], Client(sys.argv[1], os.environ.get("TQNET_API_KEY"))
    print("in the bank already:", client.check(text) or "no")
    for result in client.search(text)["results"]:
        print(f"{result['question']['id']}: {result['question']['stem']}")


if __name__ == "__main__":
    main()
