"""A real ``tqnet serve``, and a real browser."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from playwright.sync_api import Browser, sync_playwright

CHROMIUM = shutil.which("chromium")

_ROOT = Path(__file__).parents[2]


@contextmanager
def serving(index: str | Path, *arguments: str, printed: list[str] | None = None) -> Iterator[str]:
    """The address of a server of ``index`` on a free port, which ends with the block.

    Args:
        printed: Takes the lines that it prints, on stdout or stderr.

    Raises:
        RuntimeError: It has not started; the message is its own.
    """
    command = [sys.executable, "-m", "tqnet.cli", "serve", str(index), "--port", "0", *arguments]
    environment = os.environ | {"PYTHONPATH": str(_ROOT)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        lines: list[str] = [] if printed is None else printed
        reader = Thread(target=lines.extend, args=(server.stdout,))  # a server whose lines nobody reads would stall
        try:
            for line in server.stdout or ():
                lines.append(line)
                if address := re.search(r"http://\S+(?=/ )", line):
                    reader.start()
                    yield address[0]
                    return
            raise RuntimeError("".join(lines))
        finally:
            server.terminate()
            if reader.ident is not None:
                reader.join()


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless one that this machine has installed."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()
