"""ParaQD's operators that are models: back-translation (f1), lossy paraphrase (f9, f_e), reconstruction (f_b)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from tqnet.modeling.build import load_model
from tqnet.modeling.heads import MaskedTokenHead
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.pretrained import check_folder
from tqnet.paraphrase.negatives import without_phrases
from tqnet.paraphrase.operators import Rewrite
from tqnet.paraphrase.problem import NotApplicable, Problem
from tqnet.paraphrase.rewrites import farthest_first, joined
from tqnet.paraphrase.seq2seq import Seq2Seq
from tqnet.paraphrase.spans import sentences
from tqnet.paraphrase.test_operators import corrupt, delete_words
from tqnet.text.vocabulary import spell


class Rewriting(Protocol):
    """What all of them do."""

    def __call__(self, texts: Sequence[str]) -> list[list[str]]:
        """Of each text its candidates, the farthest by edit distance first, never the text itself."""


@dataclass(frozen=True)
class Settings:
    """How candidates are searched.

    Attributes:
        candidates: Of a text, by diverse beam search.
        diversity: How strongly they keep away from each other (`tqnet.paraphrase.seq2seq`).
        beams: Of the first translation.
    """

    candidates: int = 4
    diversity: float = 0.5
    beams: int = 5


@dataclass(frozen=True)
class BackTranslator:
    """Sentence by sentence into another language by beam search, and back by diverse beam search (f1, A.1).

    Args:
        there, back: A translation pair: English to German and German to English in the paper (FSMT, WMT'19).

    NOTE: The paper keeps one candidate, that of the farthest sentences. It comes first here; behind it come those of
    the second farthest sentences, and so on. A sentence that cannot be translated stays as it is.
    """

    there: Seq2Seq
    back: Seq2Seq
    settings: Settings = Settings()

    def __call__(self, texts: Sequence[str]) -> list[list[str]]:
        spans = [sentences(text) for text in texts]
        parts = [[text[slice(*span)] for span in own] for text, own in zip(texts, spans, strict=True)]
        rewritten = self._rewritten(list(dict.fromkeys(part for own in parts for part in own)))
        return [
            farthest_first(text, joined(_gaps(text, own), [rewritten[part] for part in of])) if of else []
            for text, own, of in zip(texts, spans, parts, strict=True)
        ]

    def _rewritten(self, parts: Sequence[str]) -> dict[str, list[str]]:
        """Sentence -> what it became, the farthest first; at least itself."""
        translations = self.there.best(parts, self.settings.beams)
        translated = [part for part, of in zip(parts, translations, strict=True) if of]
        foreign = [of[0] for of in translations if of]
        candidates = self.back.diverse(foreign, self.settings.candidates, self.settings.diversity)
        found = {part: farthest_first(part, of) for part, of in zip(translated, candidates, strict=True)}
        return {part: found.get(part) or [part] for part in parts}


@dataclass(frozen=True)
class Paraphraser:
    """A model that says a whole text in other words, well or badly (f9: Pegasus on PAWS; f_e: T5 on Quora's questions).

    Args:
        prefix: What the model was trained to see before a text ("paraphrase: ").
    """

    model: Seq2Seq
    settings: Settings = Settings()
    prefix: str = ""

    def __call__(self, texts: Sequence[str]) -> list[list[str]]:
        prefixed = [self.prefix + text for text in texts]
        candidates = self.model.diverse(prefixed, self.settings.candidates, self.settings.diversity, likeness=texts)
        return [farthest_first(text, of) for text, of in zip(texts, candidates, strict=True)]


@dataclass(frozen=True)
class Restorer:
    """What a model makes of a text that was damaged before (f_b).

    Args:
        model: Trained to restore texts (``pretrain/rewriter.py``).
        damage: A text -> what the model gets to see of it; raises NotApplicable.
    """

    model: Seq2Seq
    damage: Callable[[str], str]
    settings: Settings = Settings()

    def __call__(self, texts: Sequence[str]) -> list[list[str]]:
        damaged = {}
        for text in dict.fromkeys(texts):
            try:
                damaged[text] = self.damage(text)
            except NotApplicable:
                continue
        known = list(damaged)
        candidates = self.model.diverse(
            list(damaged.values()), self.settings.candidates, self.settings.diversity, likeness=known
        )
        found = {text: farthest_first(text, of) for text, of in zip(known, candidates, strict=True)}
        return [found.get(text, []) for text in texts]


def _gaps(text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """What stands before each span and behind the last."""
    starts = [start for start, _ in spans] + [len(text)]
    ends = [0] + [end for _, end in spans]
    return [text[end:start] for end, start in zip(ends, starts, strict=True)]


# A masked language model that guesses what stands in a text's gaps: one of transformers, or of pretrain/mlm.py.


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
        spelt: Whether formulas are spelt out before tokenising (`tqnet.text.vocabulary`).
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


# What a model that restores texts is shown of them: it paraphrases (f_b), or rounds off what is no longer there.


#: Of the words; half of what the model learnt to restore, where its result is to ask the same.
_LIGHTLY = 0.08
#: Of the words of a text without phrases.
_HEAVILY = 0.3


def leave_out(problem: Problem, rng: np.random.Generator) -> str:
    """The text without one of its key phrases; where it has none, without some of its words.

    Raises:
        NotApplicable: It is no longer than a word.
    """
    try:
        texts = without_phrases(problem)
    except NotApplicable:
        return delete_words(problem, rng, _HEAVILY)
    return texts[rng.integers(len(texts))]


#: Operator -> what a model that restores is shown in order to do its work.
#:
#: NOTE: only reconstruction is ParaQD's own use of such a model (f_b); in the others it is a stand-in. The paper's
#: models lose information by themselves; here it is lost before the model makes a sentence of the rest.
DAMAGES: dict[str, Rewrite] = {
    "back-translation": partial(corrupt, share=_LIGHTLY),
    "lossy-paraphrase": leave_out,
    "reconstruction": corrupt,
    "paraphrase": leave_out,
}
