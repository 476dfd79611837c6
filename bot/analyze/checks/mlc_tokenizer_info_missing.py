"""mlc-chat-config.json does not say how the texts of tokens become bytes."""

from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import CONFIG, chats, config
from bot.analyze.wording import value

CHECK = Check(
    title="mlc-chat-config.json does not say how the texts of tokens become bytes",
    says="spoils the JSON mode of WebLLM",
    sees="a `mlc-chat-config.json` with neither tokenizer_info nor token_table_postproc_method, or with a tokenizer_info that holds no token_postproc_method",
    why="WebLLM then takes the texts of tokens for raw bytes: in JSON mode a token that carries a space is refused, so that JSON with spaces cannot be written "
    "(web-llm 0.2.86 lib/index.js:11725 and the xgrammar in it, run). It warns where both keys are absent and is silent for an incomplete `tokenizer_info`.",
    fix="State `token_postproc_method` in `tokenizer_info`: `byte_level` for a tokenizer with a ByteLevel decoder, `byte_fallback` for one of SentencePiece.",
    wrong_when="the older key token_table_postproc_method says it and tokenizer_info is absent, or the model computes embeddings only",
    severity="warning",
    engines=("webllm",),
    weighed="Plain chats are not hurt, so it is no error; among real files only those of 2023 lack both keys.",
)


def find(model: Model) -> Iterator[Seen]:
    """Follow the order in which WebLLM asks."""
    settings = config(model)
    if not chats(model) or settings.get("tokenizer_info", {}) is None:  # null is an error of its own
        return
    if "tokenizer_info" in settings:
        info: Any = settings["tokenizer_info"]
        stated = isinstance(info, dict) and cast("dict[str, Any]", info).get("token_postproc_method") is not None
        what, pointer = f"{value('tokenizer_info')} has no {value('token_postproc_method')}", "/tokenizer_info"
    else:
        stated = settings.get("token_table_postproc_method") is not None
        what, pointer = f"{value(CONFIG)} has neither {value('tokenizer_info')} nor {value('token_table_postproc_method')}", ""
    if not stated:
        yield Seen(
            key="tokenizer_info",
            title=f"{what}: the JSON mode of WebLLM takes tokens for raw text",
            places=(model.place(CONFIG, pointer),),
        )
