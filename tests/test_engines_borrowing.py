"""MLX-LM, LMDeploy and TensorRT-LLM: what they stop on, by the rules of their sources and by what two of them did when they were run.

tests/engine_runs/ holds what the Python code of mlx-lm 0.32.2 (load_config, _get_classes and load of tokenizer_utils, transformers 5.24.0) and of lmdeploy 0.18.0
(get_chat_template, Tokenizer, get_hf_gen_cfg and update_from_hf_gen_cfg; transformers 4.57.6, then 5.24.0) did with each shared folder: the stop ids, null
where it raised. No weights were loaded; sentencepiece, protobuf and tiktoken were there.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bot.analyze.engines import lmdeploy, mlx_lm, tensorrt_llm
from bot.analyze.engines.prediction import Prediction
from bot.answer import Known, Unknown, shown
from tests.conftest import SHARED, present
from tests.models import model, model_of

RUNS = Path(__file__).parent / "engine_runs"
TEXT = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"


def folder(*, eos: str | None = None, generation: Any = None, added: tuple[str, ...] = (), **config: Any) -> dict[str, str]:
    """A folder whose tokens are named after their ids: t1 has the id 1. `generation` is a whole generation_config.json, None for none."""
    vocab = {f"t{i}": i for i in range(110)}
    entry = {"special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    tokens = [{"id": vocab[text], "content": text, **entry} for text in added]
    files: dict[str, Any] = {
        "config.json": {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], **config},
        "tokenizer.json": {"version": "1.0", "added_tokens": tokens, "model": {"type": "BPE", "vocab": vocab, "merges": []}},
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "chat_template": TEXT,
            **({"eos_token": eos} if eos else {}),
        },
    }
    if generation is not None:
        files["generation_config.json"] = generation
    return {name: json.dumps(value) for name, value in files.items()}


def field(prediction: Prediction, key: str) -> Any:
    """What a prediction says of a field."""
    return shown(prediction.fields[key])


def stops(engine: Any, files: dict[str, str], version: str = "") -> Any:
    """The stop ids of an engine's version."""
    return field(engine.predict(model(files), version or engine.VERSIONS[-1]), "stops")


@pytest.mark.parametrize(
    ("files", "ids"),
    [
        (folder(eos="t106", generation={"eos_token_id": [1, 106]}), [1, 106]),
        (folder(eos="t2", generation={"eos_token_id": 0}, eos_token_id=5), [2, 5]),
        (folder(eos="t2", generation={"eos_token_id": []}, eos_token_id=5), [2, 5]),
        (folder(eos="t2", eos_token_id=5), [2, 5]),
        (folder(eos="t2", eos_token_id=0), [0, 2]),
        (folder(eos="t2", text_config={"eos_token_id": 5}), [2]),
        (folder(eos="t2", generation={"eos_token_id": 7}, eos_token_id=5), [2, 7]),
        (folder(generation={"eos_token_id": 7}), [7]),
        (folder(eos="t2") | {"generation_config.json": "{"}, [2]),
        (folder(eos="t2") | {"generation_config.json": "[]"}, None),
        (folder(eos="t2") | {"config.json": "{"}, None),
        (folder(model_type="muse_spark"), [200001, 200008]),
    ],
)
def test_mlx_lm_lays_true_ids_of_the_generation_config_over_those_of_the_config(
    files: dict[str, str], ids: list[int] | None
) -> None:
    assert stops(mlx_lm, files) == ids


def test_mlx_lm_reads_tokenizer_json_itself_before_transformers_does() -> None:
    prediction = mlx_lm.predict(model(folder(eos="t2") | {"tokenizer.json": "version https://git-lfs"}), "0.32.2")
    assert field(prediction, "loads.tokenizer") is False
    assert field(prediction, "errors.tokenizer.type") == "JSONDecodeError"
    assert field(prediction, "stops") is None


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ({"model_type": "qwen3"}, None),
        ({"model_type": "mistral"}, None),  # it has the class of llama
        ({"model_type": "bailing_hybrid", "architectures": ["BailingMoeV3ForCausalLM"]}, None),
        ({"model_type": "bert"}, "ValueError"),
        ({"model_type": "qwen3", "model_file": "model.py"}, "ValueError"),
        ({"model_type": None}, "ValueError"),
        ({"model_type": []}, "TypeError"),
        ({}, "KeyError"),
    ],
)
def test_mlx_lm_needs_a_class_for_the_model_type(config: dict[str, Any], error: str | None) -> None:
    prediction = mlx_lm.predict(model(folder(eos="t2") | {"config.json": json.dumps(config)}), "0.32.2")
    assert field(prediction, "loads.config") is (error is None)
    assert ("errors.config.type" in prediction.fields) == (error is not None)
    if error is not None:
        assert field(prediction, "errors.config.type") == error
        assert field(prediction, "stops") is None


def test_mlx_lm_puts_a_function_of_its_own_in_the_place_of_a_template() -> None:
    files = folder(eos="t2")
    plain = field(mlx_lm.predict(model(files), "0.32.2"), "template.sha256")
    files["tokenizer_config.json"] = json.dumps(
        {**json.loads(files["tokenizer_config.json"]), "chat_template_type": "deepseek_v32"}
    )
    assert isinstance(plain, str)
    assert field(mlx_lm.predict(model(files), "0.32.2"), "template.sha256") is None


@pytest.mark.parametrize(
    ("files", "ids"),
    [
        (folder(eos="t106", generation={"eos_token_id": [1, 106]}, eos_token_id=5), [1, 106]),
        (folder(eos="t2", generation={}, eos_token_id=5), [2]),
        (folder(eos="t2", generation={"eos_token_id": 0}, eos_token_id=5), [0, 2]),
        (folder(eos="t2", eos_token_id=5), [2, 5]),
        (folder(generation={"eos_token_id": 7}), [7]),
        (folder(generation={"eos_token_id": [7, 8]}), None),
        (folder(generation={}), None),
        (folder(), []),
        (folder(eos="t2", generation={"max_new_tokens": 0}), None),
        (folder(eos="t2", architectures=[]), None),
        (folder(eos="t99", generation={}), [99]),
    ],
)
def test_lmdeploy_stops_on_what_tokenizer_and_generation_config_say(files: dict[str, str], ids: list[int] | None) -> None:
    # without a template, because t2 is part of t20 to t29, which would then be stop words as well
    answer = lmdeploy.predict(model({**files, "tokenizer_config.json": without_template(files)}), "0.18.0").fields["stops"]
    assert shown(answer) == ids


def test_lmdeploy_depends_on_transformers_where_the_quantization_is_null() -> None:
    files = folder(eos="t99", generation={}, quantization_config=None)
    assert "differ: 4.57.6 does not, 5.24.0 loads it" in stops(lmdeploy, files)["unknown"]


def without_template(files: dict[str, str]) -> str:
    """The tokenizer_config.json of a folder without its template, so that LMDeploy has no stop words."""
    return json.dumps({key: value for key, value in json.loads(files["tokenizer_config.json"]).items() if key != "chat_template"})


def test_lmdeploy_takes_every_piece_that_contains_the_text_of_eos_for_a_stop_word() -> None:
    files = folder(eos="t99")
    content = json.loads(files["tokenizer.json"])
    content["model"]["vocab"]["xt99y"] = 110
    assert stops(lmdeploy, files | {"tokenizer.json": json.dumps(content)}) == [99, 110]
    assert "more than 5 pieces" in stops(lmdeploy, folder(eos="t1"))["unknown"]


def test_lmdeploy_starts_without_the_template_where_it_does_not_render() -> None:
    def used(template: str) -> Any:
        files = folder(eos="t99")
        settings = {**json.loads(files["tokenizer_config.json"]), "chat_template": template}
        return field(
            lmdeploy.predict(model(files | {"tokenizer_config.json": json.dumps(settings)}), "0.18.0"), "template.sha256"
        )

    assert isinstance(used(TEXT), str)
    assert used("{% for m in messages %}") is None
    assert used("{{ raise_exception('no') }}") is None
    assert used(TEXT + "{{ messages.insert(0, 1) }}") is None


@pytest.mark.parametrize(
    ("files", "old", "kimi", "newest"),
    [
        (folder(eos="t2", generation={"eos_token_id": 7}, eos_token_id=5), [2], [2], [2, 7]),
        (folder(eos="t2", generation={"eos_token_id": [7, 2]}), [2], [2], [2, 7]),
        (folder(eos="t2", generation={"eos_token_id": 7}, model_type="kimi_k2"), [2], [7], [2, 7]),
        (folder(eos="t2", generation={"eos_token_id": [7]}, model_type="kimi_k2"), [2], [2], [2, 7]),
        (folder(eos="t2", generation={"eos_token_id": 7, "max_new_tokens": 0}), [2], [2], [2]),
        (folder(eos="t2", eos_token_id=5), [2], [2], [2]),
    ],
)
def test_tensorrt_llm_took_the_generation_config_in_step_by_step(
    files: dict[str, str], old: list[int], kimi: list[int], newest: list[int]
) -> None:
    found = [stops(tensorrt_llm, files, version) for version in tensorrt_llm.VERSIONS]
    assert found == [old, kimi, newest]
    assert {tensorrt_llm.ALIASES[commit] for commit in ("000a01d", "a98a906")} < set(tensorrt_llm.VERSIONS)


def test_trusting_the_code_of_a_tokenizer_gives_the_ids_that_it_declares() -> None:
    files = folder(generation={"eos_token_id": 7})
    del files["tokenizer.json"]
    decoder = {"9": {"content": "<end>", "special": True}}
    auto_map = {"AutoTokenizer": ["tokenization_own.OwnTokenizer", None]}
    settings = {"auto_map": auto_map, "tokenizer_class": "OwnTokenizer", "eos_token": "<end>", "added_tokens_decoder": decoder}
    files |= {"tokenizer_config.json": json.dumps(settings), "tiktoken.model": "YQ== 0\n"}
    for engine in (mlx_lm, lmdeploy, tensorrt_llm):
        prediction = engine.predict(model(files), engine.VERSIONS[-1])
        assert shown(prediction.with_remote_code["stops"]) == [7, 9]
        assert prediction.fields["stops"] != prediction.with_remote_code["stops"]


def test_a_folder_without_anything_is_answered_by_all() -> None:
    for engine in (mlx_lm, lmdeploy, tensorrt_llm):
        assert not engine.applies(model({}))
        assert field(engine.predict(model({}), engine.VERSIONS[-1]), "stops") is None


@pytest.mark.needs("shared")
@pytest.mark.parametrize(("engine", "known"), [(mlx_lm, 475), (lmdeploy, 460)])
def test_what_the_engines_did_is_what_is_predicted(engine: Any, known: int) -> None:
    wrong: list[Any] = []
    told = 0
    version = engine.VERSIONS[-1]
    for snapshot, did in json.loads((RUNS / f"{engine.ID}-{version}.json").read_text("utf-8")).items():
        path = SHARED.joinpath(*snapshot.split("__"))
        if not path.is_dir():
            continue
        prediction = engine.predict(msgspec.structs.replace(model_of(path), literal=True), version)
        answer = prediction.fields["stops"]
        assert isinstance(answer, Known | Unknown)
        told += isinstance(answer, Known)
        every = did if engine is lmdeploy else [did]  # one of each version of transformers
        if isinstance(answer, Known) and any(answer.value != each for each in every):
            wrong.append((snapshot, answer.value, did))
    assert wrong == []
    assert told >= known or not present("shared")


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b"\xff", b"null", b'"x"', b"[1, {}]", b'{"eos_token_id": {}, "auto_map": [], "model_type": 1}']
)
def test_a_broken_file_is_answered_by_all(content: bytes) -> None:
    names = (
        "config.json",
        "generation_config.json",
        "tokenizer_config.json",
        "tokenizer.json",
        "special_tokens_map.json",
        "added_tokens.json",
    )
    for name in names:
        files: dict[str, bytes | str] = {**folder(eos="t2", generation={"eos_token_id": 7}), name: content}
        for engine in (mlx_lm, lmdeploy, tensorrt_llm):
            prediction = engine.predict(model(files), engine.VERSIONS[-1])
            assert isinstance(prediction.fields["stops"], Known | Unknown)
