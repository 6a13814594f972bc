"""``tqnet rewrite`` and ``perturb``: paraphrases by models and by ParaQD's operators."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqnet.cli.groups import BANK, SPLITS, EncodingOptions, LanguageModelOptions, ReadingOptions, SeedOptions
from tqnet.cli.options import Command, argument, count, naming, number, option, output_file, switch, write_lines
from tqnet.paraphrase import TEST, TRAINING

if TYPE_CHECKING:
    import numpy as np

    from tqnet.paraphrase.operators import Operator
    from tqnet.paraphrase.operators import Rewrite as Rewriter
    from tqnet.paraphrase.problem import Parser, Problem
    from tqnet.paraphrase.rewrites import RewritesFile, Rewriting
    from tqnet.paraphrase.seq2seq import Seq2Seq

#: Number of texts rewritten at a time; they are written to disk before the next ones start.
_WINDOW = 256


def _english_texts(questions: Iterable[tuple[str, str, str | None]], where: str) -> dict[str, str]:
    """Return distinct English text -> id of the first question with it, and say how many are left out.

    Args:
        questions: Text, id and, where known, language of each.
        where: Name of the source for the ValueError if there are none.
    """
    from tqnet.paraphrase.check.text import is_english

    candidates = [question for question in questions if question[0].strip()]
    english = [(text, name) for text, name, language in candidates if is_english(text, language)]
    if left := len(candidates) - len(english):
        print(f"tqnet: {left:,} of {len(candidates):,} questions left out: not in English", file=sys.stderr)
    if not english:
        raise ValueError(f"{where}: no question with an English text")
    texts: dict[str, str] = {}
    for text, name in english:
        texts.setdefault(text, name)
    return texts


@dataclass(frozen=True, kw_only=True)
class Rewrite(Command, SeedOptions, LanguageModelOptions, ReadingOptions, EncodingOptions, name="rewrite"):
    """Rewrite a bank's questions with models, for training a paraphrase scorer.

    ParaQD's model operators: back-translation (f1), lossy-paraphrase (f9), reconstruction (f_b), paraphrase (f_e).
    Several operators may share a file; the same command resumes a stopped run. A model of pretrain/rewriter.py does
    reconstruction, and can stand in for the others.
    """

    bank: str = argument(BANK, metavar="BANK")
    operator: str = option(
        "operator of ParaQD",
        required=True,
        choices=("back-translation", "lossy-paraphrase", "reconstruction", "paraphrase"),
    )
    model: Sequence[str] = option(
        "sequence-to-sequence model of the transformers library; for back-translation two, forward and backward "
        "(facebook/wmt19-en-de facebook/wmt19-de-en)",
        required=True,
        nargs="+",
        metavar="NAME_OR_DIR",
    )
    out: str = option("a .jsonl file; extended if it exists", required=True, metavar="FILE")
    split: str | None = option("only questions of this split", choices=SPLITS)
    limit: int | None = count("only the first N questions", metavar="N")
    candidates: int = count("maximum number of rewritings of a question", default=4)
    diversity: float = option("how strongly the rewritings of a question repel each other", default=0.5, type=number(0))
    beams: int = count("number of beams of the forward translation", default=5)
    prefix: str = option('prefix that a paraphrase model expects ("paraphrase: ")', default="", metavar="TEXT")

    def run(self) -> None:
        from tqnet.paraphrase.rewrites import RewritesFile
        from tqnet.paraphrase.settings import check_installed

        out = output_file(self.out)
        texts = self._texts()
        models = self._models()
        check_installed(self.language_model)
        parser = self.english_parser()
        restores = models[0].is_rewriter
        stand_in = restores and self.operator != "reconstruction"
        file = RewritesFile(out, self.operator, stand_in, self._fingerprint())
        if stand_in:
            print(f"stand-in: {self.model[0]} restores questions; it stands in for a model of {self.operator}")
        counts = _rewrite(texts, self._rewriting(models, parser), parser, file, restores)
        print(_summary(counts, len(texts), file))

    def _texts(self) -> list[str]:
        """Return the distinct stems, as ``finetune/paraphrase.py`` looks them up; print how many are too long."""
        from tqnet.paraphrase.problem import LONGEST, TOO_LONG

        bank = self.load(self.bank)
        if self.split:
            bank = bank.split(self.split)
        questions = zip(bank.column("stem"), bank.ids, bank.column("language"), strict=True)
        where = self.bank + (f", split {self.split}" if self.split else "")
        stems = _english_texts(islice(questions, self.limit), where)
        texts = [text for text in stems if len(text) <= LONGEST]
        if left := len(stems) - len(texts):
            print(f"{left:,} of {len(stems):,} texts left out: {TOO_LONG}")
        if not texts:
            raise ValueError(f"{where}: no question with an English text")
        return texts

    def _models(self) -> list[Seq2Seq]:
        """Load the models of the operator; ValueError if their number or kind is wrong."""
        from tqnet.paraphrase.seq2seq import Seq2Seq

        needed = 2 if self.operator == "back-translation" else 1
        if len(self.model) > needed:
            raise ValueError(f"--model: {self.operator} takes {needed}, not {len(self.model)}")
        settings: dict[str, Any] = {"batch_size": self.batch_size, "precision": self.chosen_precision}
        models = [Seq2Seq.from_pretrained(name, self.device, **settings) for name in self.model]
        if needed == 2 and len(models) == 1 and not models[0].is_rewriter:
            raise ValueError(
                f"--model: {self.operator} takes two models, forward and backward; only a model of "
                f"pretrain/rewriter.py can stand in for both, which {self.model[0]} is not"
            )
        if self.prefix and models[0].is_rewriter:
            raise ValueError(f"--prefix: {self.model[0]} restores questions and takes no prefix")
        return models

    def _fingerprint(self) -> str:
        """Return a hash of the models and all settings that their results depend on, as 16 hex digits."""
        from tqnet.files import content_digest
        from tqnet.questions.table import hash64

        models = [content_digest(Path(name)) if Path(name).is_dir() else name for name in self.model]
        settings = (models, self.candidates, self.diversity, self.beams, self.prefix, self.seed)
        return f"{hash64(repr(settings)):016x}"

    def _rewriting(self, models: Sequence[Seq2Seq], parser: Parser) -> Rewriting:
        import numpy as np

        from tqnet.paraphrase.rewrites import DAMAGES, Settings, back_translate, say_otherwise
        from tqnet.questions.table import hash64

        def shown(text: str) -> str:
            if not restores:
                return self.prefix + text
            # Depends only on seed, operator and text, so that a resumed run draws the same.
            rng = np.random.default_rng([self.seed, hash64(f"{self.operator}\n{text}")])
            return DAMAGES[self.operator](parser(text), rng)

        settings = Settings(self.candidates, self.diversity, self.beams)
        if len(models) == 2:
            return partial(back_translate, forward=models[0], backward=models[1], settings=settings)
        (model,) = models
        restores = model.is_rewriter or self.operator == "reconstruction"
        return partial(say_otherwise, model=model, shown=shown, settings=settings)


def _rewrite(
    texts: Sequence[str], rewriting: Rewriting, parser: Parser, file: RewritesFile, restores: bool
) -> Counter[str]:
    """Add missing rewritings to the file; count the kept ones, and the dropped ones by the part that they lost.

    NOTE: the paper trains on everything its models make (f1), and had its test questions labelled by hand (f_b).
    """
    from tqdm import tqdm

    from tqnet.paraphrase.check.compare import Explainer, losses
    from tqnet.paraphrase.rewrites import MODEL_OPERATORS

    counts: Counter[str] = Counter()
    is_positive = (TRAINING | TEST)[MODEL_OPERATORS[file.operator]] == "positive"
    explainer = Explainer(parser)
    left = [text for text in texts if text not in file.done]
    with tqdm(total=len(texts), initial=len(texts) - len(left), unit=" texts", desc=file.operator) as progress:
        for start in range(0, len(left), _WINDOW):
            window = left[start : start + _WINDOW]
            if is_positive or restores:
                parser.parse(window)  # in one go; the parser keeps the results
            rewritten = list(zip(window, rewriting(window), strict=True))
            if is_positive:
                pairs = [(text, candidate) for text, candidates in rewritten for candidate in candidates]
                lost = dict(zip(pairs, losses(explainer, pairs, in_order=restores), strict=True))
                counts.update(part for pair in pairs if (part := lost[pair]))
                rewritten = [
                    (text, [new for new in candidates if not lost[text, new]]) for text, candidates in rewritten
                ]
            counts["kept"] += sum(len(kept) for _, kept in rewritten)
            counts["without"] += sum(not kept for _, kept in rewritten)
            file.add(rewritten)
            progress.update(len(window))
    return counts


def _summary(counts: Counter[str], texts: int, file: RewritesFile) -> str:
    from tqnet.paraphrase import Part

    lost = [f"{part} {counts[part]:,}" for part in Part if counts[part]]
    dropped = f", dropped for what they lost or changed: {', '.join(lost)}" if lost else ""
    without = f" ({counts['without']:,} of them now without rewritings)" if counts["without"] else ""
    kept = f"{file.operator}: {counts['kept']:,} rewritings kept{dropped}"
    return f"{kept}; {texts:,} texts done{without}: {file.path}"


_SETS = {"training": TRAINING, "test": TEST}


@dataclass(frozen=True, kw_only=True)
class Perturb(Command, SeedOptions, LanguageModelOptions, ReadingOptions, EncodingOptions, name="perturb"):
    """Make labelled paraphrases of questions, valid and invalid, to evaluate a paraphrase scorer.

    For each question, one text that asks the same thing and one that does not, by ParaQD operators drawn among those
    that apply: f1 back-translation, f2 same sentence, f3 numbers to words, f4 unit expansion; f5 phrase deletion, f6
    last sentence deletion, f7 entity replacement, f8 number deletion, f9 lossy paraphrase, f10 unit replacement; for
    test sets f_a active to passive, f_b reconstruction; f_c replacement of heavy words, f_d random deletion, f_e
    paraphrase.
    The labels are the paper's.
    """

    bank: str = argument("a bank: " + BANK, metavar="QUESTIONS")
    pairs: bool = switch("QUESTIONS is a file of pairs; take their originals")
    operators: Sequence[str] = option(
        "symbols such as f3 f8; training: f1 to f10; test: f_a to f_e",
        default=("training",),
        nargs="+",
        choices=(*_SETS, *TRAINING, *TEST),
        metavar="NAME",
    )
    every: bool = switch("one text per applicable operator, instead of one per label")
    rewrites: str | None = option("file of tqnet rewrite, for f1, f9, f_b and f_e", metavar="FILE")
    encoder: str = option("encoder that finds important phrases (f5)", default="encoder:minilm", metavar="SOURCE")
    out: str = option("a .jsonl file of pairs with labels", required=True, metavar="FILE")

    def run(self) -> None:
        import numpy as np

        from tqnet.paraphrase.settings import check_installed
        from tqnet.questions.table import hash64

        out = output_file(self.out)
        if out.suffix != ".jsonl":
            raise ValueError(f"--out: {out} does not end in .jsonl")
        texts = self._texts()
        check_installed(self.language_model)
        problems = self.english_parser(size=len(texts)).parse(list(texts))
        operators = self._operators(problems)
        lines, counts, without = [], Counter[str](), Counter[str]()
        reasons: dict[str, str] = {}
        for problem in problems:
            rng = np.random.default_rng([self.seed, hash64(problem.text)])  # independent of other questions
            made, lacking = _paraphrases(problem, operators, self.every, rng)
            without.update(lacking.keys())
            reasons = reasons or lacking
            for operator, text in made:
                counts[operator.symbol] += 1
                label, name = int(operator.label == "positive"), f"{texts[problem.text]}-{operator.symbol}"
                pair = {"id": name, "original": problem.text, "paraphrase": text, "label": label}
                lines.append(json.dumps(pair | {"operator": operator.symbol}, ensure_ascii=False))
        if not lines:
            why = "; ".join(reasons.values())
            raise ValueError(f"{self.bank}: no operator applies to any question; not to the first because {why}")
        write_lines(out, lines)
        summary = ", ".join(f"{operator.symbol} {counts[operator.symbol]:,}" for operator in operators)
        print(f"{len(lines):,} pairs of {len(problems):,} questions ({summary}): {out}")
        for reason, times in sorted(without.items()):
            print(f"{times:,} without a {reason}")

    def _texts(self) -> dict[str, str]:
        from tqnet.questions.paraphrase_pairs import read_paraphrase_pairs

        if self.pairs:
            return _english_texts(
                ((pair.original, pair.id, None) for pair in read_paraphrase_pairs(self.bank)), self.bank
            )
        bank = self.load(self.bank)
        return _english_texts(zip(bank.column("stem"), bank.ids, bank.column("language"), strict=True), self.bank)

    def _operators(self, problems: Sequence[Problem]) -> list[Operator]:
        """Return the operators of ``--operators``, and print which lack their rewritings; ValueError if all do."""
        from tqnet.paraphrase.operators import operators
        from tqnet.paraphrase.rewrites import MODEL_OPERATORS, Rewrites
        from tqnet.paraphrase.tokens import WordWeights, replace_heavy_words

        symbols = list(dict.fromkeys(symbol for name in self.operators for symbol in _SETS.get(name, (name,))))
        given: dict[str, Rewriter] = {}
        if self.rewrites:
            with naming("--rewrites"):
                rewrites = Rewrites(self.rewrites)
            given |= {symbol: draw for name, symbol in MODEL_OPERATORS.items() if (draw := rewrites.operator(name))}
        if "f_c" in symbols:
            weights = WordWeights.fit([problem.text for problem in problems])
            given["f_c"] = partial(replace_heavy_words, weights=weights)
        if "f5" in symbols:
            given["f5"] = self._phrase_deletion(problems)
        known = operators(symbols, given)
        available = {operator.symbol for operator in known}
        if lacking := [symbol for symbol in symbols if symbol not in available]:
            source = f"{self.rewrites} has no rewritings by them" if self.rewrites else "--rewrites: not given"
            print(f"left out: {', '.join(lacking)}; {source}")
        if not known:
            raise ValueError("--operators: no operator is left")
        return known

    def _phrase_deletion(self, problems: Sequence[Problem]) -> Rewriter:
        """Return f5, with the phrases of all questions encoded in advance."""
        from tqnet.evaluation.sources import open_source
        from tqnet.paraphrase.negatives import NO_PHRASES, without_important_phrases
        from tqnet.paraphrase.rewrites import LookUp
        from tqnet.paraphrase.training import as_questions

        model = open_source(self.encoder)

        def encode(texts: Sequence[str]) -> np.ndarray:
            return model.encode(as_questions(texts), **self.settings)

        return LookUp(dict(without_important_phrases(problems, encode, shows_progress=True)), NO_PHRASES)


def _paraphrases(
    problem: Problem, operators: Sequence[Operator], every: bool, rng: np.random.Generator
) -> tuple[list[tuple[Operator, str]], dict[str, str]]:
    """Return operators with their texts, one per label or per operator, and missing text -> reason."""
    from tqnet.paraphrase.operators import first_that_applies, select
    from tqnet.paraphrase.problem import NotApplicable

    by_label = [(label, select(operators, label)) for label in ("positive", "negative")]
    choices = [(f"text by {operator.symbol}", [operator]) for operator in operators] if every else by_label
    made: list[tuple[Operator, str]] = []
    lacking: dict[str, str] = {}
    for name, candidates in choices:
        if not candidates:
            continue
        try:
            text, symbol = first_that_applies(problem, candidates, rng)
        except NotApplicable as reasons:
            lacking[name] = str(reasons)
        else:
            made.append((next(operator for operator in candidates if operator.symbol == symbol), text))
    return made, lacking
