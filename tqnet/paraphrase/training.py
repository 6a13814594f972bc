"""Training texts for paraphrases, redrawn in every epoch, and the choice of the best state (ParaQD)."""

from __future__ import annotations

import copy
import logging
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.nn import functional as F

from tqnet.config import ConfigError
from tqnet.libraries import precision
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.modeling.processor import TQNetProcessor
from tqnet.paraphrase.operators import Operator, first_that_applies
from tqnet.paraphrase.problem import NotApplicable, Problem
from tqnet.paraphrase.scorer import PairTexts
from tqnet.paraphrase.settings import SEPARATION, ParaphraseConfig
from tqnet.questions import Question, QuestionBank
from tqnet.questions.near_duplicates import folded_tokens
from tqnet.questions.paraphrase_pairs import ParaphrasePair, read_paraphrase_pairs
from tqnet.questions.table import hash64
from tqnet.training.data import Batch, Item, QuestionViews

log = logging.getLogger(__name__)


def english_questions(bank: QuestionBank, config: ParaphraseConfig) -> QuestionBank:
    """Return the questions to train on: those with a text, in English, and not in ``data.valid_pairs``.

    If the run sees fewer than all, they are drawn at random: a quarter more than its steps need, as some have no
    paraphrases.

    Raises:
        ConfigError: There are none.
    """
    from tqnet.paraphrase.check.text import is_english

    stems, languages = bank.column("stem"), bank.column("language")
    rows = [row for row, stem in enumerate(stems) if stem.strip() and is_english(stem, languages[row])]
    if left := len(bank) - len(rows):
        log.info("%d of %d questions are left out: without a text, or not in English", left, len(bank))
    if config.data.valid_pairs:
        judged = {_words_of(pair.original) for pair in read_paraphrase_pairs(config.data.valid_pairs)}
        english = len(rows)
        rows = [row for row in rows if _words_of(stems[row]) not in judged]
        if left := english - len(rows):
            log.info("%d questions are left out: they are in data.valid_pairs, which chooses the best state", left)
    if not rows:
        raise ConfigError(f"data.bank: {config.data.bank} has no training question in English")
    run = config.run
    seen = math.ceil(1.25 * run.max_steps * run.accumulate * run.batch_size) if run.max_steps else len(rows)
    count = min(len(rows), seen, config.questions or len(rows))
    drawn = np.random.default_rng(run.seed).permutation(len(rows))[:count]
    return bank.select(np.array(rows)[np.sort(drawn)])


def _words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text, equal for texts that differ only in case, spaces and punctuation."""
    return tuple(token for token in folded_tokens(text, fold_numbers=False) if any(map(str.isalnum, token)))


def as_questions(texts: Sequence[str]) -> list[Question]:
    """Wrap stems of a bank, or texts made from them, as questions; they hold no HTML, so "<" does not begin a tag."""
    return [Question(id="-", stem=text) for text in texts]


class Draws:
    """A question itself and one text of each kind, by an operator drawn among those that apply.

    Draws depend only on (seed, epoch, row), so that workers, processes and resumed runs agree.

    Args:
        kinds: The operators of each kind: positive ones, and negative ones if there are any.

    Attributes:
        rows: Indices of the problems that have a text of each kind, int64 [n]; all others are left out.
        reasons: Reason a question was left out -> count.
    """

    def __init__(self, problems: Sequence[Problem], kinds: Sequence[Sequence[Operator]], seed: int):
        self.kinds, self.seed = kinds, seed
        self.reasons: Counter[str] = Counter()
        rows = []
        for row, problem in enumerate(problems):
            try:
                self._draw(problem, seed, row)
                rows.append(row)
            except NotApplicable as reason:
                self.reasons[str(reason)] += 1
        self.rows = np.array(rows, dtype=int)
        self.problems = [problems[row] for row in rows]

    def __len__(self) -> int:
        return len(self.problems)

    def __call__(self, epoch: int, row: int) -> tuple[str, ...]:
        """Return the text of problem ``rows[row]`` and one text of each kind.

        If by chance no operator applies in this draw, return the texts drawn at construction.
        """
        try:
            return self._draw(self.problems[row], self.seed, epoch, row)
        except NotApplicable:
            return self._draw(self.problems[row], self.seed, int(self.rows[row]))

    def _draw(self, problem: Problem, *seeds: int) -> tuple[str, ...]:
        rng = np.random.default_rng(seeds)
        return (problem.text, *(first_that_applies(problem, operators, rng)[0] for operators in self.kinds))


class ParaphraseViews(QuestionViews):
    """The texts of each question in consecutive rows: itself, a positive, and a negative if there is one.

    ``bank`` holds the questions of ``draws``, in the same order. ``Batch.extras["content"]``, int64 [b], is equal for
    questions with the same text.
    """

    def __init__(self, bank: QuestionBank, processor: TQNetProcessor, draws: Draws, seed: int, workers: int = 0):
        super().__init__(bank, processor, seed, workers=workers, read_images=False)
        self.draws = draws

    def __getitem__(self, item: Item) -> tuple[Item, tuple[str, ...]]:  # type: ignore[override]
        epoch, row, _ = item
        return item, self.draws(epoch, row)

    def collate(self, rows: list[tuple[Item, tuple[str, ...]]]) -> Batch:  # type: ignore[override]
        """Return rows of :meth:`__getitem__` as a :class:`Batch` whose inputs have a row for each text."""
        texts = [text for _, row in rows for text in row]
        inputs = self.processor.pack(self.processor.tokenize(texts), [[]] * len(texts))
        content = torch.tensor([hash64(row[0]) - 2**63 for _, row in rows])
        return Batch(torch.tensor([row for (_, row, _), _ in rows]), [dict(inputs)], {"content": content})


class PseudoLabels(nn.Module):
    """Labels for a baseline's paraphrases by the encoder as it was before training (ParaQD, Appendix B):
    lambda(Q, Q') = 1 if cos(ENC(Q), ENC(Q')) > threshold else 0.

    Checkpoints must hold it: the encoder, and ``counts``, int64 [2], of pairs labelled negative and positive.
    """

    counts: Tensor

    def __init__(self, encoder: QuestionEncoder, threshold: float):
        super().__init__()
        self.encoder, self.threshold = copy.deepcopy(encoder).eval().requires_grad_(False), threshold
        self.register_buffer("counts", torch.zeros(2, dtype=torch.long))

    @torch.no_grad()
    def forward(self, accelerator: Accelerator, **batch: Tensor) -> Tensor:
        """Label a packed batch, each question followed by its paraphrase: bool [b], over the pairs of all processes."""
        vectors = F.normalize(self.encoder(**batch).embedding.float(), dim=-1)
        question, paraphrase = vectors.unflatten(0, (-1, 2)).unbind(1)
        valid = accelerator.gather((question * paraphrase).sum(1) > self.threshold)
        self.counts += torch.stack([(~valid).sum(), valid.sum()])
        return valid

    def summary(self) -> dict[str, float]:
        """Return the number of pairs of each label, and their shares in percent (Table 9)."""
        counts = dict(zip(("negative", "positive"), self.counts.tolist(), strict=True))
        total = max(1, sum(counts.values()))
        shares = {f"{label}_percent": round(100 * count / total, 2) for label, count in counts.items()}
        return {"threshold": self.threshold, **counts, **shares}


class ValidationSeparation:
    """mu_s = mu+ - mu-, means of the cosine over valid and invalid paraphrases (ParaQD, Section 4.4).

    NOTE: the paper calls the separation its primary metric, but does not say how a state is chosen.
    """

    def __init__(self, model: QuestionEncoder, pairs: Sequence[ParaphrasePair], precision: str):
        self.model, self.precision = model, precision
        self.pairs = [(pair.original, pair.paraphrase) for pair in pairs]
        self.texts = PairTexts.read(text for pair in self.pairs for text in pair)
        self.valid = np.array([bool(pair.label) for pair in pairs])

    @classmethod
    def of(cls, model: QuestionEncoder, path: str | None, chosen: str) -> ValidationSeparation | None:
        """Build it for the labelled pairs of the file ``data.valid_pairs``; None, with a log line, if no file is given.

        Raises:
            BankError: The file has faults.
            ConfigError: It lacks pairs of one label, or has a pair with an empty text.
        """
        if path is None:
            log.info("data.valid_pairs: not given, so the last state is kept, not the best")
            return None
        pairs = [pair for pair in read_paraphrase_pairs(path) if pair.label is not None]
        if len({pair.label for pair in pairs}) < 2:
            raise ConfigError(f"data.valid_pairs: {path} has no pairs of both labels, 1 and 0")
        try:
            return cls(model, pairs, precision(chosen))
        except ValueError as error:
            raise ConfigError(f"data.valid_pairs: {path}: {error}") from error

    def __call__(self) -> dict[str, float]:
        vectors = self.texts.encode(self.model, device=self.model.device, precision=self.precision)
        scores = vectors.cosines(self.pairs)
        positive, negative = float(scores[self.valid].mean()), float(scores[~self.valid].mean())
        return {SEPARATION: positive - negative, "valid/positive": positive, "valid/negative": negative}
