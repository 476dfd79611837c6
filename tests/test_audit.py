"""The audit as it is called: what is judged, what it writes, and that it goes on after any end without doing anything twice."""

import json
import os
import pty
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.conftest import ROOT
from tests.doubles.hub import TOKEN
from tests.doubles.hub_audit import Limit, ManyDouble
from tests.doubles.model_repository import ModelRepository
from tests.repositories import GitRepository
from tests.test_command_line import PROGRAM, Ended, environment, started

SCHEMA = Draft202012Validator(json.loads((ROOT / "schema" / "audit-1.json").read_text(encoding="utf-8")))
GONE = "hub:acme/gone@main: the Hub has no such repository that the token in HF_TOKEN may read"


class Land:
    """A Hub with models of acme, and calls of the audit that are held to what no call may do."""

    def __init__(self, folder: Path, hub: ManyDouble) -> None:
        self.folder, self.hub = folder, hub
        self.variables = {
            "HF_ENDPOINT": hub.url,
            "HF_TOKEN": TOKEN,
            "XDG_CACHE_HOME": str(folder / "cache"),
            "HOME": str(folder),
        }

    def audit(self, *arguments: str) -> Ended:
        self.hub.log.clear()
        ended = started(self.folder, "audit", *arguments, **self.variables)
        self.hold(ended)
        return ended

    def hold(self, ended: Ended) -> None:
        assert TOKEN not in ended.output + ended.errors
        assert "Traceback" not in ended.errors
        assert {seen.host.split(":")[0] for seen in self.hub.log if seen.token} <= {"127.0.0.1"}
        assert all(TOKEN.encode() not in path.read_bytes() for path in self.folder.rglob("*") if path.is_file())

    def lines(self, name: str = "out") -> list[Any]:
        """Every line, which keeps to the published schema."""
        path = self.folder / name / "audit.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            SCHEMA.validate(line)
        return lines

    def page(self, name: str = "out") -> str:
        return (self.folder / name / "summary.md").read_text()


@pytest.fixture
def origin(tmp_path: Path) -> ModelRepository:
    """A history of four commits: whole, spoiled, repaired, and one that changes no model."""
    made = ModelRepository(tmp_path / "origin")
    made.git("switch", "--quiet", "main")
    made.spoil()
    made.repair()
    made.commit("Tell of it", {"docs/notes.txt": "x\n"})
    return made


@pytest.fixture
def spoiled(tmp_path: Path) -> ModelRepository:
    made = ModelRepository(tmp_path / "spoiled")
    made.git("switch", "--quiet", "main")
    made.spoil()
    return made


@pytest.fixture
def open_land(tmp_path: Path) -> Iterator[Callable[..., Land]]:
    opened: list[ManyDouble] = []

    def make(folders: Mapping[str, Path], **settings: Any) -> Land:
        hub = ManyDouble(folders, **settings)
        opened.append(hub)
        hub.__enter__()
        return Land(tmp_path, hub)

    yield make
    for hub in opened:
        hub.__exit__()


def test_every_model_of_an_organization_is_judged_as_check_judges_it(
    open_land: Callable[..., Land], origin: ModelRepository, spoiled: ModelRepository
) -> None:
    whole = {f"acme/model-{number}": origin.path for number in range(60)} | {"acme/spoiled": spoiled.path}
    land = open_land({**whole, "other/model": spoiled.path})
    for name in list(whole)[3:-1]:
        land.hub.repositories[name].private = True  # more than one page of names, and not all may be read
    land.hub.repositories[f"acme/model-{3}"].readers = {TOKEN}
    ended = land.audit("acme/*", "--output", "out")
    assert ended == Ended(1, "5 repositories were judged: 1 error, 2 warnings, 5 notes\nout/summary.md\n", "")
    lines = {line["repo"]: line for line in land.lines()}
    assert set(lines) == {"acme/model-0", "acme/model-1", "acme/model-2", "acme/model-3", "acme/spoiled"}
    for name, line in lines.items():
        checked = json.loads(started(land.folder, "check", f"hub:{name}", "--format", "json", **land.variables).output)
        assert (line["head"], line["verdict"], line["unchecked"]) == (
            checked["head"]["sha"],
            checked["verdict"],
            checked["unchecked"],
        )
        assert sorted(each["fingerprint"] for each in line["findings"]) == sorted(each["fingerprint"] for each in checked["new"])
        assert (line["base"], line["number"], line["of"], line["folders"], line["error"]) == (None, 1, 1, ["."], "")
    assert [each["severity"] for each in lines["acme/spoiled"]["findings"]] == ["error", "warning", "warning", "note"]
    assert "| `eos-split-brain` | 1 |  |  | 1 |" in land.page()
    assert f"[`acme/spoiled`]({land.hub.url}/acme/spoiled/tree/{spoiled.sha()}) | 1 | 2 | 1 | 🔴 " in land.page()


def test_names_come_from_files_too_and_each_is_judged_once(open_land: Callable[..., Land], origin: ModelRepository) -> None:
    land = open_land({f"acme/m{number}": origin.path for number in range(4)} | {"gpt": origin.path})
    (land.folder / "list").write_text("# ours\nacme/m0 # again below\n\nhub:acme/m1\ngpt\n  acme/m0\n", encoding="utf-8")
    revision = f"acme/m2@{origin.sha('HEAD~2')}"
    ended = land.audit("list", "hub:acme/m1", revision, "acme/gone", "none/*", "--output", "out", "--fail-on", "warning")
    lines = {line["repo"]: line for line in land.lines()}
    assert len(lines) == len(land.lines())
    assert set(lines) == {"acme/m0", "acme/m1", "gpt", revision, "acme/gone"}
    assert lines[revision]["verdict"]["new"] == {"error": 1, "warning": 2, "note": 1}
    assert (lines["acme/gone"]["verdict"], lines["acme/gone"]["error"]) == (None, GONE)
    assert ended.status == 1
    assert ended.output == (
        "4 repositories were judged · 1 not judged · 1 could not be listed: 1 error, 2 warnings, 4 notes\nout/summary.md\n"
    )
    none = "hub:none/*: the Hub has no models under this name that may be read"
    assert ended.errors == f"model-repo-drift: {none}\n"
    assert "## Not judged\n\n- hub:none/\\*: the Hub has no models" in land.page()
    assert "- `acme/gone`: `hub:acme/gone@main:` the Hub has no such repository" in land.page()


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("acme/whole",), 0),
        (("acme/whole", "--fail-on", "note"), 1),
        (("acme/spoiled",), 1),
        (("acme/spoiled", "--fail-on", "never"), 0),
        (("acme/spoiled", "acme/gone"), 1),
        (("acme/whole", "acme/gone"), 3),
        (("acme/whole", "none/*"), 3),
        (("acme/*", "acme/gone", "--fail-on", "never"), 3),
        (("acme/unread", "--fail-on", "unchecked"), 1),
        (("acme/unread",), 0),
    ],
)
def test_the_exit_status_says_what_was_found_and_whether_all_was_seen(
    arguments: tuple[str, ...],
    status: int,
    open_land: Callable[..., Land],
    origin: ModelRepository,
    spoiled: ModelRepository,
) -> None:
    land = open_land({"acme/whole": origin.path, "acme/spoiled": spoiled.path, "acme/unread": origin.path})
    land.hub.answer("GET", "^/acme/unread/resolve/.*/tokenizer_config.json", 404, times=2)
    ended = land.audit(*arguments, "--output", "out", "--quiet")
    assert (ended.status, ended.output) == (status, "")


def test_every_pair_of_a_history_is_compared(open_land: Callable[..., Land], origin: ModelRepository, tmp_path: Path) -> None:
    young = GitRepository(tmp_path / "young")
    young.commit("First", {"config.json": '{"model_type": "qwen2"}'})
    land = open_land({"acme/old": origin.path, "acme/young": young.path})
    ended = land.audit("acme/*", "acme/gone", "--history", "--output", "out", "--workers", "1")
    assert ended.output.startswith(
        "3 pairs were compared · 1 without a finding · 1 that change no model · 1 not judged · 1 repository with one commit only: "
        "1 error, 2 warnings new\n"
    )
    shas = [origin.sha(f"HEAD~{back}" if back else "HEAD") for back in range(4)]
    lines = land.lines()
    rows = [(line["number"], line["of"], line["base"], line["head"]) for line in lines if line["repo"] == "acme/old"]
    assert sorted(rows) == [(number, 3, shas[number], shas[number - 1]) for number in (1, 2, 3)]
    verdicts = {line["number"]: line["verdict"] for line in lines if line["repo"] == "acme/old"}
    assert (verdicts[3]["new"]["error"], verdicts[2]["resolved"], verdicts[1]["resolved"]) == (1, 3, 0)
    (alone,) = [line for line in lines if line["repo"] == "acme/young"]
    assert (alone["of"], alone["head"], alone["verdict"], alone["error"]) == (0, young.git("rev-parse", "HEAD"), None, "")
    (gone,) = [line for line in lines if line["repo"] == "acme/gone"]
    assert gone["error"] == GONE
    place = f"[`acme/old {shas[3][:8]}..{shas[2][:8]}`]({land.hub.url}/acme/old/commit/{shas[2]})"
    assert place in land.page()
    again = land.audit("acme/*", "acme/gone", "--history", "--output", "out", "--workers", "1")
    assert again == ended
    assert [line for line in land.hub.asked if "author=" not in line] == []


def test_the_newest_pairs_are_asked_for_alone_and_messages_are_texts(
    open_land: Callable[..., Land], origin: ModelRepository
) -> None:
    fix = origin.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "The fix")
    origin.git("update-ref", "refs/pr/1", fix)
    origin.commit(f"Take over the fix of commit {fix}", {"generation_config.json": '{"eos_token_id":3}\n'})
    land = open_land({"acme/old": origin.path})
    ended = land.audit("acme/old", "--history", "2", "--output", "out", "--fail-on", "never")
    assert ended.status == 0
    newest, second = sorted(land.lines(), key=lambda line: line["number"])
    assert (newest["head"], second["head"]) == (origin.sha(), origin.sha("HEAD~1"))
    assert [finding["check"] for finding in newest["findings"]] == ["orphan-fix-commit"]
    assert sum("/commits/main" in line for line in land.hub.asked) == 1
    assert "GET /api/models/acme/old/commits/main?limit=3" in land.hub.asked


def test_what_is_finished_is_not_asked_for_again_and_a_line_taken_out_is_judged_again(
    open_land: Callable[..., Land], origin: ModelRepository
) -> None:
    land = open_land({f"acme/m{number}": origin.path for number in range(3)})
    first = land.audit("acme/*", "acme/gone", "--output", "out")
    before = land.lines()
    assert land.audit("acme/*", "acme/gone", "--output", "out") == first
    assert land.lines() == before
    assert [line for line in land.hub.asked if "author=" not in line] == []
    path = land.folder / "out" / "audit.jsonl"
    kept = [line for line in path.read_text().splitlines(keepends=True) if '"acme/m1"' not in line]
    path.write_text("".join(kept) + '{"repo":"acme/m1","he')  # and what a machine left that went down while it wrote
    assert land.audit("acme/*", "acme/gone", "--output", "out") == first
    assert sorted(land.lines(), key=lambda line: line["repo"]) == sorted(before, key=lambda line: line["repo"])
    assert {line.split("/")[4].split("?")[0] for line in land.hub.asked if "/api/models/" in line} == {"m1"}


USAGE = {
    "nothing": ((), "audit takes WHAT to judge"),
    "no output": (("acme/m",), "audit takes WHAT and --output DIR"),
    "no repository": (("a b", "--output", "out"), "'a b': hub:<organization>/<name>@<revision> is needed"),
    "a folder": (
        ("../..", "--output", "out"),
        "is needed, such as hub:openai/gpt-oss-20b@main, or org/* for all of an organization",
    ),
    "a long word": (("x" * 5000, "--output", "out"), "is needed"),
    "everything": (("*", "--output", "out"), "is needed"),
    "a bad line": (("list", "--output", "out"), "list:2: 'no model': hub:<organization>/<name>@<revision> is needed"),
    "no worker": (("acme/m", "--output", "out", "--workers", "0"), "--workers takes a number from 1 on"),
    "no history": (("acme/m", "--output", "out", "--history", "-1"), "--history takes a number from 1 on"),
    "a file for a folder": (("acme/m", "--output", "list"), "--output list: cannot be written"),
    "no queue": (("acme/m", "--output", "out", "--queue", "amqp://x"), "this is no queue"),
}


@pytest.mark.parametrize("name", USAGE)
def test_wrong_usage_is_said_in_one_line_before_anything_is_asked(name: str, open_land: Callable[..., Land]) -> None:
    arguments, said = USAGE[name]
    land = open_land({})
    (land.folder / "list").write_text("acme/m\nno model\n")
    ended = land.audit(*arguments)
    assert (ended.status, ended.output) == (2, "")
    assert said in ended.errors
    assert ended.errors.count("\n") == 1
    assert land.hub.log == []
    assert not (land.folder / "out").exists()


def test_a_folder_holds_one_audit_of_one_kind(open_land: Callable[..., Land], origin: ModelRepository) -> None:
    land = open_land({"acme/m": origin.path})
    land.audit("acme/m", "--output", "out")
    other = land.audit("acme/m", "--output", "out", "--history", "3")
    assert other.status == 2
    assert "--output out: holds an audit of newest revisions by version" in other.errors
    assert "and this is an audit of the newest 3 pairs of histories by version" in other.errors
    path = land.folder / "out" / "audit.jsonl"
    path.write_text(f"nonsense\n{path.read_text()}")
    assert "out/audit.jsonl:1: is no line of an audit" in land.audit("acme/m", "--output", "out").errors


def test_a_repository_without_a_model_is_not_called_fine(open_land: Callable[..., Land], tmp_path: Path) -> None:
    bare = GitRepository(tmp_path / "bare")
    bare.commit("x", {"README.md": "Nothing here\n"})
    land = open_land({"acme/bare": bare.path})
    ended = land.audit("acme/*", "--output", "out")
    assert ended.output.startswith("1 repository was judged · 1 without a model folder: no finding\n")


def test_what_the_hub_sends_names_no_file_and_starts_no_line(open_land: Callable[..., Land], origin: ModelRepository) -> None:
    land = open_land({"acme/m": origin.path})
    names = ["acme/../../x", "::error::x", "acme/<img src=x>", "acme/m"]
    land.hub.answer("GET", "^/api/models$", 200, [{"id": name} for name in names])
    ended = land.audit("acme/*", "--output", "out")
    assert ended.status == 3
    lines = {line["repo"]: line["error"] for line in land.lines()}
    assert set(lines) == set(names)
    assert [name for name, error in lines.items() if not error] == ["acme/m"]
    assert all("is needed" in error for name, error in lines.items() if name != "acme/m")
    assert "- `acme/<img src=x>`: " in land.page()
    assert not any(line.startswith("::") for line in land.page().splitlines())


def test_faults_of_the_hub_are_lines_and_end_nothing(open_land: Callable[..., Land], origin: ModelRepository) -> None:
    land = open_land({f"acme/m{number}": origin.path for number in range(4)})
    land.hub.answer("GET", "^/api/models/acme/m1/revision", 200, {"id": 7, "sha": "x"})
    land.hub.repositories["acme/m2"].gated = True
    ended = land.audit("acme/*", "--output", "out")
    lines = {line["repo"]: line for line in land.lines()}
    assert lines["acme/m1"]["error"] == "hub:acme/m1@main: the Hub does not say which commit that is"
    assert "the repository is gated" in lines["acme/m2"]["error"]
    assert lines["acme/m0"]["verdict"]
    assert lines["acme/m3"]["verdict"]
    assert ended.status == 3


def test_the_headers_of_the_hub_are_heeded_before_it_refuses(open_land: Callable[..., Land], origin: ModelRepository) -> None:
    limit = Limit(20, 2)
    land = open_land({f"acme/m{number}": origin.path for number in range(6)}, limit=limit)
    ended = land.audit("acme/*", "--output", "out", "--workers", "3")
    assert (ended.status, limit.refused) == (0, 0)
    assert len(land.hub.asked) > 20
    assert len(land.lines()) == 6


def test_a_limit_that_others_used_up_costs_time_and_no_repository(
    open_land: Callable[..., Land], origin: ModelRepository
) -> None:
    land = open_land({f"acme/m{number}": origin.path for number in range(3)})
    land.hub.answer("GET", "/tree/", 429, {"error": "no"}, times=5, headers={"RateLimit": '"api";r=0;t=0'})
    land.hub.answer("GET", "^/api/models$", 429, {"error": "no"}, times=5, headers={"RateLimit": '"api";r=0;t=0'})
    ended = land.audit("acme/*", "--output", "out", "--workers", "1")
    assert (ended.status, len(land.lines())) == (0, 3)


def test_progress_is_shown_on_a_terminal_alone(open_land: Callable[..., Land], origin: ModelRepository) -> None:
    land = open_land({f"acme/m{number}": origin.path for number in range(3)})
    ours, theirs = pty.openpty()
    command = [*PROGRAM, "audit", "acme/*", "--output", "out"]
    with subprocess.Popen(
        command, cwd=land.folder, stdout=subprocess.PIPE, stderr=theirs, env=environment(**land.variables)
    ) as running:
        os.close(theirs)
        shown = b""
        while True:
            try:
                if not (part := os.read(ours, 4096)):
                    break
            except OSError:  # Linux says so when the other side is closed
                break
            shown += part
    os.close(ours)
    assert running.returncode == 0
    assert b"3 judged" in shown
    assert b"acme/m" in shown


def resident(process: int) -> int:
    """The memory of a process, in KiB."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))


def run_until(land: Land, arguments: list[str], lines: int, sizes: list[int]) -> subprocess.Popen[bytes]:
    """Start an audit and return when it has so many lines, or has ended; its memory is noted again and again."""
    path = land.folder / "out" / "audit.jsonl"
    running = subprocess.Popen(
        [*PROGRAM, "audit", *arguments], cwd=land.folder, env=environment(**land.variables), stdout=subprocess.DEVNULL
    )
    until = time.monotonic() + 300
    while time.monotonic() < until and running.poll() is None:
        count = path.read_bytes().count(b"\n") if path.exists() else 0
        if count >= lines:
            break
        try:
            sizes.append(resident(running.pid))
        except (OSError, StopIteration):
            break
        time.sleep(0.05)
    return running


def test_every_repository_is_judged_once_whatever_ends_the_audit(open_land: Callable[..., Land], origin: ModelRepository) -> None:
    """With forty repositories; `make audit-proof` takes two hundred."""
    many = int(os.environ.get("MODEL_REPO_DRIFT_AUDITED", "40"))
    names = {f"acme/m{number}" for number in range(many)}
    land = open_land(dict.fromkeys(sorted(names), origin.path))
    arguments = ["acme/*", "--output", "out", "--quiet", "--workers", "3"]
    finished = set[str]()
    sizes: list[list[int]] = []
    ends = ((many // 5, signal.SIGKILL), (many // 3, signal.SIGTERM), (many // 2, signal.SIGINT), (many + 1, None))
    for lines, end in ends:
        land.hub.log.clear()
        sizes.append([])
        running = run_until(land, arguments, lines, sizes[-1])
        if end:
            running.send_signal(end)
        status = running.wait(60)
        failed = [line for line in land.lines() if line["error"]]
        assert status == (0 if end is None else -9 if end == signal.SIGKILL else 130), failed
        asked = {f"acme/{seen.line.split('/')[4].split('?')[0]}" for seen in land.hub.log if "/api/models/acme/" in seen.line}
        assert not asked & finished
        finished = {line["repo"] for line in land.lines()}
    assert finished == names
    assert set(Counter(line["repo"] for line in land.lines()).values()) == {1}
    assert all(line["verdict"] and not line["error"] for line in land.lines())
    last = sizes[-1]  # half of the repositories in one process
    early = max(last[: len(last) // 4])
    assert max(last) - early < 6 * 1024, (early, max(last))


def test_an_audit_that_is_stopped_writes_its_page_and_no_wrong_line(
    open_land: Callable[..., Land], origin: ModelRepository
) -> None:
    land = open_land({f"acme/m{number}": origin.path for number in range(40)}, latency=0.05)
    running = subprocess.Popen(
        [*PROGRAM, "audit", "acme/*", "--output", "out"],
        cwd=land.folder,
        env=environment(**land.variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    path = land.folder / "out" / "audit.jsonl"
    until = time.monotonic() + 60
    while time.monotonic() < until and not (path.exists() and path.read_bytes().count(b"\n") > 5):
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: the children that judge get it as well
    output, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert errors == b"model-repo-drift: stopped; run the same again to go on\n"
    assert b"repositories were judged" in output
    assert all(line["verdict"] for line in land.lines())
    assert "were judged" in land.page()
