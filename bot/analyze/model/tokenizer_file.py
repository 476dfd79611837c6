"""Read what a tokenizer.json says about ids, without building the tokenizer."""

from functools import cached_property
from typing import Annotated, Any, Literal, cast

import msgspec

from bot.analyze.model import misfit
from bot.analyze.model.merges import Merges, stray_merge
from bot.analyze.model.misfit import words
from bot.analyze.model.pointers import pointer
from bot.analyze.model.tokenizer_parts import Options, Pipeline

_PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding")
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


class _Model(Options, frozen=True, kw_only=True):
    """`type` may be left out, but not null."""

    vocab: dict[str, _Id] | list[tuple[str, float]]
    type: Literal["BPE", "WordPiece", "WordLevel", "Unigram"] | msgspec.UnsetType = msgspec.UNSET
    merges: msgspec.Raw = msgspec.Raw()

    def lack(self) -> str:
        """Why it is none of the library's models, in a clause (run: every type with and without each of the keys)."""
        listed = isinstance(self.vocab, list)
        if self.type == "Unigram" or (self.type is msgspec.UNSET and listed):
            return ""
        if listed:
            return f"vocab of its {self.type} model is an array where an object is needed"
        if self.type in ("BPE", msgspec.UNSET) and not bytes(self.merges):
            untyped = self.type is msgspec.UNSET and isinstance(self.unk_token, str)  # then it is a WordLevel one
            return "" if untyped else "its model has no 'merges'"
        return ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """The keys that the library knows; any other makes it refuse the file (run with tokenizers 0.20.3, 0.22.2 and 0.23.3)."""

    model: _Model
    added_tokens: list[_Entry] | msgspec.UnsetType = msgspec.UNSET
    version: Literal["1.0"] = "1.0"
    truncation: Any = None
    padding: Any = None
    normalizer: Any = None
    pre_tokenizer: Any = None
    post_processor: Any = None
    decoder: Any = None


class TokenizerFile(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The tokens of a tokenizer.json: `vocab` maps pieces to ids, `size` counts its entries, `added` are the added tokens in file order.

    `parts` are those around the vocabulary, `merges` those of a BPE model, as text, `lists_added` whether there is a key added_tokens, `scored` whether
    the vocabulary is a list of scores.
    """

    vocab: dict[str, int]
    size: int
    added: tuple[AddedToken, ...]
    parts: Pipeline = Pipeline()
    merges: Merges | None = None
    lists_added: bool = True
    scored: bool = False

    @property
    def pad_token(self) -> str:
        """The token that a saved padding block names: it holds the role where no other file gives it one."""
        block = self.parts.padding
        named = cast("dict[str, Any]", block).get("pad_token") if isinstance(block, dict) else None
        return named if isinstance(named, str) else ""

    @cached_property
    def pieces(self) -> dict[int, str]:
        """The piece of every id of the vocabulary."""
        return {number: piece for piece, number in self.vocab.items()}

    @cached_property
    def _holding(self) -> dict[str, tuple[int, ...]]:
        return {}

    def holding(self, text: str) -> tuple[int, ...]:
        """The ids of the pieces that contain a text, looked for once, whoever shares the file."""
        if text not in self._holding:
            self._holding[text] = tuple(number for piece, number in self.vocab.items() if text in piece)
        return self._holding[text]

    @cached_property
    def ids(self) -> frozenset[int]:
        """The ids of the vocabulary."""
        return frozenset(self.vocab.values())

    @cached_property
    def largest(self) -> int:
        """The largest id of the vocabulary, -1 for an empty one."""
        return max(self.ids, default=-1)

    @cached_property
    def stray_merge(self) -> str:
        """Why the library refuses the merges, "" when it does not. Worked out on demand: it takes longer than reading the file."""
        return stray_merge(self.merges, self.vocab) if self.merges is not None else ""


class NotTokenizer(msgspec.Struct, frozen=True):
    """Why a file called tokenizer.json does not hold a tokenizer of the `tokenizers` library, and the pointer of what is wrong."""

    reason: str
    pointer: str = ""

    @property
    def message(self) -> str:
        """The same, as a clause that follows the name of the file."""
        return f"is no tokenizer that the tokenizers library loads: {self.reason}"


def read(content: bytes) -> TokenizerFile | NotTokenizer:
    """Read a tokenizer.json; what msgspec refuses (NaN, a byte order mark, a missing flag) the library refuses as well.

    A vocabulary is an object (BPE, WordPiece, WordLevel) or, for Unigram, a list of [piece, score] whose place is the id.
    """
    try:
        parsed = msgspec.json.decode(content, type=_File)
    except msgspec.ValidationError as error:
        return _refused(content, error)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return NotTokenizer(str(error))
    if lack := parsed.model.lack():
        return NotTokenizer(lack, "/model/vocab" if lack.startswith("vocab") else "/model")
    vocab = parsed.model.vocab
    lists_added = parsed.added_tokens is not msgspec.UNSET
    entries = parsed.added_tokens or []
    added = tuple(AddedToken(**msgspec.structs.asdict(entry)) for entry in entries)
    model = parsed.model
    kind = None if model.type is msgspec.UNSET else model.type
    options = {name: getattr(model, name) for name in Options.__struct_fields__} | {"type": kind}
    parts = Pipeline(**{name: getattr(parsed, name) for name in _PARTS}, model=Options(**options))
    bpe = kind == "BPE" or (kind is None and bool(bytes(model.merges)))
    prefix = model.continuing_subword_prefix not in (msgspec.UNSET, None, "")
    merges = Merges(model.merges, certain=kind is not None, prefix=prefix) if bpe else None
    if isinstance(vocab, list):
        vocab = {piece: number for number, (piece, _) in enumerate(vocab)}
        return TokenizerFile(
            vocab, len(cast("list[Any]", model.vocab)), added, parts, merges, lists_added=lists_added, scored=True
        )
    return TokenizerFile(vocab, len(vocab), added, parts, merges, lists_added=lists_added)


def _refused(content: bytes, error: msgspec.ValidationError) -> NotTokenizer:
    """What a file lacks; the model first, without which it is no tokenizer whatever else is wrong, and the token of a wrong id."""
    try:
        whole: Any = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as broken:
        return NotTokenizer(str(broken))
    if isinstance(whole, dict):
        model = cast("dict[str, Any]", whole).get("model", msgspec.UNSET)
        if model is msgspec.UNSET:
            return NotTokenizer("the file has no 'model'")
        if isinstance(model, dict) and "...]" in str(error):
            vocab: Any = cast("dict[str, Any]", model).get("vocab")
            for token, number in cast("dict[str, Any]", vocab).items() if isinstance(vocab, dict) else ():
                try:
                    msgspec.convert(number, _Id)
                except msgspec.ValidationError as wrong:
                    return NotTokenizer(words(wrong, f"the id of {token!r} in its vocabulary"), pointer("model", "vocab", token))
    return NotTokenizer(words(error), misfit.pointer(error))


def number(
    file: TokenizerFile, added: tuple[AddedToken, ...], taken: dict[str, int] | None = None, *, one_by_one: bool = False
) -> dict[str, int]:
    """Ids of added tokens as the `tokenizers` library assigns them when they are handed over at once; `taken` are those assigned before.

    A content that is a piece of the vocabulary keeps that id. Any other follows the number of vocabulary entries, or the highest id that an
    added token has where that is not below it: as it stands before these are added, or `one_by_one` before each, which differs only for a
    vocabulary with holes (run: 0.22.2 and 0.23.3; 0.20.3 goes one by one). Declared ids are ignored, an empty content is skipped.
    """
    ids = dict(taken or {})
    following = max(file.size, max(ids.values(), default=-1) + 1)
    for token in added:
        if token.content and token.content not in ids:
            known = file.vocab.get(token.content)
            ids[token.content] = following if known is None else known
            if known is None or one_by_one:
                following = max(following, ids[token.content] + 1)
    return ids


def is_tokenizer(value: Any) -> bool:
    """Whether a parsed tokenizer.json has the shape of the `tokenizers` library (a Keras export has not)."""
    return isinstance(value, dict) and isinstance(cast("dict[str, Any]", value).get("model"), dict)
