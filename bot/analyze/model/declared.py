"""Every statement of a model folder that a string is a token: which file makes it, with which id and which flags."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, cast

import msgspec

from bot.analyze.model import sentencepiece
from bot.analyze.model.folder import Model, fact
from bot.analyze.model.tokenizer_file import AddedToken, TokenizerFile
from bot.analyze.model.tokens import ROLES, tokenizer_file, tokens
from bot.answer import Known, Unknown
from bot.place import Place

# Tables say which id a string has, "roles" and "extra" only that it is a token (of a slot, or of a list of special tokens).
Table = Literal["added_tokens", "added_tokens_decoder", "added_tokens.json", "roles", "extra"]

FLAGS = ("special", "single_word", "lstrip", "rstrip", "normalized")
CONFIG, MAP, ADDED = "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"
_FILES = ("tokenizer.json", CONFIG, MAP, ADDED)
_LONGEST_ID = 10  # digits; the library takes ids below 2 to the 32


class Declared(msgspec.Struct, frozen=True):
    """One statement.

    `id` is the id it declares, None where it declares none; `flags` are those it states. `slot` is the name of a role ("eos_token"), of a
    named token ("image_token") or of the list ("additional_special_tokens"). `read` is False in files that transformers does not open,
    because tokenizer_config.json has the key added_tokens_decoder (tokenization_utils_base.py:1889-1948 in 5.24.0, run).
    """

    text: str
    table: Table
    file: str
    pointer: str
    id: int | None = None
    flags: Mapping[str, bool] = msgspec.field(default_factory=dict[str, bool])
    slot: str = ""
    read: bool = True

    @property
    def special(self) -> bool | None:
        """The special flag, None where the statement leaves it open."""
        return self.flags.get("special")

    def place(self, model: Model) -> Place:
        """Where it stands, with its line; works the line out, so to be called for what is shown."""
        return model.place(self.file, self.pointer)


@fact
def declared(model: Model) -> tuple[Declared, ...]:
    """Every statement of the files that could be read: file by file, by id or by name where the order of the file means nothing."""
    shadowed = has_decoder(model)
    config, special = model.mapping(CONFIG), model.mapping(MAP)
    return (
        *_of_tokenizer(model),
        *_of_decoder(config.get("added_tokens_decoder")),
        *_of_slots(CONFIG, config, read=True),
        *_of_slots(MAP, special, read=not shadowed),
        *_of_added(model.mapping(ADDED), read=not shadowed),
    )


def of_table(model: Model, table: Table) -> tuple[Declared, ...]:
    """The statements of one table."""
    return tuple(row for row in declared(model) if row.table == table)


def by_text(rows: Iterable[Declared]) -> dict[str, list[Declared]]:
    """Statements by their string."""
    found: dict[str, list[Declared]] = {}
    for row in rows:
        found.setdefault(row.text, []).append(row)
    return found


def has_decoder(model: Model) -> bool:
    """Whether tokenizer_config.json has the key added_tokens_decoder, so that special_tokens_map.json and added_tokens.json are not read."""
    return "added_tokens_decoder" in model.mapping(CONFIG)


def named(model: Model) -> set[str]:
    """The strings of the slots that give a token its special flag back: roles and other named tokens, not the lists (5.24.0, run)."""
    return {row.text for row in of_table(model, "roles") if row.read}


@fact
def renumbered(model: Model) -> tuple[tuple[Declared, int], ...]:
    """The statements that declare another id than loading gives, with the id that it gives.

    Those of tokenizer.json, and those of the tables beside it for strings that it lacks: there declared ids decide about the order only
    (tokenizers 0.23.3 and transformers 5.24.0, run). Empty where nothing is known of loading, or where declared ids are honoured.
    """
    table = tokens(model)
    if (
        not isinstance(table, Known) or table.value.declared or not table.value.file.vocab
    ):  # an empty vocabulary stands for a file of another kind
        return ()
    own, vocab = {row.text for row in of_table(model, "added_tokens")}, table.value.file.vocab
    every = (r for r in declared(model) if r.read and r.id is not None)
    rows = (r for r in every if r.file == "tokenizer.json" or (r.text not in own and r.text not in vocab))
    ids = ((row, table.value.id_of(row.text)) for row in rows)
    return tuple((row, number) for row, number in ids if number is not None and number != row.id)


@fact
def shared(model: Model) -> dict[tuple[str, int], tuple[Declared, ...]]:
    """The statements that declare an id which their file declares for another string as well, by file and id.

    The vocabulary of tokenizer.json counts as declared there. Empty where loading fails anyway.
    """
    table = tokens(model)
    if not isinstance(table, Known):
        return {}
    file = table.value.file
    taken = any(row.id in file.ids and file.vocab.get(row.text) != row.id for row in of_table(model, "added_tokens"))
    pieces = file.pieces if table.value.complete and taken else {}
    groups: dict[tuple[str, int], list[Declared]] = {}
    for row in declared(model):
        if row.read and row.id is not None and row.text:
            groups.setdefault((row.file, row.id), []).append(row)
    return {
        (file, number): tuple(rows)
        for (file, number), rows in groups.items()
        if len({row.text for row in rows} | ({pieces.get(number, rows[0].text)} if file == "tokenizer.json" else set())) > 1
    }


@fact
def shared_unread(model: Model) -> tuple[tuple[Declared, ...], ...]:
    """The entries of an added_tokens.json that transformers does not read which declare one id for several strings."""
    groups: dict[int | None, list[Declared]] = {}
    for row in of_table(model, "added_tokens.json"):
        if row.text and not row.read:
            groups.setdefault(row.id, []).append(row)
    return tuple(tuple(rows) for rows in groups.values() if len(rows) > 1)


# Who numbers tokens by added_tokens.json even beside added_tokens_decoder, and the file that makes it do so: Ollama (convert/tokenizer_spm.go,
# read) and gguf-py of llama.cpp (vocab.py, BpeVocab, read). MLC packages the file, and takes it where there is no tokenizer.json (read).
_CONVERTERS = {"tokenizer.model": "ollama", "vocab.json": "llama.cpp"}
UNREAD = (
    "transformers does not read `added_tokens.json` beside `added_tokens_decoder`, but converters number the tokens by it: "
    "Ollama where there is a `tokenizer.model`, gguf-py of llama.cpp where there is a `vocab.json` (read)."
)


def converters(model: Model) -> tuple[str, ...]:
    """The engines whose converters take the added_tokens.json of a folder although transformers does not."""
    return tuple(engine for file, engine in _CONVERTERS.items() if model.has(file))


@fact
def repeated(model: Model) -> dict[str, list[Declared]]:
    """The strings that stand in several entries of tokenizer.json's list; the library skips an empty one."""
    groups = by_text(of_table(model, "added_tokens"))
    return {text: rows for text, rows in groups.items() if text and len(rows) > 1}


@fact
def unread(model: Model) -> tuple[str, ...]:
    """The files that may declare tokens and could not be read: what is not found may stand there."""
    return tuple(name for name in _FILES if isinstance(model.content(name), Unknown) or not _parsed(model, name))


def escaped(text: str) -> str:
    """A key as a part of an RFC 6901 pointer."""
    return text.replace("~", "~0").replace("/", "~1")


def content_of(value: Any) -> str | None:
    """The string of a token that is given as a string or as an object."""
    text = cast("dict[str, Any]", value).get("content") if isinstance(value, dict) else value
    return text if isinstance(text, str) else None


def untyped(value: Any) -> bool:
    """Whether a value of tokenizer_config.json is an object that transformers does not make a token of (5.24.0, tokenization_utils_base.py:1948, run)."""
    return isinstance(value, dict) and cast("dict[str, Any]", value).get("__type") != "AddedToken"


def _parsed(model: Model, name: str) -> bool:
    if name != "tokenizer.json":
        return not model.has(name) or model.readable(name)
    file = tokenizer_file(model)
    return not isinstance(file, Known) or isinstance(file.value, TokenizerFile)


def _of_tokenizer(model: Model) -> Iterator[Declared]:
    file = tokenizer_file(model)
    added: tuple[AddedToken, ...] = file.value.added if isinstance(file, Known) and isinstance(file.value, TokenizerFile) else ()
    for i, token in enumerate(added):
        flags = {flag: cast("bool", getattr(token, flag)) for flag in FLAGS}
        yield Declared(token.content, "added_tokens", "tokenizer.json", f"/added_tokens/{i}", token.id, flags)


def _of_decoder(decoder: Any) -> Iterator[Declared]:
    rows = cast("dict[str, Any]", decoder) if isinstance(decoder, dict) else {}
    entries = [(number, key, rows[key]) for key in sorted(rows) if (number := _key(key)) is not None]
    for number, key, entry in sorted(entries, key=lambda row: row[0]):
        text = content_of(entry) if isinstance(entry, dict) else None
        if text is not None:
            # A flag that is left out is false (AddedToken of tokenizers 0.23.3; `normalized` follows `special`, which nothing here needs).
            flags = {"special": False, **_flags(entry)}
            yield Declared(text, "added_tokens_decoder", CONFIG, f"/added_tokens_decoder/{escaped(key)}", number, flags)


def _of_slots(file: str, config: dict[str, Any], *, read: bool) -> Iterator[Declared]:
    """Roles, other keys that end in _token, which transformers 5 takes for named tokens (5.24.0, run), and the lists."""
    for key, value in sorted(config.items()):
        text = content_of(value)
        if text is not None and (key in ROLES or (key.endswith("_token") and (file == MAP or not untyped(value)))):
            yield Declared(text, "roles", file, f"/{escaped(key)}", flags=_flags(value), slot=key, read=read)
    for name in ("additional_special_tokens", "extra_special_tokens"):
        value: Any = config.get(name)
        rows: Iterable[tuple[Any, Any]] = enumerate(cast("list[Any]", value)) if isinstance(value, list) else ()
        if isinstance(value, dict):  # names of tokens, each a slot of its own
            rows = sorted(cast("dict[str, Any]", value).items())
        for key, item in rows:
            text, mapped = content_of(item), isinstance(value, dict)
            if text is not None:
                pointer, slot = f"/{name}/{escaped(str(key))}", str(key) if mapped else name
                yield Declared(text, "roles" if mapped else "extra", file, pointer, flags=_flags(item), slot=slot, read=read)


def _of_added(added: dict[str, Any], *, read: bool) -> Iterator[Declared]:
    ids = {text: number for text, value in added.items() if (number := _id(value)) is not None}
    for number, text in sorted((number, text) for text, number in ids.items()):
        yield Declared(text, "added_tokens.json", ADDED, f"/{escaped(text)}", number, read=read)


def _flags(entry: Any) -> dict[str, bool]:
    row = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
    return {flag: row[flag] for flag in FLAGS if isinstance(row.get(flag), bool)}


def _key(text: str) -> int | None:
    """A declared id that is the key of an entry."""
    return int(text) if text.isdecimal() and len(text) <= _LONGEST_ID else None


def _id(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


class _Model(msgspec.Struct):
    type: str | None = None
    merges: list[str | tuple[str, str]] = []


class _Merges(msgspec.Struct):
    model: _Model


def _built(content: bytes) -> frozenset[str] | None:
    """The pieces that merges build; None where a piece needs none (Unigram, WordPiece, WordLevel)."""
    try:
        model = msgspec.json.decode(content, type=_Merges).model
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return frozenset()
    if model.type not in (None, "BPE"):
        return None
    return frozenset("".join(merge) if isinstance(merge, tuple) else merge.replace(" ", "", 1) for merge in model.merges)


def spelled(model: Model, text: str) -> bool:
    """Whether a string is a piece of the vocabulary that ordinary text can become: what is no added token may then still be one token."""
    file = tokenizer_file(model)
    if not isinstance(file, Known) or not isinstance(file.value, TokenizerFile) or text not in file.value.vocab:
        return False
    built = model.parsed("tokenizer.json", _built)
    return isinstance(built, Known) and (built.value is None or text in built.value or len(text) == 1)


def base_vocabulary(model: Model) -> dict[str, int] | None:
    """The pieces of the vocabulary file without added tokens, by id; None where there is none that could be read.

    tokenizer.json counts first, as in every loader that takes it.
    """
    if model.has("tokenizer.json"):
        file = tokenizer_file(model)
        return file.value.vocab or None if isinstance(file, Known) and isinstance(file.value, TokenizerFile) else None
    if model.has("vocab.json"):
        return {piece: i for piece, i in model.mapping("vocab.json").items() if _id(i) is not None} or None
    if model.has("tokenizer.model"):
        pieces = model.parsed("tokenizer.model", sentencepiece.read)
        if isinstance(pieces, Known) and isinstance(pieces.value, sentencepiece.Pieces):
            return {text: i for i, text in enumerate(pieces.value.texts)}
    return None
