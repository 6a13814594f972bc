"""What a table compares, read from YAML: a suite names its rows, a row its stages.

::

    configs/tables/table3.yaml          suite: bank, budgets, what every row shares
    configs/tables/table3/1-joint.yaml  row: its name, its stages, and what is its own
    configs/tables/stages/mlm.yaml      stage: a recipe, its settings, the questions that it sees

A new row is one small file in the suite's folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Literal, TypeVar

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from tqnet.config import ConfigError, Count, configure, settings
from tqnet.questions.splits import Shown

T = TypeVar("T")
_ABSENT = object()
#: Nested, as in a recipe's configuration.
Settings = dict[str, Any]

#: What no settings may say -> who says it.
_SAID_ELSEWHERE = {
    "data.bank": "the suite's bank",
    "data.show": "a row's show",
    "data.similar_level": "similar_level of the suite or a stage",
}

#: What cannot be measured beside labelled paraphrases or solvers: they have neither groups nor concepts.
_OF_THE_BANK = ("similar_level", "by_structure", "difficulty", "recall", "agreement")

#: Likewise of a suite's ``data``.
_NOT_IN_SUITE_DATA = _SAID_ELSEWHERE | {"data.transductive": "the settings of a pre-training stage"}

#: Likewise of the settings of a stage or a row: all rows are measured by it, or on equal terms.
_NOT_IN_STAGE_SETTINGS = _SAID_ELSEWHERE | {
    "data.bank": "the suite's bank, or the stage's",
    "data.pairs": "the suite's data",
    "data.held_out": "the suite's data",
    "data.on_error": "the suite's data",
    "run.seed": "--seeds",
    "run.epochs": "the stage's questions",
    "run.max_steps": "the stage's questions",
}


class SuiteError(ValueError):
    """A file of a suite that cannot be read or contradicts itself; the message names it."""


@settings
class Stage:
    """One training that rows may share.

    Attributes:
        recipe: ``pretrain/mlm.py`` and the like.
        questions: How many it sees in training, repeats counted: its budget.
        per_item: Questions that an item of a batch is: 3 where it is a triple of problems, each of them solved.
        gives: What the stage after it takes over: ``start``, the whole model; ``visual_start``, the visual stream; or
            ``masked_model``, the run itself, whose masked language model is no more than a help (SSMBA).
        sees: What of a question the recipe reads at all: ``all``, ``text`` or ``figures``. Rows that differ in what
            it does not see share the stage.
        similar_level: Here, questions that share a concept of this level are similar; null: as in the suite.
        bank: Is trained on in place of the suite's: a larger one for pre-training, say.
        settings: The recipe's own, nested as in its configuration; see `beside` for the files that they name.
        name: Of the stage's file.
    """

    recipe: str
    questions: Count
    per_item: Count = 1
    gives: Literal["start", "visual_start", "masked_model"] = "start"
    sees: Literal["all", "text", "figures"] = "all"
    similar_level: Count | None = None
    bank: str | None = None
    settings: Settings = field(default_factory=dict)
    name: str = ""

    def __post_init__(self) -> None:
        _refuse(_NOT_IN_STAGE_SETTINGS, self.settings, "settings: ")


@settings
class Row:
    """One line of the table.

    Attributes:
        name: As the table shows it.
        stages: Names of the stages, in order.
        source: What is measured where there are no stages: ``encoder:minilm`` and the like (`tqnet evaluate stages`).
        show: What the model is shown of a question, in training and when it is measured (`tqnet.questions.splits`).
        model: Settings ``model.*`` beside those of the suite: the shape of a new model. A stage's own come over them.
        settings: Name of a stage -> settings beside those of the stage; such a stage is trained for this row.
        measure: What a question shows of itself when the row is measured, if not ``show``: with ``shuffled``, does the
            model look at the figures that it was trained on?
        checked: Labelled paraphrases with other numbers or units than their original have a score of -1.
        paper: The number that the paper has for this row, of the suite's ``paper_metric``.
        paper_structures: Likewise by pair structure.
        paper_paraphrases: Likewise by file of labelled paraphrases, without its ending.
    """

    name: str
    stages: list[str] = field(default_factory=list)
    source: str | None = None
    show: Shown = "all"
    model: Settings = field(default_factory=dict)
    settings: dict[str, Settings] = field(default_factory=dict)
    measure: Shown | None = None
    checked: bool = False
    paper: float | None = None
    paper_structures: dict[str, float] = field(default_factory=dict)
    paper_paraphrases: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if bool(self.stages) == bool(self.source):
            raise SuiteError("a row has either stages or a source")
        if strangers := self.settings.keys() - set(self.stages):
            raise SuiteError(f"settings: {', '.join(sorted(strangers))}: no such stage in this row")
        for name, values in self.settings.items():
            _refuse(_NOT_IN_STAGE_SETTINGS, values, f"settings: {name}: ")


@settings
class Suite:
    """A table.

    Attributes:
        title, about: Its heading, and what is to be seen in it.
        bank: Folder of the bank; `tqnet bench --bank` names another.
        similar_level: Questions are similar that share a concept of this level; null goes by their group.
        by_structure: Also P@5 by whether query and corpus have figures.
        difficulty: Also difficulty by a linear regression.
        recall: n of R@n, the share of a query's similar questions among its first n: also that.
        agreement: Also the correlation of similarities with groups and KH-distances.
        solved: Rows are solvers, measured by the word problems of ``test`` that they solve, and by nothing else.
        paraphrases: Files of labelled paraphrases, by whose scores rows are measured, and by nothing of the bank; it
            is trained on, without their questions (``data.held_out``, which are these files where none are named).
        model, data: Settings ``model.*`` and ``data.*`` of every row.
        questions: Name of a stage -> another budget than its own.
        paper_metric: What the rows' ``paper`` is, for the heading of its column.
        compare: Pairs of rows' names, the first to be compared with the second. A row that is in none of them is
            compared with the table's first.
        rows_of: Name of a suite beside this one, whose rows it has instead of its own: the same on other questions; and
            whose comparisons, where it names none.
        only: Names of the rows that it has of these; all without it.
        model_of: Name of a suite beside this one, whose ``model`` it has where its own says nothing else.
        rows, stages: Beside those of the files, in the order of the files' names.
        name: Of the suite's file.
    """

    title: str
    bank: str
    about: str = ""
    similar_level: Count | None = None
    by_structure: bool = False
    difficulty: bool = False
    recall: Count | None = None
    agreement: bool = False
    solved: bool = False
    paraphrases: list[str] = field(default_factory=list)
    model: Settings = field(default_factory=dict)
    data: Settings = field(default_factory=dict)
    questions: dict[str, int] = field(default_factory=dict)
    paper_metric: str = "P@5"
    compare: list[list[str]] = field(default_factory=list)
    rows_of: str | None = None
    only: list[str] = field(default_factory=list)
    model_of: str | None = None
    rows: list[Row] = field(default_factory=list)
    stages: dict[str, Stage] = field(default_factory=dict)
    name: str = ""

    def __post_init__(self) -> None:
        _refuse(_NOT_IN_SUITE_DATA, {"data": self.data})
        if not self.paraphrases and (rows := [row.name for row in self.rows if row.checked]):
            raise SuiteError(f"row {rows[0]}: checked: of suites with paraphrases alone")
        if self.paraphrases and (others := [name for name in _OF_THE_BANK if getattr(self, name)]):
            raise SuiteError(f"paraphrases: not beside {', '.join(others)}, which are measured on the bank")
        if self.solved and (others := [name for name in (*_OF_THE_BANK, "paraphrases") if getattr(self, name)]):
            raise SuiteError(f"solved: not beside {', '.join(others)}, which solve no problems")

    def bank_at(self, given: str | None) -> str:
        """The bank of ``--bank``, also given as the folder that has the suite's file; without it, the suite's."""
        if given is None:
            return self.bank
        own = Path(given) / Path(self.bank).name
        return str(own) if own.is_file() else given

    def held_out(self, bank: str) -> list[str]:
        """Files whose questions have no part in any training on ``bank``."""
        named: list[str] = self.data.get("held_out") or self.paraphrases
        return [beside(bank, file) for file in named]


def beside(bank: str, file: str) -> str:
    """``file`` in the bank's folder, where it is there; else as it stands."""
    folder = Path(bank) if Path(bank).is_dir() else Path(bank).parent
    return str(folder / file) if (folder / file).is_file() else file


def load_suite(path: str | Path, only: Sequence[str] | None = None) -> Suite:
    """The suite at ``path`` with the rows of the folder of its name, or of ``rows_of``, and the stages that they name.

    Args:
        only: Names of rows; the others are left out.

    Raises:
        SuiteError: A file is missing or not as it should be, or no row has such a name.
    """
    path = Path(path)
    suite = _read(path, Suite)
    suite.name = path.stem
    if suite.model_of:
        suite.model = _read(path.parent / f"{suite.model_of}.yaml", Suite).model | suite.model
    if suite.rows_of and not suite.compare:
        suite.compare = _read(path.parent / f"{suite.rows_of}.yaml", Suite).compare
    folder = path.parent / (suite.rows_of or path.stem)
    suite.rows += [_read(file, Row) for file in sorted(folder.glob("*.yaml"))]
    if not suite.rows:
        raise SuiteError(f"{path}: no row in {folder}/")
    if suite.only:
        suite.rows = _named(suite.rows, suite.only, path)
        suite.compare = [pair for pair in suite.compare if set(pair) <= set(suite.only)]
    names = [row.name for row in suite.rows]
    if twice := {name for name in names if names.count(name) > 1}:
        raise SuiteError(f"{path}: two rows are called {', '.join(sorted(twice))}")
    for name in {name for row in suite.rows for name in row.stages} - suite.stages.keys():
        suite.stages[name] = _read(path.parent / "stages" / f"{name}.yaml", Stage)
    for pair in suite.compare:
        if len(pair) != 2 or not set(pair) <= set(names):
            raise SuiteError(f"{path}: compare: {pair} are not two of its rows")
    if strangers := suite.questions.keys() - suite.stages.keys():
        raise SuiteError(f"{path}: questions: {', '.join(sorted(strangers))}: no row has such a stage")
    for name, stage in suite.stages.items():
        stage.name, stage.questions = name, suite.questions.get(name, stage.questions)
    if only is not None:
        suite.rows = _named(suite.rows, only, path)
    return suite


def _named(rows: Sequence[Row], names: Sequence[str], path: Path) -> list[Row]:
    known = [row.name for row in rows]
    if unknown := [name for name in names if name not in known]:
        raise SuiteError(f"no row is called {', '.join(unknown)}; {path} has {', '.join(known)}")
    return [row for row in rows if row.name in names]


def _read(file: Path, kind: type[T]) -> T:
    try:
        found = OmegaConf.load(file)
    except FileNotFoundError as error:
        raise SuiteError(f"{file}: no such file") from error
    except (OmegaConfBaseException, YAMLError, UnicodeDecodeError) as error:
        raise SuiteError(f"{file}: {str(error).splitlines()[0]}") from error
    if not isinstance(found, DictConfig):
        raise SuiteError(f"{file}: expected settings by name")
    return typed(kind, found, str(file))


def typed(kind: type[T], values: DictConfig | Settings, where: str) -> T:
    """``values`` as ``kind``, a dataclass.

    Raises:
        SuiteError: A name or a type that ``kind`` does not have, or a value that it refuses; begins with ``where``.
    """
    try:
        return configure(kind, values)
    except ConfigError as error:
        raise SuiteError(f"{where}: {error}") from error


def _refuse(said_by: Mapping[str, str], settings: Settings, where: str = "") -> None:
    for name, who in said_by.items():
        if OmegaConf.select(OmegaConf.create(settings), name, default=_ABSENT) is not _ABSENT:
            raise SuiteError(f"{where}{name}: that is for {who} to say")
