"""In which order rewritings come, and how those of sentences are put together."""

from __future__ import annotations

from spacy.matcher.levenshtein import levenshtein

from tqnet.paraphrase.rewrites import farthest_first, joined


def test_the_farthest_comes_first() -> None:
    text = "Tom ran home."
    candidates = ["Tom ran.", "Tom  ran home.", "He went back to where he lives.", "Tom ran.", " ?", "", "Tom ran off."]
    found = farthest_first(text, candidates)
    assert found == ["He went back to where he lives.", "Tom ran.", "Tom ran off."]
    distances = [levenshtein(text, one) for one in found]
    assert distances == sorted(distances, reverse=True)
    assert farthest_first(text, [text]) == []


def test_texts_of_rewritten_sentences() -> None:
    assert joined(["", " ", "!"], [["A", "a"], ["B"]]) == ["A B!", "a B!"]
    assert joined(["all"], []) == []
