"""Which read requests GitHub answers from the git repository."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from werkzeug.wrappers import Request

from tests.doubles.github_git import GitShapes, NotThereError

Json: TypeAlias = Any
Answer: TypeAlias = tuple[int, Json]
Variables: TypeAlias = Mapping[str, Any]
Route: TypeAlias = Callable[[Request, Variables], Answer]


def always(body: Callable[[], Json], status: int = 200) -> Route:
    """A route that asks nothing of the request."""

    def route(_request: Request, _values: Variables) -> Answer:
        return status, body()

    return route


def routes(git: GitShapes) -> dict[str, Route]:
    """Routes below /repos/{owner}/{repo}, by "METHOD path" in werkzeug's notation."""

    def ref(_: Request, values: Variables) -> Answer:
        exact = [row for row in git.refs(values["ref"]) if row["ref"] == f"refs/{values['ref']}"]
        if not exact:
            raise NotThereError(values["ref"])
        return 200, exact[0]

    def tree(request: Request, values: Variables) -> Answer:
        return 200, git.tree(values["ref"], recursive="recursive" in request.args)

    def contents(request: Request, values: Variables) -> Answer:
        return 200, git.contents(values.get("path", ""), request.args.get("ref", "main"))

    def commits(request: Request, _: Variables) -> Answer:
        return 200, git.commits(git.sha(request.args.get("sha", "main")))

    def commit(_: Request, values: Variables) -> Answer:
        try:
            return 200, git.commit(values["ref"], files=True)
        except NotThereError:  # as yegor256/rultor#1344 shows it
            return 422, {
                "message": f"No commit found for SHA: {values['ref']}",
                "documentation_url": "https://docs.github.com/rest",
            }

    def compare(_: Request, values: Variables) -> Answer:
        base, head = values["base"], values["head"]
        if git.sha(base) and git.sha(head) and not git.related(base, head):  # as PyGithub/PyGithub#1334 shows it
            return 404, {
                "message": f"No common ancestor between {base} and {head}.",
                "documentation_url": "https://docs.github.com/rest",
            }
        return 200, git.compare(base, head)

    return {
        "GET /branches": always(git.branches),
        "GET /commits": commits,
        "GET /commits/<path:ref>": commit,
        "GET /compare/<path:base>...<path:head>": compare,
        "GET /contents/": contents,
        "GET /contents/<path:path>": contents,
        "GET /git/blobs/<sha>": lambda _, values: (200, git.blob(values["sha"])),
        "GET /git/commits/<sha>": lambda _, values: (200, git.git_commit(values["sha"])),
        "GET /git/matching-refs/<path:ref>": lambda _, values: (200, git.refs(values["ref"])),
        "GET /git/ref/<path:ref>": ref,
        "GET /git/trees/<path:ref>": tree,
    }
