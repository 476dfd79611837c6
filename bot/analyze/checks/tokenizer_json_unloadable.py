"""The tokenizers library refuses tokenizer.json."""

from collections.abc import Iterator
from typing import Any

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.document import Document
from bot.analyze.model.folder import Model
from bot.analyze.model.tokenizer_file import NotTokenizer, TokenizerFile, is_tokenizer
from bot.analyze.model.tokenizer_parts import lists_added_tokens
from bot.analyze.model.tokens import needs_remote_code, panics, refusal, tokenizer_file
from bot.analyze.wording import value
from bot.answer import Known

_FILE, _CONFIG = "tokenizer.json", "tokenizer_config.json"
# Keys of a tokenizer_config.json that transformers writes; any one of them tells that the folder is loaded with it.
_OF_TRANSFORMERS = frozenset(["tokenizer_class", "added_tokens_decoder", "model_max_length", "clean_up_tokenization_spaces"])
CHECK = Check(
    title="tokenizer.json cannot be loaded",
    says="breaks the tokenizer",
    sees="a tokenizer.json that is valid JSON and that the `tokenizers` library refuses: no model, an unknown key or component, an option that is missing or of a wrong type, "
    "an added token without all of its flags, a merge that the vocabulary lacks; or one that transformers cannot load, because neither it nor tokenizer_config.json lists added tokens",
    why="Every engine that loads the file with the `tokenizers` library fails to start (0.23.3, run). "
    "transformers 5 may still load it with a tokenizer class that builds its own pipeline, such as Qwen2Tokenizer.",
    fix="Load the file with the `tokenizers` library and save it again, and do not edit it by hand.",
    wrong_when="the file is no JSON or a Git LFS pointer, which other checks tell, or belongs to another tool: it has no model and is one of Keras, or nothing in the folder says that a tokenizer is loaded from it",
    severity="error",
    weighed="Certain: every reason was compared with what the library does for generated files; the two real files that are refused do not load with it either.",
)


def find(model: Model) -> Iterator[Seen]:
    """Read the file as strictly as the library does. One that is equal in both revisions is no news, and reading it takes long."""
    file = tokenizer_file(model)
    if not isinstance(file, Known):
        return
    if not isinstance(file.value, NotTokenizer) and not file.value.added:
        yield from _unlisted(model)
    if _FILE in model.settled:
        return
    if isinstance(file.value, NotTokenizer):
        if _meant(model):
            yield _refused(model, file.value.pointer, file.value.reason)
    elif why := refusal(model) or panics(model):
        yield _refused(model, *why)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """A file that was one of the library's and is none any more, in a folder that shows no other sign of it."""
    before, after = tokenizer_file(base), tokenizer_file(head)
    if (
        isinstance(before, Known)
        and isinstance(before.value, TokenizerFile)
        and isinstance(after, Known)
        and isinstance(after.value, NotTokenizer)
        and _document(head) is not None
        and not _of_keras(head)
    ):
        yield _refused(head, after.value.pointer, after.value.reason)


def _refused(model: Model, pointer: str, why: str) -> Seen:
    return Seen(
        key=_FILE,
        title=f"The {value('tokenizers')} library cannot work with {value(_FILE)}: {value(why.replace('`', chr(39)))}",
        places=(model.place(_FILE, pointer),),
    )


def _unlisted(model: Model) -> Iterator[Seen]:
    """A file without the list of added tokens, which transformers then wants from tokenizer_config.json (tokenization_utils_base.py:1948 in 5.24.0, run)."""
    listed = model.parsed(_FILE, lists_added_tokens)
    known = _CONFIG not in model.files or model.readable(_CONFIG)
    if isinstance(listed, Known) and not listed.value and known and "added_tokens_decoder" not in model.mapping(_CONFIG):
        yield Seen(
            key="added_tokens",
            title=f"{value(_FILE)} has no {value('added_tokens')} and {value(_CONFIG)} no {value('added_tokens_decoder')}: transformers cannot load it",
            detail="transformers raises `KeyError: 'added_tokens'` (4.46.3 to 5.24.0, run), and with it vLLM and sglang do not start.",
            fix='Write `"added_tokens": []`, or the list of the added tokens.',
            places=(model.place(_FILE),),
            engines=("transformers", "vllm", "sglang"),
        )


def _meant(model: Model) -> bool:
    """Whether the file is JSON and meant for the library, so that it is a broken one and not a file of another tool.

    It has the library's shape, or the folder loads its tokenizer with it: tokenizer_config.json is one of transformers, or MLC lists the file.
    """
    document = _document(model)
    if document is None or is_tokenizer(document.value):
        return document is not None
    files: Any = model.mapping("mlc-chat-config.json").get("tokenizer_files")
    told = not _OF_TRANSFORMERS.isdisjoint(model.mapping(_CONFIG)) or (isinstance(files, list) and _FILE in files)
    return told and not _of_keras(model) and not needs_remote_code(model)


def _document(model: Model) -> Document | None:
    document = model.document(_FILE)
    return document.value if isinstance(document, Known) and isinstance(document.value, Document) else None


def _of_keras(model: Model) -> bool:
    """Whether it is what Keras or KerasHub writes under the same name: class_name and config."""
    document = _document(model)
    return document is not None and document.mapping.keys() >= {"class_name", "config"}
