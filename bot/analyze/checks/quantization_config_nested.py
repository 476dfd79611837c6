"""Quantization stands only inside a nested configuration."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.edits import Put, diff
from bot.analyze.model.folder import Model
from bot.analyze.model.quantization import KEYS, pointer, quantizations, summary
from bot.analyze.records import Finding
from bot.analyze.wording import value

CHECK = Check(
    title="Quantization is stated only in a nested configuration",
    says="hides the quantization settings from engines that look at the top level",
    sees="a filled quantization_config under text_config or another nested object of config.json, and none at the top (absent, null or empty)",
    why="Readers of the top level take the checkpoint for unquantized. With null there sglang's Kimi class runs it unquantized; with an empty object vLLM "
    "runs it unquantized and sglang does not start.",
    fix="Put the same `quantization_config` at the top level of `config.json`.",
    wrong_when="the top level has a filled one too",
    severity="warning",
    weighed="A warning, for vLLM and sglang do find most of them. The real folders that show it are Kimi K2.6's.",
)


def find(model: Model) -> Iterator[Seen]:
    """Look for one that is filled, at every level."""
    found = quantizations(model)
    if any(key in found for key in KEYS):
        return
    config = model.mapping("config.json")
    top = "absent" if "quantization_config" not in config else _state(config["quantization_config"])
    for path, quantization in found.items():
        yield Seen(
            key=path if top == "absent" else f"{path} below {top}",
            title=f"{value(path)} ({value(summary(quantization))}) is hidden from readers of the top level, where it is {top}",
            places=(model.place("config.json", pointer(path)),),
        )


def _state(top: object) -> str:
    """What stands at the top level, which is no filled object."""
    if top is None:
        return "null"
    return "empty" if top == {} else "no object"


def patch(base: Model, head: Model, finding: Finding) -> str:
    """Put back what base has at the top level, if that is what stands nested now."""
    del finding
    before = base.mapping("config.json").get("quantization_config")
    if not before or list(quantizations(head).values()) != [before]:
        return ""
    return diff(head, {"config.json": [Put("/quantization_config", before)]})
