"""Made-up folders of small tokenizers, by chance: byte-level and SentencePiece-like ones, with added tokens, flags and options."""

import json
from random import Random
from typing import Any

WORDS = [
    "hello",
    "world",
    "leading",
    "space",
    "naive",
    "cafe",
    "def",
    "return",
    "import",
    "the",
    "their",
    "there",
    "12345",
    "2024",
    "x",
    "y",
    "foo",
    "bar",
]
TEXTS = (
    "Hello world",
    " leading space",
    "<|im_end|>",
    "naïve café 東京",
    "def f(x):\n    return x",
    "12345",
    "it's IT'LL  be<s>  <|a|> there</s>",
    "cafe\u0301 foo <|im_end|>\tbar<|b|>baz <mask>",
    "",
    "   ",
)
SPECIALS: tuple[str, ...] = ("<|im_end|>", "<|a|>", "<|b|>", "<s>", "</s>", "<unk>", "the", "<mask>")
CLASSES: tuple[str, ...] = (
    "Qwen2Tokenizer",
    "LlamaTokenizer",
    "LlamaTokenizerFast",
    "GemmaTokenizer",
    "GPT2Tokenizer",
    "PreTrainedTokenizerFast",
    "TokenizersBackend",
    "CohereTokenizer",
    "GPTNeoXTokenizer",
    "BertTokenizer",
    "CodeLlamaTokenizer",
)
TYPES = ("llama", "qwen2", "qwen3", "gemma", "gpt2", "phi3", "gpt_neox", "mistral", "bert", "cohere", "deepseek_v3", "strange")
SPLITS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)


def byte_letters() -> dict[int, str]:
    """The character that stands for each byte in a byte-level vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {**{byte: chr(byte) for byte in plain}, **{byte: chr(256 + i) for i, byte in enumerate(others)}}


def folder(random: Random) -> dict[str, str]:
    """The files of one folder by name."""
    bytewise = random.random() < 0.55
    vocab, merges = _byte_level(random) if bytewise else _pieces(random)
    model: dict[str, Any] = {"type": "BPE", "vocab": vocab, "merges": _written(random, merges)}
    if random.random() < 0.5:
        model |= {
            "fuse_unk": random.random() < 0.5,
            "byte_fallback": random.random() < 0.5,
            "ignore_merges": random.random() < 0.5,
        }
    if not bytewise and random.random() < 0.7:
        model["unk_token"] = "<unk>"
    if random.random() < 0.08:
        whole = {word: i for i, word in enumerate(dict.fromkeys([*WORDS, "[UNK]", "[CLS]", "[SEP]", "##s", *"abcdefgh"]))}
        options = {"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
        model = {"type": "WordPiece", "vocab": whole, **options}
    file: dict[str, Any] = {
        "version": "1.0",
        "truncation": _maybe(random, 0.1, {"max_length": 3, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}),
        "padding": _maybe(random, 0.1, _padding()),
        "added_tokens": [{"id": random.randrange(500), "content": text, **_flags(random)} for text in _some(random, 4)],
        "normalizer": _normalizer(random, bytewise=bytewise),
        "pre_tokenizer": _pre_tokenizer(random, bytewise=bytewise),
        "post_processor": _post_processor(random, model["vocab"]),
        "decoder": None,
        "model": model,
    }
    if model["type"] == "WordPiece" and random.random() < 0.7:
        flags = {name: random.random() < 0.5 for name in ("clean_text", "handle_chinese_chars", "lowercase")}
        file["normalizer"] = {"type": "BertNormalizer", **flags, "strip_accents": random.choice([None, True, False])}
        file["pre_tokenizer"] = {"type": "BertPreTokenizer"}
    files = {"tokenizer.json": json.dumps(file), "tokenizer_config.json": json.dumps(_config(random))}
    if random.random() < 0.5:
        files["config.json"] = json.dumps({"model_type": random.choice(TYPES)})
    if random.random() < 0.2:
        files["special_tokens_map.json"] = json.dumps({"eos_token": random.choice(SPECIALS)})
    if random.random() < 0.05:
        del files["tokenizer.json"]
    return files


def _byte_level(random: Random) -> tuple[dict[str, int], list[tuple[str, str]]]:
    letters = byte_letters()
    alphabet = [letter for letter in letters.values() if random.random() < 0.97]
    words = ["".join(letters[byte] for byte in (random.choice(["", " "]) + word).encode()) for word in WORDS]
    return _merged(random, alphabet, words)


def _pieces(random: Random) -> tuple[dict[str, int], list[tuple[str, str]]]:
    alphabet = ["<unk>", "<s>", "</s>"] if random.random() < 0.8 else []
    alphabet += [f"<0x{byte:02X}>" for byte in range(256)] if random.random() < 0.5 else []
    alphabet += ["▁", *(letter for letter in "abcdefghijklmnopqrstuvwxyzHIT0123456789'():\n" if random.random() < 0.95)]
    return _merged(random, alphabet, [random.choice(["", "▁"]) + word for word in WORDS] + ["▁▁"])


def _merged(random: Random, alphabet: list[str], words: list[str]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """A vocabulary with merges that lead from its letters towards words."""
    known = dict.fromkeys(alphabet)
    merges: dict[tuple[str, str], None] = {}
    for word in random.sample(words, random.randint(0, len(words))):
        parts = list(word)
        while len(parts) > 1 and random.random() < 0.9:
            at = random.randrange(len(parts) - 1)
            left, right = parts[at : at + 2]
            if left not in known or right not in known:
                break
            parts[at : at + 2] = [left + right]
            known[left + right] = merges[left, right] = None
    return {piece: i for i, piece in enumerate(known)}, list(merges)


def _written(random: Random, merges: list[tuple[str, str]]) -> list[Any]:
    return [" ".join(merge) for merge in merges] if random.random() < 0.5 else [list(merge) for merge in merges]


def _maybe(random: Random, chance: float, value: Any) -> Any:
    return value if random.random() < chance else None


def _padding() -> dict[str, Any]:
    block: dict[str, Any] = {"strategy": {"Fixed": 16}, "direction": "Right", "pad_to_multiple_of": None}
    return {**block, "pad_id": 0, "pad_type_id": 0, "pad_token": "<unk>"}


def _flags(random: Random) -> dict[str, bool]:
    return {
        "single_word": random.random() < 0.1,
        "lstrip": random.random() < 0.15,
        "rstrip": random.random() < 0.15,
        "normalized": random.random() < 0.3,
        "special": random.random() < 0.6,
    }


def _some(random: Random, most: int) -> list[str]:
    found = random.sample(SPECIALS, random.randint(0, most))
    return found + random.sample(found, 1) if found and random.random() < 0.1 else found


def _normalizer(random: Random, *, bytewise: bool) -> Any:
    steps: list[Any] = [
        {"type": "NFC"},
        {"type": "Lowercase"},
        {"type": "Strip", "strip_left": True, "strip_right": False},
        {"type": "Replace", "pattern": {"String": "foo"}, "content": "bar"},
    ]
    if not bytewise:
        marks = [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]
        steps += [{"type": "Sequence", "normalizers": marks}] * 4 + marks[1:] * 2
    return _maybe(random, 0.6, random.choice(steps))


def _pre_tokenizer(random: Random, *, bytewise: bool) -> Any:
    if not bytewise:
        mark = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": random.choice(["first", "always", "never"])}
        return _maybe(random, 0.5, {**mark, "split": random.random() < 0.5})
    front = {"type": "ByteLevel", "add_prefix_space": random.random() < 0.3, "trim_offsets": True}
    plain = {**front, "use_regex": random.random() < 0.7}
    split = {"type": "Split", "pattern": {"Regex": random.choice(SPLITS)}, "behavior": "Isolated", "invert": False}
    sequence = {"type": "Sequence", "pretokenizers": [split, {**front, "use_regex": False}]}
    return random.choice(
        [plain, sequence, {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, plain]}]
    )


def _post_processor(random: Random, vocab: dict[str, int]) -> Any:
    byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
    token = random.choice(["<s>", "<|a|>", "[CLS]"])
    template = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": token, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {token: {"id": token, "ids": [vocab.get(token, 7)], "tokens": [token]}},
    }
    both = {"type": "Sequence", "processors": [byte_level, template]}
    return random.choice([None, byte_level, template, template, both])


def _config(random: Random) -> dict[str, Any]:
    config: dict[str, Any] = {}
    if random.random() < 0.9:
        config["tokenizer_class"] = random.choice(CLASSES)
    for role in ("bos_token", "eos_token", "pad_token", "unk_token"):
        if random.random() < 0.4:
            text = random.choice(SPECIALS)
            config[role] = text if random.random() < 0.7 else {"__type": "AddedToken", "content": text, **_flags(random)}
    if random.random() < 0.6:
        decoder = {str(random.randrange(400)): {"content": text, **_flags(random)} for text in _some(random, 4)}
        config["added_tokens_decoder"] = decoder
    for option, chance in (("add_bos_token", 0.3), ("add_eos_token", 0.2), ("add_prefix_space", 0.15), ("legacy", 0.3)):
        if random.random() < chance:
            config[option] = random.choice([True, False, False, None])
    for option, chance in (
        ("split_special_tokens", 0.05),
        ("do_lower_case", 0.3),
        ("strip_accents", 0.2),
        ("tokenize_chinese_chars", 0.2),
    ):
        if random.random() < chance:
            config[option] = random.random() < 0.5
    if random.random() < 0.15:
        config["additional_special_tokens"] = _some(random, 2)
    return config
