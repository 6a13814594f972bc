"""How a model is loaded, in code that runs as it stands in the model's folder."""

from __future__ import annotations

from collections.abc import Mapping

from tqnet.modeling.interchange import ENCODER, PAIRS, RANKER, REWRITER, SOLVER, Kind

_TQNET = """from tqnet import {class_name}

model = {class_name}.from_pretrained(".")  # the folder of this file
vectors = model.encode(["Find $x$ if $2x + 3 = 11$.", "Solve $2x = 8$."])
"""

_TQNET_FIGURES = """from tqnet import {class_name}

model = {class_name}.from_pretrained(".")  # the folder of this file
questions = ["Find $x$ if $2x + 3 = 11$.", {{"stem": "Find $x$.", "images": ["figure.png"]}}]
vectors = model.encode(questions)
"""

_TRANSFORMERS = """import tqnet  # the Auto classes know the model from here on
from transformers import AutoModel, AutoProcessor

model, processor = AutoModel.from_pretrained("."), AutoProcessor.from_pretrained(".")
inputs = processor(["Find $x$ if $2x + 3 = 11$.", "Solve $2x = 8$."])
vectors = model(**inputs).embedding
"""

_SENTENCE_TRANSFORMERS = """from sentence_transformers import SentenceTransformer

model = SentenceTransformer(".", trust_remote_code=True)  # its class is in the package tqnet
vectors = model.encode(["Find $x$ if $2x + 3 = 11$.", "Solve $2x = 8$."])
print(model.similarity(vectors, vectors))
"""

_SENTENCE_TRANSFORMERS_FIGURES = """from sentence_transformers import SentenceTransformer

model = SentenceTransformer(".", trust_remote_code=True)  # its class is in the package tqnet
vectors = model.encode(["Find $x$ if $2x + 3 = 11$.", {"text": "Find $x$.", "image": "figure.png"}])
print(model.similarity(vectors, vectors))
"""

_RANKER = """import numpy as np
from tqnet.modeling.cross_encoder import CrossEncoder
from tqnet.questions import Question

ranker = CrossEncoder.from_pretrained(".")
pair = Question("a", "Solve $2x = 8$."), Question("b", "Solve $3x = 9$.")
evidence = np.zeros((1, 3))  # what a search knows of the pair; `tqnet search INDEX --ranker DIR` brings it
print(ranker.probabilities([pair], evidence))
"""

_PAIRS = """from tqnet.modeling.pairs import PairClassifier
from tqnet.questions import Question
from tqnet.questions.pairs import RELATIONS

classifier = PairClassifier.from_pretrained(".")
chances = classifier.classify(Question("a", "Solve $2x = 8$."), [Question("b", "Solve $3x = 9$.")])[0]
print(dict(zip(RELATIONS, chances)))
"""

_SOLVER = """from tqnet.modeling.solver import load_solver

solver = load_solver(".")
print(solver.solve(["Tom has 5 apples and eats 2 of them. How many are left?"]))
"""

_REWRITER = """from tqnet.modeling.seq2seq import Seq2Seq

model = Seq2Seq.from_pretrained(".")
print(model.best(["Find $x$ if $2x + 3 = 11$."]))
"""

PROBE = """from tqnet.evaluation.linear_probe import LinearProbe
from tqnet.modeling.build import load_model

model, probe = load_model("MODEL"), LinearProbe.load("level-{level}")  # MODEL: the folder of {model}
print(probe.predict_proba(model.encode(["Find $x$ if $2x + 3 = 11$."])))
"""

_OWN: Mapping[str, str] = {RANKER.name: _RANKER, PAIRS.name: _PAIRS, SOLVER.name: _SOLVER, REWRITER.name: _REWRITER}


def snippets(kind: Kind, figures: bool, architecture: str = "tqnet") -> dict[str, str]:
    """Library -> code.

    Args:
        figures: Whether the model reads any.
        architecture: ``model_type`` of an encoder.
    """
    if kind is not ENCODER:
        return {"tqnet": _OWN[kind.name]}
    class_name = "QuesNetModel" if architecture == "quesnet" else "TQNetModel"
    return {
        "tqnet": (_TQNET_FIGURES if figures else _TQNET).format(class_name=class_name),
        "transformers": _TRANSFORMERS,
        "sentence-transformers": _SENTENCE_TRANSFORMERS_FIGURES if figures else _SENTENCE_TRANSFORMERS,
    }
