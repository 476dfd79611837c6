"""add_generation_prompt has no effect any more."""

from collections.abc import Iterator
from itertools import takewhile

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.prompt_change import ASKED, FIRST, WORDED, Change, changes, with_variables
from bot.analyze.model.templates import place_of
from bot.analyze.probes import TOOLS
from bot.analyze.records import Severity
from bot.analyze.wording import value
from bot.probe import Probe

_ANSWER = "qxanswertext"
_SWITCHES = tuple(
    with_variables(Probe(f"thinking switched {word}", WORDED[0].messages, WORDED[0].variables), dict.fromkeys(names, on))
    for word, on in (("off", False), ("on", True))
    for names in (("enable_thinking", "thinking"),)
)
_CALL = {"type": "function", "id": "call00001", "function": {"name": "look", "arguments": {"at": "sky"}}}
_AFTER_A_TOOL = Probe(
    "an answer of a tool",
    (
        {"role": "user", "content": FIRST},
        {"role": "assistant", "content": "", "tool_calls": [_CALL]},
        {"role": "tool", "name": "look", "tool_call_id": "call00001", "content": ASKED},
    ),
    {"add_generation_prompt": True, "tools": TOOLS},
)
_ONLY_UNASKED = "it does so only where `add_generation_prompt` is false"
CHECK = Check(
    title="The chat template does not open the assistant's turn any more",
    says="keeps the chat template from opening the assistant's turn",
    sees="conversations that end with a user message or the answer of a tool, rendered with add_generation_prompt on and off: in base the prompts differ, in "
    "head they are the same and end before what the template writes in front of a reply, or open a turn behind a finished reply as well; or head opens the "
    "turn only where it is not asked to",
    why="Chat servers ask for the beginning of the assistant's turn with `add_generation_prompt`; without it the model goes on with the user's message or writes the role by itself.",
    fix="Print the beginning of the assistant's turn where `add_generation_prompt` is true, and only there.",
    wrong_when="the user's turn ends with what opens the reply, as in Mistral's and Llama 2's templates, so that there is nothing to be asked for, or the same turn goes on behind a tool's answer, as in Gemma 4's",
    severity="error",
    weighed="An error, for every chat request is hit; a warning where the turn is opened whether it is asked for or not, or is not opened behind the answers of tools alone. No real pair of revisions shows it.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Render conversations with the flag on and off."""
    for change in changes(base, head):
        for probe in change.asked((*WORDED, *_SWITCHES, _AFTER_A_TOOL)):
            found = _seen(change, probe)
            if found is not None:
                severity, title, detail = found
                yield Seen(
                    key=change.new.name, title=title, detail=detail, severity=severity, places=(place_of(head, change.new),)
                )
                break


def _seen(change: Change, probe: Probe) -> tuple[Severity, str, str] | None:
    """Severity, title and detail of what happened to the flag in one conversation."""
    (before, after), (before_off, after_off) = (
        change.both(with_variables(probe, {"add_generation_prompt": flag})) for flag in (True, False)
    )
    texts = before.text, before_off.text, after.text, after_off.text
    with_flag, without, prompt, unasked = (text or "" for text in texts)
    if None in texts or with_flag == without or (prompt != unasked and not _inverted(with_flag, without, prompt, unasked)):
        return None
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(with_flag, without, strict=False)))
    primer = with_flag[shared:].strip()
    if primer and prompt.rstrip().endswith(primer):
        answered = _answered(change, probe)
        if answered is None or not answered.rstrip().endswith(primer):
            return None
        return (
            "warning",
            f"{change.title} opens the assistant's turn whether `add_generation_prompt` asks for it or not",
            f"A conversation that ends with a reply goes on with {value(primer)} as well; seen for {probe.name}.",
        )
    if prompt == unasked and _opens(change, probe, prompt, without):
        return None
    after_a_tool = probe.name == _AFTER_A_TOOL.name
    where, there = (" behind the answer of a tool", " there") if after_a_tool else ("", "")
    what = f"`add_generation_prompt` has no effect{there} any more" if prompt == unasked else _ONLY_UNASKED
    return (
        "warning" if after_a_tool else "error",
        f"{change.title} does not open the assistant's turn{where}: {what}",
        f"For {probe.name} base ended the prompt with {value(primer)}; head ends it with {value(prompt[-40:])}. {CHECK.why}",
    )


def _inverted(with_flag: str, without: str, prompt: str, unasked: str) -> bool:
    """Whether the flag adds to the prompt in base, and takes the same away from it in head."""
    added, taken = with_flag.removeprefix(without), unasked.removeprefix(prompt)
    return with_flag.startswith(without) and unasked.startswith(prompt) and added.strip() == taken.strip()


def _opens(change: Change, probe: Probe, prompt: str, without: str) -> bool:
    """Whether a prompt of head holds everything that head writes between a user's message and a reply."""
    answered = _answered(change, probe)
    if answered is None or ASKED not in answered or _ANSWER not in answered or ASKED not in prompt:
        return prompt != without
    ahead = answered.rpartition(ASKED)[2].partition(_ANSWER)[0]
    return prompt.rpartition(ASKED)[2].strip().startswith(ahead.strip())


def _answered(change: Change, probe: Probe) -> str | None:
    """The conversation with a reply at its end, in head, nothing asked for."""
    messages = (*probe.messages, {"role": "assistant", "content": _ANSWER})
    longer = Probe(probe.name, messages, {**probe.variables, "add_generation_prompt": False})
    return change.both(longer)[1].text
