"""Run every hostile template through comparisons as people start them, and write docs/hostile-templates.md: what is said, how long it takes, how much memory.

Templates that take no time are compared together, the others one by one. Exits with 1 when something else is said than should be, when a comparison fails,
or when the asking process needs more memory than for a harmless template.
"""

import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import msgspec

from tests.hostile.runs import HARMLESS, Ran, called_broken, rest_is_told, run, verdicts
from tests.hostile.templates import GROUPS, HOSTILE

PAGE = Path(__file__).parent.parent / "docs" / "hostile-templates.md"
MORE = 32
"""MiB that the asking process may need beyond what a harmless comparison takes: reports are longer."""
TOGETHER = 50
_LEGEND = (
    'What comes of a template: "limits" (it did not finish, which is told as not checked and never as broken), "syntax", "declined" (by its own '
    "raise_exception), the name of an exception, or a text."
)


class Row(msgspec.Struct, frozen=True):
    """What came of one template; the seconds are those of its comparison, None where others were in it."""

    group: str
    name: str
    expected: str
    told: str
    seconds: float | None
    megabytes: int


def batches() -> Iterator[list[str]]:
    """The names that are compared together."""
    quick = [name for name, each in HOSTILE.items() if not each.slow]
    yield from (quick[i : i + TOGETHER] for i in range(0, len(quick), TOGETHER))
    yield from ([name] for name, each in HOSTILE.items() if each.slow)


def compared(names: list[str]) -> tuple[Ran, list[Row]]:
    """Compare some templates."""
    templates = {f"t{i:03}": HOSTILE[name] for i, name in enumerate(names)}
    with tempfile.TemporaryDirectory() as work:
        ran = run(Path(work), {key: each.text for key, each in templates.items()})
    told = verdicts(ran, templates) if ran.report else dict.fromkeys(templates, f"exit {ran.status}: {ran.errors[-200:]}")
    if ran.report and not rest_is_told(ran):
        told = {key: f"{said}, and nothing of the rest" for key, said in told.items()}
    groups = {name: group for group, members in GROUPS.items() for name in members}
    seconds = ran.seconds if len(names) == 1 else None
    return ran, [
        Row(groups[name], name, each.gives, _said(ran, key, told[key], each.gives), seconds, ran.megabytes)
        for name, (key, each) in zip(names, templates.items(), strict=True)
    ]


def _said(ran: Ran, key: str, told: str, expected: str) -> str:
    broken = called_broken(ran, key) if ran.report and expected == "limits" else []
    return f"{told}, and called broken by {', '.join(broken)}" if broken else told


def page(rows: list[Row], slowest: float, harmless: int) -> str:
    """The page as Markdown."""
    right = sum(row.told == row.expected for row in rows)
    run_on = f"Python {platform.python_version()}, Jinja {version('jinja2')}, {os.cpu_count()} processors"
    counted = (
        f"{len(rows)} templates of tests/hostile, each in a comparison with a harmless one (`python -m bot compare`). {right} of them come out as they have "
        f"to. The longest comparison took {slowest:.0f} s; the asking process needed {max(row.megabytes for row in rows)} MiB at most, and {harmless} MiB "
        "for a harmless template."
    )
    head = [
        "# Templates that mean harm",
        f"Written by `make hostile` on {datetime.now(UTC):%Y-%m-%d}: {run_on}.",
        counted,
        _LEGEND,
        "| group | template | what comes of it | seconds alone |\n| --- | --- | --- | --- |",
    ]
    return "\n\n".join(head) + "\n" + "\n".join([*map(_line, rows), ""])


def _line(row: Row) -> str:
    said = "a text" if row.told.startswith("= ") else row.told
    shown = said if row.told == row.expected else f"**{said}**, not {row.expected[:40]!r}"
    return f"| {row.group} | {row.name} | {shown} | {'' if row.seconds is None else f'{row.seconds:.1f}'} |"


def main() -> int:
    """Run all, print what goes wrong, write the page."""
    with tempfile.TemporaryDirectory() as work:
        harmless = run(Path(work), {"harmless": HARMLESS + "x"}).megabytes
    rows: list[Row] = []
    slowest = 0.0
    wrong = 0
    for names in batches():
        ran, found = compared(names)
        rows += found
        slowest = max(slowest, ran.seconds)
        for row in found:
            if row.told != row.expected or row.megabytes > harmless + MORE:
                wrong += 1
                print(f"{row.name}: {row.told[:200]!r}, not {row.expected[:80]!r}; {row.megabytes} MiB", flush=True)
    order = {name: i for i, name in enumerate(HOSTILE)}
    PAGE.write_text(page(sorted(rows, key=lambda row: order[row.name]), slowest, harmless), "utf-8")
    print(f"{len(rows)} templates, {wrong} wrong; the longest comparison took {slowest:.0f} s")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
