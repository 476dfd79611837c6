"""generation_config.json was deleted."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.wording import value
from bot.place import Place

CHECK = Check(
    title="generation_config.json was deleted",
    says="takes away the file that says where a reply ends",
    sees="a generation_config.json in base and none in head",
    why="Stop ids and sampling defaults then come from `config.json` and from class defaults, which differ by engine and version.",
    fix="Keep the file, or move its values where the engines you care for read them.",
    wrong_when="the file moved to another model folder, or the whole model was removed",
    severity="warning",
    weighed="A warning, for config.json may state the same ids. One real pair shows it.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare what is there."""
    stays = head.has("config.json") or not base.has("config.json")
    gone = base.has("generation_config.json") and not head.has("generation_config.json")
    if gone and stays and "generation_config.json" not in head.went:
        kept = [key for key in base.mapping("generation_config.json") if not key.startswith(("_", "transformers"))]
        yield Seen(
            key="generation_config.json",
            title=f"{value('generation_config.json')} is gone" + (f", and with it {value(', '.join(kept[:8]))}" if kept else ""),
            places=(Place("base", base.path("generation_config.json")),),
        )
