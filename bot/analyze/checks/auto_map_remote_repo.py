"""auto_map takes code from another repository."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.remote_code import Reference, every_reference, place
from bot.analyze.wording import listed, value

CHECK = Check(
    title="auto_map takes code from another repository",
    says="makes readers run code of another repository",
    sees="a reference of `auto_map` with the name of a repository in front (owner/name--module.Class)",
    why="Whoever trusts this repository runs what the other one holds at that time: nothing pins its revision "
    "(transformers 5.24.0 dynamic_module_utils.py:604-624), and without network or when it goes, loading fails.",
    fix="Copy the code into this repository, and name it without the repository in front.",
    wrong_when="the code is named without a repository",
    severity="note",
    engines=("transformers", "vllm", "sglang"),
    weighed="A fact of the file and no fault by itself, since saving a model writes such references; the corpus holds none.",
)


def find(model: Model) -> Iterator[Seen]:
    """Name each repository once per file."""
    found: dict[tuple[str, str], list[Reference]] = {}
    for row in every_reference(model):
        if row.repository:
            found.setdefault((row.file, row.repository), []).append(row)
    for (file, repository), rows in found.items():
        modules = listed(value(path) for path in dict.fromkeys(row.path for row in rows))
        yield Seen(
            key=f"{file}:{repository}",
            title=f"{value('auto_map')} of {value(file)} takes {modules} from the repository {value(repository)}",
            places=tuple(place(model, row) for row in rows[:8]),
        )
