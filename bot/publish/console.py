"""Text for a terminal: sentences with values set off, in lines of a given width, with nothing in it that a terminal or a runner obeys."""

import io
import re
from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.text import Text

from bot.publish.escape import EMPTY, segments, visible

_VALUE = "cyan"


def rendered(parts: Iterable[RenderableType], *, color: bool, width: int = 100) -> str:
    """The parts in lines of at most `width` columns. With `color` the text holds ANSI sequences, all of them ours."""
    console = Console(
        file=io.StringIO(),
        width=width,
        height=25,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        legacy_windows=False,
        force_jupyter=False,
        markup=False,
        emoji=False,
        highlight=False,
        _environ={},
    )
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    # A table pads its rows; a terminal's copy and paste is better off without.
    return "".join(f"{_inert(line.rstrip())}\n" for line in capture.get().split("\n")[:-1])


def sentence(said: str, style: str = "") -> Text:
    """A sentence of ours with its values set off, everything without a shape made visible."""
    line = Text(style=style)
    for piece, is_value in segments(said):
        if is_value:
            line.append(visible(piece) or EMPTY, _VALUE)
        else:
            line.append(visible(re.sub(r"[\n\r\t]", " ", piece)))
    return line


def _inert(line: str) -> str:
    """The line such that the Actions runner, which reads every line that a step prints, finds no command in it."""
    return re.sub(r"^(\s*):(?=:)", r"\1: ", line).replace("##[", "# #[")
