"""Chats in JSON: which turns are a question, its answer and its analysis."""

from __future__ import annotations

from collections.abc import Callable

from tests.importers.conftest import Loaded, Write


def test_what_stands_beside_a_chat(write: Write, load: Callable[..., Loaded]) -> None:
    first = [("user", [{"type": "text", "text": "1?"}]), ("assistant", None), ("assistant", "1")]
    said = [*first, ("user", "2?"), ("assistant", "2")]
    turns = [{"role": role, "content": content} for role, content in said]
    questions, _ = load(write({"id": "c", "topic": "sums", "split": "test", "messages": turns}, name="x.json"))
    facts = [(id, q.stem, q.answer, q.knowledge, q.split, q.group) for id, q in questions.items()]
    assert facts == [(f"c-{n}", f"{n}?", str(n), (("sums",),), "test", "c") for n in (1, 2)]


def test_an_answer_beside_a_chat(write: Write, load: Callable[..., Loaded]) -> None:
    asked, reply = {"role": "user", "content": "5+5?"}, {"role": "assistant", "content": "Add: ten."}
    records = [
        {"prompt": [asked], "answer": "10"},
        {"messages": [asked, reply], "answer": "10"},
        {"messages": [asked, reply, asked, reply], "answer": None},
    ]
    questions, _ = load(write(records, name="x.json"))
    facts = [(question.stem, question.answer, question.analysis) for question in questions.values()]
    assert facts == [("5+5?", "10", None), ("5+5?", "10", "Add: ten."), *[("5+5?", "Add: ten.", None)] * 2]


def test_turns_that_are_no_question_and_answer(write: Write, load: Callable[..., Loaded], faults: Callable) -> None:
    area = [{"type": "image_url", "image_url": {"url": "a.png"}}, {"type": "text", "text": "Area?"}]
    said = [("system", "Teach."), ("user", "See:"), ("user", area)]
    said += [("assistant", "Let me see."), ("tool", "6"), ("assistant", "6")]
    turns = [{"role": role, "content": content} for role, content in said]
    chats = [{"uid": 0, "messages": turns * 2}, {"uid": 1, "messages": turns}, {"messages": turns[:1]}]
    chats += [{"uid": 2, "messages": [*turns, *turns[:2]]}, {"uid": 3, "messages": turns[:2]}]
    questions, imported = load(write(chats, name="x.json"))
    facts = [(id, question.stem, question.answer) for id, question in questions.items()]
    assert facts == [
        *((id, "See:\nArea?", "6") for id in ("0-1", "0-2", "1", "2")),
        ("3", "See:", None),  # still without a reply
    ]
    assert len(faults(imported)) == 5  # the figure that is not there, and a chat without a question
