"""Settings as dataclasses: validated by pydantic, filled from YAML files and ``key=value``, explained by ``--help``.

A docstring under each field is its text in ``--help``; see :mod:`tqnet.training.config`.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, asdict, field, fields, is_dataclass
from functools import partial, wraps
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast, dataclass_transform, get_args, get_origin

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
from yaml import YAMLError

from tqnet.errors import DEBUG, DEBUG_VARIABLE
from tqnet.recipes import config_file

C = TypeVar("C")

Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
#: [0, 1).
ShareBelowOne = Annotated[float, Field(ge=0, lt=1)]
#: (0, 1].
ShareAboveZero = Annotated[float, Field(gt=0, le=1)]
#: (0, 1).
ProperShare = Annotated[float, Field(gt=0, lt=1)]
Count = Annotated[int, Field(ge=1)]
CountOrZero = Annotated[int, Field(ge=0)]
#: NumPy's generators are seeded with 32 bits.
Seed = Annotated[int, Field(ge=0, lt=2**32)]
#: No fp16: its gradient scaler would be one more thing to keep in a checkpoint, and bf16 needs none.
Precision = Literal["auto", "fp32", "bf16"]

#: Default of a setting that the user must give, as OmegaConf writes it.
REQUIRED = "???"


class ConfigError(ValueError):
    """A setting that is unknown, of the wrong type, out of range or in conflict with another; the message names it."""


@dataclass_transform(field_specifiers=(field,))
def settings(kind: type[C]) -> type[C]:
    """Make ``kind`` a dataclass whose constructor raises ConfigError for unknown names, wrong types and bounds.

    Numbers are not read from strings, nor integers from booleans or floats; a float may be given as an integer. Checks
    across fields go into ``__post_init__`` and raise :class:`ConfigError` with the full name of the setting.
    """
    rules = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    made: Any = dataclass(config=rules)(kind)
    validate = made.__init__

    @wraps(validate)
    def init(self: C, *args: Any, **kwargs: Any) -> None:
        try:
            validate(self, *args, **kwargs)
        except ValidationError as error:
            raise ConfigError(_messages(error)) from error

    made.__init__ = init
    return cast(type[C], made)


def section(kind: type[C], **defaults: Any) -> C:
    """A field of settings that are settings themselves, with this recipe's defaults."""
    return cast(C, field(default_factory=partial(kind, **defaults)))


def load_config(kind: type[C], files: list[str], overrides: list[str]) -> C:
    """Return ``kind`` with the YAML files merged in order and then the ``key=value`` overrides.

    Raises:
        ConfigError: Unknown key, wrong type or range, required value not given; names every such key.
    """
    values: Any = OmegaConf.create()
    for name in files:
        try:
            file = config_file(name)
        except FileNotFoundError as error:
            raise ConfigError(str(error)) from error
        values = _merge(values, name, partial(OmegaConf.load, file))
    for override in overrides:
        values = _merge(values, override, partial(OmegaConf.from_dotlist, [override]))
    return configure(kind, values)


def configure(kind: type[C], values: DictConfig | Mapping[str, Any]) -> C:
    """Return ``kind`` with ``values``, which may be nested, over its defaults.

    Raises:
        ConfigError: As :func:`load_config`.
    """
    errors: list[str] = []
    try:
        merged = OmegaConf.merge(_defaults(kind), values)
        if missing := sorted(OmegaConf.missing_keys(merged)):
            errors.append(f"{', '.join(missing)}: not set, neither in a file nor as key=value")
        # As JSON, for there strict validation still builds dataclasses of mappings.
        plain = json.dumps(OmegaConf.to_container(merged, resolve=True), default=str)
        config = TypeAdapter(kind).validate_json(plain)
    except OmegaConfBaseException as error:
        raise ConfigError(f"{error.full_key}: {str(error).splitlines()[0]}") from error
    except ValidationError as error:
        errors.append(_messages(error))
    if errors:
        raise ConfigError("; ".join(errors))
    return config


def _merge(values: Any, source: str, read: Callable[[], Any]) -> Any:
    try:
        new = read()
        if not isinstance(new, DictConfig):
            raise ConfigError(f"{source}: expected settings by name")
        return OmegaConf.merge(values, new)
    except (YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{source}: not YAML: {' '.join(str(error).split())}") from error
    except OmegaConfBaseException as error:
        raise ConfigError(f"{error.full_key or source}: {str(error).splitlines()[0]}") from error


def _defaults(kind: Any) -> dict[str, Any]:
    """Nested, without those settings that have no default."""
    defaults = {
        item.name: item.default if item.default_factory is MISSING else item.default_factory() for item in fields(kind)
    }
    return {
        name: asdict(value) if is_dataclass(value) else value  # type: ignore[arg-type]
        for name, value in defaults.items()
        if value is not MISSING
    }


_PROBLEMS = {
    "unexpected_keyword_argument": "no such setting",
    "missing": "not set",
    "dataclass_type": "is a group of settings, not a single one",
}


def _messages(error: ValidationError) -> str:
    """``optim.lr: must be greater than or equal to 0, not -1; run.epoch: no such setting``."""
    return "; ".join(map(_message, error.errors()))


def _message(error: Any) -> str:
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, ConfigError):  # of __post_init__: names its setting itself
        return str(cause)
    expected = f"{error['msg'].replace('Input should', 'must')}, not {error['input']!r}"
    text = cause or _PROBLEMS.get(error["type"], expected)
    return f"{'.'.join(map(str, error['loc']))}: {text}".removeprefix(": ")


def parse_config(kind: type[C], description: str | None, argv: list[str] | None = None) -> C:
    """Read a recipe's configuration from its command line.

    Raises:
        ConfigError: As :func:`load_config`.
        SystemExit: From argparse: 2 for an invalid command line, 0 after ``--help``.
    """
    parser = argparse.ArgumentParser(
        description=description,
        epilog="\n".join(["settings and their defaults:", *_help(kind, _defaults(kind))]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="YAML",
        help="a file, or a shipped configuration such as small/moco; repeatable",
    )
    parser.add_argument("settings", nargs="*", metavar="key=value", help="e.g. run.epochs=3 optim.lr=1e-4")
    parser.add_argument(DEBUG, action="store_true", help=f"show the traceback of an error, as {DEBUG_VARIABLE}=1 does")
    arguments = parser.parse_intermixed_args(argv)
    for setting in arguments.settings:
        if "=" not in setting:
            parser.error(f"{setting!r} is not of the form key=value")
    return load_config(kind, arguments.config, arguments.settings)


def save_config(config: Any, path: Path) -> None:
    """Write the resolved configuration as YAML."""
    path.write_text(OmegaConf.to_yaml(OmegaConf.create(asdict(config))), encoding="utf-8")


def _help(kind: Any, defaults: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Each setting as ``name=default``, its choices and its docstring; then the groups within, under their headings."""
    texts = {name: text for base in reversed(kind.__mro__) for name, text in _docstrings(base).items()}
    types = {name: item.annotation for name, item in kind.__pydantic_fields__.items()}
    groups = {name: group for name, group in types.items() if is_dataclass(group)}
    for name in [name for name in types if name not in groups]:
        value = defaults[name]
        shown = "(required)" if value == REQUIRED else json.dumps(value) if not isinstance(value, str) else value
        choices = _choices(types[name])
        yield f"  {prefix}{name}={shown}" + (f"  ({', '.join(choices)})" if choices else "")
        yield textwrap.fill(texts.get(name, ""), 100, initial_indent=" " * 8, subsequent_indent=" " * 8)
    for name, group in groups.items():
        yield f"\n{prefix}{name}: {(group.__doc__ or '').splitlines()[0]}"
        yield from _help(group, defaults[name], f"{prefix}{name}.")


def _docstrings(kind: type) -> dict[str, str]:
    """The docstring under each field that ``kind`` itself defines, from the source of its module."""
    if not is_dataclass(kind):
        return {}
    # Not by pydantic: it finds a class through the frames of the import, which depends on what was imported before.
    source = Path(sys.modules[kind.__module__].__file__ or "").read_text(encoding="utf-8")
    classes = (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
    body = next(node.body for node in classes if node.name == kind.__name__)
    return {
        field.target.id: " ".join(below.value.value.split())
        for field, below in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
    }


def _choices(annotation: Any) -> tuple[str, ...]:
    """The values of a ``Literal``, alone or within an optional or a list."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return next((choices for inner in get_args(annotation) if (choices := _choices(inner))), ())
