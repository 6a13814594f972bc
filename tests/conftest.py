"""A tiny model with figures, made on the spot, and the part of the sample bank that it is tried on."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import settings
from PIL import Image, ImageDraw

if TYPE_CHECKING:  # torch is loaded by the tests that need it
    from tqnet.modeling.model import TQNetModel
    from tqnet.questions import QuestionBank

settings.register_profile("untimed", deadline=None, max_examples=50)  # a busy machine is no fault
settings.register_profile("fuzz", deadline=None, max_examples=100, print_blob=True)  # --hypothesis-profile=fuzz
settings.load_profile("untimed")

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before anything loads huggingface_hub: no test asks a model hub

SAMPLE = Path(__file__).parents[1] / "assets" / "sample"
DATA = os.environ.get("TQNET_DATA")

#: Small enough that a test of it takes hundredths of a second; 64 pixels make 4 cells of a figure.
TINY = {
    "text": "scratch",
    "scratch_hidden": 48,
    "scratch_layers": 2,
    "scratch_vocab": 1200,
    "vocabulary_min_count": 3,
    "visual": "test_resnet",
    "image_size": 64,
    "fusion_heads": 12,
    "max_length": 160,
    "max_images": 4,
}


#: Fixtures that take long to set up: tests that ask for them are marked slow.
SLOW_FIXTURES = {"milvus", "exported", "real_bank_folder", "real_bank", "rebuilt"}
#: Files whose tests are all slow; their libraries take long to load, so the files are not even read without need.
SLOW_FILES = {
    "test_cluster.py",
    "test_documentation.py",
    "test_milvus.py",
    "test_mteb.py",
    "test_page.py",
    "test_real_banks.py",
    "test_sentence_transformers.py",
}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if config.option.markexpr == "not slow" and collection_path.name in SLOW_FILES else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    for item in items:
        if item.path.name in SLOW_FILES or not SLOW_FIXTURES.isdisjoint(item.fixturenames):
            item.add_marker(pytest.mark.slow)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """``real_bank_folder``: every bank below ``TQNET_DATA``; the test is skipped where there is none."""
    if "real_bank_folder" in metafunc.fixturenames:
        folders = sorted(path.parent for path in Path(DATA).glob("*/questions.jsonl")) if DATA else []
        metafunc.parametrize("real_bank_folder", folders, ids=lambda folder: folder.name)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all worker processes of this session; what is made in it takes a `FileLock`."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session", autouse=True)
def shared_cache(shared_folder: Path) -> Iterator[Path]:
    """The banks' tables are built once for all tests that ask for no cache of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TQNET_CACHE", str(shared_folder / "cache"))
        yield shared_folder / "cache"


@pytest.fixture(scope="session")
def sample_bank(shared_cache: Path) -> QuestionBank:
    from tqnet.questions import QuestionBank

    return QuestionBank.load(SAMPLE)


@pytest.fixture(scope="session")
def small_bank(sample_bank: QuestionBank, shared_folder: Path) -> Path:
    """File of 64 training, 18 valid and 6 test questions of the sample: groups of 4, of 6 where P@5 is measured."""
    from filelock import FileLock

    file = shared_folder / "small" / "questions.jsonl"
    with FileLock(shared_folder / "small.lock"):
        if not file.exists():
            file.parent.mkdir()
            groups = np.array([group or "" for group in sample_bank.column("group")])
            splits = np.array(sample_bank.column("split"))
            pictured = np.array([len(images) > 0 for images in sample_bank.column("images")])
            rows: list[int] = []
            for split, count, members in (("train", 16, 4), ("valid", 3, 6), ("test", 1, 6)):
                names = [name for name in dict.fromkeys(groups[splits == split].tolist()) if name]
                names.sort(key=lambda name: -pictured[groups == name].sum())
                for name in [*names[: count // 2], *names[-(count - count // 2) :]]:
                    rows += sorted(np.flatnonzero(groups == name), key=lambda row: not pictured[row])[:members]
            sample_bank.select(np.sort(rows)).save(file)
    return file


@pytest.fixture(scope="session")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URI of a Milvus server."""
    pytest.importorskip("milvus_lite")
    from tests.milvus_server import LocalServer

    server = LocalServer(tmp_path_factory.mktemp("milvus") / "data")
    yield server.uri
    server.stop()


@pytest.fixture(scope="session")
def tiny_bank(sample_bank: QuestionBank) -> QuestionBank:
    """40 questions of the sample bank: English and Chinese, with 0, 1 and several figures."""
    counts = np.array([len(images) for images in sample_bank.column("images")])
    chosen = [np.flatnonzero(kind)[:n] for kind, n in ((counts == 0, 24), (counts == 1, 12), (counts > 1, 4))]
    return sample_bank.select(np.sort(np.concatenate(chosen)))


@pytest.fixture(scope="session")
def _originals() -> dict[tuple[Any, ...], TQNetModel]:
    return {}


@pytest.fixture
def build_tiny(_originals: dict[tuple[Any, ...], TQNetModel], sample_bank: QuestionBank) -> Callable[..., TQNetModel]:
    """Makes a tiny model; options are those of `ModelConfig`.

    A new fusion is the identity, and a new visual token next to nothing. ``awake`` gives both weights that a
    test sees.
    """

    import torch

    from tqnet.modeling.build import build_model
    from tqnet.modeling.settings import ModelConfig

    def build(awake: bool = False, **options: Any) -> TQNetModel:
        key = (awake, *sorted(options.items()))
        if key not in _originals:
            torch.manual_seed(0)
            texts = (question.content for question in sample_bank)
            model, _ = build_model(ModelConfig(**(TINY | options)), texts)
            for name, module in model.named_modules():
                if awake and isinstance(module, torch.nn.Linear) and not name.startswith("text."):
                    torch.nn.init.normal_(module.weight, std=0.3)
            if awake and getattr(model, "figure_gate", None) is not None:
                torch.nn.init.normal_(model.figure_gate, std=0.3)
            _originals[key] = model.eval()
        return copy.deepcopy(_originals[key])

    return build


@pytest.fixture
def tiny_model(build_tiny: Callable[..., TQNetModel]) -> TQNetModel:
    """An untrained coordinated model with its processor, in ``eval``; a copy, to be done with as one likes."""
    return build_tiny()


@pytest.fixture
def draw_figure(tmp_path: Path) -> Callable[..., str]:
    """Draws a figure of its own for every number and returns its path."""

    def draw(number: int, size: tuple[int, int] = (90, 70)) -> str:
        path = tmp_path / f"figure-{number}-{size[0]}x{size[1]}.png"
        image = Image.new("RGB", size, "white")
        pen = ImageDraw.Draw(image)
        rng = np.random.default_rng(number)
        for _ in range(4):
            pen.line([tuple(p) for p in (rng.random((3, 2)) * size).tolist()], fill="black", width=3)
        image.save(path)
        return str(path)

    return draw
