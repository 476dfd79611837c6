"""A small model repository with a pull request, as a real git repository."""

import json
from pathlib import Path

from tests.repositories import GitRepository

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


class ModelRepository(GitRepository):
    """A repository whose `main` is whole; `change` is a branch for the test to spoil."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        tokens = {str(place): _token(text) for place, text in ((1, "<|im_start|>"), (2, "<|endoftext|>"), (3, "<|im_end|>"))}
        files: dict[str, object] = {
            "config.json": {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "vocab_size": 8, "eos_token_id": 3},
            "generation_config.json": {"eos_token_id": 3},
            "tokenizer_config.json": {
                "tokenizer_class": "Qwen2Tokenizer",
                "eos_token": "<|im_end|>",
                "pad_token": "<|endoftext|>",
                "chat_template": TEMPLATE,
                "added_tokens_decoder": tokens,
            },
            "tokenizer.json": _tokenizer(),
        }
        self.commit("Add the model", {name: _text(content) for name, content in files.items()})
        self.git("switch", "--quiet", "--create", "change")

    def sha(self, revision: str = "HEAD") -> str:
        """The id of a commit."""
        return self.git("rev-parse", revision)

    def spoil(self, message: str = "Stop on end of text") -> str:
        """Let generation_config.json stop on a token that ends no turn; the commit's id."""
        return self.commit(message, {"generation_config.json": _text({"eos_token_id": 2})})

    def propose(self) -> None:
        """Make of the branch `change` what the Hub knows as pull request 1: a ref, and no branch."""
        self.git("update-ref", "refs/pr/1", "change")
        self.git("switch", "--quiet", "main")
        self.git("branch", "--quiet", "--delete", "--force", "change")

    def repair(self) -> str:
        """Take the spoiling back in a further commit; the commit's id."""
        return self.commit("Stop on the end of a turn again", {"generation_config.json": _text({"eos_token_id": 3})})


def _text(content: object) -> str:
    return json.dumps(content, indent=2) + "\n"


def _token(text: str) -> dict[str, object]:
    return {"content": text, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}


def _tokenizer() -> dict[str, object]:
    added = [{"id": place, **_token(text)} for place, text in ((1, "<|im_start|>"), (2, "<|endoftext|>"), (3, "<|im_end|>"))]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "vocab": {"a": 0}, "merges": []},
    }
