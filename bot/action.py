"""The GitHub Action: one event in, and report, job summary, annotations, outputs, one comment and an exit status out."""

import os
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec
from github import Github
from github.Repository import Repository

from bot import api, run, settings
from bot.analyze.records import Comparison, Prove, PullRequest
from bot.deliver import NOT_JUDGED, Delivery, deliver
from bot.errors import CannotLookError, UsageError
from bot.event import Asked, Job, job
from bot.fetch.history import History
from bot.fetch.lfs_server import LfsServer
from bot.fetch.source import Source
from bot.hub import Access, access
from bot.policy import Policy
from bot.publish import github, stored
from bot.publish.escape import prose
from bot.publish.links import Links
from bot.publish.runner import Runner
from bot.publishing import publish
from bot.settings import FailOn, Layer, Settings
from bot.settings_file import from_file
from bot.sides import Sides, on_hub, sides
from bot.snapshot import Text
from bot.triggering import triggering

SECRETS = ("INPUT_TOKEN", "GITHUB_TOKEN", "GH_TOKEN", "HF_TOKEN", "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN")


class Compare(Protocol):
    """Compares two revisions: `bot.run.compare`. Raises UsageError or CannotLookError."""

    def __call__(
        self,
        *,
        base: Source,
        head: Source,
        repo: Path,
        texts: tuple[Text, ...] = (),
        repository: str = "",
        history: History | None = None,
        engines: tuple[str, ...] = (),
        prove: Prove = "auto",
        policy: Policy = run.EVERYTHING,
    ) -> Comparison:
        """Return the comparison."""
        ...


class ExitStatus(Protocol):
    """Chooses 0 or 1: `bot.run.exit_status`."""

    def __call__(self, comparison: Comparison, fail_on: FailOn) -> int:
        """Return the exit status."""
        ...


@dataclass(frozen=True)
class Environment:
    """What the runner says about this run. The token is for `api_url` alone and shows in no repr."""

    event_name: str
    event_path: Path
    repository: str
    ref: str
    sha: str
    api_url: str
    server_url: str
    workspace: Path
    temp: str
    output: Path | None
    summary: Path | None
    inputs: Mapping[str, str]
    hub: Access
    token: str = field(repr=False)


def environment(environ: MutableMapping[str, str]) -> Environment:
    """Read the environment, the only place that does, and take the secrets out of it, so that no child process has them.

    Raises UsageError when this is no GitHub Actions job.
    """
    taken = {name: environ.pop(name, "") for name in SECRETS}
    for name in ("GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH", "GITHUB_WORKSPACE"):
        if not environ.get(name):
            raise UsageError(f"{name} is not set: `action` runs in GitHub Actions only; use `compare` elsewhere")
    output, summary_file = environ.get("GITHUB_OUTPUT"), environ.get("GITHUB_STEP_SUMMARY")
    return Environment(
        event_name=environ["GITHUB_EVENT_NAME"],
        event_path=Path(environ["GITHUB_EVENT_PATH"]),
        repository=environ.get("GITHUB_REPOSITORY", ""),
        ref=environ.get("GITHUB_REF", ""),
        sha=environ.get("GITHUB_SHA", ""),
        api_url=environ.get("GITHUB_API_URL", "https://api.github.com"),
        server_url=environ.get("GITHUB_SERVER_URL", "https://github.com"),
        workspace=Path(environ["GITHUB_WORKSPACE"]),
        temp=environ.get("RUNNER_TEMP", ""),
        output=Path(output) if output else None,
        summary=Path(summary_file) if summary_file else None,
        inputs={name.removeprefix("INPUT_").lower(): value for name, value in environ.items() if name.startswith("INPUT_")},
        hub=access({**environ, "HF_TOKEN": taken["HF_TOKEN"]}),
        token=taken["INPUT_TOKEN"].strip(),
    )


def connect(given: Environment) -> Github | None:
    """Open GitHub with the patience that a job can afford; None without a token."""
    return api.connect(given.api_url, given.token, retry=api.patient()) if given.token else None


def main(
    *,
    compare: Compare = run.compare,
    exit_status: ExitStatus = run.exit_status,
    environ: MutableMapping[str, str] = os.environ,
    say: Callable[[str], None] = print,
    connect: Callable[[Environment], Github | None] = connect,
    report: str = "",
) -> int:
    """Deal with the event of this job and return the exit status: 0 or 1 by the findings, 2 usage, 3 could not look.

    `report` is a file below the workspace that another run wrote, to be published in place of comparing anything.
    """
    runner = Runner(say)
    try:
        given = environment(environ)
        runner = Runner(say, given.output, given.summary)
        if asked := report or given.inputs.get("publish", "").strip():
            return _publish(given, asked, connect(given), runner)
        todo = _job(given)
        if todo.kind == "nothing":
            runner.tell("notice", f"Nothing to compare: {todo.reason}.")
            runner.set_outputs(NOT_JUDGED)
            return 0
        return _judge(given, todo, _remote(connect(given), todo.repository), runner, compare, exit_status)
    except (UsageError, CannotLookError) as error:
        runner.tell("error", str(error))
        runner.summarise(f"### Model Repo Drift could not compare\n\n{prose(str(error))}")
        runner.set_outputs(NOT_JUDGED)
        return 2 if isinstance(error, UsageError) else 3


def _job(given: Environment) -> Job:
    asked = Asked(
        base=given.inputs.get("base", "").strip(), head=given.inputs.get("head", "").strip(), ref=given.ref, sha=given.sha
    )
    return job(given.event_name, _payload(given), asked, repository=given.repository)


def _payload(given: Environment) -> bytes:
    try:
        return given.event_path.read_bytes()
    except OSError as error:
        raise UsageError(f"{given.event_path} (GITHUB_EVENT_PATH) cannot be read: {error.strerror}") from None


def _remote(hub: Github | None, repository: str) -> Repository | github.Posted:
    """The repository behind the API, or why it cannot be had, which matters only when it is needed."""
    if hub is None:
        return github.Posted(
            "refused", notice="No comment was written: the input token is empty. The job summary has the report."
        )
    try:
        return hub.get_repo(repository)
    except api.FAULTS as fault:
        return github.refused(fault)


def _publish(given: Environment, asked: str, hub: Github | None, runner: Runner) -> int:
    of = triggering(given.event_name, _payload(given))
    return publish(
        asked,
        of,
        _remote(hub, of.repository),
        workspace=given.workspace,
        server_url=given.server_url,
        inputs=_inputs(given),
        runner=runner,
    )


def _judge(
    given: Environment, todo: Job, remote: Repository | github.Posted, runner: Runner, compare: Compare, exit_status: ExitStatus
) -> int:
    places, sarif = _files(given)
    lfs = LfsServer(given.server_url, todo.repository, given.token) if given.token else None
    opened = sides(todo, given.workspace, remote if isinstance(remote, Repository) else None, lfs, given.hub)
    chosen = _settings(given, opened)
    texts = _texts(todo, opened)
    try:
        engines = run.engines_of(chosen.engines)
    except UsageError as error:
        raise UsageError(f"setting engines: {error}") from error
    comparison = compare(
        base=opened.base,
        head=opened.head,
        repo=given.workspace,
        texts=texts,
        repository=todo.repository,
        history=opened.history,
        engines=engines,
        prove=chosen.prove,
        policy=chosen.policy(),
    )
    if todo.kind == "pull-request":
        about = PullRequest(repository=todo.repository, number=todo.number, head=todo.head)
        comparison = msgspec.structs.replace(comparison, pull_request=about)
    base, head = (
        None if on_hub(each) else side.sha for each, side in ((todo.base, comparison.base), (todo.head, comparison.head))
    )
    links = Links(given.server_url, todo.repository, base, head)
    status = exit_status(comparison, chosen.fail_on)
    deliver(comparison, Delivery(runner, remote, links, chosen, failed=status != 0, report=places, sarif=sarif))
    return status


def _files(given: Environment) -> tuple[tuple[stored.Spot, ...], Path | None]:
    """Where report and SARIF go. What stands there is taken away first, so that nothing of the checkout passes for them. Raises UsageError."""
    report, sarif = (given.inputs.get(name, "").strip() for name in ("report", "sarif"))
    places = stored.spots(given.workspace, report, given.output, given.temp)
    file = stored.inside(given.workspace, "sarif", sarif) if sarif else None
    if file is not None and file in [place.path for place in places]:
        raise UsageError(f"report and sarif are both {sarif!r}; give two files")
    stored.clear([*(place.path for place in places if report), *([file] if file else [])])
    return places, file


def _inputs(given: Environment) -> Layer:
    names = {option.name for option in settings.options()}
    return settings.from_texts("inputs of the action", {name: text for name, text in given.inputs.items() if name in names})


def _settings(given: Environment, opened: Sides) -> Settings:
    return settings.settle(_inputs(given), *([from_file(opened.settings)] if opened.settings is not None else []))


def _texts(todo: Job, opened: Sides) -> tuple[Text, ...]:
    """Title and body of the pull request, and what the sources cannot give."""
    if todo.kind != "pull-request":
        return opened.texts
    return (Text("pull-request:title", todo.title), Text("pull-request:body", todo.body), *opened.texts)
