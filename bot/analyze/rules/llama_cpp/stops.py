"""Which architectures llama.cpp converts, and on which tokens its runtime stops.

Source: conversion/*.py and src/llama-vocab.cpp:2595-3030 at ggml-org/llama.cpp 0c1e57098 (read): the end-of-generation set is made of token texts that are
compiled in and of the ids in the metadata.
"""

import base64
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from bot.analyze import data
from bot.analyze.model import sentencepiece
from bot.analyze.model.folder import Model, fact
from bot.analyze.model.tokens import tokens
from bot.answer import Answer, Known, Unknown

ENDS = ("eos", "eot", "eom")
# llama-vocab.cpp:2891-2913: a token with one of these texts ends a reply, whatever its type.
_ENDS = (
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "<end_of_turn>", "<|endoftext|>", "</s>", "<|eom_id|>",
    "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>", "<｜end▁of▁sentence｜>", "[e~[",
)  # fmt: skip
# :2784-2847, one list for each of the roles fim_pad, fim_rep and fim_sep: the first that is met in a hash table gets the role, and ends a reply too.
_FILL_IN = (
    ("<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"),
    ("<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"),
    ("<|file_sep|>",),
)
_TEXTS = (*_ENDS, *(text for texts in _FILL_IN for text in texts))
_RANKS = "tiktoken.model"
# :2957-3026: of these texts the first is an ordinary token where all of the others are there.
_NOT_WITH = (
    ("<|end|>", ("<|return|>", "<|call|>")),
    ("<|end|>", ("<|return|>", "<|calls|>")),
    ("<|end|>", ("<|flush|>", "<|call|>")),
    ("<|end|>", ("<|flush|>", "<|calls|>")),
    ("</s>", ("<|tool_response>",)),
)
_GLM = (
    "Glm4MoeForCausalLM",
    "Glm4MoeLiteForCausalLM",
    "Glm4vMoeForConditionalGeneration",
    "Glm5NextForConditionalGeneration",
    "GlmMoeDsaForCausalLM",
)
# conversion/base.py:2361-2364, for those: the end tokens that are set by text where tokenizer_config.json gives none; without them the conversion fails.
_GLM_ENDS = {"eot": "<|user|>", "eom": "<|observation|>"}
# conversion/base.py:2890-2897: their own name counts, not that of the language model inside.
_BY_TOP_LEVEL = (
    "StepVLForConditionalGeneration", "Sarashina2VisionForCausalLM", "Exaone4_5_ForConditionalGeneration", "Step3p7ForConditionalGeneration",
    "KimiK3ForConditionalGeneration",
)  # fmt: skip
_CODE_LLAMA = 32016  # the vocab_size by which conversion/llama.py:145 knows it


@cache
def _architectures() -> dict[str, frozenset[str]]:
    """The names of tools/llama_cpp_architectures.py: those that are converted, and those with end tokens of their own."""
    table: dict[str, list[str]] = json.loads(data.content("llama.cpp-2026-10-01.json"))
    return {key: frozenset(names) for key, names in table.items()}


def architecture(model: Model) -> str:
    """The name by which the converter goes, "" for none: that of the language model inside, else the first one of the top level (conversion/base.py:2878)."""
    config = model.mapping("config.json")
    named = _first(config)
    if named in _BY_TOP_LEVEL:
        return named
    inner: Any = config.get("text_config")
    for key in (
        "llm_config",
        "lm_config",
        "thinker_config",
        "language_config",
        "lfm",
    ):  # each takes the place of text_config (:1290-1304)
        if key in config:
            inner = config[key]
            inner = (
                cast("dict[str, Any]", inner).get("text_config") if key == "thinker_config" and isinstance(inner, dict) else inner
            )
    return (_first(cast("dict[str, Any]", inner)) if isinstance(inner, dict) else "") or named


def _first(config: Mapping[str, Any]) -> str:
    names = config.get("architectures")
    listed = cast("list[Any]", names) if isinstance(names, list) else []
    return listed[0] if listed and isinstance(listed[0], str) else ""


def converts(model: Model) -> Answer[bool]:
    """Whether there is a converter for the architecture; one that only an old Mamba names otherwise is not looked for."""
    document = model.document("config.json")
    if isinstance(document, Unknown):
        return Unknown(f"config.json {document.reason}", document.places)
    if not model.has("config.json"):
        return Unknown("there is no config.json, which the converter guesses for some models", document.places)
    place = (model.place("config.json", "/architectures"),)
    if "ssm_cfg" in model.mapping("config.json"):
        return Unknown("the architecture follows from ssm_cfg, which is not modelled", place)
    return Known(value=architecture(model) in _architectures()["architectures"], places=place)


def stops(model: Model, ends: Mapping[str, Answer[Any]]) -> Answer[Any]:
    """The end-of-generation ids: tokens known by their text, and EOS, EOT and EOM of the metadata, `ends`, by role."""
    name = architecture(model)
    config, place = model.mapping("config.json"), (model.place("config.json", "/architectures"),)
    settings = model.mapping("tokenizer_config.json")
    other = (
        model.has("tekken.json")
        or settings.get("tokenizer_class") == "HybridDNATokenizer"
        or config.get("vocab_size") == _CODE_LLAMA
    )
    if other or (name in _architectures()["own_ends"] and name not in _GLM):
        return Unknown(f"the converter gives {name} end tokens of its own, which are not modelled", place)
    unread = next((answer for answer in ends.values() if isinstance(answer, Unknown)), None)
    if unread is not None:
        return unread
    stated = {role: answer.value for role, answer in ends.items() if isinstance(answer, Known) and answer.value is not None}
    if "eos" not in stated:
        return Unknown("no EOS is written, and the one that the runtime then assumes depends on the kind of vocabulary")
    for role, text in _GLM_ENDS.items() if name in _GLM else ():
        table = tokens(model)
        if not isinstance(table, Known):
            return Unknown(table.reason if isinstance(table, Unknown) else "the vocabulary could not be read", table.places)
        if text not in table.value.added:
            return Known(None, table.places)  # a KeyError
        stated.setdefault(role, table.value.added[text].id)
    size = config.get("vocab_size")
    if isinstance(size, int) and any(number >= size for number in stated.values()):
        return Unknown("an end token has an id outside of the vocabulary, which the runtime replaces by a default", place)
    found = _known_by_text(model)
    if not isinstance(found, Known):
        return found
    places = (place for role in stated for place in ends[role].places)
    return Known(sorted({*found.value, *stated.values()}), tuple(dict.fromkeys((*places, *found.places))))


@fact
def _known_by_text(model: Model) -> Answer[tuple[int, ...]]:
    """The ids of tokens that end a reply by their text alone. Which file the vocabulary is taken from depends on the architecture."""
    table = tokens(model)
    sources: list[Mapping[str, int]] = []
    if model.has("tokenizer.model"):
        pieces = _pieces(model)
        if pieces is None:
            return Unknown("tokenizer.model could not be read", (model.place("tokenizer.model"),))
        sources.append(pieces)
    if isinstance(table, Known) and table.value.complete:
        known = {text: table.value.id_of(text) for text in _TEXTS}
        sources.append({text: number for text, number in known.items() if number is not None})
    elif isinstance(table, Known) and model.has(
        _RANKS
    ):  # as Kimi-K2 has it: the tokenizer is code of the repository (conversion/deepseek.py:274-311)
        ranks = model.parsed(_RANKS, _ranks)
        if not isinstance(ranks, Known) or ranks.value is None:
            return Unknown(f"{_RANKS} could not be read", ranks.places)
        sources.append({**ranks.value, **{text: token.id for text, token in table.value.added.items()}})
    if not sources:
        return Unknown("the vocabulary could not be read", table.places)
    answers = {_of_texts(source) for source in sources}
    if len(answers) > 1 or None in answers:
        return Unknown(
            "it depends on which file the converter takes the vocabulary from, or on the order of a hash table", table.places
        )
    return Known(cast("tuple[int, ...]", answers.pop()), table.places)


def _ranks(content: bytes) -> dict[str, int] | None:
    """The ids of the texts that matter here in a tiktoken file, lines of a piece in base64 and its id; None for another file."""
    if not re.match(rb"[A-Za-z0-9+/]+=* \d+\s", content):
        return None
    found: dict[str, int] = {}
    for text in _TEXTS:
        line = re.search(rb"^%s (\d+)\s*$" % re.escape(base64.b64encode(text.encode())), content, re.MULTILINE)
        if line:
            found[text] = int(line[1])
    return found


def _of_texts(ids: Mapping[str, int]) -> tuple[int, ...] | None:
    """The ids that end a reply, None where chance decides which of several texts gets a role."""
    fill_in = [[text for text in texts if text in ids] for texts in _FILL_IN]
    if any(len(texts) > 1 for texts in fill_in):
        return None
    texts = {text for text in _ENDS if text in ids}
    gone = {text for text, others in _NOT_WITH if texts.issuperset(others)}
    return tuple(sorted(ids[text] for text in (*(texts - gone), *(text for row in fill_in for text in row))))


def _pieces(model: Model) -> Mapping[str, int] | None:
    """The vocabulary of tokenizer.model with what the other files add (conversion/base.py:2093-2180), later ones over earlier ones."""
    parsed = model.parsed("tokenizer.model", sentencepiece.read)
    if not isinstance(parsed, Known) or not isinstance(parsed.value, sentencepiece.Pieces):
        return None
    texts = dict(enumerate(parsed.value.texts))
    added = model.mapping("added_tokens.json").items()
    texts.update({number: text for text, number in added if isinstance(number, int)})
    decoder = model.mapping("tokenizer_config.json").get("added_tokens_decoder")
    for key, entry in cast("dict[str, Any]", decoder).items() if isinstance(decoder, dict) else ():
        content = cast("dict[str, Any]", entry).get("content") if isinstance(entry, dict) else None
        if key.isdecimal() and isinstance(content, str):
            texts[int(key)] = content
    return {text: number for number, text in texts.items()}


of_texts = _of_texts  # Ollama has the same runtime, and a vocabulary of its own
TEXTS = (*_ENDS, *(text for texts in _FILL_IN for text in texts))
