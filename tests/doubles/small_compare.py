"""A comparison that knows one check, over the real fetch: what the action does around it can be seen without the analysis."""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bot.analyze.records import Comparison, Finding, ModelChange, Prove, Side
from bot.fetch.gather import gather
from bot.fetch.history import History
from bot.fetch.source import Source
from bot.place import Place
from bot.policy import Policy
from bot.run import EVERYTHING
from bot.settings import FailOn
from bot.snapshot import Exchange, Snapshot, Text
from tests.comparisons import comparison

FILE = "generation_config.json"
END_OF_TURN = 3


@dataclass
class SmallCompare:
    """Finds that generation_config.json stops on another token than the end of a turn; remembers what it was given."""

    exchange: Exchange | None = None
    engines: tuple[str, ...] = ()
    prove: Prove = "auto"
    policy: Policy = EVERYTHING

    def __call__(
        self,
        *,
        base: str | Source,
        head: str | Source,
        repo: Path,
        texts: tuple[Text, ...] = (),
        repository: str = "",
        history: History | None = None,
        engines: tuple[str, ...] = (),
        prove: Prove = "auto",
        policy: Policy = EVERYTHING,
    ) -> Comparison:
        self.engines, self.prove, self.policy = engines, prove, policy
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            found = gather(folder, base=base, head=head, repo=repo, texts=texts, repository=repository, history=history)
            self.exchange = found
            before, after = _finding(folder, found.base), _finding(folder, found.head)
        return comparison(
            base=Side(label=found.base.label, sha=found.base.sha, folders=(".",)),
            head=Side(label=found.head.label, sha=found.head.sha, folders=(".",)),
            models=(ModelChange(change="changed", before=".", after="."),),
            new=() if before or not after else (after,),
            resolved=(before,) if before and not after else (),
            unchanged=(after,) if before and after else (),
        )

    @property
    def given(self) -> Exchange:
        """What the last comparison was made of."""
        assert self.exchange is not None
        return self.exchange


def exit_status(comparison: Comparison, fail_on: FailOn) -> int:
    """1 for a new error, unless nothing may fail."""
    return int(bool(comparison.verdict.new.error) and fail_on != "never")


def _finding(folder: Path, snapshot: Snapshot) -> Finding | None:
    file = next((file for file in snapshot.files if file.path == FILE), None)
    if file is None or file.content is None:
        return None
    stops = json.loads((folder / "contents" / file.content).read_bytes())["eos_token_id"]
    if stops == END_OF_TURN:
        return None
    return Finding(
        check="turn-end-not-in-eos",
        key=FILE,
        folder=".",
        severity="error",
        confidence="certain",
        title=f"No engine stops at the end of a turn: `eos_token_id` is {stops}",
        detail="Replies run on.",
        places=(Place("head", FILE, "/eos_token_id", 2),),
    )
