"""Laws that hold whatever changes: what is equal is unchanged, swapping swaps, and the writing of a file says nothing."""

import json
import random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.properties.folders import CHATML, OF_ONE_SIDE, compared, predicted, told

LAW = settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])

IDS: tuple[Any, ...] = (262, 260, 261, 266, 7, 5000, -1, 260.0, "262", None, True, [], [262, 260], [260], [262, 261], [None], {})
ROLES: tuple[Any, ...] = (
    "<|im_end|>",
    "<|endoftext|>",
    "<|nope|>",
    "a",
    "",
    None,
    7,
    {"content": "<|im_end|>", "__type": "AddedToken"},
)
CHATML_TEXT = json.loads(CHATML["tokenizer_config.json"])["chat_template"]
TEMPLATES: tuple[Any, ...] = (
    CHATML_TEXT,
    CHATML_TEXT.replace("<|im_end|>", "<|endoftext|>"),
    CHATML_TEXT.replace("<|im_end|>", ""),
    CHATML_TEXT + "{{ bos_token }}",
    CHATML_TEXT[:-3],
    "{% for m in messages %}{{ m.content }}{% endfor %}",
    "{{ raise_exception('no') }}",
    "",
    None,
    [{"name": "default", "template": CHATML_TEXT}, {"name": "rag", "template": "{% if %}"}],
    {"default": CHATML_TEXT},
)
QUANTIZED: tuple[Any, ...] = ({"quant_method": "fp8"}, {}, None, [])
# Files, and in each the keys that somebody reads, with values of good and of bad shapes. "-" takes a key out.
KEYS: dict[str, dict[str, tuple[Any, ...]]] = {
    "config.json": {
        "eos_token_id": IDS,
        "vocab_size": (272, 262, 100, "272", None, 0),
        "model_type": ("qwen3", "llama", "no_such_type", None, 3),
        "text_config": (
            {"eos_token_id": 260},
            {"eos_token_id": 262, "quantization_config": {"quant_method": "fp8"}},
            None,
            [],
            {},
        ),
        "quantization_config": QUANTIZED,
        "auto_map": ({"AutoConfig": "x.Y"}, {}, []),
    },
    "generation_config.json": {
        "eos_token_id": IDS,
        "max_new_tokens": (0, 5, "x"),
        "temperature": (0.5, None),
        "pad_token_id": IDS,
    },
    "tokenizer_config.json": {
        "eos_token": ROLES,
        "pad_token": ROLES,
        "bos_token": ROLES,
        "chat_template": TEMPLATES,
        "tokenizer_class": ("Qwen2Tokenizer", "TokenizersBackend", "PreTrainedTokenizerFast", "LlamaTokenizer", None, 3),
        "extra_special_tokens": ([], {}, ["<x>"], "x", None),
        "added_tokens_decoder": ({}, "-", {"262": {"content": "<|im_end|>"}}, [], {"x": 1}),
    },
    "special_tokens_map.json": {"eos_token": ROLES, "pad_token": ROLES},
    "added_tokens.json": {"<|im_end|>": (262, 300, -1, "x", None), "a/b~c": (270,)},
    "mlc-chat-config.json": {
        "tokenizer_files": (["tokenizer.json"], ["tokenizer.model", 3], {}, None),
        "conv_template": ("chatml", {"stop_token_ids": [2, "x"], "stop_str": ["<|im_end|>", 1]}, {}, []),
        "conv_config": ({"stop_token_ids": [262]}, 3),
    },
}
DELETABLE = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "README.md")


@st.composite
def folders(draw: st.DrawFn) -> dict[str, bytes]:
    """The chatml snapshot after a few changes."""
    values: dict[str, Any] = {name: json.loads(content) for name, content in CHATML.items() if name.endswith(".json")}
    for _ in range(draw(st.integers(0, 4))):
        name = draw(st.sampled_from(sorted(KEYS)))
        key = draw(st.sampled_from(sorted(KEYS[name])))
        values.setdefault(name, {})
        value = draw(st.sampled_from((*KEYS[name][key], "-")))
        values[name] = {k: v for k, v in values[name].items() if k != key} | ({} if value == "-" else {key: value})
    tokens = values["tokenizer.json"]["added_tokens"]
    if draw(st.integers(0, 3)) == 0:
        del tokens[draw(st.integers(0, len(tokens) - 1))]
    files = {"README.md": CHATML["README.md"], **{name: json.dumps(value, indent=2).encode() for name, value in values.items()}}
    if draw(st.booleans()):
        files["chat_template.jinja"] = str(draw(st.sampled_from([t for t in TEMPLATES if isinstance(t, str)]))).encode()
    if draw(st.integers(0, 3)) == 0:
        del files[draw(st.sampled_from(DELETABLE))]
    return files


def rewritten(files: dict[str, bytes], write: Any) -> dict[str, bytes]:
    """The same values in other words; only files that are JSON."""
    return {name: write(json.loads(content)) if name.endswith(".json") else content for name, content in files.items()}


def shuffled(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: shuffled(value[key], chance) for key in keys}
    return [shuffled(inner, chance) for inner in value] if isinstance(value, list) else value


@LAW
@given(folders())
def test_a_folder_compared_with_itself_has_nothing_new(files: dict[str, bytes]) -> None:
    comparison = compared(files, files)
    assert (comparison.new, comparison.resolved, comparison.predictions) == ((), (), ())
    assert not any(each.changed for each in comparison.unchecked if each.kind == "file")


@LAW
@given(folders(), folders())
def test_swapping_the_sides_swaps_the_answers(base: dict[str, bytes], head: dict[str, bytes]) -> None:
    there, back = compared(base, head), compared(head, base)
    assert told(there.new, OF_ONE_SIDE) == told(back.resolved, OF_ONE_SIDE)
    assert told(there.resolved, OF_ONE_SIDE) == told(back.new, OF_ONE_SIDE)
    assert {f.fingerprint for f in there.unchanged if f.check in OF_ONE_SIDE} == {
        f.fingerprint for f in back.unchanged if f.check in OF_ONE_SIDE
    }
    assert predicted(there) == predicted(back, backwards=True)


@LAW
@given(folders(), folders())
def test_a_finding_is_in_one_list_only(base: dict[str, bytes], head: dict[str, bytes]) -> None:
    comparison = compared(base, head)
    lists = [comparison.new, comparison.resolved, comparison.unchanged]
    prints = [finding.fingerprint for findings in lists for finding in findings]
    assert len(prints) == len(set(prints))
    counts = comparison.verdict
    assert (counts.new.error + counts.new.warning + counts.new.note, counts.resolved, counts.unchanged) == tuple(map(len, lists))
    assert counts.unchecked == len(comparison.unchecked)


@LAW
@given(folders(), st.integers(0, 1000))
def test_the_order_of_keys_says_nothing(files: dict[str, bytes], seed: int) -> None:
    chance = random.Random(seed)

    def write(value: Any) -> bytes:
        return json.dumps(shuffled(value, chance), indent=2).encode()

    comparison = compared(files, rewritten(files, write))
    assert (comparison.new, comparison.resolved, comparison.predictions) == ((), (), ())


@LAW
@given(folders(), st.sampled_from([None, 0, 1, 4, "\t"]), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_indentation_and_escapes_say_nothing(
    files: dict[str, bytes], indent: int | str | None, end: str, ascii_only: Any
) -> None:
    def write(value: Any) -> bytes:
        return (json.dumps(value, indent=indent, ensure_ascii=ascii_only).replace("\n", end) + end).encode()

    comparison = compared(files, rewritten(files, write))
    assert (comparison.new, comparison.resolved, comparison.predictions) == ((), (), ())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 300) | st.text("xy<|>", max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("xy", min_size=1, max_size=3), inner, max_size=3),
    max_leaves=6,
)


@LAW
@given(folders(), st.sampled_from(["config.json", "generation_config.json", "tokenizer_config.json"]), JSON, st.booleans())
def test_an_unknown_key_says_nothing(files: dict[str, bytes], name: str, value: Any, first: Any) -> None:
    if name not in files:
        return
    known = json.loads(files[name])
    more = {"x_nobody_knows": value}
    head = {**files, name: json.dumps({**more, **known} if first else {**known, **more}, indent=2).encode()}
    comparison = compared(files, head)
    assert (comparison.new, comparison.resolved, comparison.predictions) == ((), (), ())


@LAW
@given(folders())
def test_a_blank_line_before_everything_moves_the_places_only(files: dict[str, bytes]) -> None:
    head = {name: b"\n\n" + content if name.endswith(".json") else content for name, content in files.items()}
    comparison = compared(files, head)
    assert (comparison.new, comparison.resolved, comparison.predictions) == ((), (), ())
    before = {f.fingerprint: f for f in compared(files, files).unchanged}
    for finding in comparison.unchanged:
        moved = [place.line - old.line for place, old in zip(finding.places, before[finding.fingerprint].places, strict=True)]
        in_json = [place.path.endswith(".json") and place.path in head for place in finding.places]
        assert [line in ((2, 0) if is_json else (0,)) for line, is_json in zip(moved, in_json, strict=True)].count(False) == 0
