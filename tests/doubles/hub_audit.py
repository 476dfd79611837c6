"""A Hub with many repositories: it lists them by owner, limits how much it is asked, and takes its time."""

import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from werkzeug.wrappers import Request, Response

from tests.doubles.hub import HubDouble

PAGE = 50


class Limit:
    """So many requests in each window of so many seconds; the headers are those of the Hub (huggingface.co/docs/hub/rate-limits)."""

    def __init__(self, requests: int, seconds: float) -> None:
        self.requests, self.seconds = requests, seconds
        self.refused = 0
        self._lock = threading.Lock()
        self._ends = self._left = 0.0

    def take(self) -> tuple[bool, dict[str, str]]:
        """Count a request: whether it is let in, and what is said about the next."""
        with self._lock:
            now = time.monotonic()
            if now >= self._ends:
                self._ends, self._left = now + self.seconds, self.requests
            fine = self._left > 0
            self._left -= fine
            self.refused += not fine
            return fine, {"RateLimit": f'"api";r={int(self._left)};t={int(self._ends - now)}'}


class ManyDouble(HubDouble):
    """Repositories that may share a folder. `latency` are seconds that each answer takes; `limit` is None for none."""

    def __init__(self, folders: Mapping[str, Path], latency: float = 0, limit: Limit | None = None) -> None:
        super().__init__(folders)
        self.latency, self.limit = latency, limit

    def _serve(self, environ: Any, start_response: Any) -> Any:
        time.sleep(self.latency)  # outside of the lock: a real Hub answers many at once
        if self.limit is None or "agent-harnesses" in environ["PATH_INFO"]:
            return super()._serve(environ, start_response)
        fine, headers = self.limit.take()
        if not fine:
            return _rows(429, {"error": "Too many requests"}, headers)(environ, start_response)

        def start(status: str, rows: list[tuple[str, str]], *more: Any) -> Any:
            return start_response(status, [*rows, *headers.items()], *more)

        return super()._serve(environ, start)

    def _answer(self, request: Request, path: str, token: str) -> Response:
        if path != "/api/models":
            return super()._answer(request, path, token)
        author, start = request.args["author"], int(request.args.get("cursor", 0))
        names = [
            name for name, repository in self.repositories.items() if name.startswith(f"{author}/") and repository.readable(token)
        ]
        rows = [{"_id": "1", "id": name, "sha": self.repositories[name].sha("main")} for name in names[start : start + PAGE]]
        more = {"Link": f'<{self.url}/api/models?author={author}&cursor={start + PAGE}>; rel="next"'}
        return _rows(200, rows, more if len(names) > start + PAGE else {})


def _rows(status: int, body: Any, headers: Mapping[str, str]) -> Response:
    return Response(json.dumps(body), status=status, headers=dict(headers), mimetype="application/json")
