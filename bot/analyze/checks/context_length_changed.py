"""The context that engines take from the files differs from base."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.rules.context import causes, contexts
from bot.analyze.wording import listed
from bot.answer import Known

CHECK = Check(
    title="The usable context length changed",
    says="changes how long a conversation may be",
    sees="the number of tokens that vLLM, sglang, WebLLM or the tokenizer derive from the files (max_position_embeddings and its older names, the rope factor, the window of "
    "mlc-chat-config.json, model_max_length) differs from base",
    why="Servers reserve memory for it and refuse or cut what is longer. vLLM 0.33.0 takes the smallest of several keys, sglang 0.5.23 the first that is there, "
    "and they multiply it by the rope factor under different conditions.",
    fix="Nothing, if the new length is what the model was trained for.",
    wrong_when="the files state the same length in another way, or one side states none that can be read",
    severity="note",
    engines=("vllm", "sglang", "webllm", "transformers"),
    weighed="A note: another length is usually meant. What it derives is what vLLM and sglang recorded for the real repositories it was run over.",
)

_NAMES = {"vllm": "vLLM", "sglang": "sglang", "webllm": "WebLLM", "transformers": "the tokenizer"}


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare each engine with itself; all of it is one finding."""
    before, after = contexts(base), contexts(head)
    changed = [engine for engine in after if engine in before and before[engine].value != after[engine].value]
    if changed:
        servers = {"vllm", "sglang"} & set(changed)
        places = [*causes(head, base), *causes(base, head)] if servers else []
        places += [place for side in (after, before) for engine in changed for place in side[engine].places]
        was, now = (_told(side, changed) for side in (before, after))
        title = f"The context was {was} and is now {now} tokens"
        if changed == ["transformers"]:
            title = f"The tokenizer's limit was {before['transformers'].value} and is now {after['transformers'].value} tokens"
        yield Seen(
            key="context",
            title=title,
            places=tuple(dict.fromkeys(places)),
            engines=tuple(changed),
        )


def _told(contexts: dict[str, Known[int]], engines: list[str]) -> str:
    """The lengths, with the engines that take each of them."""
    by_length: dict[int, list[str]] = {}
    for engine in engines:
        by_length.setdefault(contexts[engine].value, []).append(_NAMES[engine])
    return listed(f"{length} ({listed(names)})" for length, names in by_length.items())
