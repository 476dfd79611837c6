"""The token with which the chat template ends an assistant's turn is not in the list that generate() stops on."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.engines.prediction import engines, prediction
from bot.analyze.model.eos import listed
from bot.analyze.model.folder import Model
from bot.analyze.model.further_stops import with_stops
from bot.analyze.model.templates import place_of
from bot.analyze.model.tokens import texts_of, tokens
from bot.analyze.model.turns import Turns, turns
from bot.analyze.records import Finding
from bot.analyze.wording import ids, value
from bot.analyze.wording import listed as words
from bot.answer import Known

CHECK = Check(
    title="A reply does not end where the chat template ends it",
    says="lets replies run on past their end",
    sees="a conversation is rendered, and the token that follows the assistant's text is not among the ids of generation_config.json "
    "(config.json's where that file is absent); where the template writes nothing there, the tokens that open the next turn",
    why="Generation runs on past the end of the reply, up to the length limit.",
    fix="Add the id of the token to `eos_token_id` of `generation_config.json`.",
    wrong_when="there is no chat template (base models), the template ends turns with ordinary text or with several tokens of which one is in the list, or no file says how to generate",
    severity="error",
    weighed="An error, for replies run on to the limit; in all five real folders that show it the recorded stop ids lack the terminator.",
)


def find(model: Model) -> Iterator[Seen]:
    """Render, look at what ends a turn, and look it up in the list."""
    stops, table = listed(model), tokens(model)
    if not isinstance(stops, Known) or not isinstance(table, Known):
        return
    found: dict[str, Turns] = {}
    for turn in turns(model):
        if any(table.value.id_of(token) in stops.value for token in turn.run):
            continue  # the reply ends a token later
        for end in turn.ends:
            number = table.value.id_of(end)
            if number is not None and number not in stops.value:
                found.setdefault(end, turn)
    for end, turn in found.items():
        number = table.value.id_of(end)
        stopping, running = _engines(model, number)
        file = value(stops.places[0].path.rpartition("/")[2])
        what = "A turn ends where the model writes" if turn.by_role else "The chat template ends a reply with"
        who = f"{words(running)} {'runs' if len(running) == 1 else 'run'} on past it"
        others = f"{words(stopping)} {'stops' if len(stopping) == 1 else 'stop'} on it"
        yield Seen(
            key=end,
            title=f"{what} {ids([number or 0], texts_of(model))}, which {file} does not stop on",
            detail=f"Rendered: {value(turn.ends[end])}. " + (f"{who}; {others}." if stopping else "No engine stops on it."),
            places=(*stops.places, place_of(model, turn.template)),
            severity="warning" if stopping else "error",
            engines=running,
        )


def _engines(model: Model, number: int | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The engines that stop on a token in plain chat, and those that do not or of which we cannot tell.

    Asked are those whose answers were held against what they did: they go by ids. Others stop on lists of texts of their own as well.
    """
    stopping: list[str] = []
    running: list[str] = []
    for engine in engines():
        if engine.applies(model) and engine.ID != "webllm":
            made = prediction(model, engine, engine.VERSIONS[-1])
            if made.confidence != "certain":
                continue
            answer = made.trusted("stops")
            stops = isinstance(answer, Known) and answer.value is not None and number in answer.value
            (stopping if stops else running).append(engine.NAME)
    return tuple(stopping), tuple(running)


def patch(base: Model, head: Model, finding: Finding) -> str:
    """List the id of a control token that ended turns in base already, or that an added model has; one that also opens turns may be the template's mistake."""
    table = tokens(head)
    token = table.value.added.get(finding.key) if isinstance(table, Known) else None
    known = not base.files or any(finding.key in turn.ends for turn in turns(base))
    opens = any(finding.key in turn.openers for turn in turns(head))
    return with_stops(base, head, [token.id]) if token is not None and token.special and known and not opens else ""
