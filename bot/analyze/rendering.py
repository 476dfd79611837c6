"""Render conversations as engines do with the model folders of a revision, and tell the tokens of the prompts."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from bot.analyze.comparison import FACTS
from bot.analyze.engines.choice import Chosen, named, newest
from bot.analyze.engines.prediction import prediction
from bot.analyze.model.discovery import Pair, models_of
from bot.analyze.model.folder import Model
from bot.analyze.model.prompting import prompt, taken
from bot.analyze.model.reader import Reader
from bot.analyze.model.tokens import tokens as tokens_of_files
from bot.analyze.records import Unchecked, encodable
from bot.analyze.render import Prompt, Renders
from bot.analyze.renderings import Outcome, Rendering, Renderings
from bot.analyze.rules.prompt_tokens import Tokens
from bot.analyze.unread import left_out, unread_files
from bot.answer import Answer, Known, Unknown
from bot.probe import Probe
from bot.snapshot import Exchange

# What all rows together may hold: they leave this process as JSON, within a limit.
MOST_LETTERS = 6_000_000
MOST_TOKENS = 250_000
BY_ITSELF = ""
_CUT = f"the prompts of this run have more than {MOST_LETTERS} letters together; ask for fewer"


def render(exchange: Exchange, reader: Reader, left: tuple[Unchecked, ...] = ()) -> Renderings:
    """The prompts of every model folder of head; `left` is what is already known to be unchecked."""
    chosen = named(exchange.engines)
    rows: list[Rendering] = []
    unchecked: list[Unchecked] = list(left)
    for name, model in models_of(exchange, exchange.head, reader):
        found = [row for each in chosen for row in _of_engine(name, model, each, exchange, unchecked)]
        rows += [*found, *_by_itself(name, model, exchange.probes, found)]
        unchecked.extend(unread_files(Pair(None, model)))
    unchecked.extend(left_out(exchange, unchecked) if exchange.head.sha else ())
    left_rows = tuple(dict.fromkeys(unchecked))
    return encodable(Renderings(date=FACTS, probes=exchange.probes, rows=tuple(within(rows)), unchecked=left_rows))


def _of_engine(name: str, model: Model, chosen: Chosen, exchange: Exchange, unchecked: list[Unchecked]) -> list[Rendering]:
    """The rows of one engine; a rule that breaks is said, and hinders no other engine."""

    def broke(what: str, error: Exception) -> str:
        reason = f"{what} broke: {type(error).__name__}: {error}"
        unchecked.append(Unchecked(kind="engine", id=chosen.name, folder=name, reason=reason))
        return reason

    try:
        rows = _rows(name, model, chosen, exchange.probes)
    except Exception as error:  # noqa: BLE001 - as for predictions
        reason = broke("the rendering", error)
        return [_unknown(name, chosen.name, probe, reason) for probe in exchange.probes]
    if not exchange.tokens or all(row.text is None for row in rows):
        return rows
    try:
        told = _tokens(model, chosen, rows, exchange.probes)
    except Exception as error:  # noqa: BLE001 - as above
        told = Unknown(broke("turning prompts into tokens", error))
    return [row if row.text is None else _told(row, told) for row in rows]


def _rows(name: str, model: Model, chosen: Chosen, probes: tuple[Probe, ...]) -> list[Rendering]:
    renders = getattr(chosen.engine, "renders", None)
    if renders is None:
        return [_unknown(name, chosen.name, probe, "how it writes a prompt is not modelled") for probe in probes]
    prompts: Renders = renders(model, chosen.version, probes)
    if not isinstance(prompts, Known):
        why = prompts.reason if isinstance(prompts, Unknown) else "nothing states it"
        return [_unknown(name, chosen.name, probe, why) for probe in probes]
    found = prompts.value
    why = "nothing is said of this conversation" if found else _absence(model, chosen)
    strings = _special(model)
    rows = {
        probe.name: _row(name, chosen.name, probe, made, strings)
        for probe in probes
        if (made := found.get(probe.name)) is not None
    }
    return [rows.get(probe.name) or _unknown(name, chosen.name, probe, why, "none") for probe in probes]


def _row(name: str, engine: str, probe: Probe, found: Prompt | Unknown, special: Sequence[str]) -> Rendering:
    if isinstance(found, Unknown):
        return _unknown(name, engine, probe, found.reason)
    row = Rendering(folder=name, engine=engine, probe=probe.name, outcome="text", dated=found.dated)
    if found.kind == "limits":
        return msgspec.structs.replace(row, outcome="limits", reason=f"the chat template {found.error}")
    if found.text is None:
        words = found.error.removeprefix(f"{found.type}: ")
        return msgspec.structs.replace(row, outcome="error", type=found.type, reason=words)
    return msgspec.structs.replace(row, text=found.text, special=tuple(each for each in special if each in found.text))


def _unknown(name: str, engine: str, probe: Probe, reason: str, outcome: Outcome = "unknown") -> Rendering:
    return Rendering(folder=name, engine=engine, probe=probe.name, outcome=outcome, reason=reason)


def _absence(model: Model, chosen: Chosen) -> str:
    """Why an engine gets to no prompt, whatever is said: the first thing that does not load, the tokenizer before all others."""
    fields = prediction(model, chosen.engine, chosen.version).fields
    steps = sorted(
        (field.removeprefix("loads.") for field in fields if field.startswith("loads.")), key=lambda s: s != "tokenizer"
    )
    for step in steps:
        answer = fields[f"loads.{step}"]
        if step != "tokenizer" and not chosen.engine.applies(model):
            break
        if isinstance(answer, Known) and answer.value is False:
            told = (fields.get(f"errors.{step}.{part}") for part in ("type", "message"))
            words = ": ".join(str(each.value) for each in told if isinstance(each, Known) and each.value)
            return f"{_STEPS.get(step, step)} does not load{f' ({words})' if words else ''}"
    if chosen.engine.applies(model):
        return "it takes no chats with this folder"
    elsewhere = any(each.engine.applies(model) for each in newest())
    return f"it has no business with this folder{'' if elsewhere else ', nor has any engine; a model below it is named by its own path'}"


_STEPS = {"tokenizer": "the tokenizer", "config": "config.json", "generation_config": "generation_config.json"}


def _special(model: Model) -> list[str]:
    """The strings of the special tokens of the files."""
    table = tokens_of_files(model)
    return [text for text, token in table.value.added.items() if token.special and text] if isinstance(table, Known) else []


def _by_itself(name: str, model: Model, probes: Iterable[Probe], rows: Sequence[Rendering]) -> Iterator[Rendering]:
    """What the chat template itself gives, for the conversations of which no engine makes a prompt."""
    told = {row.probe for row in rows if row.outcome not in ("unknown", "none")}
    for probe in probes:
        template = None if probe.name in told else taken(model, probe)
        if template is not None:
            yield _row(name, BY_ITSELF, probe, prompt(model, template, probe), _special(model))


def _tokens(model: Model, chosen: Chosen, rows: Iterable[Rendering], probes: Iterable[Probe]) -> Answer[Tokens]:
    """The tokens of the prompts, by the conversation's name."""
    texts = {row.probe: row.text for row in rows if row.text is not None}
    by_probe, by_text = (getattr(chosen.engine, name, None) for name in ("probe_tokens", "prompt_tokens"))
    if by_probe is not None:
        return by_probe(model, chosen.version, tuple(probe for probe in probes if probe.name in texts))
    if by_text is None:
        return Unknown("how it turns a prompt into tokens is not modelled")
    found: Answer[Tokens] = by_text(model, chosen.version, tuple(dict.fromkeys(texts.values())))
    return Known({name: found.value[text] for name, text in texts.items()}) if isinstance(found, Known) else found


def _told(row: Rendering, told: Answer[Tokens]) -> Rendering:
    """A row with its tokens, or why they cannot be told."""
    if isinstance(told, Known):
        return msgspec.structs.replace(row, tokens=told.value[row.probe])
    return msgspec.structs.replace(row, untold=told.reason if isinstance(told, Unknown) else "nothing states it")


def within(rows: Iterable[Rendering]) -> Iterator[Rendering]:
    """The rows, without the texts and tokens beyond what may leave this process."""
    letters = tokens = 0
    for row in rows:
        letters += len(row.text or "")
        tokens += len(row.tokens or ())
        if letters > MOST_LETTERS:
            yield msgspec.structs.replace(row, outcome="unknown", text=None, special=(), tokens=None, untold="", reason=_CUT)
        elif row.tokens is not None and tokens > MOST_TOKENS:
            yield msgspec.structs.replace(
                row, tokens=None, untold=f"the prompts of this run have more than {MOST_TOKENS} tokens together"
            )
        else:
            yield row
