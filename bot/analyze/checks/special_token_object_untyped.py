"""A special token of tokenizer_config.json is an object that does not say it is a token."""

from collections.abc import Iterable, Iterator
from typing import Any, cast

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.declared import CONFIG, FLAGS, MAP, content_of, escaped, has_decoder, untyped
from bot.analyze.model.edits import Put, diff
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import ROLES
from bot.analyze.records import Finding
from bot.analyze.wording import value

CHECK = Check(
    title="A special token is an object without its type",
    says="keeps the tokenizer from loading",
    sees="a role (eos_token, bos_token, …) or an entry of additional_special_tokens or extra_special_tokens in tokenizer_config.json "
    'that is an object without "__type": "AddedToken"',
    why="The tokenizer does not load: transformers raises TypeError (all versions, 5.24.0 run), and transformers.js throws.",
    fix='Add `"__type": "AddedToken"` to the object, or write the token as a plain string.',
    wrong_when="the object stands in special_tokens_map.json or in added_tokens_decoder, where no type is needed, or under a name that is no role",
    severity="error",
    engines=("transformers", "vllm", "sglang", "transformers.js"),
    weighed="Loading fails on every version, so an error; a warning where special_tokens_map.json overrides the object and only transformers.js reads it. The run over real repositories met one, made on purpose.",
)

_TYPE = '"__type": "AddedToken"'


def find(model: Model) -> Iterator[Seen]:
    """Look at every place where a token is expected."""
    overriding = {} if has_decoder(model) else model.mapping(MAP)
    found: dict[str, tuple[str, Any]] = {}
    for name, pointer, token in _expected(model.mapping(CONFIG)):
        if untyped(token):
            found.setdefault(name, (pointer, token))  # the first of a list is enough
    for name, (pointer, token) in found.items():
        text = content_of(token)
        what = f"{value(name)} {value(text)}" if text else value(name)
        spared = name in overriding
        yield Seen(
            key=name,
            title=f"{what} is an object without {value(_TYPE)}: {'transformers.js does' if spared else 'the tokenizer does'} not load",
            detail=f"transformers.js throws; transformers takes the value of {value(MAP)} instead." if spared else "",
            places=(model.place(CONFIG, pointer),),
            severity="warning" if spared else "error",
            engines=("transformers.js",) if spared else None,
        )


def _expected(config: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """What transformers makes tokens of: its key, its pointer, and the value (run with 5.24.0 for every one of them)."""
    for name in ROLES:
        if name in config:
            yield name, f"/{name}", config[name]
    # A list that is not empty takes the place of additional_special_tokens (tokenization_utils_base.py in 5.24.0).
    name = "extra_special_tokens" if config.get("extra_special_tokens") else "additional_special_tokens"
    tokens: Any = config.get(name)
    rows: Iterable[tuple[Any, Any]] = enumerate(cast("list[Any]", tokens)) if isinstance(tokens, list) else ()
    if isinstance(tokens, dict) and name == "extra_special_tokens":
        rows = cast("dict[str, Any]", tokens).items()
    for key, token in rows:
        yield name, f"/{name}/{escaped(str(key))}", token


def patch(base: Model, head: Model, finding: Finding) -> str:
    """Say the type of every such object under the key, if all of them are tokens otherwise."""
    del base
    found = [
        (pointer, token) for name, pointer, token in _expected(head.mapping(CONFIG)) if name == finding.key and untyped(token)
    ]
    if any(content_of(token) is None or not {"content", *FLAGS}.issuperset(token) for _, token in found):
        return ""
    return diff(head, {CONFIG: [Put(f"{pointer}/__type", "AddedToken") for pointer, _ in found]})
