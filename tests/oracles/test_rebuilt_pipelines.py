"""Which texts a class that builds its own pipeline encodes differently, against transformers; and which class a version picks."""

import json
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest
import transformers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from bot.analyze.model.picks import VERSIONS, BuiltPipeline, built, picks, registered
from bot.analyze.model.pipeline import pipeline
from bot.analyze.model.rebuilt import GPT2, SPACE, difference
from bot.analyze.model.tokenizer_class import candidates
from tests.models import model_of
from tools import tokenizers_5x

QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = QWEN.replace(r"\p{N}|", r"\p{N}{1,3}|", 1)
CORPUS = [
    "Hello world 12345 2024, 100 times",
    "it's the world's (first) day:\n\n  x = foo(bar)",
    "naïve café e\u0301te\u0301 東京 e\u0301te\u0301",
] * 50
PLAIN = "Hello world"
TEXTS = (
    PLAIN,
    "12345 and 2024",
    "it's IT'S x\n\n  y (foo)",
    "cafe\u0301 naïve é",
    "東京 2024",
    "a\tb  c",
    "the world's (first) day:\n\n  x = foo(bar)",
    "hello WORLD",
)


def byte_level(*splits: Any, use_regex: bool = True, front: bool = False) -> Any:
    return pre_tokenizers.Sequence([*splits, pre_tokenizers.ByteLevel(add_prefix_space=front, use_regex=use_regex)])


def split(pattern: str) -> Any:
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def spaces(scheme: str = "first") -> Any:
    return pre_tokenizers.Metaspace(prepend_scheme=scheme, split=False)


LLAMA_NORMALIZER = [normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)]
# (normalizer, pre-tokenizer) of a file
FILES: dict[str, tuple[Any, Any]] = {
    "GPT-2": (None, pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "GPT-2 written out": (None, byte_level(split(GPT2), use_regex=False)),
    "GPT-2 with a space in front": (None, byte_level(front=True)),
    "GPT-NeoX": (normalizers.NFC(), byte_level()),
    "Qwen": (normalizers.NFC(), byte_level(split(QWEN), use_regex=False)),
    "Qwen without NFC": (None, byte_level(split(QWEN), use_regex=False)),
    "Llama 3": (None, byte_level(split(LLAMA3), use_regex=False)),
    "Cohere": (normalizers.NFC(), byte_level(pre_tokenizers.Digits(individual_digits=True))),
    "lower case": (normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()]), byte_level(split(QWEN), use_regex=False)),
    "Llama 2": (normalizers.Sequence(LLAMA_NORMALIZER), None),
    "Llama 2 in lower case": (normalizers.Sequence([normalizers.Lowercase(), *LLAMA_NORMALIZER]), None),
    "Metaspace": (None, spaces()),
    "Metaspace, never in front": (None, spaces("never")),
    "Gemma": (normalizers.Replace(" ", SPACE), None),
}
CLASSES = ("GPT2Tokenizer", "GPTNeoXTokenizer", "Qwen2Tokenizer", "CohereTokenizer", "LlamaTokenizer", "GemmaTokenizer")
OPTIONS: tuple[dict[str, Any], ...] = ({}, {"add_prefix_space": True}, {"add_prefix_space": False})


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder with a trained tokenizer.json for each pipeline."""
    found: dict[str, Path] = {}
    for name, (normalizer, pre_tokenizer) in FILES.items():
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback="▁" in str(normalizer) + str(pre_tokenizer)))
        if normalizer is not None:
            tokenizer.normalizer = normalizer
        if pre_tokenizer is not None:
            tokenizer.pre_tokenizer = pre_tokenizer
        tokenizer.decoder = decoders.ByteLevel()
        specials = ["<unk>", "<s>", "</s>", "<bos>", "<eos>", "<pad>", "<mask>", "<|endoftext|>"]
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        tokenizer.train_from_iterator(
            CORPUS, trainers.BpeTrainer(vocab_size=700, special_tokens=specials, initial_alphabet=alphabet, show_progress=False)
        )
        found[name] = tmp_path_factory.mktemp("file")
        saved = json.loads(tokenizer.to_str())
        # As SentencePiece vocabularies have it: a piece for every byte.
        vocab = saved["model"]["vocab"]
        vocab.update({f"<0x{byte:02X}>": len(vocab) + byte for byte in range(256)})
        (found[name] / "tokenizer.json").write_text(json.dumps(saved), "utf-8")
    return found


def differing(folder: Path, name: str, options: dict[str, Any]) -> list[str]:
    """The texts that the class encodes otherwise than the file alone."""
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name, **options}), "utf-8")
    loaded: Any = getattr(transformers, name).from_pretrained(folder, local_files_only=True)
    raw = Tokenizer.from_file(str(folder / "tokenizer.json"))
    ids = {text: loaded(text, add_special_tokens=False)["input_ids"] for text in TEXTS}
    return [text for text in TEXTS if ids[text] != raw.encode(text, add_special_tokens=False).ids]


@pytest.mark.parametrize("name", CLASSES)
def test_what_differs_is_what_is_said(name: str, files: dict[str, Path]) -> None:
    wrong: list[Any] = []
    pipe = built(name)
    assert pipe is not None
    for file, folder in files.items():
        for options in OPTIONS:
            texts = differing(folder, name, options)
            found = pipeline(model_of(folder))
            assert found is not None
            said = difference(found, pipe, options, json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]["vocab"])
            weight = said.weight if said else ""
            right = {"": not texts, "all": PLAIN in texts, "some": bool(texts), "few": texts == [] or PLAIN not in texts}[weight]
            if not right:
                wrong.append((file, options, weight, texts))
    assert wrong == []


def test_the_table_is_what_the_installed_version_says() -> None:
    committed = {name: built(name) for name in tokenizers_5x.pipelines()}
    assert committed == {name: BuiltPipeline(**row) for name, row in tokenizers_5x.pipelines().items()}
    mapping, _ = tokenizers_5x.installed()
    assert VERSIONS[-1] == transformers.__version__
    assert {kind: registered(kind) for kind in mapping} == mapping


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3", "phi3", "mistral", "deepseek_v3", "no_such_type", ""])
@pytest.mark.parametrize(
    "name", ["LlamaTokenizerFast", "Qwen2Tokenizer", "GPT2Tokenizer", "PreTrainedTokenizerFast", "NoSuch", ""]
)
def test_the_class_of_the_installed_version(name: str, kind: str, files: dict[str, Path]) -> None:
    for file in ("Llama 3", "Llama 2"):
        folder = files[file]
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name} if name else {}), "utf-8")
        (folder / "config.json").write_text(json.dumps({"model_type": kind} if kind else {}), "utf-8")
        model = model_of(folder)
        loaded: Any = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        (folder / "config.json").unlink()
        assert picks(model)[transformers.__version__] == type(loaded).__name__
        assert candidates(model)[-1] == type(loaded).__name__
