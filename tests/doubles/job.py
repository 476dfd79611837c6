"""One step of a GitHub Actions job around `bot.action.main`, in this process: its environment, files and payload."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from github import Github

from bot import api
from bot.action import Compare, Environment, ExitStatus, main
from tests.doubles.github import GitHubDouble

EVENTS = Path(__file__).parent.parent / "events"
TOKEN = "ghs_0123456789secret"
OTHER_SECRET = "runtime-secret"
MORE: Mapping[str, str] = {}
"""Further variables of the job."""


@dataclass(frozen=True)
class Step:
    """What a step left: exit status, printed lines, outputs, job summary, and the environment as children would get it."""

    status: int
    lines: list[str]
    outputs: dict[str, str]
    summary: str
    environ: Mapping[str, str]

    def told(self, level: str) -> list[str]:
        """The messages of one level that are about the run itself."""
        start = f"::{level} title=Model Repo Drift::"
        return [line.removeprefix(start) for line in self.lines if line.startswith(start)]


@dataclass(frozen=True)
class Job:
    """A job in `workspace`; `folder` is the runner's own."""

    folder: Path
    workspace: Path
    github: GitHubDouble
    compare: Compare
    exit_status: ExitStatus
    server_url: str = "https://example.com"

    def pull_request(self, action: str = "synchronize", name: str = "pull_request", *, token: str = TOKEN, **inputs: str) -> Step:
        """Run for the pull request as it is now."""
        return self.run(name, self.payload(action), token=token, **inputs)

    def payload(self, action: str = "synchronize") -> Any:
        """The payload of a pull request event, in the shape of a real one."""
        content = json.loads((EVENTS / f"pull_request_{action}.json").read_text(encoding="utf-8"))
        github, pull = self.github, content["pull_request"]
        pull |= {"number": github.number, "title": github.title, "body": github.body, "draft": github.draft}
        pull["base"] |= {"ref": github.base, "sha": github.git.sha(github.base)}
        pull["head"] |= {"ref": github.head, "sha": github.git.sha(github.head)}
        owner = "contributor" if github.head_repository == "fork" else github.repository.split("/")[0]
        gone = github.head_repository == "gone"
        pull["head"]["repo"] = None if gone else {"full_name": f"{owner}/model", "fork": owner == "contributor"}
        content["repository"] |= {"full_name": github.repository, "default_branch": "main"}
        return content | {"number": github.number}

    def run(
        self, name: str, content: Any, *, token: str = TOKEN, ref: str = "refs/pull/1/merge", sha: str = "5" * 40, **inputs: str
    ) -> Step:
        """Run for an event; `sha` is by default the merge commit that nobody has."""
        commands = self.folder / "file_commands"
        commands.mkdir(parents=True, exist_ok=True)
        output, summary, event = commands / "set_output_1", commands / "step_summary_1", self.folder / "event.json"
        output.write_text("", encoding="utf-8")
        summary.write_text("", encoding="utf-8")
        event.write_text(json.dumps(content), encoding="utf-8")
        environ = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": self.github.url,
            "GITHUB_EVENT_NAME": name,
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_REF": ref,
            "GITHUB_REPOSITORY": self.github.repository,
            "GITHUB_SERVER_URL": self.server_url,
            "GITHUB_SHA": sha,
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_TEMP": str(self.folder / "temp"),
            "ACTIONS_RUNTIME_TOKEN": OTHER_SECRET,
            "GITHUB_TOKEN": token,
            "INPUT_TOKEN": token,
            **{f"INPUT_{key.upper()}": value for key, value in inputs.items()},
            **MORE,
        }
        lines: list[str] = []
        status = main(compare=self.compare, exit_status=self.exit_status, environ=environ, say=lines.append, connect=_connect)
        return Step(status, lines, _outputs(output.read_text(encoding="utf-8")), summary.read_text(encoding="utf-8"), environ)


def _connect(given: Environment) -> Github | None:
    """Connect without the patience that a real job has."""
    return api.connect(given.api_url, given.token, retry=None, between_requests=0, between_writes=0) if given.token else None


def _outputs(text: str) -> dict[str, str]:
    """Read a GITHUB_OUTPUT file as the runner does."""
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        name, delimiter = line.split("<<", 1)
        found[name] = "\n".join(takewhile(lambda value, end=delimiter: value != end, lines))
    return found
