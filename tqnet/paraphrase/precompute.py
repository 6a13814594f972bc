"""The operators of a run of finetune/paraphrase.py, and the texts that models make for some of them before training.

Texts made by a model are cached for later runs that would make the same; needs the extra ``paraphrase``.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from accelerate import Accelerator
from filelock import FileLock
from spacy.util import get_package_version
from torch import Tensor, nn
from tqdm import tqdm
from transformers import AutoModelForMaskedLM, AutoTokenizer, PreTrainedTokenizerBase

from tqnet.cache import cache_folder
from tqnet.config import ConfigError
from tqnet.libraries import precision
from tqnet.modeling.build import load_model
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.heads import MaskedTokenHead
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.pretrained import check_folder
from tqnet.paraphrase.negatives import NO_PHRASES, without_important_phrases
from tqnet.paraphrase.operators import Operator, Rewrite, operators, select
from tqnet.paraphrase.problem import DEFAULT_MODEL, Parser, Problem
from tqnet.paraphrase.rewrites import MODEL_OPERATORS, LookUp, Rewrites
from tqnet.paraphrase.settings import ParaphraseConfig
from tqnet.paraphrase.tokens import LightWords, WordWeights, mask_and_refill, replace_heavy_words
from tqnet.paraphrase.training import as_questions
from tqnet.questions import QuestionBank
from tqnet.questions.table import hash64
from tqnet.text.vocabulary import spell
from tqnet.training.checkpoint import checkpoints, read_checkpoint
from tqnet.version import __version__

log = logging.getLogger(__name__)

#: Problems -> the text of each, and the texts that a model makes from it.
Make = Callable[[Sequence[Problem]], Iterable[tuple[str, list[str]]]]


def made_of_each(problems: Sequence[Problem], make: Make, model: nn.Module, decides: object) -> dict[str, list[str]]:
    """Return the results of ``make`` for every text, computing only those not cached.

    Results are written to disk as they come, so that a killed run loses few. A run waits for another one that makes
    texts with the same model.

    Args:
        decides: Everything, apart from the text and the weights of ``model``, that the results depend on; for JSON.
    """
    folder = cache_folder() / "made"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{_digest(model, decides)}.jsonl"
    with FileLock(f"{file}.lock"):
        made = _read(file)
        missing = [problem for problem in problems if problem.text not in made]
        if len(missing) < len(problems):
            log.info("%d of %d texts were made before: %s", len(problems) - len(missing), len(problems), file)
        with file.open("a", encoding="utf-8") as stream:
            for text, results in make(missing):
                made[text] = results
                # The newline comes first, so that an unfinished line of a killed run does not spoil the next one.
                stream.write("\n" + json.dumps([text, results], ensure_ascii=False))
                stream.flush()
    return {problem.text: made[problem.text] for problem in problems}


def _digest(model: nn.Module, decides: object) -> str:
    digest = hashlib.blake2b(json.dumps([__version__, decides], sort_keys=True).encode(), digest_size=16)
    for name, weights in sorted(model.state_dict().items()):
        digest.update(name.encode() + weights.detach().float().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _read(file: Path) -> dict[str, list[str]]:
    made = {}
    for line in file.read_text(encoding="utf-8").split("\n") if file.is_file() else ():
        try:
            text, results = json.loads(line)
        except ValueError:  # unfinished, or the empty first one
            continue
        made[text] = results
    return made


def parse(bank: QuestionBank, parser: str | None, shows_progress: bool) -> list[Problem]:
    """Return the stems as the operators see them.

    Raises:
        ConfigError: There is no such spaCy model.
    """
    try:
        loaded = Parser(parser or DEFAULT_MODEL, size=len(bank))
    except OSError as error:
        raise ConfigError(f"parser: {parser or DEFAULT_MODEL}: {error}") from error
    return loaded.parse(bank.column("stem"), shows_progress)


def _given_rewrites(path: str | None, symbols: Iterable[str], stems: Sequence[str]) -> dict[str, Rewrite]:
    """Return symbol -> operator that reads ``data.rewrites``, for the model operators among ``symbols``.

    Log which operators are left out, and how many questions the others have rewritings of.
    """
    wanted = {symbol: name for name, symbol in MODEL_OPERATORS.items() if symbol in symbols}
    rewrites = Rewrites(path) if path else None
    given = {symbol: draw for symbol, name in wanted.items() if rewrites and (draw := rewrites.operator(name))}
    if lacking := [f"{name} ({symbol})" for symbol, name in wanted.items() if symbol not in given]:
        source = f"data.rewrites: {path} has no rewritings by them" if path else "data.rewrites: not given"
        log.warning("left out: %s; %s", ", ".join(lacking), source)
    if rewrites:
        for symbol, name in wanted.items():
            log.info("%s: rewritings of %d of %d questions", symbol, rewrites.count(name, stems), len(stems))
        if stand_ins := [name for name in wanted.values() if rewrites.is_stand_in(name)]:
            log.warning("by a stand-in, not by a model of the paper's kind: %s", ", ".join(stand_ins))
    return dict(given)


def operators_of(
    config: ParaphraseConfig,
    bank: QuestionBank,
    problems: Sequence[Problem],
    model: QuestionEncoder,
    accelerator: Accelerator,
) -> list[list[Operator]]:
    """Return the operators of each kind of text: ParaQD's positive and negative ones, or a baseline's positive ones.

    Raises:
        ConfigError: No positive or no negative operator is left.
    """
    texts, stems, dtype = [problem.text for problem in problems], bank.column("stem"), precision(config.run.precision)

    def encode(texts: Sequence[str]) -> np.ndarray:
        return model.encode(as_questions(texts), precision=dtype)

    def made(make: Callable[..., Any], by: nn.Module, *decides: object) -> dict[str, list[str]]:
        with accelerator.main_process_first():  # the others read what it made
            return made_of_each(problems, partial(make, shows_progress=accelerator.is_main_process), by, decides)

    if config.method == "ssmba":
        try:
            masked = load_masked_lm(str(config.masked_model), accelerator.device)
        except (OSError, ValueError) as error:
            raise ConfigError(f"masked_model: {error}") from error
        drawn: dict[str, Any] = {"share": config.share, "count": config.refills, "seed": config.run.seed}
        refills = made(partial(refilled, model=masked, **drawn), masked.model, "ssmba", drawn, masked.reading)
        lacking = "the masked language model guessed all words"
        return [[Operator("ssmba", "positive", LookUp(refills, lacking))]]
    if config.method == "uda":
        light = LightWords(WordWeights.fit(texts), config.share)
        translated = operators(["f1"], _given_rewrites(config.data.rewrites, ["f1"], stems))
        return [[Operator("uda", "positive", light), *translated]]

    given = _given_rewrites(config.data.rewrites, config.operators, stems)
    if "f5" in config.operators:
        spacy_model = config.parser or DEFAULT_MODEL
        by = [*(f"{name} {version(name)}" for name in ("spacy", "pytextrank")), spacy_model]
        reading = [get_package_version(spacy_model), asdict(config.model), model.processor.max_length, dtype]
        phrases = made(partial(without_important_phrases, encode=encode), model, "f5", by, reading)
        given["f5"] = LookUp(phrases, NO_PHRASES)
    if "f_c" in config.operators:
        given["f_c"] = partial(replace_heavy_words, weights=WordWeights.fit(texts))
    chosen = [operator for operator in operators(given=given) if operator.symbol in config.operators]
    kinds = [select(chosen, label) for label in ("positive", "negative")]
    if not all(kinds):
        lacking = "negative" if kinds[0] else "positive"
        raise ConfigError(f"operators: of {', '.join(config.operators)}, no {lacking} is left")
    return kinds


#: Maximum number of guesses for a gap; less likely words are hardly ever right.
GUESSES = 50
#: Number of texts whose gaps are filled at once: every token has a logit for every word.
_FILLED = 16


class Guesses(NamedTuple):
    """Words that may fill a gap, the most likely first, and their probabilities [k], which sum to 1."""

    words: tuple[str, ...]
    probability: np.ndarray


class MaskedLM:
    """Texts with gaps -> whole words that may fill them.

    Args:
        model: Module that holds all weights.
        logits: ``input_ids`` and ``attention_mask`` [b, t] -> logits [b, t, vocabulary].
        length: Maximum number of tokens of a text; longer texts are cut.
        spelt: Spell out formulas before tokenizing (`tqnet.text.vocabulary`).

    Attributes:
        gap: Mark of a gap.
        reading: Everything that decides how a text is read, for JSON.
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
        """Return the guesses for the gaps of each text, in order; gaps beyond ``length`` tokens are left out."""
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
    """Load a masked language model by its name on the hub, its folder, or the folder of a run of pretrain/mlm.py.

    Such a run keeps the head in its checkpoints; its ``model/`` is the encoder alone.

    Raises:
        FileNotFoundError: The folder does not exist or holds no model.
        ValueError: The model has no head for masked tokens.
        OSError: There is no such model, or it cannot be fetched.
    """
    path = Path(name)
    if (path / "checkpoints").is_dir():
        return _from_run(path, device)
    check_folder(name)
    if path.name == "model" and (path.parent / "checkpoints").is_dir():
        raise ValueError(f"{name}: an encoder without its head; the folder of the run, {path.parent}, has both")
    model, report = AutoModelForMaskedLM.from_pretrained(
        name, dtype=torch.float32, output_loading_info=True, trust_remote_code=False
    )
    if report["missing_keys"]:
        raise ValueError(f"{name}: has no head for masked tokens ({min(report['missing_keys'])} is missing)")
    tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    if tokenizer.mask_token is None:
        raise ValueError(f"{name}: its tokenizer has no mask token")
    model.to(device).eval()

    def logits(ids: Tensor, mask: Tensor) -> Tensor:
        output: Tensor = model(input_ids=ids, attention_mask=mask).logits
        return output

    length = min(getattr(model.config, "max_position_embeddings", 512), tokenizer.model_max_length)
    return MaskedLM(tokenizer, model, logits, length)


def _from_run(run: Path, device: torch.device) -> MaskedLM:
    encoder = load_model(run / "model")
    states = checkpoints(run / "checkpoints")
    trained = read_checkpoint(states[-1])["trained"] if states else {}
    weights = {key.removeprefix("head."): value for key, value in trained.items() if key.startswith("head.")}
    head = MaskedTokenHead(encoder.config.hidden_size, encoder.get_input_embeddings())
    if not isinstance(encoder, TQNetModel) or weights.keys() != head.state_dict().keys():
        raise ValueError(f"{run}: not a run of pretrain/mlm.py with its head (in checkpoints/)")
    head.load_state_dict(weights)
    text, processor = encoder.text, encoder.processor
    model = nn.ModuleList([text, head]).to(device).eval()

    def logits(ids: Tensor, mask: Tensor) -> Tensor:
        hidden = text(input_ids=ids, attention_mask=mask).last_hidden_state
        output: Tensor = head(hidden, text.get_input_embeddings().weight)
        return output

    return MaskedLM(processor.tokenizer, model, logits, processor.max_length, processor.spell_formulas)


def _whole_words(tokenizer: PreTrainedTokenizerBase) -> list[str]:
    """Return for each token id the word it stands for; empty for a word piece, a mark or a special token."""
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
    """Yield each text with ``count`` versions that have a share of its words redrawn (SSMBA), minus unchanged ones."""
    # Sorted by length, for little padding. The draws for a text do not depend on the texts around it.
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
