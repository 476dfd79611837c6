"""special_tokens_map.json was deleted, and with it a role that no other file states."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.declared import CONFIG, MAP, content_of, declared, has_decoder, of_table, unread
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import ROLES, role
from bot.analyze.wording import listed, value
from bot.answer import Known
from bot.place import Place

CHECK = Check(
    title="special_tokens_map.json was deleted, and a role with it",
    says="takes away a file that gave special tokens their roles",
    sees="a special_tokens_map.json in base that was in force and none in head, and a role or a special token that head states nowhere else",
    why="The role is then empty or a default of the tokenizer class: padding, or the end of a text, uses another token or none.",
    fix="Write the roles into `tokenizer_config.json`.",
    wrong_when="tokenizer_config.json states the roles, or it has added_tokens_decoder, so that the map was not read",
    severity="note",
    weighed="A note: transformers 5 writes no such file any more, and the run over real repositories found every role stated twice.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Ask head for each token of the map."""
    gone = base.readable(MAP) and not head.has(MAP) and MAP not in head.went
    if not gone or has_decoder(base) or unread(head) or not head.has(CONFIG):
        return
    before, stated = base.mapping(MAP), head.mapping(CONFIG)
    lost = [
        f"{value(name)} {value(text)}"
        for name in ROLES
        if (text := content_of(before.get(name))) and _lost(head, stated, name, text)
    ]
    kept = {row.text for row in declared(head) if row.read and (row.table in ("roles", "extra") or row.special)}
    listed_there = (row.text for row in of_table(base, "extra") if row.file == MAP)
    lost += [f"the special token {value(text)}" for text in listed_there if text not in kept]
    if lost:
        yield Seen(
            key=MAP,
            title=f"{value(MAP)} is gone, and with it {listed(lost)}",
            places=(Place("base", base.path(MAP)),),
        )


def _lost(head: Model, stated: dict[str, object], name: str, text: str) -> bool:
    now = role(head, name)
    return name not in stated and not (isinstance(now, Known) and now.value == text)
