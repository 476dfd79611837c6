"""GitHub's check runs with their state: 50 annotations a request, added to and never taken away."""

from collections.abc import Callable

from werkzeug.wrappers import Request

from tests.doubles.contract import WHEN, Contract
from tests.doubles.github_git import GitShapes, NotThereError
from tests.doubles.github_reads import Answer, Json, Route, Variables

LONGEST_TITLE, LONGEST_MESSAGE = 255, 64 * 1024


class Checks:
    """The check runs of one repository, each with all annotations that it got; `next_id` numbers what is made."""

    def __init__(self, git: GitShapes, contract: Contract, next_id: Callable[[], int]) -> None:
        self._git, self._contract, self._next_id = git, contract, next_id
        self.runs: dict[int, Json] = {}
        self.annotations: dict[int, list[Json]] = {}

    def routes(self) -> dict[str, Route]:
        """Routes below /repos/{owner}/{repo}."""
        return {
            "POST /check-runs": self._create,
            "GET /check-runs/<int:number>": lambda _, values: (200, self._known(values)),
            "PATCH /check-runs/<int:number>": self._update,
            "GET /check-runs/<int:number>/annotations": lambda _, values: (200, self.annotations[self._known(values)["id"]]),
            "GET /commits/<ref>/check-runs": self._list,
        }

    def _create(self, request: Request, _: Variables) -> Answer:
        asked = request.get_json()
        if refusal := _unfit(asked.get("output", {})):
            return refusal
        return 201, self.make(asked)

    def make(self, asked: Json) -> Json:
        """Make a check run, as somebody asks for it or without being asked."""
        number = self._next_id()
        address = f"{self._git.api}/check-runs/{number}"
        self.annotations[number] = []
        self.runs[number] = self._contract.shape(
            "check-run",
            id=number,
            node_id=f"CR_{number}",
            name=asked["name"],
            head_sha=self._git.sha(asked["head_sha"]),
            external_id=asked.get("external_id", ""),
            url=address,
            html_url=f"https://example.com/runs/{number}",
            check_suite={"id": 5},
            started_at=WHEN,
            output={
                "title": None,
                "summary": None,
                "text": None,
                "annotations_count": 0,
                "annotations_url": f"{address}/annotations",
            },
        )
        self._take(number, asked)
        return self.runs[number]

    def _update(self, request: Request, values: Variables) -> Answer:
        asked, run = request.get_json(), self._known(values)
        if refusal := _unfit(asked.get("output", {})):
            return refusal
        self._take(run["id"], asked)
        return 200, run

    def _take(self, number: int, asked: Json) -> None:
        run, output = self.runs[number], asked.get("output", {})
        run |= {name: asked[name] for name in ("name", "external_id", "status", "conclusion") if name in asked}
        if run["status"] == "completed":
            run["completed_at"] = WHEN
        run["output"] |= {name: output[name] for name in ("title", "summary", "text") if name in output}
        for each in output.get("annotations", []):
            blank = {
                "start_column": None,
                "end_column": None,
                "raw_details": None,
                "title": None,
                "blob_href": "https://example.com/x",
            }
            self.annotations[number].append(blank | each)
        run["output"]["annotations_count"] = len(self.annotations[number])

    def _list(self, request: Request, values: Variables) -> Answer:
        sha = self._git.sha(values["ref"])
        named = request.args.get("check_name")
        found = [run for run in self.runs.values() if run["head_sha"] == sha and named in (None, run["name"])]
        if request.args.get("filter", "latest") == "latest":
            found = list({run["name"]: run for run in found}.values())
        size, page = int(request.args.get("per_page", "30")), int(request.args.get("page", "1"))
        return 200, {"total_count": len(found), "check_runs": found[(page - 1) * size : page * size]}

    def _known(self, values: Variables) -> Json:
        if values["number"] not in self.runs:
            raise NotThereError(str(values["number"]))
        return self.runs[values["number"]]


def _unfit(output: Json) -> Answer | None:
    """What GitHub answers to annotations over its limits that the description has in prose alone."""
    for each in output.get("annotations", []):
        columns = {"start_column", "end_column"} & each.keys()
        if (
            len(each.get("title", "")) > LONGEST_TITLE
            or len(each["message"].encode()) > LONGEST_MESSAGE
            or each["start_line"] < 1
            or each["end_line"] < each["start_line"]
            or (columns and each["start_line"] != each["end_line"])
        ):
            return 422, {"message": "Invalid request.", "errors": [f"annotation of {each['path']} is over a limit"]}
    return None
