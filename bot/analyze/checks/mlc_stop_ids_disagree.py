"""WebLLM does not stop on the token that the tokenizer calls its EOS."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model import eos
from bot.analyze.model.edits import Add, diff
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import (
    CONFIG,
    chats,
    config,
    conversation_place,
    ends_turn,
    numbers,
    stop_ids,
    stop_strings,
    stops_by_text,
    table,
    token_text,
    tokenizer_eos,
    turn_end,
)
from bot.analyze.records import Finding, Severity
from bot.analyze.wording import ids, listed, value
from bot.answer import Known
from bot.place import Place

CHECK = Check(
    title="The stop ids of WebLLM do not hold the EOS of the tokenizer",
    says="leaves WebLLM without the stop id that the tokenizer names",
    sees="a conv_template.stop_token_ids of `mlc-chat-config.json` without the tokenizer's EOS, or without the token after a reply that the other files list as EOS",
    why="WebLLM stops on this list and on `stop_str` alone, and reads no other file: a reply that ends with the missing token runs on to the token limit "
    "(web-llm 0.2.86 lib/index.js:12548, run).",
    fix="List the id of the tokenizer's EOS in `conv_template.stop_token_ids`.",
    wrong_when="the tokenizer's EOS cannot be told or is only a default of its class, the template is only named, or the model computes embeddings only",
    severity="error",
    engines=("webllm", "mlc-llm"),
    cause="WebLLM reads its own stop ids",
    weighed="A note where a stop string or the token that the template writes after a reply still ends it, as in the real files of Qwen2 that list the stop id 2 of "
    "another family; a warning where such a stop id is ordinary text that cuts replies off.",
)


def find(model: Model) -> Iterator[Seen]:
    """Look for the EOS in the list, then for anything else that ends the reply."""
    stops = stop_ids(model)
    if not chats(model) or not stops:  # an absent list is a fault of its own
        return
    texts = {number: text for number in stops if (text := token_text(model, number))}
    found = False
    for number, text, place in _expected(model):
        if number not in stops:
            found = True
            effect, severity = _effect(model, number, text)
            yield Seen(
                key=text,
                title=f"WebLLM stops on {ids(stops, texts)}, not on the EOS {value(text)} {number}: {effect}",
                places=(conversation_place(model, "stop_token_ids"), place),
                severity=severity,
            )
    if not found:
        yield from _book_keeping(model)


def _expected(model: Model) -> Iterator[tuple[int, str, Place]]:
    """The tokenizer's EOS, and the token after a reply where the other files list it."""
    own, others = tokenizer_eos(model), eos.listed(model)
    if isinstance(own, Known):
        yield *own.value, own.places[0]
    for number in others.value if isinstance(others, Known) else ():
        text = token_text(model, number)
        if text and turn_end(model).startswith(text) and not (isinstance(own, Known) and own.value[0] == number):
            yield number, text, others.places[0]


def _effect(model: Model, number: int, text: str) -> tuple[str, Severity]:
    """What becomes of a reply that ends with a token that is no stop id."""
    if stops_by_text(model, number, text):
        what = f"only the text {listed(value(s) for s in stop_strings(model) if s in text)} ends replies"
    elif not turn_end(model).startswith(text) and ends_turn(model):
        what = f"only {value(turn_end(model))} ends replies"
    else:
        return "replies do not end there", "error"
    ordinary = [number for number in stop_ids(model) or () if _ordinary(model, number)]
    if not ordinary:
        return what, "note"
    texts = {number: token_text(model, number) for number in ordinary}
    return f"{what}, and {ids(ordinary, texts)} in their midst cuts them off", "warning"


def _ordinary(model: Model, number: int) -> bool:
    """Whether an id is a piece of ordinary text; SentencePiece does not show that here."""
    tokens = table(model)
    return (
        isinstance(tokens, Known)
        and tokens.value.file == "tokenizer.json"
        and number not in tokens.value.added
        and tokens.value.text(number) is not None
    )


def _book_keeping(model: Model) -> Iterator[Seen]:
    """The top-level eos_token_id, which neither WebLLM nor today's MLC-LLM reads: a note where no file agrees with it."""
    stated = numbers(config(model).get("eos_token_id"))
    own, others = tokenizer_eos(model), eos.listed(model)
    if not isinstance(own, Known) or not stated:
        return
    agreed = {own.value[0], *(others.value if isinstance(others, Known) else ()), *(stop_ids(model) or ())}
    if not agreed & set(stated):
        texts = {number: text for number in stated if (text := token_text(model, number))}
        yield Seen(
            key="eos_token_id",
            title=f"{value('eos_token_id')} of {value(CONFIG)} is {ids(stated, texts)}, which is no EOS of the tokenizer",
            detail="Versions of MLC-LLM of 2024 that read this key stop on another token; WebLLM and today's MLC-LLM stop on `conv_template.stop_token_ids`.",
            places=(model.place(CONFIG, "/eos_token_id"),),
            severity="note",
            engines=("mlc-llm (2024)",),
        )


def patch(base: Model, head: Model, finding: Finding) -> str:
    """List the id, where WebLLM loads the token and no stop id is wrong besides."""
    del base
    found = next((row for row in _expected(head) if row[1] == finding.key), None)
    loaded = table(head)
    if found is None or not isinstance(loaded, Known) or any(_book_keeping(head)):
        return ""
    number, text, _ = found
    if _effect(head, number, text)[1] == "warning" or loaded.value.text(number) != text or number >= loaded.value.size:
        return ""
    return diff(head, {CONFIG: [Add(conversation_place(head, "stop_token_ids").pointer, (number,))]})
