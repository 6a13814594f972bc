"""``tqnet evaluate concepts``: whether near concepts lie near each other and far ones far apart, with a picture."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqnet.commands.encode import add_error_arguments, add_model_arguments, read_bank
from tqnet.commands.options import whole_number
from tqnet.commands.results import command, write_results

if TYPE_CHECKING:
    import numpy as np

    from tqnet.evaluation.concept_pairs import ConceptPair
    from tqnet.evaluation.plots import ConceptMap

#: How many pairs of each kind are drawn as maps, as in the paper.
_DRAWN = 2


def add(tasks: Any) -> None:
    parser = tasks.add_parser("concepts", help="how far apart near and far concepts lie, and a map of four pairs")
    parser.add_argument(
        "stages",
        nargs="+",
        metavar="NAME=SOURCE",
        help="SOURCE: a model folder, or encoder:NAME for a text encoder as it comes; the maps are of the last one",
    )
    parser.add_argument("--bank", required=True, help="a folder with questions.*, or such a file")
    parser.add_argument("--split", default="test", help="whose questions are taken (test); all: of every split")
    parser.add_argument("--level", type=whole_number(2), metavar="N", help="of the concepts (the deepest)")
    parser.add_argument("--pairs", type=whole_number(_DRAWN), default=100, metavar="N", help="of each kind (100)")
    parser.add_argument("--seed", type=whole_number(0), default=0)
    parser.add_argument("--out", required=True, metavar="DIR", help="gets results.json, results.md and concepts.png")
    parser.add_argument("--vectors", metavar="DIR", help="keep vectors here, and take those that are here")
    add_error_arguments(parser)
    add_model_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tqnet.evaluation.concept_pairs import concept_table, draw_concept_pairs, measure_concept_pairs, to_numbers
    from tqnet.evaluation.plots import concept_maps
    from tqnet.evaluation.sources import Encoding, shortest_length, source_digest, source_vectors
    from tqnet.evaluation.stages import parse_stages
    from tqnet.files import atomic
    from tqnet.libraries import precision, quiet

    quiet()
    stages, out = parse_stages(args.stages, lexical=False), Path(args.out)
    bank = read_bank(args)
    split = None if args.split == "all" else args.split
    pairs = draw_concept_pairs(bank, split, level=args.level, pairs=args.pairs, seed=args.seed)
    encoding = Encoding(
        args.batch_size, args.device, precision(args.precision, args.device), shortest_length(stages.values())
    )
    cache = Path(args.vectors) if args.vectors else None
    vectors = {name: source_vectors(source, bank, encoding, cache) for name, source in stages.items()}
    results = {name: measure_concept_pairs(own, pairs) for name, own in vectors.items()}
    table = concept_table(results, pairs)
    digests = {name: source_digest(source) for name, source in stages.items()}
    facts = {
        "command": command(args),
        "bank": f"{bank.name}, {len(bank):,} questions, fingerprint {bank.fingerprint}",
        "models": "; ".join(f"{name}: files {digest}" for name, digest in digests.items() if digest),
    }
    write_results(out, facts, {"concepts": to_numbers(results, pairs)}, table.markdown())
    last = next(reversed(vectors.values()))
    with atomic(out / "concepts.png") as temporary:
        temporary.write_bytes(concept_maps(list(_maps(last, pairs, args.seed))))
    print(table.text())
    print(f"picture: {out / 'concepts.png'}")
    return 0


def _maps(vectors: np.ndarray, pairs: Sequence[ConceptPair], seed: int) -> Iterator[ConceptMap]:
    from tqnet.evaluation.concept_pairs import FAR, NEAR
    from tqnet.evaluation.plots import ConceptMap, tsne

    for kind in (NEAR, FAR):
        of_kind = [pair for pair in pairs if pair.kind == kind]
        for pair in sorted(of_kind, key=lambda pair: -pair.questions.size)[:_DRAWN]:  # a few points are no cloud
            one, other = pair.concepts
            yield ConceptMap(kind, (one[-1], other[-1]), tsne(vectors[pair.questions.ravel()], seed=seed))
