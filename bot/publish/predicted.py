"""The page of `predict` for a terminal: what each engine does with a folder, engines that agree in one row."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from rich import box
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bot.analyze.predictions import Predictions, Row
from bot.publish import words
from bot.publish.answers import FORMATS
from bot.publish.console import rendered, sentence
from bot.publish.escape import quoted, shorten

# What a reader asks, field by field; everything else is for `verbose`.
_ASKED = {
    "loads.config": "config.json",
    "loads.tokenizer": "tokenizer",
    "loads.generation_config": "generation_config.json",
    "stops": "stops on",
    "stops_in_grammar": "may end JSON with",
    "template": "chat template",
    "template.content_format": "content of messages",
    "sampling_defaults": "sampling defaults",
    "max_model_len": "context",
    "dtype": "dtype",
    "quantization": "quantization",
}
_UNTOLD = "cannot be told"
_FAILS = "does not load"
_ABOUT = ("engine", "version", "confidence", "source", "with_remote_code")
_OBJECTS = ("loads", "errors", "template")  # whose keys are fields of their own


class _Answer(NamedTuple):
    engine: str
    field: str
    said: str
    trusted: bool


def predicted(predictions: Predictions, *, color: bool, width: int = 120, verbose: bool = False) -> str:
    """The page in lines of at most `width` columns; `verbose` shows every field."""
    return rendered(_parts(predictions, verbose=verbose), color=color, width=width)


def _parts(predictions: Predictions, *, verbose: bool) -> Iterator[RenderableType]:
    by_folder: dict[str, list[Row]] = {}
    for row in predictions.rows:
        by_folder.setdefault(row.folder, []).append(row)
    if not by_folder:
        yield sentence("There is no model folder in this revision", "bold")
    for folder, rows in by_folder.items():
        yield sentence(words.folder(folder.rstrip("/")) if folder != "." else words.folder("."), "bold")
        shown = [row for row in rows if row.applies or verbose]
        if not shown:
            yield Padding(
                sentence("no engine has business with this folder; a model below it is named by its own path"), (0, 0, 0, 2)
            )
        yield Padding(_table(shown, verbose=verbose), (0, 0, 0, 2))
        if sources := _sources(shown, verbose=verbose):
            yield Padding(sentence("Likely, by source that was read and not run:", "dim"), (0, 0, 0, 2))
            for said in sources:
                yield Padding(sentence(said, "dim"), (0, 0, 0, 4))
        yield Text("")
    for said in words.unread(predictions.unchecked):
        yield Text("not checked: ", end="", style="dim").append_text(sentence(said))
    yield sentence(words.facts(predictions.date), "dim")


def _sources(rows: Iterable[Row], *, verbose: bool) -> list[str]:
    """Where likely answers come from: an engine a line, with the place of its newest version; every place where `verbose`."""
    likely = [row.prediction for row in rows if row.prediction.get("source")]
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for each in likely:
        groups.setdefault(f"{each['engine']} {each['source']}" if verbose else str(each["engine"]), []).append(each)
    every = [_id(row.prediction) for row in rows]
    return [
        f"{words.engines(map(_id, same), every)}: {quoted(shorten(str(same[-1]['source']), 300))}"
        for same in sorted(groups.values(), key=lambda same: words.engine_rank(_id(same[0])))
    ]


def _id(record: Mapping[str, Any]) -> str:
    return f"{record['engine']}@{record['version']}"


def _table(rows: list[Row], *, verbose: bool) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False, show_header=False)
    for _ in range(3):
        table.add_column(overflow="fold")
    for label, said, engines in _lines(rows, verbose=verbose):
        table.add_row(Text(label), sentence(said), sentence(engines))
    return table


def _lines(rows: list[Row], *, verbose: bool) -> Iterator[tuple[str, str, str]]:
    """Question, answer, and the engines that give it; a question is named once, and what cannot be told comes last."""
    every = [_id(row.prediction) for row in rows]
    files = _files(rows)
    answers = [each for row in rows for each in _answers(row, files, verbose=verbose)]
    said = {(each.field, each.said) for each in answers}
    groups: dict[tuple[str, str, bool], list[str]] = {}
    for each in answers:
        # An error without its words is the same error where another engine's rule tells the words.
        fuller = (other for field, other in said if field == each.field and other.startswith(f"{each.said[:-1]}: "))
        told = next(fuller, each.said) if each.said.startswith(f"{_FAILS}: ") else each.said
        groups.setdefault((each.field, told, each.trusted), []).append(each.engine)
    order = list(_ASKED)

    def rank(group: tuple[tuple[str, str, bool], list[str]]) -> tuple[int, str, bool, bool, int]:
        (field, told, trusted), engines = group
        asked = order.index(field) if field in order else len(order)
        return asked, field, trusted, told.startswith(_UNTOLD), min(map(words.engine_rank, engines))

    before = ""
    for (field, told, trusted), engines in sorted(groups.items(), key=rank):
        named = words.engines(engines, every) + (", with `trust_remote_code`" if trusted else "")
        yield ("" if field == before else _ASKED.get(field, field)), told, named
        before = field


def _files(rows: Iterable[Row]) -> dict[str, list[str]]:
    """The files that hold a template, by its digest; not every engine's prediction names the file."""
    files: dict[str, list[str]] = {}
    for row in rows:
        template = row.prediction.get("template")
        said = cast("dict[str, Any]", template) if isinstance(template, dict) else {}
        digest, file = said.get("sha256"), said.get("file")
        if isinstance(digest, str) and isinstance(file, str) and file not in files.setdefault(digest, []):
            files[digest].append(file)
    return files


def _answers(row: Row, files: Mapping[str, Sequence[str]], *, verbose: bool) -> Iterator[_Answer]:
    engine = _id(row.prediction)
    trusted = cast("dict[str, Any]", row.prediction.get("with_remote_code", {}))
    for record, with_trust in ((row.prediction, False), (trusted, True)):
        for field, value in _fields(record):
            if verbose or field in _ASKED:
                told = _said(field, value, record, row.texts)
                if told.startswith(_UNTOLD):  # so that versions that share a reason are one row
                    told = told.replace(f" of {row.prediction['version']} ", " of the release ")
                yield _Answer(engine, field, told, with_trust)
        if not verbose and "template" in record:
            yield _Answer(engine, "template", _template(record["template"], files), with_trust)


def _fields(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        if key in _ABOUT:
            continue
        if key in _OBJECTS and isinstance(value, dict) and "unknown" not in value:
            yield from ((f"{key}.{inner}", each) for inner, each in cast("dict[str, Any]", value).items())
        else:
            yield key, value


def _said(field: str, value: Any, record: Mapping[str, Any], texts: Mapping[str, str]) -> str:
    if isinstance(value, dict) and "unknown" in value:
        return f"{_UNTOLD}: {cast('dict[str, Any]', value)['unknown']}"
    if field.startswith("loads."):
        return _loads(field.partition(".")[2], value, record)
    if field in ("stops", "stops_in_grammar"):
        if value is None:
            return "nothing: it does not load, or has no stop token"
        return words.tokens(cast("list[int]", value), texts) if value else "nothing: no token ends it"
    if field == "sampling_defaults" and isinstance(value, dict):
        return ", ".join(f"{key} {json.dumps(each)}" for key, each in cast("dict[str, Any]", value).items()) or "none"
    if value is None:
        return "none"
    if field == "template.content_format":
        return FORMATS.get(str(value)) or quoted(str(value))
    if field == "max_model_len" and isinstance(value, int):
        return words.plural(value, "token")
    return quoted(shorten(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), 200))


def _loads(step: str, value: Any, record: Mapping[str, Any]) -> str:
    if value is None:
        return "is not there"
    if value:
        return (
            "loads, but empty: it holds nothing but added tokens"
            if step == "tokenizer" and record.get("hollow") is True
            else "loads"
        )
    error: Any = record.get("errors", {}).get(step, {})
    kind, message = (error.get(key) for key in ("type", "message"))
    told = ": ".join(str(part) for part in (kind, message) if isinstance(part, str) and part)
    return f"{_FAILS}: {quoted(shorten(told, 200))}" if told else _FAILS


def _template(template: Any, files: Mapping[str, Sequence[str]]) -> str:
    if not isinstance(template, dict):
        return "none"
    said = cast("dict[str, Any]", template)
    digest, named = said.get("sha256"), said.get("named")
    if isinstance(digest, dict):
        return _said("template.sha256", digest, {}, {})
    names = f" ({', '.join(map(quoted, cast('Iterable[str]', named)))})" if isinstance(named, dict | list) and named else ""
    if digest is None:
        return f"none by default{names}" if names else "none"
    held = files.get(str(digest))
    where = f" of {words.listing([quoted(file) for file in held])}" if held else ""
    return f"sha256 {quoted(words.short(str(digest)))}{where}{names}"
