"""A real server that speaks Milvus's protocol, in a process of its own: ``milvus-lite server``."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tqnet.search.engine import EngineError
from tqnet.search.milvus import MilvusServer

#: Seconds within which it must answer, on a machine that is busy.
_PATIENCE = 120


class LocalServer:
    """Started at once.

    Args:
        folder: Of its data; what another one has left there is served.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Returns when it answers."""
        command = [str(Path(sys.executable).with_name("milvus-lite")), "server", "--data-dir", str(self.folder)]
        self._process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                MilvusServer(self.uri).close()
                return
            except EngineError:
                if self._process.poll() is not None or time.monotonic() > until:
                    raise
                time.sleep(0.1)

    def kill(self) -> None:
        """As ``kill -9`` does."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def forget_indexes(self) -> None:
        """Its files of indexes, which Milvus Lite writes in place: a kill may leave one empty, and then its collection
        cannot be loaded. They are made anew from the records."""
        for folder in self.folder.rglob("indexes"):
            shutil.rmtree(folder)

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()
