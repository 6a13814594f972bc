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

from tqnet.cli import main
from tqnet.modeling.model import TQNetModel
from tqnet.questions import QuestionBank
from tqnet.search.index import Index
from tqnet.search.ranker import CrossEncoder

ROOT = Path(__file__).parents[2]
FAST = ["--device", "cpu", "--precision", "fp32"]


@pytest.fixture(scope="module")
def index(model_folder: str, bank_folder: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("search") / "index")
    assert main(["index", bank_folder, "--model", model_folder, "--out", folder, *FAST]) == 0
    return folder


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["search", *arguments, "--json", *FAST]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_text_a_figure_and_a_question_of_the_index(
    index: str, bank_folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bank = QuestionBank.load(bank_folder)
    pictured = next(question for question in bank if question.images)
    (found,) = answer(capsys, index, "--image", pictured.images[0], "-k", "3")
    assert len(found["results"]) == 3
    (found,) = answer(capsys, index, "--text", bank[0].stem.upper() + " now?", "--by", "text")
    assert found["results"][0]["words"] > 0
    assert found["results"][0]["cosine"] is None
    (found,) = answer(capsys, index, "--id", bank[0].id, "--filter", f"id!={bank[1].id}")
    ids = [one["id"] for one in found["results"]]
    assert len(ids) == 5
    assert bank[0].id not in ids
    assert bank[1].id not in ids
    assert str(Path(bank_folder)) not in json.dumps(found)  # no path of the bank
    few = ["--id", bank[0].id, "-k", "12", "--candidates", "12"]
    by_score, in_halves = (answer(capsys, index, *few, "--merging", of)[0]["results"] for of in ("score", "halves"))
    assert {one["id"] for one in by_score} != {one["id"] for one in in_halves}
    found = answer(capsys, index, "--queries", bank_folder, "-k", "1")
    assert [one["query"] for one in found] == bank.ids


def test_an_answer_for_people(index: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", index, "--text", r"Find the value of $\frac{1}{2}x \leq 3$", "-k", "2", *FAST]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("  1  ")
    assert "vector " in lines[0]
    assert "$" not in lines[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the query is one of --text and --image, --id, or --queries"),
        (["--text", "x", "--id", "s0001"], "the query is one of"),
        (["--id", "nobody"], "id: the index has no question 'nobody'"),
        (["--image", "nothing.png"], "--image nothing.png: no such file"),
        (["--text", "x", "--filter", "colour=red"], "unknown field 'colour'"),
        (["--text", "x", "--model", "elsewhere"], "elsewhere: the model of"),
        (["--image", "assets/sample/images/s0005-1.png", "--by", "text"], "figures have no text"),
        (["--text", "x", "--filter", "type==choice"], "is not of the form"),
    ],
)
def test_queries_that_are_refused(
    index: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", index, *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tqnet: error: ")
    assert message in error


@pytest.mark.parametrize("engine", ["lance", "milvus"])
def test_an_index_follows_its_bank(
    engine: str,
    request: pytest.FixtureRequest,
    model_folder: str,
    bank_folder: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bank, folder = QuestionBank.load(bank_folder), str(tmp_path / "index")
    part = tmp_path / "part.jsonl"
    bank.select(list(range(4))).save(part)
    place = []
    if engine == "milvus":
        place = ["--engine", "milvus", "--uri", request.getfixturevalue("milvus"), "--collection", "followed"]
    assert main(["index", str(part), "--model", model_folder, "--out", folder, *place, *FAST]) == 0
    assert main(["index", str(part), "--model", model_folder, "--out", folder, *FAST]) == 2
    assert "is there already" in capsys.readouterr().err
    assert main(["index", "add", folder, bank_folder, *FAST]) == 2
    assert "use tqnet index update" in capsys.readouterr().err
    assert main(["index", "update", folder, bank_folder, *FAST]) == 0
    assert f"{len(bank) - 4} added, 0 changed, 0 deleted, 4 unchanged" in capsys.readouterr().out
    (found,) = answer(capsys, folder, "--id", bank.ids[0], "--filter", "figures=0", "-k", "200", "--candidates", "300")
    without = {question.id for question in bank if not question.images} - {bank.ids[0]}
    assert len(found["results"]) > 0
    assert {one["id"] for one in found["results"]} <= without
    assert main(["evaluate", "retrieval", folder, "-n", "20"]) == 0
    assert "R@20 of" in capsys.readouterr().out
    assert main(["index", "delete", folder, bank.ids[0], "nobody"]) == 1
    assert f"1 deleted, {len(bank) - 1} left" in capsys.readouterr().out
    assert main(["index", "sync", folder, str(part), *FAST]) == 0
    assert f"1 added, 0 changed, {len(bank) - 4} deleted, 3 unchanged; 1 encoded" in capsys.readouterr().out
    assert main(["index", "export", folder, str(tmp_path / "out")]) == 0
    assert main(["index", "restore", str(tmp_path / "out"), "--out", str(tmp_path / "again")]) == 0
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
def test_servers_that_are_none(
    place: list[str],
    message: str,
    model_folder: str,
    bank_folder: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["index", bank_folder, "--model", model_folder, "--out", str(tmp_path / "index"), *place, *FAST]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tqnet: error: ")
    assert message in error
    assert {file.name for file in tmp_path.iterdir()} <= {".index.lock"}


def test_how_much_is_recalled(index: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "retrieval", index, "--split", "all", "-n", "20", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    alone = ["exact text", "vectors", "both, in halves", "both, by score", "both, concepts guessed"]
    assert list(found) == [*alone, "exact text, concepts known", "both, concepts known"]
    for numbers in found.values():
        low, high = numbers["interval"]
        assert 0 < low <= numbers["r@20"] <= high <= 1
        assert numbers["queries"] > 100
    assert found["exact text, concepts known"]["r@20"] >= found["exact text"]["r@20"]  # its groups are concepts
    weights = ["--text-weights", "0", "0.25", "0.25"]
    assert main(["evaluate", "retrieval", index, "--similar-level", "3", *weights, "--json"]) == 0
    weighted = json.loads(capsys.readouterr().out)
    assert list(weighted) == [*alone, "both, by score, text 0", "both, by score, text 0.25"]
    assert weighted["both, by score, text 0.25"] == weighted["both, by score"]  # the default
    assert main(["evaluate", "retrieval", index, "-n", "20", "--without-duplicates"]) == 0
    assert "left out as duplicates of questions in train" in capsys.readouterr().err
    assert main(["evaluate", "retrieval", index, "-n", "20"]) == 0
    assert "R@20 of" in capsys.readouterr().out
    assert main(["evaluate", "retrieval", index, "--split", "nowhere"]) == 2
    assert "no question of split 'nowhere' has a similar one" in capsys.readouterr().err


def test_another_model_is_noticed(
    model_folder: str, bank_folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model"
    shutil.copytree(model_folder, model)
    folder = str(tmp_path / "index")
    assert main(["index", bank_folder, "--model", str(model), "--out", folder, *FAST]) == 0
    (model / "config.json").write_text((model / "config.json").read_text() + "\n")
    assert main(["search", folder, "--text", "x"]) == 2
    assert "its vectors were made by another model" in capsys.readouterr().err
    assert main(["search", folder, "--text", "x", "--model", model_folder]) == 0  # the same, elsewhere


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
    new = QuestionBank.from_questions(replace(one, stem=f"Now: {one.stem}") for one in list(sample_bank)[200:])
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
    index = Index(folder)
    ids = [hit.id for hit in index.engine.by_words({"stem": ["now"]}, 1000)]
    assert sorted(ids) == sorted(new.ids)


def states(folder: Path) -> dict[str, str]:
    """Id -> how the stem begins, of every record, of which none is there twice."""
    index = Index(folder)
    rows = [row for table in index.engine.scan(["id", "question"]) for row in table.to_pylist()]
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
    index = Index(tmp_path / "index")
    ids = [id for table in index.engine.scan(["id"]) for id in table["id"].to_pylist()]
    assert sorted(ids) == sorted(sample_bank.ids)
    assert not shards.exists()


def test_whom_the_answer_is_for(
    index: str, bank_folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bank = QuestionBank.load(bank_folder)
    query = max(bank, key=lambda question: question.difficulty or 0)
    (strong,) = answer(capsys, index, "--id", query.id, "--student", "strong", "-k", "20")
    assert strong["results"]
    assert all(one["difficulty"] in (None, query.difficulty) for one in strong["results"])
    assert all("dropped: easier than the query" in one["why"] for one in strong["dropped"])
    (weak,) = answer(capsys, index, "--id", query.id, "--student", "weak", "-k", "20")
    assert not weak["dropped"]
    typed = ["--text", query.stem, "--student", "strong"]
    (unknown,) = answer(capsys, index, *typed)
    assert all("difficulty of the query unknown" in one["why"] for one in unknown["results"])
    (known,) = answer(capsys, index, *typed, "--difficulty", str(query.difficulty), "-k", "20")
    assert known["dropped"]

    own = "/".join(query.knowledge[0])
    others = sorted({"/".join(path) for question in bank for path in question.knowledge} - {own})
    curriculum = tmp_path / "curriculum.yaml"
    curriculum.write_text(json.dumps({"first": [own], "second": others}))  # JSON is YAML
    stage = ["--stage", "practice", "--curriculum", str(curriculum)]
    (practice,) = answer(capsys, index, "--id", query.id, *stage, "-k", "20")
    assert all(own in ["/".join(path) for path in one["knowledge"]] for one in practice["results"])
    assert practice["dropped"]
    assert main(["search", index, "--id", query.id, *stage, *FAST]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{len(practice['dropped'])} dropped: beyond the current section"
    for wrong, message in (
        (["--stage", "review"], "needs a curriculum"),
        (["--stage", "review", "--curriculum", "nowhere.yaml"], "nowhere.yaml: no such curriculum"),
        ([*stage, "--section", "Astrology"], "the curriculum has no 'Astrology'"),
        (["--tolerance", "1"], "--tolerance: needs --student"),
        (["--curriculum", str(curriculum)], "--curriculum: needs --stage"),
        (["--pairs-model", bank_folder], "--pairs-model: needs --prefer"),
        (["--ranker", bank_folder], "no ranker"),
    ):
        assert main(["search", index, "--id", query.id, *wrong, *FAST]) == 2
        assert message in capsys.readouterr().err


def test_a_ranker_orders_what_is_recalled(
    index: str, bank_folder: str, tiny_model: TQNetModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    CrossEncoder(tiny_model, length=100).save_pretrained(tmp_path / "ranker")
    query = QuestionBank.load(bank_folder)[0].id
    ranked = ["--id", query, "--ranker", str(tmp_path / "ranker"), "--rank-first", "4", "-k", "8"]
    (found,) = answer(capsys, index, *ranked)
    (alike,) = answer(capsys, index, "--id", query, "-k", "8")
    (recalled,) = answer(capsys, index, "--id", query, "-k", "8", "--ranker", "none")
    assert all(one["evidence"] and one["rank"] is None for one in alike["results"])
    assert not any(one["evidence"] or one["rank"] for one in recalled["results"])
    scores = [one["rank"] for one in found["results"]]
    assert scores[:4] == sorted(scores[:4], reverse=True)
    assert scores[4:] == [None] * 4
    assert {one["id"] for one in found["results"][:4]} == {one["id"] for one in alike["results"][:4]}
    assert [one["id"] for one in found["results"][4:]] == [one["id"] for one in alike["results"][4:]]
    assert main(["search", index, *ranked, "--deadline", "0", "--json", *FAST]) == 0
    late = capsys.readouterr()
    assert "there was no time to rank" in late.err
    assert [one["id"] for one in json.loads(late.out)["results"]] == [one["id"] for one in recalled["results"]]
