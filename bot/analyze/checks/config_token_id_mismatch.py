"""An id in config.json does not belong to the token that it stands for."""

import re
from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.config import FILE
from bot.analyze.model.folder import Model
from bot.analyze.model.token_ids import TokenId, token_ids
from bot.analyze.model.tokens import TokenTable, role, token_place, tokens
from bot.analyze.wording import ids, value
from bot.answer import Known
from bot.place import Place

CHECK = Check(
    title="An id in config.json is not that of its token",
    says="names a token id that belongs to no or to another token",
    sees="an id such as image_token_id, vision_start_token_id or boi_token_index that the tokenizer does not have, that is not the id of the token which another file states "
    "under that name (image_token), that now stands for another token while the former one is still there, or that is an EOS token, an ordinary piece of text or a token of another medium; and ids of roles other than EOS that differ from the tokenizer's",
    why="The processor writes the token and the model looks for the id: images and sounds are then not put into the prompt, which transformers refuses as a mismatch of "
    "placeholders and features, or they land in the place of another token.",
    fix="Write the id that the tokenizer gives the token after loading.",
    wrong_when="the vocabulary cannot be read in full, the id is negative, another file states no such token, or the token was only renamed",
    severity="error",
    weighed="An error for placeholders, certain where the tokenizer is read in full; a warning where only a change of meaning or an unlikely token shows it; a note for ids of roles, which "
    "chat engines take from the tokenizer and which differ in some real repositories (Whisper, Llama 2). No placeholder of the real repositories is wrong.",
)

# Where the token of a placeholder is named (processing_utils.py and the processors of transformers 5.24.0 take these attributes).
_NAMING = ("tokenizer_config.json", "processor_config.json", "preprocessor_config.json")


def find(model: Model) -> Iterator[Seen]:
    """Look every id of config.json up in the loaded tokenizer."""
    table = tokens(model)
    if not isinstance(table, Known) or not table.value.complete:
        return
    for token in token_ids(model):
        if token.file == FILE and token.id >= 0 and token.name != "eos":
            yield from _of_role(model, table.value, token) if token.role else _of_placeholder(model, table.value, token)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Find placeholders that stand for another token than in base, while that token is still there."""
    before, after = tokens(base), tokens(head)
    if not isinstance(before, Known) or not isinstance(after, Known) or not (before.value.complete and after.value.complete):
        return
    old = {(token.file, token.path): token for token in token_ids(base) if token.file == FILE and not token.role}
    for token in token_ids(head):
        was = old.get((token.file, token.path))
        text, now = before.value.texts.get(was.id) if was else None, after.value.texts.get(token.id)
        if was is None or text is None or now is None or text == now or next(iter(_of_one(head, token)), None):
            continue
        number = after.value.id_of(text)
        if number is not None:
            yield Seen(
                key=token.dotted,
                title=f"{value(token.dotted)} stood for {ids([was.id], before.value.texts)} and stands for {ids([token.id], after.value.texts)}, "
                f"while {value(text)} is {number} now",
                places=(token.place, was.place),
                severity="warning",
                confidence="likely",
            )


def _of_one(model: Model, token: TokenId) -> Iterator[Seen]:
    """What one revision alone shows of one placeholder."""
    table = tokens(model)
    if isinstance(table, Known) and token.id >= 0:
        yield from _of_placeholder(model, table.value, token)


def _of_placeholder(model: Model, table: TokenTable, token: TokenId) -> Iterator[Seen]:
    named = _named(model, f"{token.name}_token")
    number = table.id_of(named[0]) if named else None
    if token.id not in table.texts:
        has = f", where {value(named[0])} is {number}" if named and number is not None else ""
        title = f"{value(token.dotted)} {token.id} of {value(FILE)} has no token in the tokenizer{has}"
        yield Seen(key=token.dotted, title=title, places=(token.place, *([named[1]] if named else [])))
    elif named and number is not None and number != token.id:
        title = f"{value(token.dotted)} is {ids([token.id], table.texts)}, while {value(f'{token.name}_token')} {value(named[0])} is {number}"
        yield Seen(key=token.dotted, title=title, places=(token.place, named[1]))
    elif not named and (why := _unlikely(model, table, token)):
        yield Seen(
            key=token.dotted,
            title=f"{value(token.dotted)} is {ids([token.id], table.texts)}, {why}",
            places=(token.place, token_place(model, table.texts[token.id])),
            severity="warning",
            confidence="likely",
        )


_MEDIUM = {"image": r"image|img", "video": r"video", "audio": r"audio|sound|speech"}
_OF_MEDIA = re.compile(r"image|img|video|audio|vision|bo[aiv]|eo[aiv]")


def _unlikely(model: Model, table: TokenTable, token: TokenId) -> str:
    """Why a token cannot well be the placeholder that its key speaks of, where no file names the one that is meant."""
    text = table.texts[token.id]
    if not _OF_MEDIA.match(token.name):
        return ""
    roles = {name: role(model, name) for name in ("eos_token", "bos_token")}
    for name, string in roles.items():
        if isinstance(string, Known) and string.value == text:
            return f"which is the {value(name)}"
    if text not in table.added and not re.search(r"[<\[|]|image|img|video|audio|vision", text, re.IGNORECASE):
        return "which is an ordinary piece of text"
    own = _MEDIUM.get(token.name)
    if own and not re.search(own, text, re.IGNORECASE):
        other = next((medium for medium, words in _MEDIUM.items() if re.search(words, text, re.IGNORECASE)), "")
        return f"which is one for {other}" if other else ""
    return ""


def _named(model: Model, name: str) -> tuple[str, Place] | None:
    """The string that a file gives a name, also among extra_special_tokens."""
    for file in _NAMING:
        values = model.mapping(file)
        extra: Any = values.get("extra_special_tokens")
        below = cast("dict[str, Any]", extra) if isinstance(extra, dict) else {}
        for pointer, holder in ((f"/extra_special_tokens/{name}", below), (f"/{name}", values)):
            found: Any = holder.get(name)
            text: Any = cast("dict[str, Any]", found).get("content") if isinstance(found, dict) else found
            if isinstance(text, str) and text:
                return text, model.place(file, pointer)
    return None


def _of_role(model: Model, table: TokenTable, token: TokenId) -> Iterator[Seen]:
    """A role that a file states, against the id; a default of the class is nobody's statement."""
    string = role(model, f"{token.name}_token")
    stated = isinstance(string, Known) and not string.places[0].pointer.endswith("/tokenizer_class")
    number = table.id_of(string.value) if isinstance(string, Known) and stated else None
    if isinstance(string, Known) and number is not None and number != token.id:
        yield Seen(
            key=token.dotted,
            title=f"{value(token.dotted)} is {ids([token.id], table.texts)}, while the tokenizer's is {ids([number], table.texts)}",
            places=(token.place, *string.places),
            severity="note",
            detail="Whoever takes the id from `config.json` pads or begins with another token than the tokenizer does.",
        )
