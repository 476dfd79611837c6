"""A Hugging Face Hub that keeps state: model repositories served from real git, on this machine alone.

The shapes are those that huggingface_hub 2.4.0 asks for (hf_api.py, community.py, utils/_pagination.py); what Git LFS keeps is sent from another
host, as the real Hub does. `log` holds every request with the host that it went to and the token that it showed.

    with HubDouble({"acme/model": folder}) as hub:
        HfApi(endpoint=hub.url, token="hf_reader")
"""

import json
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import quote, unquote

from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response

from tests.doubles.hub_commit import commit, preupload
from tests.doubles.hub_community import Community, Json
from tests.doubles.hub_git import HubRepository, NoEntryError, NoRevisionError
from tests.doubles.planned import Planned, happens

TOKEN = "hf_reader_0123456789"
PER_PAGE = 50


class Seen(NamedTuple):
    """One request: as in "GET /api/models/acme/model/refs", the host that it went to, and the token that it showed, "" for none."""

    line: str
    host: str
    token: str


class _Quiet(WSGIRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


class HubDouble:
    """Some repositories. Tokens in `tokens` are valid; what they may read is said by each repository."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self.repositories = {name: HubRepository(folder, name) for name, folder in folders.items()}
        self.communities = {name: Community(repository) for name, repository in self.repositories.items()}
        self.tokens = {TOKEN}
        self.log: list[Seen] = []
        self.read_only = False
        self.connection: socket.socket | None = None  # that of the request that is being answered
        self._planned: list[Planned] = []
        self._lock = threading.RLock()
        self._server = make_server("127.0.0.1", 0, self._serve, threaded=True, request_handler=_Quiet)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.elsewhere = f"http://localhost:{self._server.server_port}"  # another name, so another host to a client

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def asked(self) -> list[str]:
        """The requests but for the one that the client makes of its own accord (utils/_detect_agent.py)."""
        return [seen.line for seen in self.log if "/api/agent-harnesses" not in seen.line]

    def answer(
        self, method: str, path: str, status: int, body: Json = None, *, times: int = 1, headers: Mapping[str, str] | None = None
    ) -> None:
        """Answer the next `times` requests whose path has a match for the pattern `path` with `status` and `body`."""
        self._planned.append(
            Planned(method, path, lambda: (status, {} if body is None else body), times=times, headers=headers or {})
        )

    def when(self, method: str, path: str, act: Callable[[], object]) -> None:
        """Do something once, before the next request that matches; ConnectionAbortedError cuts the connection."""

        def run() -> None:
            act()

        self._planned.append(Planned(method, path, run))

    # What the Hub answers.

    def _serve(self, environ: Any, start_response: Any) -> Any:
        request = Request(environ)
        request.get_data(cache=True, parse_form_data=False)
        with self._lock:
            raw = str(environ.get("REQUEST_URI", request.path)).split("?")[0]  # where %2F is still one: revisions hold it
            token = request.headers.get("Authorization", "").removeprefix("Bearer ")
            query = f"?{request.query_string.decode()}" if request.query_string else ""
            self.log.append(Seen(f"{request.method} {raw}{query}", request.host, token))
            self.connection = environ["werkzeug.socket"]
            try:
                planned = happens(self._planned, request, after=False)
            except ConnectionAbortedError:  # as a test arranged it
                environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
                raise
            response = _json(*planned[0], planned[1]) if planned else self._answer(request, raw, token)
        response.autocorrect_location_header = False
        return response(environ, start_response)

    def _answer(self, request: Request, path: str, token: str) -> Response:
        if path.startswith("/elsewhere/"):
            return self._content(path)
        if token and token not in self.tokens:
            return _error(401, "", "Invalid credentials in Authorization header")
        if path == "/api/whoami-v2":
            me = {"type": "user", "id": "u1", "name": "drift-bot", "auth": {"type": "access_token"}, "orgs": []}
            return _json(200, me) if token else _error(401, "", "Invalid username or password.")
        if path == "/api/validate-yaml":  # which the client asks before it sends a README
            return _json(200, {"errors": [], "warnings": []})
        try:
            if path.startswith("/api/models/"):
                return self._api(request, path.removeprefix("/api/models/"), token)
            name, found, rest = path.strip("/").partition("/resolve/")
            if found and name in self.repositories:
                revision, _, file = rest.partition("/")
                return self._resolve(self.repositories[name], unquote(revision), unquote(file), token)
        except NoRevisionError as error:
            return _error(404, "RevisionNotFound", f"Invalid rev id: {error}")
        except NoEntryError as error:
            return _error(404, "EntryNotFound", f"Entry not found: {error}")
        return _none_such(token)

    def _api(self, request: Request, path: str, token: str) -> Response:
        name = max((name for name in self.repositories if path == name or path.startswith(name + "/")), key=len, default="")
        repository = self.repositories.get(name)
        if repository is None or not repository.readable(token):
            return _none_such(token)
        kind, *parts = [unquote(part) for part in path[len(name) :].split("/")[1:]] or [""]
        if request.method == "POST" and self.read_only and kind != "paths-info":
            return _error(403, "", "You don't have the rights to do this")
        return self._about(request, repository, kind, parts)

    def _about(self, request: Request, repository: HubRepository, kind: str, parts: list[str]) -> Response:
        match kind, parts:
            case ("", []):
                return _json(200, repository.info("main"))
            case ("revision", [revision]):
                return _json(200, repository.info(revision))
            case ("refs", []):
                return _json(200, repository.refs(pulls=bool(request.args.get("include_prs"))))
            case ("commits", [revision]):
                return self._commits(request, repository, revision)
            case ("tree", [revision, *folders]):
                return self._tree(request, repository, revision, "/".join(folders))
            case ("paths-info", [revision]):
                wanted = request.form.getlist("paths") or (request.get_json(silent=True) or {}).get("paths", [])
                return _json(200, [row for row in repository.tree(revision, recursive=True) if row["path"] in wanted])
            case ("preupload", [_]):
                return _json(200, preupload(repository, request))
            case ("commit", [revision]):
                return _json(*commit(repository, self.communities[repository.name], request, revision, self.url))
            case ("discussions", _):
                return _json(*self.communities[repository.name].answer(request, parts))
            case _:
                return _error(404, "", "Not found")

    def _commits(self, request: Request, repository: HubRepository, revision: str) -> Response:
        most = min(int(request.args.get("limit", PER_PAGE)), repository.most_commits)
        page = int(request.args.get("p", 0))
        rows, total = repository.commits(revision, page * most, most)
        more = (page + 1) * most < total
        return _json(200, rows, self._link(request, f"p={page + 1}&limit={most}") if more else {})

    def _tree(self, request: Request, repository: HubRepository, revision: str, path: str) -> Response:
        recursive = request.args.get("recursive", "").lower() in ("true", "1")
        rows = repository.tree(revision, path, recursive=recursive)
        start = int(request.args.get("cursor", 0))
        end = start + repository.files
        more = end < len(rows)
        return _json(200, rows[start:end], self._link(request, f"recursive={recursive}&cursor={end}") if more else {})

    def _link(self, request: Request, query: str) -> dict[str, str]:
        path = str(request.environ.get("REQUEST_URI", request.path)).split("?")[0]
        return {"Link": f'<{self.url}{path}?{query}>; rel="next"'}

    def _resolve(self, repository: HubRepository, revision: str, path: str, token: str) -> Response:
        if not repository.readable(token):
            return _none_such(token)
        if not repository.readable(token, path):
            return _error(403 if token else 401, "GatedRepo", f"Access to model {repository.name} is restricted.")
        sha, oid = repository.blob(revision, path)
        headers = {"X-Repo-Commit": sha, "Accept-Ranges": "bytes"}
        content = repository.kept(path, oid)
        if content is None:
            return Response(repository.raw("cat-file", "blob", oid), headers=headers | {"ETag": f'"{oid}"'})
        place = f"{self.elsewhere}/elsewhere/{repository.name}/{quote(path)}?oid={oid}"
        return Response(status=302, headers=headers | {"X-Linked-Size": str(len(content)), "Location": place})

    def _content(self, path: str) -> Response:
        name = max((name for name in self.repositories if path.startswith(f"/elsewhere/{name}/")), key=len)
        file = unquote(path.removeprefix(f"/elsewhere/{name}/"))
        repository = self.repositories[name]
        oid = self.log[-1].line.rpartition("?oid=")[2]
        return Response(repository.kept(file, oid) or b"", headers={"ETag": '"elsewhere"'})


def _none_such(token: str) -> Response:
    return _error(404 if token else 401, "RepoNotFound", "Repository not found" if token else "Invalid username or password.")


def _error(status: int, code: str, message: str) -> Response:
    return _json(status, {"error": message}, {"X-Error-Message": message, **({"X-Error-Code": code} if code else {})})


def _json(status: int, body: Json, headers: Mapping[str, str] | None = None) -> Response:
    return Response(json.dumps(body), status=status, headers=dict(headers or {}), mimetype="application/json")
