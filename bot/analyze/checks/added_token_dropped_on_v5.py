"""transformers 5 drops a token of tokenizer.json, because added_tokens_decoder lacks it."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.declared import CONFIG, Declared, declared, of_table, spelled
from bot.analyze.model.folder import Model, fact
from bot.analyze.model.picks import VERSIONS, picks, ranges
from bot.analyze.model.tokenizer_class import candidates, rebuilds, roles
from bot.analyze.model.tokens import tokens
from bot.analyze.wording import listed, value
from bot.answer import Known

CHECK = Check(
    title="transformers 5 does not know a token of tokenizer.json",
    says="adds a token that transformers 5 splits into pieces",
    sees="an added token of tokenizer.json that added_tokens_decoder of tokenizer_config.json lacks, "
    "with a tokenizer class that transformers 5 rebuilds (Qwen2Tokenizer, LlamaTokenizer, GemmaTokenizer and others)",
    why="Such a class takes the vocabulary from `tokenizer.json` and the added tokens from `added_tokens_decoder` alone: "
    "the string is one token on transformers 4 and several on the versions of 5 that pick the class (5.24.0 tokenization_utils_tokenizers.py:105-180, run).",
    fix="Add the token to `added_tokens_decoder` with the id and flags that it has in `tokenizer.json`.",
    wrong_when="added_tokens_decoder is absent, a role or a list of special tokens names the string, the merges build it, or the class takes the file as it is",
    severity="error",
    engines=("transformers >= 5", "vllm >= 0.24", "sglang >= 0.5.10"),
    weighed="An error where every release from 5.16 on rebuilds the class; a warning where only some of them do. The rule names what recorded runs of 4.57.6 and 5.24.0 differ in over 323 folders, no more and no less.",
)


def find(model: Model) -> Iterator[Seen]:
    """All that a folder drops is one fault: a list that was emptied would be hundreds."""
    rows = _dropped(model)
    if rows:
        yield _seen(model, "tokenizer.json", rows)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """What head drops beyond what base dropped already."""
    known = {row.text for row in _dropped(base)}
    rows = tuple(row for row in _dropped(head) if row.text not in known)
    if known and rows:
        yield _seen(head, "tokenizer.json: more", rows)


@fact
def _dropped(model: Model) -> tuple[Declared, ...]:
    """What the rebuilt tokenizer gets from nowhere."""
    rebuilt = [name for name in candidates(model) if rebuilds(name)]
    if (
        not rebuilt
        or not isinstance(model.mapping(CONFIG).get("added_tokens_decoder"), dict)
        or not isinstance(tokens(model), Known)
    ):
        return ()
    kept = {row.text for row in declared(model) if row.read and row.table in ("added_tokens_decoder", "roles", "extra")}
    kept |= {text for name in rebuilt for text in roles(name).values()}
    rows = {row.text: row for row in of_table(model, "added_tokens") if row.text and row.text not in kept}
    return tuple(row for row in rows.values() if not spelled(model, row.text))


def _seen(model: Model, key: str, rows: tuple[Declared, ...]) -> Seen:
    rebuilt = [name for name in candidates(model) if rebuilds(name)]
    one = len(rows) == 1
    names = listed((value(row.text) for row in rows), most=5)
    versions = [version for version, name in picks(model).items() if name in rebuilt]
    numbers = "5" if len(versions) in (0, len(VERSIONS)) else listed(ranges(versions))
    return Seen(
        key=key,
        title=f"{names} {'is a token' if one else 'are tokens'} of {value('tokenizer.json')} only: "
        f"{listed(rebuilt)} of transformers {numbers} splits {'it' if one else 'them'}",
        places=(*(row.place(model) for row in rows[:3]), model.place(CONFIG, "/added_tokens_decoder")),
        engines=(f"transformers {numbers}", "vllm >= 0.24", "sglang >= 0.5.10") if numbers != "5" else None,
        severity="error" if len(rebuilt) == len(candidates(model)) else "warning",
    )
