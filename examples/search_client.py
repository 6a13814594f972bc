"""A client of ``tqnet serve`` in the standard library: similar questions, and whether a question is there already.

python examples/search_client.py http://127.0.0.1:8000 'Solve x²-5x+6=0'
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen


class Client:
    """A server's address, and its key if it asks for one."""

    def __init__(self, address: str, key: str | None = None):
        self.address, self.key = address.rstrip("/"), key

    def search(self, text: str, k: int = 5, **options: Any) -> dict[str, Any]:
        """Return the answer to a search; the options are the fields of ``POST /search``, described at ``/docs``."""
        return self._post("/search", {"text": text, "k": k, **options})

    def search_all(self, texts: list[str], k: int = 5, **options: Any) -> list[dict[str, Any]]:
        """Return ``status`` and ``answer`` or ``detail`` of each search, a hundred at most."""
        searches = [{"text": text, "k": k, **options} for text in texts]
        return self._post("/search/batch", {"searches": searches})["answers"]

    def check(self, text: str, options: list[str] | None = None) -> str | None:
        """Return ``identical``, ``near`` or ``variant`` if the bank has the question, and None if it is new."""
        return self._post("/check", {"text": text, "options": options or []})["relation"]

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"} | ({"X-API-Key": self.key} if self.key else {})
        request = Request(self.address + path, json.dumps(body).encode(), headers)
        try:
            with urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except HTTPError as error:  # the body says why
            raise ValueError(json.load(error)["detail"]) from None


def main() -> None:
    address, text = sys.argv[1:]
    client = Client(address, os.environ.get("TQNET_API_KEY"))
    print("in the bank already:", client.check(text) or "no")
    for result in client.search(text)["results"]:
        print(f"{result['question']['id']}: {result['question']['stem']}")


if __name__ == "__main__":
    main()
