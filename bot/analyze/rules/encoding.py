"""What texts become: the ids that a tokenizer gives them in transformers, in engines that take it from there, and in WebLLM.

Truncation and padding of the file are reset by every call of transformers. A tokenizer is built with the `tokenizers` library itself, at most once
for all versions that build the same.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

import msgspec

from bot.analyze.model import mlc
from bot.analyze.model.folder import Model
from bot.analyze.model.tokenizer_class import FILE
from bot.analyze.model.tokenizer_file import AddedToken, TokenizerFile
from bot.analyze.rules import backend
from bot.analyze.rules.backend import Backend, Failed, Texts, encode
from bot.analyze.rules.backend_4x import of_4
from bot.analyze.rules.backend_5x import rebuilt, table
from bot.analyze.rules.backend_parts import File, NotKnownError, as_it_stands, file_of, flagged, numbers, too_large, with_ends
from bot.analyze.rules.loaded import Loaded, Refused, loaded
from bot.analyze.rules.registration import searched
from bot.answer import Answer, Known, Unknown
from bot.place import Place

# Building a tokenizer takes 10 to 15 ms at this size (in bytes of tokenizer.json), and all engines together may need four different ones.
LARGEST = 300_000
# From this version on transformers comes with tokenizers 0.23.
_SEARCHES_BY_LAST = (5, 18)
Encoded: TypeAlias = dict[str, list[int]]
Engine = Literal["transformers", "sglang"]
# sglang 0.5.23 gives these their flags of 4.x back (srt/utils/hf_transformers/tokenizer.py:319-351, read).
_FLAGS_SGLANG = (
    "LlamaTokenizer",
    "LlamaTokenizerFast",
    "CodeLlamaTokenizer",
    "CodeLlamaTokenizerFast",
    "GemmaTokenizer",
    "GemmaTokenizerFast",
    "CohereTokenizerFast",
)


def warm() -> None:
    """Read and import what is needed when it is first used: afterwards files may be out of reach."""
    table()
    backend.warm()


def encoded(model: Model, version: str, texts: tuple[str, ...], *, largest: int = LARGEST) -> Answer[Encoded]:
    """The ids of each text in the tokenizer that AutoTokenizer of a version of transformers makes of a folder, special tokens included."""
    if why := too_large(model, largest):  # before anything is worked out of it
        return Unknown(why, (model.place("tokenizer.json"),))
    return encoded_by(model, loaded(model, version), version, texts, largest=largest)


def encoded_by(
    model: Model,
    found: Answer[Loaded | Refused],
    version: str,
    texts: tuple[str, ...],
    *,
    engine: Engine = "transformers",
    largest: int = LARGEST,
) -> Answer[Encoded]:
    """As `encoded`, for what loading was found to give, and with what `engine` puts right after it.

    `largest` limits the bytes of tokenizer.json, for time's sake.
    """
    made = backend_of(model, found, version, engine=engine, largest=largest)
    return _told(encode(made.value, texts), made.places) if isinstance(made, Known) else made


def backend_of(
    model: Model, found: Answer[Loaded | Refused], version: str, *, engine: Engine = "transformers", largest: int = LARGEST
) -> Answer[Backend]:
    """The tokenizer that turns texts into ids, for what loading was found to give."""
    places = (model.place("tokenizer.json"),)
    if not isinstance(found, Known):
        return found
    if isinstance(found.value, Refused):
        return Unknown("the tokenizer does not load", found.places)
    try:
        return Known(_backend(model, found.value, version, engine, largest), places)
    except NotKnownError as error:
        return Unknown(str(error), places)


def encoded_by_webllm(model: Model, texts: tuple[str, ...], *, largest: int = LARGEST) -> Answer[Encoded]:
    """The ids that WebLLM gives texts: those of the tokenizer.json that it loads, nothing put around them."""
    made = backend_of_webllm(model, largest=largest)
    return _told(encode(made.value, texts), made.places) if isinstance(made, Known) else made


def backend_of_webllm(model: Model, *, largest: int = LARGEST) -> Answer[Backend]:
    """The tokenizer that turns texts into ids in WebLLM.

    npm @mlc-ai/web-tokenizers 0.1.6 (run): it calls the library without special tokens, and truncation and padding of the file count.
    """
    if why := too_large(model, largest):
        return Unknown(why, (model.place("tokenizer.json"),))
    answer = mlc.table(model)
    if not isinstance(answer, Known):
        return Unknown("it loads no tokenizer that could be read", answer.places)
    vocabulary = answer.value.vocabulary
    if not isinstance(vocabulary, TokenizerFile):
        return Unknown("the pieces of tokenizer.model are not turned into ids", answer.places)
    tokens, ways = {token.content: token for token in vocabulary.added}, searched((vocabulary.added,), at_once=False)
    try:
        file = file_of(model, largest)
        added = tuple((i, _older(tokens[text], ways[text])) for i, text in sorted((i, t) for t, i in answer.value.ids.items()))
    except NotKnownError as error:
        return Unknown(str(error), answer.places)
    blocks = {"truncation": bytes(file.truncation), "padding": bytes(file.padding)}
    return Known(msgspec.structs.replace(as_it_stands(file), added=added, ends=False, **blocks), answer.places)


def _told(found: Texts | Failed, places: tuple[Place, ...]) -> Answer[Encoded]:
    return (
        Unknown(found.reason, places) if isinstance(found, Failed) else Known({t: list(ids) for t, ids in found.items()}, places)
    )


def _backend(model: Model, tokenizer: Loaded, version: str, engine: Engine, largest: int) -> Backend:
    config = model.mapping("tokenizer_config.json")
    _check(config)
    file = file_of(model, largest) if model.has("tokenizer.json") else None
    if file is None and not tokenizer.hollow:
        raise NotKnownError("there is no tokenizer.json, and other vocabulary files are not turned into ids")
    if numbers(version) < (5,):
        made = of_4(cast("File", file), tokenizer, config, version)
    elif tokenizer.cls == FILE and file is not None:
        made = as_it_stands(file)
    else:
        made = rebuilt(file, tokenizer, config, version)
    by_last = numbers(version) >= _SEARCHES_BY_LAST
    added = tuple((each.id, each.token if by_last else _older(each.token, each.searched)) for each in tokenizer.added)
    made = msgspec.structs.replace(made, added=added)
    return _repaired(made, file, tokenizer, config) if engine == "sglang" else made


def _older(token: AddedToken, searched_by: frozenset[bool]) -> AddedToken:
    """An added token as an older library searches for it."""
    if len(searched_by) > 1:
        raise NotKnownError(f"{token.content} is registered both for text as it is and for normalized text")
    return msgspec.structs.replace(token, normalized=True in searched_by)


def _check(config: Mapping[str, Any]) -> None:
    """Refuse what makes calls fail or depends on more."""
    if config.get("split_special_tokens", False) is not False:
        raise NotKnownError("split_special_tokens may split special tokens like any text")
    if not isinstance(config.get("model_max_length"), int | float | None):
        raise NotKnownError("model_max_length is no number")
    if config.get("fix_mistral_regex"):
        raise NotKnownError("fix_mistral_regex may replace the pre-tokenizer")


def _repaired(made: Backend, file: File | None, tokenizer: Loaded, config: Mapping[str, Any]) -> Backend:
    """What sglang 0.5.23 puts right after loading (srt/utils/hf_transformers/tokenizer.py:247-365, read): another type of pre-tokenizer, and BOS."""
    if file is not None:
        ours, theirs = (_type(part) for part in (bytes(file.pre_tokenizer), made.pre_tokenizer))
        if ours and theirs and ours != theirs:
            made = msgspec.structs.replace(made, pre_tokenizer=bytes(file.pre_tokenizer))
    flag = config.get("add_bos_token")
    adds = flag is None or bool(flag)
    if config.get("tokenizer_class") in _FLAGS_SGLANG and adds != (tokenizer.cls == "CodeLlamaTokenizer"):  # it has the flag set
        made = with_ends(made, flagged(bos=adds and "bos_token" in tokenizer.roles, eos=False), tokenizer)
    return made


def _type(part: bytes) -> str:
    """The type of a step, "" for none."""
    step: Any = msgspec.json.decode(part)
    if not isinstance(step, dict):
        return ""
    kind = cast("dict[str, Any]", step).get("type")
    if not isinstance(kind, str):
        raise NotKnownError("the type of a pre-tokenizer is left out")
    return kind
