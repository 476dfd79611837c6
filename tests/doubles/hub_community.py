"""Discussions and pull requests of one repository of the Hub, with their comments, as its API gives them."""

from itertools import count
from typing import Any, TypeAlias

from werkzeug.wrappers import Request

from tests.doubles.hub_git import WHEN, HubRepository

Json: TypeAlias = Any
Answer: TypeAlias = tuple[int, Json]
PAGE = 30
LISTED = ("num", "title", "status", "author", "createdAt", "isPullRequest", "repo")
NOT_FOUND = (404, {"error": "Discussion not found"})


class Community:
    """The discussions of one repository, by number. `me` is who comments by the API."""

    def __init__(self, repository: HubRepository) -> None:
        self.discussions: dict[int, Json] = {}
        self.me = "drift-bot"
        self._repository = repository
        self._ids = count(1)

    def open(
        self, title: str = "Change", text: str = "", *, pull: bool = True, author: str = "contributor", number: int = 0
    ) -> int:
        """Let somebody open a pull request or a discussion; its number. The commits of refs/pr/N are the test's to make."""
        number = number or max(self.discussions, default=0) + 1
        self.discussions[number] = {
            "num": number,
            "title": title,
            "status": "open",
            "author": {"name": author},
            "createdAt": WHEN,
            "isPullRequest": pull,
            "repo": {"name": self._repository.name, "type": "model"},
            "events": [self._event(text, author)],
            **({"changes": {"base": "refs/heads/main"}, "filesWithConflicts": [], "diff": ""} if pull else {}),
        }
        return number

    def merge(self, number: int) -> str:
        """Merge a pull request as somebody does on its page; the commit that this makes."""
        about = self.discussions[number]
        sha = self._repository.merge(number, about["title"])
        about["status"] = "merged"
        about["changes"]["mergeCommitId"] = sha
        about["events"].append(self._change("merged"))
        return sha

    def answer(self, request: Request, parts: list[str]) -> Answer:
        """Answer a request below /discussions."""
        given = request.get_json(silent=True) or {}
        if not parts:
            if request.method == "POST":
                pull = bool(given.get("pullRequest"))
                return 200, {"num": self.open(given["title"], given.get("description", ""), pull=pull, author=self.me)}
            return 200, self._listed(request)
        about = self.discussions.get(int(parts[0])) if parts[0].isdecimal() else None
        if about is None:
            return NOT_FOUND
        if len(parts) == 1:
            return 200, about
        if request.method == "POST":
            return self._written(about, parts[1:], given)
        return NOT_FOUND

    def _listed(self, request: Request) -> Json:
        rows = [{key: about[key] for key in LISTED} for about in reversed(self.discussions.values())]
        kind, status = request.args.get("type"), request.args.get("status")
        if kind not in (None, "all"):
            rows = [row for row in rows if row["isPullRequest"] == (kind == "pull_request")]
        if status in ("open", "closed"):
            rows = [row for row in rows if (row["status"] in ("open", "draft")) == (status == "open")]
        start = int(request.args.get("p", 0)) * PAGE
        return {"count": len(rows), "start": start, "discussions": rows[start : start + PAGE]}

    def _written(self, about: Json, parts: list[str], given: Json) -> Answer:
        match parts:
            case ["comment"]:
                event = self._event(given["comment"], self.me)
                about["events"].append(event)
                return 200, {"newMessage": event}
            case ["comment", wanted, "edit" | "hide" as how]:
                event = next((each for each in about["events"] if each["id"] == wanted), None)
                if event is None:
                    return NOT_FOUND
                if how == "edit":
                    event["data"] |= {"edited": True, "latest": event["data"]["latest"] | {"raw": given["content"]}}
                else:
                    event["data"]["hidden"] = True
                return 200, {"updatedComment": event}
            case ["status"]:
                about["status"] = given["status"]
                about["events"].append(self._change(given["status"]))
                return 200, {"newStatus": about["events"][-1]}
            case ["merge"]:
                self.merge(about["num"])
                return 200, {"newStatus": about["events"][-1]}
            case _:
                return NOT_FOUND

    def _event(self, text: str, author: str) -> Json:
        latest = {"raw": text, "html": text, "updatedAt": WHEN, "author": {"name": author}}
        data = {"edited": False, "hidden": False, "numEdits": 0, "latest": latest}
        return {"id": f"{next(self._ids):024x}", "type": "comment", "createdAt": WHEN, "author": {"name": author}, "data": data}

    def _change(self, status: str) -> Json:
        author = {"name": self.me}
        return {
            "id": f"{next(self._ids):024x}",
            "type": "status-change",
            "createdAt": WHEN,
            "author": author,
            "data": {"status": status},
        }
