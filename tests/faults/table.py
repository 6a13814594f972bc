"""Every command of ``tqnet`` and every recipe, with all that a user may get wrong about it.

A command is written once, as it works, with names of :mod:`tests.faults.materials` in it; what may be wrong follows
from what the names are: a bank that is not there, a model of another kind, a place that cannot be written.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from tqnet.cli import commands, make_parser, with_verb

#: Command -> a call that works. OUT is what it makes.
CALLS = {
    "import": "sheet.csv --map stem=Task --map answer=Solution --out OUT",
    "check": "bank",
    "merge": "bank --out OUT.jsonl",
    "convert": "bank --to moodle --out OUT.xml",
    "card": "encoder",
    "encode": "--model encoder --bank bank --out OUT",
    "export": "--model encoder --format torch --bank bank --out OUT",
    "evaluate similar": "--model encoder --bank bank --no-baselines --vectors OUT",
    "evaluate probe": "--model encoder --bank bank --no-baselines --vectors OUT",
    "evaluate difficulty": "--model encoder --bank bank --no-baselines --vectors OUT",
    "evaluate agreement": "--model encoder --bank bank --no-baselines --plot OUT.svg",
    "evaluate concepts": "tiny=encoder --bank bank --out OUT",
    "evaluate stages": "tiny=encoder --bank bank --out OUT",
    "evaluate retrieval": "index --out OUT",
    "evaluate ranking": "index tiny=ranker --out OUT",
    "evaluate pairs": "--model pairs-model --pairs pairs.jsonl",
    "evaluate paraphrase": "tiny=encoder --pairs paraphrases.csv --out OUT",
    "evaluate solver": "tiny=solver --bank problems.jsonl --split valid --out OUT",
    "evaluate predict": "tiny=heads --bank bank --out OUT",
    "evaluate mteb": "--model encoder --bank bank --out OUT",
    "augment": "bank",
    "rewrite": "bank --operator back-translation --model rewriter rewriter --out OUT.jsonl",
    "perturb": "problems.jsonl --operators f1 f2 f3 --out OUT.jsonl",
    "duplicates": "bank --pairs-model pairs-model --model encoder --out OUT.jsonl",
    "index build": "bank --model encoder --out OUT",
    "index add": "index more.jsonl --model encoder",
    "index update": "index more.jsonl --model encoder",
    "index sync": "index more.jsonl --model encoder",
    "index delete": "index s0001",
    "index precompute": "index",
    "index export": "index OUT",
    "index restore": "exported --out OUT",
    "index versions": "index",
    "index use": "index 1",
    "search": "index --text 'Find $x$ if $2x = 8$.' --ranker ranker",
    "score": "--model encoder --pairs paraphrases.csv --no-explain --out OUT.jsonl",
    "predict": "--model heads --bank bank --out OUT.jsonl",
    "prototypes": "problems.jsonl --out OUT.jsonl",
    "solve": "--model solver --bank problems.jsonl --out OUT.jsonl",
    "serve": "index --port 0",
}

_TINY = "model.text=scratch model.scratch_hidden=48 model.scratch_layers=1 model.fusion_heads=12"
_RUN = "run.batch_size=8 run.max_steps=2 run.precision=fp32 run.threads=1 run.out=OUT"
_NEW = f"data.bank=bank {_TINY} model.visual=test_resnet model.image_size=64 {_RUN}"
_STARTED = f"data.bank=bank model.start=encoder {_RUN}"

#: Recipe -> settings that work.
RECIPES = {
    "pretrain/mlm.py": _STARTED,
    "pretrain/autoencoder.py": _NEW,
    "pretrain/moco.py": f"{_STARTED} queue=16 bn_splits=1",
    "pretrain/quesco.py": f"{_STARTED} queue=16 bn_splits=1",
    "pretrain/multitask.py": _STARTED,
    "pretrain/clip.py": _STARTED,
    "pretrain/consert.py": _STARTED,
    "pretrain/disenqnet.py": _STARTED,
    "pretrain/quesnet.py": f"{_NEW} stage=embedding",
    "pretrain/rewriter.py": f"{_NEW} decoder_layers=1 model.max_length=48",
    "finetune/similar.py": _STARTED,
    "finetune/knowledge.py": _STARTED,
    "finetune/pairs.py": _STARTED,
    "finetune/ranker.py": f"{_STARTED} folds=0 queries=20",
    "finetune/paraphrase.py": f"{_STARTED.replace('=bank', '=problems.jsonl')} data.valid_pairs=paraphrases.csv",
    "finetune/solver.py": f"{_STARTED.replace('=bank', '=problems.jsonl')} choose=false min_count=1",
    "finetune/probe.py": "data.bank=bank model=encoder out=OUT",
    "finetune/heads.py": "data.bank=bank model=encoder out=OUT",
}

BANKS = ("bank", "problems.jsonl", "more.jsonl")
FILES = ("sheet.csv", "paraphrases.csv", "pairs.jsonl")
MODELS = ("encoder", "solver", "ranker", "pairs-model", "rewriter")

#: Kinds of models that a command reads in place of its own: the encoder that they hold is one like any other.
HOLD_AN_ENCODER = ("solver", "pairs-model")


@dataclass(frozen=True)
class Case:
    """A call with something wrong.

    Attributes:
        argv: Of ``tqnet``, or of the recipe behind its file's name.
        how: ``call``, or what befalls it: ``full`` disk, ``interrupt``, ``closed`` pipe.
        codes: Exit codes, any of which is right.
    """

    command: str
    fault: str
    argv: tuple[str, ...]
    how: str = "call"
    codes: tuple[int, ...] = (2,)

    @property
    def id(self) -> str:
        return f"{self.command}: {self.fault}"


def cases() -> Iterator[Case]:
    """The whole table, in order of :data:`CALLS` and :data:`RECIPES`."""
    parsers = commands(make_parser())
    for command, arguments in CALLS.items():
        yield from _cases(command, (*command.split(), *shlex.split(arguments)), _nonsense(parsers[command]))
    for recipe, settings in RECIPES.items():
        wrong = ("precision=fp17",) if recipe in ("finetune/probe.py", "finetune/heads.py") else ("run.epochs=soon",)
        yield from _cases(recipe, (recipe, *settings.split()), wrong)
        yield Case(recipe, "unknown setting", (recipe, *settings.split(), "run.epoch=3"))
        yield Case(recipe, "configuration that is not there", (recipe, "--config", "gone.yaml"))
        yield Case(recipe, "configuration that is not YAML", (recipe, "--config", "prose.yaml"))


def _cases(command: str, argv: tuple[str, ...], nonsense: tuple[str, ...]) -> Iterator[Case]:
    if command != "serve":  # which would not end
        yield Case(command, "nothing", argv, codes=(0,))
    yield Case(command, "unknown option value", (*argv, *nonsense))
    command_words, arguments = argv[: len(command.split())], argv[len(command.split()) :]  # "index" is a command too
    for name in dict.fromkeys(word for value in arguments for word in _names(value)):
        for fault, wrong, codes in _wrong(command, name):
            yield Case(
                command, fault, (*command_words, *(_replaced(value, name, wrong) for value in arguments)), codes=codes
            )
    if any("OUT" in value for value in argv):
        shut = tuple(value.replace("OUT", "sheet.csv/OUT") for value in argv)
        yield Case(command, "output where none can be", shut)
        yield Case(command, "full disk", argv, "full", (1,))
    elif command.startswith("index") and command != "index versions":  # which writes nothing
        yield Case(command, "full disk", argv, "full", (1,))
    yield Case(command, "Ctrl-C", argv, "interrupt", (130,))
    if command != "serve" and not command.endswith(".py"):
        yield Case(command, "closed pipe", argv, "closed", (0, 141))


def _wrong(command: str, name: str) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """What stands for ``name``, and the codes that it may end with."""
    if name in BANKS:
        yield f"{name}: not there", "gone.jsonl", (2,)
        yield f"{name}: empty", "empty.jsonl", (1, 2)
        yield f"{name}: not JSONL", "prose.jsonl", (1, 2)
        yield f"{name}: another kind of file", "sheet.csv", (1, 2)
    if name in FILES:
        suffix = name.partition(".")[2]
        yield f"{name}: not there", f"gone.{suffix}", (2,)
        yield f"{name}: not what it should be", "prose.jsonl", (1, 2)
        if suffix == "csv":
            yield f"{name}: empty", "empty.csv", (1, 2)
    if name in MODELS:
        yield f"{name}: not there", "gone/model", (2,)
        yield f"{name}: an empty folder", "empty", (2,)
        recipe = command.endswith(".py")  # all of which load it by the same words
        for part in ("weights",) if recipe else ("weights", "config", "processor"):
            yield f"{name}: damaged {part}", f"{name}-{part}", (2,)
        for other in ("solver", "ranker") if recipe else MODELS:
            if other != name:
                works = name == "encoder" and other in HOLD_AN_ENCODER
                yield f"{name}: {other} instead", other, (0, 2) if works else (2,)
    if name in ("index", "exported"):
        yield f"{name}: not there", "gone", (2,)
        yield f"{name}: an empty folder", "empty", (2,)
        yield f"{name}: a bank", "bank", (2,)
        yield f"{name}: damaged manifest", "index-damaged", (2,)
    if name == "heads":
        yield f"{name}: not there", "gone/heads", (2,)
        yield f"{name}: an empty folder", "empty", (2,)
        yield f"{name}: a model without heads", "encoder", (2,)
        yield f"{name}: damaged", "heads-damaged", (2,)


def _names(value: str) -> tuple[str, ...]:
    """Those of the materials in a word of the call: ``encoder``, ``tiny=encoder`` or ``model.start=encoder``."""
    name = value.rpartition("=")[2]
    return (name,) if name in (*BANKS, *FILES, *MODELS, "heads", "index", "exported") else ()


def _replaced(value: str, name: str, wrong: str) -> str:
    """A word of the call with ``wrong`` where it names ``name``."""
    left, equals, right = value.rpartition("=")
    return f"{left}{equals}{wrong}" if right == name else value


def _nonsense(parser: argparse.ArgumentParser) -> tuple[str, ...]:
    """The first option that takes one of some values, or a number, with none of them; else an option there is not."""
    for action in parser._actions:
        if action.option_strings and action.nargs is None and (action.choices or action.type):
            return (action.option_strings[-1], "nonsense")
    return ("--nonsense",)


def parsed(argv: tuple[str, ...]) -> argparse.Namespace:
    """What a call of ``tqnet`` says, where it is well formed."""
    return make_parser().parse_args(with_verb(argv))
