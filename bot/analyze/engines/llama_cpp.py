"""llama.cpp: what the conversion to GGUF takes from a folder, and on which tokens the runtime stops.

Sources: gguf-py as in gguf_vocab.py (run); src/llama-vocab.cpp:2595-3030 at ggml-org/llama.cpp 0c1e57098 (read): the end-of-generation set is made of token
texts that are compiled in and of the ids in the metadata. generation_config.json is not asked.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, cast

from bot.analyze.engines.gguf_vocab import JINJA, NAMED, ROLES, Refusal, SpecialVocab, special_vocab
from bot.analyze.engines.prediction import Prediction
from bot.analyze.model import sentencepiece
from bot.analyze.model.folder import Model, fact
from bot.analyze.model.tokens import tokens
from bot.answer import Answer, Known, Unknown

ID = "llama.cpp"
NAME = "llama.cpp"
# Build b11312, commit 0c1e57098bba43ac29e6e3b677cdceebdd22334f, is dated 2026-10-01 in its container image.
VERSIONS = ("2026-10-01",)
ALIASES = {"0c1e57098": "2026-10-01", "b11312": "2026-10-01"}
_SOURCE = "src/llama-vocab.cpp:2891-3026 at ggml-org/llama.cpp 0c1e57098, for stops"

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
# :2957-3026: of these texts the first is an ordinary token where all of the others are there.
_NOT_WITH = (
    ("<|end|>", ("<|return|>", "<|call|>")),
    ("<|end|>", ("<|return|>", "<|calls|>")),
    ("<|end|>", ("<|flush|>", "<|call|>")),
    ("<|end|>", ("<|flush|>", "<|calls|>")),
    ("</s>", ("<|tool_response>",)),
)
# conversion/*.py: for these architectures the converter sets end tokens of its own (GLM, InternLM, Kimi, HunYuan, RWKV, PLaMo and others).
_OWN_ENDS = (
    "Glm", "ChatGLM", "MPT", "KimiK3", "KimiLinear", "Laguna", "HunYuan", "HYV3", "MuseGlimmer", "Qwen3TTS", "Qwen3ASR", "GPTRefact", "InternLM", "Dots3",
    "Rwkv", "RWKV", "Plamo", "SolarOpen", "Mamba", "OpenELM", "Xverse", "Mistral3", "Pixtral", "Llada", "QWenLMHead",
)  # fmt: skip
_CODE_LLAMA = 32016  # the vocab_size by which conversion/llama.py:145 knows it


def applies(model: Model) -> bool:
    """The converter wants a configuration and a tokenizer."""
    return model.has("config.json") and any(
        model.has(name) for name in ("tokenizer_config.json", "tokenizer.json", "tokenizer.model")
    )


def predict(model: Model, version: str) -> Prediction:
    """Predict what the converter writes, and `stops`."""
    found = _readings(model)
    unread = next((each for each in found if isinstance(each, Unknown)), None)
    if unread is not None:
        keys = ("loads.special_vocab", *(f"{role}_token_id" for role in (*ROLES, "eot", "eom")), "template.sha256", "stops")
        return Prediction(ID, version, dict.fromkeys(keys, unread), source=_SOURCE)
    refused = [each for each in found if isinstance(each, Refusal)]
    if refused:
        return Prediction(ID, version, _stopped(found, refused), confidence="likely", source=_SOURCE)
    package, tree = cast("list[SpecialVocab]", found)
    fields: dict[str, Answer[Any]] = {"loads.special_vocab": Known(value=True)}
    for role in (*ROLES, "eot", "eom"):
        fields[f"{role}_token_id"] = _same(package.ids.get(role), tree.ids.get(role), f"the {role.upper()} token")
    fields["gguf_add_special"] = _same(dict(package.adds), dict(tree.adds), "whether special tokens are added")
    fields.update(_template(model, tree))
    fields["stops"] = _stops(model, fields)
    return Prediction(ID, version, fields, confidence="likely", source=_SOURCE)


@fact
def _readings(model: Model) -> list[SpecialVocab | Refusal | Unknown]:
    return [special_vocab(model, tree=tree) for tree in (False, True)]


def _stopped(found: Iterable[object], refused: list[Refusal]) -> dict[str, Answer[Any]]:
    """The conversion ends with an exception, so nothing is written."""
    places = (refused[0].place,)
    if not all(isinstance(each, Refusal) for each in found):
        return {"loads.special_vocab": Unknown("it depends on the version of gguf-py", places)}
    nothing = Known(None, places)
    return {
        "loads.special_vocab": Known(value=False, places=places),
        "errors.special_vocab.type": _same(refused[0].error, refused[-1].error, "the exception"),
        **{f"{role}_token_id": nothing for role in (*ROLES, "eot", "eom")},
        "template.file": nothing,
        "template.sha256": nothing,
        "stops": nothing,
    }


def _same(package: Any, tree: Any, what: str) -> Answer[Any]:
    if package == tree:
        return Known(tree)
    return Unknown(f"{what} depends on which gguf-py converts, the package 0.19.0 or the one in the tree of llama.cpp")


def _template(model: Model, written: SpecialVocab) -> dict[str, Answer[Any]]:
    if written.templates is None:
        why = Unknown("the list of chat templates has entries of another shape", (model.place(written.file),))
        return {"template.file": why, "template.sha256": why, "template.named": why}
    places = (model.place(written.file, "/chat_template" if written.file.endswith(".json") else ""),) if written.file else ()
    hashes = {name: hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for name, text in written.templates.items()}
    fields: dict[str, Answer[Any]] = {
        "template.file": Known(
            f"{JINJA} + {NAMED[:-1]}" if written.listed and written.file == JINJA else written.file or None, places
        ),
        "template.sha256": Known(hashes.get("default"), places),
    }
    if written.listed:
        fields["template.named"] = Known(hashes, places)
    return fields


def _stops(model: Model, fields: Mapping[str, Answer[Any]]) -> Answer[Any]:
    """The end-of-generation ids: tokens known by their text, and EOS, EOT and EOM of the metadata."""
    config = model.mapping("config.json")
    architectures = config.get("architectures")
    names = cast("list[Any]", architectures) if isinstance(architectures, list) else []
    place = (model.place("config.json", "/architectures"),)
    if not names or not isinstance(names[0], str):
        return Unknown("config.json names no architecture, by which the converter goes", place)
    if names[0].startswith(_OWN_ENDS) or config.get("vocab_size") == _CODE_LLAMA:
        return Unknown(f"the converter gives {names[0]} end tokens of its own, which are not modelled", place)
    given = [fields[f"{role}_token_id"] for role in ("eos", "eot", "eom")]
    unread = next((answer for answer in given if isinstance(answer, Unknown)), None)
    if unread is not None:
        return unread
    stated = [answer.value for answer in given if isinstance(answer, Known)]
    if stated[0] is None:
        return Unknown("no EOS is written, and the one that the runtime then assumes depends on the kind of vocabulary")
    found = _known_by_text(model)
    if not isinstance(found, Known):
        return found
    size = config.get("vocab_size")
    if isinstance(size, int) and any(number is not None and number >= size for number in stated):
        return Unknown("an end token has an id outside of the vocabulary, which the runtime replaces by a default")
    return Known(sorted({*found.value, *(number for number in stated if number is not None)}), found.places)


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
        known = {text: table.value.id_of(text) for text in (*_ENDS, *(text for texts in _FILL_IN for text in texts))}
        sources.append({text: number for text, number in known.items() if number is not None})
    if not sources:
        return Unknown("the vocabulary could not be read", table.places)
    answers = {_of_texts(source) for source in sources}
    if len(answers) > 1 or None in answers:
        return Unknown(
            "it depends on which file the converter takes the vocabulary from, or on the order of a hash table", table.places
        )
    return Known(cast("tuple[int, ...]", answers.pop()), table.places)


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
