"""No bytes in any file of a model folder make the analysis crash, and whatever is reported has a place."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.properties.folders import CHATML, compared, with_value

NAMES = (
    *CHATML,
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "additional_chat_templates/rag.jinja",
    "mlc-chat-config.json",
    "model.safetensors.index.json",
    "processor_config.json",
    "preprocessor_config.json",
    "adapter_config.json",
    "vocab.json",
    "tekken.json",
    "tokenizer.model",
    ".gitattributes",
    "CHANGELOG.md",
)
MLC = {
    "tokenizer_files": ["tokenizer.json"],
    "conv_template": {"stop_token_ids": [262], "stop_str": ["<|im_end|>"], "roles": {}},
    "conv_config": {"stop_token_ids": [262]},
}
FULL: dict[str, bytes] = {
    **CHATML,
    "special_tokens_map.json": b'{"eos_token": {"content": "<|im_end|>"}, "pad_token": "<|endoftext|>"}',
    "added_tokens.json": b'{"<|im_end|>": 262}',
    "chat_template.jinja": b"{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}",
    "mlc-chat-config.json": json.dumps(MLC, indent=1).encode(),
    "model.safetensors.index.json": b'{"weight_map": {"model.a.weight_packed": "model-1.safetensors"}}',
}
RAW = (
    b"",
    b" ",
    b"null",
    b"true",
    b"7",
    b'"x"',
    b"[]",
    b"{}",
    b"[[]]",
    b'{"": {}}',
    b"{",
    b"\xff\xfe\x00",
    b"\xef\xbb\xbf{}",
    b"\x00" * 50,
    b"9" * 10_000,
    b'{"eos_token_id": ' + b"9" * 5_000 + b"}",
    b'{"eos_token_id": 1e999}',
    b'{"eos_token_id": NaN}',
    b'{"eos_token_id": 1, "eos_token_id": [2]}',
    b'{"chat_template": "{% for"}',
    b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 99999999999999999999999999999999\n",
    b"commit abc1234 `abc1234`\n" * 3,
    b"*.json filter=lfs\n[ filter=lfs\n/ filter=lfs\n** filter=lfs\n!!! filter=lfs",
    b"\\ filter=lfs\n! filter=lfs\na\\ filter=lfs\n*.json filter=lfs",
    b"\r\n\r\n\x0c\x85\xe2\x80\xa8",
)
WRONG: dict[str, Any] = {
    "null": None,
    "true": True,
    "list": [],
    "list of lists": [[1], {"a": 2}, None],
    "object": {},
    "object of objects": {"a": {"b": [1]}, "content": {"content": 1}},
    "text": "x",
    "number": -7,
    "float": 1.5,
    "huge": 10**400,
    "infinity": float("inf"),
    "not a number": float("nan"),
    "markup": "`<b>|\n\u202e@x",
    "long": "x" * 10_000,
    "deep": json.loads("[" * 300 + "]" * 300),
    "deep object": json.loads('{"a":' * 300 + "1" + "}" * 300),
}
# Where a text of half a character, which JSON can write and UTF-8 cannot, goes on into predictions and findings.
SURROGATES: tuple[tuple[str, tuple[str | int, ...]], ...] = (
    ("tokenizer_config.json", ("eos_token",)),
    ("tokenizer_config.json", ("added_tokens_decoder", "262", "content")),
    ("tokenizer_config.json", ("chat_template",)),
    ("tokenizer_config.json", ("tokenizer_class",)),
    ("tokenizer.json", ("added_tokens", 2, "content")),
    ("mlc-chat-config.json", ("tokenizer_files", 0)),
    ("config.json", ("model_type",)),
)
LAW = settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def both_ways(name: str, content: bytes) -> None:
    broken = {**FULL, name: content}
    compared(FULL, broken)
    compared(broken, FULL)
    comparison = compared(broken, broken)
    assert (comparison.new, comparison.resolved, comparison.predictions) == ((), (), ())


@pytest.mark.parametrize("name", NAMES)
def test_raw_contents(name: str) -> None:
    for content in RAW:
        both_ways(name, content)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_of_one_broken_file(name: str) -> None:
    for content in RAW:
        compared({name: content}, {})
        compared({}, {name: content})
        compared(CHATML, {name: content})


@pytest.mark.parametrize("name", NAMES)
def test_a_file_nested_too_deeply(name: str) -> None:
    both_ways(name, b"[" * 100_000)
    both_ways(name, b'{"a":' * 50_000)


@pytest.mark.parametrize(
    "pattern", ["\\", "!", "!!!", "a\\", "***", "[", "/", "//", "[]", "[!]", "[]]", "[z-a]", "(", "\\d+", "**/**"]
)
def test_patterns_of_gitattributes_that_mean_nothing(pattern: str) -> None:
    both_ways(".gitattributes", f"{pattern} filter=lfs\n".encode())


@pytest.mark.parametrize("place", SURROGATES, ids=str)
def test_a_lone_surrogate(place: tuple[str, tuple[str | int, ...]]) -> None:
    name, pointer = place
    both_ways(name, with_value(FULL[name], pointer, "\ud800"))


def pointers(value: Any, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The way to every value; of long lists and objects the first two members."""
    yield above
    if isinstance(value, dict | list):
        members = list(value.items() if isinstance(value, dict) else enumerate(value))
        for key, inner in members[:2] if len(members) > 8 else members:
            yield from pointers(inner, (*above, key))


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", [name for name in FULL if name.endswith(".json")])
def test_a_wrong_type_at_every_key(name: str, wrong: str) -> None:
    for pointer in pointers(json.loads(FULL[name])):
        head = {**FULL, name: with_value(FULL[name], pointer, WRONG[wrong])}
        compared(FULL, head)


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("config.json", "text_config"),
        ("config.json", "quantization_config"),
        ("config.json", "auto_map"),
        ("config.json", "rope_scaling"),
        ("generation_config.json", "max_new_tokens"),
        ("generation_config.json", "num_beams"),
        ("generation_config.json", "early_stopping"),
        ("tokenizer_config.json", "extra_special_tokens"),
        ("tokenizer_config.json", "auto_map"),
        ("tokenizer_config.json", "added_tokens_decoder"),
        ("chat_template.json", "chat_template"),
        ("processor_config.json", "chat_template"),
    ],
)
def test_a_wrong_type_at_a_key_that_is_read(name: str, key: str, wrong: str) -> None:
    head = {**FULL, name: with_value(FULL.get(name, b"{}"), (key,), WRONG[wrong])}
    compared(FULL, head)
    compared(head, FULL)


@LAW
@given(st.sampled_from(NAMES), st.binary(max_size=200))
def test_random_bytes(name: str, content: bytes) -> None:
    both_ways(name, content)


@LAW
@given(st.sampled_from(sorted(FULL)), st.floats(0, 1), st.binary(max_size=3))
def test_a_file_that_is_cut(name: str, share: float, end: bytes) -> None:
    both_ways(name, FULL[name][: int(len(FULL[name]) * share)] + end)


@LAW
@given(st.sampled_from(sorted(FULL)), st.floats(0, 1), st.binary(min_size=1, max_size=2))
def test_a_file_with_other_bytes_in_it(name: str, share: float, inner: bytes) -> None:
    at = int(len(FULL[name]) * share)
    both_ways(name, FULL[name][:at] + inner + FULL[name][at + len(inner) :])


SCRAPS = (
    *(
        "{%",
        "%}",
        "{{",
        "}}",
        "{#",
        "#}",
        "-",
        " ",
        "for ",
        "m ",
        "in ",
        "messages",
        "if ",
        "endif",
        "endfor",
        "set ",
        "x",
        "=",
        "1",
    ),
    *("generation", "endgeneration", "|", "tojson", "(", ")", "'", ".content", "\n", "<|im_end|>", "macro ", "break", "~", "["),
)


@LAW
@given(st.lists(st.sampled_from(SCRAPS), max_size=25).map("".join))
def test_a_template_of_scraps(text: str) -> None:
    both_ways("chat_template.jinja", text.encode())


def test_a_duplicated_key_at_every_object() -> None:
    for name in (name for name in FULL if name.endswith(".json")):
        text = FULL[name].decode()
        starts = [i for i, letter in enumerate(text) if letter == "{"][:12]
        for start in starts:
            for twice in ('"eos_token_id": 1, "eos_token_id": [2, 3],\n', '"content": 1,\n"content": "x",', '"eos_token": null,'):
                both_ways(name, (text[: start + 1] + twice + text[start + 1 :]).encode())
