"""A Git LFS server after git-lfs/git-lfs, docs/api/batch.md and basic-transfers.md, and the other host that it keeps contents on.

Both remember which credentials they were shown: of the second, nobody's may ever be the token.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response

MEDIA = "application/vnd.git-lfs+json"


class _Quiet(WSGIRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


class Host:
    """One HTTP server: `log` has its requests, `credentials` what was sent as Authorization."""

    def __init__(self, answer: Callable[[Request], Response]) -> None:
        self.log: list[str] = []
        self.credentials: list[str] = []
        self.headers: list[Mapping[str, str]] = []
        self._answer = answer
        self._server = make_server("127.0.0.1", 0, self._serve, threaded=True, request_handler=_Quiet)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _serve(self, environ: Any, start_response: Any) -> Any:
        request = Request(environ)
        self.log.append(f"{request.method} {request.path}")
        self.credentials.append(request.headers.get("Authorization", ""))
        self.headers.append(dict(request.headers))
        return self._answer(request)(environ, start_response)


@dataclass
class LfsDouble:
    """`server` is GITHUB_SERVER_URL, `storage` the host of the contents. `override`, `status` and `redirect` let a test spoil the answer.

    `override` changes the answer about one object, `sent` what is downloaded, and `location` sends batch or download elsewhere.
    """

    token: str
    repository: str = "acme/model"
    contents: dict[str, bytes] = field(default_factory=dict[str, bytes])
    override: Callable[[dict[str, Any]], object] = lambda _: None
    sent: Callable[[bytes], bytes] = lambda content: content
    status: int = 200
    location: dict[str, str] = field(default_factory=dict[str, str])

    def __enter__(self) -> Self:
        self.server, self.storage = Host(self._batch), Host(self._download)
        return self

    def __exit__(self, *_: object) -> None:
        self.server.close()
        self.storage.close()

    def add(self, content: bytes) -> bytes:
        """Keep a content; its pointer."""
        oid = hashlib.sha256(content).hexdigest()
        self.contents[oid] = content
        return pointer_to(content)

    def _batch(self, request: Request) -> Response:
        if "batch" in self.location:
            return Response(status=307, headers={"Location": self.location["batch"]})
        if request.path != f"/{self.repository}.git/info/lfs/objects/batch" or request.method != "POST":
            return _said(404, {"message": "Not found"})
        if request.headers.get("Accept") != MEDIA or request.headers.get("Content-Type") != MEDIA:
            return _said(406, {"message": "Not Acceptable"})
        given = request.authorization
        if given is None or (given.type, given.username, given.password) != ("basic", "x-access-token", self.token):
            return _said(401, {"message": "Credentials needed"})
        if self.status != 200:
            return _said(self.status, {"message": "No"})
        asked = request.get_json(force=True)
        assert asked["operation"] == "download"
        assert len(asked["objects"]) <= 100
        return _said(200, {"transfer": "basic", "objects": [self._place(one) for one in asked["objects"]]})

    def _place(self, asked: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {"oid": asked["oid"], "size": asked["size"], "authenticated": True}
        if asked["oid"] not in self.contents:
            return found | {"error": {"code": 404, "message": "Object does not exist"}}
        href = f"{self.storage.url}/{asked['oid']}?signature=abc"
        found["actions"] = {"download": {"href": href, "header": {"Authorization": "Storage only"}, "expires_in": 300}}
        self.override(found)
        return found

    def _download(self, request: Request) -> Response:
        if "download" in self.location and request.path != "/moved":
            return Response(status=302, headers={"Location": self.location["download"]})
        oid = request.args.get("oid", request.path.strip("/"))
        if oid not in self.contents:
            return Response("no", status=404)
        return Response(self.sent(self.contents[oid]), mimetype="application/octet-stream")


def pointer_to(content: bytes) -> bytes:
    """The pointer that git-lfs writes for a content."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{hashlib.sha256(content).hexdigest()}\nsize {len(content)}\n".encode()


def _said(status: int, body: object) -> Response:
    return Response(json.dumps(body), status=status, content_type=MEDIA)
