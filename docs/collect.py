"""Put what was measured together as docs/results.md, a few lines of it in the README: ``python -m docs.collect``."""

from __future__ import annotations

import json
from pathlib import Path

from docs import claims

HERE = Path(__file__).parent / "results"
README = Path(__file__).parents[1] / "README.md"

#: Between these, the README has a few of the numbers.
SUMMARY = "<!-- results: python -m docs.collect -->", "<!-- end of results -->"
BANKS = ("opl", "openstax", "geometry")
SHOWN = ("BM25", "start encoder", "MLM", "MoCo", "SCL")

PREFACE = """# Results

Written by `python -m docs.collect` from `docs/results/`. First what the papers claim, and what came of it here; then
every stage of a training on three banks, the tables that compare methods, speed and memory. Budgets are those of small
machines; the questions that were seen are stated.

The banks are public, but not part of this project: opl is WeBWorK's Open Problem Library (CC BY-NC-SA 3.0; groups are
its "More Like This"), geometry is Geometry3K and GeoQA as annotated in FormalGeo (MIT; groups are solved by the same
theorems), openstax has the exercises of OpenStax textbooks (CC BY 4.0; groups are exercise sets). All were brought into
the format that the README describes and split by group; the commands below expect them in `data/`.

P@5 is that of the `test` questions that have at least five similar ones, searched in the whole bank with the query
itself left out. Probe F1 is micro F1 of a linear classifier on frozen vectors, by level of the hierarchy. Intervals are
95 %, bootstrapped by group.
"""

STAGES = """# Stages

`make stages BANK=opl DATA=FOLDER` (geometry, openstax) runs MLM, MoCo and supervised contrast (SCL) by the settings
in `configs/BANK`, then `tqnet evaluate stages`; `make publish BANK=opl` puts its tables here. One seed each, on two
processor cores.

Training reads the questions of split `train`. The state of MoCo and SCL that is kept is the one with the best P@5 on
`valid`, searched among `valid` and `data.distractors` questions of `train`; so are the settings chosen. Unlike in the
tables, questions of `valid` and `test` with a double in `train` are measured with the others.

MLM and MoCo train on no label (which state of MoCo is kept is chosen by the groups of `valid`). SCL uses the groups of
`train` and, beyond the paper, its knowledge labels as a second loss term (`concept_weight`), on opl also to draw its
batches (`block`). So the probe after SCL is not the paper's, whose encoder has seen no knowledge label.
"""

CLAIMS = """# What the papers found, and what was found here

Differences between two rows that a paper has numbers for, where a table below compares them. The papers' banks are
not public, and their budgets are those of large machines; here they are those of small ones, on public banks. A
difference is "within chance" if its 95 % interval, over questions, has zero in it; of so many, some leave zero out by
chance. Probes are compared at the finest level. Why others are the other way round, as far as it is known, is said
below each table.
"""

TABLES = """# Tables

`make table SUITE=table4 DATA=FOLDER` trains and measures all rows of a table, `make publish SUITE=table4` puts it here;
where the command below a heading names rows, the others have not been run yet. `--scores docs/results/tables/scores` in
a command takes the rows that are there from an earlier `tqnet bench`; without it all are trained. `configs/tables` has
the rows and their budgets. Where a machine is one processor core, two suites without a stage in common ran at a time,
each on a core of its own (`taskset -c 0 tqnet bench ...`, and `-c 1`).

Each table says of how many seeds it is, most of one. Their intervals are over questions: a difference outside its
interval holds for these trainings, and not yet for the methods. "Minutes of steps" is questions
divided by the median pace, evaluations left out; "by the clock" is what the trainings took from start to end, loading,
evaluating and saving counted. As the machine was shared, paces do not compare rows.

The columns "paper's P@5" and "paper's F1" are what TQ-Net's authors measured on a bank of their own, which is not
public; only their differences can be compared. Questions of `valid` and `test` with a double in `train` are left out
of all tables but "mwp...".
MoCo, CLIP and fine-tuning keep the state that is best on `valid`; the auto-encoder, MLM and QuesNet's pre-training keep
the last.

The tables "paraqd..." are measured by the scores of labelled paraphrases, a table for each file, and by nothing of the
bank that they are trained on; questions that the pairs have too take no part in any of their trainings. Their intervals
are bootstrapped by original.

The tables "mwp..." are measured by the word problems of `test` that are solved, those with a double in `train` too; the
column "answers without doubles" leaves these out. `make solver DATA=data` prepares their banks, trains and measures all
of them.
"""

SEARCH = """# Search

FSE's search on banks with groups, or with sections, whose questions are taken for similar: how much of what is similar
exact text and vectors recall (its Table 1; the table "fse-recall" above compares encoders), whether near concepts lie
nearer than far ones (its Figure 6; the maps are of the two pairs of each kind with the most questions), and what
ranking adds to the order of recall (its Table 2). How the two sources are merged was chosen on `valid`, under
"weights". `make search BANK=opl DATA=data/opl MODEL=DIR` measures it from the model of a training, `make publish-search
BANK=opl` puts it here. Of the paper's contestants OVSM is left out: its similarity rests on an ontology of concepts
that people made for it, beside a vector space of words, which exact text (BM25) and TF-IDF have here.
"""

PREDICTION = """# Prediction

Knowledge points by heads on frozen vectors ([how](predict.md)), beside logistic regression on TF-IDF along the same
hierarchy, tuned and calibrated in the same way. Everything was chosen on `valid`.
"""

SPEED = """# Speed and memory

On two processor cores, the contestants of a comparison by turns in one run. bf16 is the default with AMX, and with
AVX512-BF16 on AMD's processors; elsewhere it is fp32.
"""

SOLVER = """# Word problems

What solvers of word problems make of their test problems, by the size of the equation's tree, and how their
representations lie by prototype (mwp-cl, Figures 3, 4, 6 and 8; the tables "mwp-..." above compare answers).
"prototypes" asks with a problem for others of its equation, before the training (the start encoder, or words alone)
and after it. `make solver DATA=data` trains and measures it, `make publish-solver` puts it here;
[word-problems.md](word-problems.md) says how.
"""

#: File -> what it says, the command that makes it, and what to know about it.
MEASURED = {
    "encode": (
        "Encoding against sentence-transformers",
        "python -m tests.bench.encode --bank data/opl --questions 120 --rounds 2",
        "With AMX; all-MiniLM-L6-v2; `none` reads text, `fused` has passed the fusion too.",
    ),
    "export": (
        "Exported models against PyTorch and sentence-transformers",
        "OMP_NUM_THREADS=1 taskset -c 1 python -m tests.bench.export --text data/opl --figures data/geometry "
        "--questions 300",
        "On one core with AVX512-BF16, tokenising included. `text` is all-MiniLM-L6-v2, the same weights for all; "
        "`figures` is MiniLM and lite0, fused. `checks` are cosines to PyTorch in fp32, and what P@5 changes by in "
        "points, of 256 questions. OpenVINO in bf16 is 3.4 times PyTorch in fp32 and 1.7 times sentence-transformers "
        "at its best. Tokenising, of formulas that were parsed once, takes a hundredth of the time: the products of "
        "the encoder's matrices are what limits it. The backends onnx and openvino of sentence-transformers want "
        "optimum, which cannot be installed beside transformers 5.23.",
    ),
    "encode_memory": (
        "Peak memory of encoding, by the number of questions",
        "python -m tests.bench.encode_memory --bank data/opl --questions 4096 8192 16384",
        "Questions are sorted by length in windows of 4,096; all-MiniLM-L6-v2, text alone, fp32. Of the growth "
        "1.5 KiB a question are its vectors. With figures, the cells of those last used are kept too, 256 MiB at most.",
    ),
    "train": (
        "A training step against the same model written the plain way",
        "python -m tests.bench.train --bank data/openstax --compile",
        "With AMX; MiniLM and ResNet-18 at 128 px, a third of the questions with figures. The plain way pads every "
        "batch to its longest text and gives a question without a figure a blank one, in fp32, or as ours in bf16. "
        "`compiled` is ours with `torch.compile` of BERT, the compilation of shapes that are new to it counted: it "
        "does not pay within 20 steps; longer trainings were not measured.",
    ),
    "attention": (
        "Attention, forwards and backwards: in bf16, and in fp32 inside as here",
        "python -m tests.bench.attention --length 80",
        "With AMX; 64 questions, MiniLM's 12 heads of 32.",
    ),
    "moco": (
        "Where the time of a step goes: momentum contrast",
        "python -m tests.bench.shares pretrain/moco.py --config configs/geometry/moco.yaml data.bank=data/geometry "
        "model.text=minilm model.visual=lite0 run.out=OUT run.max_steps=20",
        "With AMX; every question has a figure, and its visual stream is frozen. `keys` is the momentum encoder.",
    ),
    "similar": (
        "Where the time of a step goes: supervised contrast",
        "python -m tests.bench.shares finetune/similar.py --config configs/geometry/similar.yaml "
        "data.bank=data/geometry model.text=minilm model.visual=lite0 run.out=OUT run.max_steps=20",
        "With AMX; every question has a figure, and its visual stream is frozen.",
    ),
    "quesco": (
        "What QuesCo's own parts cost: augmentation, and the ranking loss against a long queue",
        "python -m tests.bench.quesco --config configs/quesco/sample.yaml data.bank=data/opl model.visual=null "
        "run.batch_size=64 run.max_steps=10 data.distractors=0 run.out=OUT",
        "On one core, in fp32, without AMX. Every strategy is applied with a probability of 0.3; the loss is "
        "similarities, ranks and RINCE, forwards and back, the step one with that queue.",
    ),
    "solver": (
        "The tree decoder of word problems against the same decoder with a stack for each problem",
        "OMP_NUM_THREADS=1 taskset -c 1 python -m tests.bench.solver --bank data/math23k",
        "On one core, in fp32, without AMX, by seconds of the processor, as others used the machine too. Training is "
        "forwards and backwards, gradients of the texts' states included; beam search has three beams. `by stacks` "
        "goes problem by problem, without padding; both have the same outputs. `whole solver` is `batched` with an "
        "encoder of two layers. The decoder has been trained for 200 steps: a trained one is surer, so that fewer "
        "hypotheses are followed to their ends.",
    ),
    "paraphrase": (
        "What ParaQD's rule operators cost",
        "taskset -c 1 python -m tests.bench.paraphrase --bank data/paraqd/pool.jsonl",
        "On one core that others used too. Parsing and what the extractors see come once for a question, and are kept; "
        "`triplets_per_second` is of parsed questions.",
    ),
    "score": (
        "Scoring paraphrases against encoding their texts",
        "taskset -c 1 python -m tests.bench.score --pairs data/paraqd/aqua_test.jsonl",
        "On one core that others used too, all by turns: all-MiniLM-L6-v2 in bf16, without AMX. What an explanation "
        "costs beside is spaCy's parse, once for a text.",
    ),
    "search": (
        "Search of a million questions",
        "python -m tests.bench.search --index runs/search/openstax/index --ranker runs/search/openstax/encoder/model "
        "--questions 1000000 --queries 200 --out OUT",
        "Milliseconds, one search behind the other, without AMX; difficulties keep the share of questions in per cent. "
        "`vectors`, `text`, `text and concepts` find ten, `recall` a hundred candidates of vectors and text where no "
        "concept is known; `search` goes from a typed text to its answer, the model included; `bm25s` finds ten by the "
        "same words in memory. Ranking reads 160 tokens a pair. Measured before recall guessed a query's concepts, "
        "which takes one search more, and before candidates came in the order of the evidence.",
    ),
    "search_100k": (
        "Search of a hundred thousand questions",
        "python -m tests.bench.search --index runs/search/openstax/index --questions 100000 --queries 200 --out OUT",
        "As above.",
    ),
    "serve": (
        "The server of a million questions, with twenty clients for a minute",
        "python -m tests.bench.serve --index OUT/1000000 --clients 20 --seconds 60",
        "No answer comes from the cache; clients and server share the two cores.",
    ),
    "mfu": (
        "How much of the machine's arithmetic a step uses: momentum contrast",
        "python -m tests.bench.mfu pretrain/moco.py --config configs/geometry/moco.yaml data.bank=data/geometry "
        "model.text=minilm model.visual=lite0 run.out=OUT run.max_steps=12 data.distractors=0",
        "Model FLOPs utilisation, loader and optimizer included; the peak is what a large matrix product reaches. "
        "Padding is counted as work. On a GPU the peak is the data sheet's, and `--config configs/paper/moco.yaml "
        "model.text=bert-base-uncased model.visual=resnet50 model.image_size=224 queue=2048` measures the paper's "
        "configuration; none was at hand, so nothing is said of it here.",
    ),
}


def main() -> None:
    prune(HERE / "tables")
    (HERE / "claims.png").write_bytes(claims.picture(claims.claims(HERE / "tables")))
    (HERE.parent / "results.md").write_text(document(), encoding="utf-8")
    README.write_text(with_summary(README.read_text(encoding="utf-8")), encoding="utf-8")


def document() -> str:
    """All of docs/results.md."""
    found = claims.claims(HERE / "tables")
    sections = [PREFACE, CLAIMS, f"{claims.table(found).markdown()}\n", "![claims](results/claims.png)\n"]
    sections += [STAGES, *_measured(HERE)]
    if tables := _measured(HERE / "tables"):
        sections += [TABLES, *tables]
    if searched := _parts(
        HERE / "search", "Search of", ("recall", "weights", "concepts", "evidence", "order", "known", "ranking")
    ):
        sections += [SEARCH, *searched]
    if predicted := _measured(HERE / "predict", "Prediction on "):
        sections += [PREDICTION, *predicted]
    if solved := _parts(HERE / "solver", "Problems of", ("solved", "prototypes")):
        sections += [SOLVER, *solved]
    sections += [SPEED, *_speed(HERE / "speed")]
    return "\n".join(sections)


def with_summary(readme: str) -> str:
    """The README with what the stages of the three banks scored, between its marks."""
    before, mark, rest = readme.partition(SUMMARY[0])
    _, end, after = rest.partition(SUMMARY[1])
    if not (mark and end):
        raise ValueError(f"README.md: {' .. '.join(SUMMARY)} are not there")
    return f"{before}{mark}\n\n{_summary(HERE)}\n\n{end}{after}"


def _summary(root: Path) -> str:
    """P@5 of similar questions, bank by bank: by words alone, and stage by stage."""
    lines = [
        f"| bank | {' | '.join(SHOWN)} | 95 % interval of the last |",
        f"|---|{'---:|' * (len(SHOWN) + 1)}",
    ]
    for bank in BANKS:
        stages = json.loads(_text(root / bank / "results.json"))["stages"]
        found = [stages[name]["similar"]["overall"] for name in SHOWN]
        cells = [f"{of['precision']:.3f}" for of in found]
        lines.append(f"| {bank} | {' | '.join(cells)} | {found[-1]['low']:.3f}–{found[-1]['high']:.3f} |")
    return "\n".join(lines)


def prune(tables: Path) -> None:
    """Remove the scores that no table names any more."""
    documents = [json.loads(_text(file)) for file in tables.glob("*/results.json")]
    named = {key for document in documents for row in document["rows"].values() for key in row.get("kept", ())}
    for file in (tables / "scores").glob("*.json"):
        if file.stem not in named:
            file.unlink()


def _parts(root: Path, of: str, parts: tuple[str, ...]) -> list[str]:
    """The parts of every bank, one behind the other, with their pictures and notes."""
    sections = []
    for bank in sorted(path for path in root.glob("*") if path.is_dir()):
        sections.append(f"## {of} {bank.name}\n")
        for part in parts:
            folder = bank / part
            if not (folder / "results.md").is_file():
                continue
            notes = [f"{_text(folder / 'notes.md')}\n"] if (folder / "notes.md").is_file() else []
            sections += [f"### {part}\n\n{_text(folder / 'results.md')}\n", *_pictures(folder), *notes]
    return sections


def _measured(root: Path, of: str = "") -> list[str]:
    """A section for every folder that has results, with the notes and pictures beside them."""
    sections = []
    for folder in sorted(path.parent for path in root.glob("*/results.md")):
        sections.append(f"## {of}{folder.name}\n\n{_text(folder / 'results.md')}\n")
        if (folder / "notes.md").is_file():
            sections.append(f"{_text(folder / 'notes.md')}\n")
        sections += _pictures(folder)
    return sections


def _pictures(folder: Path) -> list[str]:
    return [f"![{file.stem}]({file.relative_to(HERE.parent)})\n" for file in sorted(folder.glob("*.png"))]


def _speed(root: Path) -> list[str]:
    return [
        f"## {title}\n\n`{command}`. {about}\n\n```json\n{_text(root / f'{name}.json')}\n```\n"
        for name, (title, command, about) in MEASURED.items()
        if (root / f"{name}.json").is_file()
    ]


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8").rstrip()


if __name__ == "__main__":
    main()
