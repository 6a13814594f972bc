"""The committed sample bank: made by its generator, and as good as its README says."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ASSETS = Path(__file__).parents[2] / "assets"
SAMPLE = ASSETS / "sample"
sys.path.insert(0, str(ASSETS))

from sample_bank.builder import build, to_jsonl  # noqa: E402
from sample_bank.measure import content_of, tfidf_precision  # noqa: E402
from sample_bank.values import parse  # noqa: E402


@pytest.fixture(scope="module")
def rebuilt():
    return build(seed=0)


@pytest.fixture(scope="module")
def questions():
    return [json.loads(line) for line in (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def groups(questions):
    members = defaultdict(list)
    for question in questions:
        if question["group"]:
            members[question["group"]].append(question)
    return dict(members)


def pixels(figure):
    return np.asarray(figure.convert("RGB"))


def test_the_generator_makes_the_committed_records(rebuilt):
    assert to_jsonl(rebuilt).encode() == (SAMPLE / "questions.jsonl").read_bytes()


def test_the_generator_makes_the_committed_figures(rebuilt):
    drawn = {name: figure for built in rebuilt for name, figure in built.figures.items()}
    assert {f"images/{path.name}" for path in (SAMPLE / "images").iterdir()} == set(drawn)
    for name, figure in drawn.items():
        with Image.open(SAMPLE / name) as committed:
            assert np.array_equal(pixels(committed), pixels(figure)), name


def test_counts_and_shares_are_as_the_readme_says(questions, groups):
    readme = (ASSETS / "README.md").read_text(encoding="utf-8")
    figure_only = {q["group"] for q in questions if q.get("figure_only")}
    stated = {
        "questions": len(questions),
        "groups": len(groups),
        "questions in groups": sum(map(len, groups.values())),
        "questions without a group": sum(q["group"] is None for q in questions),
        "questions with figures": sum(bool(q["images"]) for q in questions),
        "figures": sum(len(q["images"]) for q in questions),
        "questions in Chinese": sum(q["language"] == "zh" for q in questions),
        "figure-only groups": len(figure_only),
        "figure-only questions": sum(len(groups[name]) for name in figure_only),
    }
    for name, count in stated.items():
        assert f"| {name} | {count} |" in readme
    for split, count in Counter(q["split"] for q in questions).items():
        assert re.search(rf"^\| {split} \| {count} \|", readme, re.MULTILINE)
    assert 0.28 <= stated["questions in Chinese"] / len(questions) <= 0.38
    assert 0.25 <= stated["questions with figures"] / len(questions) <= 0.40
    assert len(figure_only) >= 10
    assert 0.13 <= len(figure_only) / len(groups) <= 0.17


def test_groups_are_large_and_never_straddle_splits(groups):
    for name, members in groups.items():
        assert 6 <= len(members) <= 9, name
        assert len({question["split"] for question in members}) == 1, name
        assert len({str(question["knowledge"]) for question in members}) == 1, name


def test_words_alone_do_not_find_the_groups(questions):
    precision = tfidf_precision([content_of(q) for q in questions], [q["group"] for q in questions])
    readme = (ASSETS / "README.md").read_text(encoding="utf-8")
    assert 0.35 <= np.nanmean(precision) <= 0.55
    assert f"**{np.nanmean(precision):.3f}**" in readme
    for split in ("train", "valid", "test"):
        measured = np.nanmean([p for p, q in zip(precision, questions, strict=True) if q["split"] == split])
        assert re.search(rf"^\| {split} \|.*\| {measured:.3f} \|$", readme, re.MULTILINE)


def test_answers_hold_and_wrong_options_do_not(rebuilt):
    for built in rebuilt:
        record = built.record
        options = record["options"]
        letters = "ABCD"[: len(options)]
        right = options[letters.index(record["answer"])] if options else record["answer"]
        assert built.check(parse(right)), record["id"]
        for option in options:
            if option != right:
                assert not _holds(built.check, parse(option)), (record["id"], option)


def _holds(check, value):
    try:
        return check(value)
    except (AttributeError, TypeError, ValueError, ZeroDivisionError):
        return False  # a value of another kind, such as a number in place of a multiple of pi
