"""Templates that mean harm, in comparisons as people start them. `make hostile` runs all of tests/hostile; here are some of them."""

import os
import sys
from pathlib import Path

import pytest

from bot import run as story
from bot.analyze import child, jail
from bot.analyze.limits import room
from bot.analyze.records import Comparison
from tests.changes import write
from tests.hostile.kinds import Hostile
from tests.hostile.runs import HARMLESS, Ran, called_broken, rest_is_told, run, verdicts
from tests.hostile.templates import ENDING, HOSTILE
from tests.hostile.work import STUCK

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limits are Linux's")
QUICK = {f"t{i:03}": name for i, name in enumerate([name for name, each in ENDING.items() if not each.slow][::4])}
SOME_SLOW = {"a": "two loops", "b": "a list that doubles"}


def templates(names: dict[str, str]) -> dict[str, Hostile]:
    return {key: HOSTILE[name] for key, name in names.items()}


def compared(work: Path, names: dict[str, str]) -> Ran:
    return run(work, {key: HOSTILE[name].text for key, name in names.items()})


def wrong(ran: Ran, names: dict[str, str]) -> list[tuple[str, str, str]]:
    """The templates of which something else is said than should be, and those that come to a limit and are called broken for it."""
    told = verdicts(ran, templates(names))
    other = [(name, HOSTILE[name].gives[:80], told[key][:80]) for key, name in names.items() if told[key] != HOSTILE[name].gives]
    limits = [key for key, name in names.items() if HOSTILE[name].gives == "limits"]
    return other + [(names[key], "limits", f"called broken by {found}") for key in limits if (found := called_broken(ran, key))]


def test_there_are_many() -> None:
    assert len(HOSTILE) > 200
    assert {each.gives.partition(" ")[0] for each in HOSTILE.values()} >= {"limits", "syntax", "declined", "=", "SecurityError"}
    assert len({each.text for each in HOSTILE.values()}) == len(HOSTILE)


def test_many_that_take_no_time_in_one_comparison(tmp_path: Path) -> None:
    ran = compared(tmp_path, QUICK)
    assert ran.status == 0, ran.errors
    assert wrong(ran, QUICK) == []
    assert rest_is_told(ran)
    assert ran.megabytes < 120


def test_slow_ones_take_their_time_once(tmp_path: Path) -> None:
    ran = compared(tmp_path, SOME_SLOW)
    assert ran.status == 0, ran.errors
    assert wrong(ran, SOME_SLOW) == []
    assert rest_is_told(ran)
    assert ran.seconds < 40
    assert ran.megabytes < 120


def here(work: Path, texts: dict[str, str]) -> Comparison:
    """The comparison, asked for in this process."""
    names = {f"additional_chat_templates/{name}.jinja": text for name, text in texts.items()}
    base = write(work / "base", "chatml", dict.fromkeys(names, HARMLESS))
    head = write(work / "head", "chatml", {**names, "generation_config.json": {"eos_token_id": 260}})
    return story.compare(base=str(base), head=str(head), repo=work, prove="never")


def test_when_too_many_are_stuck_the_rest_is_told_without_templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jail, "STUCK_SECONDS", 0.5)
    monkeypatch.setattr(jail, "RESTARTS", 2)
    text = STUCK["lists that are added up"].text
    texts = {f"stuck{i}": text + "x" * i for i in range(4)} | {"fine": "{{ messages[0].content }}"}
    comparison = here(tmp_path, texts)
    assert "eos-split-brain" in {finding.check for finding in comparison.new}
    reasons = [row.reason for row in comparison.unchecked if row.id == "prompts"]
    assert sum("it had to be killed" in reason for reason in reasons) >= 2
    assert any("too many others had to be killed" in reason for reason in reasons)


@pytest.mark.parametrize("name", STUCK)
def test_code_in_c_that_does_not_come_back_is_stopped(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jail, "STUCK_SECONDS", 1.0)
    comparison = here(tmp_path, {"stuck": STUCK[name].text})
    rows = [row.reason for row in comparison.unchecked if row.id == "prompts"]
    assert rows
    assert all("it had to be killed" in reason for reason in rows)


def test_what_ends_by_itself_is_not_stopped(tmp_path: Path) -> None:
    started = child.start(os.environ)
    ended = jail.once(started, f"{tmp_path}\n", 30.0)  # an exchange that is not there
    child.end(started)
    assert ended.reason == ""
    assert ended.status not in (0, None)


def test_work_has_room_of_its_own_for_a_while() -> None:
    limited = room(64 << 20)
    for _ in range(2):
        with limited():
            assert len(bytearray(1 << 20)) == 1 << 20
            with pytest.raises(MemoryError):
                bytearray(512 << 20)
        assert len(bytearray(512 << 20)) == 512 << 20
