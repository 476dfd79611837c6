"""Which token ids each file says end generation."""

from typing import Any, cast

from bot.analyze.model.folder import Model, fact
from bot.analyze.model.tokens import role, tokens
from bot.answer import Answer, Known, Missing, Unknown

Ids = tuple[int, ...]

# Nested configurations that hold a language model (the names that transformers' get_text_config and vLLM look for).
TEXT_CONFIGS = ("text_config", "llm_config", "language_config", "thinker_config")


def stated(model: Model, name: str, *path: str) -> Answer[Ids]:
    """The ids of `eos_token_id` in a JSON file, below the object at `path`.

    Missing when the file, the object or the key is absent or the value is null. A float that is whole counts as its
    integer, as it does in generate(); any other value that is no integer or list of integers is Unknown.
    """
    document = model.document(name)
    pointer = "".join(f"/{part}" for part in (*path, "eos_token_id"))
    if isinstance(document, Unknown):
        return Unknown(f"{name} {document.reason}", document.places)
    value: Any = model.mapping(name)
    for part in (*path, "eos_token_id"):
        value = cast("dict[str, Any]", value).get(part) if isinstance(value, dict) else None
    places = (model.place(name, pointer if value is not None else ""),)
    if value is None:
        return Missing(places)
    ids = [_whole(item) for item in (cast("list[Any]", value) if isinstance(value, list) else [value])]
    if None in ids:
        return Unknown(f"{name} gives eos_token_id a value that is no token id", places)
    return Known(tuple(dict.fromkeys(cast("list[int]", ids))), places)


def nested(model: Model) -> dict[str, Answer[Ids]]:
    """The ids of every nested text configuration of config.json that states some, by its key."""
    found = {key: stated(model, "config.json", key) for key in TEXT_CONFIGS}
    return {key: answer for key, answer in found.items() if not isinstance(answer, Missing)}


@fact
def listed(model: Model) -> Answer[Ids]:
    """The list that `generate()` stops on: generation_config.json's, or config.json's where that file is absent or not JSON.

    A generation_config.json without the key gives no ids at all: config.json does not fill it in (run with transformers 4.57.6 and 5.24.0).
    Missing when neither file is there to say something; Known(()) when the file that counts states no id.
    """
    document = model.document("generation_config.json")
    if isinstance(document, Unknown):
        return Unknown(f"generation_config.json {document.reason}", document.places)
    if model.readable("generation_config.json"):
        answer = stated(model, "generation_config.json")
        return Known((), answer.places) if isinstance(answer, Missing) else answer
    if not model.has("config.json"):
        return Missing((model.place("generation_config.json"),))
    answer = stated(model, "config.json")
    if isinstance(answer, Missing):
        answer = next(iter(nested(model).values()), answer)
    return Known((), answer.places) if isinstance(answer, Missing) and model.readable("config.json") else answer


@fact
def of_tokenizer(model: Model) -> Answer[int]:
    """The id of the tokenizer's EOS token, with the place of its string."""
    return of_role(model, "eos_token")


def of_role(model: Model, name: str) -> Answer[int]:
    """The id of the token that holds a role, with the place of its string."""
    string = role(model, name)
    if not isinstance(string, Known):
        return string
    table = tokens(model)
    if isinstance(table, Unknown):
        return Unknown(table.reason, string.places)
    if isinstance(table, Missing):
        return Unknown("no file that could be read gives token ids", string.places)
    found = table.value.id_of(string.value)
    if found is None:
        return Unknown(f"{string.value} has no id in the files that could be read", string.places)
    return Known(found, string.places)


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) else None
