"""Questions in English, and spaCy's model of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tqnet.commands.options import naming

if TYPE_CHECKING:
    from tqnet.paraphrase.problem import Parser


def add_language_model_argument(parser: argparse.ArgumentParser) -> None:
    """``--language-model``."""
    parser.add_argument(
        "--language-model", metavar="NAME", help="spaCy's model of English, a name or a folder; by default the extra's"
    )


def english_parser(args: argparse.Namespace, size: int = 2000) -> Parser:
    """What parses with ``--language-model``.

    Args:
        size: Texts whose parses are kept.

    Raises:
        OSError: There is no such model.
    """
    from tqnet.paraphrase.problem import DEFAULT_MODEL, Parser

    with naming("--language-model"):
        return Parser(args.language_model or DEFAULT_MODEL, size)


def english_texts(questions: Iterable[tuple[str, str, str | None]]) -> dict[str, str]:
    """The distinct texts of questions in English -> the id of the first that has it; a line says how many are left out.

    Args:
        questions: Text, id and, where it is known, language of each.
    """
    from tqnet.paraphrase.check.language import is_english

    told = [question for question in questions if question[0].strip()]
    texts: dict[str, str] = {}
    left = 0
    for text, name, language in told:
        if is_english(text, language):
            texts.setdefault(text, name)
        else:
            left += 1
    if left:
        print(f"tqnet: {left:,} of {len(told):,} questions are left out: not in English", file=sys.stderr)
    return texts
