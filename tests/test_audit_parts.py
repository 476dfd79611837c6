"""Parts of the audit by themselves: the journal's laws, the pause that all keep, and the page."""

import hashlib
import os
import re
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import httpx2
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.analyze.records import NewCounts, Unchecked, Verdict
from bot.audit.crew import Threads
from bot.audit.journal import Journal
from bot.audit.judge import judge
from bot.audit.pace import LONGEST, LOOK, UNNAMED, Pace, StoppedError
from bot.audit.page import NAMED, WORST, page, tally
from bot.audit.progress import said
from bot.audit.records import MOST_BYTES, MOST_KEPT, Asked, Line, failed, judged
from bot.errors import CannotLookError, UsageError
from bot.fetch.hub_cache import ContentCache
from bot.hub import Access
from tests import comparisons
from tests.test_publish_hostile import ACTIVE, by_github, hostile_texts

HOST = "https://hub.example.com"
SHA = "a1b2c3d4" * 5


def verdict(error: int = 0, warning: int = 0, note: int = 0, unchecked: int = 0) -> Verdict:
    return Verdict(
        new=NewCounts(error=error, warning=warning, note=note), resolved=0, unchanged=0, suppressed=0, unchecked=unchecked
    )


def line(repo: str = "acme/m", **fields: Any) -> Line:
    plain = Line(repo=repo, head=SHA, verdict=verdict(), folders=(".",))
    return msgspec.structs.replace(plain, **fields)


# The journal.

repos = st.sampled_from([f"acme/m{number}" for number in range(6)])


@given(st.lists(repos, max_size=12, unique=True), st.none() | st.integers(0, 4000))
def test_whatever_a_machine_leaves_of_the_lines_the_next_run_goes_on(names: list[str], cut: int | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder), None)
        for name in names:
            journal.add(line(name))
        journal.close()
        path = Path(folder) / "audit.jsonl"
        whole = path.read_bytes()
        left = whole if cut is None else whole[: cut % (len(whole) + 1)]
        path.write_bytes(left)
        again = Journal(Path(folder), None)
        kept = [each.repo for each in again.lines()]
        assert kept == names[: left.count(b"\n")]
        for name in names:
            assert again.finished(name) == (name in kept)
            if not again.finished(name):
                again.add(line(name))
        assert [each.repo for each in again.lines()] == names
        assert path.read_bytes() == whole
        again.close()


def test_a_history_is_finished_when_all_its_pairs_are(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 0)
    first, second = (Asked(repo="acme/m", base=base, head="h", number=number, of=2) for number, base in ((1, "b"), (2, "c")))
    assert not journal.finished("acme/m")
    journal.add(line(base="b", number=1, of=2))
    assert (journal.has(first), journal.has(second), journal.finished("acme/m")) == (True, False, False)
    journal.add(line(base="c", number=2, of=2))
    assert journal.finished("acme/m")
    journal.add(line("acme/young", of=0, verdict=None))
    assert journal.finished("acme/young")
    assert (journal.first("x"), journal.first("x")) == (True, False)
    journal.close()


def test_two_audits_do_not_write_in_one_folder(tmp_path: Path) -> None:
    journal = Journal(tmp_path, None)
    with pytest.raises(UsageError, match="another audit is writing there"):
        Journal(tmp_path, None)
    journal.close()
    Journal(tmp_path, None).close()


def test_a_disk_that_is_full_is_said_with_the_cure() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder), None)
        device = os.open(full, os.O_WRONLY)
        os.dup2(device, journal.file)
        os.close(device)
        with pytest.raises(UsageError, match=r"cannot be written .*run the same again to go on"):
            journal.add(line())
        journal.close()


# Lines.


def test_a_line_has_its_bounds_and_counts_what_it_leaves_out() -> None:
    many = tuple(
        comparisons.finding(key=str(number), severity="note" if number < 300 else "error", detail="x" * 9_000)
        for number in range(400)
    )
    comparison = msgspec.structs.replace(comparisons.nothing_new(), new=many, verdict=verdict(error=100, note=300))
    made = judged(Asked(repo="acme/m"), comparison)
    assert len(msgspec.json.encode(made)) <= MOST_BYTES
    assert 0 < len(made.findings) <= MOST_KEPT
    assert {finding.severity for finding in made.findings} == {"error"}
    assert made.verdict == verdict(error=100, note=300)


def test_an_error_is_one_line_of_bounded_length() -> None:
    made = failed(Asked(repo="acme/m"), CannotLookError("a\nb\x1b" + "x" * MOST_BYTES))
    assert made.error.startswith("a; b\\x1bxxx")
    assert len(msgspec.json.encode(made)) < MOST_BYTES


def test_a_fault_of_ours_is_a_line_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr("bot.audit.judge.check", breaks)
    made = judge(Asked(repo="acme/m"), Access("http://127.0.0.1:9"), Pace("http://127.0.0.1:9", 1))
    assert re.fullmatch(r"this is a fault in the program: KeyError: 'oops' \(test_audit_parts.py:\d+\)", made.error)


# The crew.


def test_no_more_is_asked_than_can_be_worked_on() -> None:
    taken = list[int]()
    free = threading.Semaphore(0)

    def asked() -> Iterator[Asked]:
        for number in range(50):
            taken.append(number)
            yield Asked(repo=str(number))

    def work(each: Asked) -> Line:
        free.acquire()
        return line(each.repo)

    answers = Threads(3, work).lines(asked())
    free.release()
    assert next(answers).repo in {"0", "1", "2"}
    assert len(taken) == 6
    for _ in range(49):
        free.release()
    assert len({each.repo for each in answers}) == 49


# The pace.


class Clock:
    """A clock that the waiting moves on."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Notes:
    """What other machines told."""

    def __init__(self) -> None:
        self.date = 0.0

    def read(self) -> float:
        return self.date

    def write(self, until: float) -> None:
        self.date = until


def answer(status: int = 200, **headers: str) -> httpx2.Response:
    return httpx2.Response(status, headers=headers, request=httpx2.Request("GET", f"{HOST}/api/models/x"))


@pytest.mark.parametrize(
    ("met", "pause"),
    [
        (answer(), 0),
        (answer(RateLimit='"api";r=3;t=55'), 0),
        (answer(RateLimit='"api";r=2;t=55'), 56),
        (answer(RateLimit='"resolvers";r=0;t=300'), 301),
        (answer(429, RateLimit='"api";r=0;t=7'), 8),
        (answer(429, RateLimit='"api";r=90;t=7'), 8),
        (answer(429), UNNAMED),
        (answer(429, **{"Retry-After": "5"}), 5),
        (answer(429, **{"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}), UNNAMED),
        (answer(RateLimit=f'"api";r=0;t={10**12}'), LONGEST),
        (answer(RateLimit="nonsense"), 0),
        (httpx2.Response(429, request=httpx2.Request("GET", "https://cdn.example.com/x")), 0),
    ],
)
def test_the_pause_is_what_the_hub_asks_for(met: httpx2.Response, pause: float) -> None:
    clock, notes = Clock(), Notes()
    pace = Pace(HOST, reserve=2, notice=notes, now=clock)
    pace.answered(met)
    assert max(pace.until - clock.now, 0) == pause
    assert notes.date == (clock.now + pause if pause else 0)
    assert pace.met == int(met.status_code == 429 and met.request.url.host == "hub.example.com")


def test_a_shorter_pause_does_not_end_a_longer_one() -> None:
    pace = Pace(HOST, reserve=0, now=Clock())
    pace.answered(answer(RateLimit='"resolvers";r=0;t=100'))
    pace.answered(answer(RateLimit='"api";r=0;t=3'))
    assert pace.until == 1_101


def test_other_machines_make_us_pause_but_not_for_ever() -> None:
    notes = Notes()
    pace = Pace(HOST, reserve=0, notice=notes)
    begun = time.monotonic()
    pace.wait()
    assert time.monotonic() - begun < 0.5
    notes.date = time.time() + 10**9
    time.sleep(LOOK)

    def wait() -> None:
        with pytest.raises(StoppedError):
            pace.wait()

    waiting = threading.Thread(target=wait)
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    assert pace.until < time.time() + LONGEST + 1
    pace.stop()
    waiting.join(5)
    assert not waiting.is_alive()


def test_work_that_met_the_limit_is_done_again_and_other_work_is_not() -> None:
    pace = Pace(HOST, reserve=0)
    calls = list[int]()

    def limited() -> str:
        calls.append(1)
        if len(calls) < 3:
            pace.answered(answer(429, RateLimit='"api";r=0;t=0'))
            raise CannotLookError("limited")
        return "done"

    def refused() -> str:
        calls.append(1)
        raise CannotLookError("refused")

    assert pace.patiently(limited) == "done"
    assert len(calls) == 3
    calls.clear()
    with pytest.raises(CannotLookError, match="refused"):
        pace.patiently(refused)
    assert len(calls) == 1


# The page.


def test_the_page_counts_everything_and_names_the_worst() -> None:
    wrong = comparisons.finding(severity="error")
    gap = Unchecked(kind="file", id="tokenizer.json", folder=".", reason="is too large")
    lines = [line(f"acme/fine{number}") for number in range(5)]
    lines += [
        line(f"acme/w{number}", verdict=verdict(error=number, note=1), findings=(wrong,) * number) for number in range(1, 41)
    ]
    lines += [line(f"acme/g{number}", verdict=verdict(unchecked=2), unchecked=(gap, gap)) for number in range(60)]
    lines += [line(f"acme/u{number}", verdict=None, error="the Hub answered 500", head=None) for number in range(70)]
    lines += [line("acme/empty", folders=())]
    shown = page(tally(lines), histories=False, endpoint=HOST, unlisted=["hub:none/*: nothing there"])
    total = sum(range(1, 41))
    assert (
        "106 repositories were judged · 5 without a finding · 1 without a model folder · 60 not wholly · 70 not judged · "
        f"1 could not be listed: {total} errors, 40 notes"
    ) in shown
    assert f"| `eos-split-brain` | {total} |  |  | 40 |" in shown
    worst = re.findall(r"^\| \[`acme/w(\d+)`\]", shown, re.MULTILINE)
    assert worst == [str(number) for number in range(40, 40 - WORST, -1)]
    assert shown.count("the Hub answered 500") == NAMED
    assert "- and 20 more, see the lines" in shown
    assert "- [`acme/g0`](https://hub.example.com/acme/g0/tree/" in shown
    assert "`tokenizer.json` is too large (and 1 more)" in shown


def test_nothing_at_all_is_a_page_too() -> None:
    assert page(tally([]), histories=False, endpoint=HOST) == "# Audit\n\n0 repositories were judged: no finding\n"
    assert page(tally([]), histories=True, endpoint=HOST) == "# Audit\n\n0 pairs were compared: nothing new\n"


@given(st.lists(st.sampled_from(["error", "warning", "note"]), max_size=30), st.randoms())
def test_the_order_of_the_lines_changes_no_count(severities: list[str], random: Random) -> None:
    lines = [
        line(f"acme/m{number}", verdict=verdict(**{severity: 1}), findings=(comparisons.finding(severity=severity),))
        for number, severity in enumerate(severities)
    ]
    other = list(lines)
    random.shuffle(other)
    assert tally(lines).found == tally(other).found
    assert tally(lines).severities == tally(other).severities == Counter(verdict_of(lines))
    shown = [re.sub(r"acme/m\d+", "", page(tally(each), histories=False, endpoint=HOST)) for each in (lines, other)]
    assert shown[0] == shown[1]


def verdict_of(lines: list[Line]) -> dict[str, int]:
    return {
        each: sum(line.verdict is not None and getattr(line.verdict.new, each) for line in lines)
        for each in ("error", "warning", "note")
    }


@given(hostile_texts, hostile_texts, hostile_texts)
def test_no_text_means_anything_on_the_page(name: str, title: str, reason: str) -> None:
    gap = Unchecked(kind="file", id=title, folder=".", reason=reason)
    lines = [
        line(
            name,
            verdict=verdict(error=1, unchecked=1),
            findings=(comparisons.finding(title=title, check=reason),),
            unchecked=(gap,),
        ),
        line(name, base=SHA, verdict=verdict(error=2, unchecked=9)),
        line(name, head=None, verdict=None, error=reason),
    ]
    shown = by_github(page(tally(lines), histories=False, endpoint=HOST, unlisted=[title]))
    assert set(shown.tags) <= {"h1", "h2", "p", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "code", "a"}
    for link in shown.links:
        assert urlsplit(link).netloc == "hub.example.com"
    for text in shown.loose:
        for pattern in ACTIVE:
            assert not pattern.search(text), f"{pattern.pattern} in {text!r}"
    assert shown.tags.count("h2") == 4
    assert said(lines[0], 1, 0, 0).isprintable()


def test_a_long_process_looks_through_the_cache_now_and_then_only(tmp_path: Path) -> None:
    def keep(size: int) -> None:
        cache = ContentCache(tmp_path, largest=100_000)  # one for each repository
        content = os.urandom(size)
        cache.put(hashlib.sha256(content).hexdigest(), content)
        cache.prune()

    keep(100)
    large = tmp_path / "ab" / ("ab" * 32)
    large.parent.mkdir(exist_ok=True)
    large.write_bytes(bytes(200_000))
    os.utime(large, (1_000, 1_000))
    keep(100)
    assert large.exists()
    keep(2_000)
    assert not large.exists()
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 3
