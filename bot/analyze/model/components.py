"""Which parts of a tokenizer.json the `tokenizers` library refuses: options that are missing or of a wrong type.

The required options are those of tokenizers 0.23.3: each was left out and replaced by values of other types (run).
"""

import re
from binascii import Error, a2b_base64
from collections.abc import Callable, Iterator
from functools import cache
from typing import Annotated, Any, Literal, cast

import msgspec

from bot.analyze.model import patterns
from bot.analyze.model.misfit import words
from bot.analyze.model.tokenizer_parts import DEEPEST, Component, Options, Pipeline, steps

_Kind = Callable[[], type[msgspec.Struct]]
_Count = Annotated[int, msgspec.Meta(ge=0)]
_U32 = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]
_Char = Annotated[str, msgspec.Meta(min_length=1, max_length=1)]
_Behavior = Literal["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]


_Pattern = Annotated[dict[Literal["String", "Regex"], str], msgspec.Meta(min_length=1, max_length=1)]


class _Piece(msgspec.Struct):
    """One of a template; which of both it is does not matter here."""

    Sequence: Any = None
    SpecialToken: Any = None


class _Special(msgspec.Struct):
    id: str
    ids: list[_U32]
    tokens: list[str]


def _options(**fields: Any) -> _Kind:
    """A component with these options, made when it is asked for; a pair gives the type and the value where the option is left out."""

    @cache
    def made() -> type[msgspec.Struct]:
        rows = [(name, *kind) if isinstance(kind, tuple) else (name, kind) for name, kind in fields.items()]
        return msgspec.defstruct("Options", rows)

    return made


_BYTE_LEVEL = _options(add_prefix_space=bool, trim_offsets=bool, use_regex=(bool, True))
_METASPACE = _options(
    replacement=_Char, prepend_scheme=(Literal["first", "never", "always"], "always"), split=(bool | None, None)
)
_REPLACE = _options(pattern=_Pattern, content=str)
_ENDS: dict[str, Any] = {"sep": tuple[str, _U32], "cls": tuple[str, _U32]}
# By part, the options of each component that has any.
_KINDS: dict[str, dict[str, _Kind]] = {
    "normalizer": {
        "BertNormalizer": _options(clean_text=bool, handle_chinese_chars=bool, lowercase=bool, strip_accents=(bool | None, None)),
        "Precompiled": _options(precompiled_charsmap=str),
        "Prepend": _options(prepend=str),
        "Replace": _REPLACE,
        "Strip": _options(strip_left=bool, strip_right=bool),
    },
    "pre_tokenizer": {
        "ByteLevel": _BYTE_LEVEL,
        "CharDelimiterSplit": _options(delimiter=_Char),
        "Digits": _options(individual_digits=bool),
        "Metaspace": _METASPACE,
        "Punctuation": _options(behavior=(_Behavior, "Isolated")),
        "Split": _options(pattern=_Pattern, behavior=_Behavior, invert=bool),
    },
    "post_processor": {
        "BertProcessing": _options(**_ENDS),
        "ByteLevel": _BYTE_LEVEL,
        "RobertaProcessing": _options(**_ENDS),  # with other options wrong it is taken for a BertProcessing
        "TemplateProcessing": _options(single=list[_Piece], pair=list[_Piece], special_tokens=dict[str, _Special]),
    },
    "decoder": {
        "BPEDecoder": _options(suffix=str),
        "ByteLevel": _BYTE_LEVEL,
        "CTC": _options(pad_token=str, word_delimiter_token=str, cleanup=bool),
        "Metaspace": _METASPACE,
        "Replace": _REPLACE,
        "Strip": _options(content=_Char, start=_Count, stop=_Count),
        "WordPiece": _options(prefix=str, cleanup=bool),
    },
}
# Every component that the library knows, by part; another type makes it refuse the file (run).
_KNOWN = {
    part: frozenset(names.split())
    for part, names in {
        "normalizer": "BertNormalizer ByteLevel Lowercase NFC NFD NFKC NFKD Nmt Precompiled Prepend Replace Sequence Strip StripAccents",
        "pre_tokenizer": "BertPreTokenizer ByteLevel CharDelimiterSplit Digits FixedLength Metaspace Punctuation Sequence Split "
        "UnicodeScripts Whitespace WhitespaceSplit",
        "post_processor": "BertProcessing ByteLevel RobertaProcessing Sequence TemplateProcessing",
        "decoder": "BPEDecoder ByteFallback ByteLevel CTC Fuse Metaspace Replace Sequence Strip WordPiece",
    }.items()
}
PANICS = "makes the library panic"
_LISTS = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "post_processor": "processors", "decoder": "decoders"}


class _Truncation(msgspec.Struct):
    max_length: _Count
    strategy: Literal["LongestFirst", "OnlyFirst", "OnlySecond"]
    stride: _Count
    direction: Literal["Left", "Right"] = "Right"


class _Fixed(msgspec.Struct):
    Fixed: _Count


class _Padding(msgspec.Struct):
    strategy: Literal["BatchLongest"] | _Fixed
    direction: Literal["Left", "Right"]
    pad_id: _U32
    pad_type_id: _U32
    pad_token: str
    pad_to_multiple_of: _Count | None = None


class _Unigram(msgspec.Struct):
    vocab: list[tuple[str, float]]
    unk_id: _Count | None = None
    byte_fallback: bool = False


class _UnigramFile(msgspec.Struct):
    model: _Unigram


_Dropout = Annotated[float, msgspec.Meta(ge=0, le=1)]
_BPE = _options(
    dropout=(_Dropout | None, None),
    unk_token=(str | None, None),
    continuing_subword_prefix=(str | None, None),
    end_of_word_suffix=(str | None, None),
    fuse_unk=(bool | None, None),
    byte_fallback=(bool | None, None),
    ignore_merges=(bool | None, None),
)
# The options by the type of the model.
_MODELS: dict[str, _Kind] = {
    "BPE": _BPE,
    "WordPiece": _options(unk_token=str, continuing_subword_prefix=str, max_input_chars_per_word=_Count),
    "WordLevel": _options(unk_token=str),
}


def fault(found: Pipeline, content: bytes) -> tuple[str, str] | None:
    """What is wrong with a part of a file that is otherwise a tokenizer: (pointer, clause); None when nothing was seen."""
    for part, kinds in _KINDS.items():
        why = _part(part, kinds, getattr(found, part))
        if why:
            return f"/{part}", why
    for part, kind in (("truncation", _Truncation), ("padding", _Padding)):
        block = getattr(found, part)
        why = _misfit(block, kind, part) if block is not None else ""
        if why:
            return f"/{part}", why
    return _model_fault(found.model, content)


def doubt(found: Pipeline) -> tuple[str, str] | None:
    """What of a file is not judged: (pointer, clause)."""
    for part in _KINDS:
        for step in steps(getattr(found, part)):
            regex = _regex(step) if step.get("type") in ("Split", "Replace") else None
            if regex is not None and (why := patterns.doubt(regex)):
                return f"/{part}", why
    return None


def panic(found: Pipeline) -> tuple[str, str] | None:
    """What makes the library panic over every text, although it loads the file: (pointer, clause). Only for a file without a fault."""
    for step in steps(found.post_processor):
        if step.get("type") == "TemplateProcessing" and (why := _stray_special(step)):
            return "/post_processor", f"post_processor TemplateProcessing: {why}"
    return None


def _part(part: str, kinds: dict[str, _Kind], value: Any) -> str:
    """Why a normalizer, pre-tokenizer, post-processor or decoder is refused."""
    if value is not None and not isinstance(value, dict):
        return f"{part} is no object"
    for step in steps(value):
        name = step.get("type")  # one without a type is taken by its options
        if isinstance(name, str) and name not in _KNOWN[part]:
            return f"it has the unknown {part} {name!r}"
        kind = kinds.get(name) if isinstance(name, str) else None
        if kind and (why := _misfit(step, kind(), f"{part} {name}")):
            return why
        if kind and (why := _within(step)):
            return f"{part} {name}: {why}"
    if any(not isinstance(row.get(_LISTS[part]), list) for row in _sequences(value, _LISTS[part])):
        return f"{part} Sequence without the list {_LISTS[part]}"
    return ""


def _sequences(value: Any, inner: str, depth: int = 0) -> Iterator[Component]:
    """Every sequence of a part, those inside others too."""
    if not isinstance(value, dict) or depth > DEEPEST or cast("Component", value).get("type") != "Sequence":
        return
    row = cast("Component", value)
    yield row
    for one in cast("list[Any]", row[inner]) if isinstance(row.get(inner), list) else ():
        yield from _sequences(one, inner, depth + 1)


def _within(step: Component) -> str:
    """What is wrong inside a component whose options have the right types."""
    match step["type"]:
        case "Split" | "Replace":
            return _regex_fault(step)
        case "Precompiled":
            return _charsmap_fault(step)
        case _:
            return ""


def _misfit(value: Any, kind: type[msgspec.Struct], whole: str) -> str:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return words(error, whole)
    return ""


def _regex(step: Component) -> str | None:
    """The regular expression of a component; None for one that looks for plain text."""
    pattern: Any = step.get("pattern")
    regex: Any = cast("Component", pattern).get("Regex") if isinstance(pattern, dict) else None
    return regex if isinstance(regex, str) else None


def _regex_fault(step: Component) -> str:
    """What is wrong with the regular expression of a component."""
    regex = _regex(step)
    return "" if regex is None else patterns.fault(regex)


def _stray_special(step: Component) -> str:
    """A special token that the table of the template lacks: the file loads, and every text makes the library panic (0.23.3, run)."""
    pieces = cast("list[Component]", step["single"])
    names = [
        cast("Component", piece["SpecialToken"]).get("id") for piece in pieces if isinstance(piece.get("SpecialToken"), dict)
    ]
    stray = next((name for name in names if isinstance(name, str) and name not in step["special_tokens"]), None)
    return f"encoding panics, no special token {stray!r}" if stray is not None else ""


def _charsmap_fault(step: Component) -> str:
    """A charsmap is Base64 of the size of a table in bytes, the table of 32-bit numbers and UTF-8 text (0.23.3, run)."""
    text: str = step["precompiled_charsmap"]
    try:
        content = a2b_base64(text if re.fullmatch(r"[A-Za-z0-9+/]*={0,2}", text) else "*", strict_mode=True)
    except (Error, ValueError):
        return "its charsmap is not Base64"
    if not content:
        return "its charsmap is empty"
    end = 4 + int.from_bytes(content[:4], "little") // 4 * 4
    try:
        _ = content[end:].decode("utf-8")
    except UnicodeDecodeError:
        return f"its charsmap {PANICS}"
    return f"its charsmap {PANICS}" if len(content) < max(end, 4) else ""


def _model_fault(options: Options, content: bytes) -> tuple[str, str] | None:
    """Options of the model; a file whose model has no type is tried as each, so that nothing can be said."""
    if options.type == "Unigram":
        return _unigram_fault(content)
    kind = _MODELS.get(options.type) if isinstance(options.type, str) else None
    stated = {name: value for name, value in msgspec.structs.asdict(options).items() if value is not msgspec.UNSET}
    why = _misfit(stated, kind(), f"its {options.type} model") if kind else ""
    return ("/model", why) if why else None


def _unigram_fault(content: bytes) -> tuple[str, str] | None:
    try:
        model = msgspec.json.decode(content, type=_UnigramFile).model
    except msgspec.DecodeError as error:
        return "/model", words(error)
    if model.unk_id is not None and model.unk_id >= len(model.vocab):
        return "/model", f"Unigram of {len(model.vocab)} pieces names number {model.unk_id} as the unknown one"
    return None
