"""A GitHub that keeps state: one repository with one pull request, served from a real git repository.

Every request and every answer is held to GitHub's published description: assert `violations == []`. On top of
it, what GitHub documents elsewhere: comment bodies over 65,536 characters are refused, and lists come in pages.

    with GitHubDouble(folder, base="main", head="change") as github:
        connect(github.url, "token", retry=None, between_requests=0, between_writes=0)
"""

import json
import socket
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal, Self

from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule
from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response

from tests.doubles.contract import Contract
from tests.doubles.github_checks import Checks
from tests.doubles.github_git import GitShapes, NotThereError
from tests.doubles.github_reads import Answer, Json, Route, Variables, always
from tests.doubles.github_reads import routes as reads
from tests.doubles.github_reviews import Reviews
from tests.doubles.planned import Planned, happens

LONGEST_BODY = 65_536
FORBIDDEN = (403, {"message": "Resource not accessible by integration"})
NOT_FOUND = (404, {"message": "Not Found"})
WRITES = ("POST", "PATCH", "PUT", "DELETE")
RIGHTS = {"/pulls": "pull-requests", "/issues": "pull-requests", "/check-runs": "checks", "/code-scanning": "security-events"}
"""Which of the `permissions:` of a job a request is held to; for the rest it is contents. (`issues` would do for comments too.)"""
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class _Quiet(WSGIRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


class GitHubDouble:
    """One repository, one pull request. The attributes may be set at any time; the next request sees them."""

    def __init__(
        self,
        folder: Path,
        *,
        base: str = "main",
        head: str = "change",
        number: int = 1,
        repository: str = "acme/model",
        prefix: str = "",
    ) -> None:
        self.base, self.head, self.number, self.repository = base, head, number, repository
        self.title, self.body = "Change the tokenizer", ""
        self.state: Literal["open", "closed"] = "open"
        self.draft = self.merged = self.read_only = False
        self.head_repository: Literal["same", "fork", "gone"] = "same"
        self.rights: Mapping[str, str] | None = None  # the `permissions:` of the job, None for all
        self.login, self.kind = "github-actions[bot]", "Bot"
        self.comments: dict[int, Json] = {}
        self.log: list[str] = []
        self.credentials: set[str] = set()
        self._planned: list[Planned] = []
        self._ids = 1000
        self._lock = threading.RLock()
        self._server = make_server("127.0.0.1", 0, self._serve, threaded=True, request_handler=_Quiet)
        self._prefix = prefix  # such as /api/v3, below which GitHub Enterprise Server has its API
        self.url = f"http://127.0.0.1:{self._server.server_port}{prefix}"
        self._contract = Contract(self.url)
        self.git = GitShapes(folder, self._contract, repository)
        self.checks = Checks(self.git, self._contract, self._next_id)
        self.reviews = Reviews(
            self.git,
            self._contract,
            number,
            next_id=self._next_id,
            sides=lambda: (self._merge_base(), self.head),
            user=lambda: self._user(self.login, self.kind),
        )
        self._routes = Map(self._rules(), strict_slashes=False, merge_slashes=False)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def violations(self) -> list[tuple[str, str, str]]:
        """What went against GitHub's description so far."""
        return self._contract.violations

    # What a test arranges.

    def answer(
        self, method: str, path: str, status: int, body: Json, *, times: int = 1, headers: Mapping[str, str] | None = None
    ) -> None:
        """Answer the next `times` requests whose path has a match for the pattern `path` with `status` and `body`."""
        self._planned.append(Planned(method, path, lambda: (status, body), times=times, headers=headers or {}))

    def when(self, method: str, path: str, act: Callable[[], object], *, after: bool = False) -> None:
        """Do something once, before (or after) the next request that matches; ConnectionAbortedError cuts the connection."""

        def run() -> None:
            act()

        self._planned.append(Planned(method, path, run, after=after))

    def comment(self, body: str, *, login: str | None = None, kind: str = "User") -> int:
        """Let somebody else (by default: this double's own bot) comment; the comment's id."""
        number = self._next_id()
        user = (self.login, self.kind) if login is None else (login, kind)
        self.comments[number] = self._comment(number, body, *user)
        return number

    def bodies(self) -> list[str]:
        """The texts of all comments, oldest first."""
        return [comment["body"] for comment in self.comments.values()]

    def writes(self) -> list[str]:
        """The requests that wrote, in order."""
        return [line for line in self.log if line.startswith(WRITES)]

    # What GitHub answers.

    def _rules(self) -> list[Rule]:
        pull, issue = f"/pulls/{self.number}", f"/issues/{self.number}"
        routes: dict[str, Route] = {
            **reads(self.git),
            **self.checks.routes(),
            **self.reviews.routes(),
            "GET ": always(self._repository),
            f"GET {pull}": always(self._pull),
            f"GET {pull}/commits": always(lambda: self.git.commits("--reverse", f"{self.base}..{self.head}")[:250]),
            f"GET {issue}": always(self._issue),
            f"GET {issue}/comments": always(lambda: list(self.comments.values())),
            f"POST {issue}/comments": self._create,
            "GET /issues/comments/<int:number>": lambda _, values: (200, self._known(values)),
            "PATCH /issues/comments/<int:number>": self._edit,
            "DELETE /issues/comments/<int:number>": self._delete,
        }
        rules = [Rule("/user", methods=["GET"], endpoint=always(lambda: FORBIDDEN[1], FORBIDDEN[0]))]
        for operation, route in routes.items():
            method, path = operation.split(" ", 1)
            rules.append(Rule(f"/repos/{self.repository}{path}", methods=[method], endpoint=route))
        return rules

    def _create(self, request: Request, _: Variables) -> Answer:
        body = request.get_json()["body"]
        return _unfit(body) or (201, self.comments[self.comment(body)])

    def _edit(self, request: Request, values: Variables) -> Answer:
        body = request.get_json()["body"]
        comment = self._known(values)
        if refusal := _unfit(body):
            return refusal
        comment["body"] = body
        return 200, comment

    def _delete(self, _: Request, values: Variables) -> Answer:
        del self.comments[self._known(values)["id"]]
        return 204, None

    def _known(self, values: Variables) -> Json:
        if values["number"] not in self.comments:
            raise NotThereError(str(values["number"]))
        return self.comments[values["number"]]

    def _next_id(self) -> int:
        self._ids += 1
        return self._ids

    def _merge_base(self) -> str:
        return self.git.merge_base(self.base, self.head)

    def _repository(self, owner: str = "") -> Json:
        name = self.repository.split("/")[1]
        owner = owner or self.repository.split("/")[0]
        return self._contract.shape(
            "full-repository",
            name=name,
            full_name=f"{owner}/{name}",
            owner=self._user(owner, "Organization"),
            default_branch="main",
            url=f"{self.url}/repos/{owner}/{name}",
            private=False,
            has_downloads=True,
        )

    def _pull(self) -> Json:
        owner = self.repository.split("/")[0]
        head_owner = {"same": owner, "fork": "contributor", "gone": ""}[self.head_repository]
        files = self.git.difference(self._merge_base(), self.head)
        return self._contract.shape(
            "pull-request",
            number=self.number,
            state=self.state,
            title=self.title,
            body=self.body,
            draft=self.draft,
            merged=self.merged,
            user=self._user("dev", "User"),
            base=self._side(self.base, owner),
            head=self._side(self.head, head_owner),
            changed_files=len(files),
            merge_commit_sha=None,
            author_association="CONTRIBUTOR",
            url=f"{self.git.api}/pulls/{self.number}",
            issue_url=f"{self.git.api}/issues/{self.number}",
            comments_url=f"{self.git.api}/issues/{self.number}/comments",
        )

    def _side(self, ref: str, owner: str) -> Json:
        repository = self._repository(owner) if owner else None
        user = self._user(owner or "ghost", "User")
        return {"label": f"{owner}:{ref}", "ref": ref, "sha": self.git.sha(ref), "user": user, "repo": repository}

    def _issue(self) -> Json:
        url = f"{self.git.api}/issues/{self.number}"
        return self._contract.shape(
            "issue", number=self.number, url=url, title=self.title, state=self.state, user=self._user("dev", "User")
        )

    def _comment(self, number: int, body: str, login: str, kind: str) -> Json:
        when = (START + timedelta(seconds=number)).isoformat().replace("+00:00", "Z")
        return self._contract.shape(
            "issue-comment",
            id=number,
            node_id=f"IC_{number}",
            body=body,
            user=self._user(login, kind) if login else None,
            url=f"{self.git.api}/issues/comments/{number}",
            html_url=f"https://example.com/{self.repository}/pull/{self.number}#issuecomment-{number}",
            issue_url=f"{self.git.api}/issues/{self.number}",
            created_at=when,
            updated_at=when,
            author_association="NONE",
        )

    def _user(self, login: str, kind: str) -> Json:
        return self._contract.shape("simple-user", login=login, type=kind, id=7)

    # The way of a request.

    def _serve(self, environ: Any, start_response: Any) -> Any:
        environ["PATH_INFO"] = environ["PATH_INFO"].removeprefix(self._prefix)
        request = Request(environ)
        with self._lock:
            try:
                response = self._respond(request)
            except ConnectionAbortedError:  # as a test arranged it
                environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
                raise
        return response(environ, start_response)

    def _respond(self, request: Request) -> Response:
        self.log.append(f"{request.method} {request.full_path.rstrip('?')}")
        self.credentials.add(request.headers.get("Authorization", ""))
        if planned := happens(self._planned, request, after=False):
            (status, body), headers = planned
            return _json(status, body, headers)
        if why := self._contract.refuses(request):
            return _json(422, {"message": "Invalid request", "errors": [why]}, {})
        if (self.read_only and request.method in WRITES) or not self._may(request):
            return _json(*FORBIDDEN, {})
        status, body, headers = self._page(request, *self._route(request))
        response = _json(status, body, headers)
        # GitHub's description forgets what a deleted fork leaves: null.
        if status < HTTPStatus.BAD_REQUEST and self.head_repository != "gone":
            self._contract.check(request, response)
        happens(self._planned, request, after=True)
        return response

    def _may(self, request: Request) -> bool:
        """Whether the token has the right that a request needs; one that may write may read."""
        if self.rights is None:
            return True
        path = request.path.removeprefix(f"/repos/{self.repository}")
        about = next((right for part, right in RIGHTS.items() if path.startswith(part)), "contents" if path else "metadata")
        held = self.rights.get(about, "read" if about == "metadata" else "none")
        return held == "write" or (held == "read" and request.method not in WRITES)

    def _route(self, request: Request) -> Answer:
        try:
            rule, values = self._routes.bind_to_environ(request.environ).match()
            return rule(request, values)
        except (HTTPException, NotThereError):
            return NOT_FOUND

    def _page(self, request: Request, status: int, body: Json) -> tuple[int, Json, Mapping[str, str]]:
        headers = {"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": "2000000000"}
        if not isinstance(body, list):
            return status, body, headers
        size = min(int(request.args.get("per_page", "30")), 100)
        page = int(request.args.get("page", "1"))
        if page * size < len(body):
            headers["Link"] = f'<{self.url}{request.path}?per_page={size}&page={page + 1}>; rel="next"'
        return status, body[(page - 1) * size : page * size], headers


def _unfit(body: str) -> Answer | None:
    """What GitHub answers to a comment that is too long or empty."""
    if 0 < len(body) <= LONGEST_BODY:
        return None
    message = f"body is too long (maximum is {LONGEST_BODY} characters)" if body else "Body cannot be blank"
    row = {"resource": "IssueComment", "code": "custom", "field": "body", "message": message}
    return 422, {"message": "Validation Failed", "errors": [row]}


def _json(status: int, body: Json, headers: Mapping[str, str]) -> Response:
    text = "" if body is None else json.dumps(body)
    return Response(text, status=status, headers=dict(headers), mimetype="application/json")
