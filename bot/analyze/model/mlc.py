"""What WebLLM takes from mlc-chat-config.json: the conversation in force, the tokenizer file it asks for, and the tokens of that file.

Source: npm @mlc-ai/web-llm 0.2.86, lib/index.js (run), with the web-tokenizers 0.1.6 that is bundled in it (run). No other file of a
repository is read but tokenizer.json or tokenizer.model.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, cast

import msgspec

from bot.analyze.model import eos, sentencepiece
from bot.analyze.model.folder import Model, fact
from bot.analyze.model.tokenizer_file import TokenizerFile
from bot.analyze.model.tokens import role, texts_of, tokenizer_file, tokens
from bot.answer import Answer, Known, Missing, Unknown
from bot.place import Place

CONFIG = "mlc-chat-config.json"
# The files that WebLLM can load a tokenizer from, the one that it prefers first (:14917).
LOADABLE = ("tokenizer.json", "tokenizer.model")
# The packager writes all of these, older versions some (mlc-llm 79d603f, python/mlc_llm/protocol/mlc_chat_config.py).
_KEYS = (
    "conv_template",
    "model_config",
    "model_lib",
    "model_type",
    "quantization",
    "tokenizer_files",
    "vocab_size",
    "context_window_size",
)
# Embedding models answer nothing: no stop ids, no JSON mode, no conversation (:14938; the only such type that is built for WebLLM).
_EMBEDDINGS = ("bert",)


def config(model: Model) -> dict[str, Any]:
    """The configuration of a model; empty when there is none that could be read.

    Applications also keep lists of models in files of that name, which hold no key of a model.
    """
    settings = model.mapping(CONFIG)
    return settings if any(key in settings for key in _KEYS) else {}


def chats(model: Model) -> bool:
    """Whether the folder holds a readable configuration of a model that answers."""
    return bool(config(model)) and config(model).get("model_type") not in _EMBEDDINGS


def named(model: Model) -> bool:
    """Whether conv_template is the name of a template, as files of 2023 have it."""
    return isinstance(config(model).get("conv_template"), str)


@fact
def conversation(model: Model) -> dict[str, Any]:
    """The conversation template in force: conv_template with conv_config laid over it, key by key (:10758)."""
    parts = (config(model).get(key) for key in ("conv_template", "conv_config"))
    return {key: value for part in parts if isinstance(part, dict) for key, value in cast("dict[str, Any]", part).items()}


def conversation_place(model: Model, key: str, pointer: str = "") -> Place:
    """Where the value of a key of the conversation stands; conv_template as a whole for one that is absent. `pointer` leads into the value."""
    for part in ("conv_config", "conv_template"):
        holder = config(model).get(part)
        if isinstance(holder, dict) and key in holder:
            return model.place(CONFIG, f"/{part}/{key}{pointer}")
    return model.place(CONFIG, "/conv_template" if "conv_template" in config(model) else "")


def stop_ids(model: Model) -> tuple[int, ...] | None:
    """The stop ids in force, None where there is no list of them. A whole float is a number to JavaScript as well."""
    ids = conversation(model).get("stop_token_ids")
    return numbers(ids) if isinstance(ids, list) else None


def stop_strings(model: Model) -> tuple[str, ...]:
    """The stop strings in force."""
    strings = conversation(model).get("stop_str")
    return tuple(s for s in cast("list[Any]", strings) if isinstance(s, str)) if isinstance(strings, list) else ()


def stops_by_text(model: Model, number: int, text: str) -> bool:
    """Whether a token ends a reply because its text holds a stop string (:12563, run); not if the loaded file does not have the token."""
    tokens = table(model)
    unknown = isinstance(tokens, Known) and tokens.value.text(number) is None
    return not unknown and any(string in text for string in stop_strings(model))


@fact
def tokenizer_eos(model: Model) -> Answer[tuple[int, str]]:
    """The EOS that the tokenizer files name, by the id that it has where WebLLM looks; what only a class gives is nobody's statement."""
    string = role(model, "eos_token")
    if isinstance(string, Unknown):
        return string
    if isinstance(string, Missing) or string.places[0].pointer.endswith("/tokenizer_class"):
        return Missing(string.places)
    loaded = table(model)
    number = loaded.value.id_of(string.value) if isinstance(loaded, Known) else None
    if number is not None:
        return Known((number, string.value), string.places)
    other = eos.of_tokenizer(model)  # SentencePiece has no added tokens, but the model may well write one
    return Known((other.value, string.value), string.places) if isinstance(other, Known) else other


def token_text(model: Model, number: int) -> str:
    """The text of an id, in the loaded file or else in what the other files say; "" where none knows it."""
    loaded = table(model)
    text = loaded.value.text(number) if isinstance(loaded, Known) else None
    return texts_of(model).get(number, "") if text is None else text


def turn_end(model: Model) -> str:
    """What the template writes after a reply, without white space: seps[1], or the only one (:10501)."""
    seps = conversation(model).get("seps")
    texts = cast("list[Any]", seps) if isinstance(seps, list) else []
    end = texts[1 % len(texts)] if texts else ""
    return end.strip() if isinstance(end, str) else ""


def ends_turn(model: Model) -> bool:
    """Whether WebLLM stops on what the template writes after a reply."""
    end, tokens = turn_end(model), table(model)
    texts = (tokens.value.text(number) for number in stop_ids(model) or ()) if isinstance(tokens, Known) else ()
    return any(end.startswith(text) for text in (*texts, *stop_strings(model)) if text)


def numbers(value: Any) -> tuple[int, ...]:
    """The token ids in a list, or a single one, without repeats; numbers that JavaScript cannot tell apart are none."""
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    whole = (
        int(i) for i in items if (isinstance(i, int) and not isinstance(i, bool)) or (isinstance(i, float) and i.is_integer())
    )
    return tuple(dict.fromkeys(number for number in whole if abs(number) < 2**53))


def asked(model: Model) -> str:
    """The tokenizer file that WebLLM asks for, "" where it asks for none and does not load.

    It asks tokenizer_files.includes(name), which for a text means that the name stands in it (:14917-14934, run).
    """
    names = config(model).get("tokenizer_files")
    listed = cast("list[Any]", names) if isinstance(names, list) else names if isinstance(names, str) else ()
    return next((name for name in LOADABLE if name in listed), "")


class Table(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The tokens of the file that WebLLM loads.

    `size` is how many there are, and also where the table ends that JSON mode is given: it is read for the ids below that number
    (:11267, run), so a token with a higher id is lost there. `ids` are the ids that added tokens get at run time, and
    `added` their texts by id, of two with one id the later.
    """

    file: str
    size: int
    ids: Mapping[str, int]
    vocabulary: TokenizerFile | sentencepiece.Pieces

    def id_of(self, text: str) -> int | None:
        """The id of a token string; a vocabulary of SentencePiece has no added tokens."""
        if isinstance(self.vocabulary, TokenizerFile):
            return self.ids.get(text, self.vocabulary.vocab.get(text))
        return self.vocabulary.texts.index(text) if text in self.vocabulary.texts else None

    def text(self, number: int) -> str | None:
        """The text of an id."""
        if number in self.added:
            return self.added[number]
        if isinstance(self.vocabulary, TokenizerFile):
            return self.vocabulary.pieces.get(number)
        return self.vocabulary.texts[number] if 0 <= number < self.size else None

    def items(self) -> Iterator[tuple[int, str]]:
        """Every id with its text; an added token hides a piece of the same id."""
        if isinstance(self.vocabulary, TokenizerFile):
            yield from ((number, piece) for piece, number in self.vocabulary.vocab.items() if number not in self.added)
            yield from self.added.items()
        else:
            yield from enumerate(self.vocabulary.texts)

    @property
    def highest(self) -> int:
        """The largest id, -1 in an empty table."""
        pieces = self.vocabulary.vocab.values() if isinstance(self.vocabulary, TokenizerFile) else (self.size - 1,)
        return max(-1, *self.added, *((max(pieces),) if pieces else ()))

    @cached_property
    def added(self) -> dict[int, str]:
        """The texts of the added tokens by id."""
        return {number: text for text, number in self.ids.items()}


@fact
def table(model: Model) -> Answer[Table]:
    """The tokens of the file that WebLLM loads; Missing where it asks for none or for one that is not there."""
    file = asked(model)
    if not file or not model.has(file):
        return Missing((model.place(CONFIG, "/tokenizer_files"),))
    return table_of(model, file)


def table_of(model: Model, file: str) -> Answer[Table]:
    """The tokens of tokenizer.json or tokenizer.model as the Rust library of MLC and WebLLM numbers them."""
    if file == "tokenizer.model":
        pieces = model.parsed(file, sentencepiece.read)
        if isinstance(pieces, Known) and isinstance(pieces.value, sentencepiece.Pieces):
            return Known(Table(file, len(pieces.value.texts), {}, pieces.value), pieces.places)
        return Unknown(f"{file} {_why(pieces)}", pieces.places)
    known, parsed = tokens(model), tokenizer_file(model)
    if not isinstance(known, Known) or not known.value.complete or not isinstance(parsed, Known):
        return Unknown(f"{file} {_why(parsed)}", parsed.places)
    content = cast("TokenizerFile", parsed.value)  # else its tokens are not complete
    added = numbered(content)
    count = len(content.vocab) + sum(text not in content.vocab for text in added)
    return Known(Table(file, count, added, content), parsed.places)


def _why(answer: Answer[Any]) -> str:
    if isinstance(answer, Unknown):
        return answer.reason
    return getattr(answer.value, "message", "cannot be read") if isinstance(answer, Known) else "is not there"


def numbered(file: TokenizerFile) -> dict[str, int]:
    """Ids of the added tokens as the library in the browser gives them (run).

    It counts on from the highest id of any added token so far, where a newer library counts the tokens; that differs only for a vocabulary
    with holes.
    """
    ids: dict[str, int] = {}
    highest = -1
    for token in file.added:
        if token.content and token.content not in ids:
            following = highest + 1 if ids and (highest >= file.size or not file.size) else file.size
            ids[token.content] = file.vocab.get(token.content, following)
            highest = max(highest, ids[token.content])
    return ids
