"""chat_template.jinja and the inline copy render differently."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.prompt_change import outcome
from bot.analyze.model.templates import FILE, Template, place_of, sources
from bot.analyze.model.turns import role_strings
from bot.analyze.probes import CORE, EXTENDED
from bot.analyze.render import render
from bot.analyze.wording import value

CHECK = Check(
    title="Two chat templates that render differently",
    says="gives engines different chat templates",
    sees="chat_template.jinja and the default template inside tokenizer_config.json give different prompts for a plain conversation, with tools, or with thinking switched on or off",
    why="transformers 4.47 and newer, vLLM, sglang, MLX and LMDeploy read the file; transformers 4.46, llama.cpp, TGI, transformers.js and Ollama read the copy.",
    fix="Copy the text into both places, or delete `chat_template` from `tokenizer_config.json` (the second group then has no template).",
    wrong_when="the texts differ but every prompt is the same (white space, comments, a trailing line end), or one of them alone fails on what a template may decline",
    severity="warning",
    weighed="A warning, for each reader is consistent by itself. Of the real folders one shows it, whose file does not parse; copies that differ in a last line end are silent.",
)


def find(model: Model) -> Iterator[Seen]:
    """Render both with every plain conversation."""
    found = sources(model)
    file = next((t for t in found.files if t.file == FILE), None)
    inline = next((t for t in found.inline if t.name == "default"), None)
    if file is None or inline is None or file.text == inline.text:
        return
    different = _different(model, file, inline)
    if different:
        yield Seen(
            key="chat_template",
            title=f"{value(file.file)} and the copy in {value(inline.file)} render differently ({different})",
            places=(place_of(model, file), place_of(model, inline)),
        )


def _different(model: Model, file: Template, inline: Template) -> str:
    """What differs first, in one clause; "" when nothing does or limits keep us from seeing it."""
    strings = role_strings(model)
    for probe in (*CORE, *EXTENDED):
        ours, theirs = (render(t.text, probe.messages, strings, probe.variables) for t in (file, inline))
        if "limits" in (ours.kind, theirs.kind):
            return ""
        broken = next((name for name, p in (("the file", ours), ("the copy", theirs)) if p.text is None), None)
        if outcome(ours) != outcome(theirs) and not (broken and probe in EXTENDED):
            return f"{broken} fails for {probe.name}" if broken else f"first seen for {probe.name}"
    return ""
