"""The tokenizer that a class of transformers 4 makes of tokenizer.json: it takes the file as it stands, and some replace a part of it.

Read and run: 4.57.6 tokenization_utils_fast.py:210-221; update_post_processor of models/llama/tokenization_llama_fast.py:174;
models/bert/tokenization_bert_fast.py:95; 4.46.3 models/gpt2/tokenization_gpt2_fast.py:112.
"""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from bot.analyze.rules.backend import Backend
from bot.analyze.rules.backend_parts import File, NotKnownError, as_it_stands, flagged, numbers, with_ends
from bot.analyze.rules.loaded import Loaded

# The classes that take the file as it stands, but for the space in front (4.57.6, and in 4.46.3 two classes) and Bert's options.
_FILE = ("PreTrainedTokenizerFast", "Qwen2TokenizerFast", "T5TokenizerFast", "GPT2TokenizerFast", "BertTokenizerFast")
# The classes that set the space in front themselves in 4.46.3.
_PUSHES = ("GPT2TokenizerFast", "GPTNeoXTokenizerFast")
# The classes that put BOS and EOS around a text by flags, and the flags where none are stated.
_FLAGS = {
    "LlamaTokenizerFast": (True, False),
    "CodeLlamaTokenizerFast": (True, False),
    "GemmaTokenizerFast": (True, False),
    "CohereTokenizerFast": (True, False),
    "GPTNeoXTokenizerFast": (False, False),
}


def of_4(file: File, tokenizer: Loaded, config: Mapping[str, Any], version: str) -> Backend:
    """The tokenizer of a class of 4.x; `config` is tokenizer_config.json. Raises NotKnownError for a class that is not modelled."""
    name, made = tokenizer.cls, as_it_stands(file)
    flags = _FLAGS.get(name)
    if name not in _FILE and flags is None:
        raise NotKnownError(f"what {name} of {version} makes of the file is not known")
    from_slow = name in ("LlamaTokenizerFast", "T5TokenizerFast")
    prefix = config.get("add_prefix_space", None if from_slow else False)
    if from_slow and prefix is not None:
        raise NotKnownError(f"{name} is then converted from tokenizer.model")
    if prefix is True and name == "CohereTokenizerFast":
        raise NotKnownError("CohereTokenizerFast changes its pre-tokenizer for add_prefix_space")
    if name in _PUSHES and numbers(version) < (4, 57) and (made.pre_tokenizer == b"null" or not isinstance(prefix, bool)):
        raise NotKnownError(
            f"{name} of {version} fails without a pre-tokenizer or with an add_prefix_space that is neither true nor false"
        )
    if isinstance(prefix, bool) and (numbers(version) >= (4, 57) or name in _PUSHES):
        made = _with_prefix(made, add=prefix)
    if name == "BertTokenizerFast":
        made = _with_bert_options(made, config)
    if flags is not None:
        bos, eos = (
            bool(config.get(key, default)) for key, default in zip(("add_bos_token", "add_eos_token"), flags, strict=True)
        )
        made = with_ends(made, flagged(bos=bos, eos=eos), tokenizer)
    return made


def _with_prefix(made: Backend, *, add: bool) -> Backend:
    """The space in front of a text, which is pushed into a pre-tokenizer that is no sequence."""
    step: Any = msgspec.json.decode(made.pre_tokenizer)
    if (
        not isinstance(step, dict)
        or cast("dict[str, Any]", step).get("add_prefix_space", add) == add
        or step["type"] != "ByteLevel"
    ):
        return made
    return msgspec.structs.replace(made, pre_tokenizer=msgspec.json.encode({**step, "add_prefix_space": add}))


def _with_bert_options(made: Backend, config: Mapping[str, Any]) -> Backend:
    """The options of a BertNormalizer, of which those of tokenizer_config.json or else those of the class win."""
    step: Any = msgspec.json.decode(made.normalizer)
    if not isinstance(step, dict):
        raise NotKnownError("a Bert tokenizer without a normalizer")
    if cast("dict[str, Any]", step).get("type") != "BertNormalizer":
        return made
    given = {
        "lowercase": config.get("do_lower_case", True),
        "handle_chinese_chars": config.get("tokenize_chinese_chars", True),
        "strip_accents": config.get("strip_accents"),
    }
    return msgspec.structs.replace(made, normalizer=msgspec.json.encode({**step, **given}))
