"""What the installed transformers really does with the model folder that the process stands in.

The answers have the keys of a prediction, so that both can be compared. Imported by the process that proves, and by nobody else: transformers takes
longer to import than a comparison takes.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from transformers import AutoConfig, AutoTokenizer, GenerationConfig

_HERE = "."  # a path that no rule on the name of a folder applies to
_ROLES = ("eos", "bos", "pad")
_LONGEST = 2000
_INT64 = 1 << 63
# The settings that a record holds as `sampling_defaults`.
_SAMPLING = ("do_sample", "temperature", "top_k", "top_p", "max_length", "max_new_tokens", "repetition_penalty")


def outcome(texts: Iterable[str] = ()) -> tuple[dict[str, Any], dict[str, str]]:
    """Load configuration, generation defaults and tokenizer of the working directory, without network and without the repository's code.

    Returns the answers by key ("loads.tokenizer", "eos_token_id", …; see `engines.prediction.Prediction`), and by step ("config",
    "generation_config", "tokenizer") the exception's class of each load that failed. `loads` is False as well where there is no file to be
    loaded. "encode" holds the ids of `texts`, and is left out where there are none.
    """
    failed: dict[str, str] = {}
    answers = _config(failed) | _generation(failed) | _tokenizer(failed, tuple(texts))
    steps = ("config", "generation_config", "tokenizer")
    return {**{f"loads.{step}": step not in failed for step in steps}, **answers}, failed


def _config(failed: dict[str, str]) -> dict[str, Any]:
    try:
        config = AutoConfig.from_pretrained(_HERE, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # noqa: BLE001 - whatever it raises is the answer
        failed["config"] = type(error).__name__
        return {"errors.config.type": failed["config"]}
    settings = getattr(config, "quantization_config", None)
    settings = settings if isinstance(settings, dict) or settings is None else settings.to_dict()
    dtype = getattr(config, "dtype", None)
    return {
        "dtype": None if dtype is None else str(dtype).removeprefix("torch."),
        "quantization": settings.get("quant_method") if settings else None,
    }


def _generation(failed: dict[str, str]) -> dict[str, Any]:
    """`stops` and `sampling_defaults`, as the loader of a model sets them up (generation/utils.py:562-586 in 5.24.0, read; the two loads are run).

    A file that is not there or not JSON is replaced by the raw config.json; any other failure ends the load of the model, and both are None.
    """
    nothing: dict[str, Any] = {"stops": None, "sampling_defaults": None}
    try:
        found = GenerationConfig.from_pretrained(_HERE, local_files_only=True)
    except Exception as error:  # noqa: BLE001 - whatever it raises is the answer
        failed["generation_config"] = type(error).__name__
        if not isinstance(error, OSError) or "config" in failed:  # there is no model that could stop
            return nothing
    else:
        return _settings(found)
    try:
        found = GenerationConfig.from_pretrained(
            _HERE, config_file_name="config.json", _from_model_config=True, local_files_only=True
        )
    except Exception:  # noqa: BLE001 - whatever it raises ends the load of the model, as above
        return nothing
    return _settings(found)


def _settings(found: GenerationConfig) -> dict[str, Any]:
    """The ids that become a tensor, none where one of the roles cannot (generation/utils.py:2373-2385 in 5.24.0, read), and the settings that count."""
    roles = [_ids(getattr(found, f"{role}_token_id")) for role in (*_ROLES, "decoder_start")]
    stops = sorted(set(roles[0] or ())) if None not in roles else []
    stated = found.to_diff_dict()
    return {"stops": stops or None, "sampling_defaults": {key: stated[key] for key in _SAMPLING if key in stated}}


def _ids(value: Any) -> list[int] | None:
    """The ids of one role, none where it is absent; None for what cannot become a tensor of 64-bit numbers."""
    ids = value if isinstance(value, list) else [value] if value is not None else []
    whole = [int(each) for each in ids if isinstance(each, int | float) and abs(each) < _INT64]
    return whole if len(whole) == len(ids) else None


def _tokenizer(failed: dict[str, str], texts: tuple[str, ...]) -> dict[str, Any]:
    try:
        found = AutoTokenizer.from_pretrained(_HERE, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # noqa: BLE001 - whatever it raises is the answer
        failed["tokenizer"] = type(error).__name__
        return {"errors.tokenizer.type": failed["tokenizer"]}
    answers: dict[str, Any] = {
        "tokenizer_class": type(found).__name__,
        **{f"{role}_token": getattr(found, f"{role}_token") for role in _ROLES},
        **{f"{role}_token_id": getattr(found, f"{role}_token_id") for role in _ROLES},
        "all_special_ids": sorted(found.all_special_ids),
        "added_tokens": _added(found.added_tokens_decoder),
        "len_tokenizer": len(found),
    }
    if texts:
        answers["encode"] = {text: list(found(text)["input_ids"]) for text in texts}
    return answers | _template(found)


def _added(tokens: dict[int, Any]) -> dict[str, Any]:
    """The added tokens by id; of a long list their count and the digest of its canonical JSON."""
    rows = {str(number): {"content": token.content, "special": token.special} for number, token in sorted(tokens.items())}
    if len(rows) <= _LONGEST:
        return rows
    canonical = json.dumps(rows, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return {"count": len(rows), "sha256": _digest(canonical)}


def _template(found: Any) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    try:
        answers["template.sha256"] = _digest(found.get_chat_template())
    except ValueError:  # it has no template, or several and none by default
        answers["template.sha256"] = None
    if isinstance(found.chat_template, dict):
        answers["template.named"] = {name: _digest(text) for name, text in found.chat_template.items()}
    return answers


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
