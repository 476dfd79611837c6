"""A token is no longer special."""

import re
from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.declared import Declared, by_text, declared, has_decoder
from bot.analyze.model.edits import Put, diff
from bot.analyze.model.eos import listed
from bot.analyze.model.folder import Model, fact
from bot.analyze.model.tokenizer_class import REGISTER_AGAIN, candidates, rebuilds
from bot.analyze.model.tokens import Token, tokens
from bot.analyze.records import Finding
from bot.analyze.wording import listed as words
from bot.analyze.wording import value
from bot.answer import Known

CHECK = Check(
    title="A token lost its special flag",
    says="lets a control token show up in the text of replies",
    sees="a token that loading makes special in base and not in head, and that holds no role in head",
    why="`skip_special_tokens` no longer removes it (4.57.6 and 5.24.0, run): it appears in what users and parsers read.",
    fix='Set `"special": true` again.',
    wrong_when="a role, another named token or a list that the class registers once more (Qwen2Tokenizer) holds the string, which makes it special whatever the flag says, another table still says that it is "
    "special and counts, or the token is new",
    severity="warning",
    engines=("transformers", "vllm", "sglang"),
    weighed="A warning; a note for markers of tools and thinking, which parsers must be able to read, so that the change is often wanted, but not for control tokens like `[TOOL_CALLS]`. The run over real repositories met none.",
)

# Tool parsers need their markers in the text (vLLM and sglang switch skip_special_tokens off for many of them).
_READ_BY_PARSERS = re.compile(r"tool|think|reason|call|function|response|arg_|answer", re.IGNORECASE)
# Those that Mistral writes in square brackets are control tokens, whatever they are for.
_CONTROL = re.compile(r"\[/?[A-Z_]+\]")
_MOST = 20  # tokens that one diff repairs
_FOUR, _FIVE = "transformers < 5", "transformers >= 5"


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare what loading makes special."""
    after = _special(head)
    for (stop, read, lost), found in _groups(base, head).items():
        are, them = ("is", "it") if len(found) == 1 else ("are", "them")
        names = words((f"{value(token.text)} {token.id}" for token, _ in found), most=5)
        places = [
            row.place(head)
            for _, where in found[:3]
            for row in sorted(where, key=lambda row: row.table != "added_tokens_decoder")
        ]
        yield Seen(
            key=found[0][0].text,
            title=f"{names} {are} special no more{f', although replies end with {them}' if stop else ''}",
            places=tuple(places),
            severity="note" if read and not stop else "warning",
            engines=None if len(lost) == len(after) else lost,
        )


def patch(base: Model, head: Model, finding: Finding) -> str:
    """Set the flags again, where the change is not likely to be wanted."""
    (stop, read, _), found = next(row for row in _groups(base, head).items() if row[1][0][0].text == finding.key)
    changes: dict[str, list[Put]] = {}
    for row in (row for _, where in found for row in where):
        changes.setdefault(row.file, []).append(Put(f"{row.pointer}/special", value=True))
    return diff(head, changes) if len(found) <= _MOST and (stop or not read) else ""


def _groups(base: Model, head: Model) -> dict[tuple[bool, bool, tuple[str, ...]], list[tuple[Token, list[Declared]]]]:
    """The tokens that were special, with the statements that they are not: by whether replies end with them, parsers read them, and which loaders differ."""
    table, before, after = tokens(head), _special(base), _special(head)
    if not isinstance(table, Known) or not isinstance(tokens(base), Known):
        return {}
    stops, rows = _stops(head), by_text(row for row in declared(head) if row.read and row.id is not None)
    groups: dict[tuple[bool, bool, tuple[str, ...]], list[tuple[Token, list[Declared]]]] = {}
    for text, token in table.value.added.items():
        lost = tuple(way for way in after if text in before.get(way, ()) and text not in after[way])
        where = [row for row in rows.get(text, ()) if row.special is False]
        if lost and where:  # a table without flags takes none away
            kind = (token.id in stops, bool(_READ_BY_PARSERS.search(text)) and not _CONTROL.fullmatch(text), lost)
            groups.setdefault(kind, []).append((token, where))
    return groups


def _stops(model: Model) -> tuple[int, ...]:
    stops = listed(model)
    return stops.value if isinstance(stops, Known) else ()


@fact
def _special(model: Model) -> dict[str, set[str]]:
    """The strings that are special, for each way in which the tokenizer may be loaded.

    One statement suffices: a token that was registered as special stays so for skip_special_tokens, whatever is registered later
    (tokenizers 0.23.3 and transformers 5.24.0, run). A list of special tokens makes all of them special on 4 (4.57.6, run), on 5 those that
    are not in the tables, except in a class that registers its special tokens once more.
    """
    rows = [row for row in declared(model) if row.read]
    named = {row.text for row in rows if row.table == "roles"}
    lists = {row.text for row in rows if row.table == "extra"}
    own = [row for row in rows if row.table == "added_tokens"]
    other = [row for row in rows if row.table in ("added_tokens_decoder", "added_tokens.json")]
    classes = candidates(model)
    if not classes:  # a tokenizer written in Python (tokenization_python.py:587 in 5.24.0, read)
        return {_FOUR: named | lists | _flagged(other)}
    sides: list[set[str]] = []
    for name in classes:
        counts = other if rebuilds(name) and has_decoder(model) else [*own, *other]
        new = lists if name in REGISTER_AGAIN else lists - {row.text for row in counts}
        sides.append(named | new | _flagged(counts))
    return {_FOUR: named | lists | _flagged(own) | _flagged(other), _FIVE: set[str].intersection(*sides)}


def _flagged(rows: list[Declared]) -> set[str]:
    return {row.text for row in rows if row.special}
