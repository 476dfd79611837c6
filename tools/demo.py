"""Build a small model repository with half an end-of-sequence fix, and print the comment about it.

The half is the one that happened to a real model: config.json and generation_config.json stop on `<|im_end|>`,
tokenizer_config.json still says `[EOS]`, and the README refers to a commit that no branch holds.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

EOS, IM_END = 163585, 163586
TOKENS = {
    163584: "[BOS]",
    EOS: "[EOS]",
    IM_END: "<|im_end|>",
    163587: "<|im_user|>",
    163588: "<|im_assistant|>",
    163594: "<|im_system|>",
    163601: "<|im_middle|>",
    163838: "[UNK]",
    163839: "[PAD]",
}
TEMPLATE = """\
{%- for message in messages %}
    {{- '<|im_' + message.role + '|>' + message.role + '<|im_middle|>' + (message.content or '') + '<|im_end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_assistant|>assistant<|im_middle|>' }}
{%- endif %}
"""
WEIGHTS_POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'5c' * 32}\nsize 2795286\n"
README = "# Demo model\n\nA chat model in the shape of Kimi-K2.6.\n"
WHO = {"NAME": "Demo", "EMAIL": "demo@example.com", "DATE": "2026-05-01T12:00:00+0000"}


def text(value: Any) -> str:
    """JSON as model repositories write it."""
    return json.dumps(value, indent=2) + "\n"


def config(eos: int) -> str:
    """config.json, whose text model repeats the ids of the whole."""
    ids = {"bos_token_id": 163584, "eos_token_id": eos}
    inner = {"architectures": ["DeepseekV3ForCausalLM"], "model_type": "kimi_k2", "vocab_size": 163840, **ids}
    outer = {"architectures": ["KimiK25ForConditionalGeneration"], "model_type": "kimi_k25", "pad_token_id": 163839, **ids}
    return text({**outer, "text_config": inner})


def generation_config(eos: int) -> str:
    """generation_config.json with one stop token."""
    return text({"eos_token_id": eos, "max_length": 262144})


def tokenizer_config(eos: str) -> str:
    """tokenizer_config.json of a tokenizer whose code comes with the repository."""
    return text(
        {
            "added_tokens_decoder": {str(number): {"content": token, "special": True} for number, token in TOKENS.items()},
            "auto_map": {"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", None]},
            "bos_token": "[BOS]",
            "eos_token": eos,
            "pad_token": "[PAD]",
            "tokenizer_class": "TikTokenTokenizer",
            "unk_token": "[UNK]",
        }
    )


def git(repo: Path, *arguments: str) -> str:
    """Run git in the demo repository, with nobody's settings and a fixed author and date: the ids are always the same."""
    who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in WHO.items()}
    env = {**os.environ, **who, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    return subprocess.run(
        ["git", "-C", str(repo), *arguments], check=True, env=env, capture_output=True, text=True
    ).stdout.strip()


def commit(repo: Path, message: str, files: dict[str, str]) -> str:
    """Write the files and commit them; the new commit's id."""
    for name, content in files.items():
        (repo / name).write_text(content, encoding="utf-8")
    git(repo, "add", ".")
    git(repo, "commit", "--quiet", "--message", message)
    return git(repo, "rev-parse", "HEAD")


def build(repo: Path) -> str:
    """Branch `main`, branch `fix` one commit ahead, and the commit (returned) that the README of `fix` refers to.

    Only `refs/pull/31/head` holds that commit: it is the whole fix, of which `fix` brings a half.
    """
    git(repo, "init", "--quiet", "--initial-branch", "main")
    fixed = {"config.json": config(IM_END), "generation_config.json": generation_config(IM_END)}
    commit(
        repo,
        "Upload model",
        {
            ".gitattributes": "tiktoken.model filter=lfs diff=lfs merge=lfs -text\n",
            "README.md": README,
            "chat_template.jinja": TEMPLATE,
            "config.json": config(EOS),
            "generation_config.json": generation_config(EOS),
            "tiktoken.model": WEIGHTS_POINTER,
            "tokenization_kimi.py": "class TikTokenTokenizer: ...\n",
            "tokenizer_config.json": tokenizer_config("[EOS]"),
        },
    )
    git(repo, "switch", "--quiet", "--detach")
    whole = commit(repo, "End every turn on <|im_end|>", {**fixed, "tokenizer_config.json": tokenizer_config("<|im_end|>")})
    git(repo, "update-ref", "refs/pull/31/head", whole)
    git(repo, "switch", "--quiet", "--create", "fix", "main")
    claim = f'\nReplies end on `<|im_end|>` since commit {whole[:12]}:\nload the model with `revision="{whole}"` or newer.\n'
    commit(repo, "Stop on <|im_end|>", {**fixed, "README.md": README + claim})
    return whole


def main() -> int:
    """Print the comment; 0 when the comparison found the half fix, as it has to."""
    command = Path(sys.executable).with_name("model-repo-drift")
    with tempfile.TemporaryDirectory(prefix="drift-demo-") as folder:
        repo = Path(folder)
        build(repo)
        arguments = ["compare", "git:main", "git:fix", "--repo", folder, "--format", "markdown"]
        print(f"$ {command.name} {' '.join(arguments)}\n", file=sys.stderr, flush=True)
        status = subprocess.run([command, *arguments], check=False).returncode
    print(f"\nexit status {status}: 1 says that something new is wrong", file=sys.stderr)
    return 0 if status == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
