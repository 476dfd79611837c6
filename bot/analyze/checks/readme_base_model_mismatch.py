"""The model card names another base model than the adapter."""

from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.card import NAME, Card, card
from bot.analyze.model.folder import Model
from bot.analyze.model.repository_id import is_id, named_in_cache, plain
from bot.analyze.wording import listed, value

ADAPTER = "adapter_config.json"
CHECK = Check(
    title="The card names another base model than the configuration",
    says="gives two answers to what the model is based on",
    sees="base_model in the metadata of README.md without the base_model_name_or_path of adapter_config.json, or newly without the _name_or_path of config.json that it named in base",
    why="The Hub files the model under the base model of the card, PEFT loads the other one.",
    fix="Name the same repository in `base_model` and in the configuration.",
    wrong_when="the card lists it among others, in another case or with its address, calls the model no adapter (base_model_relation), or names no base model",
    severity="note",
    weighed="Compared by name alone, so a copy of the base model under another owner is named as well, hence a note; no folder of the corpus holds an adapter, and its one finding about config.json is true.",
)


def find(model: Model) -> Iterator[Seen]:
    """Compare the card with an adapter's configuration."""
    if NAME in model.settled and ADAPTER in model.settled:
        return
    base = model.mapping(ADAPTER).get("base_model_name_or_path")
    read = card(model) if isinstance(base, str) and base.strip() else None
    named = _named(read)
    if read is None or not named or read.fields.get("base_model_relation", "adapter") != "adapter":
        return
    meant = named_in_cache(str(base)) or str(base)
    if plain(meant) not in map(plain, named):
        yield Seen(
            key="base_model",
            title=f"{value('base_model')} of the card is {listed(map(value, named))}, {value(ADAPTER)} says {value(base)}",
            places=(read.place(model, "base_model"), model.place(ADAPTER, "/base_model_name_or_path")),
        )


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare the card with config.json, whose _name_or_path is often any folder: only where both agreed before."""
    if NAME in head.settled or not is_id(_source(base)) or not is_id(_source(head)) or head.has(ADAPTER):
        return
    before, after = card(base), card(head)
    agreed = plain(_source(base)) in map(plain, _named(before))
    named = _named(after)
    if agreed and after is not None and named and plain(_source(head)) not in map(plain, named):
        yield Seen(
            key="config.json",
            title=f"{value('base_model')} of the card is {listed(map(value, named))}, {value('config.json')} says {value(_source(head))}",
            places=(after.place(head, "base_model"), head.place("config.json", "/_name_or_path")),
        )


def _source(model: Model) -> str:
    name = model.mapping("config.json").get("_name_or_path")
    return name if isinstance(name, str) else ""


def _named(read: Card | None) -> list[str]:
    """The base models of a card: a text or a list of texts."""
    named: Any = read.fields.get("base_model") if read else None
    rows = cast("list[Any]", named) if isinstance(named, list) else [named]
    return [row for row in rows if isinstance(row, str) and row.strip()]
