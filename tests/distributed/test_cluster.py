"""A bank encoded on a Ray cluster of two nodes, both of this machine."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch

from tests.distributed.conftest import ROOT, TIMEOUT, kill_tree, wait_until
from tqnet.cli import main
from tqnet.cli.groups import BackendOptions
from tqnet.cli.index import load_encode
from tqnet.modeling.build import load_model
from tqnet.questions import Question, QuestionBank
from tqnet.search import build
from tqnet.search.index import Index
from tqnet.search.versions import Manifest

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed")

TQNET = "tests.distributed.ray_process"


@dataclass(frozen=True)
class TwoNodes:
    address: str
    process: psutil.Process
    second: psutil.Process

    def second_family(self) -> list[psutil.Process]:
        """The raylet and its workers."""
        return [self.second, *self.second.children(recursive=True)]


def _title(process: psutil.Process) -> str:
    try:
        return "".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""


@pytest.fixture(scope="module", autouse=True)
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    short = tempfile.TemporaryDirectory(prefix="tqnet", ignore_cleanup_errors=True)  # sockets have short names
    with pytest.MonkeyPatch.context() as patch, short as folder:
        patch.setenv("RAY_TMPDIR", folder)
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("TQNET_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def nodes(environment: None) -> Iterator[TwoNodes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.distributed.ray_process"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        started = json.loads(next(line for line in process.stdout if line.startswith("{")))
        yield TwoNodes(started["address"], psutil.Process(process.pid), psutil.Process(started["second"]))
        process.communicate(timeout=TIMEOUT)
    finally:
        kill_tree(process)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """As many as a worker has."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.slow
def test_faults(nodes: TwoNodes, tmp_path: Path) -> None:
    """What a machine cannot do is told with its address and the path."""
    from tqnet.search.cluster import ClusterError, Workers, connected

    file = tmp_path / "bank.jsonl"
    questions = [Question(id=f"q{i}", stem=f"Find {i}.") for i in range(3)]
    QuestionBank.from_questions(questions).save(file)
    bank, shards = QuestionBank.load(file), {0: range(0, 2), 1: range(2, 3)}
    no_model = partial(open, tmp_path / "model")
    with connected(nodes.address):
        with pytest.raises(ClusterError, match="none of 2 machines has 64 CPUs and 0 GPUs for a worker"):
            list(Workers(no_model, cpus=64)(bank, shards))
        with pytest.raises(ClusterError, match=rf"machine 127\.0\.0\.1: .*No such file.*{tmp_path}/model"):
            list(Workers(no_model, count=1)(bank, shards))
        assert not list(Workers(no_model)(bank, {}))


def test_what_a_worker_finds(tmp_path: Path) -> None:
    """Vectors of its shard's questions, whatever else there is; a fault is a value."""
    from tqnet.search.cluster import _Worker

    file = tmp_path / "bank.jsonl"
    questions = [Question(id=f"q{i}", stem=f"Find {i}.") for i in range(5)]
    QuestionBank.from_questions(questions).save(file)
    bank = QuestionBank.load(file)
    worker = _Worker(file, lambda: lambda batch: np.array([[float(question.id[1:])] for question in batch]))
    task = {"number": 7, "lines": np.array([2, 4])}
    done = worker(task)
    assert done["number"] == 7
    assert done["vectors"].tolist() == [[1], [3]]
    assert done["fingerprint"] == bank.select([1, 3]).fingerprint
    assert not done["fault"]
    QuestionBank.from_questions(questions[::-1]).save(file)
    assert _Worker(file, worker.load)(task)["fingerprint"] != done["fingerprint"]
    done = _Worker(tmp_path / "nowhere.jsonl", worker.load)(task)
    assert done["fault"] == f"{tmp_path}/nowhere.jsonl: no such bank"
    assert not done["vectors"].size


def test_another_model_under_the_same_path(model_folder: str, tmp_path: Path) -> None:
    width = load_model(model_folder).config.hidden_size
    with pytest.raises(ValueError, match=f"{model_folder}: not the same model as on the machine"):
        load_encode(Manifest(model_folder, "0123", width, "bank"), BackendOptions())
    with pytest.raises(FileNotFoundError, match=f"{tmp_path}: no model here"):
        load_encode(Manifest(str(tmp_path), "0123", width, "bank"), BackendOptions())


def test_not_by_two_launchers(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main(["index", "bank", "--model", "model", "--out", "index", "--ray", "auto"]) == 2
    assert "--ray: not together with accelerate launch" in capsys.readouterr().err


def test_ray_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "tqnet.search.cluster", raising=False)
    assert main(["index", "bank", "--model", "model", "--out", "index", "--ray", "auto"]) == 2
    assert "ray is missing: pip install 'tqnet[ray]'" in capsys.readouterr().err


def test_addresses_where_no_cluster_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from tqnet.search import cluster

    monkeypatch.setattr(cluster, "PATIENCE", 8)
    for address, message in [
        ("127.0.0.1:1", "no cluster answers within 8 seconds"),
        ("nonsense", "Invalid address format"),
    ]:
        with pytest.raises(cluster.ClusterError, match=f"--ray {address}: .*{message}"), cluster.connected(address):
            pass


@pytest.mark.slow  # every process of Ray's that encodes loads torch, and a lost node is noticed after a while
def test_a_killed_run_and_a_killed_node(
    nodes: TwoNodes,
    model_folder: str,
    sample_bank: QuestionBank,
    tmp_path: Path,
    launch: Callable[..., subprocess.Popen[str]],
    finish: Callable[[subprocess.Popen[str]], str],
    monkeypatch: pytest.MonkeyPatch,
    one_thread: None,
) -> None:
    """The index is that of one process, to the bit, and what the killed run had finished is not encoded again."""
    file, work = tmp_path / "bank.jsonl", tmp_path / "cluster.building"
    bank = sample_bank.select(range(480))
    bank.save(file)
    command = ["index", str(file), "--model", model_folder, "--precision", "fp32", "--no-verify-images", "--out"]
    monkeypatch.setattr(build, "SHARD", 12)
    assert main([*command, str(tmp_path / "plain"), "--device", "cpu"]) == 0
    on_cluster = [*command, str(tmp_path / "cluster"), "--ray"]

    def finished() -> dict[str, int]:
        return {shard.name: shard.stat().st_mtime_ns for shard in work.glob("vectors-*.npy")}

    first = launch(TQNET, *on_cluster, nodes.address, "--ray-workers", "1")
    wait_until(first, lambda: len(finished()) >= 3)
    kill_tree(first)
    before = finished()
    second = launch(TQNET, *on_cluster, "auto")
    when_killed: dict[str, int] = {}

    def node_is_killed() -> bool:
        family = nodes.second_family()
        has_shard = any("MapWorker" in _title(member) and ".submit" in _title(member) for member in family)
        if len(finished()) < len(before) + 2 or not has_shard:
            return False
        for member in family:
            member.kill()
        when_killed.update(finished())
        return True

    wait_until(second, node_is_killed)
    assert len(before) < len(when_killed) < 40
    output = finish(second)
    assert f"{len(bank):,} questions" in output
    assert before.items() <= when_killed.items()
    assert not work.exists()
    expected, vectors = kept_vectors(tmp_path / "plain"), kept_vectors(tmp_path / "cluster")
    assert vectors.keys() == expected.keys() == set(bank.ids)
    assert all(np.array_equal(vectors[id], expected[id]) for id in expected)


def kept_vectors(folder: Path) -> dict[str, np.ndarray]:
    tables = list(Index(folder).engine.scan(["id", "vector"]))
    assert sum(map(len, tables)) == Index(folder).engine.count()
    return {id: np.array(vector) for table in tables for id, vector in zip(*table.to_pydict().values(), strict=True)}
