"""Measure a comparison against loading both revisions in transformers, as whole processes, and print the ratio.

The pair has an 11 MB tokenizer.json that did not change; what did is one line of the generation config.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 5
TARGET = 0.1
BYTES = 11_000_000
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LOAD_BOTH = """
import sys
from transformers import AutoTokenizer
for folder in sys.argv[1:]:
    AutoTokenizer.from_pretrained(folder)
"""


def byte_letters() -> list[str]:
    """The 256 letters that byte-level BPE writes bytes with."""
    shown = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return [chr(byte) for byte in shown] + [chr(256 + n) for n in range(len(hidden))]


def tokenizer_json(length: int = BYTES) -> str:
    """A byte-level BPE tokenizer of about `length` bytes, always the same, in the layout that the library writes."""
    chance = random.Random(1)
    tokens = byte_letters()
    known, merges, size = set(tokens), list[list[str]](), 0
    while size < length:
        # Mostly short words grown from earlier ones, as training leaves them.
        left, right = tokens[int(len(tokens) * chance.random() ** 2)], tokens[int(len(tokens) * chance.random() ** 3)]
        if len(left + right) <= 16 and left + right not in known:
            known.add(left + right)
            tokens.append(left + right)
            merges.append([left, right])
            size += (
                2 * len(json.dumps(left + right, ensure_ascii=False).encode()) + 53
            )  # the rest of the lines of the two entries
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    whole = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": len(tokens) + n, "content": text, **flags} for n, text in enumerate(SPECIAL)],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": merges,
        },
    }
    return json.dumps(whole, indent=2, ensure_ascii=False)


def write_pair(root: Path) -> tuple[Path, Path]:
    """Two revisions of a Qwen-like model folder with the same tokenizer."""
    tokenizer = tokenizer_json()
    last = max(token["id"] for token in json.loads(tokenizer)["added_tokens"])
    for side, stops in (("base", [last, last - 2]), ("head", [last])):
        folder = root / side
        folder.mkdir()
        documents = {
            "config.json": {
                "architectures": ["Qwen2ForCausalLM"],
                "model_type": "qwen2",
                "eos_token_id": last,
                "vocab_size": last + 1,
            },
            "generation_config.json": {"eos_token_id": stops},
            "tokenizer_config.json": {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "eos_token": SPECIAL[2],
                "pad_token": SPECIAL[0],
                "chat_template": TEMPLATE,
            },
        }
        for name, document in documents.items():
            (folder / name).write_text(json.dumps(document, indent=2), encoding="utf-8")
        (folder / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
    return root / "base", root / "head"


def seconds(*command: str | Path) -> float:
    """How long a process takes; it has to succeed."""
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    start = time.perf_counter()
    subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> int:
    """Print medians and ratio; 1 when the ratio is over its target."""
    command = Path(sys.executable).with_name("model-repo-drift")
    with tempfile.TemporaryDirectory(prefix="drift-bench-") as folder:
        base, head = write_pair(Path(folder))
        size = (base / "tokenizer.json").stat().st_size / 1e6
        ours, theirs = list[float](), list[float]()
        for _ in range(ROUNDS):  # in turns, so that a busy minute hits both
            ours.append(seconds(command, "compare", base, head, "--format", "json", "--fail-on", "never"))
            theirs.append(seconds(sys.executable, "-c", LOAD_BOTH, base, head))
    a, b = statistics.median(ours), statistics.median(theirs)
    print(f"tokenizer.json {size:.1f} MB, unchanged; medians of {ROUNDS} whole processes")
    print(f"compare                                 {a:6.2f} s  ({min(ours):.2f} to {max(ours):.2f})")
    print(f"import transformers, load both          {b:6.2f} s  ({min(theirs):.2f} to {max(theirs):.2f})")
    print(f"ratio                                   {a / b:6.3f}    (at most {TARGET})")
    return 0 if a / b <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
