"""Read what a tokenizer.json says about ids, without building the tokenizer."""

from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Any, Literal, cast

import msgspec

_Id = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]


class AddedToken(msgspec.Struct, frozen=True):
    """An entry of added_tokens. `id` is what the file declares, which the library does not use."""

    content: str
    id: _Id
    special: bool
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = False


class _Entry(msgspec.Struct):
    """An entry as the library requires it: no flag may be missing."""

    content: str
    id: _Id
    special: bool
    single_word: bool
    lstrip: bool
    rstrip: bool
    normalized: bool


class _Model(msgspec.Struct):
    vocab: dict[str, _Id] | list[tuple[str, float]] = {}
    type: Literal["BPE", "WordPiece", "WordLevel", "Unigram"] | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """The keys that the library knows; any other makes it refuse the file (run with tokenizers 0.20.3, 0.22.2 and 0.23.3)."""

    model: _Model
    added_tokens: list[_Entry] = []
    version: Literal["1.0"] = "1.0"
    truncation: msgspec.Raw = msgspec.Raw()
    padding: msgspec.Raw = msgspec.Raw()
    normalizer: msgspec.Raw = msgspec.Raw()
    pre_tokenizer: msgspec.Raw = msgspec.Raw()
    post_processor: msgspec.Raw = msgspec.Raw()
    decoder: msgspec.Raw = msgspec.Raw()


class TokenizerFile(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The tokens of a tokenizer.json: `vocab` maps pieces to ids, `size` counts its entries, `added` are the added tokens in file order.

    `pad_token` is the one that a saved padding block names: it holds the role where no other file gives it a token.
    """

    vocab: dict[str, int]
    size: int
    added: tuple[AddedToken, ...]
    pad_token: str = ""

    @cached_property
    def pieces(self) -> dict[int, str]:
        """The piece of every id of the vocabulary."""
        return {number: piece for piece, number in self.vocab.items()}


class NotTokenizer(msgspec.Struct, frozen=True):
    """Why a file called tokenizer.json does not hold a tokenizer of the `tokenizers` library."""

    message: str


def read(content: bytes) -> TokenizerFile | NotTokenizer:
    """Read a tokenizer.json; what msgspec refuses (NaN, a byte order mark, a missing flag) the library refuses as well.

    A vocabulary is an object (BPE, WordPiece, WordLevel) or, for Unigram, a list of [piece, score] whose place is the id.
    """
    try:
        parsed = msgspec.json.decode(content, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return NotTokenizer(f"is no tokenizer that the tokenizers library loads: {error}")
    vocab = parsed.model.vocab
    added = tuple(AddedToken(**msgspec.structs.asdict(entry)) for entry in parsed.added_tokens)
    pad = _pad_token(parsed.padding)
    if isinstance(vocab, list):
        return TokenizerFile({piece: number for number, (piece, _) in enumerate(vocab)}, len(vocab), added, pad)
    return TokenizerFile(vocab, len(vocab), added, pad)


class _Padding(msgspec.Struct):
    pad_token: str = ""


def _pad_token(block: msgspec.Raw) -> str:
    try:
        return msgspec.json.decode(block, type=_Padding).pad_token
    except msgspec.DecodeError:  # absent, null, or of another shape
        return ""


class _Bpe(msgspec.Struct):
    merges: list[str | tuple[str, str]] | dict[str, msgspec.Raw]
    vocab: dict[str, int]
    continuing_subword_prefix: str | None = None


class _BpeFile(msgspec.Struct):
    model: _Bpe


class _Pipeline(msgspec.Struct):
    normalizer: Any = None
    pre_tokenizer: Any = None
    post_processor: Any = None
    decoder: Any = None


# The components that tokenizers 0.23.3 knows; another type makes it refuse the file (run).
_COMPONENTS = {
    "normalizer": "BertNormalizer ByteLevel Lowercase NFC NFD NFKC NFKD Nmt Precompiled Prepend Replace Sequence Strip StripAccents",
    "pre_tokenizer": "BertPreTokenizer ByteLevel CharDelimiterSplit Delimiter Digits FixedLength Metaspace Punctuation Sequence Split "
    "UnicodeScripts Whitespace WhitespaceSplit",
    "post_processor": "BertProcessing ByteLevel RobertaProcessing Sequence TemplateProcessing",
    "decoder": "BPEDecoder ByteFallback ByteLevel CTC Fuse Metaspace Replace Sequence Strip WordPiece",
}


def refusal(content: bytes) -> str | None:
    """Why the library refuses a file that `read` reads: an unknown component, or a merge whose pieces the vocabulary lacks; None when it does not.

    Apart from `read`, since it takes as long again and an unchanged file need not be proved.
    """
    try:
        pipeline = msgspec.json.decode(content, type=_Pipeline)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None  # `read` has said why
    for part, known in _COMPONENTS.items():
        stray = next((name for name in _types(getattr(pipeline, part)) if name not in known.split()), None)
        if stray is not None:
            return f"it has the unknown {part} {stray!r}"
    merges = msgspec.json.decode(content, type=_Merges).model.merges
    if bytes(merges).strip().startswith(b"{"):
        return "its merges are an object"
    return stray_merge(content)


class _MergesModel(msgspec.Struct):
    merges: msgspec.Raw = msgspec.Raw()


class _Merges(msgspec.Struct):
    model: _MergesModel


def _types(component: Any, depth: int = 0) -> Iterator[str]:
    """The types of a component and of those inside it."""
    if not isinstance(component, dict) or depth > 20:
        return
    row = cast("dict[str, Any]", component)
    yield str(row.get("type"))
    for key in ("normalizers", "pretokenizers", "processors", "decoders"):
        for inner in row.get(key) or ():
            yield from _types(inner, depth + 1)


def stray_merge(content: bytes) -> str | None:
    """What the merges of a BPE vocabulary need and it does not have; None where they need nothing."""
    kind = msgspec.json.decode(content, type=_Kind).model
    if kind.type not in (None, "BPE") or (kind.type is None and isinstance(kind.vocab, list)):
        return None
    try:
        model = msgspec.json.decode(content, type=_BpeFile).model
    except msgspec.DecodeError as error:
        return None if kind.type is None else f"its merges cannot be read ({error})"
    if model.continuing_subword_prefix:
        return None
    vocab = model.vocab
    for merge in model.merges:
        if isinstance(merge, str) and merge.startswith("#version"):
            continue  # the first line of a merges.txt
        pair = merge if isinstance(merge, tuple) else tuple(merge.split(" "))
        if len(pair) != 2:
            return f"its merge {merge!r} is no pair"
        left, right = pair
        if left not in vocab or right not in vocab or left + right not in vocab:
            piece = next(piece for piece in (left, right, left + right) if piece not in vocab)
            return f"its merges need {piece!r}, which is not in the vocabulary"
    return None


class _KindModel(msgspec.Struct):
    type: str | None = None
    vocab: dict[str, msgspec.Raw] | list[msgspec.Raw] = {}


class _Kind(msgspec.Struct):
    model: _KindModel


def number(file: TokenizerFile, added: tuple[AddedToken, ...], taken: dict[str, int] | None = None) -> dict[str, int]:
    """Ids of added tokens as the `tokenizers` library assigns them, in order; `taken` are those assigned before.

    A content that is a piece of the vocabulary keeps that id; any other gets the number of vocabulary entries plus the number of such
    tokens before it. Declared ids are ignored, an empty content is skipped (run with tokenizers 0.22.2 and 0.23.3; 0.20.3 counted on
    from the highest id of any added token instead, which differs only for a vocabulary with holes).
    """
    ids = dict(taken or {})
    following = file.size + sum(content not in file.vocab for content in ids)
    for token in added:
        if token.content and token.content not in ids:
            known = file.vocab.get(token.content)
            ids[token.content] = following if known is None else known
            following += known is None
    return ids


def is_tokenizer(value: Any) -> bool:
    """Whether a parsed tokenizer.json has the shape of the `tokenizers` library (a Keras export has not)."""
    return isinstance(value, dict) and isinstance(cast("dict[str, Any]", value).get("model"), dict)
