"""special_tokens_map.json was deleted, and with it a role that no other file states."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.declared import CONFIG, MAP, declared, has_decoder, unread
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import ROLES, role
from bot.analyze.wording import listed, value
from bot.answer import Known
from bot.place import Place

CHECK = Check(
    title="special_tokens_map.json was deleted, and a role with it",
    says="takes away a file that gave special tokens their roles",
    sees="a special_tokens_map.json in base that was in force and none in head, and a role or a token of the list of special tokens that head states nowhere else",
    why="A role is then empty or a default of the tokenizer class, which depends on the version of transformers: padding, or the end of a text, may use "
    "another token or none; a token that leaves the list is missing from `all_special_ids` (4.57.6 and 5.24.0, run).",
    fix="Write the roles into `tokenizer_config.json`.",
    wrong_when="tokenizer_config.json states the roles (with another token as well) and the list, or it has added_tokens_decoder, so that the map was not read",
    severity="note",
    weighed="A note: transformers 5 writes no such file any more, and the run over real repositories found every role stated twice.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Ask head for each token of the map."""
    gone = base.readable(MAP) and not head.has(MAP) and MAP not in head.went
    if not gone or has_decoder(base) or unread(head) or not head.has(CONFIG):
        return
    kept = {row.text for row in declared(head) if row.read and row.table in ("roles", "extra")}
    lost: list[str] = []
    for row in declared(base):
        if row.file != MAP or not row.text:
            continue
        if row.slot in ROLES:
            stated = head.mapping(CONFIG).get(row.slot) is not None
            lost += [] if stated else [f"{value(row.slot)} {value(row.text)}{_default(head, row.slot)}"]
        elif row.text not in kept:
            lost.append(f"{value(row.text)} of {value(row.slot)}")
    if lost:
        yield Seen(
            key=MAP,
            title=f"{value(MAP)} is gone, and with it {listed(lost, most=5)}",
            places=(Place("base", base.path(MAP)),),
        )


def _default(head: Model, name: str) -> str:
    """What steps in, which only transformers 5 or only a class of its own may do."""
    now = role(head, name)
    return f" (a default of the class is {value(now.value)})" if isinstance(now, Known) else ""
