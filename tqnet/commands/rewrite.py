"""``tqnet rewrite``: what models make of a bank's questions, as a file of rewritings."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tqnet.commands.encode import add_error_arguments, add_model_arguments, read_bank
from tqnet.commands.english import add_language_model_argument, english_parser, english_texts
from tqnet.commands.options import number, whole_number
from tqnet.commands.results import output_file

if TYPE_CHECKING:
    from tqnet.cli import Subparsers
    from tqnet.paraphrase.check.explain import Explainer
    from tqnet.paraphrase.problem import Parser
    from tqnet.paraphrase.rewrites import RewritesFile
    from tqnet.paraphrase.rewriting import Rewriting
    from tqnet.paraphrase.seq2seq import Seq2Seq

#: Texts that are on the disk before the next ones are rewritten.
_WINDOW = 256


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "rewrite",
        help="rewrite a bank's questions by models, for training a paraphrase scorer",
        description="ParaQD's operators that are models: back-translation (f1), lossy-paraphrase (f9), reconstruction "
        "(f_b), paraphrase (f_e). Runs of several operators may share a file; a run that was stopped goes on by the "
        "same command. A model of pretrain/rewriter.py reconstructs, and stands in for the others.",
    )
    parser.add_argument("bank", metavar="BANK", help="a .jsonl or .parquet file, or a folder with questions.*")
    parser.add_argument(
        "--operator",
        required=True,
        choices=("back-translation", "lossy-paraphrase", "reconstruction", "paraphrase"),
    )
    parser.add_argument(
        "--model",
        required=True,
        nargs="+",
        metavar="NAME",
        help="a sequence-to-sequence model of the transformers library, a folder or a name on the hub; for "
        "back-translation two, there and back (facebook/wmt19-en-de facebook/wmt19-de-en)",
    )
    parser.add_argument("--out", required=True, metavar="FILE", help="a .jsonl file; added to if it exists")
    parser.add_argument("--split", choices=("train", "valid", "test"), help="questions of that split alone")
    parser.add_argument("--limit", type=whole_number(1), metavar="N", help="the first N questions alone")
    parser.add_argument("--candidates", type=whole_number(1), default=4, help="rewritings of a question, at most (4)")
    parser.add_argument("--diversity", type=number(0), default=0.5, help="how far they keep from each other (0.5)")
    parser.add_argument("--beams", type=whole_number(1), default=5, help="of the first translation (5)")
    parser.add_argument(
        "--prefix", default="", metavar="TEXT", help='what a paraphraser expects first ("paraphrase: ")'
    )
    parser.add_argument("--seed", type=whole_number(0), default=0, help="of what is drawn before a model restores (0)")
    add_language_model_argument(parser)
    add_model_arguments(parser)
    add_error_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tqnet.libraries import quiet
    from tqnet.paraphrase.rewrites import RewritesFile
    from tqnet.paraphrase.settings import check_installed

    quiet()
    out = output_file(args.out)
    texts = _texts(args)
    models = _models(args)
    check_installed(args.language_model)
    parser = english_parser(args)
    stand_in = models[0].is_rewriter and args.operator != "reconstruction"
    file = RewritesFile(out, args.operator, stand_in, _made_by(args))
    if stand_in:
        print(f"stand-in: {args.model[0]} restores questions; it stands in for a model of {args.operator}")
    counts = _rewrite(texts, _rewriting(args, models, parser), parser, file, restores=models[0].is_rewriter)
    print(_summary(counts, len(texts), file))
    return 0


def _texts(args: argparse.Namespace) -> list[str]:
    """The distinct stems of the questions that are asked for: what ``finetune/paraphrase.py`` looks up.

    What is not in English, or too long to be a question, is left out, which a line says.

    Raises:
        ValueError: There are none.
    """
    from tqnet.paraphrase.problem import LONGEST, TOO_LONG

    bank = read_bank(args)
    if args.split:
        bank = bank.split(args.split)
    questions = zip(bank.column("stem"), bank.ids, bank.column("language"), strict=True)
    stems = english_texts(islice(questions, args.limit))
    texts = [text for text in stems if len(text) <= LONGEST]
    if left := len(stems) - len(texts):
        print(f"{left:,} of {len(stems):,} texts are left out: {TOO_LONG}")
    if not texts:
        where = f" in split {args.split!r}" if args.split else ""
        raise ValueError(f"{args.bank}: no question with an English text{where}")
    return texts


def _models(args: argparse.Namespace) -> list[Seq2Seq]:
    """Those that the operator needs.

    Raises:
        ValueError: They are too many or too few, or not of the kind.
    """
    from tqnet.libraries import precision
    from tqnet.paraphrase.seq2seq import Seq2Seq

    most = 2 if args.operator == "back-translation" else 1
    if len(args.model) > most:
        raise ValueError(f"--model: {args.operator} takes {most}, not {len(args.model)}")
    options = {"batch_size": args.batch_size, "precision": precision(args.precision, args.device)}
    models = [Seq2Seq.from_pretrained(name, args.device, **options) for name in args.model]
    if most == 2 and len(models) == 1 and not models[0].is_rewriter:
        raise ValueError(
            f"--model: {args.operator} takes two models, there and back; alone, a model of pretrain/rewriter.py can "
            f"stand in for them, which {args.model[0]} is not"
        )
    if args.prefix and models[0].is_rewriter:
        raise ValueError(f"--prefix: {args.model[0]} restores questions; it knows no prefix")
    return models


def _made_by(args: argparse.Namespace) -> str:
    """16 hex digits of the models and of all settings that their results depend on."""
    from tqnet.files import content_digest
    from tqnet.questions.table import hash64

    models = [content_digest(Path(name)) if Path(name).is_dir() else name for name in args.model]
    settings = (models, args.candidates, args.diversity, args.beams, args.prefix, args.seed)
    return f"{hash64(repr(settings)):016x}"


def _rewriting(args: argparse.Namespace, models: Sequence[Seq2Seq], parser: Parser) -> Rewriting:
    from tqnet.paraphrase.rewriting import BackTranslator, Paraphraser, Restorer, Settings

    settings = Settings(args.candidates, args.diversity, args.beams)
    if len(models) == 2:
        there, back = models
        return BackTranslator(there, back, settings)
    (model,) = models
    if model.is_rewriter or args.operator == "reconstruction":
        return Restorer(model, _damage(args, parser), settings)
    return Paraphraser(model, settings, args.prefix)


def _damage(args: argparse.Namespace, parser: Parser) -> Callable[[str], str]:
    """What is drawn depends on the seed, the operator and the text alone, wherever a run goes on."""
    import numpy as np

    from tqnet.paraphrase.rewriting import DAMAGES
    from tqnet.questions.table import hash64

    def damage(text: str) -> str:
        rng = np.random.default_rng([args.seed, hash64(f"{args.operator}\n{text}")])
        return DAMAGES[args.operator](parser(text), rng)

    return damage


def _rewrite(
    texts: Sequence[str], rewriting: Rewriting, parser: Parser, file: RewritesFile, restores: bool
) -> Counter[str]:
    """Add to the file what it lacks; how many rewritings were kept, and how many dropped for what they had lost."""
    from tqdm import tqdm

    from tqnet.paraphrase.check.explain import Explainer
    from tqnet.paraphrase.rewrites import MODEL_OPERATORS

    counts: Counter[str] = Counter()
    is_positive = MODEL_OPERATORS[file.operator] == "positive"
    explainer = Explainer(parser)
    left = [text for text in texts if text not in file.done]
    with tqdm(total=len(texts), initial=len(texts) - len(left), unit=" texts", desc=file.operator) as progress:
        for window in _windows(left):
            if is_positive or restores:
                parser.parse(window)  # in one go; kept for what follows
            rewritten = list(zip(window, rewriting(window), strict=True))
            if is_positive:
                rewritten = _without_losses(rewritten, explainer, restores, counts)
            counts["kept"] += sum(len(kept) for _, kept in rewritten)
            counts["without"] += sum(not kept for _, kept in rewritten)
            file.add(rewritten)
            progress.update(len(window))
    return counts


def _windows(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    return (texts[start : start + _WINDOW] for start in range(0, len(texts), _WINDOW))


def _without_losses(
    rewritten: Sequence[tuple[str, list[str]]], explainer: Explainer, restores: bool, counts: Counter[str]
) -> list[tuple[str, list[str]]]:
    """Texts with those rewritings that lost and changed nothing; the others are counted by what they did.

    NOTE: The paper trains on whatever its models make (f1), and had its test questions labelled by hand (f_b).
    """
    from tqnet.paraphrase.losses import losses

    found = iter(losses(explainer, [(text, one) for text, of in rewritten for one in of], in_order=restores))
    kept = []
    for text, candidates in rewritten:
        parts = [next(found) for _ in candidates]
        counts.update(part for part in parts if part)
        kept.append((text, [one for one, part in zip(candidates, parts, strict=True) if not part]))
    return kept


def _summary(counts: Counter[str], count: int, file: RewritesFile) -> str:
    from tqnet.paraphrase import Part

    lost = [f"{part} {counts[part]:,}" for part in Part if counts[part]]
    dropped = f", dropped for what they lost or changed: {', '.join(lost)}" if lost else ""
    without = f" ({counts['without']:,} of them now without any)" if counts["without"] else ""
    kept = f"{file.operator}: {counts['kept']:,} rewritings kept{dropped}"
    return f"{kept}; {count:,} texts done{without}: {file.path}"
