"""auto_map names code that base did not name."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.remote_code import Reference, every_reference, local, place, reached
from bot.analyze.wording import listed, value

CHECK = Check(
    title="auto_map names new code",
    says="makes readers run new code",
    sees="a module, of this repository or of another, that an `auto_map` of head, also of a nested configuration, names and none of base",
    why="It runs on the machine of everyone who loads the model with trust_remote_code, in transformers, vLLM and sglang alike, from the moment of the merge.",
    fix="Read the code before merging, and name only code that loading needs.",
    wrong_when="base named the module in another file or for another class, its file only has a new name, the file is not there, or a configuration of base could not be read",
    severity="warning",
    engines=("transformers", "vllm", "sglang"),
    weighed="Certain, since the reference is there; no fault by itself but to be read by a person, hence a warning. The corpus holds no code, so that only new references to other repositories could show there, and none do.",
    of_added_models=True,
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare what both name, without the classes."""
    before = every_reference(base)
    known = {row.code for row in before}
    held = {base.files[name].oid for name in reached(base, local(before))}
    found: dict[str, list[Reference]] = {}
    for row in every_reference(head):
        unread = base.has(row.file) and not base.readable(row.file)
        same = not row.repository and head.has(row.path) and head.files[row.path].oid in held - {""}
        there = bool(row.repository) or head.has(row.path)
        if row.code not in known and there and not unread and not same:
            found.setdefault(row.code, []).append(row)
    for code, rows in found.items():
        classes = listed(value(name) for name in dict.fromkeys(row.auto_class for row in rows))
        what = f"{value(rows[0].path)} of {value(rows[0].repository)}" if rows[0].repository else value(rows[0].path)
        yield Seen(
            key=code,
            title=f"{value('auto_map')} of {value(rows[0].file)} newly takes {classes} from {what}",
            places=tuple(place(head, row) for row in rows[:8]),
        )
