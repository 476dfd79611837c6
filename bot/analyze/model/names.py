"""Which model types and tokenizer classes some version of an engine knows by itself."""

from typing import Any

import msgspec

from bot.analyze import data


class _Names(msgspec.Struct, frozen=True):
    model_types: frozenset[str]
    tokenizer_classes: frozenset[str]
    processed: frozenset[str] = frozenset()


# Read while the module is imported: afterwards no file may be within reach. Written by tools/names.py.
_ALL = msgspec.json.decode(data.content("names.json"), type=dict[str, _Names])

NEWEST = (5, 24, 0)  # the last version of transformers whose names are in the table

# Model types whose configuration class vLLM brings along (main of November 2026, transformers_utils/config.py:78-146) ...
_VLLM = frozenset(
    [
        "afmoe",
        "axk1",
        "bagel",
        "bailing_moe_v3_vl",
        "chatglm",
        "modernvbert",
        "colpali",
        "colqwen3",
        "ops_colqwen3",
        "qwen3_vl_nemotron_embed",
        "cosmos3_omni",
        "cosmos3_edge",
        "diffusion_gemma",
        "deepseek_vl_v2",
        "deepseek_v32",
        "deepseek_v4",
        "deepseek_v41",
        "dots3_note",
        "k3_dspark",
        "funaudiochat",
        "granite4_vision",
        "glm5_next",
        "glm5_next_text",
        "glm5_next_vision",
        "hyperclovax",
        "hy_v3",
        "hy_v4",
        "isaac",
        "kimi_k2",
        "kimi_linear",
        "kimi_vl",
        "kimi_k25",
        "kimi_k3",
        "muse_glimmer",
        "muse_glimmer_text",
        "muse_glimmer_vision",
        "muse_glimmer_assistant",
        "RefinedWeb",
        "RefinedWebModel",
        "mlp_speculator",
        "medusa",
        "midashenglm",
        "minimax_m3_vl",
        "minimax_m3_mtp",
        "moondream3",
        "moss_transcribe_diarize",
        "eagle",
        "speculators",
        "nemotron",
        "olmo_hybrid",
        "openvla",
        "ovis",
        "ultravox",
        "step3_vl",
        "step3_text",
        "step3p5",
        "qianfan_ocr",
        "qwen3_asr",
        "qwen3_next",
        "qwen4_exp",
        "qwen4_exp_text",
        "qwen3_5",
        "qwen3_5_text",
        "qwen3_5_moe",
        "qwen3_5_moe_text",
        "lfm2_moe",
        "unlimited-ocr",
        "inkling_mm_model",
        "inkling_model",
    ]
)
# ... and sglang (0.5.23, srt/utils/hf_transformers/common.py:117-279 and the classes of srt/configs).
_SGLANG = frozenset(
    [
        "NemotronH_Nano_Omni_Reasoning_V3",
        "NemotronH_Nano_VL_V2",
        "afmoe",
        "bailing_hybrid",
        "bailing_moe_v2",
        "bailing_moe_v3_vl",
        "bailingmm_moe_v2_lite",
        "beam",
        "chatglm",
        "cohere2_moe",
        "cosmos3_edge",
        "cosmos3_omni",
        "dbrx",
        "deepseek-ocr",
        "deepseek_v32",
        "deepseek_v4",
        "deepseek_v41",
        "deepseek_v41_text",
        "deepseek_vl_v2",
        "dots3_note",
        "dots_ocr",
        "dots_vlm",
        "exaone",
        "falcon_h1",
        "falcon_mamba",
        "gemma4_unified",
        "gigachat3_5",
        "glm5_next",
        "glm5_next_text",
        "granitemoehybrid",
        "hy_v4",
        "inkling_mm_model",
        "inkling_model",
        "intern_s2_preview",
        "internlm2",
        "interns2_mobius",
        "interns2_mobius_text",
        "internvl_chat",
        "iquest_q1",
        "iquest_q1_mtp",
        "jet_nemotron",
        "jet_vlm",
        "k2_horizon",
        "kimi_k2",
        "kimi_k25",
        "kimi_k3",
        "kimi_linear",
        "kimi_vl",
        "laguna",
        "locateanything",
        "longcat_flash",
        "mamba",
        "mamba2",
        "mellum",
        "minicpm_sala",
        "minicpmv4_6",
        "minicpmv4_7",
        "minimax_m3_vl",
        "multi_modality",
        "muse_glimmer",
        "muse_glimmer_assistant",
        "muse_spark",
        "nanbeige",
        "nemotron_h",
        "nemotron_h_omni",
        "nemotron_h_puzzle",
        "olmo3",
        "pointsv1.5_chat",
        "qwen3_asr",
        "radio",
        "spark2_5",
        "step3_vl",
        "step3p5",
        "step3p7",
        "unlimited-ocr",
        "xllm",
        "zaya",
    ]
)


def knows_model_type(name: Any) -> bool:
    """Whether AutoConfig of transformers 4.57.6 or 5.24.0 has a class for a model type."""
    return isinstance(name, str) and any(name in names.model_types for names in _ALL.values())


def served_anyway(name: Any) -> bool:
    """Whether vLLM or sglang bring a class of their own for a model type that transformers may not know."""
    return isinstance(name, str) and (name in _VLLM or name in _SGLANG)


def knows_tokenizer_class(name: Any) -> bool:
    """Whether AutoTokenizer of transformers 4.57.6 or 5.24.0 finds a class by its name; both try it with and without Fast.

    4.57.6 models/auto/tokenization_auto.py:807, 5.24.0 models/auto/tokenization_auto.py:508.
    """
    return isinstance(name, str) and any(name.removesuffix("Fast") in names.tokenizer_classes for names in _ALL.values())


def is_processed(name: Any) -> bool:
    """Whether models of a type come with a processor of images, sounds or several kinds of input."""
    return isinstance(name, str) and any(name in names.processed for names in _ALL.values())
