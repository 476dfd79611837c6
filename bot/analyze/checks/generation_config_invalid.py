"""generation_config.json loads, but cannot be saved again."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.config import pointer, shown
from bot.analyze.model.folder import Model
from bot.analyze.rules.generation_config import refusals, unsavable
from bot.analyze.wording import listed, value

FILE = "generation_config.json"
CHECK = Check(
    title="generation_config.json loads, but cannot be saved",
    says="leaves generation settings that transformers does not save again",
    sees="a sampling setting without do_sample true, a negative pad_token_id, or another setting that has no effect beside the others",
    why="`save_pretrained` raises `ValueError: GenerationConfig is invalid` on transformers 4.46.3, 4.57.6 and 5.0.0, so that a fine-tuned or converted model "
    "cannot be written (4.57.6 generation/configuration_utils.py:545-690, run); 5.24.0 saves the file.",
    fix="Set `do_sample` to true where sampling is meant, and take the settings out otherwise.",
    wrong_when="do_sample is true, the setting has the value that counts as unset, or the file does not load at all",
    severity="warning",
    engines=("transformers < 5.24",),
    weighed="A warning: loading and serving work, saving does not; real repositories have such files, so only one that a change makes unsavable is told.",
)


def find(model: Model) -> Iterator[Seen]:
    """Collect the settings; a file that could not be saved before is no news, so all of them are one finding."""
    values = model.mapping(FILE)
    if any(True for _ in refusals(values)):
        return
    keys = unsavable(values)
    if keys:
        stated = [f"{value(key)} {value(shown(values[key]))}" for key in keys]
        sampling = not values.get("do_sample") and any(key not in _OTHERS for key in keys)
        yield Seen(
            key=FILE,
            title=f"{listed(stated)} {'without `do_sample`' if sampling else 'has no effect'}: {value(FILE)} loads, but cannot be saved",
            places=tuple(model.place(FILE, pointer(key)) for key in keys),
            fix="" if sampling else "Take out what has no effect, or set what it needs to have one.",
        )


_OTHERS = {
    "pad_token_id",
    "early_stopping",
    "length_penalty",
    "cache_implementation",
    "cache_config",
    "return_legacy_cache",
    "output_attentions",
    "output_hidden_states",
    "output_scores",
    "output_logits",
}
