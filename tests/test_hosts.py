"""Whom the token is shown to: the hosts of GITHUB_API_URL and GITHUB_SERVER_URL, and nobody else, whatever anybody answers."""

import base64
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from werkzeug.wrappers import Response

from bot import run
from tests.doubles.github import GitHubDouble
from tests.doubles.github_lfs import Host, LfsDouble
from tests.doubles.job import TOKEN, Job
from tests.doubles.model_repository import ModelRepository

BASIC = "Basic " + base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
REDIRECTS = (301, 302, 303, 307, 308)


@pytest.fixture
def lfs() -> Iterator[LfsDouble]:
    with LfsDouble(TOKEN) as double:
        yield double


@pytest.fixture
def origin(tmp_path: Path, lfs: LfsDouble) -> ModelRepository:
    """A model of which generation_config.json is kept in LFS, and spoiled there."""
    made = ModelRepository(tmp_path / "origin")
    made.commit("Keep it in LFS", {".gitattributes": "generation_config.json filter=lfs diff=lfs merge=lfs -text\n"})
    made.commit("Spoil", {"generation_config.json": lfs.add(b'{\n  "eos_token_id": 2\n}\n')})
    return made


@pytest.fixture
def github(origin: ModelRepository) -> Iterator[GitHubDouble]:
    with GitHubDouble(origin.path, prefix="/api/v3") as double:
        yield double


@pytest.fixture
def foreign() -> Iterator[Host]:
    """Somebody else."""
    host = Host(lambda _: Response("{}", mimetype="application/json"))
    yield host
    host.close()


@pytest.fixture
def job(tmp_path: Path, github: GitHubDouble, lfs: LfsDouble) -> Job:
    """A job on GitHub Enterprise Server without a checkout: API, server and storage are three hosts."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return Job(tmp_path / "runner", workspace, github, partial(run.compare, prove="never"), run.exit_status, lfs.server.url)


def elsewhere(foreign: Host, path: str = "/x") -> str:
    """An address of a foreign host, under another name than ours."""
    return foreign.url.replace("127.0.0.1", "localhost") + path


def test_each_host_sees_what_is_meant_for_it(job: Job, github: GitHubDouble, lfs: LfsDouble) -> None:
    step = job.pull_request()

    assert (step.status, step.outputs["verdict"]) == (1, "error"), step.lines
    assert "is a Git LFS pointer" not in step.summary
    assert github.credentials == {f"token {TOKEN}"}
    assert set(lfs.server.credentials) == {BASIC}
    assert set(lfs.storage.credentials) == {"Storage only"}
    assert lfs.storage.log != []
    seen = [*lfs.storage.headers, *lfs.server.headers]
    assert not any(TOKEN in value for headers in seen for value in headers.values())
    shown = "\n".join([*step.lines, step.summary, *github.bodies()])
    assert not any(secret in shown for secret in (TOKEN, BASIC, BASIC.removeprefix("Basic ")))
    assert f"{lfs.server.url}/acme/model/blob/" in github.bodies()[0]
    assert github.url not in github.bodies()[0]
    assert github.violations == []


@pytest.mark.parametrize("status", REDIRECTS)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/repos/acme/model$"),
        ("GET", "/compare/"),
        ("GET", "/contents/"),
        ("GET", "/git/trees/"),
        ("GET", "/git/blobs/"),
        ("GET", "/pulls/1$"),
        ("GET", "/comments$"),
        ("POST", "/comments$"),
    ],
)
def test_the_api_cannot_send_the_token_elsewhere(
    job: Job, github: GitHubDouble, foreign: Host, method: str, path: str, status: int
) -> None:
    body = {"message": "Moved", "url": elsewhere(foreign), "documentation_url": "https://example.com"}
    github.answer(method, path, status, body, times=9, headers={"Location": elsewhere(foreign)})

    step = job.pull_request()

    assert foreign.log == []
    assert step.status in (1, 3)
    assert not any(TOKEN in line for line in step.lines)
    assert step.told("error") or step.told("notice") or "not checked" in step.summary.lower()


@pytest.mark.parametrize("status", REDIRECTS)
def test_another_port_of_the_same_host_is_another_host(job: Job, github: GitHubDouble, foreign: Host, status: int) -> None:
    github.answer("GET", "/compare/", status, {"message": "Moved"}, times=9, headers={"Location": f"{foreign.url}/x"})
    assert job.pull_request().status == 3
    assert foreign.log == []


def test_further_pages_are_asked_of_the_api_only(job: Job, github: GitHubDouble, foreign: Host) -> None:
    github.comment("Thanks!", login="somebody")
    link = {"Link": f'<{elsewhere(foreign)}>; rel="next"'}
    github.answer("GET", "/comments$", 200, list(github.comments.values()), headers=link)
    step = job.pull_request()
    assert foreign.log == []
    assert len(step.told("notice")) == 1


def test_nobody_is_sent_on_by_the_lfs_server_with_the_token(job: Job, lfs: LfsDouble, foreign: Host) -> None:
    lfs.location["batch"] = elsewhere(foreign)
    step = job.pull_request()
    assert foreign.log == []
    assert "its content is not available here: the LFS server answered 307" in step.summary

    lfs.location.clear()
    lfs.location["download"] = elsewhere(foreign)
    job.pull_request()
    assert set(foreign.credentials) == {""}


def test_a_netrc_adds_nothing(
    job: Job, github: GitHubDouble, lfs: LfsDouble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("default login x password other-secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    job.pull_request()
    assert github.credentials == {f"token {TOKEN}"}
    assert set(lfs.storage.credentials) == {"Storage only"}


@pytest.mark.parametrize("kept", [False, True])
def test_nothing_is_suggested_for_lines_of_a_pointer(
    job: Job, github: GitHubDouble, origin: ModelRepository, lfs: LfsDouble, *, kept: bool
) -> None:
    """What is to be repaired stands in line 3 of what Git LFS keeps, and line 3 of its pointer is in the diff."""
    file, content = "generation_config.json", json.dumps({"eos_token_id": [2]}, indent=2).encode() + b"\n"
    origin.git("switch", "--quiet", "main")
    origin.commit("Stop on both", {file: json.dumps({"eos_token_id": [3, 2]}, indent=2) + "\n"})
    origin.git("switch", "--quiet", "--force-create", "change")
    attributes = {".gitattributes": f"{file} filter=lfs diff=lfs merge=lfs -text\n"} if kept else {}
    origin.commit("Stop on one", attributes | {file: lfs.add(content) if kept else content})
    step = job.pull_request(suggest="true")
    assert "turn-end-not-in-eos" in step.summary
    assert any("/reviews" in line for line in github.writes()) == (not kept)
    assert github.violations == []
