"""An EOS id that was a number became a list."""

from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.eos import TEXT_CONFIGS
from bot.analyze.model.folder import Model
from bot.analyze.model.pointers import pointer
from bot.analyze.model.tokenizer_file import NotTokenizer, TokenizerFile
from bot.analyze.model.tokens import tokenizer_file
from bot.analyze.wording import value
from bot.answer import Known, Unknown

CHECK = Check(
    title="eos_token_id became a list, which some native engines cannot read",
    says="writes the EOS id as a list, which some older engines cannot read",
    sees="an eos_token_id that is a number in base and a list in head: of `mlc-chat-config.json`, config.json (or its text configuration) or `generation_config.json`",
    why="Engines of that file that take a number only refuse a list or take its first id.",
    fix="Keep a number where one id is enough and users of those engines matter.",
    wrong_when="it was a list before, only gets longer or shorter, or the key is new",
    severity="note",
    cause="the EOS id became a list",
    weighed="A list is the usual form today and current engines read it, so it is worth knowing only; the real changes seen add ids that generation needs.",
)

# mlc-llm of February and March 2024: pull 1815 reads the key, issue 1924 shows the check fail.
_MLC = "MLC-LLM of early 2024 checks for a number and aborts at load (mlc-ai/mlc-llm#1924); newer versions and WebLLM take both."
# exllamav2 01ce7bb, config.py:163 raises for a list (issue 566), 7532969 takes its first id (read).
_CONFIG = "exllamav2 of before July 2024 raises TypeError (turboderp-org/exllamav2#566), newer versions take the first id only."
# gguf-py of llama.cpp 0c1e57098, vocab.py:149 (read).
_CONVERTER = " The converter of llama.cpp ignores a list here, and then has no EOS (gguf-py vocab.py:149, read)."
_GENERATION = (
    "Bumblebee 0.5 (elixir-nx/bumblebee#367) and optimum-neuron of before May 2024 (huggingface/optimum-neuron#580) refuse a list; "
    "transformers, vLLM and sglang take both."
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare the shapes; config.json is told once, with its text configuration."""
    yield from _compared(base, head, "mlc-chat-config.json", ((),), ("mlc-llm (early 2024)",), _MLC)
    needed = _converter_needs_config(head)
    paths = ((), *((key,) for key in TEXT_CONFIGS))
    config = ("llama.cpp", "exllamav2") if needed else ("exllamav2",)
    yield from _compared(base, head, "config.json", paths, config, _CONFIG + (_CONVERTER if needed else ""))
    yield from _compared(base, head, "generation_config.json", ((),), ("bumblebee", "optimum-neuron"), _GENERATION)


def _compared(
    base: Model, head: Model, name: str, paths: tuple[tuple[str, ...], ...], engines: tuple[str, ...], why: str
) -> Iterator[Seen]:
    rows = [(path, _stated(base, name, path), _stated(head, name, path)) for path in paths]
    rows = [row for row in rows if isinstance(row[1], int) and not isinstance(row[1], bool) and isinstance(row[2], list)]
    if rows:
        path, before, after = rows[0]
        yield Seen(
            key=name,
            title=f"{value('.'.join((*path, 'eos_token_id')))} of {value(name)} was {value(before)} and is now the list {value(after)}",
            detail="" if path else why,
            places=tuple(head.place(name, pointer(*path, "eos_token_id")) for path, _, _ in rows),
            engines=("native readers",) if path else engines,
        )


def _stated(model: Model, name: str, path: tuple[str, ...]) -> Any:
    found: Any = model.mapping(name)
    for part in (*path, "eos_token_id"):
        found = cast("dict[str, Any]", found).get(part) if isinstance(found, dict) else None
    return found


def _converter_needs_config(model: Model) -> bool:
    """Whether the tokenizer files leave the EOS to config.json: it takes the text of tokenizer_config.json from the added tokens of tokenizer.json."""
    file = tokenizer_file(model)
    if isinstance(file, Unknown) or (isinstance(file, Known) and isinstance(file.value, NotTokenizer)):
        return False
    added = (
        {token.content for token in file.value.added}
        if isinstance(file, Known) and isinstance(file.value, TokenizerFile)
        else set[str]()
    )
    stated: Any = model.mapping("tokenizer_config.json").get("eos_token")
    text = cast("dict[str, Any]", stated).get("content") if isinstance(stated, dict) else stated
    unread = model.has("tokenizer_config.json") and not model.readable("tokenizer_config.json")
    return not unread and not (isinstance(text, str) and text in added)
