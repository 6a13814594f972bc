"""Sequence-to-sequence models of the transformers library: texts in, other texts out, in batches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from tokenizers.models import WordPiece
from torch import Tensor
from torch.nn import functional as F
from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoTokenizer, LogitsProcessor, LogitsProcessorList
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING

from tqnet.errors import first_line
from tqnet.modeling.encode import accelerator
from tqnet.modeling.pretrained import check_folder

#: Key in a model's config.json: it was trained to restore corrupted questions.
RESTORES = "restores_questions"
#: Packages that only some tokenizers need: Marian's and T5's, FSMT's.
_TOKENIZER_PACKAGES = ("sentencepiece", "sacremoses")
#: A text may grow by this factor plus this number of tokens.
_FACTOR, _EXTRA_TOKENS = 1.5, 10


class HammingDiversity(LogitsProcessor):
    """Diverse beam search (Vijayakumar et al. 2018, Section 4): a token loses ``strength`` for each earlier group that
    takes it at the same step.

    There are as many groups as beams, the setting its authors report: each group is then a greedy search, which every
    generating model can do. NOTE: ParaQD gives neither groups nor strength.

    Args:
        groups: Number of groups; a batch has b texts, each repeated ``groups`` times.
        end: Ids of end tokens: groups that have ended take no more tokens.
    """

    def __init__(self, groups: int, strength: float, end: Tensor):
        self.groups, self.strength, self.end = groups, strength, end

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """input_ids: [b * groups, t], beginning with the start token; scores: [b * groups, vocabulary]."""
        ended = torch.isin(input_ids[:, 1:], self.end.to(input_ids.device)).any(1).view(-1, self.groups)
        by_group = scores.float().view(-1, self.groups, scores.shape[-1])
        taken = torch.zeros_like(by_group[:, 0])
        diverse = []
        for group in range(self.groups):
            penalized = by_group[:, group] - self.strength * taken
            diverse.append(penalized)
            taken = taken + F.one_hot(penalized.argmax(-1), penalized.shape[-1]) * ~ended[:, group, None]
        return torch.stack(diverse, 1).view_as(scores)


class Seq2Seq:
    """A model with its tokenizer.

    Args:
        model, tokenizer: As the transformers library loads them.
        batch_size: Number of texts to rewrite at once.
        precision: ``fp32`` or ``bf16`` (autocast).
    """

    def __init__(self, model: Any, tokenizer: Any, batch_size: int = 32, precision: str = "fp32"):
        self.model, self.tokenizer, self.batch_size, self.precision = model.eval(), tokenizer, batch_size, precision
        # Many models force an end token where they are cut, which would look like a regular end.
        self.model.generation_config.forced_eos_token_id = None

    @classmethod
    def from_pretrained(cls, name: str, device: str | torch.device | None = None, **options: Any) -> Seq2Seq:
        """Load a model by name on the hub, or from a folder, in fp32.

        Args:
            device: By default the accelerator if there is one.
            options: Options of the class.

        Raises:
            FileNotFoundError: The folder does not exist or holds no model.
            ModuleNotFoundError: The tokenizer needs a package that is missing; ``name`` says which.
            OSError: The model cannot be fetched.
            ValueError: It is not a sequence-to-sequence model, has no tokenizer, or its weights are damaged.
        """
        _check_kind(name)
        try:
            tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
            model = AutoModelForSeq2SeqLM.from_pretrained(name, dtype=torch.float32, trust_remote_code=False)
        except SafetensorError as error:  # a plain Exception
            raise ValueError(f"{name}: its weights cannot be read: {error}") from error
        except (ImportError, OSError, ValueError) as error:
            for package in _TOKENIZER_PACKAGES:
                if isinstance(error, ImportError) and package in str(error).lower():
                    raise ModuleNotFoundError(f"{name}: its tokenizer needs {package}", name=package) from error
            raise ValueError(f"{name}: {first_line(error)}") from error
        return cls(model.to(device or accelerator() or "cpu"), tokenizer, **options)

    @property
    def is_rewriter(self) -> bool:
        """True if ``pretrain/rewriter.py`` trained it to restore corrupted questions."""
        return bool(getattr(self.model.config, RESTORES, False))

    @property
    def most_tokens(self) -> int:
        """Maximum number of tokens that it reads and writes."""
        config = self.model.config
        parts = (config, getattr(config, "encoder", None), getattr(config, "decoder", None))
        positions = [getattr(part, "max_position_embeddings", None) for part in parts]
        return min(self.tokenizer.model_max_length, *(count for count in positions if count), 2**20)

    def best(self, texts: Sequence[str], beams: int = 5) -> list[list[str]]:
        """Return for each text the likeliest output of beam search: a list of one text, or none (`diverse`)."""
        return self._generate(texts, texts, 1, {"num_beams": beams})

    def diverse(
        self, texts: Sequence[str], count: int = 4, diversity: float = 0.5, likeness: Sequence[str] | None = None
    ) -> list[list[str]]:
        """Return for each text at most ``count`` texts by diverse beam search, the likeliest first; some may be equal.

        Texts too long for the model, and outputs that do not end, are left out.

        Args:
            diversity: Penalty of a token for each earlier group that takes it (`HammingDiversity`).
            likeness: Texts from which to restore the case and spaces that a WordPiece tokenizer drops; by default
                ``texts``.
        """
        processor = HammingDiversity(count, diversity, self._ends)
        options = {"num_beams": 1, "logits_processor": LogitsProcessorList([processor])}
        return self._generate(texts, texts if likeness is None else likeness, count, options)

    @torch.inference_mode()
    def _generate(
        self, texts: Sequence[str], likeness: Sequence[str], copies: int, options: dict[str, Any]
    ) -> list[list[str]]:
        candidates: list[list[str]] = [[] for _ in texts]
        device = self.model.device
        for rows in self._batches(texts):
            inputs = self.tokenizer([texts[row] for row in rows], padding=True, return_tensors="pt").to(device)
            width = inputs["input_ids"].shape[1]
            with torch.autocast(device.type, torch.bfloat16, enabled=self.precision == "bf16"):
                generated = self.model.generate(
                    input_ids=inputs["input_ids"].repeat_interleave(copies, 0),
                    attention_mask=inputs["attention_mask"].repeat_interleave(copies, 0),
                    do_sample=False,
                    max_new_tokens=min(self.most_tokens - 1, int(_FACTOR * width) + _EXTRA_TOKENS),
                    **options,
                )
            for place, ids in enumerate(generated.cpu()):
                row = rows[place // copies]
                if torch.isin(ids[1:], self._ends).any():  # the start token may be an end token too
                    candidates[row].append(self._decoded(ids[1:], likeness[row]))
        return candidates

    @property
    def _ends(self) -> Tensor:
        return torch.tensor(self.model.generation_config.eos_token_id).reshape(-1)

    def _batches(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """Yield indices of texts of similar length, the longest first, without those that are too long."""
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
        pieces = tokenizer.convert_ids_to_tokens([number for number in ids.tolist() if number not in special])
        return restore(likeness, list(zip(encoding.tokens, encoding.offsets, strict=True)), pieces)


def _check_kind(name: str) -> None:
    folder = Path(name)
    if folder.is_dir() and not (folder / "config.json").is_file():
        raise FileNotFoundError(f"{name}: no model here (config.json is missing)")
    check_folder(name)
    try:
        config = AutoConfig.from_pretrained(name, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise OSError(f"{name}: {first_line(error)}") from error
    if type(config) not in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING:
        raise ValueError(f"{name}: a {config.model_type}, not a sequence-to-sequence model of the transformers library")


#: A token of the vocabulary and its (start, end) in the text.
Placed = tuple[str, tuple[int, int]]

_INNER = "##"
_BEGINS = re.compile(r"(?:^|[.?!])[\s\"'(]*$")
_CLOSES = tuple(".,;:?!)%]}'’")
_OPENS = tuple("($[{")


def restore(text: str, tokens: Sequence[Placed], pieces: Sequence[str]) -> str:
    """Join word pieces into a text, restoring from ``text`` the case and spaces that a tokenizer drops.

    Runs of pieces that both texts have keep case and spaces: "$1,200", "km/h", "120-page". A piece that moved keeps its
    case, except for a common word that began a sentence. New words are in lower case, and sentences begin with a
    capital if ``text`` does.

    Args:
        tokens: Tokens of ``text``.
    """
    places = _places([token for token, _ in tokens], pieces)
    capitals = bool(tokens) and text[tokens[0][1][0]].isupper()
    written = ""
    for at, token in enumerate(pieces):
        place, before = places[at], places[at - 1] if at else None
        if place is not None and before is not None and place == before + 1:
            gap = text[tokens[before][1][1] : tokens[place][1][0]]
        else:
            glued = not written or token.startswith(_INNER) or token in _CLOSES or written.endswith(_OPENS)
            gap = "" if glued else " "
        written += gap
        begins = _BEGINS.search(written[-4:]) is not None and (not written or gap != "")
        new = token.removeprefix(_INNER) if place is None else _as_written(text, tokens[place], begins)
        written += new[:1].upper() + new[1:] if begins and capitals else new
    return written


def _places(tokens: Sequence[str], pieces: Sequence[str]) -> list[int | None]:
    """Return the index of the token equal to each piece: in a common run, else next after the previous piece's, else
    the first one.
    """
    places: list[int | None] = [None] * len(pieces)
    for block in SequenceMatcher(None, tokens, pieces, autojunk=False).get_matching_blocks():
        for offset in range(block.size):
            places[block.b + offset] = block.a + offset
    first = {token: place for place, token in reversed(list(enumerate(tokens)))}
    for at, token in enumerate(pieces):
        if places[at] is None:
            following = (before + 1) if at and (before := places[at - 1]) is not None else len(tokens)
            places[at] = following if tokens[following : following + 1] == [token] else first.get(token)
    return places


def _as_written(text: str, token: Placed, begins: bool) -> str:
    start, end = token[1]
    word = text[start:end]
    was_first = _BEGINS.search(text[max(0, start - 4) : start]) is not None
    if was_first and not begins and word.istitle() and word.lower() in ENGLISH_STOP_WORDS and word != "I":
        return word.lower()
    return word
