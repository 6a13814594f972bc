"""Kinds of model folders, and the files by which other libraries load them."""

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
        what: Noun phrase that follows "a" in messages.
        taken_by: The command that uses such a folder.
        gives_vectors: Whether it encodes questions into vectors, so that other libraries can use it as an encoder.
        mark: File that marks the folder of a model whose encoder would also load alone.
    """

    name: str
    what: str
    taken_by: str
    gives_vectors: bool = False
    mark: str | None = None


ENCODER = Kind("encoder", "encoder of questions", "tqnet encode --model", gives_vectors=True)
RANKER = Kind("ranker", "ranker, which reads two questions as one", "tqnet search --ranker", mark="cross_encoder.json")
PAIRS = Kind("pairs", "classifier of pairs of questions", "tqnet duplicates --pairs-model", mark="pairs.json")
SOLVER = Kind("solver", "solver of word problems", "tqnet solve --model", mark="solver.json")
REWRITER = Kind("rewriter", "model that rewrites questions", "tqnet rewrite --model")

_SENTENCE_TRANSFORMERS_MODULES = [
    {"idx": 0, "name": "0", "path": "", "type": "tqnet.hub.sentence_transformers.TQNetModule"}
]
_SENTENCE_TRANSFORMERS_CONFIG = {
    "default_prompt_name": None,
    "model_type": "SentenceTransformer",
    "prompts": {},
    "requirements": {"tqnet": {"specifier": f">={__version__}", "reason": "The model's class is in this package."}},
    "similarity_fn_name": "cosine",
}

#: For transformers' Auto classes with ``trust_remote_code=True``: ``auto_map`` in config.json names this module.
_TRANSFORMERS_MODULE = '''"""The classes of this model are those of the package tqnet."""

from tqnet.modeling.configuration import QuesNetConfig, TQNetConfig
from tqnet.modeling.gru import GRUConfig
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.processor import TQNetProcessor
from tqnet.modeling.quesnet import QuesNetModel
'''

#: File that another library looks for -> contents.
_FILES = {
    "modules.json": json.dumps(_SENTENCE_TRANSFORMERS_MODULES, indent=2) + "\n",
    "config_sentence_transformers.json": json.dumps(_SENTENCE_TRANSFORMERS_CONFIG, indent=2) + "\n",
    "tqnet_classes.py": _TRANSFORMERS_MODULE,
}
assert _FILES.keys() == FOR_OTHER_LIBRARIES


def kind_of(folder: str | os.PathLike[str]) -> Kind:
    """Return the kind of the trained model in a folder, without reading its weights.

    Raises:
        FileNotFoundError: No tqnet model in the folder.
        ValueError: Its configuration cannot be read.
    """
    folder = Path(folder)
    for kind in (RANKER, PAIRS, SOLVER):
        if (folder / str(kind.mark)).is_file():
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
    raise FileNotFoundError(f"{folder}: a {config.get('model_type')}, not a model of tqnet")


def introduce(folder: str | os.PathLike[str]) -> list[str]:
    """Write the missing files that transformers and sentence-transformers look for; return their names.

    All kinds get them: for a folder that is not an encoder, the class named in those for sentence-transformers raises a
    one-line error saying what it is. Does not import sentence-transformers.
    """
    missing = [name for name in _FILES if not (Path(folder) / name).exists()]
    for name in missing:
        with atomic(Path(folder) / name) as temporary:
            temporary.write_text(_FILES[name], encoding="utf-8")
    return missing
