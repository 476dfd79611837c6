"""tokenizer_files of mlc-chat-config.json names no file that WebLLM can load a tokenizer from."""

from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import CONFIG, asked, config
from bot.analyze.wording import value

CHECK = Check(
    title="tokenizer_files names no tokenizer that WebLLM can load",
    says="leaves WebLLM without a tokenizer",
    sees="a `mlc-chat-config.json` without the key tokenizer_files, or with one that names neither tokenizer.json nor tokenizer.model",
    why="WebLLM obeys the list and never looks at the files themselves: loading throws, whatever is there (web-llm 0.2.86 lib/index.js:14917, run).",
    fix="List `tokenizer.json` in `tokenizer_files`, with the file beside it.",
    wrong_when="the list names one of the two, be it there or not, or it names `tokenizer_model` alone, which only MLC's own runtime can load (RWKV)",
    severity="error",
    engines=("webllm",),
    weighed="Every case was run with the real loader and fails without a fallback; every real file looked at lists a name that can be loaded.",
)


def find(model: Model) -> Iterator[Seen]:
    """Ask the list as WebLLM does."""
    if not config(model) or asked(model):
        return
    names: Any = config(model).get("tokenizer_files")
    if names == ["tokenizer_model"]:  # mlc-llm, cpp/tokenizers/tokenizers.cc:186 probes the disk for it
        return
    if "tokenizer_files" not in config(model):
        what = f"{value(CONFIG)} has no {value('tokenizer_files')}"
    elif isinstance(names, list):
        listed = ", ".join(name for name in cast("list[Any]", names) if isinstance(name, str))
        what = f"{value('tokenizer_files')} lists {value(listed) if listed else 'nothing'}, and no `tokenizer.json` or `tokenizer.model`"
    else:
        what = f"{value('tokenizer_files')} is no list of files"
    yield Seen(
        key="tokenizer_files",
        title=f"{what}: WebLLM does not load",
        places=(model.place(CONFIG, "/tokenizer_files" if "tokenizer_files" in config(model) else ""),),
    )
