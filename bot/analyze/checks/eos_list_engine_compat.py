"""An EOS id that was a number became a list."""

from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.tokenizer_file import NotTokenizer, TokenizerFile
from bot.analyze.model.tokens import tokenizer_file
from bot.analyze.wording import value
from bot.answer import Known, Unknown

CHECK = Check(
    title="eos_token_id became a list, which some native engines cannot read",
    says="writes the EOS id as a list, which some older engines cannot read",
    sees="an eos_token_id that is a number in base and a list in head: of `mlc-chat-config.json`, or of config.json where the tokenizer files do not give the converter of "
    "llama.cpp an EOS",
    why="Engines of that file that take a number only refuse a list or ignore it.",
    fix="Keep a number if users of those engines matter, and list the other ids in `generation_config.json`.",
    wrong_when="it was a list before, tokenizer_config.json names an EOS that tokenizer.json has among its added tokens, or only generation_config.json changes, where every engine takes a list",
    severity="note",
    weighed="A list is the usual form today and current engines read it, so it is worth knowing only; the one real change seen adds an id in a folder without tokenizer.json.",
)

# mlc-llm of February and March 2024: pull 1815 reads the key, issue 1924 shows the check fail.
_MLC = "MLC-LLM of early 2024 checks for a number and aborts at load (mlc-ai/mlc-llm#1924); newer versions and WebLLM take both."
# gguf-py of llama.cpp 0c1e57098, vocab.py:149 (read); exllamav2 01ce7bb, config.py:163 raises for a list, 7532969 takes its first id (read).
_CONFIG = "The converter of llama.cpp ignores a list here, and then has no EOS (gguf-py vocab.py:149, read); exllamav2 raises TypeError or takes the first id only."


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare the shapes."""
    yield from _compared(base, head, "mlc-chat-config.json", ("mlc-llm (early 2024)",), _MLC)
    if _converter_needs_config(head):
        yield from _compared(base, head, "config.json", ("llama.cpp", "exllamav2"), _CONFIG)


def _compared(base: Model, head: Model, name: str, engines: tuple[str, ...], why: str) -> Iterator[Seen]:
    before: Any = base.mapping(name).get("eos_token_id")
    after: Any = head.mapping(name).get("eos_token_id")
    if isinstance(before, int) and not isinstance(before, bool) and isinstance(after, list):
        yield Seen(
            key=name,
            title=f"{value('eos_token_id')} of {value(name)} was {value(before)} and is now the list {value(after)}",
            detail=why,
            places=(head.place(name, "/eos_token_id"),),
            engines=engines,
        )


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
