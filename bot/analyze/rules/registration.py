"""In which order transformers registers added tokens with the library, and how they are then searched for in a text."""

from collections.abc import Iterable, Mapping

import msgspec

from bot.analyze.model.given import Given
from bot.analyze.model.stated import Value, text
from bot.analyze.model.tokenizer_file import AddedToken

Batch = tuple[AddedToken, ...]
_QWEN2_ROLES = ("bos_token", "eos_token", "unk_token", "pad_token")


def batches(listed: Batch, said: Given, name: str, *, five: bool, again: bool) -> tuple[Batch, ...]:
    """The tokens in the order of registration: those of the file, those declared by id with the roles and the others, and for some classes once more.

    `listed` are those that come with the file, `name` is the class, `again` says that it registers its special tokens at the end (4.57.6
    tokenization_utils_fast.py:170-206; 5.24.0 tokenization_utils_tokenizers.py:478-518; read and run). A token that is registered twice has
    the flags of the later registration.
    """
    named = {**said.named}
    if name == "Qwen2TokenizerFast":  # it makes tokens of strings (4.57.6 models/qwen2/tokenization_qwen2_fast.py:99-118)
        named.update({role: _token(named[role]) for role in _QWEN2_ROLES if role in named})
    stated: tuple[Value, ...] = (*named.values(), *said.more)
    if not five:  # of several with one string the first counts
        first = {text(value): value for value in reversed(stated)}
        stated = tuple(first[string] for string in dict.fromkeys(map(text, stated)))
    # Every declared token is registered again: the test for those that are there compares tokens with ids and never finds one.
    new = [token for _, token in sorted(said.declared.items())]
    known = {token.content for token in (*listed, *new)}
    # 4.x looks for the token itself in a list of strings: one with flags of its own is never found there.
    same = {_flags(token) for token in new}
    strange = [
        value
        for value in stated
        if text(value) not in known or (not five and isinstance(value, AddedToken) and _flags(value) not in same)
    ]
    new += map(_token, strange)
    special = frozenset(map(text, named.values() if five else stated))
    once = tuple(msgspec.structs.replace(token, special=token.special or token.content in special) for token in new)
    if not again:
        return listed, once
    # Qwen2Tokenizer hands over strings, CohereTokenizer tokens with flags of their own.
    values = stated if name != "Qwen2Tokenizer" else map(text, stated)
    return listed, once, tuple(msgspec.structs.replace(_token(value), special=True) for value in values)


def _token(value: Value) -> AddedToken:
    return value if isinstance(value, AddedToken) else AddedToken(value, 0, special=True, normalized=False)


def _flags(token: AddedToken) -> AddedToken:
    """A token without the id that it is declared with."""
    return msgspec.structs.replace(token, id=0)


def registered(rounds: Iterable[Batch], *, at_once: bool) -> dict[str, AddedToken]:
    """The flags of each token after all rounds: the last ones.

    With `at_once` a token that is there with the same flags before a round is passed over in it (tokenizers 0.22.2, run; 0.20.3 and 0.23.3 not),
    so that of two with one string in a round the other one counts.
    """
    found: dict[str, AddedToken] = {}
    for batch in rounds:
        before = dict(found) if at_once else {}
        found.update({token.content: token for token in batch if not _there(token, before)})
    return found


def searched(rounds: Iterable[Batch], *, at_once: bool) -> dict[str, frozenset[bool]]:
    """For each token the `normalized` flags by which a library before 0.23 searches for it; `at_once` as in `registered`.

    False stands for the text as it is, True for what the normalizer leaves of it. A special token keeps the flag of its first special registration,
    and those before that count as well, where from 0.23 on the last registration counts (tokenizers 0.22.2, tokenizer/added_vocabulary.rs,
    add_tokens and refresh_added_tokens, run).
    """
    special: set[str] = set()
    found: dict[str, set[bool]] = {}
    last: dict[str, AddedToken] = {}
    for batch in rounds:
        for token in batch:
            if token.special and token.content not in special:
                special.add(token.content)
                found.setdefault(token.content, set()).add(token.normalized)
        before = dict(last) if at_once else last
        for token in batch:
            if not _there(token, before):
                last[token.content] = token
                if token.content not in special:
                    found.setdefault(token.content, set()).add(token.normalized)
    return {string: frozenset(flags) for string, flags in found.items()}


def _there(token: AddedToken, found: Mapping[str, AddedToken]) -> bool:
    return token.content in found and _flags(found[token.content]) == _flags(token)
