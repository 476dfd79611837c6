"""Predictions beside what the installed transformers really does, in the process that is made for it."""

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.analyze import child, jail, proving
from bot.analyze.proof import Job, Real, judge
from bot.analyze.proving import When, prove
from bot.analyze.records import Proof, Unchecked
from bot.errors import UsageError
from bot.fetch.gather import gather
from tests.changes import write
from tests.conftest import ROOT, SHARED, present

VERSION = importlib.metadata.version("transformers")
HEAD = Job(".", "head")
TEMPLATE = {"chat_template.jinja": "{% for m in messages %}[{{ m.role }}] {{ m.content }}{% endfor %}"}
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limits are Linux's")

Answer = tuple[tuple[Proof, ...], tuple[Unchecked, ...]]


def proved(work: Path, base: Path, head: Path, when: When = "auto") -> Answer:
    exchange = gather(work, base=str(base), head=str(head), repo=work.parent)
    return prove(work, exchange, when, os.environ)


def changed(tmp_path: Path, head: Mapping[str, Any], when: When = "auto", *, base: Mapping[str, Any] | None = None) -> Answer:
    """Prove a change of the small ChatML model."""
    before, after = write(tmp_path / "base", "chatml", base or {}), write(tmp_path / "head", "chatml", head)
    return proved(tmp_path / "exchange", before, after, when)


# What is compared, without loading anything.

RECORD = {
    "loads": {"config": True, "generation_config": None, "tokenizer": True},
    "tokenizer_class": "TokenizersBackend",
    "eos_token_id": 3,
    "stops": (3, 5),
    "added_tokens": {"3": {"content": "</s>", "special": True}},
    "template": {"sha256": None},
    "dtype": {"unknown": "nothing states it"},
}
REAL = {
    "loads.config": True,
    "loads.generation_config": False,
    "loads.tokenizer": True,
    "tokenizer_class": "TokenizersBackend",
    "eos_token_id": 3,
    "stops": [3, 5],
    "added_tokens": {"3": {"content": "</s>", "special": True}},
    "template.sha256": None,
    "dtype": "bfloat16",
    "len_tokenizer": 12,
}


def compared(real: Mapping[str, Any], failed: Mapping[str, str] | None = None, **more: Any) -> Any:
    return judge(HEAD, "5.24.0", RECORD, Real(real, failed or {}, **more))


def test_what_is_predicted_and_true_is_proved() -> None:
    tried = compared(REAL)
    assert tried.proof is not None
    assert tried.proof.agrees
    assert tried.proof.version == "transformers 5.24.0"
    assert tried.proof.detail == "as predicted: 8 of the 10 answers that loading gives, the others are not predicted"
    assert tried.unchecked == ()


WRONG: dict[str, tuple[str, Any, str]] = {
    "an id": ("eos_token_id", 4, "eos_token_id: predicted 3, really 4"),
    "ids": ("stops", [3], "stops: predicted [3, 5], really [3]"),
    "a role that is there": ("eos_token_id", None, "eos_token_id: predicted 3, really null"),
    "a load": ("loads.tokenizer", False, "loads.tokenizer: predicted true, really false"),
    "a load of nothing": ("loads.generation_config", True, "loads.generation_config: predicted null, really true"),
    "a token": ("added_tokens", {"3": {"content": "</s>", "special": False}, "4": {}}, 'added_tokens: differs for "3", "4"'),
    "a template": ("template.sha256", "ab" * 32, f'template.sha256: predicted null, really "{"ab" * 32}"'),
    "half a character": ("tokenizer_class", "\ud800", 'tokenizer_class: predicted "TokenizersBackend", really "\\ud800"'),
}


@pytest.mark.parametrize("name", WRONG)
def test_one_wrong_answer_is_our_error(name: str) -> None:
    key, value, detail = WRONG[name]
    proof = compared({**REAL, key: value}).proof
    assert not proof.agrees
    assert proof.detail == f"our prediction is wrong: {detail}"


def test_many_wrong_answers_are_counted() -> None:
    proof = compared(dict.fromkeys(REAL, "other")).proof
    assert not proof.agrees
    assert proof.detail.endswith("; and 4 more")
    assert len(proof.detail) < 400


def test_nothing_is_proved_by_what_nobody_predicted() -> None:
    tried = compared({"len_tokenizer": 12, "dtype": None})
    assert tried.proof is None
    assert [row.reason for row in tried.unchecked] == ["head was not proved by loading: nothing that loading shows is predicted"]


def test_a_package_that_is_not_here_is_no_error_of_ours() -> None:
    real = {**REAL, "loads.tokenizer": False, "errors.tokenizer.type": "ValueError"}
    failed = {"tokenizer": "ValueError"}
    tried = compared(real, failed, lacking={"tiktoken", "sentencepiece"}, native=True)
    assert tried.proof.agrees, "configuration and stop ids are compared all the same"
    assert [row.reason.partition(": ")[2] for row in tried.unchecked] == [
        "the vocabulary may need what is not installed here: sentencepiece, tiktoken"
    ]
    for more in ({"lacking": {"tiktoken"}, "native": False}, {"lacking": (), "native": True}):
        assert not compared(real, failed, **more).proof.agrees


def test_a_load_that_this_machine_refuses_is_no_error_of_ours() -> None:
    tried = compared({**REAL, "loads.tokenizer": False}, {"tokenizer": "ModuleNotFoundError"})
    assert tried.proof.agrees
    assert "could not be loaded on this machine (ModuleNotFoundError)" in tried.unchecked[0].reason


def test_a_type_that_only_torch_refuses_is_no_error_of_ours(tmp_path: Path) -> None:
    settings = {"config.json": {"dtype": "bf16"}}  # torch.bfloat16 is what it is called
    proof, unchecked = changed(tmp_path, {**settings, "chat_template.jinja": "{{ messages }}"}, base=settings)
    assert [each for each in proof if not each.agrees] == []
    assert any("may depend on torch" in row.reason for row in unchecked)


# What the records of the same version say is what is found here.


@pytest.mark.needs("shared")
def test_what_is_found_here_is_what_the_records_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    import transformers  # noqa: PLC0415 - slow, and needed by this test only

    from bot.analyze.outcome import outcome  # noqa: PLC0415 - likewise

    transformers.logging.set_verbosity_error()
    lacking = [name for name in ("sentencepiece", "tiktoken") if not _there(name)]
    agreed = 0
    wrong: list[tuple[str, str]] = []
    for path in sorted((SHARED / "golden" / f"transformers-{VERSION}").glob("*.json")) if present("shared") else ():
        record = json.loads(path.read_text("utf-8"))
        folder = SHARED.joinpath(*record["snapshot"].split("__"))
        if "notes" in record or not folder.is_dir():  # a note tells of a link that leads elsewhere here
            continue
        monkeypatch.chdir(folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            real, failed = outcome(record.get("encode", ()))
        native = any(name.suffix in (".model", ".tiktoken") for name in folder.iterdir())
        tried = judge(Job(record["snapshot"], "head"), VERSION, record, Real(real, failed, lacking, native))
        if tried.proof is not None and tried.proof.agrees:
            agreed += not tried.unchecked
        else:
            wrong.append((record["snapshot"], tried.proof.detail if tried.proof else str(tried.unchecked)))
    assert wrong == []
    assert agreed > 440


def _there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


# The process itself.


def test_both_revisions_of_a_changed_template_are_loaded(tmp_path: Path) -> None:
    proofs, unchecked = changed(tmp_path, TEMPLATE)
    assert [(proof.revision, proof.folder, proof.version) for proof in proofs] == [
        ("base", ".", f"transformers {VERSION}"),
        ("head", ".", f"transformers {VERSION}"),
    ]
    assert [proof.detail for proof in proofs if not proof.agrees] == []
    assert unchecked == ()


def test_an_added_model_is_loaded_as_it_is(tmp_path: Path) -> None:
    for side in ("base", "head"):
        (tmp_path / side).mkdir()
    write(tmp_path / "base" / "one", "chatml", {})
    write(tmp_path / "head" / "one", "chatml", {})
    write(tmp_path / "head" / "two", "chatml", TEMPLATE)
    proofs, unchecked = proved(tmp_path / "exchange", tmp_path / "base", tmp_path / "head")
    assert [(proof.folder, proof.revision, proof.agrees) for proof in proofs] == [("two", "head", True)]
    assert unchecked == ()


QUIET: dict[str, Mapping[str, Any]] = {
    "nothing": {},
    "generation defaults": {"generation_config.json": {"eos_token_id": 7}},
    "the configuration": {"config.json": {"eos_token_id": 7, "model_type": "llama"}},
    "the model card": {"README.md": "# Another"},
    "code": {"modeling.py": "import os"},
}


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_started_where_no_tokenizer_changed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "PROGRAM", "raise SystemExit('started')")
    assert changed(tmp_path, QUIET[name]) == ((), ())
    assert not (tmp_path / "exchange" / proving.FOLDER).exists()


def test_a_link_to_another_tokenizer_is_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "PROGRAM", "raise SystemExit('started')")
    for side, text in (("base", "x"), ("head", "y")):
        write(tmp_path / side / "one", "chatml", {"chat_template.jinja": {"<link>": "../shared/x.txt"}})
        (tmp_path / side / "shared").mkdir()
        (tmp_path / side / "shared" / "x.txt").write_text(text, "utf-8")
    _, unchecked = proved(tmp_path / "exchange", tmp_path / "base", tmp_path / "head")
    assert "'started'" in unchecked[0].reason


def test_nothing_is_started_where_a_model_only_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "PROGRAM", "raise SystemExit('started')")
    base, head = tmp_path / "base", tmp_path / "head"
    write(base / "old", "chatml", {})
    write(head / "new", "chatml", {})
    assert proved(tmp_path / "exchange", base, head) == ((), ())


@pytest.mark.parametrize("name", ["template", "tokenizer.json", "a role", "a named template", "a removed vocabulary"])
def test_every_kind_of_tokenizer_file_starts_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "PROGRAM", "raise SystemExit('started')")
    changes: dict[str, Mapping[str, Any]] = {
        "template": TEMPLATE,
        "tokenizer.json": {"tokenizer.json": {"version": "1.1"}},
        "a role": {"tokenizer_config.json": {"pad_token": "<pad>"}},
        "a named template": {"additional_chat_templates/rag.jinja": "x"},
        "a removed vocabulary": {"tokenizer.json": False},
    }
    proofs, unchecked = changed(tmp_path, changes[name])
    assert proofs == ()
    assert [row.reason for row in unchecked] == [
        "nothing was proved by loading with transformers: the process ended with 'started'"
    ]
    assert unchecked[0].changed


def test_the_process_that_asks_never_imports_the_library() -> None:
    code = "import sys, bot.run, bot.analyze.proving; print(sorted({'transformers', 'tokenizers'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "[]\n"


def test_never_and_always(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    proofs, unchecked = changed(tmp_path / "a", QUIET["generation defaults"], "always")
    assert [(proof.revision, proof.agrees) for proof in proofs] == [("base", True), ("head", True)]
    assert unchecked == ()
    (tmp_path / "b").mkdir()
    monkeypatch.setattr(proving, "PROGRAM", "raise SystemExit('started')")
    assert changed(tmp_path / "b", TEMPLATE, "never") == ((), ())


def test_a_library_that_is_not_installed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "ENGINE", "no-such-library")
    proofs, unchecked = changed(tmp_path, TEMPLATE)
    assert proofs == ()
    assert [(row.kind, row.reason, row.changed) for row in unchecked] == [
        ("engine", "nothing was proved by loading with no-such-library: it is not installed", False)
    ]
    with pytest.raises(UsageError, match="--prove always: no-such-library is not installed; install it"):
        changed(tmp_path, TEMPLATE, "always")


def test_a_file_that_is_elsewhere_is_said(tmp_path: Path) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 11000000\n"
    proofs, unchecked = changed(tmp_path, {"tokenizer.json": pointer})
    assert [(proof.revision, proof.agrees) for proof in proofs] == [("base", True)]
    assert [row.reason for row in unchecked] == [
        "head was not proved by loading: tokenizer.json is a Git LFS pointer to 11.0 MB, its content is not available here"
    ]


def test_code_and_weights_do_not_reach_the_process(tmp_path: Path) -> None:
    mapped = {"auto_map": {"AutoTokenizer": ["tokenization_x.X", None]}, "tokenizer_class": "X"}
    head = {
        **TEMPLATE,
        "tokenization_x.py": "raise SystemExit('run')",
        "tokenizer_config.json": mapped,
        "model.safetensors": "weights",
        "additional_chat_templates/rag.jinja": "x",
        "additional_chat_templates/run.py": "x",
    }
    write(tmp_path / "head", "chatml", head)
    exchange = gather(
        tmp_path / "exchange", base=str(write(tmp_path / "base", "chatml", {})), head=str(tmp_path / "head"), repo=tmp_path
    )
    proofs, unchecked = prove(tmp_path / "exchange", exchange, "auto", os.environ)
    laid = tmp_path / "exchange" / proving.FOLDER / proving.kept_in("head", ".")
    assert sorted(path.relative_to(laid).as_posix() for path in laid.rglob("*") if path.is_file()) == [
        "additional_chat_templates/rag.jinja",
        "chat_template.jinja",
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    assert [proof.revision for proof in proofs if proof.agrees] == ["base", "head"]
    assert unchecked == ()


# A tokenizer of a stranger: what a text becomes is worked out when its added token is registered.


def hostile(*replaced: tuple[str, str]) -> dict[str, Any]:
    rows = [{"type": "Replace", "pattern": {"String": one}, "content": two} for one, two in replaced]
    added = {
        "id": 0,
        "content": "a",
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": True,
        "special": False,
    }
    tokenizer = {
        "normalizer": {"type": "Sequence", "normalizers": rows},
        "added_tokens": [added],
        "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "a"},
    }
    plain = {"tokenizer_class": "PreTrainedTokenizerFast", "added_tokens_decoder": "<absent>"}
    return {"tokenizer.json": json.dumps(tokenizer), "tokenizer_config.json": plain}


@linux
def test_a_tokenizer_that_never_ends_costs_its_own_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "PROCESSOR", 8)
    doubled, swapped = [("a", "aa")] * 20, [("a", "b"), ("b", "a")] * 10_000
    proofs, unchecked = changed(tmp_path, hostile(*doubled, *swapped))
    assert [(proof.revision, proof.agrees) for proof in proofs] == [("base", True)], "what was done before it is kept"
    assert [(row.reason, row.changed) for row in unchecked] == [
        ("head was not proved by loading: it took more than 8 s of processor time", True)
    ]


@linux
def test_a_tokenizer_that_takes_all_memory_costs_its_own_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "MEMORY", 512 << 20)
    proofs, unchecked = changed(tmp_path, hostile(*[("a", "a" * 1000)] * 9))
    assert [(proof.revision, proof.agrees) for proof in proofs] == [("base", True)]
    assert len(unchecked) == 1
    assert unchecked[0].reason.startswith("head was not proved by loading: ")
    assert unchecked[0].changed


def test_a_hostile_base_is_named_and_head_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "MEMORY", 512 << 20)
    proofs, unchecked = changed(tmp_path, TEMPLATE, base=hostile(*[("a", "a" * 1000)] * 9))
    assert proofs == ()
    assert [row.reason.partition(" ")[0] for row in unchecked] == ["base", "head"]
    assert unchecked[1].reason == "head was not proved by loading: loading another revision before it ended the process"


def test_a_process_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "SECONDS", 0.05)
    proofs, unchecked = changed(tmp_path, TEMPLATE)
    assert proofs == ()
    assert [row.reason for row in unchecked] == ["nothing was proved by loading with transformers: it took longer than 0.05 s"]


# The real process, with words of its own once it has confined itself: nothing of the installation is imported any more.
WATCHED = """
import importlib.machinery, json, os, socket, subprocess, sys
import bot.analyze.limits as limits
real = limits.confine
def tried(work):
    try:
        return str(work())
    except OSError as error:
        return error.strerror
class Wall:
    def find_spec(self, name, path=None, target=None):
        if importlib.machinery.PathFinder.find_spec(name, path, target) is not None:
            sys.stderr.write("imported too late: " + name + "\\n")
def confine(**limited):
    missing = real(**limited)
    sys.meta_path.insert(0, Wall())
    sys.stderr.write("said: " + json.dumps({
        "missing": missing,
        "environment": dict(os.environ),
        "uid": os.getuid(),
        "socket": tried(socket.socket),
        "program": tried(lambda: subprocess.run(["/bin/true"])),
        "file": tried(lambda: open("x", "w").write("x" * 9999)),
    }) + "\\n")
    return missing
limits.confine = confine
"""


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (1, r"the process ended with 'ImportError: x', after it wrote 'Error importing a module: \x1b'"),
        (0, r"it wrote 'Error importing a module: \x1b'"),
    ],
)
def test_an_installation_that_prints_something_else_proves_nothing(status: int, said: str) -> None:
    output = b"Error importing a module: \x1b\n[]\n"
    proofs, (row,) = proving.results(jail.Ended(status, output, "Traceback\nImportError: x\n", ""), VERSION)
    assert proofs == ()
    assert row.reason == f"nothing was proved by loading with transformers: {said}"


@linux
@pytest.mark.needs("shared")
def test_the_process_has_no_secret_and_no_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_TOKEN", "INPUT_TOKEN", "HF_TOKEN", "HF_HOME", "HOME", "PYTHONPATH"):
        monkeypatch.setenv(name, f"secret of {name}")
    found = [path for kind in ("corpus", "cases") for path in sorted((SHARED / kind).iterdir()) if (path / "base").is_dir()][::8]
    for side in ("base", "head"):
        for path in found:
            _copy(path / side, tmp_path / side / path.name)
    exchange = gather(tmp_path / "exchange", base=str(tmp_path / "base"), head=str(tmp_path / "head"), repo=tmp_path)
    proving.lay_out(tmp_path / "exchange", exchange)
    program = proving.PROGRAM.replace("import runpy;", f"exec({WATCHED!r}); import runpy;")
    running = child.start(os.environ, program, proving.SETTINGS)
    ended = jail.once(running, f"{tmp_path / 'exchange'}\nalways\n{proving.PROCESSOR}\n{proving.MEMORY}\n", proving.SECONDS)
    child.end(running)
    assert ended.status == 0, ended.errors
    said = json.loads(next(line for line in ended.errors.splitlines() if line.startswith("said: ")).removeprefix("said: "))
    assert said["missing"] == []
    assert "secret" not in json.dumps(said["environment"])
    assert said["environment"]["HF_HUB_OFFLINE"] == "1"
    assert (said["socket"], said["program"]) == ("Operation not permitted",) * 2
    assert said["file"] in ("File too large", "Permission denied")
    assert said["uid"] == (65534 if os.getuid() == 0 else os.getuid())
    assert [line for line in ended.errors.splitlines() if "too late" in line] == []
    proofs, unchecked = proving.results(ended, VERSION)
    assert len(proofs) > 30
    assert [proof for proof in proofs if not proof.agrees] == []
    assert [row.reason for row in unchecked if "pointer" not in row.reason and "not installed here" not in row.reason] == []


def _copy(source: Path, target: Path) -> None:
    """Copy what stands in a folder, without weights; links are followed where they lead somewhere."""
    for path in source.rglob("*"):
        if path.is_file() and path.suffix != ".safetensors":
            place = target / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())
