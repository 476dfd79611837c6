"""The command `predict`: which engines and versions are asked, one line per folder and engine, and how answers are shown."""

import json
from pathlib import Path

import jsonschema
import pytest

from bot.analyze.engines.choice import Chosen, choose, compared, in_pairs, modelled, newest
from bot.analyze.engines.prediction import engines
from bot.analyze.model.reader import Reader
from bot.analyze.predict import predict
from bot.analyze.records import Modelled
from bot.errors import UsageError
from bot.fetch.gather import gather
from bot.fetch.source import Nothing
from bot.publish import words
from bot.publish.predicted import predicted
from bot.publish.text import text
from bot.schema import documents
from tests.changes import write
from tests.comparisons import comparison
from tests.repositories import GitRepository
from tests.test_command_line import started


def names(chosen: tuple[Chosen, ...]) -> list[str]:
    return [each.name for each in chosen]


def test_what_is_written_names_modelled_versions() -> None:
    every = modelled()
    assert names(choose(["vllm"])) == [f"vllm@{every['vllm'][-1]}"]
    assert names(choose(["vllm@0.33"])) == names(choose(["vllm@0.33.0"])) == ["vllm@0.33.0"]
    assert names(choose(["transformers>=5.0,<5.24"])) == [
        f"transformers@{v}" for v in every["transformers"] if v.startswith("5.") and v != "5.24.0"
    ]
    assert names(choose(["transformers@all"])) == [f"transformers@{v}" for v in every["transformers"]]
    assert len(choose(["all"])) == sum(map(len, every.values()))
    assert names(choose(["vLLM >= 0.31"])) == ["vllm@0.31.0", "vllm@0.33.0"]
    assert choose(["transformers", "vllm", "vllm"]) == choose(["vllm", "transformers"])
    assert [each.engine.ID for each in newest()] == list(every)
    assert {each.engine.ID for each in compared()} == set(every)


def test_an_alias_is_the_version_it_stands_for() -> None:
    aliased = [(engine, alias) for engine in engines() for alias in getattr(engine, "ALIASES", {})]
    assert aliased
    for engine, alias in aliased:
        assert names(choose([f"{engine.ID}@{alias}"])) == [f"{engine.ID}@{engine.ALIASES[alias]}"]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("vlm", "engine 'vlm' is not modelled; did you mean vllm?"),
        ("vllm,sglang", "engine 'vllm,sglang' is not modelled; name one engine at a time"),
        ("", "engine '' is not modelled; there are "),
        ("x" * 5000, "is not modelled; there are "),
        ("zebra", "there are "),
        ("vllm@9.9", "vllm 9.9 is not modelled; modelled are "),
        ("vllm>9", "engine 'vllm>9': no modelled version lies there; modelled are "),
        ("vllm@", "engine 'vllm@' cannot be read; write vllm, vllm@VERSION or vllm>=VERSION"),
        ("vllm>=0.2,", "the range cannot be read"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(written: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        choose([written])
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_move_between_versions_needs_one_of_each_engine() -> None:
    (pair,) = in_pairs(["transformers@4.57"], ["transformers@5.24"])
    assert [each.version for each in pair] == ["4.57.6", "5.24.0"]
    with pytest.raises(UsageError, match="--engine-after vllm: say with --engine which version is in use now"):
        in_pairs([], ["vllm"])
    with pytest.raises(UsageError, match="vllm is named once only"):
        in_pairs(["transformers", "vllm"], ["transformers"])
    with pytest.raises(UsageError, match="one version of transformers is needed"):
        in_pairs(["transformers@all"], ["transformers"])


def test_one_line_for_each_folder_and_engine(tmp_path: Path) -> None:
    write(tmp_path / "model", "chatml", {})
    (tmp_path / "empty").mkdir()
    ended = started(tmp_path, "predict", "model", "empty", "--engine", "transformers", "--engine", "vllm", "--format", "jsonl")
    assert ended.status == 0, ended.errors
    lines = [json.loads(line) for line in ended.output.splitlines()]
    assert [(line["folder"], line["engine"]) for line in lines] == [
        ("model", "transformers"),
        ("model", "vllm"),
        ("empty", "transformers"),
        ("empty", "vllm"),
    ]
    assert lines[1]["stops"] == [260, 262]
    assert lines[3]["stops"] != [260, 262]


def test_a_revision_of_a_repository_is_predicted_folder_by_folder(tmp_path: Path) -> None:
    repository = GitRepository(tmp_path)
    for folder in ("one", "two/deep"):
        write(tmp_path / folder, "chatml", {})
    repository.git("add", ".")
    repository.git("commit", "-qm", "models")
    ended = started(tmp_path, "predict", "git:HEAD", "--engine", "vllm", "--format", "json")
    assert ended.status == 0, ended.errors
    found = json.loads(ended.output)
    jsonschema.validate(found, json.loads(documents()["predictions-1.json"]))
    assert [row["folder"] for row in found["rows"]] == ["one", "two/deep"]
    assert found["rows"][0]["texts"] == {"260": "<|endoftext|>", "262": "<|im_end|>"}


def test_engines_that_agree_are_one_row(tmp_path: Path) -> None:
    write(tmp_path / "model", "chatml", {})
    ended = started(tmp_path, "predict", "model", "--engine", "vllm", "--engine", "sglang", COLUMNS="200")
    assert ended.status == 0, ended.errors
    row = next(line for line in ended.output.splitlines() if "stops on" in line)
    assert "<|im_end|> 262" in row
    assert "vLLM" in row
    assert "sglang" in ended.output


def test_an_engine_without_business_is_left_out_of_the_page(tmp_path: Path) -> None:
    write(tmp_path / "model", "chatml", {})
    assert "WebLLM" not in started(tmp_path, "predict", "model").output
    assert "WebLLM" in started(tmp_path, "predict", "model", "--verbose").output


@pytest.mark.parametrize(("arguments", "status"), [(("nowhere",), 3), (("hub:a b",), 2), (("--engine", "x", "."), 2), ((), 2)])
def test_what_cannot_be_predicted_says_so(tmp_path: Path, arguments: tuple[str, ...], status: int) -> None:
    ended = started(tmp_path, "predict", *arguments)
    assert (ended.status, ended.output) == (status, "")
    assert ended.errors.startswith("model-repo-drift: ")


def test_the_version_names_what_is_modelled(tmp_path: Path) -> None:
    ended = started(tmp_path, "--version")
    assert ended.status == 0
    assert "facts of 20" in ended.output
    assert "  vLLM " in ended.output


def test_facts_of_more_than_half_a_year_are_said_to_be_old() -> None:
    import datetime as dt  # noqa: PLC0415 - for these three lines only

    assert words.facts("2026-11-29", dt.date(2027, 5, 20)) == "facts of 2026-11-29"
    assert words.facts("2026-11-29", dt.date(2027, 7, 1)).startswith("facts of 2026-11-29, 7 months old: newer versions")
    assert words.facts("any day", dt.date(2027, 7, 1)) == "facts of any day"
    assert "months old" in text(comparison(modelled=Modelled(engines=(), checks={}, date="2020-01-01")), color=False)
    assert "months old" not in text(comparison(modelled=Modelled(engines=(), checks={}, date="2999-01-01")), color=False)


def test_a_move_between_versions_is_a_comparison_of_one_revision(tmp_path: Path) -> None:
    write(tmp_path / "model", "chatml", {"tokenizer_config.json": {"extra_special_tokens": ["<|im_end|>"]}})
    arguments = (
        "compare",
        "model",
        "model",
        "--engine",
        "transformers@4.57",
        "--engine-after",
        "transformers@5.24",
        "--format",
        "json",
    )
    ended = started(tmp_path, *arguments)
    assert ended.status == 0, ended.errors
    found = json.loads(ended.output)
    assert found["new"] == []
    row = next(row for row in found["predictions"] if row["field"] == "loads.tokenizer")
    assert (row["engines"], row["before"], row["after"]) == (["transformers@4.57.6 -> 5.24.0"], False, True)
    assert "AttributeError" in row["before_why"]


def test_the_page_of_all_versions_is_short(tmp_path: Path) -> None:
    write(tmp_path / "model", "chatml", {})
    ended = started(
        tmp_path, "predict", "model", "--engine", "vllm@all", "--engine", "llama.cpp", "--engine", "tgi", COLUMNS="200"
    )
    assert ended.status == 0, ended.errors
    lines = [line.strip() for line in ended.output.splitlines()]
    [template] = [line for line in lines if line.startswith("chat template")]
    assert "of tokenizer_config.json" in template  # which TGI's prediction names, and the same text is what the others take
    assert "vLLM 0.8.5 – " in template
    assert template.index("vLLM") < template.index("TGI") < template.index("llama.cpp")
    sources = lines[lines.index("Likely, by source that was read and not run:") + 1 :]
    assert [line.split()[0] for line in sources[: sources.index("")] if ": " in line] == ["vLLM", "TGI", "llama.cpp"]


def test_what_cannot_be_told_comes_last(tmp_path: Path) -> None:
    write(tmp_path / "model", "chatml", {})
    ended = started(tmp_path, "predict", "model", "--engine", "sglang@0.4.6", "--engine", "sglang@0.5.23", COLUMNS="200")
    lines = [line.strip() for line in ended.output.splitlines()]
    at = next(number for number, line in enumerate(lines) if line.startswith("may end JSON with"))
    assert "sglang 0.5.23" in lines[at]
    assert lines[at + 1].startswith("cannot be told: ")


def test_proof_of_every_model_is_said_also_where_nothing_changed(tmp_path: Path) -> None:
    write(tmp_path / "model", "chatml", {})
    assert started(tmp_path, "compare", "model", "model").output.startswith("No model folder differs")
    ended = started(tmp_path, "compare", "model", "model", "--prove", "always")
    assert ended.status == 0, ended.errors
    assert "tried by loading: transformers " in ended.output
    assert "did what was predicted" in ended.output


def test_one_folder_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    write(tmp_path / "model", "chatml", {})
    (tmp_path / "links").mkdir()
    (tmp_path / "links/config.json").symlink_to("../model/config.json")
    alone = started(tmp_path, "predict", "links", "--engine", "vllm")
    assert alone.status == 3
    assert "cp -RL" in alone.errors
    both = started(tmp_path, "predict", "links", "model", "--engine", "vllm", "--format", "json")
    assert both.status == 0, both.errors
    found = json.loads(both.output)
    assert "unknown" in found["rows"][0]["prediction"]["loads"]["config"]
    assert found["rows"][1]["prediction"]["loads"]["config"] is True
    assert any("leads out" in each["reason"] or "outside" in each["reason"] for each in found["unchecked"])


def test_a_prediction_that_breaks_is_said_and_hinders_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "model", "chatml", {})
    (vllm,) = choose(["vllm"])

    def broken(*_: object) -> None:
        raise ZeroDivisionError("no such rule")

    monkeypatch.setattr(vllm.engine, "predict", broken)
    exchange = gather(
        tmp_path / "work",
        base=Nothing(),
        head=str(tmp_path / "model"),
        repo=tmp_path,
        task="predict",
        engines=("vllm@0.33.0", "sglang@0.5.23"),
    )
    found = predict(exchange, Reader.of_folder(tmp_path / "work/contents"))
    assert [row.prediction.get("stops") for row in found.rows] == [[260, 262], None]
    assert [row.reason for row in found.unchecked] == ["the prediction broke: ZeroDivisionError: no such rule"]
    assert "the prediction broke" in predicted(found, color=False)
