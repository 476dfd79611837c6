"""special_tokens_map.json overrides a role of tokenizer_config.json."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.declared import CONFIG, MAP, content_of, has_decoder
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import ROLES
from bot.analyze.wording import value

CHECK = Check(
    title="special_tokens_map.json overrides tokenizer_config.json",
    says="lets an old file decide over a special token",
    sees="a role (eos_token, bos_token, …) to which both files give a value, not the same one, while tokenizer_config.json has no added_tokens_decoder",
    why="Without `added_tokens_decoder` the map wins (transformers 4.46.3, 4.57.6 and 5.24.0, run; 5.24.0 tokenization_utils_base.py:1902); "
    "engines that read `tokenizer_config.json` alone, like llama.cpp and transformers.js, keep the other token.",
    fix="Give both files the same token, or delete `special_tokens_map.json`.",
    wrong_when="tokenizer_config.json has added_tokens_decoder, so that the map is not read, or the same token is written as a string and as an object",
    severity="warning",
    weighed="A warning, since the role differs by engine; a note where tokenizer_config.json gives null, which old uploads of Llama do beside a map that pads with `</s>`.",
)


def find(model: Model) -> Iterator[Seen]:
    """Compare the roles that both files state."""
    config, other = model.mapping(CONFIG), model.mapping(MAP)
    if has_decoder(model) or not model.readable(CONFIG):
        return
    for name in ROLES:
        if name in config and name in other and _token(config[name]) != _token(other[name]):
            yield Seen(
                key=name,
                title=f"{value(MAP)} makes {value(name)} {_shown(other[name])}, {value(CONFIG)} says {_shown(config[name])}",
                places=(model.place(MAP, f"/{name}"), model.place(CONFIG, f"/{name}")),
                severity="warning" if _token(config[name]) else "note",
            )


def _token(token: object) -> str | None:
    """The string of a token; an empty one is none, like null."""
    return content_of(token) or None


def _shown(token: object) -> str:
    text = _token(token)
    return "empty" if text is None else value(text)
