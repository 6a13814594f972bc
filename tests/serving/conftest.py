"""An index of a small bank, one of whose questions is hostile, servers of it, and requests."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from fastapi.testclient import TestClient
from PIL import Image

from tests.conftest import TINY
from tqnet.modeling.build import build_model, load_model
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import Question, QuestionBank
from tqnet.search.build import Encode, build
from tqnet.search.searcher import Searcher
from tqnet.search.versions import Manifest
from tqnet.serving.app import create_app
from tqnet.serving.requests import Settings

ClientOf = Callable[..., TestClient]

ATTACK = "<script>window.hurt = 1</script><img src=x onerror='window.hurt = 2'>"
LINK = r"$\href{javascript:window.hurt=3}{x}$ $\text{<script>window.hurt=4</script>}$"

HOSTILE = Question(
    id=f"a/../{ATTACK}",
    stem=f"Find the attack {ATTACK} &lt;script&gt;window.hurt = 5&lt;/script&gt; {LINK}",
    options=(ATTACK, f"$\\style{{background:url(//elsewhere.example/x)}}{{y}}$ {LINK}"),
    answer=ATTACK,
    analysis=LINK,
    knowledge=((ATTACK, "javascript:window.hurt=6"),),
    type=ATTACK,
    language='en" onmouseover="window.hurt=7',
    source=ATTACK,
)


def save_model(folder: Path, bank: QuestionBank, **options: Any) -> str:
    """A tiny model; options are those of `ModelConfig`."""
    torch.manual_seed(0)
    model, _ = build_model(ModelConfig(**(TINY | options)), (question.content for question in bank))
    model.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="session")
def model_folder(sample_bank: QuestionBank, tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_model(tmp_path_factory.mktemp("run") / "model", sample_bank)


@pytest.fixture
def wider_model(sample_bank: QuestionBank, tmp_path: Path) -> str:
    """A model with longer vectors than `model_folder`, and without figures."""
    return save_model(tmp_path / "wider", sample_bank, scratch_hidden=72, visual=None, fusion="none")


@pytest.fixture(scope="session")
def encode(model_folder: str) -> Encode:
    model = load_model(model_folder)
    return lambda questions: model.encode(questions, device="cpu")


@pytest.fixture(scope="session")
def bank(tiny_bank: QuestionBank) -> QuestionBank:
    sums = (Question(id=f"sum{i}", stem=f"What is {i} + 41?") for i in range(3))
    return QuestionBank.from_questions([*tiny_bank, HOSTILE, *sums])


@pytest.fixture(scope="session")
def index_folder(
    bank: QuestionBank, encode: Encode, model_folder: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    from tqnet.evaluation.sources import source_digest

    folder = tmp_path_factory.mktemp("serving") / "index"
    manifest = Manifest(model_folder, source_digest(model_folder), TINY["scratch_hidden"], "tiny")
    build(bank, encode, folder, manifest)
    return folder


@pytest.fixture
def own_index(index_folder: Path, tmp_path: Path) -> Path:
    """A copy, to be changed as one likes."""
    return shutil.copytree(index_folder, tmp_path / "index")


@pytest.fixture
def client_of(encode: Encode) -> ClientOf:
    """Makes a client of a new server of an index; options are those of `Settings`."""

    def make(folder: Path, **options: object) -> TestClient:
        app = create_app(folder, lambda index: Searcher(index, encode, reads_figures=True), Settings(**options))
        return TestClient(app)

    return make


@pytest.fixture
def client(client_of: ClientOf, index_folder: Path) -> TestClient:
    return client_of(index_folder)


def ids(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [result["question"]["id"] for result in answer.json()["results"]]


def metric(client: TestClient, name: str) -> float:
    match = re.search(rf"^{re.escape(name)} (\S+)$", client.get("/metrics").text, re.MULTILINE)
    return float(match[1]) if match else 0.0


def png(width: int, height: int) -> bytes:
    stream = io.BytesIO()
    Image.new("1", (width, height)).save(stream, "PNG")
    return stream.getvalue()


def figure(content: bytes, kind: str = "image/png") -> list[tuple[str, tuple[str, bytes, str]]]:
    return [("figures", ("figure", content, kind))]
