"""The prompt that apply_chat_template of a version of transformers makes of a conversation: which template it takes, and which token strings it hands over.

Source: tokenization_utils_base.py, get_chat_template and special_tokens_map: 1922 and 1312 in 4.46.3, 1780 and 1133 in 4.57.6, 3339 and 1380 in 5.24.0
(those of 5.x are the same from 5.0.0 on); read and run.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from jinja2 import nodes

from bot.analyze.environment import dialect
from bot.analyze.model.document import NotJson
from bot.analyze.model.folder import Model
from bot.analyze.model.templates import DEFAULT, of_tokenizer, place_of, sources
from bot.analyze.render import Prompt, Renders, examined, render
from bot.analyze.rules.loaded import Loaded, Refused, loaded
from bot.analyze.rules.template_fields import FILES_SINCE, WITH_TOOLS, text
from bot.analyze.tables import parts
from bot.answer import Answer, Known, Missing, Unknown
from bot.probe import Probe

Tokens: TypeAlias = dict[str, Any]
_CONFIG = "tokenizer_config.json"
_ADDITIONAL = "additional_special_tokens"
# Where tokens may have names of their own.
_STATING, _OBJECTS = (_CONFIG, "special_tokens_map.json"), ("extra_special_tokens", "model_specific_special_tokens")
# A variable of these names is an argument of the call itself (3040 in 5.24.0).
ARGUMENTS = (
    *("self", "conversation", "chat_template", "continue_final_message", "tokenize", "padding", "truncation", "max_length"),
    *("return_tensors", "return_dict", "return_assistant_tokens_mask", "tokenizer_kwargs", "sanitize_control_tokens"),
)
# Arguments that a token may not have the name of (utils/chat_template_utils.py:786 in 5.24.0), and those of the template's own function (:857).
_OF_FUNCTION = (
    *("conversations", "tools", "documents", "chat_template", "add_generation_prompt", "return_assistant_tokens_mask"),
    "continue_final_message",
)
_OF_TEMPLATE = ("messages", "self")
# The first version seen that looks at the conversation before it compiles the template (4.46.3 does not: tokenization_utils_base.py:1806).
_COMPILES_LATE = (4, 57)
NO_TEMPLATE = Prompt(None, "ValueError: tokenizer.chat_template is not set", "failed", "ValueError")
NO_DEFAULT = Prompt(None, "ValueError: there are several chat templates and no default", "failed", "ValueError")
NO_TEXT = Prompt(None, "TypeError: the chat template is no text", "failed", "TypeError")


def tokens_of(model: Model, version: str) -> Answer[Tokens]:
    """The token strings that a template is given, by name, of the tokenizer that AutoTokenizer of a version makes; a role that is not set is left out.

    Those are the roles, defaults of the class included, and the tokens with a name of their own; in 4.x a role that is an empty string is not set, and
    additional_special_tokens is a list.
    """
    answer = loaded(model, version)
    if not isinstance(answer, Known):
        return answer
    if isinstance(answer.value, Refused):
        return Unknown("the tokenizer does not load", answer.places)
    if dialect(version).lists_additional and _ADDITIONAL in answer.value.own:
        return Unknown(f"a token has the name {_ADDITIONAL}", answer.places)
    return Known(_strings(answer.value, version), answer.places)


def _strings(found: Loaded, version: str) -> Tokens:
    strings: Tokens = {name: string for name, (string, _) in found.roles.items()} | {**found.own}
    if not dialect(version).lists_additional:
        return strings
    listed = {_ADDITIONAL: list(found.listed)} if found.listed else {}
    return {name: string for name, string in strings.items() if string} | listed


def templates(model: Model, version: str) -> Answer[Any]:
    """What tokenizer.chat_template is: a text, an object of named texts, None, or whatever else stands inline."""
    found = sources(model)
    if found.unread:
        return found.unread[0]
    read = () if parts(version) < FILES_SINCE else of_tokenizer(model)
    files = {each.name: text(each) for each in read if each.file != _CONFIG}
    if files:
        return Known(files[DEFAULT] if [*files] == [DEFAULT] else files, tuple(place_of(model, each) for each in read))
    document = model.document(_CONFIG)
    if isinstance(document, Known) and isinstance(document.value, NotJson):
        return Unknown(f"{_CONFIG} {document.value.message}", document.places)
    inline: Any = model.mapping(_CONFIG).get("chat_template")
    if isinstance(inline, list):  # loading refuses entries of another shape
        rows = cast("list[dict[str, Any]]", [row for row in cast("list[Any]", inline) if isinstance(row, dict)])
        inline = {row.get("name"): row.get("template") for row in rows if not isinstance(row.get("name"), list | dict)}
    elif isinstance(inline, dict) and cast("dict[str, Any]", inline).get("__type") == "AddedToken":
        inline = ...  # loading makes a token of it
    return Known(inline, (model.place(_CONFIG, "/chat_template"),))


def chosen(model: Model, version: str, probe: Probe) -> str | Prompt | Unknown:
    """The text that a request renders, or what comes of it where there is none."""
    answer = templates(model, version)
    if not isinstance(answer, Known):
        return answer if isinstance(answer, Unknown) else Unknown("the chat templates could not be read")
    value = answer.value
    if isinstance(value, dict):
        named = cast("dict[Any, Any]", value)
        names = (probe.template,) if probe.template else (WITH_TOOLS,) if probe.variables.get("tools") is not None else ()
        name = next((name for name in (*names, *(() if probe.template else (DEFAULT,))) if name in named), None)
        if name is None:
            return _absent(probe, answer) if probe.template else NO_DEFAULT
        return named[name] if isinstance(named[name], str) else NO_TEXT
    if probe.template not in ("", DEFAULT):
        return _absent(probe, answer)
    if value is None:
        return NO_TEMPLATE
    return value if isinstance(value, str) else NO_TEXT


def _absent(probe: Probe, answer: Known[Any]) -> Unknown:
    return Unknown(f"there is no chat template called {probe.template}", answer.places)


def text_for(model: Model, version: str, probe: Probe) -> Answer[str | None]:
    """The text of the template that a request takes, None where the tokenizer has none for it."""
    found = chosen(model, version, probe)
    if isinstance(found, Unknown):
        return found
    if isinstance(found, str):
        return Known(found)
    return Unknown("the chat template is no text") if found == NO_TEXT else Known(None)


def rendered(model: Model, version: str, probe: Probe) -> Prompt | Unknown:
    """The prompt of a conversation, for a tokenizer that loads."""
    template = chosen(model, version, probe)
    if template == NO_TEXT and not probe.messages and parts(version) >= _COMPILES_LATE:
        return applied(model, version, "", probe)
    return applied(model, version, template, probe) if isinstance(template, str) else template


def applied(model: Model, version: str, template: str, probe: Probe) -> Prompt | Unknown:
    """The prompt that apply_chat_template makes of a conversation with a template, for a tokenizer that loads."""
    if taken := next((name for name in probe.variables if name in ARGUMENTS), None):
        return Unknown(f"the variable {taken} is an argument of apply_chat_template")
    if not probe.messages:
        broken = None if parts(version) >= _COMPILES_LATE else examined(template, bool)
        return broken if isinstance(broken, Prompt) else render(template, (), {}, dialect=dialect(version))
    tokens = tokens_of(model, version)
    if not isinstance(tokens, Known):
        return _without_tokens(model, version, template, probe, tokens)
    return _clash(template, tokens.value) or render(template, probe.messages, tokens.value, probe.variables, dialect(version))


def _without_tokens(model: Model, version: str, template: str, probe: Probe, tokens: Missing | Unknown) -> Prompt | Unknown:
    """The prompt where the tokens are not known: that of a template that reads no name which may be a token's."""
    objects = (model.mapping(file).get(key) for file in _STATING for key in _OBJECTS)
    stated = {name for each in objects if isinstance(each, dict) for name in cast("dict[str, Any]", each)}
    read = examined(template, _names)
    if isinstance(read, Prompt) and read.kind != "syntax":
        return read
    names = (frozenset[str]() if isinstance(read, Prompt) else read) - probe.variables.keys() | {*_OF_FUNCTION, *_OF_TEMPLATE}
    listed = {_ADDITIONAL} if dialect(version).lists_additional else set[str]()
    missing = min((name for name in names if name.endswith("_token") or name in stated | listed), default="")
    if not missing:
        return render(template, probe.messages, {}, probe.variables, dialect(version))
    why = tokens.reason if isinstance(tokens, Unknown) else "nothing states it"
    return Unknown(f"the template is given {missing}, and which token that is is not known: {why}", tokens.places)


def _names(root: nodes.Template) -> frozenset[str]:
    """Every name that a template reads, those that it sets itself included."""
    return frozenset(name.name for name in root.find_all(nodes.Name) if name.ctx == "load")


def _clash(template: str, tokens: Mapping[str, Any]) -> Prompt | None:
    """What comes of a token that has the name of an argument: of the function that compiles the template, or of the template's own."""
    outer, inner = (next((name for name in tokens if name in names), None) for names in (_OF_FUNCTION, _OF_TEMPLATE))
    if not outer and not inner:
        return None
    broken = None if outer else examined(template, bool)
    error = f"TypeError: the token {outer or inner} has the name of an argument"
    return broken if isinstance(broken, Prompt) else Prompt(None, error, "failed", "TypeError")


def renders(model: Model, version: str, probes: tuple[Probe, ...]) -> Renders:
    """The prompt of each conversation, by its name; none where the tokenizer does not load."""
    answer = loaded(model, version)
    if isinstance(answer, Known) and isinstance(answer.value, Refused):
        return Known({}, answer.places)
    return Known({probe.name: rendered(model, version, probe) for probe in probes})
