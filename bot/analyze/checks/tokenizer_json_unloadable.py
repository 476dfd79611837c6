"""The tokenizers library refuses tokenizer.json."""

import re
from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.document import Document
from bot.analyze.model.folder import Model
from bot.analyze.model.tokenizer_file import NotTokenizer, is_tokenizer
from bot.analyze.model.tokenizer_parts import lists_added_tokens
from bot.analyze.model.tokens import refusal, tokenizer_file
from bot.analyze.wording import value
from bot.answer import Known

_FILE, _CONFIG = "tokenizer.json", "tokenizer_config.json"
CHECK = Check(
    title="tokenizer.json cannot be loaded",
    says="breaks the tokenizer",
    sees="a tokenizer.json that is valid JSON and that the `tokenizers` library refuses: an unknown key or component, an option that is missing or of a wrong type, "
    "an added token without all of its flags, a merge that the vocabulary lacks; or one that transformers cannot load, because neither it nor tokenizer_config.json lists added tokens",
    why="Every engine that loads the file with the `tokenizers` library fails to start (0.23.3, run). "
    "transformers 5 may still load it with a tokenizer class that builds its own pipeline, such as Qwen2Tokenizer.",
    fix="Load the file with the `tokenizers` library and save it again, and do not edit it by hand.",
    wrong_when="the file is no JSON or a Git LFS pointer, which other checks tell, or belongs to another tool, such as Keras",
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
    pointer, why = "", ""
    if isinstance(file.value, NotTokenizer):
        pointer, why = _pointed(file.value.message) if _is_tokenizer(model) else ("", "")
    else:
        pointer, why = refusal(model) or ("", "")
    if why:
        yield Seen(
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


def _is_tokenizer(model: Model) -> bool:
    """Whether the file is JSON and has the shape of the library's, so that it is a broken one and not a file of another tool."""
    document = model.document(_FILE)
    return isinstance(document, Known) and isinstance(document.value, Document) and is_tokenizer(document.value.value)


def _pointed(message: str) -> tuple[str, str]:
    """The reason, and the JSON pointer of the value that it speaks of ("… - at `$.added_tokens[2].id`")."""
    reason = message.rpartition("library loads: ")[2]
    reason, _, path = reason.partition(" - at `$")
    if "..." in path:
        return "", reason
    return re.sub(r"\[(\d+)\]|\.(\w+)", lambda found: f"/{found[1] or found[2]}", path.rstrip("`")), reason
