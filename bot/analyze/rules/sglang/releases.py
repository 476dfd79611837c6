"""What differs between the releases of sglang that are predicted.

Read in the wheel of each: package metadata pins transformers exactly; a function that is called the same below has the same syntax tree in the releases
that are said to share it.
"""

import msgspec

_EOM = ("<|eom_id|>",)
_BUILTIN = {
    "internvl_chat": "internvl-2-5",
    "deepseek_vl_v2": "deepseek-vl2",
    "multi_modality": "janus-pro",
    "phi4mm": "phi-4-mm",
    "minicpmv": "minicpmv",
    "minicpmo": "minicpmo",
}
_OCR = {**_BUILTIN, "deepseek-ocr": "deepseek-ocr"}
_SPEECH = {**_OCR, "paddleocr_vl": "paddle-ocr", "whisper": "whisper"}
_MOSS = {**_SPEECH, "moss_vl": "moss-vl"}
_NEWEST = {**_MOSS, "unlimited-ocr": "unlimited-ocr"}


class Release(msgspec.Struct, frozen=True):
    """One release, by its `name`.

    `pin` is the version of transformers that it requires, `transformers` the nearest that is modelled. `tables` are the releases whose
    configuration classes were run (see types.py); of two, one older and one newer, what both agree on holds. `always` are the tokens that stop every request once they are added.
    `builtin` are the model types with a conversation of sglang's own, None where that was not looked up.
    `generation` says whether generation_config.json is read, `sampling` whether it gives defaults for sampling.
    `tokenizer` is what follows AutoTokenizer: "" nothing, "trusting" a second try that runs the repository's code, "declared" one by the declared class.
    `names` says that of several named templates the first is taken.
    """

    name: str
    pin: str
    transformers: str
    tables: tuple[str, ...] = ()
    always: tuple[str, ...] = _EOM
    builtin: dict[str, str] | None = None
    generation: bool = True
    sampling: bool = True
    tokenizer: str = ""
    names: bool = True
    source: str = ""

    @property
    def five(self) -> bool:
        """Whether it runs on transformers 5."""
        return self.pin.startswith("5.")


# model_config.py: _get_hf_eos_token_id is the same from 0.5.3, get_default_sampling_params from 0.5.6, as schedule_batch.py _check_token_based_finish;
# jinja_template_utils.py detect_jinja_template_content_format from 0.5.3; template_manager.py _resolve_hf_chat_template from 0.5.9; hf_transformers/tokenizer.py
# _load_tokenizer_by_declared_class from 0.5.15, with other logging only from 0.5.12.
RELEASES: dict[str, Release] = {
    "0.4.6": Release(
        "0.4.6",
        "4.51.1",
        "4.57.6",
        generation=False,
        sampling=False,
        names=False,
        source="sglang 0.4.6 srt/configs/model_config.py:365 (read)",
    ),
    "0.5.3": Release(
        "0.5.3",
        "4.57.0",
        "4.57.6",
        builtin=_BUILTIN,
        sampling=False,
        names=False,
        source="sglang 0.5.3 srt/configs/model_config.py:640 (read)",
    ),
    "0.5.6": Release(
        "0.5.6",
        "4.57.1",
        "4.57.6",
        ("0.5.9",),
        builtin=_OCR,
        names=False,
        source="sglang 0.5.6 srt/configs/model_config.py:749 (read)",
    ),
    "0.5.9": Release(
        "0.5.9",
        "4.57.1",
        "4.57.6",
        ("0.5.9",),
        builtin={**_OCR, "paddleocr_vl": "paddle-ocr"},
        source="sglang 0.5.9 srt/configs/model_config.py:1032 (configuration and tokenizer run, else read)",
    ),
    "0.5.10": Release(
        "0.5.10",
        "5.3.0",
        "5.3.0",
        ("0.5.10",),
        builtin=_SPEECH,
        tokenizer="trusting",
        source="sglang 0.5.10 srt/configs/model_config.py:1110 (configuration and tokenizer run, else read)",
    ),
    "0.5.12": Release(
        "0.5.12",
        "5.6.0",
        "5.6.2",
        ("0.5.10", "0.5.15"),
        builtin=_MOSS,
        tokenizer="declared",
        source="sglang 0.5.12 srt/configs/model_config.py:1309 (read)",
    ),
    "0.5.15": Release(
        "0.5.15",
        "5.12.1",
        "5.12.1",
        ("0.5.15",),
        builtin=_NEWEST,
        tokenizer="declared",
        source="sglang 0.5.15 srt/configs/model_config.py:1448 (configuration and tokenizer run, else read)",
    ),
    "0.5.18": Release(
        "0.5.18",
        "5.12.1",
        "5.12.1",
        ("0.5.15", "0.5.23"),
        always=(*_EOM, "<|content_model_end_sampling|>"),
        builtin=_NEWEST,
        tokenizer="declared",
        source="sglang 0.5.18 srt/configs/model_config.py:1622 (read)",
    ),
    "0.5.21": Release(
        "0.5.21",
        "5.12.1",
        "5.12.1",
        ("0.5.15", "0.5.23"),
        always=(*_EOM, "<|content_model_end_sampling|>", "<|ifm|im_end|>"),
        builtin=_NEWEST,
        tokenizer="declared",
        source="sglang 0.5.21 srt/configs/model_config.py:1999 (read)",
    ),
    "0.5.23": Release(
        "0.5.23",
        "5.19.0",
        "5.19.0",
        ("0.5.23",),
        always=(*_EOM, "<|content_model_end_sampling|>", "<|ifm|im_end|>"),
        builtin=_NEWEST,
        tokenizer="declared",
    ),
}
NEWEST = "0.5.23"
