"""A solver of word problems: a text encoder, a tree decoder and an alphabet of equation tokens."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from tqdm import tqdm

from tqnet.modeling.build import load_model, readable
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.interchange import SOLVER
from tqnet.modeling.processor import QuestionLike, as_question
from tqnet.solver.beams import beam_search
from tqnet.solver.decoder import Source, TreeBatch, TreeDecoder
from tqnet.solver.problems import Alphabet, named, values_of
from tqnet.text.equations import EquationError, Prefix, evaluate, number
from tqnet.text.numbers import NUMBER_TOKENS
from tqnet.text.vocabulary import add_tokens, start_embeddings

_WEIGHTS, _SHAPE = "solver.safetensors", str(SOLVER.mark)
#: Hypotheses per problem (mwp-cl, Section 5.1), and maximum number of tokens of an equation.
BEAMS, MOST_TOKENS = 3, 45


@dataclass(frozen=True)
class Solution:
    """A solver's equation for a problem.

    Attributes:
        numbers: Values of the text's numbers, n1 first.
        equation: The equation in prefix order; empty if the text has no number.
        value: The equation's value, if any.
        probability: The solver's probability of the value: the sum over all equations of the beam that have it.
        fault: Reason why there is no value.
    """

    numbers: tuple[Fraction, ...]
    equation: Prefix = ()
    value: Fraction | None = None
    probability: float = 0.0
    fault: str | None = None


class WordProblemSolver(nn.Module):
    """Maps texts to equation trees (mwp-cl, BERT-TD); its folder also loads as a plain encoder.

    The state of [CLS] is the root's goal. Numbers become special tokens (`tqnet.text.numbers`), whose states represent
    them in the decoder.

    Args:
        encoder: A TQ-Net; only its text stream is trained, and its processor is set to mark numbers.
        dropout: Dropout of the decoder.

    Raises:
        ValueError: The encoder has no text stream.
    """

    def __init__(self, encoder: QuestionEncoder, alphabet: Alphabet, dropout: float = 0.5):
        super().__init__()
        if not hasattr(encoder, "text"):
            raise ValueError(f"a {encoder.config.model_type} has no text stream to make a solver of")
        _read_numbers_as_tokens(encoder)
        for name, weight in encoder.named_parameters():
            if not name.startswith("text."):
                weight.requires_grad_(False)
        self.encoder, self.alphabet, self.dropout = encoder, alphabet, dropout
        self.decoder = TreeDecoder(encoder.config.hidden_size, len(alphabet.constants), dropout)
        known = encoder.processor.tokenizer.get_vocab()
        self.number_ids: Tensor
        self.register_buffer("number_ids", torch.tensor([known[token] for token in NUMBER_TOKENS]), persistent=False)

    @property
    def cells_per_image(self) -> int:
        """Visual tokens per figure."""
        return 0

    def read(self, input_ids: Tensor, attention_mask: Tensor, **_: Any) -> Source:
        """Encode a packed batch [b, t] for the decoder."""
        mask = attention_mask.bool()
        text: Any = self.encoder.text
        hidden = text(input_ids=input_ids, attention_mask=None if bool(mask.all()) else mask).last_hidden_state
        return self.decoder.read(hidden, mask, self.number_places(input_ids))

    def number_places(self, input_ids: Tensor) -> Tensor:
        """Return token positions [b, q] of each text's first numbers, padded with -1."""
        most = self.alphabet.most
        is_number = torch.isin(input_ids, self.number_ids)
        order = torch.where(is_number, is_number.cumsum(1) - 1, most).clamp(max=most)
        places = input_ids.new_full((len(input_ids), most + 1), -1)
        places.scatter_(1, order, torch.arange(input_ids.shape[1]).to(order).expand_as(order))
        return places[:, : min(int(is_number.sum(1).max()), most)]

    def forward(self, equal: Tensor, trees: TreeBatch, **inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Score gold trees as in :meth:`TreeDecoder.forward`, but with log-probabilities [b] of whole trees."""
        source = self.read(**inputs)
        width = source.candidates.shape[1]
        nodes, goals, subtrees = self.decoder(source, trees, equal[:, :width])
        return nodes.new_zeros(len(source.root)).index_add(0, trees.problem, nodes), goals, subtrees

    def equal_numbers(self, values: Sequence[Sequence[Fraction]]) -> Tensor:
        """Return numbers [b, k], equal for candidates of equal value; k as for the problem with the most numbers."""
        fixed = [number(token) for token in self.alphabet.constants]
        operators = len(self.alphabet.fixed) - len(fixed)
        width = len(self.alphabet.fixed) + max(map(len, values), default=0)
        rows = []
        for numbers in values:
            first: dict[Fraction, int] = {}
            row = list(range(operators))
            row += [first.setdefault(value, place) for place, value in enumerate([*fixed, *numbers], start=operators)]
            rows.append(row + list(range(len(row), width)))
        return torch.tensor(rows)

    @torch.inference_mode()
    def solve(
        self,
        questions: Sequence[QuestionLike],
        beams: int = BEAMS,
        batch_size: int = 64,
        most_tokens: int = MOST_TOKENS,
        precision: str = "fp32",
        show_progress: bool = False,
    ) -> list[Solution]:
        """Find each problem's most probable value and an equation of it, or say why there is none.

        NOTE: the paper takes the beam's most likely equation. Here those that divide by zero are skipped, and equations
        of one value, such as n1 + n2 and n2 + n1, support one another.
        """
        texts = [as_question(question).content for question in questions]
        was_training, device = self.training, self.number_ids.device
        self.eval()
        solutions: dict[int, Solution] = {}
        processor = self.encoder.processor
        ids = processor.tokenize(texts)
        processor.forget_cuts()
        order = sorted(range(len(texts)), key=lambda place: len(ids[place]), reverse=True)
        with tqdm(total=len(texts), desc="solve", unit=" problems", disable=None if show_progress else True) as bar:
            for start in range(0, len(order), batch_size):
                rows = order[start : start + batch_size]
                packed = processor.pack_text([ids[row] for row in rows])
                batch = {name: values.to(device) for name, values in packed.items()}
                with torch.autocast(str(device.type), torch.bfloat16, enabled=precision == "bf16"):
                    beam = beam_search(self.decoder, self.read(**batch), beams, most_tokens)
                for row, *hypotheses in zip(rows, *(values.tolist() for values in beam), strict=True):
                    solutions[row] = self._best(tuple(values_of(texts[row]))[: self.alphabet.most], *hypotheses)
                bar.update(len(rows))
        self.train(was_training)
        return [solutions[row] for row in range(len(texts))]

    def _best(
        self, values: tuple[Fraction, ...], tokens: list[list[int]], lengths: list[int], scores: list[float]
    ) -> Solution:
        if not values:
            return Solution(values, fault="the text has no number")
        by_value: dict[Fraction, Solution] = {}
        faults: list[Solution] = []
        for row, length, score in zip(tokens, lengths, scores, strict=True):
            if score == float("-inf"):
                continue
            equation = tuple(self.alphabet.token(place) for place in row[:length])
            probability = float(torch.tensor(score).exp())
            try:
                value = evaluate(equation, named(values))
            except EquationError as error:
                faults.append(Solution(values, equation, None, probability, str(error)))
                continue
            likelier = by_value.setdefault(value, Solution(values, equation, value))
            by_value[value] = dataclasses.replace(likelier, probability=likelier.probability + probability)
        if by_value:
            return max(by_value.values(), key=lambda solution: solution.probability)
        return faults[0] if faults else Solution(values, fault="its numbers lie beyond the model's maximum length")

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write encoder, processor and decoder."""
        folder = Path(folder)
        self.encoder.save_pretrained(folder)
        save_file({name: weight.contiguous() for name, weight in self.decoder.state_dict().items()}, folder / _WEIGHTS)
        shape = {"dropout": self.dropout, **dataclasses.asdict(self.alphabet)}
        (folder / _SHAPE).write_text(json.dumps(shape, indent=2) + "\n", encoding="utf-8")


def load_solver(folder: str | os.PathLike[str], encoder: QuestionEncoder | None = None) -> WordProblemSolver:
    """Load a saved solver in ``eval`` mode.

    Args:
        encoder: The folder's encoder, if it is already loaded.

    Raises:
        FileNotFoundError: No solver in the folder.
        ValueError: Weights or description are damaged.
    """
    folder = Path(folder)
    if not ((folder / _SHAPE).is_file() and (folder / _WEIGHTS).is_file()):
        raise FileNotFoundError(f"{folder}: no solver here; finetune/solver.py makes one, in RUN/model")
    with readable(folder / _SHAPE):
        shape = json.loads((folder / _SHAPE).read_text(encoding="utf-8"))
        alphabet, dropout = Alphabet(tuple(shape["constants"]), shape["most"]), float(shape["dropout"])
    solver = WordProblemSolver(encoder or load_model(folder), alphabet, dropout)
    try:
        solver.decoder.load_state_dict(load_file(folder / _WEIGHTS))
    except (SafetensorError, RuntimeError) as error:
        raise ValueError(f"{folder / _WEIGHTS}: its weights cannot be read: {error}") from error
    return solver.eval()


def _read_numbers_as_tokens(encoder: QuestionEncoder) -> None:
    """Add number tokens to the encoder, unless it has them."""
    processor = encoder.processor
    if processor.mark_numbers:
        return
    add_tokens(processor.tokenizer, NUMBER_TOKENS)
    encoder.resize_token_embeddings(len(processor.tokenizer), mean_resizing=False)
    start_embeddings(encoder.get_input_embeddings(), processor.tokenizer, NUMBER_TOKENS)
    processor.mark_numbers = True
