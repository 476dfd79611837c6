"""WebLLM loads tokenizer.model although tokenizer.json is there."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.edits import Add, diff
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import CONFIG, asked, config, stop_ids, table_of
from bot.analyze.records import Finding
from bot.analyze.wording import value
from bot.answer import Known

CHECK = Check(
    title="WebLLM is given tokenizer.model although tokenizer.json is there",
    says="makes WebLLM lose the added tokens",
    sees="a tokenizer.json beside `mlc-chat-config.json` that tokenizer_files does not name, while it names tokenizer.model",
    why="WebLLM obeys the list: it loads `tokenizer.model`, which has no added tokens, and splits the markers of roles and turns into ordinary pieces in every "
    "prompt (web-llm 0.2.86 lib/index.js:14923, run).",
    fix="List `tokenizer.json` in `tokenizer_files`.",
    wrong_when="tokenizer.json is listed as well, it is not in the folder, or tokenizer.model is missing itself",
    severity="warning",
    engines=("webllm",),
    weighed="Chats still run, with prompts the model was not trained on, so it is a warning; no real folder was seen with it.",
)


def find(model: Model) -> Iterator[Seen]:
    """Compare the list with the folder."""
    if asked(model) == "tokenizer.model" and model.has("tokenizer.model") and model.has("tokenizer.json"):
        yield Seen(
            key="tokenizer.json",
            title=f"{value('tokenizer_files')} does not list {value('tokenizer.json')}: WebLLM loads {value('tokenizer.model')} instead",
            places=(model.place(CONFIG, "/tokenizer_files"),),
        )


def patch(base: Model, head: Model, finding: Finding) -> str:
    """List the file, if it can be loaded and has every stop id."""
    del base, finding
    names, loaded = config(head).get("tokenizer_files"), table_of(head, "tokenizer.json")
    known = isinstance(loaded, Known) and all(loaded.value.text(number) is not None for number in stop_ids(head) or ())
    return diff(head, {CONFIG: [Add("/tokenizer_files", ("tokenizer.json",))]}) if known and isinstance(names, list) else ""
