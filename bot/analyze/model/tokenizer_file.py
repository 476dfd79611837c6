"""Read what a tokenizer.json says about ids, without building the tokenizer."""

from functools import cached_property
from typing import Annotated, Any, Literal, cast

import msgspec

from bot.analyze.model.merges import Merges, stray_merge

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
    merges: msgspec.Raw = msgspec.Raw()
    continuing_subword_prefix: msgspec.Raw = msgspec.Raw()


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

    `pad_token` is the one that a saved padding block names: it holds the role where no other file gives it a token. `merges` are those of a
    BPE model, as text.
    """

    vocab: dict[str, int]
    size: int
    added: tuple[AddedToken, ...]
    pad_token: str = ""
    merges: Merges | None = None

    @cached_property
    def pieces(self) -> dict[int, str]:
        """The piece of every id of the vocabulary."""
        return {number: piece for piece, number in self.vocab.items()}

    @cached_property
    def stray_merge(self) -> str:
        """Why the library refuses the merges, "" when it does not. Worked out on demand: it takes longer than reading the file."""
        return stray_merge(self.merges, self.vocab) if self.merges is not None else ""


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
    model = parsed.model
    bpe = model.type == "BPE" or (model.type is None and bool(bytes(model.merges)))
    prefix = bytes(model.continuing_subword_prefix) not in (b"", b"null", b'""')
    merges = Merges(model.merges, certain=model.type is not None, prefix=prefix) if bpe else None
    return TokenizerFile(vocab, len(vocab), added, pad, merges)


class _Padding(msgspec.Struct):
    pad_token: str = ""


def _pad_token(block: msgspec.Raw) -> str:
    try:
        return msgspec.json.decode(block, type=_Padding).pad_token
    except msgspec.DecodeError:  # absent, null, or of another shape
        return ""


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
