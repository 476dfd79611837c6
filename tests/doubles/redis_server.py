"""A real Redis server for a test, from the machine's own package, with nothing that outlives it."""

import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Self


class RedisServer:
    """Runs below `folder` on a free port of this machine; writes every change down, as the compose file asks for.

    with RedisServer(folder) as server:
        Queue(server.url)
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self._port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, with what it wrote down before, and wait until it answers."""
        program = shutil.which("redis-server")
        assert program is not None
        settings = {"port": str(self._port), "bind": "127.0.0.1", "dir": str(self._folder), "appendonly": "yes", "save": ""}
        arguments = [part for name, value in settings.items() for part in (f"--{name}", value)]
        self._process = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 20
        while not self._answers():
            assert self._process.poll() is None, "redis-server has ended"
            assert time.monotonic() < until, "redis-server does not answer"
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop it as an operator does."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)
            self._process = None

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False
