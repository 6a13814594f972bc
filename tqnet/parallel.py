"""Work over all cores, in order."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

#: A worker takes a second to start; fewer batches are worked on in this process.
_FEW = 20


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield lists of ``size`` consecutive items; the last may be shorter."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def over_cores(
    function: Callable[..., Result], items: Iterable[Item], size: int = 1000, shared: object = None
) -> Iterator[Result]:
    """Yield ``function(batch)`` of each batch of ``size`` items, in order; many are shared among processes.

    Args:
        function: One that can be pickled, for example of a module.
        items: Read in another thread, as fast as the workers take them: results that are not taken wait in memory.
        shared: If given, ``function(shared, batch)`` is called; each worker reads it once, however large it is.
    """
    batches = batched(items, size)
    first = list(islice(batches, _FEW))
    if len(first) < _FEW:
        yield from map(function if shared is None else partial(function, shared), first)
        return
    import joblib  # scripts of users need no guard around their main part, as multiprocessing would demand

    with tempfile.NamedTemporaryFile(prefix="tqnet-") as file:
        if shared is not None:
            pickle.dump(shared, file)
            file.flush()
            function = partial(_with_shared, function, file.name)
        tasks = (joblib.delayed(function)(batch) for batch in chain(first, batches))
        # Workers would hold their memory for five minutes.
        results: Any = joblib.Parallel(n_jobs=-1, return_as="generator", idle_worker_timeout=2)(tasks)
        yield from results


def _with_shared(function: Callable[..., Result], file: str, batch: list[Item]) -> Result:
    return function(_read_once(file), batch)


@lru_cache(maxsize=1)
def _read_once(file: str) -> Any:
    return pickle.loads(Path(file).read_bytes())
