"""tokenizer_info of mlc-chat-config.json is null."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import CONFIG, chats, config
from bot.analyze.wording import value

CHECK = Check(
    title="tokenizer_info is null, and WebLLM does not load",
    says="keeps WebLLM from loading the model",
    sees="the key tokenizer_info of `mlc-chat-config.json` with the value null",
    why="The key is there, so WebLLM reads a property of null and raises while it loads the model, with or without `token_table_postproc_method` "
    "(web-llm 0.2.86 lib/index.js:11725, run).",
    fix="State `token_postproc_method` and `prepend_space_in_encode` in `tokenizer_info`, or take the key out.",
    wrong_when="the key is absent or holds an object, or the model computes embeddings only",
    severity="error",
    engines=("webllm",),
    weighed="The real constructor raises for it every time; no real file was seen with null.",
)


def find(model: Model) -> Iterator[Seen]:
    """Tell null from absent."""
    if chats(model) and config(model).get("tokenizer_info", {}) is None:
        yield Seen(
            key="tokenizer_info",
            title=f"{value('tokenizer_info')} is null: WebLLM does not load",
            places=(model.place(CONFIG, "/tokenizer_info"),),
        )
