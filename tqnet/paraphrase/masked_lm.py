"""A masked language model that guesses what stands in a text's gaps: one of transformers, or of pretrain/mlm.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm
from transformers import AutoModelForMaskedLM, AutoTokenizer, PreTrainedTokenizerBase

from tqnet.modeling.build import load_model
from tqnet.modeling.heads import MaskedTokenHead
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.pretrained import check_folder
from tqnet.paraphrase.problem import Problem
from tqnet.paraphrase.tokens import mask_and_refill
from tqnet.questions.table import hash64
from tqnet.text.vocabulary import spell

#: Guesses of a gap that are told apart; all others together are hardly ever right.
GUESSES = 50
#: Texts whose gaps are filled at once: every token of each has a logit for every word.
_FILLED = 16


class Guesses(NamedTuple):
    """Words that may stand in a gap, the most likely first, and their probabilities [k], which sum to 1."""

    words: tuple[str, ...]
    probability: np.ndarray


class MaskedLM:
    """Texts with gaps -> whole words that may stand in them.

    Args:
        model: Has all the weights.
        logits: ``input_ids`` and ``attention_mask`` [b, t] -> logits [b, t, vocabulary].
        length: Tokens of a text that are read.
        spelt: Formulas are spelt out before tokenising (`tqnet.text.vocabulary`).

    Attributes:
        gap: What marks a gap.
        reading: All that decides how a text is read, for JSON.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        model: nn.Module,
        logits: Callable[[Tensor, Tensor], Tensor],
        length: int,
        spelt: bool = False,
    ):
        self.tokenizer, self.model, self.logits, self.length, self.spelt = tokenizer, model, logits, length, spelt
        self.gap = str(tokenizer.mask_token)
        self.reading = [sorted(tokenizer.get_vocab().items()), length, spelt]
        self._device = next(model.parameters()).device
        self._words = _whole_words(tokenizer)
        self._no_word = torch.tensor([not word for word in self._words], device=self._device)

    @torch.inference_mode()
    def __call__(self, texts: Sequence[str]) -> list[list[Guesses]]:
        """Return for each text the guesses of its gaps, in order; gaps beyond ``length`` tokens have none."""
        if self.spelt:  # formulas have no gaps; "$" before two of them would be taken for one
            texts = [self.gap.join(map(spell, text.split(self.gap))) for text in texts]
        packed = self.tokenizer(
            list(texts), padding=True, truncation=True, max_length=self.length, return_tensors="pt"
        ).to(self._device)
        gaps = packed["input_ids"] == self.tokenizer.mask_token_id
        logits = self.logits(packed["input_ids"], packed["attention_mask"])[gaps].float()
        most = min(GUESSES, int((~self._no_word).sum()))
        top = logits.masked_fill(self._no_word, float("-inf")).topk(most, dim=1)
        guesses = (
            Guesses(tuple(self._words[number] for number in row), probability)
            for row, probability in zip(top.indices.tolist(), top.values.double().softmax(1).cpu().numpy(), strict=True)
        )
        return [[next(guesses) for _ in range(int(count))] for count in gaps.sum(1)]


def load_masked_lm(name: str, device: torch.device) -> MaskedLM:
    """Load a masked language model by its name on the hub or its folder; or by the folder of a run of pretrain/mlm.py.

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
    tokenizer = AutoTokenizer.from_pretrained(name)
    if tokenizer.mask_token is None:
        raise ValueError(f"{name}: its tokenizer has no mask token")
    model.to(device).eval()

    def logits(ids: Tensor, mask: Tensor) -> Tensor:
        output: Tensor = model(input_ids=ids, attention_mask=mask).logits
        return output

    length = min(getattr(model.config, "max_position_embeddings", 512), tokenizer.model_max_length)
    return MaskedLM(tokenizer, model, logits, length)


def _of_a_run(run: Path, device: torch.device) -> MaskedLM:
    encoder = load_model(run / "model")
    states = sorted((run / "checkpoints").glob("step-*.pt"))
    # A file of our own: it holds generators' states, which are no tensors.
    trained = torch.load(states[-1], map_location="cpu", weights_only=False)["trained"] if states else {}
    weights = {key.removeprefix("head."): value for key, value in trained.items() if key.startswith("head.")}
    head = MaskedTokenHead(encoder.config.hidden_size, encoder.get_input_embeddings().num_embeddings)
    if not isinstance(encoder, TQNetModel) or weights.keys() != head.state_dict().keys():
        raise ValueError(f"{run}: no run of pretrain/mlm.py that has kept its head (in checkpoints/)")
    head.load_state_dict(weights)
    text, processor = encoder.text, encoder.processor
    model = nn.ModuleList([text, head]).to(device).eval()

    def logits(ids: Tensor, mask: Tensor) -> Tensor:
        hidden = text(input_ids=ids, attention_mask=mask).last_hidden_state
        output: Tensor = head(hidden, text.get_input_embeddings().weight)
        return output

    return MaskedLM(processor.tokenizer, model, logits, processor.max_length, processor.spell_formulas)


def _whole_words(tokenizer: PreTrainedTokenizerBase) -> list[str]:
    """Return token number -> the word that it is; empty for a piece, a mark or a special token."""
    tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    special = set(tokenizer.all_special_tokens)
    begins = next((sign for sign in ("Ġ", "▁") if any(token.startswith(sign) for token in tokens)), "")
    words = [token.removeprefix(begins) if token.startswith(begins) else "" for token in tokens]
    return [
        word if word.isascii() and word.isalnum() and token not in special else ""
        for word, token in zip(words, tokens, strict=True)
    ]


def refilled(
    problems: Sequence[Problem], model: MaskedLM, share: float, count: int, seed: int, shows_progress: bool = False
) -> Iterator[tuple[str, list[str]]]:
    """Yield each text, and ``count`` with a share of its words drawn anew (SSMBA), as far as they differ from it."""
    # Of like length together: little is padded. What a text draws does not depend on the texts around it.
    texts = sorted((problem.text for problem in problems), key=len)
    with tqdm(total=len(texts), unit=" questions", desc="refill", disable=not shows_progress) as progress:
        for start in range(0, len(texts), _FILLED):
            part = texts[start : start + _FILLED]
            rounds = []
            for number in range(count):
                generators = [np.random.default_rng([seed, number, hash64(text)]) for text in part]
                rounds.append(mask_and_refill(part, model, model.gap, share, generators))
            for text, others in zip(part, zip(*rounds, strict=True), strict=True):
                yield text, [other for other in others if other != text]
            progress.update(len(part))
