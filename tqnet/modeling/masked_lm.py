"""A masked language model that guesses what stands in a text's gaps: one of transformers, or of pretrain/mlm.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from tqnet.modeling.build import load_model
from tqnet.modeling.heads import MaskedTokenHead
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.pretrained import check_folder
from tqnet.text.spelling import spell

#: Guesses of a gap that are told apart; all others together are hardly ever right.
GUESSES = 50


class Guesses(NamedTuple):
    """Words that may stand in a gap, the most likely first.

    Attributes:
        probability: [k], of them alone: they sum to 1.
    """

    words: tuple[str, ...]
    probability: np.ndarray


class MaskedLM:
    """Texts with gaps -> whole words that may stand in them.

    Attributes:
        gap: What marks a gap.
        reading: All that decides how a text is read, for JSON.

    Args:
        logits: A module that gives logits [b, t, vocabulary] for ``input_ids`` and ``attention_mask`` [b, t].
        length: Tokens of a text that are read.
        spelt: Whether formulas are spelt out before tokenising (`tqnet.text.spelling`).
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        logits: nn.Module,
        length: int,
        device: torch.device,
        spelt: bool = False,
    ):
        self.gap = str(tokenizer.mask_token)
        self.tokenizer, self.logits, self.length, self.device, self.spelt = tokenizer, logits, length, device, spelt
        self.reading = [sorted(tokenizer.get_vocab().items()), length, spelt]
        self._words = _whole_words(tokenizer)
        self._no_word = torch.tensor([not word for word in self._words], device=device)

    @torch.inference_mode()
    def __call__(self, texts: Sequence[str]) -> list[list[Guesses]]:
        """For each text those of its gaps, in order; gaps beyond ``length`` tokens have none."""
        read = [self._spelt(text) for text in texts] if self.spelt else list(texts)
        packed = self.tokenizer(read, padding=True, truncation=True, max_length=self.length, return_tensors="pt")
        ids, mask = packed["input_ids"].to(self.device), packed["attention_mask"].to(self.device)
        gaps = ids == self.tokenizer.mask_token_id
        logits = self.logits(ids, mask)[gaps].float().masked_fill(self._no_word, float("-inf"))
        top = logits.topk(min(GUESSES, int((~self._no_word).sum())), dim=1)
        found = iter(self._guesses(top.indices.cpu(), top.values.double().softmax(1).cpu()))
        return [[next(found) for _ in range(int(count))] for count in gaps.sum(1)]

    def _spelt(self, text: str) -> str:
        """Formulas have no gaps; "$" before two of them would be taken for one."""
        return self.gap.join(map(spell, text.split(self.gap)))

    def _guesses(self, indices: Tensor, probabilities: Tensor) -> Iterator[Guesses]:
        for row, probability in zip(indices.tolist(), probabilities.numpy(), strict=True):
            yield Guesses(tuple(self._words[number] for number in row), probability)


def load_masked_lm(name: str, device: torch.device) -> MaskedLM:
    """A masked language model by its name on the hub or its folder; or the folder of a run of pretrain/mlm.py.

    Such a run keeps its head in its checkpoints, beside ``model/``, which is the encoder alone.

    Raises:
        FileNotFoundError: A folder that is not there, or has no model.
        ValueError: The model has no head for masked tokens.
        OSError: There is no such model, or it cannot be fetched.
    """
    path = Path(name)
    if (path / "checkpoints").is_dir():
        return _of_a_run(path, device)
    check_folder(name)
    if path.name == "model" and (path.parent / "checkpoints").is_dir():
        raise ValueError(f"{name}: an encoder without its head; the folder of the run, {path.parent}, has both")
    model, report = AutoModelForMaskedLM.from_pretrained(name, dtype=torch.float32, output_loading_info=True)
    if report["missing_keys"]:
        raise ValueError(f"{name}: has no head for masked tokens ({min(report['missing_keys'])} is missing)")
    model.to(device).eval()
    positions = getattr(model.config, "max_position_embeddings", 512)
    tokenizer = AutoTokenizer.from_pretrained(name)
    if tokenizer.mask_token is None:
        raise ValueError(f"{name}: its tokenizer has no mask token")
    length = min(positions, tokenizer.model_max_length)
    return MaskedLM(tokenizer, _OfTransformers(model), length, device)


def _of_a_run(run: Path, device: torch.device) -> MaskedLM:
    encoder = load_model(run / "model")
    states = sorted((run / "checkpoints").glob("step-*.pt"))
    # A file of our own: it holds generators' states, which are no tensors.
    trained = torch.load(states[-1], map_location="cpu", weights_only=False)["trained"] if states else {}
    kept = {key.removeprefix("head."): value for key, value in trained.items() if key.startswith("head.")}
    head = MaskedTokenHead(encoder.config.hidden_size, encoder.get_input_embeddings().num_embeddings)
    if not isinstance(encoder, TQNetModel) or kept.keys() != head.state_dict().keys():
        raise ValueError(f"{run}: no run of pretrain/mlm.py that has kept its head (in checkpoints/)")
    head.load_state_dict(kept)
    head.to(device).eval()
    logits, processor = _OfARun(encoder.text.to(device).eval(), head), encoder.processor
    return MaskedLM(processor.tokenizer, logits, processor.max_length, device, processor.spell_formulas)


class _OfTransformers(nn.Module):
    def __init__(self, model: PreTrainedModel):
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        logits: Tensor = self.model(input_ids=ids, attention_mask=mask).logits
        return logits


class _OfARun(nn.Module):
    def __init__(self, text: PreTrainedModel, head: MaskedTokenHead):
        super().__init__()
        self.text, self.head = text, head

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        hidden = self.text(input_ids=ids, attention_mask=mask).last_hidden_state
        logits: Tensor = self.head(hidden, self.text.get_input_embeddings().weight)
        return logits


def _whole_words(tokenizer: PreTrainedTokenizerBase) -> list[str]:
    """Token number -> the word that it is; empty where it is a piece, a mark or a special token."""
    tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    special = set(tokenizer.all_special_tokens)
    begins = next((sign for sign in ("Ġ", "▁") if any(token.startswith(sign) for token in tokens)), "")
    words = [token.removeprefix(begins) if token.startswith(begins) else "" for token in tokens]
    return [
        word if word.isascii() and word.isalnum() and token not in special else ""
        for word, token in zip(words, tokens, strict=True)
    ]
