"""mlc-chat-config.json lists a tokenizer file that is not there."""

from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.wording import value

CONFIG = "mlc-chat-config.json"
CHECK = Check(
    title="mlc-chat-config.json lists a file that is not there",
    says="leaves WebLLM without a file that it asks for",
    sees="a name in tokenizer_files of mlc-chat-config.json without a file of that name beside it",
    why="WebLLM obeys the list and not the tree: it asks for `tokenizer.json` when it is listed, and loading fails without a fallback to `tokenizer.model` "
    "(web-llm 0.2.86 lib/index.js:14917, run).",
    fix="Add the file, or take its name out of `tokenizer_files`.",
    wrong_when="all listed files are there",
    severity="error",
    weighed="An error for the file that WebLLM asks for, a note for others of the list; on all five real folders its record says that loading fails there.",
    engines=("webllm",),
)


def find(model: Model) -> Iterator[Seen]:
    """Compare the list with the folder. A file that no loader asks for is a note."""
    names: Any = model.mapping(CONFIG).get("tokenizer_files")
    rows = cast("list[Any]", names) if isinstance(names, list) else []
    wanted = next((name for name in ("tokenizer.json", "tokenizer.model") if name in rows), None)
    for i, name in enumerate(rows):
        if isinstance(name, str) and not model.has(name):
            asked = name == wanted
            yield Seen(
                key=name,
                title=f"{value('tokenizer_files')} lists {value(name)}, which is not there"
                + (": WebLLM does not load" if asked else ""),
                places=(model.place(CONFIG, f"/tokenizer_files/{i}"),),
                severity="error" if asked else "note",
            )
