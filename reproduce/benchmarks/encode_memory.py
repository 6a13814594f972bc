"""Peak memory of ``TQNetModel.encode`` by the number of questions, each number in a process of its own.

    python -m reproduce.benchmarks.encode_memory --bank BANK --questions 4096 16384

Questions are sorted by length in windows (`tqnet.modeling.encode.WINDOW`), so numbers above one window tell whether
memory grows with the bank. ``start`` is the peak with the model and the bank in memory, before the first question.
"""

from __future__ import annotations

import json
import multiprocessing

from reproduce.benchmarks.harness import make_parser
from tqnet.libraries import quiet
from tqnet.modeling.build import build_model
from tqnet.modeling.settings import ModelConfig
from tqnet.questions import QuestionBank
from tqnet.training.logging import peak_memory


def measure(bank: str, questions: int, visual: str | None) -> dict[str, float]:
    """Return the peak memory in MiB before and after encoding ``questions`` of ``bank``."""
    quiet()
    chosen = QuestionBank.load(bank).select(range(questions))
    fusion = "coordinated" if visual else "none"
    model, _ = build_model(ModelConfig(visual=visual, fusion=fusion, vocabulary_min_count=0, max_length=128), [])
    start = peak_memory(model.device)
    model.encode(chosen, device="cpu")
    return {"start": start, "peak": peak_memory(model.device)}


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--bank", required=True)
    parser.add_argument("--questions", type=int, nargs="+", default=[4096, 16384], metavar="N")
    parser.add_argument("--visual", help="a visual stream, such as lite0; by default only text is read")
    args = parser.parse_args()
    if max(args.questions) > (most := len(QuestionBank.load(args.bank))):
        parser.error(f"--questions: the bank has {most:,}")
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        peaks = {count: pool.apply(measure, (args.bank, count, args.visual)) for count in args.questions}
    print(json.dumps({"peak_memory_mib_by_questions": peaks}, indent=2))


if __name__ == "__main__":
    main()
