"""Which folders of two snapshots are models, and which of them are the same model on both sides."""

from collections.abc import Callable, Iterator, Mapping
from typing import cast

import msgspec

from bot.analyze.model import attributes
from bot.analyze.model.document import Document, parse
from bot.analyze.model.folder import Model
from bot.analyze.model.reader import Reader
from bot.analyze.model.templates import NAMED_FOLDER
from bot.analyze.model.tokenizer_file import is_tokenizer
from bot.place import Revision
from bot.snapshot import Exchange, File, Snapshot

# A folder with one of these is a model folder whatever they hold.
_NAMES = {
    "tokenizer_config.json",
    "generation_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "tokenizer.model",
    "tekken.json",
    "tiktoken.model",
    "preprocessor_config.json",
    "processor_config.json",
    "adapter_config.json",
    "mlc-chat-config.json",
}
_ENDINGS = (".tiktoken", ".safetensors.index.json")


class Pair(msgspec.Struct, frozen=True, eq=False):
    """One model on both sides; a side is None where the model does not exist there."""

    base: Model | None
    head: Model | None

    @property
    def name(self) -> str:
        """The base-side path, or the head-side one of an added model."""
        return cast("Model", self.base or self.head).name

    @property
    def moved(self) -> bool:
        """Whether the folder has another path in head."""
        return self.base is not None and self.head is not None and self.base.folder != self.head.folder


def pairs(exchange: Exchange, reader: Reader) -> tuple[Pair, ...]:
    """The model folders that differ, each with its former self.

    Two plain folders are always one model folder each ("."), except that the root counts as absent on a side where nothing of a model
    stands in it while a nested model there is waiting for its partner: that is a move.
    """
    names = _model_folders(_folders(exchange.base), _folders(exchange.head), reader)
    base, head = _models(exchange.base, "base", reader, names[0]), _models(exchange.head, "head", reader, names[1])
    partner = _moves({f: m for f, m in base.items() if f not in head}, {f: m for f, m in head.items() if f not in base})
    plain = exchange.base.sha is None and exchange.head.sha is None
    found: list[Pair] = []
    for folder in sorted({*base, *head} - set(partner.values())):
        old, new = base.get(folder), head.get(partner.get(folder, folder))
        if plain and folder == "." and (old or new) and "." not in partner:
            old = old or _empty(exchange.base, "base", reader)
            new = new or _empty(exchange.head, "head", reader)
        if old is not None and new is not None:
            same = {name for name, file in new.files.items() if _same(file, old.files.get(name))}
            settled = frozenset(same if not exchange.engines_after else ())  # another version may refuse what this one takes
            old = msgspec.structs.replace(old, settled=settled, _facts={})
            new = msgspec.structs.replace(new, name=old.folder, went=_went(old, new, base, head), settled=settled, _facts={})
        found.append(Pair(old, new))
    return tuple(found)


def _same(file: File, old: File | None) -> bool:
    """Whether a file holds what it held: one that Git LFS keeps since head is another one to its readers, and the same to git."""
    return old is not None and file.oid == old.oid != "" and file.content == old.content


def _model_folders(
    base: Mapping[str, Mapping[str, File]], head: Mapping[str, Mapping[str, File]], reader: Reader
) -> tuple[set[str], set[str]]:
    """The folders of each side that are models.

    One that is a model on one side only because of what config.json or tokenizer.json hold is a model on the other side as long as the
    file is there: it may be broken, or a pointer, and that is what has to be told.
    """
    before, after = ({folder for folder, files in side.items() if _is_model(files, reader)} for side in (base, head))

    def stays(folder: str) -> bool:
        return any(name in base.get(folder, ()) and name in head.get(folder, ()) for name in ("config.json", "tokenizer.json"))

    both = {folder for folder in before ^ after if stays(folder)}
    return before | both, after | both


def _models(snapshot: Snapshot, revision: Revision, reader: Reader, names: set[str]) -> dict[str, Model]:
    folders = {folder: files for folder, files in _folders(snapshot).items() if folder in names}
    for file in snapshot.files:
        owner = _owner(file.path, names) if file.path.endswith((".py", ".onnx")) else None
        # Code below a model folder is code of that model: auto_map reaches it by relative imports; weights for JavaScript are kept in a folder onnx/.
        if owner is not None:
            folders.setdefault(owner, {})[file.path if owner == "." else file.path[len(owner) + 1 :]] = file
    declared = _lfs_declared(snapshot, reader)
    return {folder: Model(revision, folder, folder, files, reader, declared) for folder, files in folders.items()}


def root(snapshot: Snapshot, reader: Reader) -> Model:
    """A plain folder as a model, whatever it holds, and as it stands: engines are given the same bytes."""
    return msgspec.structs.replace(_empty(snapshot, "head", reader), literal=True)


def models_of(exchange: Exchange, snapshot: Snapshot, reader: Reader) -> Iterator[tuple[str, Model]]:
    """The model folders of one revision of an exchange, each with the name that it is reported by; a plain folder is itself one, whatever it holds."""
    if snapshot.sha is None:
        yield snapshot.label, root(snapshot, reader)
        return
    found = pairs(msgspec.structs.replace(exchange, head=snapshot), reader)
    yield from ((pair.head.folder, pair.head) for pair in found if pair.head is not None)


def nothing(head: Model) -> Model:
    """The former self of an added model: a folder without a file."""
    return Model("base", head.folder, head.name, {}, head.reader)


def _owner(path: str, names: set[str]) -> str | None:
    """The nearest model folder that holds a path, at any depth."""
    folder = path
    while folder != ".":
        folder = folder.rpartition("/")[0] or "."
        if folder in names:
            return folder
    return None


def _empty(snapshot: Snapshot, revision: Revision, reader: Reader) -> Model:
    files = _folders(snapshot).get(".", {})
    return Model(revision, ".", ".", files, reader, _lfs_declared(snapshot, reader))


def _folders(snapshot: Snapshot) -> dict[str, dict[str, File]]:
    """The files of every folder by their names in it; named templates of a subfolder belong to the folder above."""
    folders: dict[str, dict[str, File]] = {}
    for file in snapshot.files:
        parent, _, name = file.path.rpartition("/")
        folders.setdefault(parent or ".", {})[name] = file
    for folder in list(folders):
        above, _, last = folder.rpartition("/")
        if last == NAMED_FOLDER.rstrip("/"):
            folders.setdefault(above or ".", {}).update({NAMED_FOLDER + name: file for name, file in folders.pop(folder).items()})
    return folders


def _is_model(files: Mapping[str, File], reader: Reader) -> bool:
    if any(name in _NAMES or name.endswith(_ENDINGS) or name.startswith(NAMED_FOLDER) for name in files):
        return True
    config = _document(files.get("config.json"), reader)
    if config is not None and not {"model_type", "architectures"}.isdisjoint(config.mapping):
        return True
    tokenizer = _document(files.get("tokenizer.json"), reader)
    return tokenizer is not None and is_tokenizer(tokenizer.value)


def _document(file: File | None, reader: Reader) -> Document | None:
    if file is None or file.content is None:
        return None
    document = reader.parsed(file.content, parse)
    return document if isinstance(document, Document) else None


def _moves(gone: dict[str, Model], come: dict[str, Model]) -> dict[str, str]:
    """Base-side path -> head-side path of the models that moved: those that share most files, equal contents first.

    Without one equal content the names alone decide only where exactly one folder went and one came.
    """
    scores: list[tuple[int, int, str, str]] = []
    for old_folder, old in gone.items():
        for new_folder, new in come.items():
            same_names = set(old.files) & set(new.files)
            equal = sum(old.files[name].oid == new.files[name].oid != "" for name in same_names)
            alike = len(same_names) * 2 > min(len(old.files), len(new.files))
            if _kind(old) is not None and _kind(new) is not None and _kind(old) != _kind(new):
                continue  # two models that share a file
            if equal or (alike and len(gone) == len(come) == 1):
                scores.append((equal, len(same_names), old_folder, new_folder))
    found: dict[str, str] = {}
    for _, _, old_folder, new_folder in sorted(scores, reverse=True):
        if old_folder not in found and new_folder not in found.values():
            found[old_folder] = new_folder
    return found


def _kind(model: Model) -> object:
    return model.mapping("config.json").get("model_type")


def _went(old: Model, new: Model, base: Mapping[str, Model], head: Mapping[str, Model]) -> dict[str, str]:
    """Where the files of a model went that it has lost: a new file of the same name in another model folder of head.

    While its own config.json stays it is still loaded and lacks what went, unless the other folder can be loaded in its place (projects
    that keep the tokenizer in a folder of its own, with a config.json beside it).
    """
    left = "config.json" not in new.files
    before = {model.path(name) for model in base.values() for name in model.files}
    found: dict[str, str] = {}
    for name in old.files.keys() - new.files.keys():
        others = [m for m in head.values() if m.folder != new.folder and (left or "config.json" in m.files)]
        paths = [m.path(name) for m in others if name in m.files]
        found.update((name, path) for path in paths if path not in before)
    return found


def _lfs_declared(snapshot: Snapshot, reader: Reader) -> Callable[[str], bool | None]:
    """Whether .gitattributes keeps a path in Git LFS; None for a plain folder without such a file, where it cannot be seen."""
    texts: dict[str, str] = {}
    for file in snapshot.files:
        folder, _, name = file.path.rpartition("/")
        if name == attributes.NAME and file.content is not None:
            texts[folder] = reader.raw(file.content).decode("utf-8", "replace")
    every = attributes.rules(texts)
    seen = snapshot.sha is not None or any(file.path.rpartition("/")[2] == attributes.NAME for file in snapshot.files)
    return lambda path: attributes.kept_in_lfs(path, every) if seen else None
