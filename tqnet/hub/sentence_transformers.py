"""The module of sentence-transformers 6 that a trained folder's ``modules.json`` names.

SentenceTransformer("runs/scl/model", trust_remote_code=True)       # required, as the class is tqnet's
SentenceTransformer(modules=[TQNetModule.load("runs/scl/model")])   # or without it
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from sentence_transformers.base.modality import is_image_url_or_path
from sentence_transformers.base.modality_types import Modality
from sentence_transformers.base.modules import InputModule
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from tqnet.hub.inputs import Read, load_encoder, pack, read
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.processor import TQNetProcessor
from tqnet.modeling.text_encoders import most_tokens

#: Outputs of :func:`~tqnet.hub.inputs.pack`.
_INPUTS = ("input_ids", "attention_mask", "pixel_values", "image_counts")

#: Options of sentence-transformers on where a folder is found.
_PLACE = ("subfolder", "token", "cache_folder", "revision", "local_files_only")


class TQNetModule(InputModule):
    """A whole model of questions, from inputs to ``sentence_embedding`` [b, h].

    Inputs are those of :func:`tqnet.hub.inputs.read`: texts, figures (a path, a PIL image, an array), dicts such as
    ``{"text": "Find $x$.", "image": "figure.png"}``, whose ``image`` may be a list, and tqnet's own questions. If the
    model reads figures, a text that names an image file is one, as everywhere in sentence-transformers.
    """

    def __init__(self, model: QuestionEncoder):
        super().__init__()
        self.model = model

    @classmethod
    def load(cls, model_name_or_path: str, **options: Any) -> Self:  # type: ignore[override]
        """Load a trained folder, or one of the hub, with its ``subfolder``, ``token``, ``revision`` and the like.

        Raises:
            FileNotFoundError: There is no tqnet model.
            ValueError: The model is not an encoder of questions, its weights are damaged, or there are options for them
                (they are loaded in fp32, as saved), or another backend than torch.
        """
        if (backend := options.get("backend", "torch")) != "torch":
            raise ValueError(f"backend: {backend!r}, but models of tqnet run only in torch")
        for name in ("model_kwargs", "processor_kwargs", "config_kwargs"):
            if options.get(name):
                raise ValueError(f"{name}: a model of tqnet takes none ({', '.join(options[name])})")
        place = {name: options[name] for name in _PLACE if name in options}
        folder = cls.load_dir_path(model_name_or_path, **place)
        if folder is None or not Path(folder).is_dir():
            raise FileNotFoundError(f"{model_name_or_path}: no such folder")
        return cls(load_encoder(folder))

    def save(self, output_path: str, *args: Any, safe_serialization: bool = True, **kwargs: Any) -> None:
        """Write a folder that tqnet, transformers and sentence-transformers load."""
        self.model.save_pretrained(output_path)

    @property
    def modalities(self) -> list[Modality]:
        """``message`` includes batches of mixed inputs."""
        if not self.model.config.reads_images:
            return ["text"]
        return ["text", "image", ("image", "text"), "message"]

    @property
    def processor(self) -> TQNetProcessor:
        return self.model.processor

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:  # type: ignore[override]
        return self.processor.tokenizer

    @property
    def max_seq_length(self) -> int:
        """Text tokens of a question; longer ones are cut."""
        return self.processor.max_length

    @max_seq_length.setter
    def max_seq_length(self, length: int) -> None:
        most = most_tokens(getattr(self.model, "text", self.model)) or length
        if not 3 <= length <= most:
            raise ValueError(f"max_seq_length: {length} is not between 3 and the encoder's {most} positions")
        self.processor.max_length = length

    def get_embedding_dimension(self) -> int:
        return self.model.config.hidden_size

    def preprocess(self, inputs: Sequence[Any], prompt: str | None = None, **_: Any) -> dict[str, Tensor | Any]:
        """Return ``input_ids``, ``attention_mask`` [b, t], ``pixel_values`` [n, 3, s, s] and ``image_counts`` [b].

        Raises:
            OSError, ValueError: See :func:`~tqnet.hub.inputs.read` and :func:`~tqnet.hub.inputs.pack`.
        """
        questions = [self._read(item) for item in inputs]
        if prompt:
            questions = [Read(prompt + question.text, question.figures) for question in questions]
        return dict(pack(self.model, questions))

    def _read(self, item: Any) -> Read:
        if isinstance(item, str) and self.model.config.reads_images and is_image_url_or_path(item):
            return Read("", (item,))
        return read(item)

    def forward(self, features: dict[str, Tensor | Any], **_: Any) -> dict[str, Tensor | Any]:
        """Add ``sentence_embedding`` [b, h], not normalised."""
        inputs = {name: features[name] for name in _INPUTS if name in features}
        return {**features, "sentence_embedding": self.model(**inputs).embedding}

    def __repr__(self) -> str:
        read = "text and figures" if self.model.config.reads_images else "text"
        return f"TQNetModule({self.model.config.model_type}, {read}, {self.get_embedding_dimension()})"
