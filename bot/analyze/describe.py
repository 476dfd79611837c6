"""Describe one revision: the answers of `inspect`, gathered from what the model package reads."""

from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.describe_tokens import classes, collisions, loads, plain_markers, rows
from bot.analyze.inspection import Inspection, Page, Said, Turn, said
from bot.analyze.model import eos, mlc, remote_code
from bot.analyze.model.config import holders
from bot.analyze.model.discovery import Pair, pairs
from bot.analyze.model.folder import Model
from bot.analyze.model.quantization import pointer, quantizations, summary
from bot.analyze.model.reader import Reader
from bot.analyze.model.templates import in_force, place_of, sources
from bot.analyze.model.tokens import ROLES, needs_remote_code, role_sources
from bot.analyze.model.turns import turns
from bot.analyze.model.vocabulary import vocabulary_files
from bot.analyze.records import Unchecked, encodable
from bot.analyze.tables import config_eos
from bot.analyze.unread import left_out, unread
from bot.answer import Known, Missing, Unknown
from bot.snapshot import Exchange

_DTYPES = ("dtype", "torch_dtype")
# Model types for which transformers 5 takes tekken.json where mistral-common is installed (models/auto/tokenization_auto.py in 5.24.0).
_TEKKEN = "tekken.json"


def inspect(exchange: Exchange, reader: Reader, left: tuple[Unchecked, ...] = ()) -> Inspection:
    """Describe every model folder of head; `left` is what is already known to be unchecked."""
    models = [pair.head for pair in pairs(exchange, reader) if pair.head is not None]
    unchecked: list[Unchecked] = [*left, *(row for model in models for row in unread(Pair(None, model)))]
    unchecked.extend(left_out(exchange, unchecked))
    return encodable(
        Inspection(
            label=exchange.head.label,
            sha=exchange.head.sha,
            models=tuple(page(model) for model in models),
            unchecked=tuple(dict.fromkeys(unchecked)),
        )
    )


def page(model: Model) -> Page:
    """Everything that a model folder says."""
    tokens = rows(model)
    return Page(
        folder=model.folder,
        loads=loads(model),
        classes=classes(model),
        tokens=tokens,
        collisions=collisions(tokens),
        plain_markers=plain_markers(model, tokens),
        turns=tuple(_turns(model)),
        eos=tuple(_eos(model)),
        disagreements=tuple(_disagreements(model)),
        templates=tuple(_templates(model)),
        quantization=tuple(_quantization(model)),
        remote_code=tuple(_remote_code(model)),
        needs=tuple(_needs(model)),
    )


def _turns(model: Model) -> Iterator[Turn]:
    for turn in turns(model):
        yield Turn(
            template=turn.template.name,
            ends=tuple(turn.ends),
            opens=turn.openers,
            by_role=turn.by_role,
            reason=turn.unknown,
            place=place_of(model, turn.template),
        )


def _eos(model: Model) -> Iterator[Said]:
    """EOS by source, and what generate() and the tokenizer end up with."""
    yield said("generation_config.json", eos.stated(model, "generation_config.json"))
    yield said("config.json", eos.stated(model, "config.json"))
    for path, answer in eos.nested(model).items():
        yield said(f"config.json {path}", answer)
    default = config_eos().get(str(model.mapping("config.json").get("model_type")), {})
    ids = default.get("top", default.get("text"))
    if ids is not None:
        place = (model.place("config.json", "/model_type"),)
        yield said("default of the config class", Known(ids if isinstance(ids, list) else [ids], place))
    for source in role_sources(model):
        value: Any = model.mapping(source).get("eos_token")
        text = cast("dict[str, Any]", value).get("content") if isinstance(value, dict) else value
        place = (model.place(source, "/eos_token" if value is not None else ""),)
        yield said(f"{source} eos_token", Known(text, place) if isinstance(text, str) else Missing(place))
    yield said("the tokenizer's EOS", eos.of_tokenizer(model))
    yield said("what generate() stops on", eos.listed(model))
    if mlc.chats(model):
        stops = mlc.stop_ids(model)
        place = (mlc.conversation_place(model, "stop_token_ids"),)
        yield said("mlc-chat-config.json stop_token_ids", Missing(place) if stops is None else Known(stops, place))


def _templates(model: Model) -> Iterator[Said]:
    """Every chat template, whether it is in force, and sources that could not be read."""
    force = in_force(model)
    for template in sources(model).every:
        hidden = "read by processors only" if template in sources(model).processor else "not read by transformers 4.52 and later"
        used = "in force" if template in force else hidden
        yield Said(
            about=template.name,
            value={"file": template.file, "used": used, "letters": len(template.text)},
            places=(place_of(model, template),),
        )
    for broken in sources(model).unread:
        yield said(broken.places[0].path, broken)


def _quantization(model: Model) -> Iterator[Said]:
    """Every quantization of config.json by its dotted path, with the types of checkpoint and computation."""
    for path, config in quantizations(model).items():
        ignored = next((config[key] for key in ("ignore", "modules_to_not_convert", "ignored_layers") if key in config), None)
        cache = config.get("kv_cache_scheme", config.get("kv_cache_quant_algo"))
        value = {
            "summary": summary(config),
            "ignored": len(cast("list[Any]", ignored)) if isinstance(ignored, list) else 0,
            "kv_cache": cache,
        }
        yield Said(about=path, value=value, places=(model.place("config.json", pointer(path)),))
    for name in ("hf_quant_config.json", "quantize_config.json"):
        if model.has(name):
            stated: Any = model.mapping(name).get("quantization", model.mapping(name))
            known = model.readable(name) and isinstance(stated, dict)
            place = (model.place(name),)
            yield said(name, Known(summary(stated), place) if known else Unknown("it could not be read as an object", place))
    for holder in holders(model):
        for key in _DTYPES:
            if holder.values.get(key) is not None:
                yield Said(
                    about=f"config.json {holder.dotted(key)}", value=holder.values[key], places=(holder.place(model, key),)
                )


def _remote_code(model: Model) -> Iterator[Said]:
    """Every class that an auto_map names, and whether its file is there."""
    for row in remote_code.references(model):
        there = None if row.repository else model.has(row.path)
        value = {"code": row.code, "repository": row.repository or ".", "there": there}
        yield Said(about=f"{row.file} {row.auto_class}", value=value, places=(remote_code.place(model, row),))
    reached = remote_code.reached(model, remote_code.local(remote_code.references(model)))
    if reached:
        yield Said(
            about="files that this code reaches",
            value=sorted(reached),
            places=tuple(model.place(name) for name in sorted(reached)),
        )


def _needs(model: Model) -> Iterator[Said]:
    """What an engine needs beyond the files."""
    files = vocabulary_files(model)
    if needs_remote_code(model):
        yield _need("trust_remote_code", "the tokenizer is code of the repository", model, "tokenizer_config.json", "/auto_map")
    if any(row.file == "config.json" for row in remote_code.references(model)):
        yield _need("trust_remote_code", "config.json names code of a repository", model, "config.json", "/auto_map")
    if not model.has("tokenizer.json"):
        for name in files:
            if name.endswith(".tiktoken") or name == "tiktoken.model":
                yield _need("tiktoken", "the vocabulary is a tiktoken file, and there is no tokenizer.json", model, name)
            elif name.startswith("tokenizer.model"):
                yield _need(
                    "sentencepiece and protobuf",
                    "the vocabulary is a SentencePiece model, and there is no tokenizer.json",
                    model,
                    name,
                )
    if model.has(_TEKKEN):
        yield _need(
            "mistral-common", "engines that read tekken.json take their tokenizer and their prompts from it", model, _TEKKEN
        )


def _need(name: str, why: str, model: Model, file: str, pointer: str = "") -> Said:
    return Said(about=name, value=why, places=(model.place(file, pointer),))


def _disagreements(model: Model) -> Iterator[Said]:
    """What several files state differently."""
    for name in ROLES:
        yield from _differing(
            name, {source: role_of(model, source, name) for source in ("tokenizer_config.json", "special_tokens_map.json")}
        )
    lists = {
        "generation_config.json": eos.stated(model, "generation_config.json"),
        "config.json": eos.stated(model, "config.json"),
    }
    lists |= {f"config.json {path}": answer for path, answer in eos.nested(model).items()}
    yield from _differing("eos_token_id", {name: _sorted(answer) for name, answer in lists.items()})
    tokenizer, listed = eos.of_tokenizer(model), eos.listed(model)
    if isinstance(tokenizer, Known) and isinstance(listed, Known) and listed.value and tokenizer.value not in listed.value:
        value = {"tokenizer": tokenizer.value, "generate()": list(listed.value)}
        yield Said(about="the tokenizer's EOS is not among the stop ids", value=value, places=(*tokenizer.places, *listed.places))
    config = model.mapping("config.json")
    yield from _differing("dtype", {f"config.json {key}": _stated(model, "config.json", key) for key in _DTYPES if key in config})
    sizes = {f"{name} vocab_size": _stated(model, name, "vocab_size") for name in ("config.json", mlc.CONFIG) if model.has(name)}
    yield from _differing("vocab_size", sizes)


def role_of(model: Model, source: str, name: str) -> Any:
    """What one file says of a role."""
    value: Any = model.mapping(source).get(name)
    text = cast("dict[str, Any]", value).get("content") if isinstance(value, dict) else value
    place = (model.place(source, f"/{name}"),)
    return Known(text, place) if isinstance(text, str) else Missing(place)


def _stated(model: Model, file: str, key: str) -> Any:
    value = model.mapping(file).get(key)
    place = (model.place(file, f"/{key}"),)
    return Missing(place) if value is None else Known(value, place)


def _sorted(answer: Any) -> Any:
    return Known(tuple(sorted(answer.value)), answer.places) if isinstance(answer, Known) else answer


def _differing(about: str, answers: dict[str, Any]) -> Iterator[Said]:
    known = {name: answer for name, answer in answers.items() if isinstance(answer, Known)}
    if len({repr(answer.value) for answer in known.values()}) > 1:
        places = tuple(place for answer in known.values() for place in answer.places)
        yield Said(about=about, value={name: answer.value for name, answer in known.items()}, places=places)
