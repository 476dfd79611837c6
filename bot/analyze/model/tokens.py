"""Which token has which id in one model folder, and which strings hold the roles (EOS, BOS, …)."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, cast

import msgspec

from bot.analyze.model.components import doubt, fault, panic
from bot.analyze.model.folder import Model, fact
from bot.analyze.model.tokenizer_class import candidates, roles
from bot.analyze.model.tokenizer_file import AddedToken, NotTokenizer, TokenizerFile, number, read
from bot.answer import Answer, Known, Missing, Unknown
from bot.place import Place

ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


class Token(msgspec.Struct, frozen=True):
    """An added token: its string, the id that the loaded tokenizer gives it, the special flag, where it is declared."""

    text: str
    id: int
    special: bool
    place: tuple[str, str]  # (file name, pointer): a line is worked out only where one is shown


class _Texts(Mapping[int, str]):
    """Texts by id; the vocabulary is turned round only when an id is not that of an added token."""

    def __init__(self, added: Mapping[int, str], file: TokenizerFile) -> None:
        self._added = added
        self._file = file

    def __getitem__(self, number: int) -> str:
        return self._added[number] if number in self._added else self._file.pieces[number]

    def __iter__(self) -> Iterator[int]:
        return iter({**self._file.pieces, **self._added})

    def __len__(self) -> int:
        return len({**self._file.pieces, **self._added})


class TokenTable(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Every token of a model folder as a tokenizer will number it.

    `complete` is False when only the added tokens are known (no vocabulary could be read): an id that is not
    listed may then well exist. `declared` is True when the ids are those that tokenizer_config.json declares, which only
    tokenizers written in Python (remote code) honour.
    """

    added: Mapping[str, Token]
    file: TokenizerFile
    complete: bool
    declared: bool

    def id_of(self, text: str) -> int | None:
        """The id of a token string."""
        return self.added[text].id if text in self.added else self.file.vocab.get(text)

    @cached_property
    def texts(self) -> Mapping[int, str]:
        """The string of every id; an added token hides a vocabulary piece of the same id."""
        return _Texts({token.id: token.text for token in self.added.values()}, self.file)


@fact
def tokenizer_file(model: Model) -> Answer[TokenizerFile | NotTokenizer]:
    """The tokenizer.json of a folder."""
    return model.parsed("tokenizer.json", read)


@fact
def refusal(model: Model) -> tuple[str, str] | None:
    """The pointer and the reason, in a clause, why the library refuses a tokenizer.json that can be read as one; None when it does not.

    None as well for a file that is the same in the other revision: proving it takes as long again as reading it, and it would be no news.
    """
    file = tokenizer_file(model)
    if not isinstance(file, Known) or not isinstance(file.value, TokenizerFile) or "tokenizer.json" in model.settled:
        return None
    content = model.content("tokenizer.json")
    found = fault(file.value.parts, content.value) if isinstance(content, Known) else None
    if found:
        return found
    return ("/model/merges", file.value.stray_merge) if file.value.stray_merge else None


@fact
def unjudged(model: Model) -> tuple[str, str] | None:
    """The pointer and the reason, in a clause, why it is not known whether the library takes a tokenizer.json that it is not known to refuse."""
    file = tokenizer_file(model)
    if not isinstance(file, Known) or not isinstance(file.value, TokenizerFile) or refusal(model):
        return None
    return doubt(file.value.parts)


@fact
def panics(model: Model) -> tuple[str, str] | None:
    """The pointer and the reason, in a clause, why a tokenizer.json that loads makes the library panic over every text."""
    file = tokenizer_file(model)
    if not isinstance(file, Known) or not isinstance(file.value, TokenizerFile) or refusal(model):
        return None
    return panic(file.value.parts)


@fact
def tokens(model: Model) -> Answer[TokenTable]:
    """The token table: from tokenizer.json, or without one from what tokenizer_config.json declares.

    With a tokenizer.json the ids are those of the `tokenizers` library; entries of added_tokens_decoder that it lacks, or without that key
    those of added_tokens.json, are appended by declared id (transformers 5.24.0, tokenization_utils_base.py:1889-1948, run).
    """
    file = tokenizer_file(model)
    entries = _entries(model)
    if isinstance(file, Known) and isinstance(file.value, NotTokenizer):
        return Unknown(f"tokenizer.json {file.value.message}", file.places)
    if isinstance(file, Known) and (why := refusal(model)):
        return Unknown(f"tokenizer.json is refused by the tokenizers library: {why[1]}", file.places)
    if isinstance(file, Known) and isinstance(file.value, TokenizerFile):
        ids = number(file.value, file.value.added)
        flags = {token.content: (token.special, f"/added_tokens/{i}") for i, token in enumerate(file.value.added)}
        added = {text: Token(text, i, flags[text][0], ("tokenizer.json", flags[text][1])) for text, i in ids.items()}
        ids = number(file.value, tuple(entry for entry, _ in entries), ids)
        for entry, place in entries:
            if entry.content in ids:  # flags of tokenizer_config.json override those of tokenizer.json, ids do not
                known = added.get(entry.content)
                added[entry.content] = Token(entry.content, ids[entry.content], entry.special, known.place if known else place)
        return Known(TokenTable(added, file.value, complete=True, declared=False))
    if isinstance(file, Unknown) and not entries:
        return Unknown(f"tokenizer.json {file.reason}", file.places)
    if not entries:
        return Missing(file.places)
    table = {entry.content: Token(entry.content, entry.id, entry.special, place) for entry, place in entries}
    return Known(TokenTable(table, TokenizerFile({}, 0, ()), complete=False, declared=True))


def rebuilt_id(model: Model, text: str) -> int | None:
    """The id of a token on transformers 5 in a class that rebuilds its backend (Qwen2Tokenizer, LlamaTokenizer, …); None when it cannot be told.

    Such a class takes only the vocabulary of tokenizer.json; the added tokens come from added_tokens_decoder by declared id, or without
    that key from tokenizer.json's list, the last entry of an id winning, then the roles (transformers 5.24.0, tokenization_utils_tokenizers.py:105-180 and :481, run).
    """
    file = tokenizer_file(model)
    if not isinstance(file, Known) or not isinstance(file.value, TokenizerFile):
        return None
    if "added_tokens_decoder" in model.mapping("tokenizer_config.json"):
        entries = [entry for entry, _ in _entries(model)]
    else:
        by_id = {entry.id: entry for entry in (*(e for e, _ in _entries(model)), *file.value.added)}
        entries = [by_id[i] for i in sorted(by_id)]
    ids = number(file.value, tuple(entries))
    if text in ids or text in file.value.vocab:
        return ids.get(text, file.value.vocab.get(text))
    strings = {answer.value for answer in (role(model, name) for name in ROLES) if isinstance(answer, Known)}
    appended = [s for s in strings if s and s not in ids and s not in file.value.vocab]
    # Which of several roles is appended first differs by class.
    return number(file.value, (AddedToken(text, 0, special=True),), ids)[text] if appended == [text] else None


def _entries(model: Model) -> list[tuple[AddedToken, tuple[str, str]]]:
    """Added tokens that the files beside tokenizer.json declare, by declared id."""
    decoder = model.mapping("tokenizer_config.json").get("added_tokens_decoder")
    rows: list[tuple[AddedToken, tuple[str, str]]] = []
    if isinstance(decoder, dict):
        for key, entry in cast("dict[str, Any]", decoder).items():
            content = entry.get("content") if isinstance(entry, dict) else None
            if key.isdecimal() and isinstance(content, str):
                special = cast("dict[str, Any]", entry).get("special") is True
                rows.append((AddedToken(content, int(key), special), ("tokenizer_config.json", f"/added_tokens_decoder/{key}")))
    else:
        for content, i in model.mapping("added_tokens.json").items():
            if isinstance(i, int) and i >= 0:
                pointer = "/" + content.replace("~", "~0").replace("/", "~1")
                rows.append((AddedToken(content, i, special=False), ("added_tokens.json", pointer)))
    return sorted(rows, key=lambda row: row[0].id)


def needs_remote_code(model: Model) -> bool:
    """Whether the tokenizer is a class of the repository's own code (auto_map.AutoTokenizer)."""
    auto_map = model.mapping("tokenizer_config.json").get("auto_map")
    if isinstance(auto_map, list):  # the legacy form: the list is the entry of AutoTokenizer
        return True
    return isinstance(auto_map, dict) and bool(cast("dict[str, Any]", auto_map).get("AutoTokenizer"))


def role(model: Model, name: str) -> Answer[str]:
    """The string that holds a role, from the file that wins.

    tokenizer_config.json with the key added_tokens_decoder wins and special_tokens_map.json is not read; without that key
    special_tokens_map.json overrides it (run with transformers 4.46.3, 4.57.6 and 5.x; tokenization_utils_base.py:1902 in 5.24.0). Null is a
    statement: the role is then empty. Where no file has the key, or it holds an empty string, the default of the class counts.
    """
    for source in role_sources(model):
        unread = model.document(source)
        if isinstance(unread, Unknown):
            return Unknown(f"{source} {unread.reason}", unread.places)
        values = model.mapping(source)
        if name not in values:
            continue
        found = values[name]
        text = cast("dict[str, Any]", found).get("content") if isinstance(found, dict) else found
        place = model.place(source, f"/{name}")
        if text is None:
            return Missing((place,))
        if not isinstance(text, str):
            return Unknown(f"{source} gives {name} no text", (place,))
        if text:
            return Known(text, (place,))
        break
    defaults = {roles(candidate).get(name) for candidate in candidates(model)}
    places = (model.place("tokenizer_config.json", "/tokenizer_class"),)
    if len(defaults) > 1:
        return Unknown(f"whether the class gives {name} a default depends on the version of transformers", places)
    default = next(iter(defaults), None)
    return Missing(places) if default is None else Known(default, places)


def role_sources(model: Model) -> tuple[str, ...]:
    """The files that may state a role, the one that wins first."""
    decoder = "added_tokens_decoder" in model.mapping("tokenizer_config.json")
    return ("tokenizer_config.json",) if decoder else ("special_tokens_map.json", "tokenizer_config.json")


def texts_of(model: Model) -> Mapping[int, str]:
    """The string of every known id; empty when no token is known."""
    table = tokens(model)
    return table.value.texts if isinstance(table, Known) else {}


def token_place(model: Model, text: str) -> Place:
    """Where a token is declared; the tokenizer file as a whole for a vocabulary piece."""
    table = tokens(model)
    if isinstance(table, Known) and text in table.value.added:
        return model.place(*table.value.added[text].place)
    return Place(model.revision, model.path("tokenizer.json"))
