"""``tqnet evaluate paraphrase``: how well scores tell valid paraphrases from invalid ones, with pictures."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqnet.commands.encode import add_model_arguments
from tqnet.commands.options import whole_number
from tqnet.commands.results import command, write_pictures, write_results

if TYPE_CHECKING:
    from tqnet.paraphrase.evaluation import KindScores, ParaphraseMetrics
    from tqnet.paraphrase.vectors import TextVectors
    from tqnet.questions.paraphrase_pairs import ParaphrasePair


def add(tasks: Any) -> None:
    parser = tasks.add_parser(
        "paraphrase", help="precision, recall, F1 and separation of labelled paraphrases' scores (ParaQD)"
    )
    parser.add_argument(
        "stages",
        nargs="+",
        metavar="NAME=SOURCE",
        help="SOURCE: a model folder, or encoder:NAME for a text encoder as it comes",
    )
    parser.add_argument(
        "--pairs",
        nargs="+",
        required=True,
        metavar="FILE",
        help="original, paraphrase and label, and kind for a table by it; .jsonl or .csv",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="gets results.json, results.md and the pictures")
    parser.add_argument(
        "--checked",
        action="store_true",
        help="also each stage's score with a look at numbers and units, as tqnet score calls a pair valid",
    )
    parser.add_argument("--seed", type=whole_number(0), default=0, help="of the maps")
    add_model_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tqnet.evaluation.sources import open_source, shortest_length, source_digest
    from tqnet.evaluation.stages import parse_stages
    from tqnet.files import content_digest
    from tqnet.libraries import precision, quiet
    from tqnet.paraphrase.evaluation import kind_scores, kind_table, paraphrase_table, scored_pairs
    from tqnet.paraphrase.vectors import PairTexts
    from tqnet.questions.paraphrase_pairs import read_labelled_sets

    quiet()
    stages, out = parse_stages(args.stages, lexical=False), Path(args.out)
    sets = read_labelled_sets(args.pairs)
    out.mkdir(parents=True, exist_ok=True)  # where it cannot be, before anything is encoded
    length = shortest_length(stages.values())
    texts = PairTexts.read(t for pairs in sets.values() for pair in pairs for t in (pair.original, pair.paraphrase))
    options = {
        "batch_size": args.batch_size,
        "device": args.device,
        "precision": precision(args.precision, args.device),
        "show_progress": True,
    }
    vectors = {name: texts.encode(open_source(of, length), **options) for name, of in stages.items()}
    results = {name: {stage: scored_pairs(of, own) for stage, own in vectors.items()} for name, of in sets.items()}
    if args.checked:
        from tqnet.paraphrase.check.checks import asks_otherwise

        for name, of in sets.items():
            otherwise = asks_otherwise(of)
            results[name] |= {f"{stage}, checked": scored_pairs(of, own, otherwise) for stage, own in vectors.items()}
    kinds = {
        name: {stage: kind_scores(sets[name], own.scores, own.threshold) for stage, own in found.items()}
        for name, found in results.items()
    }
    tables = []
    for name, found in results.items():
        tables.append(paraphrase_table(found, name))
        if any(kinds[name].values()):
            tables.append(kind_table(kinds[name], f"{name}, by kind"))
    digests = {name: source_digest(source) for name, source in stages.items()}
    facts = {
        "command": command(args),
        "pairs": "; ".join(f"{Path(file).name}: {content_digest(Path(file))}" for file in args.pairs),
        "models": "; ".join(f"{name}: files {digest}" for name, digest in digests.items() if digest),
        "precision": str(options["precision"]),
    }
    numbers = {
        name: {stage: own.to_dict() | _by_kind(kinds[name][stage]) for stage, own in found.items()}
        for name, found in results.items()
    }
    markdown = "\n\n".join(f"### {table.title}\n\n{table.markdown()}" for table in tables) + "\n"
    write_results(out, facts, {"paraphrase": numbers}, markdown)
    pictures = [file for name, pairs in sets.items() for file in _draw(out, name, pairs, results[name], vectors, args)]
    print("\n\n".join(f"{table.title}\n\n{table.text()}" for table in tables))
    print("\n".join(f"picture: {file}" for file in pictures))
    return 0


def _by_kind(kinds: Sequence[KindScores]) -> dict[str, Any]:
    """For JSON; nothing where the pairs have no kinds."""
    return {"kinds": [one.to_dict() for one in kinds]} if kinds else {}


def _draw(
    out: Path,
    name: str,
    pairs: Sequence[ParaphrasePair],
    results: Mapping[str, ParaphraseMetrics],
    vectors: Mapping[str, TextVectors],
    args: argparse.Namespace,
) -> list[Path]:
    """Histograms of a file's scores, and maps of its triplets where it has any."""
    from tqnet.evaluation.plots import sample, tsne
    from tqnet.paraphrase.evaluation import score_histograms, triplet_maps, triplets

    pictures = {"scores": score_histograms(results)}
    found = triplets(pairs)
    if len(found) > 1:
        drawn = [found[at] for at in sample(len(found), 500, args.seed)]
        texts = [text for triplet in drawn for text in triplet]
        pictures["triplets"] = triplet_maps(
            {stage: tsne(own.of(texts), seed=args.seed) for stage, own in vectors.items()}
        )
    return write_pictures(out, {f"{of}-{name}": picture for of, picture in pictures.items()})
