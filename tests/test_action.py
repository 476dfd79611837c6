"""The action around the comparison: what a job sees, from the event's payload to outputs, summary, comment and status."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bot.action import main
from bot.analyze.records import Comparison
from bot.publish import marker
from tests.doubles.github import GitHubDouble
from tests.doubles.job import EVENTS, OTHER_SECRET, TOKEN, Job, Step
from tests.doubles.model_repository import ModelRepository
from tests.doubles.small_compare import SmallCompare, exit_status
from tests.repositories import GitRepository

REPORT = "model-repo-drift-report.json"


@pytest.fixture
def origin(tmp_path: Path) -> ModelRepository:
    """The repository on GitHub."""
    made = ModelRepository(tmp_path / "origin")
    made.spoil()
    return made


@pytest.fixture
def github(origin: ModelRepository) -> Iterator[GitHubDouble]:
    with GitHubDouble(origin.path) as double:
        yield double
        assert double.violations == []


@pytest.fixture
def small() -> SmallCompare:
    return SmallCompare()


@pytest.fixture
def clone(tmp_path: Path, origin: ModelRepository) -> GitRepository:
    """A checkout with the whole history, as with `fetch-depth: 0`."""
    return cloned(origin, tmp_path / "workspace")


@pytest.fixture
def job(tmp_path: Path, clone: GitRepository, github: GitHubDouble, small: SmallCompare) -> Job:
    return Job(tmp_path / "runner", clone.path, github, small, exit_status)


def cloned(origin: ModelRepository, path: Path, *arguments: str) -> GitRepository:
    """A checkout as actions/checkout leaves it: detached, with the remote's branches."""
    clone = origin.clone(path, *arguments)
    clone.git("checkout", "--quiet", "--detach")
    return clone


def without_checkout(job: Job, tmp_path: Path) -> Job:
    empty = tmp_path / "empty"
    empty.mkdir()
    return Job(job.folder, empty, job.github, job.compare, job.exit_status)


def report(step: Step) -> Comparison:
    return msgspec.json.decode(Path(step.outputs["report_path"]).read_bytes(), type=Comparison)


def test_two_pushes_end_with_one_comment_edited(
    job: Job, clone: GitRepository, origin: ModelRepository, github: GitHubDouble
) -> None:
    opened = job.pull_request("opened")
    second_head = origin.commit("Second push")
    clone.git("fetch", "--quiet", "origin")
    pushed = job.pull_request("synchronize")

    assert (opened.status, pushed.status) == (1, 1)
    assert [line.split(" ")[0] for line in github.writes()] == ["POST", "PATCH"]
    assert len(github.comments) == 1
    said = marker.read(github.bodies()[0].splitlines()[0])
    assert said is not None
    assert said.head == second_head
    assert opened.outputs["comment_url"] == pushed.outputs["comment_url"] != ""
    assert pushed.outputs["verdict"] == "error"
    assert pushed.outputs["new_errors"] == "1"


def test_a_repaired_pull_request_is_told_so_in_the_same_comment(
    job: Job, clone: GitRepository, origin: ModelRepository, github: GitHubDouble
) -> None:
    job.pull_request()
    origin.repair()
    clone.git("fetch", "--quiet", "origin")
    repaired = job.pull_request()

    assert repaired.status == 0
    assert repaired.outputs["verdict"] == "none"
    assert len(github.comments) == 1
    assert "no longer reported" in github.bodies()[0]


def test_a_clean_pull_request_is_left_in_peace(
    job: Job, clone: GitRepository, origin: ModelRepository, github: GitHubDouble
) -> None:
    origin.repair()
    clone.git("fetch", "--quiet", "origin")
    step = job.pull_request()

    assert step.status == 0
    assert github.writes() == []
    assert step.outputs["comment_url"] == ""
    assert step.summary.startswith("### ")


@pytest.mark.parametrize(("fail_on", "status"), [("error", 1), ("never", 0)])
def test_a_read_only_token_loses_nothing_but_the_comment(job: Job, github: GitHubDouble, fail_on: str, status: int) -> None:
    github.read_only = True
    github.head_repository = "fork"

    step = job.pull_request(fail_on=fail_on)

    assert step.status == status
    assert github.comments == {}
    assert len(step.told("notice")) == 1
    assert "`permissions: pull-requests: write`" in step.told("notice")[0]
    assert "No engine stops at the end of a turn" in step.summary
    assert any(line.startswith("::error file=generation_config.json,line=2,") for line in step.lines)
    assert report(step).verdict.new.error == 1


def test_a_deleted_fork_is_judged_like_any_other(job: Job, github: GitHubDouble) -> None:
    github.head_repository = "gone"
    step = job.pull_request()
    assert (step.status, len(github.comments)) == (1, 1)


def test_a_draft_is_judged_like_any_other(job: Job, github: GitHubDouble) -> None:
    github.draft = True
    assert job.pull_request().status == 1
    assert len(github.comments) == 1


def test_title_body_and_commit_messages_are_given(job: Job, github: GitHubDouble, small: SmallCompare, tmp_path: Path) -> None:
    github.title, github.body = "Fix c0ffee1", "See c0ffee2"
    head = github.git.sha("change")
    expected = {"pull-request:title": "Fix c0ffee1", "pull-request:body": "See c0ffee2", f"commit:{head}": "Stop on end of text"}

    job.pull_request()
    assert {text.path: text.text.strip() for text in small.given.change.texts} == expected
    assert small.given.change.repository == "acme/model"

    without_checkout(job, tmp_path).pull_request()
    assert {text.path: text.text.strip() for text in small.given.change.texts} == expected
    assert small.given.change.complete_refs  # the API tells as much as a clone


@pytest.mark.parametrize("checkout", ["full", "shallow", "none"])
def test_only_what_head_brings_is_new_whatever_the_checkout(
    job: Job,
    clone: GitRepository,
    origin: ModelRepository,
    github: GitHubDouble,
    small: SmallCompare,
    tmp_path: Path,
    checkout: str,
) -> None:
    # Meanwhile somebody else spoils main, and the pull request takes nothing of it.
    fork_point = origin.sha("main")
    origin.repair()
    origin.git("switch", "--quiet", "main")
    origin.spoil("Spoil main")
    clone.git("fetch", "--quiet", "origin")
    if checkout == "none":
        job = without_checkout(job, tmp_path)
    elif checkout == "shallow":
        job = Job(job.folder, cloned(origin, tmp_path / "shallow", "--depth=1").path, github, small, exit_status)

    step = job.pull_request()

    assert step.status == 0
    assert (small.given.base.label, small.given.head.label) == ("main", "change")
    assert small.given.base.sha == fork_point
    assert small.given.head.sha == origin.sha("change")
    assert ("/git/trees/" in "".join(github.log)) == (checkout != "full")


@pytest.mark.parametrize("checkout", [True, False])
def test_a_pull_request_behind_its_base_brings_nothing(
    job: Job, clone: GitRepository, origin: ModelRepository, tmp_path: Path, *, checkout: bool
) -> None:
    # Its one commit, which spoils, is in main already; main is repaired by now.
    origin.git("switch", "--quiet", "main")
    origin.git("merge", "--quiet", "--ff-only", "change")
    origin.repair()
    clone.git("fetch", "--quiet", "origin")

    step = (job if checkout else without_checkout(job, tmp_path)).pull_request()

    assert (step.status, step.outputs["verdict"]) == (0, "none")


def test_without_a_checkout_the_pull_request_is_read_by_the_api(job: Job, github: GitHubDouble, tmp_path: Path) -> None:
    by_clone = job.pull_request()
    by_api = without_checkout(job, tmp_path).pull_request()

    assert by_api.status == by_clone.status == 1
    assert [finding.fingerprint for finding in report(by_api).new] == [finding.fingerprint for finding in report(by_clone).new]
    assert len(github.comments) == 1


def test_without_checkout_and_token_nothing_can_be_looked_at(job: Job, github: GitHubDouble, tmp_path: Path) -> None:
    step = without_checkout(job, tmp_path).pull_request(token="")

    assert step.status == 3
    assert len(step.told("error")) == 1
    assert "`fetch-depth: 0`" in step.told("error")[0]
    assert "could not compare" in step.summary
    assert step.outputs == {"verdict": "not-judged", "new_errors": "0", "report_path": "", "comment_url": ""}
    assert github.log == []


def test_a_shallow_clone_without_a_token_says_what_is_missing(job: Job, origin: ModelRepository, tmp_path: Path) -> None:
    shallow = cloned(origin, tmp_path / "shallow", "--depth=1")
    step = Job(job.folder, shallow.path, job.github, job.compare, job.exit_status).pull_request(token="")

    assert step.status == 3
    assert "fetch-depth: 0" in step.told("error")[0]


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_an_api_that_does_not_answer_is_named(job: Job, github: GitHubDouble, tmp_path: Path, status: int) -> None:
    github.answer("GET", "/compare/", status, {"message": "No"})

    step = without_checkout(job, tmp_path).pull_request()

    assert step.status == 3
    assert f"{status}" in step.told("error")[0]
    assert "could not be read by the API" in step.told("error")[0]


def test_a_connection_that_is_cut_while_reading_is_named(job: Job, github: GitHubDouble, tmp_path: Path) -> None:
    def cut() -> None:
        raise ConnectionAbortedError

    github.when("GET", "/git/trees/", cut)

    step = without_checkout(job, tmp_path).pull_request()

    assert step.status == 3
    assert "GitHub could not be reached (ConnectionError)" in step.told("error")[0]
    assert github.writes() == []


def test_an_api_that_is_down_does_not_stop_a_job_with_a_clone(job: Job, github: GitHubDouble) -> None:
    github.answer("GET", "/", 503, {"message": "Unavailable"}, times=9)

    step = job.pull_request()

    assert step.status == 1
    assert step.told("notice") == [
        "The comment could not be written: GitHub answered 503 Unavailable. The job summary has the report."
    ]
    assert report(step).verdict.new.error == 1


def test_an_empty_token_is_said(job: Job, github: GitHubDouble) -> None:
    step = job.pull_request(token="")

    assert step.status == 1
    assert step.told("notice") == ["No comment was written: the input token is empty. The job summary has the report."]
    assert github.log == []


def test_a_head_that_moves_while_it_is_judged_is_not_commented(job: Job, origin: ModelRepository, github: GitHubDouble) -> None:
    github.when("GET", "/comments$", origin.repair, after=True)

    step = job.pull_request()

    assert step.status == 1
    assert github.comments == {}
    assert step.told("notice") == [f"No comment was written: the pull request has moved on to {origin.sha('change')[:7]}."]


def test_pull_request_target_checks_nothing_out(job: Job, clone: GitRepository, github: GitHubDouble) -> None:
    clone.git("checkout", "--quiet", "origin/main")
    before = (clone.git("rev-parse", "HEAD"), clone.git("status", "--porcelain"), clone.git("ls-files", "--stage"))

    step = job.pull_request(name="pull_request_target")

    assert step.status == 1
    assert len(github.comments) == 1
    assert (clone.git("rev-parse", "HEAD"), clone.git("status", "--porcelain"), clone.git("ls-files", "--stage")) == before
    assert (job.workspace / "generation_config.json").read_text(encoding="utf-8") == '{\n  "eos_token_id": 3\n}\n'


def test_a_push_ends_in_the_summary(job: Job, origin: ModelRepository, github: GitHubDouble) -> None:
    content = json.loads((EVENTS / "push_branch_created.json").read_text(encoding="utf-8"))
    content |= {"ref": "refs/heads/change", "before": origin.sha("main"), "after": origin.sha("change")}

    step = job.run("push", content)

    assert step.status == 1
    assert "No engine stops at the end of a turn" in step.summary
    assert github.writes() == []
    assert not any("/pulls/" in line or "/issues/" in line for line in github.log)


def test_a_forced_push_that_drops_a_repair_is_new_drift(
    job: Job, clone: GitRepository, origin: ModelRepository, small: SmallCompare
) -> None:
    spoiled, repaired = origin.sha(), origin.repair()
    clone.git("fetch", "--quiet", "origin")
    content = json.loads((EVENTS / "push_branch_created.json").read_text(encoding="utf-8"))

    step = job.run("push", content | {"ref": "refs/heads/change", "before": repaired, "after": spoiled, "forced": True})

    assert step.status == 1
    assert (small.given.base.sha, small.given.head.sha) == (repaired, spoiled)


@pytest.mark.parametrize("checkout", [True, False])
def test_a_manual_run_compares_with_the_default_branch(
    job: Job, origin: ModelRepository, small: SmallCompare, tmp_path: Path, *, checkout: bool
) -> None:
    content = json.loads((EVENTS / "workflow_dispatch.json").read_text(encoding="utf-8"))
    content["repository"] = {"full_name": "acme/model", "default_branch": "main"}
    here = job if checkout else without_checkout(job, tmp_path)

    step = here.run("workflow_dispatch", content, ref="refs/heads/change", sha=origin.sha("change"))
    assert (step.status, small.given.base.sha) == (1, origin.sha("main"))

    step = here.run("workflow_dispatch", content, ref="refs/heads/main", sha=origin.sha("main"), base="change", head="main")
    assert (step.status, small.given.head.sha) == (0, origin.sha("main"))


@pytest.mark.parametrize("checkout", [True, False])
@pytest.mark.parametrize("name", ["feature/eos-fix", "-dash", "--output=x", "é/ü", "100%", "refs/heads/change", " change "])
def test_any_name_of_a_branch_is_a_revision(
    job: Job, origin: ModelRepository, clone: GitRepository, tmp_path: Path, name: str, *, checkout: bool
) -> None:
    branch = name.strip().removeprefix("refs/heads/")
    origin.git("update-ref", f"refs/heads/{branch}", origin.sha("change"))
    clone.git("fetch", "--quiet", "origin")
    content = {"repository": {"full_name": "acme/model", "default_branch": "main"}}

    step = (job if checkout else without_checkout(job, tmp_path)).run("workflow_dispatch", content, base="main", head=name)

    assert (step.status, step.outputs["new_errors"]) == (1, "1"), step.lines


@pytest.mark.parametrize("checkout", [True, False])
@pytest.mark.parametrize(
    "name", ["--upload-pack=touch x", "a b", "no/such", "main\n::error::x", "x" * 5000, "main:config.json", "../../user"]
)
def test_what_is_no_revision_is_named_in_one_line(
    job: Job, clone: GitRepository, tmp_path: Path, name: str, *, checkout: bool
) -> None:
    content = {"repository": {"full_name": "acme/model", "default_branch": "main"}}

    step = (job if checkout else without_checkout(job, tmp_path)).run("workflow_dispatch", content, base="main", head=name)

    assert step.status in (2, 3)
    (said,) = step.told("error")
    assert len(said) < 1000
    assert len(step.lines) == 1
    assert "\n" not in step.lines[0]
    assert clone.git("status", "--short") == ""


def test_a_revision_that_does_not_exist_is_named(job: Job) -> None:
    content = {"repository": {"full_name": "acme/model", "default_branch": "main"}}
    step = job.run("workflow_dispatch", content, base="no-such-branch", sha=job.github.git.sha("main"))

    assert step.status == 3
    assert "no-such-branch" in step.told("error")[0]


def test_an_event_without_a_comparison_is_green_and_says_why(job: Job, github: GitHubDouble) -> None:
    step = job.pull_request("labeled")

    assert step.status == 0
    assert step.told("notice") == ["Nothing to compare: a pull request that was labeled has no other content than before."]
    assert step.outputs["verdict"] == "not-judged"
    assert github.log == []


def test_settings_come_from_base_and_head_cannot_change_them(
    job: Job, clone: GitRepository, origin: ModelRepository, tmp_path: Path
) -> None:
    origin.commit("Silence the bot", {".github/model-repo-drift.yml": "fail_on: never\ncomment: false\n"})
    clone.git("fetch", "--quiet", "origin")
    assert job.pull_request().status == 1

    origin.git("switch", "--quiet", "main")
    origin.commit("Settle", {".github/model-repo-drift.yml": "fail_on: never\ncomment_id: main\n"})
    clone.git("fetch", "--quiet", "origin")
    for here in (job, without_checkout(job, tmp_path)):
        assert here.pull_request().status == 0
        assert here.pull_request(fail_on="error").status == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("fail-on: never", ".github/model-repo-drift.yml:1: unknown setting 'fail-on'; did you mean fail_on?"),
        ("x" * 300_000, "has 300000 bytes; at most 262144 are read"),
    ],
)
@pytest.mark.parametrize("checkout", [True, False])
def test_wrong_settings_stop_the_run(
    job: Job, clone: GitRepository, origin: ModelRepository, tmp_path: Path, content: str, said: str, *, checkout: bool
) -> None:
    origin.git("switch", "--quiet", "main")
    origin.commit("Settle", {".github/model-repo-drift.yml": content})
    clone.git("fetch", "--quiet", "origin")

    step = (job if checkout else without_checkout(job, tmp_path)).pull_request()

    assert step.status == 2
    assert said in step.told("error")[0]
    assert len(step.lines) == 1


def test_settings_behind_a_symbolic_link_are_refused(job: Job, clone: GitRepository, origin: ModelRepository) -> None:
    origin.git("switch", "--quiet", "main")
    (origin.path / ".github").mkdir()
    (origin.path / ".github/model-repo-drift.yml").symlink_to("../config.json")
    origin.commit("Link")
    clone.git("fetch", "--quiet", "origin")

    step = job.pull_request()
    assert (step.status, step.told("error")) == (
        2,
        [".github/model-repo-drift.yml of the base revision is not a plain file; make it one"],
    )


def test_wrong_inputs_are_named_as_such(job: Job) -> None:
    step = job.pull_request(fail_on="eror")
    assert (step.status, step.told("error")) == (
        2,
        ["inputs of the action: fail_on = 'eror' is not legal; legal: error, warning, note, unchecked, never"],
    )


def test_no_comment_is_written_where_none_is_wanted(job: Job, github: GitHubDouble) -> None:
    step = job.pull_request(comment="false")
    assert (step.status, step.told("notice")) == (1, [])
    assert github.writes() == []


def test_secrets_show_nowhere_and_reach_no_child(job: Job, github: GitHubDouble) -> None:
    step = job.pull_request()

    shown = "\n".join([*step.lines, step.summary, *step.outputs.values(), *github.bodies(), report(step).base.label])
    for secret in (TOKEN, OTHER_SECRET):
        assert secret not in shown
        assert secret not in "".join(step.environ.values())
    assert github.credentials == {f"token {TOKEN}"}


def test_no_line_of_the_log_can_be_somebody_elses_command(job: Job, github: GitHubDouble) -> None:
    github.title = "::stop-commands::x\n::add-mask::e"
    step = job.pull_request()
    assert all(line.startswith(("::error ", "::warning ", "::notice ", "New: ")) and "\n" not in line for line in step.lines)


def test_the_report_leaves_the_checkout_clean_unless_it_was_asked_for_there(job: Job, clone: GitRepository) -> None:
    step = job.pull_request()
    assert step.outputs["report_path"] == str(job.folder / "file_commands" / REPORT)
    assert clone.git("status", "--porcelain") == ""

    step = job.pull_request(report="drift.json")
    assert step.outputs["report_path"] == "drift.json"
    assert msgspec.json.decode((job.workspace / "drift.json").read_bytes(), type=Comparison).verdict.new.error == 1


@pytest.mark.parametrize("path", ["../drift.json", "/tmp/drift.json", "no/such/folder.json", "link/drift.json", "."])
def test_a_report_outside_of_the_workspace_is_refused(job: Job, tmp_path: Path, path: str) -> None:
    (job.workspace / "link").symlink_to(tmp_path)
    step = job.pull_request(report=path)
    assert step.status == 2
    assert f"report = {path!r}" in step.told("error")[0]


def test_the_report_is_not_written_through_a_link(job: Job, tmp_path: Path, github: GitHubDouble) -> None:
    (job.workspace / "drift.json").symlink_to(tmp_path / "elsewhere")

    step = job.pull_request(report="drift.json")

    assert not (tmp_path / "elsewhere").exists()
    assert (step.status, step.outputs["report_path"]) == (1, "drift.json")
    assert not (job.workspace / "drift.json").is_symlink()
    assert len(github.comments) == 1


def test_a_report_of_the_checkout_cannot_pass_for_ours(job: Job) -> None:
    for name in ("drift.json", "drift.sarif"):
        (job.workspace / name).write_text("the pull request's own")

    step = job.pull_request(report="drift.json", sarif="drift.sarif", engines="nonsense")

    assert step.status == 2
    assert not any((job.workspace / name).exists() for name in ("drift.json", "drift.sarif"))


def test_two_outputs_need_two_files_and_plain_ones(job: Job) -> None:
    os.mkfifo(job.workspace / "pipe")
    for inputs, said in (
        ({"report": "one", "sarif": "one"}, "give two files"),
        ({"report": "pipe"}, "a file in an existing folder"),
        ({"report": ".git/config"}, "git's own folder"),
        ({"sarif": ".git/hooks/x"}, "git's own folder"),
    ):
        step = job.pull_request(**inputs)
        assert step.status == 2
        assert said in step.told("error")[0]


@pytest.mark.parametrize("checkout", [True, False])
def test_a_settings_file_with_the_other_ending_is_named(
    job: Job, clone: GitRepository, origin: ModelRepository, tmp_path: Path, *, checkout: bool
) -> None:
    origin.git("switch", "--quiet", "main")
    origin.commit("Settle", {".github/model-repo-drift.yaml": "fail_on: never\n"})
    clone.git("fetch", "--quiet", "origin")

    step = (job if checkout else without_checkout(job, tmp_path)).pull_request()

    assert step.status == 2
    assert "call it .github/model-repo-drift.yml" in step.told("error")[0]


@pytest.mark.parametrize("missing", ["GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH", "GITHUB_WORKSPACE"])
def test_outside_of_actions_the_cure_is_named(job: Job, missing: str) -> None:
    lines: list[str] = []
    environ = {"GITHUB_EVENT_NAME": "push", "GITHUB_EVENT_PATH": "event.json", "GITHUB_WORKSPACE": "."}
    del environ[missing]
    assert main(compare=job.compare, exit_status=job.exit_status, environ=environ, say=lines.append) == 2
    assert lines == [
        f"::error title=Model Repo Drift::{missing} is not set: `action` runs in GitHub Actions only; use `compare` elsewhere"
    ]


def test_a_payload_that_cannot_be_read_is_named(job: Job) -> None:
    content: Any = {"action": "opened"}
    step = job.run("pull_request", content)
    assert step.status == 2
    assert "`pull_request`" in step.told("error")[0]


def test_the_chosen_engines_and_proof_are_handed_on(job: Job, origin: ModelRepository, small: SmallCompare) -> None:
    content = {"repository": {"full_name": "acme/model", "default_branch": "main"}}
    revisions = {"base": "main", "head": "change"}

    step = job.run(
        "workflow_dispatch", content, **revisions, engines="vllm>=0.26,<0.31\nsglang", prove="never", sha=origin.sha("change")
    )

    assert step.status == 1
    assert small.engines[0].startswith("sglang@")
    assert small.engines[1:] == ("vllm@0.26.0", "vllm@0.28.0")
    assert small.prove == "never"

    step = job.run("workflow_dispatch", content, **revisions, engines="vlm", sha=origin.sha("change"))
    assert step.status == 2
    assert "setting engines: engine 'vlm' is not modelled; did you mean vllm?" in step.told("error")[0]
