"""How added tokens are searched for in a text by a tokenizers library before 0.23, which transformers before 5.18 comes with."""

from collections.abc import Iterable

from bot.analyze.model.tokenizer_file import AddedToken

Batch = tuple[AddedToken, ...]


def searched(batches: Iterable[Batch]) -> dict[str, frozenset[bool]]:
    """For each token the `normalized` flags by which it is searched for, in the text as it is (False) or as the normalizer leaves it (True).

    `batches` are the tokens in the order of registration. A token that is registered again gets the flags of the last registration, but for this
    one: a special token keeps that of its first special registration, and those before that count as well
    (tokenizers 0.22.2, tokenizer/added_vocabulary.rs, add_tokens and refresh_added_tokens; from 0.23 on the last one counts, run).
    """
    special: set[str] = set()
    found: dict[str, set[bool]] = {}
    last: dict[str, AddedToken] = {}
    for batch in batches:
        for token in batch:
            if token.special and token.content and token.content not in special:
                special.add(token.content)
                found.setdefault(token.content, set()).add(token.normalized)
        for token in batch:
            if token.content and _flags(last.get(token.content)) != _flags(token):
                last[token.content] = token
                if token.content not in special:
                    found.setdefault(token.content, set()).add(token.normalized)
    return {text: frozenset(flags) for text, flags in found.items()}


def _flags(token: AddedToken | None) -> tuple[bool, ...] | None:
    return (token.special, token.single_word, token.lstrip, token.rstrip, token.normalized) if token else None
