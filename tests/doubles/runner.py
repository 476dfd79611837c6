"""GitHub's runner for one step that is a Docker container action: what it gives the container, and what the container leaves.

As on GitHub: root, the workspace as working folder and owned by another user, HOME=/github/home, the /github mounts, inputs as
INPUT_<NAME>, and the files behind GITHUB_OUTPUT and GITHUB_STEP_SUMMARY read back. Of expressions, only `inputs.NAME` and
`github.token` are known. The network is the machine's, so that an API on loopback can be reached.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

OWNER = "1001:118"
"""Whom the workspace belongs to on a hosted runner; the container is root."""
COMMAND = re.compile(r"\s*::(error|warning|notice|add-mask)(?: ([^:].*?))?::(.*)")
FILES = ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV", "GITHUB_STATE", "GITHUB_PATH")


@dataclass(frozen=True)
class Annotation:
    """A line of the log that GitHub shows at a file: level, message, and `file`, `line`, `title`, … as given."""

    level: str
    message: str
    properties: dict[str, str]


@dataclass(frozen=True)
class Left:
    """What a step left: its exit status, outputs, job summary, annotations, masked words and its whole log."""

    status: int
    outputs: dict[str, str]
    summary: str
    annotations: list[Annotation]
    masks: list[str]
    log: str


@dataclass(frozen=True)
class Runner:
    """One runner: `folder` is empty and becomes its own, `workspace` is the checkout, `event` the payload."""

    folder: Path
    workspace: Path
    event_name: str
    event: Mapping[str, Any]
    api_url: str
    token: str = "runner-token"
    repository: str = "acme/model"
    env: Mapping[str, str] = field(default_factory=dict[str, str])

    def run(self, image: str, action: Path, **inputs: str) -> Left:
        """Run the action that `action` (an action.yml) describes with an image that was made for it."""
        description = yaml.safe_load(action.read_text(encoding="utf-8"))
        runs = description["runs"]
        assert runs["using"] == "docker"
        unknown = set(inputs) - set(description["inputs"])
        assert not unknown, f"no such inputs: {unknown}"
        given = {
            name: inputs.get(name, self._text((spec or {}).get("default", ""), {}))
            for name, spec in description["inputs"].items()
        }
        env = self._env() | {f"INPUT_{name.replace(' ', '_').upper()}": value for name, value in given.items()}
        env = {name: self._text(value, given) for name, value in (runs.get("env") or {}).items()} | env | dict(self.env)
        self._lay_out()
        command = ["docker", "run", "--rm", "--network", "host", "--workdir", "/github/workspace"]
        command += [part for name in env for part in ("--env", name)]  # values by environment: no secret on the command line
        for inside in ("home", "workflow", "file_commands"):
            command += ["--volume", f"{self.folder / inside}:/github/{inside}"]
        command += ["--volume", f"{self.workspace}:/github/workspace"]
        command += ["--entrypoint", runs["entrypoint"]] if "entrypoint" in runs else []
        command += [image, *(self._text(argument, given) for argument in runs.get("args") or [])]
        done = subprocess.run(
            command,
            check=False,
            env={**os.environ, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        return self._left(done.returncode, done.stdout)

    def _text(self, value: object, inputs: Mapping[str, str]) -> str:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        text = re.sub(r"\$\{\{\s*github\.token\s*\}\}", lambda _: self.token, text)
        return re.sub(r"\$\{\{\s*inputs\.([\w-]+)\s*\}\}", lambda match: inputs.get(match[1], ""), text)

    def _lay_out(self) -> None:
        for name in ("home", "workflow", "file_commands"):
            (self.folder / name).mkdir()
        (self.folder / "workflow" / "event.json").write_text(json.dumps(self.event), encoding="utf-8")
        for name in FILES:
            (self.folder / "file_commands" / name).touch()
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", OWNER, self.workspace, self.folder], check=True)

    def _env(self) -> dict[str, str]:
        pull = self.event.get("pull_request") or {}
        merge = f"refs/pull/{self.event.get('number')}/merge"
        on_base = self.event_name == "pull_request_target"
        return {
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "HOME": "/github/home",
            "GITHUB_WORKSPACE": "/github/workspace",
            "GITHUB_EVENT_NAME": self.event_name,
            "GITHUB_EVENT_PATH": "/github/workflow/event.json",
            "GITHUB_REPOSITORY": self.repository,
            "GITHUB_REPOSITORY_OWNER": self.repository.split("/")[0],
            "GITHUB_API_URL": self.api_url,
            "GITHUB_SERVER_URL": "https://example.com",
            "GITHUB_RUN_ID": "1",
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_JOB": "drift",
            "GITHUB_WORKFLOW": "drift",
            "GITHUB_ACTOR": "dev",
            "GITHUB_BASE_REF": pull["base"]["ref"] if pull else "",
            "GITHUB_HEAD_REF": pull["head"]["ref"] if pull else "",
            "GITHUB_REF": (f"refs/heads/{pull['base']['ref']}" if on_base else merge) if pull else self.event.get("ref", ""),
            "GITHUB_SHA": (pull["base"]["sha"] if on_base else "5" * 40) if pull else self.event.get("after", ""),
            "RUNNER_OS": "Linux",
            "RUNNER_TEMP": "/home/runner/_temp",  # of the machine around it: not there
            **{name: f"/github/file_commands/{name}" for name in FILES},
        }

    def _left(self, status: int, log: str) -> Left:
        files = {name: (self.folder / "file_commands" / name).read_text(encoding="utf-8") for name in FILES}
        found = [match for line in log.splitlines() if (match := COMMAND.fullmatch(line))]
        annotations = [
            Annotation(
                match[1],
                _plain(match[3]),
                {k: _plain(v) for k, _, v in (pair.partition("=") for pair in (match[2] or "").split(","))},
            )
            for match in found
            if match[1] != "add-mask"
        ]
        masks = [_plain(match[3]) for match in found if match[1] == "add-mask"]
        return Left(status, dict(_settings(files["GITHUB_OUTPUT"])), files["GITHUB_STEP_SUMMARY"], annotations, masks, log)


def _plain(text: str) -> str:
    for escape, letter in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(escape, letter)
    return text


def _settings(text: str) -> Iterator[tuple[str, str]]:
    """The names and values of a GITHUB_OUTPUT file: `name=value`, or `name<<END`, lines, `END`."""
    lines = iter(text.splitlines())
    for line in lines:
        if not line:
            continue
        form = re.fullmatch(r"(.+?)(=|<<)(.*)", line)
        assert form, f"this line fails the step: {line!r}"
        name, sign, rest = form.groups()
        if sign == "=":
            yield name, rest
            continue
        body = list[str]()
        while (inner := next(lines)) != rest:
            body.append(inner)
        yield name, "\n".join(body)
