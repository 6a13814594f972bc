"""What a question cannot do without, left out: its last sentence, its most important phrase (ParaQD, f5 and f6)."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import cache, partial
from importlib.metadata import version
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.util import get_package_version

from tqnet.augment.paraphrase.problem import NotApplicable, Problem
from tqnet.augment.paraphrase.spans import rewrite
from tqnet.text.spans import Span

#: Texts -> their vectors, [n, width].
Encode = Callable[[Sequence[str]], np.ndarray]

#: Why a text has none to lose.
NO_PHRASES = "there are no phrases besides what they are part of"

#: Tokens that a text of one sentence loses.
_LAST = 3
#: Phrases that TopicRank offers.
PHRASES = 10


def delete_last_sentence(problem: Problem, rng: np.random.Generator) -> str:
    """The last sentence is left out; of a single one, its last three tokens (f6)."""
    text, spans = problem.text, problem.sentences
    if len(spans) > 1:
        return text[: spans[-2][1]]
    if len(problem.tokens) <= _LAST:
        raise NotApplicable(f"it is one sentence of {len(problem.tokens)} tokens")
    return text[: problem.tokens[-_LAST][0]].rstrip()


def without_phrases(problem: Problem, most: int = PHRASES) -> list[str]:
    """The text without each of its key phrases in turn, the highest ranked topic first (TopicRank).

    Raises:
        NotApplicable: There are no phrases, or nothing else.
    """
    texts = [rewrite(problem.text, dict.fromkeys(spans, "")) for spans in _phrases(problem.doc)[:most]]
    left = [text for text in dict.fromkeys(texts) if any(map(str.isalnum, text)) and text != problem.text]
    if not left:
        raise NotApplicable(NO_PHRASES)
    return left


def delete_important_phrases(problems: Sequence[Problem], encode: Encode, most: int = PHRASES) -> list[str | None]:
    """Each text without the phrase whose removal lowers the cosine to it most (f5); None where it has no phrases.

    Args:
        encode: Is called once, with all texts and candidates.
    """
    candidates = [_candidates(problem, most) for problem in problems]
    texts = [text for problem, own in zip(problems, candidates, strict=True) if own for text in (problem.text, *own)]
    if not texts:
        return [None] * len(problems)
    vectors = np.asarray(encode(texts), dtype=np.float32)
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    chosen: list[str | None] = []
    place = 0
    for own in candidates:
        if not own:
            chosen.append(None)
            continue
        anchor, others = vectors[place], vectors[place + 1 : place + 1 + len(own)]
        chosen.append(own[int(np.argmin(others @ anchor))])
        place += 1 + len(own)
    return chosen


def phrases_by(model: str) -> str:
    """What decides which key phrases a text has, in words: the packages and spaCy's model, with their versions."""
    packages = [f"{name} {version(name)}" for name in ("spacy", "pytextrank")]
    return ", ".join([*packages, f"{model} {get_package_version(model)}"])


def _candidates(problem: Problem, most: int) -> list[str]:
    try:
        return without_phrases(problem, most)
    except NotApplicable:
        return []


def _phrases(doc: Doc) -> list[list[Span]]:
    """Where each topic's first phrase stands, by rank."""
    topics = _topic_rank()(doc).calc_textrank()
    return [
        [(chunk.start_char, chunk.end_char) for chunk in topic.chunks if chunk.text.lower() == topic.text.lower()]
        for topic in topics
    ]


@cache
def _topic_rank() -> Callable[[Doc], Any]:
    """A parsed text -> its TopicRank, with pytextrank's settings; its pipe would keep a graph with every parse."""
    with redirect_stdout(io.StringIO()):  # outside of a git checkout, pytextrank prints where it is installed
        from pytextrank import TopicRankFactory
        from pytextrank.topicrank import TopicRank
    own = TopicRankFactory()
    names = ("edge_weight", "pos_kept", "token_lookback", "scrubber", "stopwords", "threshold", "method")
    return partial(TopicRank, **{name: getattr(own, name) for name in names})
