"""How far an audit has come, on a terminal; elsewhere nothing is said before the end."""

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from bot.audit.pace import Pace
from bot.audit.records import Line
from bot.publish.escape import shorten, visible

Tell = Callable[[Line], None]


@contextmanager
def progress(pace: Pace, *, quiet: bool) -> Generator[Tell, None, None]:
    """Show a line that says what was judged last, and how long we pause for the Hub."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():  # pyright: ignore[reportUnnecessaryComparison] - None when it was closed
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - for terminals only
    from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TimeElapsedColumn  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    class Said(ProgressColumn):
        """What is known of an audit whose end is not."""

        def render(self, task: Task) -> Text:
            return Text(
                said(task.fields.get("line"), int(task.completed), int(task.fields.get("unread", 0)), pace.until - time.time())
            )

    with Progress(
        SpinnerColumn(), TimeElapsedColumn(), Said(), console=Console(stderr=True), transient=True, refresh_per_second=4
    ) as shown:
        task = shown.add_task("", total=None, unread=0)
        unread = 0

        def tell(line: Line) -> None:
            nonlocal unread
            unread += line.verdict is None and bool(line.error)
            shown.update(task, advance=1, line=line, unread=unread)

        yield tell


def said(last: Line | None, judged: int, unread: int, pause: float) -> str:
    """The progress in words; what is from elsewhere is made visible."""
    parts = [f"{judged - unread} judged"]
    if unread:
        parts.append(f"{unread} not")
    if pause > 0:
        parts.append(f"paused for {pause:.0f} s, as the Hub asks")
    elif last is not None:
        parts.append(visible(shorten(last.repo, 60)))
    return " · ".join(parts)
