"""What a tokenizer of transformers is once it is loaded: its class, its added tokens by id, its special tokens.

Worked out without loading it, from the order in which transformers registers tokens. Read and run: 4.57.6
tokenization_utils_fast.py:98-206; 5.24.0 tokenization_utils_tokenizers.py:105-180 and 376-530.
"""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from bot.analyze.engines.registration import searched
from bot.analyze.model.folder import Model
from bot.analyze.model.given import Given, RefusedError, given, text
from bot.analyze.model.merges import taken_merge
from bot.analyze.model.picks import picks
from bot.analyze.model.sentencepiece import NotPieces
from bot.analyze.model.sentencepiece import read as read_pieces
from bot.analyze.model.tokenizer_class import FILE, REGISTER_AGAIN, rebuilds, row
from bot.analyze.model.tokenizer_file import AddedToken, NotTokenizer, TokenizerFile, number
from bot.analyze.model.tokens import ROLES, needs_remote_code, refusal, tokenizer_file
from bot.analyze.tables import tokenizers_of_4
from bot.answer import Answer, Known, Missing, Unknown

V4, V5 = "4.57.6", "5.24.0"
VERSIONS = (V4, V5)
_FILES = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json")


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
    """A loaded tokenizer: `cls` is its class, `added` its added tokens by id, `special` the ids of all_special_ids in their order.

    `roles` gives the string and the id of every role that is filled (eos_token, pad_token, …).
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


class Refused(msgspec.Struct, frozen=True):
    """The tokenizer does not load, and why. `error` is the type of the exception, "" where it is not known."""

    reason: str
    error: str = ""


class _Start(msgspec.Struct, frozen=True):
    """The vocabulary that the tokenizer starts with, and the added tokens that come with it.

    `pieces` are those of a SentencePiece model that become special tokens, `roles` those that it gives itself.
    """

    file: TokenizerFile
    added: tuple[AddedToken, ...] = ()
    hollow: bool = False
    minimal: tuple[str, ...] = ()
    pieces: tuple[AddedToken, ...] = ()
    roles: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])


def loaded(model: Model, version: str) -> Answer[Loaded | Refused]:
    """What AutoTokenizer of that version (one of VERSIONS) makes of a folder while remote code is not trusted."""
    for name in _FILES:
        document = model.document(name)
        if isinstance(document, Unknown):
            return Unknown(f"{name} {document.reason}", document.places)
        if isinstance(document, Known) and not model.readable(name):
            return Unknown(f"{name} holds no JSON object", (model.place(name),))
    places = (model.place("tokenizer_config.json"),)
    try:
        name = _class_of_4(model) if version == V4 else _class_of_5(model, version)
        if isinstance(name, Unknown):
            return name
        start = _start(model, name, five=version != V4)
        if isinstance(start, Unknown):
            return start
        about = row(name) if version != V4 else tokenizers_of_4()["fast"][name]
        pad = "" if about.get("no_pad") else start.file.pad_token
        defaults = {**start.roles, **about.get("roles", {})}
        said = given(model, _listed(model), defaults, five=version != V4, pad=pad, pieces=start.pieces)
        return Known(_filled(start, said, name, five=version != V4), places)
    except RefusedError as error:
        return Known(Refused(str(error)), places)


def _class_of_5(model: Model, version: str) -> str | Unknown:
    name = picks(model).get(version)
    if needs_remote_code(model) or name is None:
        return Unknown("the tokenizer is code of the repository, which is not run")
    if row(name).get("python"):
        return Unknown(f"{name} is written in Python, which is not modelled")
    if row(name).get("more"):
        return Unknown(f"{name} brings special tokens of its own along")
    return name


def _class_of_4(model: Model) -> str | Unknown:
    """The class of 4.57.6: the one that is declared, with Fast behind it, else that of the model type (models/auto/tokenization_auto.py:1040-1180)."""
    table = tokenizers_of_4()
    if needs_remote_code(model):
        return Unknown("the tokenizer is code of the repository, which is not run")
    config = model.mapping("config.json")
    declared = model.mapping("tokenizer_config.json").get("tokenizer_class") or config.get("tokenizer_class")
    if declared is None:
        kind = config.get("model_type")
        if not isinstance(kind, str) or kind not in table["mapping"]:
            raise RefusedError("no tokenizer_class is stated, and 4.57.6 has none for the model type")
        declared = table["mapping"][kind]
    if not isinstance(declared, str):
        return Unknown("tokenizer_class is no text")
    name = next((n for n in (declared.removesuffix("Fast") + "Fast", declared) if n in table["names"]), None)
    if name is None:
        raise RefusedError(f"Tokenizer class {declared} does not exist or is not currently imported")
    if name not in table["fast"]:
        return Unknown(f"{name} is written in Python, which is not modelled")
    if table["fast"][name]["more"]:
        return Unknown(f"{name} brings special tokens of its own along")
    return name


def _listed(model: Model) -> tuple[AddedToken, ...]:
    """The tokens of tokenizer.json."""
    file = tokenizer_file(model)
    return file.value.added if isinstance(file, Known) and isinstance(file.value, TokenizerFile) else ()


def _start(model: Model, name: str, *, five: bool) -> _Start | Unknown:
    file = tokenizer_file(model)
    if isinstance(file, Unknown):
        return Unknown(f"tokenizer.json {file.reason}", file.places)
    builds = five and rebuilds(name)
    if isinstance(file, Missing):
        return _without_file(model, name, five=five)
    if isinstance(file.value, NotTokenizer):
        return Unknown(f"tokenizer.json {file.value.message}", file.places)
    # A class that builds its own pipeline takes vocabulary and merges only, and hands them to the same library.
    read = file.value
    taken = taken_merge(read.merges, read.vocab) if builds and read.merges is not None else ""
    refused = ("", taken) if builds and taken else None if builds else refusal(model)
    if refused is not None:
        raise RefusedError(f"tokenizer.json is refused by the tokenizers library: {refused[1]}")
    return _Start(file.value, () if builds else file.value.added)


def _without_file(model: Model, name: str, *, five: bool) -> _Start | Unknown:
    others = [key for key in model.files if key.endswith((".model", ".tiktoken")) or key == "tekken.json"]
    if others == ["tokenizer.model"] and name in (FILE, "LlamaTokenizer", "LlamaTokenizerFast"):
        return _of_pieces(model, name, five=five)
    if others:
        return Unknown(f"the vocabulary of {others[0]} is not read for {name}")
    if model.has("vocab.json") and model.has("merges.txt"):
        vocab = model.mapping("vocab.json")
        if not vocab or not all(isinstance(number, int) for number in vocab.values()):
            return Unknown("vocab.json could not be read")
        return _Start(TokenizerFile(vocab, len(vocab), ()))
    if any(model.has(key) for key in ("vocab.json", "merges.txt", "vocab.txt")):
        return Unknown("there is no tokenizer.json, and other vocabulary files are not modelled")
    if not five or name == FILE:
        raise RefusedError("there is no vocabulary file")
    minimal = row(name).get("minimal")
    if minimal is None:
        return Unknown(f"there is no vocabulary file, and what {name} starts with is not known")
    return _Start(TokenizerFile({}, 0, ()), hollow=True, minimal=tuple(minimal))


def _of_pieces(model: Model, name: str, *, five: bool) -> _Start | Unknown:
    """A tokenizer made of tokenizer.model alone, given that sentencepiece and protobuf are installed.

    4.57.6 convert_slow_tokenizer.py:611-627 and the vocabulary of its LlamaConverter; 5.24.0 convert_slow_tokenizer.py:128-156 and
    tokenization_utils_tokenizers.py:305-372.
    """
    answer = model.parsed("tokenizer.model", read_pieces)
    if not isinstance(answer, Known):
        return Unknown(f"tokenizer.model {answer.reason if isinstance(answer, Unknown) else 'is not there'}", answer.places)
    pieces = answer.value
    if isinstance(pieces, NotPieces):
        return Unknown(f"tokenizer.model {pieces.message}", answer.places)
    decoder = model.mapping("tokenizer_config.json").get("added_tokens_decoder")
    rows = cast("dict[str, Any]", decoder) if isinstance(decoder, dict) else {}
    stated = {int(key): row.get("content") for key, row in rows.items() if key.isdecimal() and isinstance(row, dict)}
    names = {i: string for i, string in stated.items() if isinstance(string, str) and i < len(pieces.texts)}
    texts = dict(enumerate(pieces.texts))
    control = tuple(AddedToken(texts[i], i, special=True) for i in pieces.control)
    user = tuple(AddedToken(texts[i], i, special=False) for i in pieces.user)
    marked = tuple(sorted((*control, *user), key=lambda token: token.id))
    if not five:
        return _Start(_vocabulary({**texts, **{i: names[i] for i in range(3) if i in names}}), marked)
    if name != FILE:
        return _Start(_vocabulary(texts), pieces=marked)
    kept = {string for i, string in texts.items() if i not in names}
    renamed = {i: string for i, string in names.items() if string not in kept}
    return _Start(_vocabulary({**texts, **renamed}), pieces=control, roles=pieces.roles)


def _vocabulary(texts: Mapping[int, str]) -> TokenizerFile:
    vocab = {string: i for i, string in texts.items()}
    return TokenizerFile(vocab, len(vocab), ())


def _filled(start: _Start, said: Given, name: str, *, five: bool) -> Loaded:
    """Register the tokens in the order of the library: those of the file, those declared by id, the roles, the others."""
    file = start.file
    if start.hollow:
        # Of two roles with one string the class's table keeps the later id, and what is added next collides with it.
        pieces = {text(said.named.get(role, role)): i for i, role in enumerate(start.minimal)}
        file = TokenizerFile(pieces, len(pieces), ())
    ids = number(file, start.added)
    flags = {token.content: token for token in start.added if token.content}
    # Every declared token is registered again: the test for those that are there compares tokens with ids and never finds one.
    new = [token for _, token in sorted(said.declared.items())]
    known = {*flags, *(token.content for token in new)}
    # 4.57.6 looks for the token itself in a list of strings: one with flags of its own is never found there.
    stated = (*said.named.values(), *said.more)
    if not five:  # of several tokens with one string the first counts
        stated = tuple({text(value): value for value in reversed(stated)}[string] for string in dict.fromkeys(map(text, stated)))
    strange = [value for value in stated if text(value) not in known or (not five and isinstance(value, AddedToken))]
    new += [v if isinstance(v, AddedToken) else AddedToken(v, 0, special=True, normalized=False) for v in strange]
    special = frozenset(said.special)
    named = frozenset(map(text, said.named.values())) if five else special
    new = [msgspec.structs.replace(token, special=token.special or token.content in named) for token in new]
    flags.update({token.content: token for token in new if token.content})
    ids = number(file, tuple(new), ids)
    batches = [start.added, tuple(new)]
    if five and name in REGISTER_AGAIN:
        # Qwen2Tokenizer hands over strings, CohereTokenizer tokens with flags of their own.
        again = tuple(
            msgspec.structs.replace(v, special=True)
            if isinstance(v, AddedToken) and name != "Qwen2Tokenizer"
            else AddedToken(text(v), 0, special=True)
            for v in stated
        )
        flags.update({token.content: token for token in again})
        ids = number(file, again, ids)
        batches.append(again)
    ways = searched(batches)
    added = sorted((i, string) for string, i in ids.items())
    every = {**file.vocab, **ids}
    return Loaded(
        cls=name,
        added=tuple(LoadedToken(i, string, flags[string].special, flags[string], ways[string]) for i, string in added),
        special=tuple(every[string] for string in said.special if string in every),
        size=len(every),
        hollow=start.hollow,
        pieces=file.vocab if start.hollow else {},
        roles={role: (text(value), every.get(text(value))) for role, value in said.named.items() if role in ROLES},
    )
