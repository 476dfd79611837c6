"""Small model folders put together by chance, mostly sound and often odd: the same number gives the same folder in every run."""

import json
import random
from typing import Any

LETTERS = "abcdefghijklmnop"
SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<s>", "</s>", "<unk>", "<pad>", "<extra>")
CLASSES = (
    "Qwen2Tokenizer",
    "Qwen2TokenizerFast",
    "LlamaTokenizer",
    "LlamaTokenizerFast",
    "GPT2Tokenizer",
    "PreTrainedTokenizerFast",
    "TokenizersBackend",
    "NoSuchTokenizer",
    "GemmaTokenizerFast",
    "CohereTokenizerFast",
)
MODEL_TYPES = ("qwen2", "qwen3", "llama", "gpt2", "gemma2", "mistral", "phi3", "glm4", "no_such_type", "deepseek_v3", "granite")
TEMPLATES = ("{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}", "{{ messages[0].content }}", "")


class _Chance:
    """Draws of one folder."""

    def __init__(self, number: int) -> None:
        self._random = random.Random(number)

    def happens(self, part: float) -> bool:
        return self._random.random() < part

    def one(self, *choices: Any) -> Any:
        return self._random.choice(choices)

    def some(self, choices: tuple[str, ...], most: int) -> list[str]:
        return self._random.sample(choices, self._random.randint(0, min(most, len(choices))))

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)


def repository(number: int) -> dict[str, str]:
    """The files of a folder, by name."""
    chance = _Chance(number)
    files: dict[str, Any] = {}
    if chance.happens(0.9):
        files["config.json"] = _config(chance)
    if chance.happens(0.8):
        files["generation_config.json"] = _generation_config(chance)
    if chance.happens(0.95):
        files["tokenizer.json"] = _tokenizer(chance)
    if chance.happens(0.95):
        files["tokenizer_config.json"] = _tokenizer_config(chance)
    if chance.happens(0.25):
        files["special_tokens_map.json"] = {
            role: chance.one(*SPECIALS) for role in chance.some(("eos_token", "bos_token", "pad_token"), 3)
        }
    if chance.happens(0.15):
        files["added_tokens.json"] = {text: chance.number(10, 40) for text in chance.some(SPECIALS, 3)}
    texts = {name: json.dumps(value) for name, value in files.items()}
    if chance.happens(0.3):
        texts["chat_template.jinja"] = chance.one(*TEMPLATES)
    if chance.happens(0.1):
        texts["additional_chat_templates/tool_use.jinja"] = chance.one(*TEMPLATES)
    if chance.happens(0.06):
        broken = chance.one(*texts) if texts else "config.json"
        texts[broken] = chance.one("", "[]", "null", "{", '"text"')
    return texts


def _eos(chance: _Chance) -> Any:
    """An eos_token_id, mostly a sound one."""
    return chance.one(2, 3, [2], [2, 5], [2, 2], None) if chance.happens(0.85) else chance.one(2.0, [], "</s>", 0, -1, 9999)


def _config(chance: _Chance) -> dict[str, Any]:
    config: dict[str, Any] = {"architectures": ["SomeForCausalLM"], "vocab_size": 64}
    if chance.happens(0.95):
        config["model_type"] = chance.one(*MODEL_TYPES)
    if chance.happens(0.7):
        config["eos_token_id"] = _eos(chance)
    if chance.happens(0.4):
        config[chance.one("dtype", "torch_dtype")] = chance.one("bfloat16", "float16", "float32")
    if chance.happens(0.15):
        config["quantization_config"] = chance.one({"quant_method": "fp8"}, {"quant_method": "gptq", "bits": 4}, None)
    if chance.happens(0.1):
        config["hidden_size"], config["num_attention_heads"] = chance.one((64, 4), (64, 5), ("64", 4), (64.0, 4))
    if chance.happens(0.1):
        config["rope_scaling"] = chance.one(
            None, {"rope_type": "linear", "factor": 2.0}, {"rope_type": "yarn"}, {"type": "dynamic", "factor": 4.0}
        )
    if chance.happens(0.1):
        config["tokenizer_class"] = chance.one(*CLASSES)
    if chance.happens(0.05):
        config["temperature"] = 0.7
    return config


def _generation_config(chance: _Chance) -> dict[str, Any]:
    config: dict[str, Any] = {}
    if chance.happens(0.75):
        config["eos_token_id"] = _eos(chance)
    for key, values in {
        "temperature": (0.6, 1.0, 0),
        "top_p": (0.9, 1.0),
        "top_k": (20, 50),
        "do_sample": (True, False),
        "max_new_tokens": (128, 0),
        "num_return_sequences": (1, 3),
        "repetition_penalty": (1.0, 1.1),
    }.items():
        if chance.happens(0.15):
            config[key] = chance.one(*values)
    return config


def _added(chance: _Chance, number: int, text: str) -> dict[str, Any]:
    flags = {name: chance.happens(0.1) for name in ("single_word", "lstrip", "rstrip", "normalized")}
    return {"id": number, "content": text, **flags, "special": chance.happens(0.8)}


def _tokenizer(chance: _Chance) -> dict[str, Any]:
    texts = chance.some(SPECIALS, 6)
    vocab = {letter: i for i, letter in enumerate((*LETTERS, "Ġ", "▁"))}
    merges: list[Any] = []
    if chance.happens(0.5):
        vocab["ab"], merges = len(vocab), [chance.one("a b", ["a", "b"])]
    if chance.happens(0.04):
        merges = ["a zz"]
    if chance.happens(0.2):
        vocab["<unk>"] = len(vocab)
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    start = len(vocab) + chance.one(0, 0, 0, 3)
    return {
        "version": "1.0",
        "added_tokens": [_added(chance, start + i, text) for i, text in enumerate(texts)],
        "normalizer": chance.one(None, {"type": "NFC"}),
        "pre_tokenizer": chance.one(None, byte_level),
        "decoder": chance.one(None, byte_level),
        "model": {"type": "BPE", "vocab": vocab, "merges": merges, "unk_token": None},
    }


def _token(chance: _Chance) -> Any:
    text = chance.one(*SPECIALS)
    return chance.one(text, text, text, {"__type": "AddedToken", "content": text, "special": True}, {"content": text})


def _tokenizer_config(chance: _Chance) -> dict[str, Any]:
    config: dict[str, Any] = {}
    if chance.happens(0.85):
        config["tokenizer_class"] = chance.one(*CLASSES)
    for role, part in (("eos_token", 0.8), ("bos_token", 0.4), ("pad_token", 0.5), ("unk_token", 0.2)):
        if chance.happens(part):
            config[role] = chance.one(_token(chance), chance.one(*SPECIALS), None)
    if chance.happens(0.5):
        texts = chance.some(SPECIALS, 5)
        rows = (_added(chance, chance.number(16, 30), text) for text in texts)
        config["added_tokens_decoder"] = {str(row.pop("id")): row for row in rows}
    if chance.happens(0.2):
        config["extra_special_tokens"] = chance.one([], ["<extra>"], {}, {"image_token": "<extra>"}, "<extra>")
    if chance.happens(0.15):
        config["additional_special_tokens"] = chance.some(SPECIALS, 2)
    if chance.happens(0.5):
        config["chat_template"] = chance.one(
            *TEMPLATES, [{"name": "default", "template": TEMPLATES[0]}, {"name": "tool_use", "template": TEMPLATES[1]}]
        )
    if chance.happens(0.2):
        config["add_bos_token"] = chance.happens(0.5)
    return config
