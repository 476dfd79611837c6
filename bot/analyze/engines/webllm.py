"""WebLLM: what loads in the browser, what a chat there stops on, and what ends an answer in JSON mode.

Source: npm @mlc-ai/web-llm 0.2.86, lib/index.js (run): only mlc-chat-config.json and the one tokenizer file that it lists are read, whatever else is there. The
bundled web-xgrammar 0.1.27 (run) sees the token table alone; its source is mlc-ai/xgrammar, cpp/tokenizer_info.cc:266-299.
"""

from collections.abc import Mapping
from typing import Any, cast

from bot.analyze.engines.prediction import Prediction
from bot.analyze.model import sentencepiece
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import (
    CONFIG,
    Table,
    asked,
    chats,
    config,
    conversation,
    conversation_place,
    numbers,
    stop_ids,
    stop_strings,
    table,
)
from bot.analyze.model.tokenizer_file import TokenizerFile
from bot.analyze.render import Renders
from bot.analyze.renderings import Token
from bot.analyze.rules.encoding import encoded_by_webllm
from bot.analyze.rules.javascript import Failed, json_file
from bot.analyze.rules.webllm_prompt import Parts, prompt_of
from bot.analyze.rules.webllm_tokens import probe_tokens as tokens_of_probes
from bot.analyze.rules.webllm_window import prompt_within, window_of
from bot.answer import Answer, Known, Missing, Unknown
from bot.probe import Probe

ID = "webllm"
NAME = "WebLLM"
VERSIONS = ("0.2.86",)

# What may end an answer where no stop ids are given (cpp/tokenizer_info_impl.h:98-107); byte_fallback reads the last one with spaces in it (run).
_DETECTED = ("</s>", "<|end_of_text|>", "<|eot_id|>", "<|endoftext|>", "<eos>", "<|eos|>", "<end_of_turn>")
_NOT_BY_FALLBACK = "<｜end▁of▁sentence｜>"
_HELLO = Probe("hello", ({"role": "user", "content": "Hi"},))
_METHODS = ("raw", "byte_level", "byte_fallback")


def applies(model: Model) -> bool:
    """Only a folder with mlc-chat-config.json is WebLLM's."""
    return model.has(CONFIG)


def predict(model: Model, version: str) -> Prediction:
    """Predict every step of loading, the stop ids and the token table."""
    read = json_file(model, CONFIG)
    place = (model.place(CONFIG),)
    if isinstance(read, Failed | Missing):
        fields: dict[str, Answer[Any]] = {
            "loads.config": Known(value=False, places=place),
            "first_failure": Known("config", place),
        }
        return Prediction(ID, version, {**fields, "stops": Known(None, place)})
    if isinstance(read, Unknown) or not config(model):
        why = read if isinstance(read, Unknown) else Unknown(f"{CONFIG} does not hold the configuration of a model", place)
        return Prediction(ID, version, {"stops": why, "stops_in_grammar": why})
    fields = {"loads.config": Known(value=True, places=place), "loads.generation_config": Known(None), **_tokenizer(model)}
    if chats(model):
        fields.update({**_conversation(model), "token_postproc": _method(model), **_pipeline(model)})
        loads = fields["loads.tokenizer"]
        failed = isinstance(loads, Known) and not loads.value
        ends = {"stops": _stops, "stops_in_grammar": _stops_in_grammar}
        fields.update({key: Known(None, loads.places) if failed else told(model) for key, told in ends.items()})
        fields["first_failure"] = _first_failure(model, fields)
    return Prediction(ID, version, fields)


def _tokenizer(model: Model) -> dict[str, Answer[Any]]:
    """The file that is asked for, whether it loads, and the table of its tokens (:14917-14934, :11267).

    tokenizer_files decides alone: a file that is not listed is not tried, and one that is listed and missing is not replaced.
    """
    place = (model.place(CONFIG, "/tokenizer_files"),)
    file = asked(model)
    fields: dict[str, Answer[Any]] = {"tokenizer_file": Known(file or None, place)}
    if not file:
        listed = isinstance(config(model).get("tokenizer_files"), list | str)
        return {**fields, **_fails("UnsupportedTokenizerFilesError" if listed else "TypeError", place)}
    if not model.has(file):
        return {**fields, **_fails("TypeError", place)}
    found = _table(model)
    if isinstance(found, Known):
        fields["loads.tokenizer"] = Known(value=True, places=found.places)
        return {
            **fields,
            "table_size": Known(found.value.size, found.places),
            "table_empty": Known(_empty(found.value), found.places),
        }
    if file == "tokenizer.json" and isinstance(model.content(file), Known):
        return {**fields, **_fails("RuntimeError", (model.place(file),))}  # the library aborts
    return {**fields, **dict.fromkeys(("loads.tokenizer", "table_size", "table_empty"), found)}


def _fails(error: str, places: tuple[Any, ...]) -> dict[str, Answer[Any]]:
    return {"loads.tokenizer": Known(value=False, places=places), "errors.tokenizer.type": Known(error, places)}


def _table(model: Model) -> Answer[Table]:
    """The token table; a tokenizer.model that the library refuses gives an empty one, without an error (run)."""
    if asked(model) == "tokenizer.model":
        pieces = model.parsed("tokenizer.model", sentencepiece.read)
        if isinstance(pieces, Known) and isinstance(pieces.value, sentencepiece.NotPieces):
            return Known(Table("tokenizer.model", 0, {}, sentencepiece.Pieces(())), pieces.places)
    return table(model)


def _empty(found: Table) -> int:
    """How many ids of the table have no text: the holes among them."""
    if not isinstance(found.vocabulary, TokenizerFile):
        return 0
    known = found.vocabulary.ids | found.added.keys()
    holes = 0 if len(known) == found.size == found.highest + 1 else found.size - sum(number < found.size for number in known)
    blank = found.vocabulary.vocab.get("")
    return holes + (blank is not None and blank < found.size and found.text(blank) == "")


def _conversation(model: Model) -> dict[str, Answer[Any]]:
    """The values in force; null where the key is absent."""
    conv = conversation(model)
    keys = ("stop_token_ids", "stop_str", "system_prefix_token_ids")
    return {key: Known(conv.get(key), (conversation_place(model, key),)) for key in keys}


def _method(model: Model) -> Answer[Any]:
    """How JSON mode is told to read the tokens (:11725-11740)."""
    settings = config(model)
    if "tokenizer_info" in settings:
        place = (model.place(CONFIG, "/tokenizer_info"),)
        info: Any = settings["tokenizer_info"]
        if info is None:
            return Known({"from": "error", "prepend_space": None, "value": None}, place)
        stated = cast("dict[str, Any]", info) if isinstance(info, dict) else {}
        prepend, value = stated.get("prepend_space_in_encode"), stated.get("token_postproc_method")
        return Known({"from": "tokenizer_info", "prepend_space": prepend, "value": value}, place)
    if "token_table_postproc_method" in settings:
        place = (model.place(CONFIG, "/token_table_postproc_method"),)
        value = settings["token_table_postproc_method"]
        return Known({"from": "token_table_postproc_method", "prepend_space": False, "value": value}, place)
    return Known({"from": "default", "prepend_space": False, "value": "raw"}, (model.place(CONFIG),))


def _pipeline(model: Model) -> dict[str, Answer[Any]]:
    """Whether the chat can be set up: exactly one window, and no tokenizer_info that is null (:11725, :11880-11913). An absent key is a window too."""
    settings = config(model)
    window: Any
    sliding: Any
    window, sliding = (settings.get(f"{name}_window_size", "absent") for name in ("context", "sliding"))
    sink: Any
    history: Any
    sink, history = settings.get("attention_sink_size"), settings.get("max_history_size")
    error = ""
    if settings.get("tokenizer_info", {}) is None:
        error = "TypeError"
    elif -1 not in (window, sliding):
        error = "WindowSizeConfigurationError"
    elif window == sliding:
        error = "WindowSizeSpecificationError"
    elif sliding != -1 and not (_number(sink) and sink >= 0):
        error = "AttentionSinkSizeError"
    elif _number(history) and history <= 0:
        error = "MinValueError"
    places = (model.place(CONFIG, "/tokenizer_info" if error == "TypeError" else "/context_window_size"),)
    fields: dict[str, Answer[Any]] = {"loads.pipeline": Known(value=not error, places=places)}
    return {**fields, "errors.pipeline.type": Known(error, places)} if error else fields


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _stops(model: Model) -> Answer[Any]:
    """The stop ids, and every token whose text contains a stop string (:12539-12570)."""
    if config(model).get("tokenizer_info", {}) is None:
        return Known(None, (model.place(CONFIG, "/tokenizer_info"),))  # it does not load
    place = (conversation_place(model, "stop_token_ids"),)
    conv = conversation(model)
    if not isinstance(conv.get("stop_token_ids"), list) or not isinstance(conv.get("stop_str"), list):
        return Known(None, place)  # the first token raises; a template that is only named has neither
    ids = set(stop_ids(model) or ())
    wanted = stop_strings(model)
    if wanted:
        tokens = _table(model)
        if isinstance(tokens, Unknown):
            return Unknown(f"which tokens contain a stop string cannot be told: {tokens.reason}", place)
        if isinstance(tokens, Known):
            ids |= {number for number, text in tokens.value.items() if any(string in text for string in wanted)}
    return Known(sorted(ids), place)


def _stops_in_grammar(model: Model) -> Answer[Any]:
    """The ids that may follow a finished JSON value: stop ids below the size of the table and below vocab_size; without a list, tokens known by their text."""
    place = (conversation_place(model, "stop_token_ids"),)
    if config(model).get("tokenizer_info", {}) is None:
        return Known(None, (model.place(CONFIG, "/tokenizer_info"),))
    tokens = _table(model)
    if not isinstance(tokens, Known):
        return tokens
    method, width = _effective(model), config(model).get("vocab_size")
    if method not in _METHODS or not isinstance(width, int):
        return Unknown("token_postproc_method or vocab_size has a value that JSON mode does not know", place)
    conv = conversation(model)
    if "stop_token_ids" in conv:
        stated = conv["stop_token_ids"]
        if not isinstance(stated, list):
            return Unknown("stop_token_ids is no list", place)
        ids = numbers(cast("list[Any]", stated))
    else:
        known = _DETECTED if method == "byte_fallback" else (*_DETECTED, _NOT_BY_FALLBACK)
        found = [(tokens.value.id_of(text), text) for text in known]
        ids = tuple(number for number, text in found if number is not None and tokens.value.text(number) == text)
    return Known(sorted({number for number in ids if 0 <= number < min(tokens.value.size, width)}), place)


def _effective(model: Model) -> Any:
    """The method that JSON mode works by: `raw` where tokenizer_info states none."""
    settings = config(model)
    info = settings.get("tokenizer_info")
    if "tokenizer_info" in settings:
        return cast("dict[str, Any]", info).get("token_postproc_method", "raw") if isinstance(info, dict) else "raw"
    return settings.get("token_table_postproc_method", "raw")


def _first_failure(model: Model, fields: dict[str, Answer[Any]]) -> Answer[Any]:
    """The first step that a user sees fail."""
    for step in ("tokenizer", "pipeline"):
        loads = fields[f"loads.{step}"]
        if not isinstance(loads, Known):
            return loads
        if loads.value is False:
            return Known(step, loads.places)
    conv = conversation(model)
    if fields["stops"] == Known(None, fields["stops"].places):
        return Known("first-token", fields["stops"].places)
    made = prompt_of(conv, _HELLO)
    if isinstance(made, Parts):
        return Known(None)
    place = (conversation_place(model, "seps" if conv.get("seps") == [] else "roles"),)
    if isinstance(made, Unknown) or made.kind == "limits":
        return Unknown(made.reason if isinstance(made, Unknown) else f"the prompt {made.error}", place)
    return Known("prompt", place)


def encode(model: Model, _: str, texts: tuple[str, ...]) -> Answer[dict[str, list[int]]]:
    """The ids that texts get, nothing put around them."""
    return encoded_by_webllm(model, texts)


def renders(model: Model, version: str, probes: tuple[Probe, ...]) -> Renders:
    """The prompt that conv_template makes of each conversation (see rules/webllm_prompt.py).

    A window that is refused is told as `loads.pipeline`, and left aside here: the application may set another.
    """
    read = json_file(model, CONFIG)
    if isinstance(read, Failed | Missing):
        return Known({})
    if isinstance(read, Unknown):
        return read
    fields = predict(model, version).fields
    if not chats(model) or config(model).get("tokenizer_info", {}) is None or not _loadable(fields):
        return Known({}) if config(model) else Unknown(f"{CONFIG} does not hold the configuration of a model")
    pipeline = fields["loads.pipeline"]
    window = window_of(model) if isinstance(pipeline, Known) and pipeline.value else None
    return Known({probe.name: prompt_within(model, probe, window) for probe in probes})


def probe_tokens(model: Model, _: str, probes: tuple[Probe, ...]) -> Answer[Mapping[str, tuple[Token, ...]]]:
    """The tokens of the prompt of each conversation (see rules/webllm_tokens.py)."""
    return tokens_of_probes(model, probes)


def _loadable(fields: Mapping[str, Answer[Any]]) -> bool:
    loads = fields["loads.tokenizer"]
    return not isinstance(loads, Known) or bool(loads.value)
