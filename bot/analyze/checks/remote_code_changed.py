"""Code that auto_map reaches was edited."""

import io
import tokenize
from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.remote_code import every_reference, local, reached
from bot.analyze.wording import value
from bot.answer import Known
from bot.snapshot import File

CHECK = Check(
    title="Code that auto_map reaches was edited",
    says="changes code that readers run",
    sees="a .py file with other content than in base that `auto_map` (also of a nested configuration) names in both, or that such a file imports relatively, at any depth, and a file that is newly imported so",
    why="Everyone who loads the model with trust_remote_code, in transformers, vLLM or sglang, runs the edited code from the moment of the merge.",
    fix="Read the change as code of a program: it is one.",
    wrong_when="no `auto_map` leads to the file, or only its name changed",
    severity="warning",
    engines=("transformers", "vllm", "sglang"),
    weighed="Certain, since the contents differ; no fault by itself but to be read by a person, hence a warning, and a note where only comments and blank lines differ. The corpus holds no code.",
)

_LAYOUT = (tokenize.COMMENT, tokenize.NL)
_LONGEST = 256 << 10  # bytes of a file whose tokens are compared, and how many files: taking texts apart takes time
_MOST = 20


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Follow the modules that both sides name; those that only head names are new code, not edited code."""
    named = local(every_reference(base)) & local(every_reference(head))
    named_files = {f"{module}.py" for module in named}
    held = {base.files[name].oid for name in reached(base, named)}
    compared = 0
    for name in sorted(reached(head, named)):
        before, after = base.files.get(name), head.files[name]
        if before is None and (name in named_files or after.oid in held - {""}):
            continue  # a missing file was put in its place, or one got another name
        if before is not None and not _differ(before, after):
            continue
        how = "was edited" if before is not None else "is new"
        small = before is not None and compared < _MOST and _only_layout(base, head, name)
        compared += 1
        via = "named by" if name in named_files else "imported by code that is named by"
        yield Seen(
            key=name,
            title=f"{value(name)} {how}{', in comments and blank lines only' if small else ''}: it is {via} {value('auto_map')}",
            places=(head.place(name),),
            severity="note" if small else None,
        )


def _differ(before: File, after: File) -> bool:
    """A link that leads elsewhere, or to an edited file, is told by the content that it leads to."""
    if before.content is not None and after.content is not None:
        return before.content != after.content
    return bool(before.oid and after.oid) and "symlink" not in (before.kind, after.kind) and before.oid != after.oid


def _only_layout(base: Model, head: Model, name: str) -> bool:
    """Whether the tokens of both sides are the same but for comments and blank lines."""
    sides = (base.content(name), head.content(name))
    if not all(isinstance(side, Known) and len(side.value) <= _LONGEST for side in sides):
        return False
    texts = [side.value for side in sides if isinstance(side, Known)]
    if _before_signs(texts[0]) != _before_signs(texts[1]):
        return False
    rows = [_tokens(text) for text in texts]
    return rows[0] is not None and rows[0] == rows[1]


def _before_signs(content: bytes) -> list[bytes]:
    """What stands before the first number sign of each line: different texts of it are no matter of comments."""
    return [text for line in content.split(b"\n") if (text := line.partition(b"#")[0].rstrip())]


def _tokens(content: bytes) -> list[tuple[int, str]] | None:
    try:
        return [
            (token.type, token.string) for token in tokenize.tokenize(io.BytesIO(content).readline) if token.type not in _LAYOUT
        ]
    except (tokenize.TokenError, SyntaxError, UnicodeDecodeError, RecursionError):
        return None
