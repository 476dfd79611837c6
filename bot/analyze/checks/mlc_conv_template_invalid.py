"""The conversation template of mlc-chat-config.json cannot build a prompt."""

from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import CONFIG, chats, config, conversation, conversation_place
from bot.analyze.records import Severity
from bot.analyze.wording import value
from bot.place import Place

CHECK = Check(
    title="The conversation template cannot build a prompt",
    says="breaks the prompt of every chat in WebLLM",
    sees="a conv_template of `mlc-chat-config.json`, with conv_config laid over it, that is absent or a mere name, or whose seps, roles, system_template or role_templates "
    "cannot be used",
    why="WebLLM writes prompts from these keys alone: without separators, a system template or the roles of user and assistant every chat request raises "
    "(web-llm 0.2.86 lib/index.js:10397-10511 and :10718, run).",
    fix="Give `conv_template` the keys `system_template`, `roles` with user and assistant, and `seps`, as `mlc_llm gen_config` writes them.",
    wrong_when="only role_content_sep, role_empty_sep, the role tool or single role templates are absent, which have defaults, or the model computes embeddings only",
    severity="error",
    engines=("webllm",),
    weighed="Every shape was run with the real conversation class; the only real files that it fires on are those of 2023 and early 2024 that just name a template.",
)

Fault = tuple[str, Severity, str, Place]


def find(model: Model) -> Iterator[Seen]:
    """Try the keys that a prompt is made of."""
    if not chats(model):
        return
    conv = conversation(model)
    if not conv:
        template = config(model).get("conv_template")
        what = f"is only a name, {value(template)}" if isinstance(template, str) else "holds no template"
        pointer = "/conv_template" if "conv_template" in config(model) else ""
        yield Seen(
            key="conv_template",
            title=f"{value('conv_template')} {what}: every chat request raises in WebLLM",
            places=(model.place(CONFIG, pointer),),
        )
        return
    for part in (_seps, _system, _roles, _templates):
        for key, severity, what, place in part(model, conv):
            yield Seen(key=key, title=what, places=(place,), severity=severity)


def _seps(model: Model, conv: dict[str, Any]) -> Iterator[Fault]:
    seps: Any = conv.get("seps")
    place = conversation_place(model, "seps")
    if seps is None or seps in ([], ""):
        state = "is empty" if seps is not None else "is null" if "seps" in conv else "is absent"
        yield "seps", "error", f"{value('seps')} {state}: every chat request raises in WebLLM", place
    elif not isinstance(seps, str) and not (isinstance(seps, list) and all(isinstance(sep, str) for sep in seps)):
        yield (
            "seps",
            "error",
            f"{value('seps')} is no list of texts: WebLLM writes `undefined` or the like after every message",
            place,
        )


def _system(model: Model, conv: dict[str, Any]) -> Iterator[Fault]:
    template, message = conv.get("system_template"), conv.get("system_message")
    if not isinstance(template, str):
        if message == "" and conv.get("render_empty_system_message") is False:  # then it is used for a request's own message only
            return
        state = "is no text" if template is not None else "is null" if "system_template" in conv else "is absent"
        place = conversation_place(model, "system_template")
        yield "system_template", "error", f"{value('system_template')} {state}: every chat request raises in WebLLM", place
    elif message is None and "{system_message}" in template:
        word = value("null" if "system_message" in conv else "undefined")
        place = conversation_place(model, "system_message")
        yield "system_message", "warning", f"There is no {value('system_message')}: WebLLM writes {word} into its place", place


def _roles(model: Model, conv: dict[str, Any]) -> Iterator[Fault]:
    roles: Any = conv.get("roles")
    place = conversation_place(model, "roles")
    if not isinstance(roles, dict):
        state = "is no object" if roles is not None else "is null" if "roles" in conv else "is absent"
        yield "roles", "error", f"{value('roles')} {state}: every chat request raises in WebLLM", place
        return
    names = cast("dict[str, Any]", roles)
    for role in ("user", "assistant"):
        if role not in names:
            yield f"roles.{role}", "error", f"{value('roles')} has no {value(role)}: every chat request raises in WebLLM", place
        elif not isinstance(names[role], str):
            inner = conversation_place(model, "roles", f"/{role}")
            what = (
                f"The role {value(role)} is no text: WebLLM writes it as {value('null' if names[role] is None else names[role])}"
            )
            yield f"roles.{role}", "warning", what, inner


def _templates(model: Model, conv: dict[str, Any]) -> Iterator[Fault]:
    if "role_templates" not in conv:
        what = f"{value('role_templates')} is absent: WebLLM puts messages in as they are"
        yield "role_templates", "note", what, conversation_place(model, "role_templates")
        return
    templates = conv["role_templates"]
    if templates is None:
        place = conversation_place(model, "role_templates")
        yield "role_templates", "error", f"{value('role_templates')} is null: every chat request raises in WebLLM", place
    for role in ("user", "assistant"):
        template = cast("dict[str, Any]", templates).get(role) if isinstance(templates, dict) else None
        place = conversation_place(model, "role_templates", f"/{role}")
        if template is None:
            continue  # the message is put in as it is
        severity = "error" if role == "user" else "warning"
        who = "every" if role == "user" else "an earlier"
        if not isinstance(template, str):
            what = f"The template of {value(role)} is no text: {who} message of that role raises in WebLLM"
        elif f"{{{role}_message}}" not in template:
            what = f"The template of {value(role)} has no {value(f'{{{role}_message}}')}: WebLLM leaves out {who} message of that role"
        else:
            continue
        yield f"role_templates.{role}", severity, what, place
