"""What an action tells the runner: workflow commands on its output, and its outputs and summary by files."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

MOST_LETTERS = 4_000
"""Letters of one message."""


@dataclass(frozen=True)
class Runner:
    """The runner of this job. `output` and `summary` are its command files, None where there are none; `say` prints a line.

    Text of a repository is only ever said inside a command: the runner takes `::name` at the start of a line and
    `##[name]` anywhere in any other line for commands.
    """

    say: Callable[[str], None]
    output: Path | None = None
    summary: Path | None = None

    def tell(self, level: Literal["error", "warning", "notice"], message: str) -> None:
        """Show one message of ours beside the run, on one line and cut to 4,000 letters."""
        line = " ".join(message.split())[:MOST_LETTERS].replace("%", "%25")
        self.say(f"::{level} title=Model Repo Drift::{line}")

    def set_outputs(self, outputs: Mapping[str, str]) -> None:
        """Set the outputs of the step. No value can set another one: the delimiter is random."""
        if self.output is None:
            return
        delimiter = f"end-{secrets.token_hex(16)}"
        text = "".join(f"{name}<<{delimiter}\n{value}\n{delimiter}\n" for name, value in outputs.items())
        with self.output.open("a", encoding="utf-8") as file:
            file.write(text)

    def summarise(self, markdown: str) -> None:
        """Append to the summary of the job."""
        if self.summary is None:
            return
        with self.summary.open("a", encoding="utf-8") as file:
            file.write(f"{markdown.rstrip()}\n")
