"""What exported graphs compute is what the model computes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tqnet.export.encoder import jobs
from tqnet.modeling.encode import CellCache, batches
from tqnet.questions import Question

KINDS = [
    ("torch", "fp32"),
    ("torch", "bf16"),
    ("onnx", "fp32"),
    ("openvino", "fp32"),
    ("openvino", "bf16"),
    ("openvino", "int8"),
    ("openvino", "int8-weights"),
]
LEAST = {"fp32": 0.99999, "bf16": 0.999, "int8": 0.98, "int8-weights": 0.99}


def cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return (first * second).sum(1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)


@pytest.mark.parametrize(("format", "precision"), KINDS)
def test_vectors_are_those_of_the_model_whatever_is_in_a_batch(
    exported, questions: list[Question], format: str, precision: str
) -> None:
    model, encoder = exported(format, precision)
    wanted = model.encode(questions, device="cpu")
    assert cosines(wanted, np.roll(wanted, 1, 0)).min() < 0.9  # they tell questions apart
    mixed = encoder.encode(questions)
    assert mixed.dtype == np.float32
    assert mixed.shape == wanted.shape
    alone = np.concatenate([encoder.encode(question) for question in questions])
    for vectors in (mixed, encoder.encode(questions, batch_size=3), alone):
        assert cosines(vectors, wanted).min() > LEAST[precision]
        if precision == "fp32":
            np.testing.assert_allclose(vectors, wanted, atol=2e-4)
    unit = encoder.encode(questions[:2], normalize=True)
    assert np.linalg.norm(unit, axis=1) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("format", ["onnx", "openvino"])
@pytest.mark.parametrize(("fusion", "pooling"), [("joint", "per_modality"), ("coordinated", "gated")])
def test_other_poolings(exported, questions: list[Question], format: str, fusion: str, pooling: str) -> None:
    model, encoder = exported(format, fusion=fusion, pooling=pooling)
    np.testing.assert_allclose(encoder.encode(questions), model.encode(questions, device="cpu"), atol=2e-4)


@pytest.mark.parametrize("format", ["torch", "onnx", "openvino"])
def test_a_model_that_reads_text_alone_is_one_graph(exported, questions: list[Question], format: str) -> None:
    model, encoder = exported(format, visual=None, fusion="none")
    assert list(encoder.manifest.graphs) == ["text"]
    np.testing.assert_allclose(encoder.encode(questions), model.encode(questions, device="cpu"), atol=2e-4)


@pytest.mark.parametrize("terms", [0.7, 0.0])
@pytest.mark.parametrize("format", ["torch", "onnx", "openvino"])
def test_a_model_with_a_read_out(exported, questions: list[Question], format: str, terms: float) -> None:
    model, encoder = exported(format, read_out=terms)
    assert model.readout is not None
    np.testing.assert_allclose(encoder.encode(questions), model.encode(questions, device="cpu"), atol=2e-4)


def test_questions_without_figures_cost_no_convolution(tiny_model, questions: list[Question]) -> None:
    convolved: list[int] = []

    def convolve(pixels):
        convolved.append(len(pixels))
        with torch.inference_mode():
            return tiny_model.visual.cells(pixels)

    cells = CellCache(convolve, tiny_model.processor)

    def computed(subset: list[Question]) -> list[tuple[str, list[int]]]:
        prepared = batches(tiny_model.processor, subset, 32, ())
        return [(name, list(rows)) for batch in prepared for rows, (name, _) in jobs(batch, cells, 160)]

    ((name, rows),) = computed([q for q in questions if not q.images])
    assert (name, sorted(rows)) == ("text", [0, 1, 2, 3, 4])
    assert not convolved
    (fused, shown), (text, plain) = computed(questions)
    assert (fused, text) == ("fused", "text")
    assert sorted(shown) == [i for i, q in enumerate(questions) if q.images]
    assert sorted(plain) == [i for i, q in enumerate(questions) if not q.images]
    assert sum(convolved) == len({path for q in questions for path in q.images})


def test_texts_are_padded_to_multiples_of_eight_but_not_beyond_the_longest_allowed(tiny_model) -> None:
    def widths(text: str, max_length: int) -> list[int]:
        tiny_model.processor.max_length = max_length
        (batch,) = batches(tiny_model.processor, [text], 1)
        ((_, inputs),) = [job for _, job in jobs(batch, None, max_length)]
        assert inputs[1].sum() == batch.text["attention_mask"].sum()
        return [given.shape[1] for given in inputs]

    assert widths("", 20) == [8, 8]
    assert widths("the area of the side " * 9, 20) == [20, 20]
