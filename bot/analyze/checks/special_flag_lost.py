"""A token is no longer special."""

import re
from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.declared import by_text, declared, named
from bot.analyze.model.eos import listed
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import tokens
from bot.analyze.wording import value
from bot.answer import Known

CHECK = Check(
    title="A token lost its special flag",
    says="lets a control token show up in the text of replies",
    sees="a token that is special in base and not in head, in the table whose flag counts, and that holds no role in head",
    why="`skip_special_tokens` no longer removes it (4.57.6 and 5.24.0, run): it appears in what users and parsers read.",
    fix='Set `"special": true` again.',
    wrong_when="a role or another named token holds the string, which makes it special whatever the flag says, the flag is overridden by "
    "added_tokens_decoder, or the token is new",
    severity="warning",
    engines=("transformers", "vllm", "sglang"),
    weighed="A warning; a note for markers of tools and thinking, which parsers must be able to read, so that the change is often wanted.",
)

# Tool parsers need their markers in the text (vLLM and sglang switch skip_special_tokens off for many of them).
_READ_BY_PARSERS = re.compile(r"tool|think|reason|call|function|response|arg_|answer", re.IGNORECASE)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare the flags that count: those of added_tokens_decoder override those of tokenizer.json (5.24.0, run)."""
    before, after = tokens(base), tokens(head)
    if not isinstance(before, Known) or not isinstance(after, Known):
        return
    stops, restored = listed(head), named(head)
    rows = by_text(row for row in declared(head) if row.read)
    for text, token in after.value.added.items():
        old = before.value.added.get(text)
        if old is None or not old.special or token.special or text in restored:
            continue
        tables = [row for row in rows.get(text, []) if row.id is not None]
        if {row.table for row in tables} == {"added_tokens.json"} and any(row.table == "extra" for row in rows[text]):
            continue  # that file states no flags: there a list of special tokens gives them (tokenization_utils_base.py:1930 in 5.24.0)
        stop = isinstance(stops, Known) and token.id in stops.value
        places = [row.place(head) for row in sorted(tables, key=lambda row: row.table != "added_tokens_decoder")]
        yield Seen(
            key=text,
            title=f"{value(text)} {token.id} is special no more{', although replies end with it' if stop else ''}",
            places=tuple(places) or (head.place(*token.place),),
            severity="note" if _READ_BY_PARSERS.search(text) and not stop else "warning",
        )
