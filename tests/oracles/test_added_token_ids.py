"""Our reading of tokenizer.json against the `tokenizers` library itself."""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from bot.analyze.model.tokenizer_file import NotTokenizer, TokenizerFile, number, read
from bot.analyze.model.tokens import refusal
from tests.changes import SNAPSHOTS
from tests.conftest import SHARED, present
from tests.models import model

PIECES = ("a", "b", "c", "ab", "bc", "abc", "<x>", "<y>")
MERGES = ("a b", "b c", "ab c", "a bc")
CONTENTS = ("", " ", "a", "ab", "<x>", "<y>", "<z>", "<w>", "<|im_end|>", "é", "\u2028")
WHOLE = json.loads((SNAPSHOTS / "chatml/tokenizer.json").read_text("utf-8"))
REAL = sorted(SHARED.rglob("tokenizer.json")) if present("shared") else []


def entry(content: str, number: int = 267, *, special: bool = True) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": number, "content": content, **flags, "special": special}


@st.composite
def tokenizer_files(draw: st.DrawFn) -> dict[str, Any]:
    """A file with a small vocabulary, and added tokens that repeat, leave gaps, go backwards, are pieces or empty."""
    entries = st.builds(entry, st.sampled_from(CONTENTS), st.integers(0, 20), special=st.booleans())
    return {
        "version": "1.0",
        "added_tokens": draw(st.lists(entries, max_size=8)),
        "model": draw(st.one_of(bpe_models(), unigram_models())),
    }


@st.composite
def bpe_models(draw: st.DrawFn) -> dict[str, Any]:
    """A BPE model whose ids may leave holes."""
    pieces = draw(st.lists(st.sampled_from(PIECES), unique=True))
    ids = draw(st.lists(st.integers(0, 12), unique=True, min_size=len(pieces), max_size=len(pieces)))
    vocab = dict(zip(pieces, ids if draw(st.booleans()) else range(len(pieces)), strict=True))
    merges = [merge for merge in MERGES if {*merge.split(), merge.replace(" ", "")} <= vocab.keys()]
    return {"type": "BPE", "vocab": vocab, "merges": merges}


@st.composite
def unigram_models(draw: st.DrawFn) -> dict[str, Any]:
    """A Unigram model in which pieces may repeat."""
    pieces = draw(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8))
    return {"type": "Unigram", "vocab": [[piece, -float(i)] for i, piece in enumerate(pieces)], "unk_id": 0}


@settings(max_examples=400, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tokenizer_files())
def test_added_tokens_get_the_ids_of_the_library(file: dict[str, Any]) -> None:
    same_ids(json.dumps(file).encode())


def same_ids(content: bytes) -> dict[str, int]:
    """The ids of the added tokens, after comparing them with those of the library.

    Where a piece above the number of pieces makes two tokens share an id, the library's list by id holds the later one only.
    """
    library = Tokenizer.from_buffer(content)
    ours = read(content)
    assert isinstance(ours, TokenizerFile)
    ids = number(ours, ours.added)
    assert ids == {token.content: library.token_to_id(token.content) for token in ours.added if token.content}
    for token in ours.added:
        assert ids.get(token.content, ours.vocab.get(token.content)) == library.token_to_id(token.content)
    by_id = {token.content: i for i, token in library.get_added_tokens_decoder().items()}
    assert by_id.items() <= ids.items()
    assert len(by_id) == len(set(ids.values()))
    return ids


@pytest.mark.parametrize(
    ("vocab", "tokens", "expected"),
    [
        ({"a": 0, "ab": 5}, ["ab", "<x>", "<y>"], {"ab": 5, "<x>": 2, "<y>": 3}),
        ({"a": 0, "ab": 2}, ["<x>", "ab", "<y>"], {"<x>": 2, "ab": 2, "<y>": 3}),
    ],
    ids=["a hole before the last piece", "an id for two"],
)
def test_a_vocabulary_with_holes(vocab: dict[str, int], tokens: list[str], expected: dict[str, int]) -> None:
    model = {"type": "BPE", "vocab": vocab, "merges": []}
    file = {"version": "1.0", "added_tokens": [entry(token) for token in tokens], "model": model}
    assert same_ids(json.dumps(file).encode()) == expected


def test_a_unigram_piece_that_stands_twice_counts_twice() -> None:
    model = {"type": "Unigram", "vocab": [["a", 0.0], ["b", 0.0], ["a", -1.0]], "unk_id": 0}
    file = {"version": "1.0", "added_tokens": [entry("<x>"), entry("a")], "model": model}
    assert same_ids(json.dumps(file).encode()) == {"<x>": 3, "a": 2}


def changed(change: Callable[[dict[str, Any]], Any]) -> bytes:
    """The tokenizer.json of the snapshot after a change, without escapes."""
    file = deepcopy(WHOLE)
    change(file)
    return json.dumps(file, ensure_ascii=False).encode()


def added(**fields: Any) -> bytes:
    """The file with one more added token; a field None is left out."""
    token = {key: value for key, value in (entry("<new>") | fields).items() if value is not None}
    return changed(lambda file: file["added_tokens"].append(token))


REFUSED = {
    "unknown top-level key": changed(lambda f: f.update(foo=1)),
    "no model": changed(lambda f: f.pop("model")),
    "model null": changed(lambda f: f.update(model=None)),
    "added_tokens an object": changed(lambda f: f.update(added_tokens={})),
    "no special": added(special=None),
    "special a number": added(special=1),
    "no content": added(content=None),
    "content a number": added(content=7),
    "no id": added(id=None),
    "id negative": added(id=-1),
    "id text": added(id="267"),
    "id float": added(id=267.0),
    "id true": added(id=True),
    "id too large": added(id=2**32),
    "vocabulary null": changed(lambda f: f["model"].update(vocab=None)),
    "model empty": changed(lambda f: f.update(model={})),
    "model a list": changed(lambda f: f.update(model=[])),
    "model type null": changed(lambda f: f["model"].update(type=None)),
    "neither type nor merges": changed(lambda f: (f["model"].pop("type", None), f["model"].pop("merges"))),
    "vocabulary of pairs": changed(lambda f: f["model"].update(type="BPE", vocab=[["a", 0], ["b", 1]], merges=[])),
    "an empty object": b"{}",
    "vocabulary gone": changed(lambda f: f["model"].pop("vocab")),
    "vocabulary id text": changed(lambda f: f["model"]["vocab"].update(zzz="3")),
    "merge of an absent piece": changed(lambda f: f["model"].update(merges=["zzq a"])),
    "pair of an absent piece": changed(lambda f: f["model"].update(merges=[["zzq", "a"]])),
    "merge into an absent piece": changed(lambda f: f["model"].update(merges=["a q"])),
    "merge of three": changed(lambda f: f["model"].update(merges=["a b c"])),
    "merge of one": changed(lambda f: f["model"].update(merges=["ab"])),
    "a list": b"[]",
    "empty": b"",
    "cut": json.dumps(WHOLE).encode()[:900],
    "more after it": json.dumps(WHOLE).encode() + b" x",
    "no UTF-8": json.dumps(WHOLE).replace("<think>", "?").encode().replace(b"?", b"\xe9"),
    "nested too deeply": b"[" * 100_000,
    "endless number": json.dumps(WHOLE).replace("260", "9" * 5000, 1).encode(),
    "version 2.0": changed(lambda f: f.update(version="2.0")),
    "added_tokens null": changed(lambda f: f.update(added_tokens=None)),
    "no lstrip": added(lstrip=None),
    "no normalized": added(normalized=None),
    "vocabulary id negative": changed(lambda f: f["model"]["vocab"].update(z=-3)),
    "vocabulary id too large": changed(lambda f: f["model"]["vocab"].update(z=2**32)),
    "no merges": changed(lambda f: f["model"].pop("merges")),
    "unknown model type": changed(lambda f: f["model"].update(type="Nope")),
    "unknown decoder": changed(lambda f: f.update(decoder={"type": "Nope"})),
    "byte order mark": b"\xef\xbb\xbf" + json.dumps(WHOLE).encode(),
    "not a number": json.dumps(WHOLE).replace('"truncation": null', '"truncation": NaN').encode(),
    "lone surrogate": json.dumps(WHOLE).replace("<think>", "\\ud800").encode(),
}

ACCEPTED = {
    "as it is": changed(lambda _: None),
    "no version": changed(lambda f: f.pop("version")),
    "no added_tokens": changed(lambda f: f.pop("added_tokens")),
    "largest id": added(id=2**32 - 1),
    "an unknown field of an added token": added(foo=1),
    "merges as pairs": changed(lambda f: f["model"].update(merges=[["a", "l"]], vocab={"a": 0, "l": 1, "al": 2})),
    "merges as texts": changed(lambda f: f["model"].update(merges=["a l"], vocab={"a": 0, "l": 1, "al": 2})),
    "no type, words": changed(lambda f: f.update(model={"vocab": {"a": 0}, "unk_token": "a"})),
    "no type, pairs": changed(lambda f: f.update(model={"vocab": [["a", 0], ["b", -1.5]]})),
    "no type": changed(lambda f: f["model"].pop("type", None)),
    "WordLevel": changed(lambda f: f.update(model={"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"})),
    "Unigram": changed(lambda f: f.update(model={"type": "Unigram", "vocab": [["<unk>", 0], ["a", -1.5]], "unk_id": 0})),
    "added_tokens twice": json.dumps(WHOLE).replace('{"version"', '{"added_tokens": [], "version"', 1).encode(),
    "a piece twice": json.dumps(WHOLE).replace('"vocab": {', '"vocab": {"!": 5, ', 1).encode(),
}


def refused(content: bytes) -> bool:
    """Whether we say that the library refuses a file, for what it holds or for what its merges need."""
    return isinstance(read(content), NotTokenizer) or refusal(model({"tokenizer.json": content})) is not None


def loads(content: bytes) -> bool:
    try:
        Tokenizer.from_buffer(content)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_the_library_refuses_is_none(name: str) -> None:
    assert not loads(REFUSED[name])
    assert refused(REFUSED[name])


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_file_that_the_library_accepts_is_one(name: str) -> None:
    assert loads(ACCEPTED[name])
    ours = read(ACCEPTED[name])
    assert isinstance(ours, TokenizerFile)
    assert not refused(ACCEPTED[name])
    library = Tokenizer.from_buffer(ACCEPTED[name])
    assert ours.vocab == library.get_vocab(with_added_tokens=False)
    assert number(ours, ours.added) == {t.content: i for i, t in library.get_added_tokens_decoder().items()}


def test_a_version_line_among_the_merges_can_be_read() -> None:
    content = changed(lambda file: file["model"].update(merges=["#version: 0.2"]))
    assert loads(content)
    assert isinstance(read(content), TokenizerFile)


@pytest.mark.needs("shared")
def test_there_are_real_files() -> None:
    assert len(REAL) >= 300


@pytest.mark.needs("shared")
def test_every_real_file_gets_the_ids_of_the_library() -> None:
    wrong: list[str] = []
    for path in REAL:
        content = path.read_bytes()
        ours = read(content)
        if not loads(content):
            if not refused(content):
                wrong.append(f"{path}: refused by the library only")
            continue
        if isinstance(ours, NotTokenizer) or refused(content):
            wrong.append(f"{path}: accepted by the library only")
            continue
        library = Tokenizer.from_buffer(content)
        if number(ours, ours.added) != {t.content: i for i, t in library.get_added_tokens_decoder().items()}:
            wrong.append(f"{path}: other ids")
    assert wrong == []
