"""Figures are found by their looks, whatever the model; their table keeps in step with that of the questions."""

from __future__ import annotations

import shutil
import tracemalloc
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageChops, ImageDraw

from tests.search.conftest import MILVUS, WIDTH
from tqnet.questions import Question, QuestionBank
from tqnet.search.build import Changes, build, update
from tqnet.search.engine import DuplicateIdError, EngineError
from tqnet.search.figures import Looks, describe, with_figures
from tqnet.search.index import Index, restore
from tqnet.search.precomputed import precompute
from tqnet.search.ranking import Rank
from tqnet.search.records import read_filter
from tqnet.search.searcher import Answer, Query, QueryError, Searcher, shown, typed_question
from tqnet.search.versions import Manifest

COUNT = 30
ENGINES = ["lance", MILVUS]


def draw(seed: int, margin: int = 20) -> Image.Image:
    """A triangle and a circle, other ones for each seed."""
    rng = np.random.default_rng(seed)
    image = Image.new("RGB", (200 + 2 * margin, 160 + 2 * margin), "white")
    pen = ImageDraw.Draw(image)
    corners = [(margin + int(x), margin + int(y)) for x, y in rng.integers((0, 0), (200, 160), (3, 2))]
    pen.polygon(corners, outline="navy", width=3)
    x, y, r = (int(value) for value in rng.integers((40, 40, 15), (160, 120, 40)))
    pen.ellipse([margin + x - r, margin + y - r, margin + x + r, margin + y + r], outline="black", width=3)
    return image


def crop(image: Image.Image) -> Image.Image:
    box = image.convert("L").point(lambda grey: 255 * (grey < 128)).getbbox()
    assert box is not None
    width, height = box[2] - box[0], box[3] - box[1]
    return image.crop((box[0] + width // 30, box[1] + height // 30, box[2] - width // 30, box[3] - height // 30))


ALTERED: dict[str, Callable[[Image.Image], Image.Image]] = {
    "half": lambda image: image.resize((image.width // 2, image.height // 2)),
    "larger": lambda image: image.resize((image.width * 17 // 10, image.height * 17 // 10)),
    "grey": lambda image: image.convert("L"),
    "cropped": crop,
    "transparent": lambda image: Image.merge("RGBA", (*image.split(), ImageChops.invert(image.convert("L")))),
}


def encode_text(questions: Sequence[Question] | QuestionBank) -> np.ndarray:
    """Like a model that reads no figures: every text is much like every other."""
    return np.stack([np.eye(WIDTH)[len(question.stem) % WIDTH] + 1 for question in questions])


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> list[Question]:
    """Every third without a figure; the last has that of q01, and one of its own."""
    folder = tmp_path_factory.mktemp("figures")
    for number in range(COUNT):
        draw(number).save(folder / f"{number}.png")
    questions = [
        Question(
            id=f"q{number:02d}",
            stem="Find the area." if number % 2 else f"How long is the side {'abcdefghij'[number % 10] * 3} of it?",
            images=(str(folder / f"{number}.png"),) if number % 3 else (),
            difficulty=number % 6,
        )
        for number in range(COUNT)
    ]
    questions[-1] = replace(questions[-1], images=(*questions[-1].images, *questions[1].images))
    return questions


MANIFEST = Manifest("encoder:none", None, WIDTH, "bank")


@pytest.fixture(scope="module")
def built(questions: list[Question], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index in files, to be copied."""
    folder = tmp_path_factory.mktemp("built") / "index"
    build(QuestionBank.from_questions(questions), encode_text, folder, MANIFEST)
    return folder


@pytest.fixture
def index(request: pytest.FixtureRequest, questions: list[Question], built: Path, tmp_path: Path) -> Index:
    """In files, or on a server with an alias of its own."""
    if getattr(request, "param", "lance") == "milvus":
        alias = f"figures_{uuid.uuid4().hex[:8]}"
        manifest = replace(MANIFEST, engine="milvus", uri=request.getfixturevalue("milvus"), collection=alias)
        build(QuestionBank.from_questions(questions), encode_text, tmp_path / "index", manifest)
    else:
        shutil.copytree(built, tmp_path / "index")
    return Index(tmp_path / "index")


def search(index: Index, figure: str, text: str = "", *where: str, rank: Rank | None = None) -> Answer:
    searcher = Searcher(index, encode_text, rank=rank or Rank())
    (query,) = searcher.queries([typed_question(text, [figure])])
    return searcher.answer(query, 10, list(map(read_filter, where)), fold=False)


def ids(answer: Answer) -> list[str]:
    return [candidate.question.id for candidate in answer.candidates]


def figure_ids(index: Index) -> list[str]:
    return sorted(id for table in index.figures.scan(["id"]) for id in table["id"].to_pylist())


def expected_ids(questions: Sequence[Question]) -> list[str]:
    return sorted(f"{question.id}#{n}" for question in questions for n in range(1, len(question.images) + 1))


def test_the_picture_alone_finds_its_questions_with_a_model_of_texts(index: Index, questions: list[Question]) -> None:
    answer = search(index, questions[1].images[0])
    assert ids(answer)[:2] == ["q01", "q29"]
    assert [candidate.figure for candidate in answer.candidates[:2]] == [1, 1]
    assert "figure 1.00" in answer.candidates[0].why
    assert shown(answer.candidates[0])["figure"] == 1
    assert answer.notes == (
        "the model of this index reads no figures: only figures that look like the query's are searched for",
    )


@pytest.mark.parametrize("kind", ALTERED)
def test_altered_copies_are_found_first(index: Index, questions: list[Question], kind: str, tmp_path: Path) -> None:
    for question in questions[2:COUNT:9]:
        (path, *_) = question.images
        with Image.open(path) as image:
            ALTERED[kind](image).save(tmp_path / "copy.png")
        assert ids(search(index, str(tmp_path / "copy.png")))[0] == question.id


def test_the_same_figure_comes_before_the_same_text(index: Index, questions: list[Question]) -> None:
    answer = search(index, questions[4].images[0], questions[6].stem)
    assert ids(answer)[0] == "q04"
    assert "q06" in ids(answer)
    assert "the text is searched, and figures that look like the query's" in answer.notes[0]
    rank = Rank(lambda query, candidates, features: np.linspace(0, 0.99, len(candidates)))
    assert ids(search(index, questions[4].images[0], questions[6].stem, rank=rank))[0] == "q04"
    np.testing.assert_allclose(with_figures(questions[4], [0.2, 0.5], [None, None]), [0.2, 0.5])


@pytest.mark.parametrize("index", ENGINES, indirect=True)
def test_filters_and_sources(index: Index, questions: list[Question]) -> None:
    figure = questions[1].images[0]
    assert "q01" not in ids(search(index, figure, "", "difficulty!=1"))
    assert ids(search(index, figure, "", "difficulty=5"))[0] == "q29"
    assert ids(search(index, figure, "", "id=q29|q02"))[0] == "q29"
    assert ids(search(index, figure, "", "figures=2")) == ["q29"]
    searcher = Searcher(index, encode_text)
    with pytest.raises(QueryError, match="figures have no text to be searched by"):
        next(searcher.queries([typed_question("", [figure])], ["text"]))
    by_text = searcher.answer(Query(typed_question("Find the area.", [figure])), by=["text"])
    assert {candidate.figure for candidate in by_text.candidates} == {None}
    by_id = searcher.answer(searcher.by_id("q01")).candidates
    assert (by_id[0].question.id, by_id[0].figure) == ("q29", 1)


def test_precomputed_candidates_have_figures(index: Index) -> None:
    searcher = Searcher(index)
    before = searcher.answer(searcher.by_id("q01")).candidates
    precompute(index)
    assert searcher.answer(searcher.by_id("q01")).candidates == before
    assert before[0].figure == 1


@pytest.mark.parametrize("index", ENGINES, indirect=True)
def test_writes_keep_the_figures_in_step(index: Index, questions: list[Question], tmp_path: Path) -> None:
    assert figure_ids(index) == expected_ids(questions)
    with pytest.raises(DuplicateIdError):
        index.add([replace(questions[0], images=questions[1].images)], np.ones((1, WIDTH)))
    assert figure_ids(index) == expected_ids(questions)
    changed = [
        replace(questions[29], images=questions[29].images[:1]),
        replace(questions[3], images=questions[2].images),
        replace(questions[5], images=("/nowhere/gone.png",)),
        *questions[6:20],
    ]
    update(index, changed, encode_text, delete=True)
    assert figure_ids(index) == expected_ids([question for question in changed if question.id != "q05"])
    assert ids(search(index, questions[1].images[0]))[:1] != ["q29"]
    assert ids(search(index, questions[2].images[0]))[0] == "q03"
    assert ids(search(index, questions[5].images[0]))[:1] != ["q05"]
    assert index.delete(["q03", "nobody"]) == 1
    assert not [id for id in figure_ids(index) if id.startswith("q03")]
    index.export(tmp_path / "out")
    kept = figure_ids(index)
    assert figure_ids(restore(tmp_path / "out", tmp_path / "again")) == kept
    next((tmp_path / "out" / "figures").glob("*.parquet")).unlink()
    with pytest.raises(EngineError, match="files are missing"):
        restore(tmp_path / "out", tmp_path / "third")


@pytest.mark.parametrize("index", ENGINES, indirect=True)
@pytest.mark.parametrize("killed", ["figures.add", "engine.put", "engine.delete"])
def test_a_sync_repairs_what_a_killed_one_left(
    index: Index, questions: list[Question], killed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though it is of the bank as it was before; one figure cannot be read."""
    gone = replace(questions[2], images=("/nowhere/gone.png",))
    bank = [*questions[:2], gone, *questions[3:]]
    update(index, bank, encode_text, delete=True)
    new = Question(id="new", stem="New", images=questions[4].images)
    changed = [replace(bank[1], images=questions[5].images), gone, replace(bank[4], images=()), *bank[5:20], new]

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    table, method = killed.split(".")
    with monkeypatch.context() as patch:
        patch.setattr(getattr(index, table), method, die)
        with pytest.raises(KeyboardInterrupt):
            update(index, changed, encode_text, delete=True)
    update(index, bank, encode_text, delete=True)
    assert figure_ids(index) == expected_ids([question for question in bank if question is not gone])
    for question in (bank[1], bank[4], bank[25]):
        assert ids(search(index, question.images[0]))[0] == question.id
    assert update(index, bank, encode_text, delete=True) == Changes(unchanged=COUNT)


def test_figures_without_looks(index: Index, questions: list[Question], tmp_path: Path) -> None:
    """Blank, missing and damaged ones; a text beside them is searched as if they were not there."""
    blank = np.full((40, 60, 3), 255, np.uint8)
    assert not describe(blank).any()
    Image.fromarray(blank).save(tmp_path / "blank.png")
    (tmp_path / "damaged.png").write_bytes(b"nonsense")
    paths = [str(tmp_path / f"{name}.png") for name in ("blank", "gone", "damaged")]
    assert Looks.read(index.figures, paths) is None
    looks = Looks.read(index.figures, [*paths, questions[1].images[0]])
    assert looks is not None
    assert looks.cosines({"q01": 1, "q03": 1}) == {"q01": 1}  # q03 has none
    for path in paths:
        assert search(index, path).candidates == []
        beside = search(index, path, "Find the area.").candidates
        assert beside[0].likeness == pytest.approx(1)
        assert {hit.figure for hit in beside} == {None}


def test_a_figure_is_found_whatever_the_text() -> None:
    """Though the text is less alike than what unrelated queries find."""
    for text in ("", "Find the area."):
        scores = with_figures(Question(id="", stem=text), [-9.0, -9.0, 0.4], [0.7, 0.5, 0.5])
        assert scores[0] == pytest.approx(0.25)
        assert scores[1] == 0 < scores[2] < 0.4


def test_a_long_thin_figure_takes_little_memory() -> None:
    figure = np.full((20, 40_000, 3), 255, np.uint8)
    figure[5:15, 100:30_000] = 0
    tracemalloc.start()
    try:
        wide, tall = describe(figure), describe(figure.swapaxes(0, 1))
        assert tracemalloc.get_traced_memory()[1] < 2**27
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(np.linalg.norm(wide, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(wide.reshape(2, 16, 16), tall.reshape(2, 16, 16).swapaxes(1, 2), atol=1e-5)
