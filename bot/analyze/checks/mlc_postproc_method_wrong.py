"""mlc-chat-config.json names another way to make bytes of tokens than the tokenizer has."""

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import CONFIG, asked, chats, config, table
from bot.analyze.wording import value
from bot.answer import Known
from bot.place import Place

CHECK = Check(
    title="The way to make bytes of tokens is not that of the tokenizer",
    says="spoils the JSON mode of WebLLM",
    sees="a token_postproc_method (or the older token_table_postproc_method) of `mlc-chat-config.json` that does not fit the decoder of the tokenizer "
    "file that WebLLM loads, or that is no known name",
    why="In JSON mode WebLLM reads the tokens wrongly: one that carries a space is refused, so that JSON with spaces cannot be written; a name other than raw, "
    "byte_level and byte_fallback makes every request with a response format fail (web-llm 0.2.86 and the xgrammar in it, run).",
    fix="Name `byte_level` for a ByteLevel decoder, and `byte_fallback` for a ByteFallback decoder or a SentencePiece model.",
    wrong_when="the decoder is neither ByteLevel nor ByteFallback, the tokenizer cannot be read, or the model computes embeddings only",
    severity="warning",
    engines=("webllm",),
    weighed="Plain chats are not hurt, so it is no error; the method of every real file fits its tokenizer.",
)

METHODS = ("raw", "byte_level", "byte_fallback")


class _Decoder(msgspec.Struct):
    decoder: Any = None


def find(model: Model) -> Iterator[Seen]:
    """Compare the method in force with the decoder."""
    stated = _stated(model)
    if not chats(model) or stated is None:
        return
    method, place = stated
    known = isinstance(method, str) and method.lower() in METHODS  # xgrammar folds the case
    if not known:
        yield Seen(
            key="token_postproc_method",
            title=f"The method {value(method)} is none that WebLLM knows: every request for JSON fails",
            places=(place,),
        )
        return
    right = _fitting(model)
    if right is not None and right != cast("str", method).lower():
        kind = {"byte_level": "ByteLevel", "byte_fallback": "ByteFallback"}[right]
        what = f"has a {value(kind)} decoder" if asked(model) == "tokenizer.json" else "is a SentencePiece model"
        yield Seen(
            key="token_postproc_method",
            title=f"{value('token_postproc_method')} is {value(method)}, but {value(asked(model))} {what}",
            places=(place, model.place("tokenizer.json", "/decoder")) if asked(model) == "tokenizer.json" else (place,),
        )


def _stated(model: Model) -> tuple[Any, Place] | None:
    """The method that WebLLM takes, with its place; None where none is stated, which is another fault."""
    settings = config(model)
    for key, pointer in (("tokenizer_info", "/token_postproc_method"), ("token_table_postproc_method", "")):
        if key in settings:  # :11725: tokenizer_info wins even without the method
            holder: Any = settings[key]
            method = (
                holder
                if not pointer
                else cast("dict[str, Any]", holder).get("token_postproc_method")
                if isinstance(holder, dict)
                else None
            )
            return None if method is None else (method, model.place(CONFIG, f"/{key}{pointer}"))
    return None


def _fitting(model: Model) -> str | None:
    """The method that the loaded file needs, None where that cannot be told.

    As MLC's packager finds it: in a sequence the last decoder that says something counts (mlc-llm 79d603f, cpp/tokenizers/tokenizers.cc:197-348).
    """
    if not isinstance(table(model), Known):
        return None
    if asked(model) == "tokenizer.model":
        return "byte_fallback"
    decoder = model.parsed("tokenizer.json", _decoder)
    return decoder.value if isinstance(decoder, Known) else None


def _decoder(content: bytes) -> str | None:
    try:
        decoder = msgspec.json.decode(content, type=_Decoder).decoder
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    found = [{"ByteLevel": "byte_level", "ByteFallback": "byte_fallback"}.get(kind) for kind in _kinds(decoder)]
    return next((method for method in reversed(found) if method is not None), None)


def _kinds(decoder: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(decoder, dict) and depth < 20:
        row = cast("dict[str, Any]", decoder)
        yield str(row.get("type"))
        inner = row.get("decoders")
        for one in cast("list[Any]", inner) if isinstance(inner, list) else ():
            yield from _kinds(one, depth + 1)
