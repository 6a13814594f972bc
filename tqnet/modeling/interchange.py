"""What a model's folder tells other libraries: the kind of model in it, and the class that loads it there."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from tqnet.files import FOR_OTHER_LIBRARIES, atomic
from tqnet.version import __version__


@dataclass(frozen=True)
class Kind:
    """A kind of model.

    Attributes:
        what: In words, for a sentence that begins with "a".
        taken_by: The command that takes such a folder.
        gives_vectors: Whether it makes a vector of a question, so that other libraries can take it for an encoder.
    """

    name: str
    what: str
    taken_by: str
    gives_vectors: bool = False


ENCODER = Kind("encoder", "encoder of questions", "tqnet encode --model", gives_vectors=True)
RANKER = Kind("ranker", "ranker, which reads two questions as one", "tqnet search --ranker")
PAIRS = Kind("pairs", "classifier of pairs of questions", "tqnet duplicates --pairs-model")
SOLVER = Kind("solver", "solver of word problems", "tqnet solve --model")
REWRITER = Kind("rewriter", "model that rewrites questions", "tqnet rewrite --model")

#: File that only such a folder has -> its kind.
_MARKS = {"cross_encoder.json": RANKER, "pairs.json": PAIRS, "solver.json": SOLVER}

#: What sentence-transformers looks for beside a model, :mod:`tqnet.hub.sentence_transformers` by name.
_FOR_SENTENCE_TRANSFORMERS = {
    "modules.json": [
        {"idx": 0, "name": "0", "path": "", "type": "tqnet.hub.sentence_transformers.TQNetModule"},
    ],
    "config_sentence_transformers.json": {
        "default_prompt_name": None,
        "model_type": "SentenceTransformer",
        "prompts": {},
        "requirements": {"tqnet": {"specifier": f">={__version__}", "reason": "The model's class is in this package."}},
        "similarity_fn_name": "cosine",
    },
}
assert _FOR_SENTENCE_TRANSFORMERS.keys() == FOR_OTHER_LIBRARIES


def kind_of(folder: str | os.PathLike[str]) -> Kind:
    """The kind of the trained model in a folder; its weights are not read.

    Raises:
        FileNotFoundError: No model of tqnet's.
        ValueError: Its configuration cannot be read.
    """
    folder = Path(folder)
    for name, kind in _MARKS.items():
        if (folder / name).is_file():
            return kind
    file = folder / "config.json"
    if not file.is_file():
        raise FileNotFoundError(f"{folder}: no model here (config.json is missing)")
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    if not isinstance(config, dict):
        raise ValueError(f"{file}: expected an object")
    if config.get("model_type") in ("tqnet", "quesnet"):
        return ENCODER
    if config.get("restores_questions"):
        return REWRITER
    raise FileNotFoundError(f"{folder}: a {config.get('model_type')}, no model of tqnet")


def introduce(folder: str | os.PathLike[str]) -> list[str]:
    """Write what sentence-transformers looks for beside a model, as far as it is not there; the names of new files.

    Folders of every kind get it: the class that they name says in one line what a folder holds that is no encoder.
    Nothing of sentence-transformers is imported.
    """
    missing = [name for name in _FOR_SENTENCE_TRANSFORMERS if not (Path(folder) / name).exists()]
    for name in missing:
        with atomic(Path(folder) / name) as temporary:
            text = json.dumps(_FOR_SENTENCE_TRANSFORMERS[name], indent=2)
            temporary.write_text(text + "\n", encoding="utf-8")
    return missing
