"""What a model makes of texts, kept in the cache for every run that would make the same of them."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from filelock import FileLock
from torch import nn

from tqnet.augment.paraphrase.problem import Problem
from tqnet.questions.table import cache_folder
from tqnet.version import __version__

log = logging.getLogger(__name__)

#: Problems -> the text of each, and what a model has made of it.
Make = Callable[[Sequence[Problem]], Iterable[tuple[str, list[str]]]]


def made_of_each(problems: Sequence[Problem], make: Make, model: nn.Module, decides: object) -> dict[str, list[str]]:
    """What ``make`` gives for each text, made of those alone that no run has had before.

    Results are on the disk as they come, so that a run that is killed loses few. A run waits for another that makes
    texts by the same model.

    Args:
        decides: For JSON: beside the weights of ``model`` and the text, all that decides what is made of it.
    """
    folder = cache_folder() / "made"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{_digest(model, decides)}.jsonl"
    with FileLock(f"{file}.lock"):
        made = _read(file)
        missing = [problem for problem in problems if problem.text not in made]
        if len(missing) < len(problems):
            log.info("%d of %d texts were made before: %s", len(problems) - len(missing), len(problems), file)
        with file.open("a", encoding="utf-8") as stream:
            for text, results in make(missing):
                made[text] = results
                # The line ends before, not behind it: what a killed run has left unfinished spoils no other.
                stream.write("\n" + json.dumps([text, results], ensure_ascii=False))
                stream.flush()
    return {problem.text: made[problem.text] for problem in problems}


def _digest(model: nn.Module, decides: object) -> str:
    digest = hashlib.blake2b(json.dumps([__version__, decides], sort_keys=True).encode(), digest_size=16)
    for name, weights in sorted(model.state_dict().items()):
        digest.update(name.encode() + weights.detach().float().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _read(file: Path) -> dict[str, list[str]]:
    made = {}
    for line in file.read_text(encoding="utf-8").split("\n") if file.is_file() else ():
        try:
            text, results = json.loads(line)
        except ValueError:  # unfinished, or the empty first one
            continue
        made[text] = results
    return made
