"""Which folders and files of a tree are of interest, by their names alone."""

from collections.abc import Collection, Iterable, Sequence
from posixpath import basename, dirname

import msgspec

from bot.fetch.globs import chosen, fits
from bot.fetch.links import Tree
from bot.fetch.source import UnreadError
from bot.snapshot import File

ROOT = "."
TEMPLATES = "additional_chat_templates"
MOST_ENTRIES = 5_000  # of one candidate folder

CANDIDATE_NAMES = frozenset({
    "tokenizer_config.json", "generation_config.json", "special_tokens_map.json", "added_tokens.json",
    "chat_template.jinja", "chat_template.json", "tokenizer.model", "tekken.json", "tiktoken.model",
    "preprocessor_config.json", "processor_config.json", "adapter_config.json", "mlc-chat-config.json",
    "config.json", "tokenizer.json",
})  # fmt: skip
CANDIDATE_ENDINGS = (".tiktoken", ".safetensors.index.json")
WEIGHT_ENDINGS = (
    ".safetensors", ".bin", ".gguf", ".ggml", ".pt", ".pth", ".ckpt", ".h5", ".msgpack", ".onnx", ".onnx_data", ".npz", ".npy",
    ".tflite", ".pkl", ".pickle", ".wasm", ".ot",
)  # fmt: skip
WANTED_NAMES = frozenset({"merges.txt", "vocab.txt", "readme.md", ".gitattributes"})
WANTED_ENDINGS = (".json", ".jinja", ".model", ".tiktoken", ".py")
DOCUMENT_ENDINGS = ("", ".md", ".markdown", ".rst", ".txt")


def is_weight(name: str) -> bool:
    """Say whether a file of this name holds weights, which are never read."""
    return name.lower().endswith(WEIGHT_ENDINGS)


def is_document(path: str) -> bool:
    """Say whether a file is a README or CHANGELOG, in which people claim commits."""
    name = basename(path).lower()
    for stem in ("readme", "changelog"):
        if name.startswith(stem):
            dot = name.rfind(".")
            return (name[dot:] if dot >= 0 else "") in DOCUMENT_ENDINGS
    return False


def is_candidate_name(path: str) -> bool:
    """Say whether an entry of this path makes the folder that holds it a candidate."""
    name = basename(path)
    return name in CANDIDATE_NAMES or name.endswith(CANDIDATE_ENDINGS)


def candidates(entries: Iterable[File]) -> frozenset[str]:
    """Return the folders that may be model folders; the root is "."."""
    found: set[str] = set()
    for entry in entries:
        if is_candidate_name(entry.path):
            found.add(dirname(entry.path) or ROOT)
        elif basename(dirname(entry.path)) == TEMPLATES and entry.path.endswith(".jinja"):
            found.add(dirname(dirname(entry.path)) or ROOT)
    return frozenset(found)


class Owners:
    """Which candidate folder each entry belongs to: its nearest candidate ancestor."""

    def __init__(self, folders: Collection[str]) -> None:
        self.folders = frozenset(folders)
        self._known: dict[str, str | None] = {folder: folder for folder in self.folders}
        self._known.setdefault(ROOT, None)

    def folder(self, path: str) -> str | None:
        """Return the candidate folder that an entry belongs to, None where there is none above it."""
        here = dirname(path) or ROOT
        passed: list[str] = []
        while here not in self._known:
            passed.append(here)
            here = dirname(here) or ROOT
        owner = self._known[here]
        self._known.update(dict.fromkeys(passed, owner))
        return owner

    def own(self, path: str) -> str | None:
        """Return the candidate folder that an entry is one of the own files of: what its engines may read.

        Own are the direct children, the templates of `additional_chat_templates/`, and code at any depth below.
        """
        folder = self.folder(path)
        if folder is None:
            return None
        inside = path if folder == ROOT else path[len(folder) + 1 :]
        where = dirname(inside)
        return folder if where in ("", TEMPLATES) or inside.endswith(".py") else None

    def wants(self, path: str) -> bool:
        """Say whether the bytes of an entry are needed, given that its candidate folder changed."""
        if self.own(path) is None:
            return False
        name = basename(path).lower()
        return name in WANTED_NAMES or name.endswith(WANTED_ENDINGS) or name.startswith("tokenizer.model.v")


class Selection(msgspec.Struct, frozen=True):
    """Which candidate folders of two trees differ; `documents` says whether a README or CHANGELOG of the root does.

    `left_out` are those that differ as well and that nobody wants judged; `unmatched` are globs that mean no folder of either tree.
    """

    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    documents: bool
    left_out: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()

    @property
    def owners(self) -> Owners:
        """Every candidate folder, as the owner of its files: what is left out does not become part of the folder above."""
        return Owners({*self.changed, *self.unchanged, *self.left_out})


def beside(path: str, changed: Collection[str]) -> bool:
    """Say whether an entry is read for what it says about the repository: a document of the root, or attributes above a folder."""
    where = dirname(path)
    if basename(path) == ".gitattributes":
        return not where or any(folder.startswith(where + "/") for folder in changed)
    return not where and is_document(path)


def select(
    base: Sequence[File], head: Sequence[File], *, plain: bool = False, whole: bool = False, globs: Sequence[str] = ()
) -> Selection:
    """Compare two trees without reading any file, and keep the folders that `globs` mean; none mean all.

    `plain` is for two plain folders, whose root is a model folder whatever it holds. A folder that only one of the
    trees has is changed. With `whole` every folder counts as changed: the question is then not only what the files change.
    """
    found = candidates(base) | candidates(head) | ({ROOT} if plain else frozenset())
    owners = Owners(found)
    before, after = _identities(base, owners), _identities(head, owners)
    changed = {folder for folder in found if whole or before.get(folder) != after.get(folder)}
    documents = _documents(base) != _documents(head)
    wanted = {folder for folder in changed if chosen(folder, globs)}
    unmatched = tuple(glob for glob in globs if not glob.startswith("!") and not any(fits(folder, glob) for folder in found))
    return Selection(tuple(sorted(wanted)), tuple(sorted(found - changed)), documents, tuple(sorted(changed - wanted)), unmatched)


def _identities(entries: Sequence[File], owners: Owners) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return, for each candidate folder, what identifies each of its own files."""
    tree = Tree(entries)
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for entry in entries:
        folder = owners.own(entry.path)
        if folder is not None:
            found.setdefault(folder, {})[entry.path] = (entry.kind, entry.oid, entry.unread, _leads_to(tree, entry))
    return found


def _leads_to(tree: Tree, entry: File) -> str:
    if entry.kind != "symlink":
        return ""
    try:
        return tree.follow(entry).oid
    except UnreadError as reason:
        return str(reason)


def _documents(entries: Sequence[File]) -> dict[str, str]:
    return {entry.path: entry.oid for entry in entries if not dirname(entry.path) and is_document(entry.path)}


def taken(entries: Sequence[File], selection: Selection) -> tuple[File, ...]:
    """Return the entries of one side that cross: all of the changed folders, and the documents and attributes beside them.

    Of a folder with more than MOST_ENTRIES entries those that are read come first, then weights, then the others; an
    entry with the folder's own path says in `unread` that the rest was left out.
    """
    if not selection.changed and not selection.documents:
        return ()
    changed = frozenset(selection.changed)
    owners = selection.owners
    inside: dict[str, list[File]] = {}
    kept: list[File] = []
    for entry in entries:
        folder = owners.folder(entry.path)
        if folder in changed:
            inside.setdefault(str(folder), []).append(entry)
        elif beside(entry.path, changed):
            kept.append(entry)
    for folder, files in inside.items():
        if len(files) > MOST_ENTRIES:
            reason = f"holds {len(files):,} entries, of which only the {MOST_ENTRIES:,} most telling were taken"
            files.sort(key=lambda file: (not owners.wants(file.path), not is_weight(file.path), file.path))
            kept.append(File(folder, unread=reason))
        kept += files[:MOST_ENTRIES]
    return tuple(sorted(kept, key=lambda file: file.path))
