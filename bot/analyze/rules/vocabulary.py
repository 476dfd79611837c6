"""The vocabulary that a tokenizer class of transformers starts with, and the added tokens that come with it.

Source: tokenization_utils_fast.py and convert_slow_tokenizer.py of 4.46.3 and 4.57.6; tokenization_utils_tokenizers.py,
tokenization_utils_base.py (from_pretrained) and convert_slow_tokenizer.py of 5.0.0 to 5.24.0, read and run. sentencepiece, protobuf and tiktoken
are taken to be installed, mistral-common not.
"""

import re
from collections.abc import Mapping

import msgspec

from bot.analyze.model import sentencepiece, tiktoken
from bot.analyze.model.components import PANICS
from bot.analyze.model.document import Document
from bot.analyze.model.folder import Model, fact
from bot.analyze.model.merges import stray_line, taken_merge
from bot.analyze.model.stated import RefusedError, Stated, json_error
from bot.analyze.model.tokenizer_classes import FILE, ClassRow
from bot.analyze.model.tokenizer_file import AddedToken, NotTokenizer, TokenizerFile
from bot.analyze.model.tokens import refusal, tokenizer_file, unjudged
from bot.analyze.tables import parts
from bot.answer import Known, Missing, Unknown

_FILE = "tokenizer.json"
_TABLES = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
_SLOW = ("LlamaTokenizerFast", "T5TokenizerFast", "MT5TokenizerFast")
_LLAMA = ("LlamaTokenizer", "LlamaTokenizerFast")
# Without tokenizer.json, files of these names are looked for, whatever the class says; tiktoken.model from 5.3 on.
_OTHERS = (re.compile(r"tekken\.json|tokenizer\.model\.*"), re.compile(r"tekken\.json|tokenizer\.model\.*|tiktoken\.model"))


class Start(msgspec.Struct, frozen=True):
    """The vocabulary that the tokenizer starts with, and the added tokens that come with it.

    `minimal` are the entries of a class without any vocabulary, roles by their name. `pieces` are those of a SentencePiece model that become
    special tokens, `roles` the strings of roles that come with the vocabulary.
    """

    file: TokenizerFile
    added: tuple[AddedToken, ...] = ()
    hollow: bool = False
    minimal: tuple[str, ...] = ()
    pieces: tuple[AddedToken, ...] = ()
    roles: Mapping[str, str] = {}


def listed(model: Model, *, read: bool) -> tuple[AddedToken, ...]:
    """The tokens of tokenizer.json; where the library `read`s the list itself, for lack of added_tokens_decoder, it raises RefusedError as the library does."""
    file = tokenizer_file(model)
    if isinstance(file, Known) and isinstance(file.value, TokenizerFile):
        if read and not file.value.lists_added:
            raise RefusedError(
                "tokenizer.json has no list added_tokens, and tokenizer_config.json no added_tokens_decoder", "KeyError"
            )
        return file.value.added
    if read and isinstance(file, Known):
        document = model.document(_FILE)
        if isinstance(document, Known) and not isinstance(document.value, Document):
            raise RefusedError(f"tokenizer.json {document.value.message}", json_error(document.value))
        if isinstance(document, Known) and isinstance(document.value, Document):
            whole = document.value.value
            if not isinstance(whole, dict):
                raise RefusedError("tokenizer.json is no object", "TypeError" if isinstance(whole, list) else "AttributeError")
            if "added_tokens" not in whole:
                raise RefusedError(
                    "tokenizer.json has no list added_tokens, and tokenizer_config.json no added_tokens_decoder", "KeyError"
                )
    return ()


def start(model: Model, name: str, row: ClassRow, said: Stated, version: str) -> Start | Unknown:
    """What a class starts with. Raises RefusedError where it refuses the files."""
    file = tokenizer_file(model)
    at = parts(version)
    if isinstance(file, Unknown):
        return Unknown(f"tokenizer.json {file.reason}", file.places)
    if isinstance(file, Missing) or not model.has(_FILE):
        return _without_file(model, name, row, said, at)
    if at < (5,) and name in _SLOW and said.values.get("add_prefix_space") is not None:
        # It is then made from the slow one (models/llama/tokenization_llama_fast.py:155, models/t5/tokenization_t5_fast.py:117 in 4.46.3).
        slow = next(iter(row.files), "")
        if model.has(slow):
            return Unknown(f"{name} is made from {slow} where add_prefix_space is stated, which is not modelled")
        raise RefusedError(f"{name} asks for {slow} where add_prefix_space is stated", "ValueError")
    if isinstance(file.value, NotTokenizer) and len(row.refuses) > 1:
        return Unknown(f"what {name} asks for before it reads tokenizer.json is not modelled")
    begun = (
        _whole(model, file.value, builds=row.kind == "built") if row.kind == "file" or at < (5, 4) else _built(model, file.value)
    )
    kind = "list" if isinstance(begun, Start) and begun.file.scored else "table"
    if isinstance(begun, Start) and kind in row.refuses:
        if not row.refuses[kind]:
            return Unknown(f"{name} refuses most vocabularies that are a {kind}", (model.place(_FILE),))
        raise RefusedError(f"the vocabulary of tokenizer.json is a {kind}, which {name} does not take", row.refuses[kind])
    return begun


def _refused(why: str) -> RefusedError:
    """A panic is an exception of a kind of its own (run)."""
    return RefusedError(
        f"tokenizer.json is refused by the tokenizers library: {why}", "PanicException" if why.endswith(PANICS) else "Exception"
    )


def _whole(model: Model, file: TokenizerFile | NotTokenizer, *, builds: bool) -> Start | Unknown:
    """tokenizer.json as the tokenizers library reads it; classes that build their own pipeline let it read the file as well until 5.4."""
    if isinstance(file, NotTokenizer):
        # transformers walks through the list before it calls the library.
        null = file.pointer == "/added_tokens" and model.mapping(_FILE).get("added_tokens", ()) is None
        raise RefusedError(f"tokenizer.json {file.message}", "TypeError" if null else "Exception")
    if refused := refusal(model):
        raise _refused(refused[1])
    if doubted := unjudged(model):
        return Unknown(f"whether the tokenizers library loads tokenizer.json: {doubted[1]}", (model.place(_FILE, doubted[0]),))
    return Start(file, () if builds else file.added)


def _built(model: Model, file: TokenizerFile | NotTokenizer) -> Start | Unknown:
    """A class that builds its own pipeline takes vocabulary and merges, and lets the library read the rest of the file."""
    if isinstance(file, NotTokenizer):
        if file.pointer.startswith(("/model/", "/added_tokens")):
            return Unknown(f"tokenizer.json {file.message}, of which the class takes only a part", (model.place(_FILE),))
        document = model.document(_FILE)
        if isinstance(document, Known) and not isinstance(document.value, Document):
            raise RefusedError(f"tokenizer.json {document.value.message}", json_error(document.value))
        whole = isinstance(document, Known) and isinstance(document.value, Document) and isinstance(document.value.value, dict)
        odd = whole and not isinstance(model.mapping(_FILE).get("model", {}), dict)
        raise RefusedError(f"tokenizer.json {file.message}", "Exception" if whole and not odd else "AttributeError")
    refused = refusal(model)
    if refused and refused[0] != "/model/merges":
        raise _refused(refused[1])
    if doubted := unjudged(model):
        return Unknown(f"whether the tokenizers library loads tokenizer.json: {doubted[1]}", (model.place(_FILE, doubted[0]),))
    if taken := _stray(model):
        error = "TypeError" if taken.endswith("is no pair") else "Exception"
        raise RefusedError(f"tokenizer.json is refused by the tokenizers library: {taken}", error)
    return Start(file)


@fact
def _stray(model: Model) -> str:
    """What a class that takes the merges over finds wrong with them, "" for nothing."""
    file = tokenizer_file(model)
    read = file.value if isinstance(file, Known) and isinstance(file.value, TokenizerFile) else None
    if read is None or read.merges is None:
        return ""
    # Only merges that are no list are taken in another way than the library takes them, which was looked at before.
    if bytes(read.merges.text).lstrip()[:1] == b"{":
        return taken_merge(read.merges, read.vocab)
    return (
        "" if _FILE in model.settled else read.stray_merge
    )  # as for `refusal`: of a file that stays the same it would be no news


def _without_file(model: Model, name: str, row: ClassRow, said: Stated, at: tuple[int, ...]) -> Start | Unknown:
    if at < (4, 47) and not any(model.has(file) for file in (*row.files, *_TABLES)):
        raise RefusedError("there is no file of a tokenizer", "OSError")
    vocabulary = _vocabulary_file(model, row, at)
    if isinstance(vocabulary, Unknown):
        return vocabulary
    if vocabulary.endswith(".json") and vocabulary.startswith("tekken"):
        return Unknown("the vocabulary of tekken.json is not read")
    if vocabulary.endswith(".model"):
        return _of_model(model, vocabulary, name, row.files, said, at)
    if row.pair and "vocab.json" in row.files and model.has("vocab.json") and model.has("merges.txt"):
        vocab = model.mapping("vocab.json")
        if not vocab or not all(isinstance(i, int) for i in vocab.values()):
            return Unknown("vocab.json could not be read")
        return _stray_merges(model, vocab, at) or Start(TokenizerFile(vocab, len(vocab), ()))
    if any(model.has(key) for key in row.files):
        return Unknown(f"what {name} makes of {' and '.join(key for key in row.files if model.has(key))} is not modelled")
    if row.empty:
        plain = name == "LlamaTokenizerFast" and said.values.get("legacy", True) is False  # it then opens the file by itself
        raise RefusedError("there is no vocabulary file", "TypeError" if plain else row.empty)
    if row.minimal is None:
        return Unknown(f"there is no vocabulary file, and what {name} starts with is not known")
    return Start(TokenizerFile({}, 0, ()), hollow=True, minimal=row.minimal)


def _stray_merges(model: Model, vocab: dict[str, int], at: tuple[int, ...]) -> Unknown | None:
    """Why it is not known what the merges of merges.txt come to; None where they fit. Raises RefusedError where the library does."""
    text = model.text("merges.txt")
    if not isinstance(text, Known):
        return Unknown(f"merges.txt {text.reason if isinstance(text, Unknown) else 'is not there'}", text.places)
    lines = text.value.split("\n")
    headed = lines[0].startswith("#version")
    # 4.x passes over the first and the last line whatever they are (4.57.6 models/gpt2/tokenization_gpt2.py:148).
    plain = not at < (5,) or (headed and lines[-1] == "")
    rows = [line for line in lines[headed:] if line]
    if not plain or any(row.count(" ") != 1 or len(row.split()) != 2 or row.startswith("#version") for row in rows):
        return Unknown("merges.txt has lines that versions read in different ways", (model.place("merges.txt"),))
    if stray := stray_line(rows, vocab):
        raise RefusedError(f"merges.txt is refused by the tokenizers library: {stray}", "Exception")
    return None


def _vocabulary_file(model: Model, row: ClassRow, at: tuple[int, ...]) -> str | Unknown:
    """The name of the vocabulary file that is there, "" for none; of several that may stand in, the order of the folder decides."""
    top = {name.partition("/")[0] for name in model.files if "/" in name or model.has(name)}
    own = next((name for name in row.files if name.endswith((".model", ".json")) and model.has(name)), "")
    if at < (4, 47) or any(_FILE in name for name in top):
        return own
    pattern = _OTHERS[at >= (5, 3)]
    found = {match.group() for name in top for match in pattern.finditer(name)}
    if len(found) > 1:
        return Unknown(f"which of {' and '.join(sorted(found))} is read depends on the order of the folder")
    other = next(iter(found), "")
    return other if model.has(other) else "" if other else own


def _of_model(
    model: Model, vocabulary: str, name: str, own: tuple[str, ...], said: Stated, at: tuple[int, ...]
) -> Start | Unknown:
    """A SentencePiece model or, where it is none, a file of tiktoken."""
    pieces = model.parsed(vocabulary, sentencepiece.read)
    if not isinstance(pieces, Known):
        return Unknown(f"{vocabulary} {pieces.reason if isinstance(pieces, Unknown) else 'is not there'}", pieces.places)
    generic = name in (FILE, "PreTrainedTokenizerFast")
    if at < (5,) and vocabulary not in own:
        return Unknown(f"what {name} makes of {vocabulary} is not modelled", pieces.places)
    if isinstance(pieces.value, sentencepiece.Pieces) and not (vocabulary == "tiktoken.model" and at >= (5, 16)):
        if at < (5,) and generic:
            raise RefusedError(f"{vocabulary} is no file of tiktoken", "ValueError")
        if not generic and name not in _LLAMA:
            return Unknown(f"what {name} makes of {vocabulary} is not modelled", pieces.places)
        return _of_pieces(pieces.value, name, said, at)
    if isinstance(pieces.value, sentencepiece.NotPieces) and not pieces.value.foreign:
        return Unknown(f"{vocabulary} {pieces.value.message}", pieces.places)
    ranks = model.parsed(vocabulary, tiktoken.read)
    if not isinstance(ranks, Known):
        return Unknown(f"{vocabulary} could not be read", ranks.places)
    if isinstance(ranks.value, tiktoken.NotRanks):
        raise RefusedError(f"{vocabulary} is neither a SentencePiece model nor a file of tiktoken", "ValueError")
    if not generic:
        return Unknown(f"what {name} makes of {vocabulary} is not modelled", pieces.places)
    return _of_ranks(ranks.value, said, at)


def _of_ranks(ranks: tiktoken.Ranks, said: Stated, at: tuple[int, ...]) -> Start | Unknown:
    """A tokenizer made of tiktoken's ranks; from 5.19 on (seen 5.15.1 and 5.19.0) declared ids count, and gaps are filled."""
    key = "extra_special_tokens" if at >= (5,) else "additional_special_tokens"
    stated = said.values.get(key) or []
    rows = list(stated) if isinstance(stated, list | dict) else None
    if rows is None or any(not isinstance(row, str) for row in rows):
        return Unknown(f"{key} holds tokens with flags, beside a file of tiktoken")
    if (5,) <= at < (5, 3):
        return Start(_vocabulary(ranks.pieces), roles={"bos_token": "<s>", "eos_token": "</s>"})
    size = len(ranks.pieces)
    names = {i: token.content for i, token in said.declared.items()}
    largest = max(names, default=0)
    if at >= (5, 16) and largest >= size:
        filled = [names.get(i, f"<|reserved_token_{i}|>") for i in range(size, largest + 1)]
        rows = [*filled, *(row for row in rows if row not in filled)]
    added = tuple(AddedToken(str(row), 0, special=True) for row in rows)
    return Start(_vocabulary(ranks.pieces), added)


def _of_pieces(pieces: sentencepiece.Pieces, name: str, said: Stated, at: tuple[int, ...]) -> Start:
    """A tokenizer made of a SentencePiece model alone.

    4.57.6 convert_slow_tokenizer.py:611-627 and the vocabulary of its LlamaConverter; 5.24.0 convert_slow_tokenizer.py:128-156 and
    tokenization_utils_tokenizers.py:305-372.
    """
    texts = dict(enumerate(pieces.texts))
    control = tuple(AddedToken(texts[i], i, special=True) for i in pieces.control)
    user = tuple(AddedToken(texts[i], i, special=False) for i in pieces.user)
    marked = tuple(sorted((*control, *user), key=lambda token: token.id))
    names = {i: token.content for i, token in said.declared.items() if i < len(texts)}
    if at < (5,):
        return Start(_numbered({**texts, **{i: names[i] for i in range(3) if i in names}}), marked)
    if name != FILE:
        return Start(_numbered(texts), pieces=marked)
    if at < (5, 3):
        return Start(_numbered(texts), pieces=marked, roles={"bos_token": "<s>", "eos_token": "</s>"})
    if at < (5, 4):
        return Start(_numbered(texts), pieces=marked, roles=pieces.roles)
    if at < (5, 24):
        found = texts if not said.declared else None if pieces.unigram else _renamed_one_by_one(texts, names)
        if found is None:
            raise RefusedError("names of added_tokens_decoder stand against a vocabulary that is no table", "ValueError")
        return Start(_numbered(found), pieces=marked, roles=pieces.roles)
    kept = {string for i, string in texts.items() if i not in names}
    renamed = {i: string for i, string in names.items() if string not in kept}
    return Start(_numbered({**texts, **renamed}), pieces=control, roles=pieces.roles)


def _renamed_one_by_one(texts: Mapping[int, str], names: Mapping[int, str]) -> dict[int, str]:
    """Pieces that take the name that is declared for their id, unless another piece has it at that time (5.4 to 5.22).

    Raises RefusedError where a piece that merges need is renamed: the file is then taken for one of tiktoken.
    """
    found = dict(texts)
    strings = {string: i for i, string in texts.items()}
    gone: list[str] = []
    for i, string in names.items():
        if found[i] != string and string not in strings:
            gone.append(found[i])
            strings.pop(found[i], None)
            strings[string] = i
            found[i] = string
    before = frozenset(texts.values())
    ends = tuple(gone)
    longer = [piece for piece in before if gone and (piece.startswith(ends) or piece.endswith(ends))]
    if any(
        piece[:i] in before and piece[i:] in before and {piece, piece[:i], piece[i:]} & set(gone)
        for piece in longer
        for i in range(1, len(piece))
    ):
        raise RefusedError("a piece that merges need has another name in added_tokens_decoder", "ValueError")
    return found


def _numbered(texts: Mapping[int, str]) -> TokenizerFile:
    return _vocabulary({string: i for i, string in texts.items()})


def _vocabulary(pieces: dict[str, int]) -> TokenizerFile:
    return TokenizerFile(pieces, len(pieces), ())
