"""Sequence-to-sequence models of the transformers library: texts in, other texts out, in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from tokenizers.models import WordPiece
from torch import Tensor
from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoTokenizer, LogitsProcessorList
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING

from tqnet.errors import first_line
from tqnet.modeling.diverse_beams import HammingDiversity
from tqnet.modeling.encode import accelerator
from tqnet.modeling.pretrained import check_folder
from tqnet.modeling.rewriter import is_rewriter
from tqnet.text.restoring import restore

#: Packages that only some tokenizers need: Marian's and T5's, FSMT's.
_OF_TOKENIZERS = ("sentencepiece", "sacremoses")
#: A text may become longer by this factor, and by so many tokens.
_LONGER, _MORE = 1.5, 10


class Seq2Seq:
    """A model with its tokenizer.

    Args:
        model, tokenizer: As the transformers library loads them.
        batch_size: Texts that are generated from at once.
        precision: ``fp32`` or ``bf16`` (autocast).
    """

    def __init__(self, model: Any, tokenizer: Any, batch_size: int = 32, precision: str = "fp32"):
        self.model, self.tokenizer, self.batch_size, self.precision = model.eval(), tokenizer, batch_size, precision
        # Many a model is told to end where it is cut, which would pass for an end of its own.
        self.model.generation_config.forced_eos_token_id = None

    @classmethod
    def from_pretrained(cls, name: str, device: str | torch.device | None = None, **options: Any) -> Seq2Seq:
        """By name on the hub, or from a folder, in fp32.

        Args:
            device: By default the accelerator where there is one.
            options: Of the class.

        Raises:
            FileNotFoundError: The folder is not there, or holds no model.
            ModuleNotFoundError: Its tokenizer needs a package that is missing; ``name`` says which.
            OSError: It cannot be fetched.
            ValueError: It is no sequence-to-sequence model, has no tokenizer, or its weights are damaged.
        """
        _check_kind(name)
        try:
            tokenizer = AutoTokenizer.from_pretrained(name)
            model = AutoModelForSeq2SeqLM.from_pretrained(name, dtype=torch.float32)
        except SafetensorError as error:  # a plain Exception
            raise ValueError(f"{name}: its weights cannot be read: {error}") from error
        except (ImportError, OSError, ValueError) as error:
            for package in _OF_TOKENIZERS:
                if isinstance(error, ImportError) and package in str(error).lower():
                    raise ModuleNotFoundError(f"{name}: its tokenizer needs {package}", name=package) from error
            raise ValueError(f"{name}: {first_line(error)}") from error
        return cls(model.to(device or accelerator() or "cpu"), tokenizer, **options)

    @property
    def is_rewriter(self) -> bool:
        """Whether ``pretrain/rewriter.py`` trained it to restore corrupted questions."""
        return is_rewriter(self.model.config)

    @property
    def most_tokens(self) -> int:
        """Tokens that it reads and writes."""
        config = self.model.config
        parts = (config, getattr(config, "encoder", None), getattr(config, "decoder", None))
        positions = [getattr(part, "max_position_embeddings", None) for part in parts]
        return min(self.tokenizer.model_max_length, *(count for count in positions if count), 2**20)

    def best(self, texts: Sequence[str], beams: int = 5) -> list[list[str]]:
        """Of each text what beam search finds likeliest: a list of one text, or none (`diverse`)."""
        return self._rewrite(texts, texts, 1, {"num_beams": beams})

    def diverse(
        self, texts: Sequence[str], count: int = 4, diversity: float = 0.5, likeness: Sequence[str] | None = None
    ) -> list[list[str]]:
        """Of each text at most ``count`` texts by diverse beam search, the likeliest first; some may be equal.

        What is too long for the model, or does not come to its end, is left out.

        Args:
            diversity: What a token loses for each earlier group that takes it (`HammingDiversity`).
            likeness: Texts that have the case and the spaces that a WordPiece tokenizer drops, by default ``texts``.
        """
        processor = HammingDiversity(count, diversity, self._ends)
        options = {"num_beams": 1, "logits_processor": LogitsProcessorList([processor])}
        return self._rewrite(texts, likeness if likeness is not None else texts, count, options)

    @torch.inference_mode()
    def _rewrite(
        self, texts: Sequence[str], likeness: Sequence[str], copies: int, options: dict[str, Any]
    ) -> list[list[str]]:
        found: list[list[str]] = [[] for _ in texts]
        device = self.model.device
        for rows in self._batches(texts):
            inputs = self.tokenizer([texts[row] for row in rows], padding=True, return_tensors="pt").to(device)
            width = inputs["input_ids"].shape[1]
            with torch.autocast(device.type, torch.bfloat16, enabled=self.precision == "bf16"):
                made = self.model.generate(
                    input_ids=inputs["input_ids"].repeat_interleave(copies, 0),
                    attention_mask=inputs["attention_mask"].repeat_interleave(copies, 0),
                    do_sample=False,
                    max_new_tokens=min(self.most_tokens - 1, int(_LONGER * width) + _MORE),
                    **options,
                )
            for place, ids in enumerate(made.cpu()):
                row = rows[place // copies]
                if torch.isin(ids[1:], self._ends).any():  # the start token may be an end token too
                    found[row].append(self._decoded(ids[1:], likeness[row]))
        return found

    @property
    def _ends(self) -> Tensor:
        return torch.tensor(self.model.generation_config.eos_token_id).reshape(-1)

    def _batches(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """Places of texts of like length, the longest first, without those that are too long."""
        lengths = [len(ids) for ids in self.tokenizer(list(texts))["input_ids"]] if texts else []
        fitting = [place for place, length in enumerate(lengths) if length <= self.most_tokens]
        fitting.sort(key=lambda place: lengths[place], reverse=True)
        for start in range(0, len(fitting), self.batch_size):
            yield fitting[start : start + self.batch_size]

    def _decoded(self, ids: Tensor, likeness: str) -> str:
        tokenizer = self.tokenizer
        if not isinstance(getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None), WordPiece):
            return tokenizer.decode(ids, skip_special_tokens=True).strip()
        encoding = tokenizer.backend_tokenizer.encode(likeness, add_special_tokens=False)
        special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
        made = tokenizer.convert_ids_to_tokens([number for number in ids.tolist() if number not in special])
        return restore(likeness, list(zip(encoding.tokens, encoding.offsets, strict=True)), made)


def _check_kind(name: str) -> None:
    folder = Path(name)
    if folder.is_dir() and not (folder / "config.json").is_file():
        raise FileNotFoundError(f"{name}: no model here (config.json is missing)")
    check_folder(name)
    try:
        config = AutoConfig.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise OSError(f"{name}: {first_line(error)}") from error
    if type(config) not in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING:
        raise ValueError(f"{name}: a {config.model_type}, no sequence-to-sequence model of the transformers library")
