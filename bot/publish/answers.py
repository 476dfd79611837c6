"""One answer of an engine as a clause, with back-ticks around values."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from bot.analyze.records import EngineChange
from bot.publish import words
from bot.publish.escape import quoted

_FORMATS = {"string": "as text", "openai": "as lists of parts"}


def said(change: EngineChange, answer: Any, texts: Mapping[str, str], why: str = "") -> str:
    """One of the two answers of a change; `texts` are the strings of token ids, `why` is the error of what does not load."""
    if isinstance(answer, dict) and "unknown" in answer:
        return f"could not be predicted: {cast('dict[str, object]', answer)['unknown']}"
    numbers = ids(answer)
    if change.field == "stops" and (answer is None or numbers is not None):
        return _stops(numbers, texts, generates=all(name.startswith("transformers@") for name in change.engines))
    if change.field == "stops_in_grammar" and (answer is None or numbers is not None):
        return _stops_in_grammar(numbers, texts)
    if change.field.startswith("loads."):
        return _loads(answer, why)
    return _setting(change, answer)


def ids(answer: Any) -> list[int] | None:
    """The answer where it is a list of token ids, else None."""
    if not isinstance(answer, list):
        return None
    listed = cast("list[object]", answer)
    numbers = [each for each in listed if isinstance(each, int) and not isinstance(each, bool)]
    return numbers if len(numbers) == len(listed) else None


def _loads(answer: Any, why: str) -> str:
    if answer is None:
        return "is not there"
    if isinstance(answer, bool):
        return "loads" if answer else f"does not load: {quoted(why)}" if why else "does not load"
    return words.value(answer)


def _setting(change: EngineChange, answer: Any) -> str:
    match change.field, answer:
        case "hollow", bool():
            return "loads, but empty: it holds nothing but added tokens" if answer else "loads"
        case "template.sha256", None:
            return "has none"
        case "template.sha256", str():
            return f"reads {quoted(words.short(answer))}"
        case "template.content_format", str():
            return _FORMATS.get(answer) or quoted(answer)
        case "sampling_defaults", dict():
            return _differing(cast("dict[str, object]", answer), change)
        case "max_model_len", int():
            return words.plural(answer, "token")
        case "quantization", None:
            return "not quantized"
        case _:
            return words.value(answer)


def _differing(answer: Mapping[str, object], change: EngineChange) -> str:
    """The settings that the other side does not have so."""
    other = change.after if answer is change.before else change.before
    known = cast("dict[str, object]", other) if isinstance(other, dict) else {}
    told = [f"{key} {words.value(each)}" for key, each in answer.items() if key not in known or known[key] != each]
    return ", ".join(told) or "none of these"


def _stops(numbers: Sequence[int] | None, texts: Mapping[str, str], *, generates: bool) -> str:
    if numbers is None:
        return "has no stop token, or does not load" if generates else "does not load"
    return f"stops on {words.tokens(numbers, texts)}" if numbers else "never stops by token"


def _stops_in_grammar(numbers: Sequence[int] | None, texts: Mapping[str, str]) -> str:
    if numbers is None:
        return "does not load"
    return f"may end a JSON answer only with {words.tokens(numbers, texts)}" if numbers else "can never end a JSON answer"
