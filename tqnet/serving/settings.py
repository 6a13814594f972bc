"""What can be chosen about a server."""

from __future__ import annotations

from dataclasses import dataclass

from tqnet.questions.pairs import Classify
from tqnet.search.curriculum import Curriculum


@dataclass(frozen=True)
class Settings:
    """Limits, and who may ask.

    Attributes:
        api_key: Without it nothing of the index is told; None: everyone may ask.
        hosts: Names under which the server may be addressed. Behind a page of another site whose name was made to point
            here, a browser sends that name.
        batch_size: Queries that are encoded at once, at most.
        batch_wait: Seconds that the first of a batch waits for others.
        queue: Searches that wait or run at a time; more are refused.
        cache: Answers that are kept.
        max_upload: Bytes of a request.
        max_pixels: Of a figure.
        max_figures: Of a query.
        max_text: Characters of a query.
        curriculum: By which it is told what is beyond a learning stage.
        classify: By which variants of the query are told from similar questions and from duplicates.
    """

    api_key: str | None = None
    hosts: tuple[str, ...] = ("*",)
    batch_size: int = 32
    batch_wait: float = 0.005
    queue: int = 64
    cache: int = 1000
    max_upload: int = 10 * 2**20
    max_pixels: int = 20_000_000
    max_figures: int = 4
    max_text: int = 8000
    curriculum: Curriculum | None = None
    classify: Classify | None = None
