"""An argument of the chat template has no effect any more."""

from collections.abc import Iterator
from difflib import SequenceMatcher

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.effect import inner, lost, sets
from bot.analyze.model.folder import Model
from bot.analyze.model.prompt_change import Change, changes, with_variables
from bot.analyze.model.prompting import WITH_TOOLS, arguments
from bot.analyze.model.templates import DEFAULT, Template, in_force, place_of
from bot.analyze.wording import value
from bot.probe import Probe

CHECK = Check(
    title="The chat template does not heed an argument any more",
    says="makes the chat template ignore an argument of its callers",
    sees="each variable that the template of base takes from its caller and that changes a prompt there: in head no value of it changes any prompt, "
    "because the template does not read it or sets it by itself",
    why="Clients that send it are ignored without an error; vLLM takes out arguments that the template does not read.",
    fix="Read the variable as before, or tell users that it is gone.",
    wrong_when="the variable is read in another way, had no effect before either, was a misspelling that head corrects or a variable that the template makes of the messages, or another named template takes it (tools and documents)",
    severity="warning",
    weighed="A warning: the loss is seen by rendering, and the argument may be gone on purpose, as in the four real pairs of revisions that show it, which lost `enable_thinking`.",
)
# Other checks look at the first two; the rest are arguments of apply_chat_template, which it keeps to itself (tokenization_utils_base.py and
# utils/chat_template_utils.py of transformers 5.24.0), so that no caller can give them to a template.
_NOT_OF_CALLERS = (
    "messages",
    "add_generation_prompt",
    "continue_final_message",
    "tokenize",
    "padding",
    "truncation",
    "max_length",
    "return_tensors",
    "return_dict",
    "return_assistant_tokens_mask",
    "tokenizer_kwargs",
)
_OF_NAMED = {"tools": WITH_TOOLS, "documents": "rag"}
# Names that callers give, by the templates of the families; a name close to one of them that head reads instead was a misspelling.
_USUAL = (
    "add_generation_prompt",
    "builtin_tools",
    "custom_tools",
    "date_string",
    "documents",
    "enable_thinking",
    "messages",
    "message",
    "reasoning_effort",
    "thinking",
    "thinking_budget",
    "tools",
    "tools_in_user_message",
)
_CLOSE = 0.9
_MOST = 16


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Ask for each argument of base whether it counts in head."""
    for change in changes(base, head):
        if not change.rewritten:
            continue
        for name in list(arguments(change.old.text))[:_MOST]:
            if (
                name in (*_NOT_OF_CALLERS, *inner(change.old.text))
                or _corrected(name, change)
                or _taken_by_another(name, change, in_force(head))
            ):
                continue
            by_itself = sets(change.new.text, name)
            if name in arguments(change.new.text) and not by_itself:
                continue  # it is read; whether it counts hangs on the conversation
            probe = lost(change, name)
            if probe is not None and not (name in arguments(change.new.text) and _unopened(change, probe)):
                does = "sets" if by_itself else "does not read"
                own = "by itself, whatever its caller says" if by_itself else "any more"
                yield Seen(
                    key=f"{change.new.name}: {name}",
                    title=f"{change.title} {does} {value(name)} {own}",
                    detail=f"In base it changed the prompt of {probe.name}. {CHECK.why}",
                    places=(place_of(head, change.new),),
                )


def _unopened(change: Change, probe: Probe) -> bool:
    """Whether head ignores add_generation_prompt where base heeds it: what only counted behind it is lost with it, and said by another check."""
    before, after = (
        [side.text for side in sides]
        for sides in zip(
            *(change.both(with_variables(probe, {"add_generation_prompt": on})) for on in (True, False)), strict=True
        )
    )
    return before[0] != before[1] and after[0] == after[1]


def _corrected(name: str, change: Change) -> bool:
    """Whether a name that nobody gives was a misspelling of one that head reads and base did not."""
    before, after = arguments(change.old.text), arguments(change.new.text)
    return name not in _USUAL and any(
        usual in after and usual not in before and SequenceMatcher(None, name, usual).ratio() >= _CLOSE for usual in _USUAL
    )


def _taken_by_another(name: str, change: Change, templates: tuple[Template, ...]) -> bool:
    """Whether the template that a request with tools or documents takes is another one."""
    other = _OF_NAMED.get(name)
    return change.new.name == DEFAULT and any(t.name == other and name in arguments(t.text) for t in templates)
