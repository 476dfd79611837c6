"""Which folders and files are of interest, by name alone."""

import time

import pytest

from bot.fetch.links import Tree
from bot.fetch.selection import MOST_ENTRIES, Owners, Selection, candidates, is_document, is_weight, select, taken
from bot.fetch.source import UnreadError
from bot.snapshot import File


def tree(*paths: str, oid: str = "1") -> list[File]:
    return [File(path, oid=oid) for path in paths]


def link(path: str, target: str) -> File:
    return File(path, "symlink", "l", target=target)


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("tokenizer_config.json", "."),
        ("model/generation_config.json", "model"),
        ("a/b/c/special_tokens_map.json", "a/b/c"),
        ("x/added_tokens.json", "x"),
        ("x/chat_template.jinja", "x"),
        ("x/chat_template.json", "x"),
        ("x/additional_chat_templates/tool_use.jinja", "x"),
        ("additional_chat_templates/rag.jinja", "."),
        ("x/tokenizer.model", "x"),
        ("x/tekken.json", "x"),
        ("x/qwen.tiktoken", "x"),
        ("x/tiktoken.model", "x"),
        ("x/preprocessor_config.json", "x"),
        ("x/processor_config.json", "x"),
        ("x/adapter_config.json", "x"),
        ("x/mlc-chat-config.json", "x"),
        ("x/model.safetensors.index.json", "x"),
        ("x/config.json", "x"),
        ("x/tokenizer.json", "x"),
    ],
)
def test_candidates(path: str, folder: str) -> None:
    assert candidates(tree(path)) == {folder}


@pytest.mark.parametrize(
    "path", ["README.md", "package.json", "pytorch_model.bin.index.json", "x/template.jinja", "x/model.safetensors"]
)
def test_no_candidates(path: str) -> None:
    assert candidates(tree(path)) == frozenset()


def test_an_entry_belongs_to_its_nearest_candidate() -> None:
    owners = Owners({".", "original", "a/b"})
    assert owners.folder("x/y/z.txt") == "."
    assert owners.folder("original/params.json") == "original"
    assert owners.folder("original/scripts/x.py") == "original"
    assert owners.folder("a/x") == "."
    assert owners.folder("a/b/c/d") == "a/b"
    assert Owners({"model"}).folder("README.md") is None


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("tokenizer.json", True),
        ("model.safetensors.index.json", True),
        ("pytorch_model.bin.index.json", True),
        ("tool_chat_template.jinja", True),
        ("additional_chat_templates/tool_use.jinja", True),
        ("spiece.model", True),
        ("tokenizer.model.v3", True),
        ("merges.txt", True),
        ("vocab.txt", True),
        ("README.md", True),
        (".gitattributes", True),
        ("modeling_x.py", True),
        ("code/deep/x.py", True),
        ("code/x.json", False),
        ("model.safetensors", False),
        ("pytorch_model.bin", False),
        ("figure.png", False),
        ("notes.txt", False),
    ],
)
def test_wanted(path: str, *, wanted: bool) -> None:
    assert Owners({"."}).wants(path) is wanted
    assert Owners({"m"}).wants(f"m/{path}") is wanted
    assert not Owners({"m"}).wants(path)


def test_weights_and_documents_by_name() -> None:
    assert all(
        is_weight(name) for name in ("a.safetensors", "a.BIN", "a.gguf", "a.pt", "a.pth", "a.h5", "a.msgpack", "a.onnx", "a.npz")
    )
    assert not is_weight("tokenizer.model")
    assert all(is_document(name) for name in ("README", "README.md", "readme_zh.md", "x/CHANGELOG.txt", "CHANGELOG"))
    assert not any(is_document(name) for name in ("README.png", "readme.py", "LICENSE"))


def test_select_names_what_differs() -> None:
    base = tree("a/config.json", "b/config.json", "gone/config.json", "README.md")
    head = [*tree("a/config.json", "new/config.json", "README.md"), File("b/config.json", oid="2")]
    assert select(base, head) == Selection(("b", "gone", "new"), ("a",), documents=False)


@pytest.mark.parametrize("path", ["m/x.safetensors", "m/picture.png", "m/additional_chat_templates/a.jinja", "m/code/x.py"])
def test_own_files_change_a_folder(path: str) -> None:
    base = [*tree("m/config.json"), File(path, oid="1")]
    head = [*tree("m/config.json"), File(path, oid="2")]
    assert select(base, head).changed == ("m",)


def test_other_files_below_do_not_change_a_folder() -> None:
    base = [*tree("m/config.json"), File("m/docs/x.png", oid="1")]
    head = [*tree("m/config.json"), File("m/docs/x.png", oid="2")]
    assert select(base, head) == Selection((), ("m",), documents=False)


def test_a_link_changes_with_the_file_it_leads_to() -> None:
    base = [link("m/config.json", "../shared/c"), File("shared/c", oid="1")]
    head = [link("m/config.json", "../shared/c"), File("shared/c", oid="2")]
    assert select(base, head).changed == ("m",)
    assert select(base, base).unchanged == ("m",)


def test_the_root_of_plain_folders_counts() -> None:
    assert select(tree("x.txt"), tree("x.txt", oid="2"), plain=True).changed == (".",)
    assert select(tree("x.txt"), tree("x.txt", oid="2")) == Selection((), (), documents=False)


def test_nothing_is_taken_of_equal_trees() -> None:
    entries = tree("m/config.json", "README.md")
    assert taken(entries, select(entries, entries)) == ()


def test_taken_are_changed_folders_and_what_stands_beside_them() -> None:
    base = tree(
        ".gitattributes", "CHANGELOG", "README.md", "LICENSE", "a/.gitattributes", "a/m/config.json", "a/m/w.bin", "k/config.json"
    )
    head = [*(file for file in base if file.path != "a/m/config.json"), File("a/m/config.json", oid="2")]
    selection = select(base, head)
    paths = [file.path for file in taken(base, selection)]
    assert paths == [".gitattributes", "CHANGELOG", "README.md", "a/.gitattributes", "a/m/config.json", "a/m/w.bin"]


def test_a_changed_readme_of_the_root_is_taken_alone() -> None:
    base = tree("README.md", "m/config.json")
    head = [File("README.md", oid="2"), *tree("m/config.json")]
    assert [file.path for file in taken(head, select(base, head))] == ["README.md"]


def test_a_huge_folder_is_cut_and_says_so() -> None:
    base = tree("config.json", "w.safetensors", *(f"pictures/{number}.png" for number in range(MOST_ENTRIES + 5)))
    head = [*base, File("z.json", oid="1")]
    files = {file.path: file for file in taken(head, select(base, head))}
    assert len(files) == MOST_ENTRIES + 1
    assert {"config.json", "w.safetensors", "z.json"} < files.keys()
    assert files["."].unread == "holds 5,008 entries, of which only the 5,000 most telling were taken"


def test_ten_thousand_entries_take_well_under_a_second() -> None:
    base = tree(
        *(f"models/{number % 500}/part-{number}.json" for number in range(10_000)),
        *(f"models/{n}/config.json" for n in range(500)),
    )
    start = time.process_time()
    selection = select(base, [*base, File("models/3/x.json", oid="1")])
    files = taken(base, selection)
    assert time.process_time() - start < 0.5
    assert selection.changed == ("models/3",)
    assert len(files) == 21


@pytest.mark.parametrize(
    ("path", "target", "leads"),
    [
        ("m/a", "b", "m/b"),
        ("m/a", "./b", "m/b"),
        ("m/a", "../m/b", "m/b"),
        ("a", "m/b", "m/b"),
        ("m/a", "../chain", "m/b"),
        ("m/a", "../folder/b", "m/b"),
    ],
)
def test_links_inside_the_tree(path: str, target: str, leads: str) -> None:
    start = link(path, target)
    others = [File("m/b"), link("chain", "m/b"), link("folder", "m")]
    assert Tree([start, *others]).follow(start).path == leads


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("../../x", "symbolic link to ../../x, which leads out of the tree"),
        ("/etc/passwd", "symbolic link to /etc/passwd, which leads out of the tree"),
        ("../x", "symbolic link to ../x, which is not in the tree"),
        ("nowhere/../b", "symbolic link to nowhere/../b, which is not in the tree"),
        ("b/c", "symbolic link to b/c, which is not in the tree"),
        ("b/", "symbolic link to b/, which is not in the tree"),
        ("a", "symbolic link to a, which leads in a circle"),
        ("..", "symbolic link to .., which is a folder"),
        ("../sub/x", "symbolic link to ../sub/x, which is in a submodule"),
        ("", "symbolic link to nothing, which is a folder"),
        ("./" * 3000, "symbolic link to " + "./" * 100 + "..., which takes too many steps to follow"),
        ("../out", "symbolic link to ../out, which leads out of the tree"),
    ],
)
def test_links_to_nowhere(target: str, reason: str) -> None:
    start = link("m/a", target)
    with pytest.raises(UnreadError) as caught:
        Tree([start, File("m/b"), File("sub", "submodule"), link("out", "/x")]).follow(start)
    assert str(caught.value) == reason
