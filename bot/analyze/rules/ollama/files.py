"""What Ollama's converter to GGUF reads in a folder of safetensors, and what ends it.

Source: convert/convert.go:279-401, tokenizer.go and tokenizer_spm.go of ollama/ollama at fb30760 (run: the tokenizer's part and the checks of config.json,
over every shared folder). A message is given where it is fixed; what Go's JSON reader says of a broken file is left out.
"""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from bot.analyze.model import sentencepiece
from bot.analyze.model.document import Document, NotJson
from bot.analyze.model.folder import Model
from bot.analyze.model.tokenizer_file import NotTokenizer, TokenizerFile
from bot.analyze.model.tokens import tokenizer_file
from bot.analyze.rules.llama_cpp.stops import TEXTS
from bot.answer import Known, Missing, Unknown
from bot.place import Place

ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
CONFIG, SETTINGS, GENERATION = "config.json", "tokenizer_config.json", "generation_config.json"

# convert.go:295-361, by the first entry of `architectures`.
ARCHITECTURES = {
    "LlamaForCausalLM", "MllamaForConditionalGeneration", "Llama4ForConditionalGeneration", "Mistral3ForConditionalGeneration", "Ministral3ForCausalLM",
    "MixtralForCausalLM", "GemmaForCausalLM", "Gemma2ForCausalLM", "Gemma3ForCausalLM", "Gemma3ForConditionalGeneration", "Gemma3TextModel",
    "Gemma3nForConditionalGeneration", "Gemma4ForCausalLM", "Gemma4ForConditionalGeneration", "Phi3ForCausalLM", "Qwen2ForCausalLM",
    "Qwen2_5_VLForConditionalGeneration", "Qwen3VLForConditionalGeneration", "Qwen3VLMoeForConditionalGeneration", "Olmo3ForCausalLM", "BertModel",
    "NomicBertModel", "NomicBertMoEModel", "CohereForCausalLM", "GptOssForCausalLM", "DeepseekOCRForCausalLM", "DeepseekV3ForCausalLM",
    "Glm4MoeLiteForCausalLM", "LagunaForCausalLM", "GlmOcrForConditionalGeneration", "Lfm2ForCausalLM", "Lfm2MoeForCausalLM",
    "Lfm2VlForConditionalGeneration", "Qwen3NextForCausalLM", "Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration",
    "NemotronH_Nano_VL_V2", "NemotronH_Nano_Omni_Reasoning_V3", "NemotronHForCausalLM",
}  # fmt: skip
# A file that the converter of an architecture opens next (parseMore of convert_bert.go:41, convert_qwen3vl.go:49 and others).
_NEEDS = {
    "BertModel": "modules.json",
    "NomicBertModel": "modules.json",
    "NomicBertMoEModel": "modules.json",
    "Gemma3TextModel": "modules.json",
    "GlmOcrForConditionalGeneration": "preprocessor_config.json",
    "Qwen3VLForConditionalGeneration": "preprocessor_config.json",
    "Qwen3VLMoeForConditionalGeneration": "preprocessor_config.json",
}
_UNSIGNED = range(2**32)
_SIGNED = range(-(2**31), 2**31)


class Refusal(msgspec.Struct, frozen=True):
    """What ends the conversion: its message, "" where that is Go's own, and the file that it is about."""

    message: str
    place: Place


class Written(msgspec.Struct, frozen=True):
    """What goes into the GGUF file.

    `kind` is "llama" for a vocabulary of tokenizer.model, "gpt2" for one of tokenizer.json. `roles` are ids by role ("eos"), `eos_ids` the list of
    generation_config.json, `texts` the ids of those tokens that may end a reply by their text, None where holes in the vocabulary shift all ids
    behind them. `template` is "" for none.
    """

    kind: str
    roles: Mapping[str, int]
    eos_ids: tuple[int, ...]
    texts: Mapping[str, int] | None
    template: str


class _StopError(Exception):
    """The converter ends with an error."""

    def __init__(self, place: Place, message: str = "") -> None:
        super().__init__(message)
        self.refusal = Refusal(message, place)


class _UnreadError(Exception):
    """A file could not be read here, which says nothing about the converter."""

    def __init__(self, answer: Unknown) -> None:
        super().__init__(answer.reason)
        self.answer = answer


def architecture(model: Model) -> str | Refusal | Unknown:
    """The architecture by which the converter goes."""
    try:
        config = _object(model, CONFIG)
        place = model.place(CONFIG)
        if config is None:
            return Refusal("open config.json: no such file or directory", place)
        names = config.get("architectures")
        listed = cast("list[Any]", names) if isinstance(names, list) else []
        if not isinstance(names, list | None) or not all(isinstance(name, str) for name in listed):
            return Refusal("", model.place(CONFIG, "/architectures"))
        text: Any = config.get("text_config")
        inner = cast("dict[str, Any]", text) if isinstance(text, dict) else {}
        sizes = (config.get("vocab_size"), inner.get("vocab_size"), inner.get("hidden_size"))
        types = (config.get("model_type"), inner.get("model_type"))
        if not isinstance(text, dict | None) or not all(_number(size, _UNSIGNED) for size in sizes):
            return Refusal("", place)
        if not all(isinstance(each, str | None) for each in types):
            return Refusal("", place)
        if not listed:
            return Refusal("unknown architecture", place)
        name = str(listed[0])
        place = model.place(CONFIG, "/architectures")
        if name not in ARCHITECTURES:
            return Refusal(f'unsupported architecture "{name}"', place)
        if name in _NEEDS and not model.has(_NEEDS[name]):
            return Refusal(f"open {_NEEDS[name]}: no such file or directory", model.place(_NEEDS[name]))
    except _StopError as stop:
        return stop.refusal
    except _UnreadError as unread:
        return unread.answer
    return name


def tokenizer(model: Model) -> Written | Refusal | Unknown:
    """What is written of the tokenizer, its template and its end tokens."""
    try:
        if model.has("tokenizer.model"):
            kind, texts = "llama", _pieces(model)
            added = _tokenizer_json(model)[0] if model.has("tokenizer.json") else {}
        elif model.has("tokenizer.json"):
            kind = "gpt2"
            added, texts = _tokenizer_json(model)
        else:
            return Refusal("unknown tokenizer format", model.place("tokenizer.json"))
        settings = _object(model, SETTINGS) or {}
        template = _template(model, settings)
        roles = _roles(model, settings, added)
        generation = _object(model, GENERATION) or {}
    except _StopError as stop:
        return stop.refusal
    except _UnreadError as unread:
        return unread.answer
    listed = generation.get("eos_token_id")
    numbers = cast("list[Any]", listed) if isinstance(listed, list) else []
    valid = bool(numbers) and all(_number(number, _SIGNED) and number is not None for number in numbers)
    return Written(kind, roles, tuple(numbers) if valid and "eos" in roles else (), texts, template)


def _roles(model: Model, settings: Mapping[str, Any], added: Mapping[str, int]) -> dict[str, int]:
    """A role has an id where its text is an added token of tokenizer.json (tokenizer.go:146)."""
    found: dict[str, int] = {}
    for role in ROLES:
        if not isinstance(settings.get(f"add_{role}_token"), bool | None):
            raise _StopError(model.place(SETTINGS, f"/add_{role}_token"))
        entry: Any = settings.get(f"{role}_token")
        content = cast("dict[str, Any]", entry).get("content") if isinstance(entry, dict) else entry
        if isinstance(content, str) and content in added:
            found[role] = added[content]
    return found


def _pieces(model: Model) -> Mapping[str, int]:
    """The pieces of tokenizer.model, and added_tokens.json behind them without a gap (tokenizer_spm.go)."""
    special = (_object(model, "special_tokens_map.json") or {}).get("additional_special_tokens")
    place = model.place("special_tokens_map.json", "/additional_special_tokens")
    for entry in cast("list[Any]", special) if isinstance(special, list) else ():
        if not isinstance(entry, dict | None):
            kind = (
                "string"
                if isinstance(entry, str)
                else "bool"
                if isinstance(entry, bool)
                else "[]interface {}"
                if isinstance(entry, list)
                else "float64"
            )
            raise _StopError(place, f"interface conversion: interface {{}} is {kind}, not map[string]interface {{}}")
    parsed = model.parsed("tokenizer.model", sentencepiece.read)
    if isinstance(parsed, Unknown):
        raise _UnreadError(Unknown(f"tokenizer.model {parsed.reason}", parsed.places))
    if not isinstance(parsed, Known) or not isinstance(parsed.value, sentencepiece.Pieces):
        raise _StopError(model.place("tokenizer.model"))
    texts = list(parsed.value.texts)
    added = _object(model, "added_tokens.json") or {}
    place = model.place("added_tokens.json")
    if not all(_number(number, range(-(2**63), 2**63)) and number is not None for number in added.values()):
        raise _StopError(place)
    for text, number in sorted(cast("dict[str, int]", added).items(), key=lambda row: row[1]):
        if number < 0:
            raise _UnreadError(Unknown("added_tokens.json has a negative id", (place,)))
        if number < len(texts) and texts[number] == text:
            continue
        if number < len(texts):
            raise _StopError(place, f"token mismatch: {text} != {texts[number]} at pos [{number}]")
        if number > len(texts):
            raise _StopError(place, f"invalid token id: [{number}] as pos [{len(texts)}]")
        texts.append(text)
    wanted = set(TEXTS)
    return {text: number for number, text in enumerate(texts) if text in wanted}


def _tokenizer_json(model: Model) -> tuple[dict[str, int], Mapping[str, int] | None]:
    """The added tokens by content with the ids that they declare, and the ids of the texts that may end a reply."""
    file = tokenizer_file(model)
    place = model.place("tokenizer.json")
    if isinstance(file, Unknown):
        raise _UnreadError(Unknown(f"tokenizer.json {file.reason}", file.places))
    if isinstance(file, Missing):
        raise _StopError(place)
    if isinstance(file.value, NotTokenizer):
        document = model.document("tokenizer.json")
        if isinstance(document, Known) and isinstance(document.value, NotJson):
            raise _StopError(place)
        raise _UnreadError(
            Unknown("the tokenizers library refuses tokenizer.json; what Go makes of it is not modelled", (place,))
        )
    if _listed(model, file.value):
        raise _StopError(place, "json: cannot unmarshal array into Go struct field tokenizer.model.vocab of type map[string]int")
    merges = file.value.merges
    if merges is not None and bytes(merges.text).lstrip()[:1] == b"{":  # an empty object, with which the library is content
        raise _StopError(place)
    added = {token.content: token.id for token in file.value.added}
    return added, _texts(file.value, added)


def _listed(model: Model, file: TokenizerFile) -> bool:
    """Whether the vocabulary is a list, as that of Unigram is; the file is parsed once more only where it does not say its type."""
    if file.parts.model.type is not None or file.merges is not None:
        return file.parts.model.type == "Unigram"
    document = model.document("tokenizer.json")
    parsed = document.value.mapping if isinstance(document, Known) and isinstance(document.value, Document) else {}
    return isinstance(parsed["model"].get("vocab"), list)


def _texts(file: TokenizerFile, added: Mapping[str, int]) -> Mapping[str, int] | None:
    """Tokens are sorted by id and written one after another: a hole shifts all that follow (tokenizer.go:272)."""
    extra = {token.id for token in file.added if token.id not in file.ids}
    if max(file.largest, *extra, -1) + 1 != len(file.ids) + len(extra):
        return None
    found = {text: added.get(text, file.vocab.get(text)) for text in TEXTS}
    return {text: number for text, number in found.items() if number is not None}


def _template(model: Model, settings: Mapping[str, Any]) -> str:
    """tokenizer.go:127: a string, or the entry `default` of a list of objects."""
    value = settings.get("chat_template")
    place = model.place(SETTINGS, "/chat_template")
    if isinstance(value, str):
        return value
    if not isinstance(value, list | None):
        raise _StopError(place)
    rows = [cast("dict[str, Any]", row or {}) for row in cast("list[Any]", value or []) if isinstance(row, dict | None)]
    if len(rows) != len(value or []) or not all(
        isinstance(row.get(key), str | None) for row in rows for key in ("name", "template")
    ):
        raise _StopError(place)
    return next((row.get("template") or "" for row in rows if row.get("name") == "default"), "")


def _object(model: Model, name: str) -> dict[str, Any] | None:
    """The object in a JSON file, None for a file that is not there."""
    document = model.document(name)
    if isinstance(document, Unknown):
        raise _UnreadError(Unknown(f"{name} {document.reason}", document.places))
    if isinstance(document, Missing) or not model.has(name):
        return None
    if isinstance(document.value, NotJson) or not isinstance(document.value.value, dict | None):
        raise _StopError(model.place(name))
    return document.value.mapping


def _number(value: Any, within: range) -> bool:
    """Whether Go takes a value for an integer of that width; null counts as none."""
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value in within)
