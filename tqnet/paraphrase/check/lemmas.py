"""Words by their lemmas, in small letters: "Pens" is "pen"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spacy.tokens import Token


def lemma(token: Token) -> str:
    """Of one word."""
    return token.lemma_.lower()


def lemmas(tokens: Iterable[Token]) -> Iterator[str]:
    """Of each word."""
    return map(lemma, tokens)
