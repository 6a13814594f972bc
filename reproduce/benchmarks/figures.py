"""How often a figure, sent without a text, finds a question that has it first: as it is in the bank, and altered.

    python -m reproduce.benchmarks.figures INDEX [INDEX ...]

Of figures of a split: the share whose first result has a figure of the same pixels, by kind of copy.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from reproduce.benchmarks.harness import make_parser
from tqnet.cli.index import IndexModelOptions, open_index
from tqnet.questions.figures import hash_figure_file
from tqnet.questions.images import open_figure
from tqnet.search.evaluation import index_bank
from tqnet.search.index import Index
from tqnet.search.ranking import Rank
from tqnet.search.searcher import Searcher, typed_question


def scaled(figure: Image.Image, factor: float) -> Image.Image:
    """Scale both sides."""
    return figure.resize((max(1, round(figure.width * factor)), max(1, round(figure.height * factor))))


def cropped(figure: Image.Image, share: float) -> Image.Image:
    """Cut a share of the width and height off each side."""
    left, top = round(figure.width * share), round(figure.height * share)
    return figure.crop((left, top, figure.width - left, figure.height - top))


def on_page(figure: Image.Image) -> Image.Image:
    """Put the figure on a white page that is half as wide and a third as high again, out of its middle."""
    page = Image.new("RGB", (figure.width * 3 // 2, figure.height * 4 // 3), "white")
    page.paste(figure, (figure.width * 3 // 10, figure.height // 10))
    return page


#: Kind of copy -> what makes it of a figure on white. A file of the kind "jpeg" has quality 30, the others are PNG.
COPIES: dict[str, Callable[[Image.Image], Image.Image]] = {
    "same": lambda figure: figure,
    "scaled by 0.5": partial(scaled, factor=0.5),
    "scaled by 1.7": partial(scaled, factor=1.7),
    "jpeg": lambda figure: figure,
    "grey": lambda figure: figure.convert("L"),
    "cropped by 3%": partial(cropped, share=0.03),
    "cropped by 4%": partial(cropped, share=0.04),
    "on a page": on_page,
}


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("index", nargs="+", help="folders of tqnet index")
    parser.add_argument("--split", default="valid", help="split of the questions whose figures are sent (valid)")
    parser.add_argument("--figures", type=int, default=100, metavar="N", help="at most this many, at random")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    shares = {folder: first_shares(open_index(folder), args.split, args.figures, args.seed) for folder in args.index}
    print(json.dumps(shares, indent=1))


def first_shares(index: Index, split: str, most: int, seed: int) -> dict[str, float]:
    """Return kind of copy and number of figures -> share whose first result has the figure."""
    options = IndexModelOptions()
    model = options.open_model(index)
    encode = partial(model.encode, **options.settings)
    rank = Rank()
    searcher = Searcher(index, encode, reads_figures=model.config.reads_images, rank=rank)
    bank = index_bank(index.engine)
    paths = sorted({path for question in bank if question.split == split for path in question.images})
    chosen = np.random.default_rng(seed).permutation(paths)[:most].tolist()
    shares: dict[str, list[bool]] = {kind: [] for kind in COPIES}
    with tempfile.TemporaryDirectory() as folder:
        for number, path in enumerate(chosen):
            figure = Image.fromarray(open_figure(path))
            for kind, alter in COPIES.items():
                copy = Path(folder, f"{number} {kind}.{'jpeg' if kind == 'jpeg' else 'png'}")
                alter(figure).save(copy, quality=30)
                shares[kind].append(is_first(searcher, str(copy), path))
    return {f"{kind} ({len(hits)})": round(sum(hits) / max(1, len(hits)), 3) for kind, hits in shares.items()}


def is_first(searcher: Searcher, copy: str, path: str) -> bool:
    """Return True if the first result for ``copy`` has the figure at ``path``."""
    answer = searcher.answer(next(searcher.queries([typed_question("", [copy])])), 1, fold=False)
    pixels = hash_figure_file(path)
    return any(hash_figure_file(figure) == pixels for first in answer.candidates for figure in first.question.images)


if __name__ == "__main__":
    main()
