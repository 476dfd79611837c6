"""An id in config.json does not belong to the token that it stands for."""

import re
from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.config import FILE, vocab_size
from bot.analyze.model.folder import Model
from bot.analyze.model.token_ids import TokenId, token_ids
from bot.analyze.model.tokens import TokenTable, needs_remote_code, role, token_place, tokens
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
    wrong_when="the ids of the tokens are not known, the id is outside the vocabulary, which another check tells, the token was only renamed, or the new one fits the key better",
    severity="error",
    weighed="An error for placeholders, certain where the tokenizer is read in full; a warning where only a change of meaning or an unlikely token shows it; a note for ids of roles, which "
    "chat engines take from the tokenizer and which differ in some real repositories (Whisper, Llama 2). No placeholder of the real repositories is wrong.",
)

# Where the token of a placeholder is named (processing_utils.py and the processors of transformers 5.24.0 take these attributes).
_NAMING = ("tokenizer_config.json", "processor_config.json", "preprocessor_config.json")


def find(model: Model) -> Iterator[Seen]:
    """Look every id of config.json up in the loaded tokenizer."""
    table = _table(model)
    for token in _ids(model) if table else ():
        if table and token.name != "eos":
            yield from _of_role(model, table, token) if token.role else _of_placeholder(model, table, token)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Find placeholders that stand for another token than in base, while that token is still there."""
    before, after = _table(base), _table(head)
    if before is None or after is None:
        return
    old = {token.path: token for token in _ids(base) if not token.role}
    for token in _ids(head):
        was = old.get(token.path)
        text = before.texts.get(was.id) if was else None
        number, now = after.id_of(text) if text else None, after.texts.get(token.id)
        if was is None or text is None or number is None or token.id == number or text == now:
            continue
        named = _named(head, f"{token.name}_token")
        right = now is not None and ((named and named[0] == now) or _fit(token, now) > _fit(token, text))
        if right or next(_of_placeholder(head, after, token), None):
            continue  # it is repaired, or told already
        stands = f" and stands for {ids([token.id], after.texts)}, while {value(text)}" if now else ", which"
        yield Seen(
            key=token.dotted,
            title=f"{value(token.dotted)}{'' if now else f' {token.id}'} stood for {ids([was.id], before.texts)}{stands} is {number} now",
            places=(token.place, was.place),
            severity="warning",
            confidence="likely",
        )


def _table(model: Model) -> TokenTable | None:
    """The tokens, where their ids are known: a tokenizer written in Python honours those that are declared (tokenization_python.py:431 in 5.24.0)."""
    table = tokens(model)
    known = isinstance(table, Known) and (table.value.complete or (table.value.declared and needs_remote_code(model)))
    return table.value if isinstance(table, Known) and known else None


def _ids(model: Model) -> tuple[TokenId, ...]:
    """The ids of config.json inside the vocabulary; another check tells those outside."""
    size = vocab_size(model)
    return tuple(t for t in token_ids(model) if t.file == FILE and t.id >= 0 and (size is None or t.id < size[0]))


# Words of the keys and of the tokens that they mean.
_WORDS = {
    "start": r"start|begin|\bbo[aiv]\b",
    "end": r"(?<![a-z])end|\beo[aiv]\b",
    "image": r"image|img|\b[be]oi\b",
    "video": r"video|\b[be]ov\b",
    "audio": r"audio|sound|speech|\b[be]oa\b",
    "vision": r"vision",
    "media": r"media",
}

_ENDS = {"start", "end"}


def _fit(token: TokenId, text: str) -> int:
    """How well a token fits the words of a key, to tell which of two fits better: words in common, less a start or end of which the key says nothing."""
    asked, given = (
        {word for word, forms in _WORDS.items() if re.search(forms, string.replace("_", " "), re.IGNORECASE)}
        for string in (token.name, text)
    )
    if "media" in asked | given:  # which stands for each of them
        asked, given = ({word if word in _ENDS else "media" for word in words} for words in (asked, given))
    return len(asked & given) - len((given - asked) & _ENDS)


def _of_placeholder(model: Model, table: TokenTable, token: TokenId) -> Iterator[Seen]:
    named = _named(model, f"{token.name}_token")
    number = table.id_of(named[0]) if named else None
    if token.id not in table.texts and table.complete:
        has = f", where {value(named[0])} is {number}" if named and number is not None else ""
        title = f"{value(token.dotted)} {token.id} of {value(FILE)} has no token in the tokenizer{has}"
        yield Seen(key=token.dotted, title=title, places=(token.place, *([named[1]] if named else [])))
    elif named and number is not None and number != token.id:
        title = f"{value(token.dotted)} is {ids([token.id], table.texts)}, while {value(f'{token.name}_token')} {value(named[0])} is {number}"
        yield Seen(key=token.dotted, title=title, places=(token.place, named[1]))
    elif not named and token.id in table.texts and (why := _unlikely(model, table, token)):
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
