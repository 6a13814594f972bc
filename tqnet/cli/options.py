"""Options as frozen dataclasses: a field is an option, and groups of options are inherited.

A command subclasses :class:`Command` and the groups it needs; ``parse`` is the only reader of argparse's namespace.

    @dataclass(frozen=True, kw_only=True)
    class Show(Command, ReadingOptions, name="show"):
        "Show a bank."

        bank: str = argument(BANK, metavar="BANK")
        first: int = count("number of questions", default=3)

        def run(self) -> None:
            print(list(self.load(self.bank))[: self.first])
"""

from __future__ import annotations

import argparse
import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, field, fields
from pathlib import Path
from typing import Any, ClassVar, Self

from tqnet.libraries import quiet


def whole_number(minimum: int) -> Callable[[str], int]:
    """Return an argparse type: whole numbers of at least ``minimum``."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if value < minimum:
            raise argparse.ArgumentTypeError(f"{value} is less than {minimum}")
        return value

    return read


def number(minimum: float = -math.inf, maximum: float = math.inf, *, above: bool = False) -> Callable[[str], float]:
    """Return an argparse type: finite numbers from ``minimum``, excluded if ``above``, to ``maximum``."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise argparse.ArgumentTypeError(f"{text!r} is not a number")
        if value > maximum or value < minimum or (above and value == minimum):
            bounds = f"between {minimum:g} and {maximum:g}" if maximum < math.inf else f"{minimum:g} or more"
            raise argparse.ArgumentTypeError(f"{text} is not {bounds}{f' (excluding {minimum:g})' if above else ''}")
        return value

    return read


def assignment(example: str) -> Callable[[str], tuple[str, str]]:
    """Return an argparse type: ``NAME=VALUE``; the error shows ``example``."""

    def read(text: str) -> tuple[str, str]:
        name, equals, value = text.partition("=")
        if not (name.strip() and equals and value):
            raise argparse.ArgumentTypeError(f"{text}: expected {example}")
        return name.strip(), value

    return read


def torch_device(name: str) -> str:
    """Argparse type: check that torch can use a device on this machine."""
    import torch

    try:
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError) as error:
        raise argparse.ArgumentTypeError(f"{name}: {str(error).splitlines()[0]}") from None
    return name


def option(
    help: str, *flags: str, default: Any = None, required: bool = False, exclusive: str = "", **more: Any
) -> Any:
    """Make a field an option, ``--name-of-the-field`` unless ``flags`` say otherwise.

    With an empty tuple as default, the option takes several values.

    Args:
        exclusive: Name of a group of options of which only one may be given.
        more: Keyword arguments for ``add_argument``.
    """
    metadata = {"flags": flags, "exclusive": exclusive, "settings": {"help": help, **more}}
    return field(metadata=metadata) if required else field(default=default, metadata=metadata)


def switch(help: str) -> Any:
    """Make a field an option without a value."""
    return option(help, default=False)


def repeated(help: str, **more: Any) -> Any:
    """Make a field an option that may be given several times."""
    return option(f"{help}; repeatable", default=(), action="append", **more)


def argument(help: str, *, default: Any = MISSING, **more: Any) -> Any:
    """Make a field a positional argument."""
    return field(default=default, metadata={"flags": None, "settings": {"help": help, **more}})


def count(help: str, *flags: str, minimum: int = 1, **more: Any) -> Any:
    """Make a field an option that takes a whole number of at least ``minimum``."""
    return option(help, *flags, type=whole_number(minimum), **more)


class Options:
    """Base of option groups, with or without a ``heading`` and ``explanation`` in ``--help``."""

    heading: ClassVar[str | None] = None
    explanation: ClassVar[str | None] = None

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the class's own options, then those of its bases."""
        remaining = {item.name: item for item in fields(cls) if item.metadata}  # type: ignore[arg-type]
        for owner in cls.__mro__:
            items = [remaining.pop(name) for name in inspect.get_annotations(owner) if name in remaining]
            heading = vars(owner).get("heading")
            titled = items and heading
            target: Any = parser.add_argument_group(heading, vars(owner).get("explanation")) if titled else parser
            exclusive: dict[str, Any] = {}
            for item in items:
                word = item.metadata.get("exclusive")
                if word and word not in exclusive:
                    exclusive[word] = target.add_mutually_exclusive_group()
                _add_argument(exclusive[word] if word else target, item)

    @classmethod
    def parse(cls, args: argparse.Namespace) -> Self:
        values = {item.name: getattr(args, item.name) for item in fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


def _add_argument(target: Any, item: Any) -> None:
    settings, flags = dict(item.metadata["settings"]), item.metadata["flags"]
    if item.default is False:
        settings["action"] = "store_true"
    elif item.default is not MISSING:
        if item.default == () and "action" not in settings:
            settings.setdefault("nargs", "+")
        settings["default"] = list(item.default) if item.default == () else item.default
        if item.default not in (None, (), ""):
            settings["help"] += " (default: %(default)s)"
    if flags is None:
        target.add_argument(item.name, **settings)
        return
    flags = flags or (f"--{item.name.replace('_', '-')}",)
    target.add_argument(*flags, dest=item.name, required=item.default is MISSING, **settings)


class Command(Options):
    """Base of commands: the first sentence of the docstring is the help, the whole docstring the description.

    Attributes:
        command_name: Name as typed after ``tqnet``.
        registered: All commands with a name, in the order of ``tqnet --help``.
    """

    command_name: ClassVar[str]
    registered: ClassVar[list[type[Command]]] = []

    def __init_subclass__(cls, name: str = "", **settings: Any) -> None:
        super().__init_subclass__(**settings)
        cls.command_name = name
        if name:
            cls.registered.append(cls)

    @classmethod
    def execute(cls, args: argparse.Namespace) -> int:
        quiet()
        return cls.parse(args).run() or 0

    def run(self) -> int | None:
        """Run the command and return its exit code; None for 0."""
        raise NotImplementedError


@contextmanager
def naming(flag: str) -> Iterator[None]:
    """Prefix the message of an OSError raised inside with the option's name."""
    try:
        yield
    except OSError as error:
        raise OSError(f"{flag}: {error}") from error


def output_file(name: str) -> Path:
    """Return the path ``name`` of ``--out``, checked before anything is computed.

    Raises:
        FileNotFoundError: Its folder does not exist.
        IsADirectoryError: It is a folder.
    """
    out = Path(name)
    if out.is_dir():
        raise IsADirectoryError(f"--out: {out} is a folder, not a file")
    if not out.absolute().parent.is_dir():
        raise FileNotFoundError(f"--out: {out.parent}: no such folder")
    return out


def write_lines(out: Path, lines: Sequence[str]) -> None:
    """Write the lines atomically."""
    from tqnet.files import atomic

    with atomic(out) as temporary:
        temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
