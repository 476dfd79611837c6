"""adapter_config.json gives the base model as a path of somebody's machine."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.repository_id import is_checkpoint, is_local_path, named_in_cache
from bot.analyze.wording import value

CHECK = Check(
    title="The adapter's base model is a local path",
    says="ties the adapter to a path that only its author has",
    sees="a path in base_model_name_or_path of adapter_config.json: absolute, relative, of Windows, or with more than one slash",
    why="Nobody else has that folder: AutoPeftModel (peft 0.21.2 auto.py:114-156) and `from_pretrained` of transformers (5.24.0 models/auto/auto_factory.py:317) cannot find the base model.",
    fix="Write the name of the base model's repository, such as `owner/name`.",
    wrong_when="the value has the form of a repository's name, or is null",
    severity="error",
    engines=("peft", "transformers"),
    weighed="The form of the value decides: no repository can be called so (huggingface_hub refuses each of them), so an error; a name such as out/checkpoint-500 "
    "could be a repository and gets a warning. No folder of the corpus holds an adapter.",
)

FILE = "adapter_config.json"


def find(model: Model) -> Iterator[Seen]:
    """Look at the form of the value."""
    base = model.mapping(FILE).get("base_model_name_or_path")
    if isinstance(base, str) and is_local_path(base):
        meant = named_in_cache(base)
        yield Seen(
            key="base_model_name_or_path",
            title=f"{value('base_model_name_or_path')} {value(base)} is a path of one machine",
            places=(model.place(FILE, "/base_model_name_or_path"),),
            severity="warning" if is_checkpoint(base) and base.count("/") < 2 else None,
            confidence="likely" if is_checkpoint(base) and base.count("/") < 2 else None,
            fix=f"Write {value(meant)}, the repository that this path of the cache belongs to." if meant else "",
        )
