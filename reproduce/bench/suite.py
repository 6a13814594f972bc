"""Suites, read from YAML: a suite names its rows, a row its stages.

::

    reproduce/tables/table3.yaml          suite: bank, budgets, what every row shares
    reproduce/tables/table3/1-joint.yaml  row: its name, its stages, and its own settings
    reproduce/tables/stages/mlm.yaml      stage: a recipe, its settings, the number of questions it sees
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

#: Setting that is fixed elsewhere -> where.
_SET_ELSEWHERE = {
    "data.bank": "bank of the suite",
    "data.show": "show of a row",
    "data.similar_level": "similar_level of the suite or a stage",
}

#: Tasks that labelled paraphrases and solvers exclude: they have neither groups nor concepts.
_BANK_TASKS = ("similar_level", "by_structure", "difficulty", "recall", "agreement")

#: Likewise for ``data`` of a suite.
_NOT_IN_SUITE_DATA = _SET_ELSEWHERE | {"data.transductive": "settings of a pre-training stage"}

#: Likewise for settings of a stage or a row: they would make rows incomparable.
_NOT_IN_STAGE_SETTINGS = _SET_ELSEWHERE | {
    "data.bank": "bank of the suite or the stage",
    "data.pairs": "data of the suite",
    "data.held_out": "data of the suite",
    "data.on_error": "data of the suite",
    "run.seed": "--seeds",
    "run.epochs": "questions of the stage",
    "run.max_steps": "questions of the stage",
}


class SuiteError(ValueError):
    """A suite that cannot be read or contradicts itself; the message names the file."""


@settings
class Stage:
    """One training that rows may share.

    Attributes:
        recipe: ``pretrain/mlm.py`` and the like.
        questions: Number that it sees in training, repeats counted: its budget.
        per_item: Questions per item of a batch: 3 where an item is a triple of problems that are all solved.
        gives: What the next stage starts from: ``start``, the whole model; ``visual_start``, the visual stream; or
            ``masked_model``, the run itself, whose masked language model only makes views (SSMBA).
        sees: The part of a question that the recipe reads: ``all``, ``text`` or ``figures``. Rows that differ in the
            other part share the stage.
        similar_level: Questions that share a concept of this level are similar; null: as in the suite.
        bank: Trained on instead of the suite's bank: a larger one for pre-training, for example.
        settings: Settings of the recipe, nested as in its configuration; files they name are found by `beside`.
        name: Name of the stage's file.
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
        stages: Names of the stages, in order.
        source: Model that is measured without training, such as ``encoder:minilm`` (`tqnet evaluate stages`).
        show: Parts of a question shown to the model, in training and in measuring (`tqnet.questions.splits`).
        model: Settings ``model.*`` in addition to those of the suite. Settings of a stage override them.
        settings: Name of a stage -> settings in addition to the stage's, which is then trained for this row.
        measure: Parts of a question shown in measuring, if not ``show``. ``shuffled`` tests whether the model uses the
            figures it was trained on.
        checked: Labelled paraphrases that the check rejects get a score of -1.
        paper: The paper's number for this row, in the suite's ``paper_metric``.
        paper_structures: Likewise by pair structure.
        paper_paraphrases: Likewise by file of labelled paraphrases, without its suffix.
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
        title, about: Heading and first note.
        bank: Folder or file of the bank; overridden by ``--bank``.
        similar_level: Questions that share a concept of this level are similar; null: questions of one group.
        by_structure: Also measure P@5 by whether query and corpus have figures.
        difficulty: Also measure difficulty by a linear regression.
        recall: Also measure R@n, the share of a query's similar questions among its first n.
        agreement: Also measure the correlation of similarities with groups and KH-distances.
        solved: Rows are solvers, measured only by the word problems of ``test`` that they solve.
        paraphrases: Files of labelled paraphrases; rows are measured only by these, and trained on the bank without
            their questions (``data.held_out``, by default these files).
        model, data: Settings ``model.*`` and ``data.*`` of every row.
        questions: Name of a stage -> its budget in this suite.
        paper_metric: Metric of the rows' ``paper``.
        compare: Pairs of row names, the first compared with the second. A row in none of them is compared with the
            first row.
        rows_of: Name of another suite whose rows are used, and its comparisons unless this one has some.
        only: Names of those rows that are used; by default all.
        model_of: Name of another suite whose ``model`` is the default.
        rows, stages: In addition to those of the files, in the order of the files' names.
        name: Name of the suite's file.
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
            raise SuiteError(f"row {rows[0]}: checked: only in suites with paraphrases")
        if self.paraphrases and (others := [name for name in _BANK_TASKS if getattr(self, name)]):
            raise SuiteError(f"paraphrases: cannot be set with {', '.join(others)}, which are measured on the bank")
        if self.solved and (others := [name for name in (*_BANK_TASKS, "paraphrases") if getattr(self, name)]):
            raise SuiteError(f"solved: cannot be set with {', '.join(others)}, which solve no problems")

    def bank_at(self, given: str | None) -> str:
        """Resolve ``--bank``, which may be the folder of the suite's file; without it, return the suite's bank."""
        if given is None:
            return self.bank
        file = Path(given) / Path(self.bank).name
        return str(file) if file.is_file() else given

    def held_out(self, bank: str) -> list[str]:
        """Files whose questions are left out of every training on ``bank``."""
        named: list[str] = self.data.get("held_out") or self.paraphrases
        return [beside(bank, file) for file in named]


def beside(bank: str, file: str) -> str:
    """Return ``file`` in the bank's folder if it exists there, else as given."""
    folder = Path(bank) if Path(bank).is_dir() else Path(bank).parent
    return str(folder / file) if (folder / file).is_file() else file


def load_suite(path: str | Path, only: Sequence[str] | None = None) -> Suite:
    """Load the suite at ``path`` with the rows of its folder, or of ``rows_of``, and their stages.

    Args:
        only: Names of rows; the others are left out.

    Raises:
        SuiteError: A file is missing or malformed, or no row has such a name.
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
            raise SuiteError(f"{path}: compare: {pair} is not a pair of its rows")
    if unknown := suite.questions.keys() - suite.stages.keys():
        raise SuiteError(f"{path}: questions: {', '.join(sorted(unknown))}: no row has such a stage")
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
        settings = OmegaConf.load(file)
    except FileNotFoundError as error:
        raise SuiteError(f"{file}: no such file") from error
    except (OmegaConfBaseException, YAMLError, UnicodeDecodeError) as error:
        raise SuiteError(f"{file}: {str(error).splitlines()[0]}") from error
    if not isinstance(settings, DictConfig):
        raise SuiteError(f"{file}: expected settings by name")
    return typed(kind, settings, str(file))


def typed(kind: type[T], values: DictConfig | Settings, where: str) -> T:
    """``values`` as ``kind``, a dataclass.

    Raises:
        SuiteError: An unknown name, a wrong type, or an invalid value; the message begins with ``where``.
    """
    try:
        return configure(kind, values)
    except ConfigError as error:
        raise SuiteError(f"{where}: {error}") from error


def _refuse(set_by: Mapping[str, str], settings: Settings, where: str = "") -> None:
    for name, place in set_by.items():
        if OmegaConf.select(OmegaConf.create(settings), name, default=_ABSENT) is not _ABSENT:
            raise SuiteError(f"{where}{name}: is set by {place}")
