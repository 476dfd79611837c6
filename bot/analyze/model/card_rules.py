"""What the Hub refuses in the metadata of a model card, as far as its answers to pushes are published.

Sources: the Hub's own card specification (huggingface/hub-docs modelcard.md), ModelCardData of huggingface_hub 2.4.0, and the refusals in public issues:
huggingface/transformers 13528 (null entries), huggingface/huggingface_hub 1927 and 4218 (model-index, the list of licenses of May 2026),
ostris/ai-toolkit 260 (widget), huu4ontocord/MDEL 34 (model-index), espnet/espnet_model_zoo 102 (language, empty keys, data sets in prose).
"""

import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from bot.analyze.model.repository_id import is_id
from bot.analyze.wording import value

_LICENSES = frozenset(
    [
        "apache-2.0",
        "mit",
        "openrail",
        "bigscience-openrail-m",
        "creativeml-openrail-m",
        "bigscience-bloom-rail-1.0",
        "bigcode-openrail-m",
        "afl-3.0",
        "artistic-2.0",
        "bsl-1.0",
        "bsd",
        "bsd-2-clause",
        "bsd-3-clause",
        "bsd-3-clause-clear",
        "c-uda",
        "cc",
        "cc0-1.0",
        "cc-by-2.0",
        "cc-by-2.5",
        "cc-by-3.0",
        "cc-by-4.0",
        "cc-by-sa-3.0",
        "cc-by-sa-4.0",
        "cc-by-nc-2.0",
        "cc-by-nc-3.0",
        "cc-by-nc-4.0",
        "cc-by-nd-4.0",
        "cc-by-nc-nd-3.0",
        "cc-by-nc-nd-4.0",
        "cc-by-nc-sa-2.0",
        "cc-by-nc-sa-3.0",
        "cc-by-nc-sa-4.0",
        "cdla-sharing-1.0",
        "cdla-permissive-1.0",
        "cdla-permissive-2.0",
        "wtfpl",
        "ecl-2.0",
        "epl-1.0",
        "epl-2.0",
        "etalab-2.0",
        "eupl-1.1",
        "eupl-1.2",
        "agpl-3.0",
        "gfdl",
        "gpl",
        "gpl-2.0",
        "gpl-3.0",
        "lgpl",
        "lgpl-2.1",
        "lgpl-3.0",
        "isc",
        "h-research",
        "intel-research",
        "lppl-1.3c",
        "ms-pl",
        "apple-ascl",
        "apple-amlr",
        "mpl-2.0",
        "odc-by",
        "odbl",
        "openmdw-1.0",
        "openrail++",
        "osl-3.0",
        "postgresql",
        "ofl-1.1",
        "ncsa",
        "unlicense",
        "zlib",
        "pddl",
        "lgpl-lr",
        "deepfloyd-if-license",
        "fair-noncommercial-research-license",
        "llama2",
        "llama3",
        "llama3.1",
        "llama3.2",
        "llama3.3",
        "llama4",
        "grok2-community",
        "gemma",
        "unknown",
        "other",
    ]
)
_LISTS = ("tags", "widget", "model-index")  # nothing but a list will do
_TEXTS = ("tags", "datasets", "language", "license", "base_model")  # whose items are texts
_PLAIN = ("pipeline_tag", "library_name", "license_name", "license_link", "base_model_relation")  # one text


class Refusal(msgspec.Struct, frozen=True):
    """A field that the Hub refuses: the field, the path to what is wrong in it, a clause for people."""

    field: str
    path: tuple[object, ...]
    message: str


def refusals(fields: dict[str, Any]) -> Iterator[Refusal]:
    """What is wrong with the fields of a card."""
    for name in dict.fromkeys((*_LISTS, *_TEXTS, "metrics")):
        if name in fields:
            yield from _field(name, fields[name])
    for name in _PLAIN:
        if name in fields and fields[name] is not None and not isinstance(fields[name], str):
            yield Refusal(name, (name,), f"{value(name)} is {_kind(fields[name])}, not a text")
    index = fields.get("model-index")
    if isinstance(index, list):
        yield from _model_index(cast("list[Any]", index))


def _field(name: str, given: Any) -> Iterator[Refusal]:
    if given is None or (name in _LISTS and not isinstance(given, list)) or isinstance(given, dict):
        wanted = "a list" if name in _LISTS else "a text or a list of texts"
        yield Refusal(name, (name,), f"{value(name)} is {_kind(given)}, not {wanted}")
        return
    rows = list(enumerate(cast("list[Any]", given))) if isinstance(given, list) else [(None, given)]
    for i, item in rows:
        path = (name,) if i is None else (name, i)
        where = value(name if i is None else f"{name}[{i}]")
        if item is None or (name in _TEXTS and not isinstance(item, str)):
            yield Refusal(name, path, f"{where} is {_kind(item)}, not a text")
        elif isinstance(item, str) and (why := _unwanted(name, item)):
            yield Refusal(name, path, f"{where} is {value(item)}, {why}")


def _unwanted(name: str, item: str) -> str:
    """Why a text is none that the Hub takes for a field, "" when it may be one."""
    if name == "license" and item.lower() not in _LICENSES:
        return "which is no license that the Hub knows"
    if name == "language" and re.fullmatch(r"[a-z]{2,3}|[a-z-]*-[a-z-]*|code|multilingual|", item) is None:
        return "which is no language code"
    if name in ("base_model", "datasets") and not is_id(item) and "://" not in item:
        return "which is no name of a repository"
    return ""


def _model_index(index: list[Any]) -> Iterator[Refusal]:
    """The results of evaluations: what the specification calls required."""
    for i, model in enumerate(index):
        results: Any = cast("dict[str, Any]", model).get("results") if isinstance(model, dict) else None
        if not isinstance(results, list):
            yield _lacks((i,), "a list of results")
            continue
        for j, result in enumerate(cast("list[Any]", results)):
            row: dict[str, Any] = cast("dict[str, Any]", result) if isinstance(result, dict) else {}
            for part, keys in (("task", ("type",)), ("dataset", ("type", "name"))):
                inner: Any = row.get(part)
                held: dict[str, Any] = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
                yield from (_lacks((i, "results", j), f"{part}.{key}") for key in keys if held.get(key) is None)
            metrics: Any = row.get("metrics")
            rows = cast("list[Any]", metrics) if isinstance(metrics, list) else [None]
            for metric in rows:
                measured: dict[str, Any] = cast("dict[str, Any]", metric) if isinstance(metric, dict) else {}
                yield from (_lacks((i, "results", j), f"metrics.{key}") for key in ("type", "value") if measured.get(key) is None)


def _lacks(path: tuple[object, ...], what: str) -> Refusal:
    where = "model-index" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return Refusal("model-index", ("model-index", *path), f"{value(where)} has no {value(what)}")


def _kind(given: Any) -> str:
    if given is None:
        return "null"
    return {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list", dict: "an object"}[
        type(given)
    ]
