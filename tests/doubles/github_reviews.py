"""GitHub's reviews of one pull request with their state: a comment stands on lines that the diff shows, or the whole review is refused."""

import re
from collections.abc import Callable

from werkzeug.wrappers import Request

from tests.doubles.contract import WHEN, Contract
from tests.doubles.github_git import GitShapes, NotThereError
from tests.doubles.github_reads import Answer, Json, Route, Variables, always

# The words are GitHub's: parkerbxyz/suggest-changes issue 28 and pull request 31.
NOT_IN_DIFF = "Pull request review thread line must be part of the diff"
NOT_ONE_HUNK = "Pull request review thread start line must be part of the same hunk as the line."
NOT_BEFORE = "Pull request review thread start line must precede the end line."


class Reviews:
    """Reviews and their comments. `sides` are merge base and head, `user` who is writing, `next_id` numbers what is made."""

    def __init__(
        self,
        git: GitShapes,
        contract: Contract,
        number: int,
        *,
        next_id: Callable[[], int],
        sides: Callable[[], tuple[str, str]],
        user: Callable[[], Json],
    ) -> None:
        self._git, self._contract, self._number = git, contract, number
        self._next_id, self._sides, self._user = next_id, sides, user
        self.reviews: list[Json] = []
        self.comments: dict[int, Json] = {}
        self.without_patch: set[str] = set()

    def routes(self) -> dict[str, Route]:
        """Routes below /repos/{owner}/{repo}."""
        pull = f"/pulls/{self._number}"
        return {
            f"GET {pull}/files": always(lambda: self.files()[:3000]),
            f"GET {pull}/comments": always(lambda: list(self.comments.values())),
            f"GET {pull}/reviews": always(lambda: self.reviews),
            f"POST {pull}/reviews": self._create,
            f"PUT {pull}/reviews/<int:review>": self._update,
            "GET /pulls/comments/<int:number>": lambda _, values: (200, self._known(values)),
            "DELETE /pulls/comments/<int:number>": self._delete,
        }

    def files(self) -> list[Json]:
        """The changed files with their diffs; those of `without_patch` are too big for one."""
        base, head = self._sides()
        rows = self._git.difference(base, head)
        for row in rows:
            text = self._git.raw(
                "diff", "--no-color", "-M", base, head, "--", row.get("previous_filename", row["filename"]), row["filename"]
            )
            row.pop("patch", None)
            hunks = text.decode("utf-8", "replace").partition("\n@@ ")
            if hunks[1] and row["filename"] not in self.without_patch:
                row["patch"] = f"@@ {hunks[2]}".removesuffix("\n")
        return rows

    def comment(self, body: str, path: str, line: int, *, user: Json | None = None, review: int | None = None) -> int:
        """Let somebody comment on a line; the comment's id."""
        number = self._next_id()
        head = self._git.sha(self._sides()[1])
        page = f"https://example.com/pull/{self._number}#discussion_r{number}"
        pull = f"{self._git.api}/pulls/{self._number}"
        address = f"{self._git.api}/pulls/comments/{number}"
        self.comments[number] = self._contract.shape(
            "pull-request-review-comment",
            id=number,
            node_id=f"RC_{number}",
            pull_request_review_id=review,
            path=path,
            line=line,
            side="RIGHT",
            body=body,
            commit_id=head,
            original_commit_id=head,
            user=user or self._user(),
            url=address,
            html_url=page,
            pull_request_url=pull,
            created_at=WHEN,
            updated_at=WHEN,
            _links={"self": {"href": address}, "html": {"href": page}, "pull_request": {"href": pull}},
        )
        return number

    def _create(self, request: Request, _: Variables) -> Answer:
        asked = request.get_json()
        if errors := [why for each in asked.get("comments", []) for why in self._refused(each)]:
            return 422, {"message": "Unprocessable Entity", "errors": errors}
        if asked.get("commit_id") not in (None, self._git.sha(self._sides()[1])):
            return 422, {"message": "Unprocessable Entity", "errors": ["commit_id is not part of the pull request"]}
        number = self._next_id()
        page = f"https://example.com/pull/{self._number}#pullrequestreview-{number}"
        pull = f"{self._git.api}/pulls/{self._number}"
        review = self._contract.shape(
            "pull-request-review",
            id=number,
            node_id=f"R_{number}",
            user=self._user(),
            body=asked.get("body", ""),
            state="COMMENTED" if asked.get("event") == "COMMENT" else "PENDING",
            commit_id=asked.get("commit_id"),
            html_url=page,
            pull_request_url=pull,
            submitted_at=WHEN,
            _links={"html": {"href": page}, "pull_request": {"href": pull}},
        )
        self.reviews.append(review)
        for each in asked.get("comments", []):
            made = self.comments[self.comment(each["body"], each["path"], each["line"], review=number)]
            made["start_line"] = each.get("start_line")
        return 200, review

    def _update(self, request: Request, values: Variables) -> Answer:
        found = next((each for each in self.reviews if each["id"] == values["review"]), None)
        if found is None:
            raise NotThereError(str(values["review"]))
        found["body"] = request.get_json()["body"]
        return 200, found

    def _refused(self, asked: Json) -> list[str]:
        """Why a comment cannot stand where it is asked for."""
        hunks = self._hunks(asked["path"])
        hunk = next((lines for lines in hunks if asked["line"] in lines), None)
        if hunk is None:
            return [NOT_IN_DIFF]
        start = asked.get("start_line", None)
        if start is None:
            return []
        return ([] if start in hunk else [NOT_ONE_HUNK]) + ([] if start < asked["line"] else [NOT_BEFORE])

    def _hunks(self, path: str) -> list[set[int]]:
        """The lines of head's file that each hunk of its diff shows, counted line by line."""
        hunks: list[set[int]] = []
        number = 0
        text = next((row["patch"] for row in self.files() if row["filename"] == path and "patch" in row), "")
        for line in text.split("\n"):
            if found := re.match(r"@@ -\S+ \+(\d+)", line):
                number = int(found[1])
                hunks.append(set())
            elif line[:1] in ("+", " "):
                hunks[-1].add(number)
                number += 1
        return hunks

    def _delete(self, _: Request, values: Variables) -> Answer:
        del self.comments[self._known(values)["id"]]
        return 204, None

    def _known(self, values: Variables) -> Json:
        if values["number"] not in self.comments:
            raise NotThereError(str(values["number"]))
        return self.comments[values["number"]]
