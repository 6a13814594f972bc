r"""Formulas spelt for a tokenizer, and the tokens that it lacks: LaTeX commands, formula capitals, characters.

``$\displaystyle 2x^{2}=\dfrac{AB}{3}$`` is spelt ``2 x ^ 2 = \frac { 𝐴 𝐵 } { 3 }``: one space between tokens, no
typography, case kept. An English word piece tokenizer would otherwise read ``2x`` and ``AB`` as words and, if it
lowercases, confuse ``AB`` and ``ab``. Capitals become the mathematical italic letters of Unicode, which no normalizer
folds and which the vocabulary has as separate tokens.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from tqnet.parallel import over_cores
from tqnet.text.formulas import formula_tokens, segments

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import nn
    from transformers import BertTokenizer, PreTrainedTokenizerBase

_LOOKS = r"""
    \displaystyle \textstyle \scriptstyle \limits \nolimits \left \right \rm \bf \it
    \big \Big \bigg \Bigg \bigl \bigr \Bigl \Bigr \, \; \: \> \! \quad \qquad
"""
#: Commands that only change how a formula looks.
TYPOGRAPHIC = frozenset(_LOOKS.split()) | {"\\ "}

#: Version of `spell`: raise it when texts are spelt otherwise.
SPELLING = 2

#: Commands that mean the same as another one.
SYNONYMS = {r"\dfrac": r"\frac", r"\tfrac": r"\frac", r"\cfrac": r"\frac", r"\le": r"\leq", r"\ge": r"\geq"}
SYNONYMS |= {r"\lt": "<", r"\gt": ">", r"\ne": r"\neq", r"\to": r"\rightarrow", r"\dbinom": r"\binom"}

_WORDS = re.compile(r"\\(?:text(?:bf|it|rm|sf)?|mathrm|mathbf|operatorname\*?|mbox|hbox)\s*\{([^{}]*)\}")

#: Braces that a script of one token does not need: x^{2} is x^2.
_SCRIPT = re.compile(r"([\^_]) \{ (\S+) \}")

#: A .. Z -> U+1D434 .. U+1D44D (mathematical italic capitals).
CAPITALS = {letter: chr(0x1D434 + i) for i, letter in enumerate(string.ascii_uppercase)}


@lru_cache(maxsize=2**14)
def spell_formula(formula: str) -> str:
    """Spell a formula, without delimiters, as tokens separated by single spaces (cached: formulas recur)."""
    spelt = []
    for token in formula_tokens(formula):
        if token in TYPOGRAPHIC:
            continue
        if words := _WORDS.fullmatch(token):
            spelt += _spell_words(token, words[1].strip())
        else:
            spelt.append(CAPITALS.get(token) or SYNONYMS.get(token, token))
    return _SCRIPT.sub(r"\1 \2", " ".join(spelt))


def _spell_words(token: str, words: str) -> list[str]:
    r"""Return words unchanged, except for the capitals of ``\mathbf{A}`` and ``\mathrm{ABC}``: formula letters."""
    if token.startswith(r"\math") and set(words) <= CAPITALS.keys():
        return [CAPITALS[letter] for letter in words]
    return [words]


def spell(text: str) -> str:
    """Spell every formula of ``text`` and drop its delimiters; prose stays as it is."""
    if "$" not in text and "\\" not in text:
        return text
    return "".join(
        f" {spell_formula(segment.body)} " if segment.is_formula else segment.body for segment in segments(text)
    )


_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_DIGITS = str.maketrans(_SUPERSCRIPTS, "0123456789")
_RAISED = re.compile(f"[{_SUPERSCRIPTS}]+")


class _Folded(dict[int, str]):
    """Character -> its plain form, computed on first use."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        # Mathematical letters and one-character units, but not punctuation or double-struck letters such as ℝ.
        if 0x1D400 <= code <= 0x1D7FF or 0x3371 <= code <= 0x33DF or character in "℃℉":
            pieces = unicodedata.decomposition(character).split()[1:]
            character = "".join(chr(int(piece, 16)) for piece in pieces) or character
        self[code] = character
        return character


_WIDE = (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))
_FOLDED = _Folded({code: chr(code - 0xFEE0) for code in (*_WIDE, *map(ord, "＝＋－＜＞／％"))})


def fold(text: str) -> str:
    """Replace full-width and mathematical letters, one-character units (``℃``) and raised digits by plain ones."""
    return text if text.isascii() else _RAISED.sub(_raised, text.translate(_FOLDED))


def _raised(match: re.Match[str]) -> str:
    digits = match[0].translate(_DIGITS)
    return f"^{digits}" if len(digits) == 1 else f"^{{{digits}}}"


class Legible(dict[int, str]):
    """Makes texts legible for a tokenizer: folds them, and separates characters that would make their word unknown.

    A word piece tokenizer reads a word with one unknown character as one unknown token, losing all of ``∠A=90``. Maps
    each character to its written form, computed on first use.

    Args:
        backend: Tokenizer with its final vocabulary.
    """

    def __init__(self, backend: Tokenizer):
        unknown = getattr(backend.model, "unk_token", None)
        self._backend, self._unknown = backend, None if unknown is None else [backend.token_to_id(unknown)]

    def __call__(self, text: str) -> str:
        return text if text.isascii() else fold(text).translate(self)

    def __missing__(self, code: int) -> str:
        character = chr(code)
        encoding = self._backend.encode(f"a{character}", add_special_tokens=False)
        ids = encoding.ids[: sum(encoding.attention_mask)]  # without padding
        self[code] = f" {character} " if code > 127 and ids == self._unknown else character
        return self[code]


_CHINESE = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


def is_chinese(text: str) -> bool:
    """Return whether any character is Chinese."""
    return _CHINESE.search(text) is not None


def continuing_pieces(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Return the ids of the pieces that continue a word.

    WordPiece marks them. SentencePiece and byte pairs mark the pieces that begin a word: those that continue it are
    letters without that mark, but not Chinese characters, each of which is a word.
    """
    added, pieces = tokenizer.get_added_vocab(), tokenizer.get_vocab()
    if prefix := getattr(tokenizer.backend_tokenizer.model, "continuing_subword_prefix", None):
        return [number for piece, number in pieces.items() if piece.startswith(prefix)]
    byte_level = any(piece.startswith("Ġ") for piece in pieces)  # there, non-ASCII characters stand for bytes
    return [
        number
        for piece, number in pieces.items()
        if piece[:1].isalpha()
        and piece not in added
        and not (is_chinese(piece) or (byte_level and not piece.isascii()))
    ]


#: Maximum number of texts to learn a vocabulary from, evenly sampled.
MOST_TEXTS = 200_000

_COMMAND = re.compile(r"\\[A-Za-z]+")


def learn_tokens(
    texts: Iterable[str], tokenizer: PreTrainedTokenizerBase, min_count: int = 20, max_tokens: int = 4000
) -> list[str]:
    """Return tokens that occur at least ``min_count`` times in ``texts`` and that ``tokenizer`` cannot hold whole.

    Formula capitals come first, whatever their count; then LaTeX commands and characters that would become the unknown
    token, most frequent first, ties in alphabetical order.
    """
    commands: Counter[str] = Counter()
    characters: Counter[str] = Counter()
    for some_commands, some_characters in over_cores(_count_symbols, texts):
        commands.update(some_commands)
        characters.update(some_characters)
    ids = tokenizer(list(characters), add_special_tokens=False)["input_ids"] if characters else []
    unknown = {character for character, pieces in zip(characters, ids, strict=True) if tokenizer.unk_token_id in pieces}
    lacking = Counter({character: n for character, n in characters.items() if character in unknown})
    known = tokenizer.get_vocab()
    counted = Counter({c: n for c, n in (commands + lacking).items() if n >= min_count and c not in known})
    ranked = sorted(counted, key=lambda token: (-counted[token], token))
    # Formulas are spelt with these capitals whatever the bank, so none may stay unknown.
    capitals = [c for c in CAPITALS.values() if c not in known]
    return capitals + [token for token in ranked if token not in capitals][:max_tokens]


def _count_symbols(texts: list[str]) -> tuple[Counter[str], Counter[str]]:
    """Count LaTeX commands and non-ASCII characters."""
    spelt = [spell(fold(text)) for text in texts]
    commands = Counter(command for text in spelt for command in _COMMAND.findall(text))
    return commands, Counter(character for text in spelt for character in text if ord(character) > 127)


def sample_of(texts: Sequence[str], most: int = MOST_TEXTS) -> Sequence[str]:
    """Return about ``most`` of the texts, evenly spread: a vocabulary or a language needs no more."""
    return texts if len(texts) <= most else texts[:: len(texts) // most]


def add_tokens(tokenizer: PreTrainedTokenizerBase, tokens: Iterable[str]) -> int:
    r"""Add ``tokens`` so that case folding and word pieces cannot split them; return how many were new.

    ``normalized=False``: a lowercasing tokenizer would merge ``\Delta`` into ``\delta``.
    ``single_word``: ``\in`` must not match the head of ``\infty``.
    """
    from transformers import AddedToken

    added = [AddedToken(t, normalized=False, single_word=t.startswith("\\")) for t in tokens]
    return tokenizer.add_tokens(added)


def start_embeddings(embedding: nn.Embedding, tokenizer: PreTrainedTokenizerBase, tokens: Iterable[str]) -> None:
    r"""Initialize the rows of new ``tokens`` in ``embedding`` (already resized) with the mean of their pieces.

    A command is read without its backslash and a formula capital as the plain letter, as the tokenizer
    splits them without the added tokens. A character with no known piece starts at the mean of the
    vocabulary plus noise of its spread, seeded by its row, so that two such characters differ.
    """
    import torch
    from tokenizers import Tokenizer

    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    plain_letter = {italic: letter for letter, italic in CAPITALS.items()}
    tokens = list(tokens)
    known = tokenizer.get_vocab()
    rows = [known[token] for token in tokens]
    weight = embedding.weight.detach()  # shares memory with the parameter
    old = weight[: min(rows)].float() if rows else weight
    mean, spread = old.mean(0), old.std(0)
    for token, row in zip(tokens, rows, strict=True):
        text = plain_letter.get(token, token.removeprefix("\\"))
        pieces = backend.encode(text, add_special_tokens=False).ids if text != token else []
        pieces = [piece for piece in pieces if piece != tokenizer.unk_token_id and piece != row]
        if pieces:
            start = weight[pieces].float().mean(0)
        else:
            noise = torch.randn(old.shape[1], generator=torch.Generator().manual_seed(row))
            start = mean + spread * noise
        weight[row] = start.to(weight)


def learn_wordpiece(texts: Iterable[str], vocab_size: int = 8000, min_count: int = 2) -> BertTokenizer:
    """Learn a cased WordPiece tokenizer from ``texts``: Chinese by character, formulas spelt out.

    For languages and subjects without a pretrained encoder; the text encoder then starts from random weights.
    """
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
    from transformers import BertTokenizer

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=False)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    counts: Counter[str] = Counter()
    for words in over_cores(_count_words, texts, shared=backend):
        counts.update(words)
    # The trainer numbers these in the order it meets them, which changes from run to run.
    inner = sorted({f"##{character}" for word in counts for character in word[1:]})
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size, min_frequency=min_count, special_tokens=special + inner, show_progress=False
    )
    backend.train_from_iterator(counts.elements(), trainer)
    vocabulary = backend.get_vocab()
    # `vocab=`: with `vocab_file=`, transformers 5 silently gives a vocabulary of five tokens.
    return BertTokenizer(vocab=vocabulary, do_lower_case=False, model_max_length=512)


def _count_words(backend: Tokenizer, texts: list[str]) -> Counter[str]:
    spelt = (backend.normalizer.normalize_str(spell(fold(text))) for text in texts)
    return Counter(word for text in spelt for word, _ in backend.pre_tokenizer.pre_tokenize_str(text))
