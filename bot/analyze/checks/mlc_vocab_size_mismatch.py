"""vocab_size of mlc-chat-config.json leaves tokens out, or is not that of the model."""

from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.eos import TEXT_CONFIGS
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import CONFIG, Table, chats, config, conversation, numbers, stop_ids, table
from bot.analyze.model.tokenizer_file import TokenizerFile
from bot.analyze.records import Severity
from bot.analyze.wording import value
from bot.answer import Known

CHECK = Check(
    title="vocab_size of mlc-chat-config.json does not fit",
    says="gives WebLLM a vocabulary of the wrong size",
    sees="a vocab_size of `mlc-chat-config.json` that is not above the largest token id of the tokenizer file that WebLLM loads, or that is not config.json's",
    why="It is the width of the logits and of the mask of JSON mode: a token outside it is never allowed there, so that a stop id outside leaves no legal end "
    "(web-llm 0.2.86 lib/index.js:11715 and :12216, run).",
    fix="State the number of rows of the model's embedding, which `config.json` calls `vocab_size`.",
    wrong_when="it is larger than the ids and the same in both files (rows of padding), the tokenizer cannot be read, or the model computes embeddings only",
    severity="error",
    engines=("webllm",),
    weighed="An error where a stop id or an ordinary piece lies outside; a note where only unused added tokens do (Gemma 3 has one such); "
    "a difference from config.json is a warning, since only a compiled model could prove it.",
)


def find(model: Model) -> Iterator[Seen]:
    """Compare the width with the ids, and with config.json."""
    size = _size(config(model))
    if not chats(model) or size is None:
        return
    place = model.place(CONFIG, "/vocab_size")
    tokens = table(model)
    if isinstance(tokens, Known) and tokens.value.highest >= size:
        highest = tokens.value.highest
        yield Seen(
            key="vocab_size",
            title=f"{value('vocab_size')} of {value(CONFIG)} is {size}, but {value(tokens.value.text(highest) or '')} has id {highest}",
            places=(place,),
            severity=_weight(model, tokens.value, size),
        )
    for pointer, rows in _of_model(model):
        if rows != size:
            yield Seen(
                key="config.json",
                title=f"{value('vocab_size')} of {value(CONFIG)} is {size}, that of {value('config.json')} {rows}",
                places=(place, model.place("config.json", pointer)),
                severity="warning",
                confidence="likely",
            )


def _size(holder: Any) -> int | None:
    size = cast("dict[str, Any]", holder).get("vocab_size") if isinstance(holder, dict) else None
    found = numbers(size)
    return found[0] if found and not isinstance(size, list) else None


def _of_model(model: Model) -> Iterator[tuple[str, int]]:
    """The width that config.json states, at the top level or else in its first text configuration."""
    settings = model.mapping("config.json")
    for pointer, holder in (("", settings), *((f"/{key}", settings.get(key)) for key in TEXT_CONFIGS)):
        size = _size(holder)
        if size is not None:
            yield f"{pointer}/vocab_size", size
            return


def _weight(model: Model, tokens: Table, size: int) -> Severity:
    """How much lies outside: what the chat needs, or only added tokens that it never writes."""
    used = {*(stop_ids(model) or ()), *numbers(conversation(model).get("system_prefix_token_ids"))}
    pieces = tokens.vocabulary.vocab.values() if isinstance(tokens.vocabulary, TokenizerFile) else range(tokens.size)
    if any(number >= size for number in used) or any(number >= size and number not in tokens.added for number in pieces):
        return "error"
    written = "\0".join(_texts(conversation(model)))
    return "error" if any(text in written for number, text in tokens.added.items() if number >= size) else "note"


def _texts(conv: dict[str, Any]) -> Iterator[str]:
    """Every text that a prompt is made of or a reply is searched for."""
    for key in ("system_template", "roles", "role_templates", "seps", "stop_str"):
        held: Any = conv.get(key)
        inner = (
            cast("dict[str, Any]", held).values()
            if isinstance(held, dict)
            else cast("list[Any]", held)
            if isinstance(held, list)
            else (held,)
        )
        yield from (text for text in inner if isinstance(text, str))
