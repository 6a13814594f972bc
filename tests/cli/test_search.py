"""``tqnet index`` and ``tqnet search``, from a bank to an answer and back to a changed bank."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import FAST, Tqnet, WriteBank
from tqnet.cli import main
from tqnet.modeling.model import TQNetModel
from tqnet.questions import Question, QuestionBank
from tqnet.search.index import Index
from tqnet.search.ranker import CrossEncoder
from tqnet.search.searcher import NO_DIFFICULTY

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def index(model_folder: str, bank_folder: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("search") / "index")
    assert main(["index", bank_folder, "--model", model_folder, "--out", folder, *FAST]) == 0
    return folder


def test_a_text_a_figure_and_a_question(index: str, bank_folder: str, tmp_path: Path, tqnet: Tqnet) -> None:
    def answer(*arguments: object) -> dict[str, Any]:
        return tqnet.json("search", index, *arguments, *FAST)

    bank = QuestionBank.load(bank_folder)
    pictured = next(question for question in bank if question.images)
    assert len(answer("--image", pictured.images[0], "-k", "3", "--floor", "-1")["results"]) == 3
    first = answer("--text", bank[0].stem.upper() + " now?", "--by", "text")["results"][0]
    assert first["words"] > 0
    assert first["cosine"] is None
    similar = answer("--id", bank[0].id, "--filter", f"id!={bank[1].id}")
    ids = [result["id"] for result in similar["results"]]
    assert len(ids) == 5
    assert not {bank[0].id, bank[1].id} & set(ids)
    assert str(Path(bank_folder)) not in json.dumps(similar)  # no path of the bank
    few = ["--id", bank[0].id, "-k", "12", "--candidates", "12", "--merging"]
    by_score, in_halves = (answer(*few, merging)["results"] for merging in ("score", "halves"))
    assert {result["id"] for result in by_score} != {result["id"] for result in in_halves}
    bank.select(np.arange(12)).save(tmp_path / "part.jsonl")
    answers = tqnet.lines("search", index, "--queries", tmp_path / "part.jsonl", "-k", "1", *FAST)
    assert [answer["query"] for answer in answers] == bank.ids[:12]


def test_nothing_is_similar(index: str, tqnet: Tqnet) -> None:
    answer = tqnet.json("search", index, "--text", "Find x", "--floor", "0.99", *FAST)
    assert answer["results"] == []
    assert answer["notes"] == ["nothing similar in this bank"]
    every = tqnet.json("search", index, "--text", "Find x", "--floor", "-1", "--unfolded", *FAST)["results"]
    scores = [result["score"] for result in every]
    assert scores == sorted(scores, reverse=True)  # the score orders the results


def test_an_answer_for_people(index: str, tqnet: Tqnet) -> None:
    output = tqnet(
        "search", index, "--text", r"Find the value of $\frac{1}{2}x \leq 3$", "-k", "2", "--unfolded", *FAST
    )
    lines = output.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("  1  ")
    assert "vector " in lines[0]
    assert "$" not in lines[1]


def test_misspelt_words(index: str, tmp_path: Path, tqnet: Tqnet) -> None:
    query = ["search", index, "--text", "Find the vaule of x", "--by", "text", *FAST]
    corrected = tqnet.json(*query)
    assert (corrected["query"], corrected["notes"]) == ("Find the value of $x$", ['searched for "Find the value of x"'])
    assert tqnet.err == 'tqnet: searched for "Find the value of x"\n'
    exact = tqnet.json(*query, "--exact-spelling")
    assert (exact["query"], exact["notes"]) == ("Find the vaule of $x$", [])
    bank = tmp_path / "bank.jsonl"
    QuestionBank.from_questions([Question(id="q", stem="Find the vaule of x")]).save(bank)
    assert not tqnet.lines("search", index, "--queries", bank, "--by", "text", *FAST)[0]["notes"]


def test_what_the_bank_has_already(index: str, bank_folder: str, tqnet: Tqnet) -> None:
    question = next(q for q in QuestionBank.load(bank_folder) if not q.options and not q.images)
    query = ["search", index, "--text", question.stem.replace(" ", "  "), *FAST]
    assert tqnet(*query, "--duplicates", "only").splitlines()[0] == f"  =  {question.id}  identical"
    assert tqnet.json(*query)["duplicates"][0]["id"] == question.id
    assert "duplicates" in tqnet.json(*query, "--duplicates", "hide")
    assert not tqnet.json(*query, "--duplicates", "hide")["duplicates"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the query is one of --text and --image, --id, or --queries"),
        (["--text", "x", "--id", "s0001"], "the query is one of"),
        (["--id", "nobody"], "id: the index has no question 'nobody'"),
        (["--image", "nothing.png"], "--image nothing.png: no such file"),
        (["--text", "x", "--filter", "colour=red"], "unknown field 'colour'"),
        (["--text", "x", "--filter", "type==choice"], "is not of the form"),
        (["--text", "x", "--model", "elsewhere"], "elsewhere: the model of"),
        (["--image", "assets/sample/images/s0005-1.png", "--by", "text"], "figures have no text"),
        (["--text", "x", "--stage", "review"], "needs a curriculum"),
        (["--text", "x", "--stage", "review", "--curriculum", "nowhere.yaml"], "nowhere.yaml: no such curriculum"),
        (["--text", "x", "--tolerance", "1"], "--tolerance: needs --student"),
        (["--text", "x", "--curriculum", "any.yaml"], "--curriculum: needs --stage"),
        (["--text", "x", "--pairs-model", "any"], "--pairs-model: needs --prefer"),
        (["--text", "x", "--ranker", "assets"], "no ranker"),
    ],
)
def test_queries_that_are_refused(index: str, arguments: list[str], message: str, tqnet: Tqnet) -> None:
    assert message in tqnet.fails("search", index, *arguments, *FAST)


@pytest.mark.parametrize("engine", ["lance", pytest.param("milvus", marks=pytest.mark.slow)])
def test_an_index_follows_its_bank(
    engine: str, request: pytest.FixtureRequest, model_folder: str, bank_folder: str, tmp_path: Path, tqnet: Tqnet
) -> None:
    bank, folder = QuestionBank.load(bank_folder).select(np.arange(60)), tmp_path / "index"
    full, part = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    bank.save(full)
    bank.select(np.arange(4)).save(part)
    place = []
    if engine == "milvus":
        place = ["--engine", "milvus", "--uri", request.getfixturevalue("milvus"), "--collection", "followed"]
    build = ["index", part, "--model", model_folder, "--out", folder]
    tqnet(*build, *place, *FAST)
    assert "already exists" in tqnet.fails(*build, *FAST)
    assert "use tqnet index update" in tqnet.fails("index", "add", folder, full, *FAST)
    assert "56 added, 0 changed, 0 deleted, 4 unchanged" in tqnet("index", "update", folder, full, *FAST)
    without = {question.id for question in bank if not question.images} - {bank.ids[0]}
    hits = tqnet.json("search", folder, "--id", bank.ids[0], "--filter", "figures=0", "-k", "99", *FAST)["results"]
    assert hits
    assert {result["id"] for result in hits} <= without
    assert "R@20 of" in tqnet("evaluate", "retrieval", folder, "-n", "20", "--split", "train")
    assert "1 deleted, 59 left" in tqnet("index", "delete", folder, bank.ids[0], "nobody", code=1)
    assert "1 added, 0 changed, 56 deleted, 3 unchanged; 1 encoded" in tqnet("index", "sync", folder, part, *FAST)
    tqnet("index", "export", folder, tmp_path / "out")
    tqnet("index", "restore", tmp_path / "out", "--out", tmp_path / "again")
    assert Index(tmp_path / "again").engine.count() == 4


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (["--engine", "milvus"], "uri: must be http://HOST:PORT"),
        (["--uri", "http://127.0.0.1:9"], "only for engine milvus; lance keeps its records in files"),
        (
            ["--engine", "milvus", "--uri", "http://127.0.0.1:9", "--collection", "a"],
            "http://127.0.0.1:9, collection a: Fail",
        ),
    ],
)
def test_servers_that_do_not_answer(
    place: list[str], message: str, model_folder: str, bank_folder: str, tmp_path: Path, tqnet: Tqnet
) -> None:
    call = ["index", bank_folder, "--model", model_folder, "--out", tmp_path / "index"]
    assert message in tqnet.fails(*call, *place, *FAST, code=4 if "127.0.0.1:9," in message else 2)
    assert {file.name for file in tmp_path.iterdir()} <= {".index.lock"}


def test_how_much_is_recalled(index: str, tqnet: Tqnet) -> None:
    call = ["evaluate", "retrieval", index, "--without-duplicates"]
    by_method = tqnet.json(*call, "-n", "20")
    assert "left out as duplicates of questions in train" in tqnet.err
    alone = ["exact text", "vectors", "both, in halves", "both, by score", "both, concepts guessed"]
    assert list(by_method) == [*alone, "exact text, concepts known", "both, concepts known"]
    for numbers in by_method.values():
        low, high = numbers["interval"]
        assert 0 < low <= numbers["r@20"] <= high <= 1
        assert numbers["queries"] > 5
    assert by_method["exact text, concepts known"]["r@20"] >= by_method["exact text"]["r@20"]  # its groups are concepts
    weighted = tqnet.json(*call, "-n", "20", "--similar-level", "3", "--text-weights", "0", "0.25", "0.25")
    assert list(weighted) == [*alone, "both, by score, text 0", "both, by score, text 0.25"]
    assert weighted["both, by score, text 0.25"] == weighted["both, by score"]  # the default
    assert "no question of split 'nowhere' has a similar one" in tqnet.fails(*call[:3], "--split", "nowhere")


def test_another_model_is_noticed(model_folder: str, write_bank: WriteBank, tmp_path: Path, tqnet: Tqnet):
    model = Path(shutil.copytree(model_folder, tmp_path / "model"))
    folder = tmp_path / "index"
    tqnet("index", write_bank(), "--model", model, "--out", folder, *FAST)
    (model / "config.json").write_text((model / "config.json").read_text() + "\n")
    assert "its vectors were made by another model" in tqnet.fails("search", folder, "--text", "x")
    tqnet("search", folder, "--text", "x", "--model", model_folder)  # the same, elsewhere


def in_small_shards(*call: str) -> subprocess.Popen[bytes]:
    """``tqnet`` in a process of its own, which writes 40 questions at a time."""
    code = "import tqnet.search.build as b, tqnet.cli, sys; b.SHARD = 40; sys.exit(tqnet.cli.main(sys.argv[1:]))"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", code, *call], env=environment, stderr=subprocess.DEVNULL)


def killed_when(reached: Callable[[], bool], *call: str) -> None:
    process = in_small_shards(*call)
    while process.poll() is None and not reached():
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


@pytest.mark.slow
def test_an_update_that_was_killed_leaves_no_half_record(
    model_folder: str, sample_bank: QuestionBank, tmp_path: Path
) -> None:
    old = sample_bank.select(np.arange(400))
    old.save(tmp_path / "old.jsonl")
    folder = tmp_path / "index"
    assert main(["index", str(tmp_path / "old.jsonl"), "--model", model_folder, "--out", str(folder), *FAST]) == 0
    before = states(folder)
    new = QuestionBank.from_questions(
        replace(question, stem=f"Now: {question.stem}") for question in list(sample_bank)[200:]
    )
    new.save(tmp_path / "new.jsonl")
    call = ("index", "sync", str(folder), str(tmp_path / "new.jsonl"), *FAST)
    killed_when(lambda: len(states(folder).items() - before.items()) >= 80, *call)

    after = states(folder)
    wanted = {question.id: question.stem[:60] for question in new}
    assert before.keys() <= after.keys()  # what is gone is deleted last
    assert all(state in (before.get(id), wanted.get(id)) for id, state in after.items())
    written = [question for question in new if after.get(question.id) == wanted[question.id]]
    vectors = np.array(Index(folder).engine.get([question.id for question in written])["vector"].to_pylist())
    encoded = TQNetModel.from_pretrained(model_folder).encode(written, precision="fp32", normalize=True)
    assert len(written) >= 80
    np.testing.assert_allclose(vectors, encoded, atol=1e-4)
    assert in_small_shards(*call).wait() == 0
    assert states(folder) == wanted
    ids = [hit.id for hit in Index(folder).engine.by_words({"stem": ["now"]}, 1000)]
    assert sorted(ids) == sorted(new.ids)


def states(folder: Path) -> dict[str, str]:
    """Id -> how the stem begins, of every record, of which none is there twice."""
    rows = [row for table in Index(folder).engine.scan(["id", "question"]) for row in table.to_pylist()]
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: json.loads(row["question"])["stem"][:60] for row in rows}


@pytest.mark.slow
def test_a_build_that_was_killed_goes_on(model_folder: str, sample_bank: QuestionBank, tmp_path: Path) -> None:
    """SIGKILL while shards are written; then every question is there once."""
    file = tmp_path / "bank.jsonl"
    sample_bank.save(file)
    call = ("index", str(file), "--model", model_folder, "--out", str(tmp_path / "index"), *FAST)
    shards = tmp_path / "index.building"
    killed_when(lambda: len(list(shards.glob("vectors-*.npy"))) >= 3, *call)
    assert not (tmp_path / "index").exists()
    assert len(list(shards.glob("vectors-*.npy"))) >= 3
    assert in_small_shards(*call).wait() == 0
    assert sorted(states(tmp_path / "index")) == sorted(sample_bank.ids)
    assert not shards.exists()


def test_whom_the_answer_is_for(index: str, bank_folder: str, tmp_path: Path, tqnet: Tqnet) -> None:
    def answer(*arguments: object) -> dict[str, Any]:
        return tqnet.json("search", index, *arguments, "-k", "20", "--floor", "-1", *FAST)

    bank = QuestionBank.load(bank_folder)
    query = max(bank, key=lambda question: question.difficulty or 0)
    strong = answer("--id", query.id, "--student", "strong")
    assert strong["results"]
    assert all(result["difficulty"] in (None, query.difficulty) for result in strong["results"])
    assert all("dropped: easier than the query" in dropped["why"] for dropped in strong["dropped"])
    assert not answer("--id", query.id, "--student", "weak")["dropped"]
    typed = ["--text", query.stem, "--student", "strong"]
    assert NO_DIFFICULTY in answer(*typed)["notes"]
    assert answer(*typed, "--difficulty", query.difficulty)["dropped"]

    current = "/".join(query.knowledge[0])
    others = sorted({"/".join(path) for question in bank for path in question.knowledge} - {current})
    curriculum = tmp_path / "curriculum.yaml"
    curriculum.write_text(json.dumps({"first": [current], "second": others}))  # JSON is YAML
    stage = ["--id", query.id, "--stage", "practice", "--curriculum", curriculum]
    practice = answer(*stage)
    assert all(current in ["/".join(path) for path in result["knowledge"]] for result in practice["results"])
    assert practice["dropped"]
    last = tqnet("search", index, *stage, "--floor", "-1", *FAST).splitlines()[-1]
    assert last == f"{len(practice['dropped'])} dropped: beyond the current section"
    assert "the curriculum has no 'Astrology'" in tqnet.fails("search", index, *stage, "--section", "Astrology")


def test_a_ranker_orders_what_is_recalled(
    index: str, bank_folder: str, tiny_model: TQNetModel, tmp_path: Path, tqnet: Tqnet
) -> None:
    def results(*arguments: object) -> list[dict[str, Any]]:
        return tqnet.json("search", index, "--id", query, "-k", "8", "--unfolded", "--floor", "-1", *arguments, *FAST)[
            "results"
        ]

    def ids(results: list[dict[str, Any]]) -> list[str]:
        return [result["id"] for result in results]

    CrossEncoder(tiny_model, length=100).save_pretrained(tmp_path / "ranker")
    query = QuestionBank.load(bank_folder)[0].id
    ranked = ["--ranker", tmp_path / "ranker", "--rank-first", "4"]
    by_ranker, alike, recalled = results(*ranked), results(), results("--ranker", "none")
    assert all(result["evidence"] and result["rank"] is None for result in alike)
    assert not any(result["evidence"] or result["rank"] for result in recalled)
    scores = [result["rank"] for result in by_ranker]
    assert scores[:4] == sorted(scores[:4], reverse=True)
    assert scores[4:] == [None] * 4
    assert set(ids(by_ranker[:4])) == set(ids(alike[:4]))
    assert ids(by_ranker[4:]) == ids(alike[4:])
    late = results(*ranked, "--deadline", "0")
    assert "there was no time to rank" in tqnet.err
    assert ids(late) == ids(recalled)
