from __future__ import annotations

import string
from collections.abc import Callable

import pytest
from transformers import BertTokenizer

WORDS = ["the", "area", "of", "a", "find", "del", "##ta", "in", "##f", "##ty", "fra", "##c", "par", "##allel", "sq"]


@pytest.fixture
def make_tokenizer() -> Callable[[], BertTokenizer]:
    """An English word piece tokenizer that folds case and knows no Chinese, as MiniLM's does."""

    def make() -> BertTokenizer:
        pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *string.ascii_lowercase, *string.digits]
        pieces += [f"##{letter}" for letter in string.ascii_lowercase + string.digits]
        pieces += [*string.punctuation, *WORDS]
        return BertTokenizer(vocab={piece: i for i, piece in enumerate(dict.fromkeys(pieces))}, do_lower_case=True)

    return make


@pytest.fixture
def tokenizer(make_tokenizer: Callable[[], BertTokenizer]) -> BertTokenizer:
    return make_tokenizer()
