"""Folders put together by chance whose chat templates and tokens have every shape, and the transformers that renders with them."""

import json
import random
from contextlib import chdir
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from bot.probe import Probe
from tests.random_repositories import repository

ALL_TOKENS = (
    "{% for n in [bos_token, eos_token, unk_token, sep_token, pad_token, cls_token, mask_token, image_token, extra_token, foo, "
    "additional_special_tokens, extra_special_tokens] %}[{{ n is defined }}|{{ n }}]{% endfor %}{{ messages[0].content }}"
)
TEXTS = (
    *(ALL_TOKENS, ALL_TOKENS, ALL_TOKENS, "{% for m in messages %}{{ m.role + m.content }}{% endfor %}", "{% if %}"),
    *("{{ raise_exception('x') }}", "", "{{ bos_token + 'x' }}", "x\r\ny\rz\n", "{{ messages | tojson }}"),
    *("{{ additional_special_tokens | join(',') }}", "{{ tools | tojson }}{% set ns = namespace(_a=1) %}"),
)
SHAPES: tuple[Any, ...] = (
    *(None, 5, True, False, 1.5, "", [], {}, {"default": None}, {"default": 5}, {"default": ALL_TOKENS}, {"tool_use": "t"}),
    *({"rag": "x"}, {"__type": "AddedToken", "content": "x"}, [["name", "template"]], [{"name": 5, "template": "x"}]),
    [{"name": "default", "template": ALL_TOKENS}, {"name": "tool_use", "template": "tool{{ tools | length }}"}],
    *([{"name": "tool_use", "template": ALL_TOKENS}], [{"name": None, "template": "x"}]),
    [{"name": "default", "template": "a"}, {"name": "default", "template": "b"}],
)
TOKENS: tuple[Any, ...] = ("<extra>", "<|im_end|>", "", "new", {"__type": "AddedToken", "content": "<s>", "special": True})
ODD = (*TOKENS, None, 5)
ROLES = ("bos_token", "eos_token", "sep_token", "pad_token", "cls_token", "mask_token")
# Names that tokens may have: of their own, of a role, and of arguments that the template is given beside them.
NAMES = ("foo", "image_token", "eos_token", "messages", "tools", "self", "conversations", "add_generation_prompt", "range")


def folder(number: int) -> dict[str, str]:
    """The files of a folder by name; a number gives the same in every run."""
    chance, files = random.Random(f"chat {number}"), repository(number)
    try:
        config: Any = json.loads(files.get("tokenizer_config.json", "{}"))
    except ValueError:
        return files
    if not isinstance(config, dict):
        return files
    config.update({name: _token(chance) for name in (*ROLES, "image_token", "extra_token") if chance.random() < 0.15})
    if chance.random() < 0.75:
        config["chat_template"] = chance.choice(TEXTS if chance.random() < 0.6 else SHAPES)
    if chance.random() < 0.3:
        config["additional_special_tokens"] = [_token(chance) for _ in range(chance.randint(0, 3))]
    if chance.random() < 0.3:
        named = {name: _token(chance) for name in chance.sample(NAMES, chance.randint(0, 2))}
        config["extra_special_tokens"] = chance.choice([named, named, [_token(chance)]])
    files["tokenizer_config.json"] = json.dumps(config)
    if chance.random() < 0.2:
        table = {name: _token(chance) for name in chance.sample((*ROLES, "image_token"), chance.randint(0, 3))}
        files["special_tokens_map.json"] = json.dumps({**table, "additional_special_tokens": [_token(chance)]})
    for name in (
        "chat_template",
        *(f"additional_chat_templates/{name}" for name in ("tool_use", "rag", "default", "file", "a/b")),
    ):
        if chance.random() < 0.06:
            files[f"{name}.jinja"] = chance.choice(TEXTS)
    return files


def _token(chance: random.Random) -> Any:
    return chance.choice(TOKENS if chance.random() < 0.97 else ODD)


def real(folder: Path, files: dict[str, str], probes: tuple[Probe, ...]) -> dict[str, Any] | None:
    """What the installed transformers is given as tokens ("tokens"), and its prompts or the types of its exceptions by probe; None where nothing loads."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    with chdir(folder):
        try:
            tokenizer: Any = AutoTokenizer.from_pretrained(".", local_files_only=True, trust_remote_code=False)
        except Exception:  # noqa: BLE001 - whatever it raises is said elsewhere
            return None
        return {"tokens": dict(tokenizer.special_tokens_map), **{probe.name: _prompt(tokenizer, probe) for probe in probes}}


def _prompt(tokenizer: Any, probe: Probe) -> tuple[str | None, str]:
    named = {"chat_template": probe.template} if probe.template else {}
    try:
        shown = tokenizer.apply_chat_template([*probe.messages], tokenize=False, **named, **probe.variables)
    except Exception as error:  # noqa: BLE001 - a template may raise anything
        return None, type(error).__name__
    return shown, ""
