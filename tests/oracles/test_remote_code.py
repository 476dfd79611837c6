"""What auto_map leads to, and which names are known, against transformers and huggingface_hub as installed."""

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest
import transformers
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id
from transformers import AutoConfig, AutoProcessor, dynamic_module_utils
from transformers.models.auto import tokenization_auto
from transformers.utils.hub import get_checkpoint_shard_files

from bot.analyze.checks import (
    auto_map_file_missing,
    index_missing_shard,
    model_type_unresolvable,
    processor_config_missing,
)
from bot.analyze.model import names, repository_id
from bot.analyze.model.remote_code import every_reference, reached
from tests.changes import write
from tests.conftest import ROOT
from tests.models import model, model_of
from tools.names import PATH

CODE = "from transformers import PretrainedConfig\nclass C(PretrainedConfig):\n    model_type = 'tinyx'\n"
REFERENCES = ("conf.C", "src/conf.C", "src.conf.C", "other.C")
TREES: tuple[dict[str, str], ...] = (
    {},
    {"conf.py": CODE},
    {"src/conf.py": CODE},
    {"src.conf.py": CODE, "other.py": CODE},
    {"conf.py": "from .other import C\n", "other.py": CODE},
    {"conf.py": "from .other import C\n"},
    {"conf.py": "from .other import C\n", "other.py": f"from .deep import one\n{CODE}"},
)
IMPORTS = (
    "from .b import x\n",
    "    from .b import x, y as z  # c\n",
    "from .c import (\n    x,\n    y,\n)\n",
    "import b\n# from .c import x\n",
    "try:\n\tfrom .d import x\nexcept ImportError:\n\tpass\n",
    "from ..b import x\nfrom . import c\n",
    "from transformers.b import x\n",
)
PATHS = (
    "/data/base",
    "./base",
    "../base",
    "~/base",
    "a/b/c",
    r"C:\models\base",
    r"models\base",
    "file:///data/base",
    "base/",
    ".",
)
IDS = ("gpt2", "owner/name", "Owner-1/Name_2.v3", "owner/checkpoint")


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the network, and with a folder of its own for the code that transformers copies."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in [name for name in sys.modules if name.startswith("transformers_modules")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("tree", TREES, ids=lambda tree: "+".join(tree) or "nothing")
def test_a_module_is_missing_where_transformers_cannot_load_it(reference: str, tree: dict[str, str], tmp_path: Path) -> None:
    config: Any = {"model_type": "tinyx", "auto_map": {"AutoConfig": reference}}
    folder = write(tmp_path / "tiny", "none", {**tree, "config.json": json.dumps(config)})
    found = list(auto_map_file_missing.find(model_of(folder)))
    try:
        AutoConfig.from_pretrained(folder, trust_remote_code=True, local_files_only=True)
    except (OSError, ValueError):
        assert found
    else:
        assert not found


@pytest.mark.parametrize("kind", ["llama", "tinyx"])
def test_loading_a_configuration_reads_no_nested_auto_map(kind: str, tmp_path: Path) -> None:
    inner: Any = {"model_type": kind, "auto_map": {"AutoConfig": "conf.C"}}
    config = {"model_type": "llava", "text_config": inner, "vision_config": {"model_type": "clip_vision_model"}}
    folder = write(tmp_path / "tiny", "none", {"conf.py": "raise SystemExit", "config.json": json.dumps(config)})
    try:
        read: Any = AutoConfig.from_pretrained(folder, trust_remote_code=True, local_files_only=True)
    except ValueError:
        assert not names.knows_model_type(kind)
    else:
        assert names.knows_model_type(kind)
        assert {row.pointer for row in every_reference(model_of(folder))} == {"/text_config/auto_map/AutoConfig"}
        assert read.text_config.auto_map == inner["auto_map"]


def test_every_file_that_transformers_copies_is_reached(tmp_path: Path) -> None:
    compared = 0
    for i, (first, second) in enumerate(itertools.product(IMPORTS, repeat=2)):
        tree = {"a.py": first, "b.py": second, "c.py": first, "d.py": ""}
        folder = write(tmp_path / str(i), "none", tree)
        try:
            copied = dynamic_module_utils.get_relative_import_files(folder / "a.py")
        except FileNotFoundError:
            continue  # a file above, which transformers seeks under a wrong name
        assert {"a.py", *(Path(path).name for path in copied)} <= reached(model_of(folder), ["a"])
        compared += 1
    assert compared > len(IMPORTS)


def test_what_nothing_imports_is_not_reached() -> None:
    tree = {"a.py": "".join(IMPORTS[3:4]), "b.py": "", "c.py": "", "d.py": ""}
    assert reached(model(tree), ["a", "nowhere"]) == {"a.py"}


def test_the_table_of_names_is_what_the_installed_version_says() -> None:
    table: Any = json.loads(PATH.read_text("utf-8"))
    # In a process of its own: a name that another test asked for is one that `dir` tells from then on.
    asked = [sys.executable, "-c", "import json; from tools.names import of_5; print(json.dumps(of_5()))"]
    done = subprocess.run(asked, cwd=ROOT, check=True, capture_output=True, text=True)
    assert table[f"transformers {transformers.__version__}"] == json.loads(done.stdout.splitlines()[-1])
    assert transformers.__version__ == ".".join(map(str, names.NEWEST))


@pytest.mark.parametrize(
    "name", ["Qwen2Tokenizer", "Qwen2TokenizerFast", "BloomTokenizer", "TokenizersBackend", "TinyTokenizer", "GPT2"]
)
def test_a_tokenizer_class_of_the_installed_version_is_known(name: str) -> None:
    assert names.knows_tokenizer_class(name) == (tokenization_auto.tokenizer_class_from_name(name) is not None)


@pytest.mark.parametrize("kind", ["qwen3", "bert", "tinyllm", "", "Qwen3"])
def test_a_model_type_is_unknown_where_auto_config_raises(kind: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "tiny", "none", {"config.json": json.dumps({"model_type": kind})})
    found = list(model_type_unresolvable.find(model_of(folder)))
    try:
        AutoConfig.from_pretrained(folder, local_files_only=True)
    except ValueError:
        assert found
    else:
        assert not found


@pytest.mark.parametrize(
    "there", [("a.safetensors",), ("a.safetensors", "b.safetensors"), ("b.safetensors", "model.safetensors")]
)
def test_a_shard_is_missing_where_transformers_opens_a_file_that_is_not_there(there: tuple[str, ...], tmp_path: Path) -> None:
    index: Any = {"metadata": {}, "weight_map": {"x": "a.safetensors", "y": "b.safetensors", "z": "a.safetensors"}}
    folder = write(
        tmp_path / "tiny", "none", {**dict.fromkeys(there, "weights"), "model.safetensors.index.json": json.dumps(index)}
    )
    weights = model({path.name: path.read_bytes() for path in folder.iterdir()})
    found = list(index_missing_shard.find(weights))
    opened: Any = get_checkpoint_shard_files(str(folder), str(folder / "model.safetensors.index.json"), local_files_only=True)
    assert bool(found) == any(not Path(path).exists() for path in opened[0])


@pytest.mark.parametrize("kind", ["gemma3", "qwen2_5_vl", "llava", "whisper", "clip"])
def test_a_processor_is_missing_where_auto_processor_raises(kind: str, tmp_path: Path) -> None:
    config = json.dumps({"model_type": kind})
    settings = json.dumps({"image_processor_type": "X", "feature_extractor_type": "X"})
    base = write(tmp_path / "base", "chatml", {"config.json": config, "preprocessor_config.json": settings})
    head = write(tmp_path / "head", "chatml", {"config.json": config})
    assert list(processor_config_missing.find_in_change(model_of(base, "base"), model_of(head)))
    with pytest.raises(OSError, match=r"Can't load (image processor|feature extractor) for"):
        AutoProcessor.from_pretrained(head, local_files_only=True)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_no_name_of_the_hub(path: str) -> None:
    assert repository_id.is_local_path(path)
    assert not repository_id.is_id(path)
    with pytest.raises(HFValidationError):
        validate_repo_id(path)


@pytest.mark.parametrize("name", IDS)
def test_a_name_of_the_hub_is_no_path(name: str) -> None:
    assert not repository_id.is_local_path(name)
    assert repository_id.is_id(name)
    validate_repo_id(name)
