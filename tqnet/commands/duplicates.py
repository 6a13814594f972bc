"""``tqnet duplicates``: clusters of duplicates in a bank."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqnet.commands.encode import add_error_arguments, add_model_arguments, read_bank
from tqnet.commands.options import number, whole_number
from tqnet.commands.results import output_file

if TYPE_CHECKING:
    import numpy as np

    from tqnet.cli import Subparsers
    from tqnet.modeling.encoder import QuestionEncoder
    from tqnet.questions import QuestionBank
    from tqnet.search.duplicates import Cluster, Duplicates, Judge


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "duplicates",
        help="report clusters of duplicates in a bank",
        description="Duplicates are questions of equal text, formulas in one form, and equal figures; of near text "
        "with the same numbers, formulas and phrases of what is asked; or, with --pairs-model, those of near text or "
        "near vectors that the model takes for duplicates.",
    )
    parser.add_argument("bank", metavar="BANK", help="a .jsonl or .parquet file, or a folder with questions.*")
    parser.add_argument("--pairs-model", metavar="DIR", help="a pair classifier, RUN/model of finetune/pairs.py")
    parser.add_argument(
        "--model",
        metavar="DIR",
        help="whose vectors' neighbours the pair classifier is asked about (its own encoder's)",
    )
    parser.add_argument(
        "--threshold",
        type=number(0, 1, above=True),
        metavar="SHARE",
        help="of the three-word runs that near texts share (0.9); with --pairs-model, the least probability (0.5)",
    )
    parser.add_argument("--out", metavar="FILE", help="write the clusters, one JSON object a line")
    parser.add_argument("--show", type=whole_number(0), default=20, help="clusters that are printed (20)")
    parser.add_argument("--json", action="store_true", help="print all clusters, one JSON object a line")
    add_model_arguments(parser)
    add_error_arguments(parser)
    parser.set_defaults(run=run)


#: Of the text of a cluster's first question.
_SHOWN = 160


def run(args: argparse.Namespace) -> int:
    from tqnet.files import atomic
    from tqnet.libraries import quiet
    from tqnet.search.duplicates import find_duplicates
    from tqnet.search.retrieval import NEAR

    quiet()
    if args.model and not args.pairs_model:
        raise ValueError("--model: says whose neighbours a pair classifier is asked about; name one with --pairs-model")
    out = output_file(args.out) if args.out else None
    bank = read_bank(args)
    if args.pairs_model:
        with _judge(args, bank) as judge:
            found = find_duplicates(bank, judge=judge)
    else:
        found = find_duplicates(bank, args.threshold or NEAR)
    if out is not None:
        with atomic(out) as temporary, temporary.open("w", encoding="utf-8") as stream:
            stream.writelines(line + "\n" for line in _records(found, bank))
    if args.json:
        for line in _records(found, bank):
            print(line)
    else:
        print(_text(found, bank, args.show))
    return 0


@contextmanager
def _judge(args: argparse.Namespace, bank: QuestionBank) -> Iterator[Judge]:
    """The pair classifier; vectors of a large bank lie on the disk."""
    from tqnet.evaluation.sources import open_source
    from tqnet.modeling.pairs import PairClassifier
    from tqnet.search.duplicates import Judge

    classifier = PairClassifier.from_pretrained(args.pairs_model)
    other = open_source(args.model) if args.model else None
    with tempfile.TemporaryDirectory() as folder:
        vectors = _vectors(classifier.encoder, bank, args, Path(folder) / "pairs.npy")
        near = vectors if other is None else _vectors(other, bank, args, Path(folder) / "near.npy")

        def decide(pairs: np.ndarray) -> np.ndarray:
            return classifier.classify_pairs(bank, vectors, pairs, show_progress=True)

        yield Judge(near, decide, args.threshold or 0.5)


def _vectors(model: QuestionEncoder, bank: QuestionBank, args: argparse.Namespace, file: Path) -> np.ndarray:
    import numpy as np

    from tqnet.libraries import precision

    shape = (len(bank), model.config.hidden_size)
    return model.encode(
        bank,
        batch_size=args.batch_size,
        device=args.device,
        precision=precision(args.precision, args.device),
        show_progress=True,
        out=np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=shape),
    )


def _records(found: Duplicates, bank: QuestionBank) -> Iterator[str]:
    for cluster in found.clusters:
        yield json.dumps(_record(cluster, bank), ensure_ascii=False)


def _record(cluster: Cluster, bank: QuestionBank) -> dict[str, Any]:
    ids = {row: bank[row].id for row in cluster.rows}
    links = [
        {"a": ids[link.first], "b": ids[link.second], "why": link.why, "score": round(link.score, 4)}
        for link in cluster.links
    ]
    return {"ids": list(ids.values()), "links": links, "text": _excerpt(cluster, bank)}


def _text(found: Duplicates, bank: QuestionBank, shown: int) -> str:
    lines = []
    for cluster in found.clusters[:shown]:
        why = sorted({str(link) for link in cluster.links})
        ids = " ".join(bank[row].id for row in cluster.rows)
        lines += [f"{ids}  {', '.join(why)}", f"     {_excerpt(cluster, bank)}"]
    if len(found.clusters) > shown:
        lines.append(f"... and {len(found.clusters) - shown:,} more: --out FILE, or --show N")
    rows = sum(len(cluster.rows) for cluster in found.clusters)
    lines.append(
        f"{len(found.clusters):,} clusters of {rows:,} of {len(bank):,} questions; "
        f"without {rows - len(found.clusters):,}, one of each is left"
    )
    if found.named:
        named = ", ".join(f"{count:,} {relation}" for relation, count in found.named.items())
        lines.append(f"candidates by the model: {named}")
    return "\n".join(lines)


def _excerpt(cluster: Cluster, bank: QuestionBank) -> str:
    from tqnet.text.sentences import excerpt

    return excerpt(bank[cluster.rows[0]].content, _SHOWN)
