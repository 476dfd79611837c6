"""One answer of an engine as a clause, with back-ticks around values."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, cast

from bot.analyze.records import EngineChange
from bot.publish import words
from bot.publish.escape import quoted, shorten

_MANY = 6
# How a template gets the content of messages, in words.
FORMATS = {"string": "as text", "openai": "as lists of parts"}


def said(change: EngineChange, answer: Any, texts: Mapping[str, str]) -> str:
    """One of the two answers of a change; `texts` are the strings of token ids."""
    if isinstance(answer, dict) and "unknown" in answer:
        return f"could not be predicted: {cast('dict[str, object]', answer)['unknown']}"
    numbers = ids(answer)
    if change.field == "stops" and (answer is None or numbers is not None):
        return _stops(numbers, texts, {name.partition("@")[0] for name in change.engines})
    if change.field == "stops_in_grammar" and (answer is None or numbers is not None):
        return _stops_in_grammar(numbers, texts)
    if change.field.startswith("loads."):
        return _loads(answer)
    return _setting(change, answer)


def ids(answer: Any) -> list[int] | None:
    """The answer where it is a list of token ids, else None."""
    if not isinstance(answer, list):
        return None
    listed = cast("list[object]", answer)
    numbers = [each for each in listed if isinstance(each, int) and not isinstance(each, bool)]
    return numbers if len(numbers) == len(listed) else None


def failure(errors: Iterable[tuple[Sequence[str], str]]) -> str:
    """What keeps a file from loading: engines with the error that each raises, "" where it is not known.

    A type of error alone stands for the same with its words; engines are named where they do not all raise the same.
    """
    by_error: dict[str, list[str]] = {}
    for engines, why in errors:
        by_error.setdefault(why, []).extend(engines)
    fuller: dict[str, str] = {}
    for why in by_error:
        kind, colon, _ = why.partition(": ")
        if colon:
            fuller.setdefault(kind, why)
    for kind, why in fuller.items():
        if kind and kind in by_error:
            by_error[why].extend(by_error.pop(kind))
    first, *others = sorted(filter(None, by_error), key=lambda why: -len(by_error[why])) or [""]
    if not first:
        return "does not load"
    said = f": {first.partition(': ')[2]}"
    named = [
        f"{_error(why if why == first else why.removesuffix(said))} in {_raising(by_error[why], by_error)}"
        for why in (first, *others[:_MANY])
    ]
    if "" not in by_error:  # nothing is left open, so that the first one goes for all that are not named
        named[0] = _error(first)
    if len(others) > _MANY:
        named.append(f"{len(others) - _MANY} more in others")
    return f"does not load: {'; '.join(named)}"


def _error(why: str) -> str:
    return quoted(shorten(why, 160))


def _raising(engines: Sequence[str], by_error: Mapping[str, Sequence[str]]) -> str:
    """The engines by name, with versions where others of the same engine do not raise that."""
    names = [each.partition("@")[0] for each in engines]
    others = {each.partition("@")[0] for raising in by_error.values() if raising is not engines for each in raising}
    named = [each if name in others else name for each, name in zip(engines, names, strict=True)]
    return words.listing(words.engine_rows(named, ()))


def _loads(answer: Any) -> str:
    if answer is None:
        return "is not there"
    if isinstance(answer, bool):
        return "loads" if answer else "does not load"
    return words.value(answer)


def _setting(change: EngineChange, answer: Any) -> str:
    match change.field, answer:
        case "hollow", bool():
            return "loads, but empty: it holds nothing but added tokens" if answer else "loads"
        case "template.sha256", None:
            return "has none"
        case "template.sha256", str():
            return f"reads {quoted(words.short(answer))}{_file(change, answer)}"
        case "template.content_format", str():
            return FORMATS.get(answer) or quoted(answer)
        case "sampling_defaults", dict():
            return _differing(cast("dict[str, object]", answer), change)
        case "max_model_len", int():
            return words.plural(answer, "token")
        case "quantization", None:
            return "not quantized"
        case _:
            return words.value(answer)


def _file(change: EngineChange, answer: str) -> str:
    """The file that holds the template, where all of the engines take it from the same."""
    if change.before == change.after:
        return ""
    revision = "base" if answer == change.before else "head"
    files = {place.path for place in change.because if place.revision == revision}
    return f" of {quoted(files.pop())}" if len(files) == 1 else ""


def _differing(answer: Mapping[str, object], change: EngineChange) -> str:
    """The settings that the other side does not have so."""
    other = change.after if answer is change.before else change.before
    known = cast("dict[str, object]", other) if isinstance(other, dict) else {}
    told = [(key, each) for key, each in answer.items() if key not in known or known[key] != each]
    shown = [f"{key} {words.value(each)}" for key, each in told[:_MANY]]
    return ", ".join([*shown, *([f"{len(told) - _MANY} more"] if len(told) > _MANY else [])]) or "none of these"


def _stops(numbers: Sequence[int] | None, texts: Mapping[str, str], engines: Container[str]) -> str:
    if numbers is not None:
        return f"stops on {words.tokens(numbers, texts)}" if numbers else "never stops by token"
    if "transformers" in engines:
        return "has no stop token, or does not load"
    return "does not load, or breaks at the first token" if "webllm" in engines else "does not load"


def _stops_in_grammar(numbers: Sequence[int] | None, texts: Mapping[str, str]) -> str:
    if numbers is None:
        return "does not load"
    return f"may end a JSON answer only with {words.tokens(numbers, texts)}" if numbers else "can never end a JSON answer"
