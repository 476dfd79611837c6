"""The changes that make files list further ids as ends of a reply, where nothing else comes of it."""

from collections.abc import Iterable
from typing import Any, cast

from bot.analyze.model.config import FILE, pointer, vocab_size
from bot.analyze.model.edits import Add, diff
from bot.analyze.model.eos import nested, of_tokenizer, stated
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import chats, stop_ids
from bot.analyze.model.token_ids import GENERATION
from bot.analyze.model.tokens import texts_of
from bot.answer import Answer, Known, Unknown

_KEY = "eos_token_id"


def with_stops(base: Model, head: Model, numbers: Iterable[int], file: str = GENERATION) -> str:
    """The diff that adds ids to eos_token_id of a file, and to what says the same in config.json; "" where that is not certain.

    It is not where an id that stands there is no token, and so the mistake; where an id has no row in the model; where a number would become a
    list that base does not have, which some readers cannot take; where a first id would contradict the tokenizer or be the only one that any
    file states; or where WebLLM would be left behind.
    """
    wanted = list(dict.fromkeys(numbers))
    own, top, tokenizer = stated(head, file), stated(head, FILE), of_tokenizer(head)
    size, texts = vocab_size(head), texts_of(head)
    if not head.readable(file) or isinstance(own, Unknown):
        return ""
    if any(number not in texts or (size and number >= size[0]) for number in wanted) or not texts.keys() >= set(_ids(own)):
        return ""
    if not _ids(own) and (not _ids(top) or (isinstance(tokenizer, Known) and tokenizer.value not in wanted)):
        return ""
    if chats(head) and not set(wanted) <= set(stop_ids(head) or ()):
        return ""
    paths: list[tuple[str, tuple[str, ...]]] = [(file, ())]
    if file == FILE or (_ids(top) and set(_ids(own)) <= set(_ids(top))):  # they agree so far
        paths += [(FILE, ())] if file != FILE else []
        paths += [(FILE, (key,)) for key, inner in nested(head).items() if _ids(inner) and set(_ids(inner)) == set(_ids(top))]
    changes: dict[str, list[Add]] = {}
    for name, path in paths:
        lacking = tuple(number for number in wanted if number not in _ids(stated(head, name, *path)))
        if lacking and _is_number(_raw(base, name, path)) and not isinstance(_raw(head, name, path), list):
            return ""
        if lacking:
            changes.setdefault(name, []).append(Add(pointer(*path, _KEY), lacking))
    return diff(head, changes)


def _ids(answer: Answer[tuple[int, ...]]) -> tuple[int, ...]:
    return answer.value if isinstance(answer, Known) else ()


def _raw(model: Model, name: str, path: tuple[str, ...]) -> Any:
    found: Any = model.mapping(name)
    for part in (*path, _KEY):
        found = cast("dict[str, Any]", found).get(part) if isinstance(found, dict) else None
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
