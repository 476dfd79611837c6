"""A chat template does not parse."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.templates import place_of, sources
from bot.analyze.render import syntax_error
from bot.analyze.wording import value

CHECK = Check(
    title="A chat template does not parse",
    says="breaks the chat template",
    sees="a template that Jinja2 refuses in the environment that transformers builds (sandbox, loop controls, generation tag)",
    why="Every chat request fails; the repository still loads without a complaint.",
    fix="Repair the template.",
    wrong_when="the template uses break, continue or generation, which that environment knows",
    severity="error",
    weighed="An error, for nothing renders. One real pair shows it, on the side that the change repaired.",
)


def find(model: Model) -> Iterator[Seen]:
    """Parse every template of the folder."""
    for template in sources(model).every:
        error = syntax_error(template.text)
        if error is not None:
            where = value(template.file) if template.name == "default" else f"{value(template.name)} of {value(template.file)}"
            yield Seen(
                key=f"{template.file}:{template.name}",
                title=f"The chat template in {where} does not parse: {value(error.partition('. ')[0])}",
                places=(place_of(model, template),),
            )
