"""What a tokenizer of transformers is once it is loaded: its class, its added tokens by id, its special tokens.

Worked out without loading it, from the order in which transformers registers tokens. Read and run: 4.46.3 and 4.57.6
tokenization_utils_fast.py:98-206; 5.0.0 to 5.24.0 tokenization_utils_tokenizers.py (105-180 and 376-530 in 5.24.0).
"""

import re
from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from bot.analyze.model.document import NotJson
from bot.analyze.model.folder import Model, fact
from bot.analyze.model.given import Given, given
from bot.analyze.model.picks import built
from bot.analyze.model.stated import RefusedError, stated, text
from bot.analyze.model.tokenizer_classes import FILE, ClassRow, release
from bot.analyze.model.tokenizer_classes import VERSIONS as ALL
from bot.analyze.model.tokenizer_file import AddedToken, TokenizerFile
from bot.analyze.model.tokenizer_file import number as numbered
from bot.analyze.model.tokenizer_parts import Pipeline
from bot.analyze.model.tokens import ROLES
from bot.analyze.rules.auto_class import auto_class
from bot.analyze.rules.registration import batches, registered, searched
from bot.analyze.rules.tokenizer_settings import (
    config_read_again,
    hold_end,
    hold_ids,
    hold_names,
    hold_prefix,
    hold_settings,
    hold_truncation,
    read_templates,
)
from bot.analyze.rules.vocabulary import Start, listed, start
from bot.analyze.tables import parts
from bot.answer import Answer, Known, Unknown

V4, V5 = "4.57.6", "5.24.0"
VERSIONS = ALL
"""The versions that are known, oldest first."""
_FILES = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json")
# Classes that start without a vocabulary whatever roles are null (run); others may build their post-processor from them.
_PLAIN = ("LlamaTokenizer", "CohereTokenizer", "GemmaTokenizer", "Qwen2Tokenizer", "GPT2Tokenizer")
# Classes that write a template for what stands around a text, whatever tokenizer.json has.
_BUILDS_ENDS = ("WhisperTokenizer",)
_LINK = re.compile(rb"[\w./+-]{0,200}\.json")
_LARGE = 100000


class LoadedToken(msgspec.Struct, frozen=True):
    """An added token as the loaded tokenizer numbers it; `token` holds its flags, and an id that does not count.

    `searched` are the `normalized` flags that count for an older library instead of the last one.
    """

    id: int
    text: str
    special: bool
    token: AddedToken
    searched: frozenset[bool]


class Loaded(msgspec.Struct, frozen=True):
    """A loaded tokenizer: `cls` is its class, `added` its added tokens by id (of several with one id the last counts), `special` the ids of all_special_ids in their order.

    `roles` gives the string and the id of every role that is filled (eos_token, pad_token, …), `own` the strings of tokens with a name of their own,
    `listed` those of the list of additional (5.x: extra) special tokens.
    `size` counts all tokens; `hollow` says that there is no vocabulary file and that it holds nothing but added tokens and `pieces`, the
    vocabulary that the class starts with.
    """

    cls: str
    added: tuple[LoadedToken, ...]
    special: tuple[int, ...]
    size: int
    hollow: bool = False
    pieces: Mapping[str, int] = {}
    roles: Mapping[str, tuple[str, int | None]] = {}
    own: Mapping[str, str] = {}
    listed: tuple[str, ...] = ()


class Refused(msgspec.Struct, frozen=True):
    """The tokenizer does not load, and why. `error` is the type of the exception, "" where it is not known."""

    reason: str
    error: str = ""


def loaded(model: Model, version: str) -> Answer[Loaded | Refused]:
    """What AutoTokenizer of that version (one of VERSIONS) makes of a folder while remote code is not trusted."""
    every = _every(model)
    if version not in every:
        every[version] = _loaded(model, version)
    return every[version]


@fact
def _every(_: Model) -> dict[str, Answer[Loaded | Refused]]:
    """What was worked out of a folder, by version."""
    return {}


def _loaded(model: Model, version: str) -> Answer[Loaded | Refused]:
    for name in _FILES:
        document = model.document(name)
        if isinstance(document, Unknown):
            return Unknown(f"{name} {document.reason}", document.places)
        if _is_link(model, name):
            return Unknown(f"{name} holds the path of another file, as a link does that was stored as text", (model.place(name),))
    places = (model.place("tokenizer_config.json"),)
    try:
        names = auto_class(model, version)
        if isinstance(names, Unknown):
            return names
        first, *others = names
        try:
            return _of_class(model, first, version)
        except RefusedError as error:
            if not others:
                raise
            return _second(model, others[0], version, error)
    except RefusedError as error:
        return Known(Refused(str(error), error.error), places)


def _is_link(model: Model, name: str) -> bool:
    """Whether a file that is no JSON holds a path alone: git writes links so where the file system has none."""
    document, content = model.document(name), model.content(name)
    broken = isinstance(document, Known) and isinstance(document.value, NotJson)
    return broken and isinstance(content, Known) and bool(_LINK.fullmatch(content.value))


def _second(model: Model, name: str, version: str, error: RefusedError) -> Answer[Loaded | Refused]:
    """What the declared class makes of a folder that the first one refused, as 5.0 to 5.5 try it."""
    if name == "PythonBackend":
        # What the files state is read before the lack of a vocabulary shows.
        read_templates(model, version)
        said = stated(model, version, listed(model, read="added_tokens_decoder" not in model.mapping("tokenizer_config.json")))
        _ = given(said, version, {})
        raise RefusedError("the class that is declared is only a base", "NotImplementedError")
    if name == FILE:
        raise error
    return _of_class(model, name, version)


def _of_class(model: Model, name: str, version: str) -> Answer[Loaded | Refused]:
    """The tokenizer as a class makes it. Raises RefusedError where it refuses."""
    row = release(version).classes.get(name)
    if row is None:
        raise RefusedError("the class does not exist", "AttributeError")
    if row.kind in ("python", "absent"):
        return Unknown(
            f"{name} is written in Python, which is not modelled" if row.kind == "python" else f"{name} needs another package"
        )
    read_templates(model, version)
    decoder = "added_tokens_decoder" in model.mapping("tokenizer_config.json")
    said = stated(model, version, listed(model, read=not decoder))
    begun = start(model, name, row, said, version)
    if isinstance(begun, Unknown):
        return begun
    if row.more:
        return Unknown(f"{name} brings special tokens of its own along")
    if doubted := hold_names(said.values):
        return doubted
    if not begun.hollow and model.has("tokenizer.json") and (doubted := _truncated(begun.file.parts, row, version)):
        return doubted
    hold_prefix(row, said.values, version)
    needed = (*row.frail, *(() if name in _PLAIN else begun.minimal))
    if empty := next((role for role in needed if said.values.get(role, role) in (None, "")), None):
        return Unknown(f"what {name} does without {empty} is not modelled")
    pad = "" if row.no_pad else begun.file.pad_token
    if parts(version) < (5,):
        hold_settings(model, said.values, version)
    taken = given(said, version, {**begun.roles, **row.roles}, pad=pad, pieces=begun.pieces)
    if parts(version) >= (5,):
        hold_settings(model, said.values, version)
    doubted = _at_the_end(model, name, row, begun, taken, said.values, version)
    return doubted or Known(_filled(begun, taken, row, name, version), (model.place("tokenizer_config.json"),))


def _at_the_end(
    model: Model, name: str, row: ClassRow, begun: Start, taken: Given, values: Mapping[str, Any], version: str
) -> Unknown | None:
    """What is looked at once the tokens are taken, and why that is not known. Raises RefusedError where it refuses."""
    if doubted := hold_ids(taken.blank, begun.file.parts, version):
        return doubted
    whole = model.has("tokenizer.json")
    hold_end(row, begun.file.parts if whole else None, values, version, bos="bos_token" in taken.named)
    if name in _BUILDS_ENDS and any(":" in string or len(string.split()) != 1 for string in taken.special):
        return Unknown(f"{name} builds what it puts around a text of token strings, one of which cannot stand there")
    if begun.file.size > _LARGE and parts(version) >= (4, 57) and not config_read_again(model):
        return Unknown("transformers_version of config.json is no version, which is compared for a large vocabulary")
    return None


def _truncated(file: Pipeline, row: ClassRow, version: str) -> Unknown | None:
    """From 5.0 to 5.2 what a class that builds its own pipeline does with a way to cut texts is not known."""
    try:
        doubted = hold_truncation(file)
    except RefusedError as error:
        if row.kind == "built" and (5,) <= parts(version) < (5, 3):
            return Unknown(str(error))
        raise
    return doubted


def _of_ids(rounds: Iterable[Iterable[AddedToken]], ids: Mapping[str, int]) -> dict[int, str]:
    """The string that an id stands for where several have it: the one registered last, but for a token that stands there as it is."""
    held: dict[int, AddedToken] = {}
    for batch in rounds:
        for each in batch:
            token = msgspec.structs.replace(each, id=0)
            if token.content and token not in held.values():
                held[ids[token.content]] = token
    return {i: token.content for i, token in held.items()}


def _piece(entry: str, said: Given) -> str:
    """An entry of the vocabulary that a class starts with: the text of a role, as Python writes it where it has none."""
    return text(said.named.get(entry, "None")) if entry in ROLES else entry


def _filled(begun: Start, said: Given, row: ClassRow, name: str, version: str) -> Loaded:
    """Register the tokens in the order of the library: those of the file, those declared by id, the roles, the others."""
    file, five = begun.file, parts(version) >= (5,)
    if begun.hollow:
        # Of two roles with one string the class's table keeps the later id, and what is added next collides with it.
        pieces = {_piece(role, said): i for i, role in enumerate(begun.minimal)}
        pipeline = built(name)
        listed = pipeline is not None and pipeline.model == "Unigram"  # a list keeps both
        file = TokenizerFile(pieces, len(begun.minimal) if listed else len(pieces), ())
    # Until 5.15 the library's object was copied after reading the file, and a copy knows no earlier registration.
    copied = (5,) <= parts(version) < (5, 18)
    rows = tuple(registered((begun.added,), at_once=False).values()) if copied else begun.added
    rounds = batches(rows, said, name, five=five, again=row.again)
    ids: dict[str, int] = {}
    for batch in rounds:
        ids = numbered(file, batch, ids, one_by_one=parts(version) < (4, 57))
    at_once = (4, 57) <= parts(version) < (5, 18)  # these come with tokenizers 0.22
    flags, ways = registered(rounds, at_once=at_once), searched(rounds, at_once=at_once)
    last = _of_ids(rounds, ids) if len(frozenset(ids.values())) < len(ids) else {}
    added = sorted(((i, string) for string, i in ids.items()), key=lambda row: (row[0], row[1] == last.get(row[0])))
    every = ChainMap(ids, file.vocab)
    roles = {role: (text(value), every.get(text(value))) for role, value in said.named.items() if role in ROLES}
    unknown = roles.get("unk_token", ("", None))[1]  # what a string without an id becomes
    return Loaded(
        cls=name,
        added=tuple(LoadedToken(i, string, flags[string].special, flags[string], ways[string]) for i, string in added),
        special=tuple(every[string] for string in said.special if string in every),
        # Up to tokenizers 0.22 the strings are counted, then the entries.
        size=(file.size if parts(version) >= (5, 18) else len(file.vocab)) + sum(string not in file.vocab for string in ids),
        hollow=begun.hollow,
        pieces=file.vocab if begun.hollow else {},
        roles={**dict.fromkeys(said.blank, ("", unknown)), **roles},
        own={name: text(value) for name, value in {**said.named, **said.own}.items() if name not in ROLES},
        listed=said.listed,
    )
