"""adapter_config.json newly has keys that only a newer PEFT knows."""

from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.pointers import pointer
from bot.analyze.wording import listed, value

FILE = "adapter_config.json"
CHECK = Check(
    title="adapter_config.json needs a newer PEFT",
    says="asks for a newer PEFT than before",
    sees="keys of a LoRA configuration in head that PEFT knows only since a later release than all keys of base",
    why="PEFT up to 0.13 raises `TypeError: LoraConfig.__init__() got an unexpected keyword argument …` for such a key, whatever its value; 0.14 and newer warn and "
    "ignore it (0.13.2 config.py:119, 0.14.0 config.py:153-163).",
    fix="Save the adapter with the oldest PEFT that your readers use, or take keys with the default value out.",
    wrong_when="base already needed that release, PEFT 0.4 knows the keys, or only peft_version is new where PEFT 0.14 was needed before",
    severity="note",
    engines=("peft",),
    weighed="A fact about older readers, so a note; the releases are those of which the classes were read (0.3.0 to 0.21.2). No folder of the corpus holds an adapter.",
)

# The oldest PEFT that matters: what 0.4 of July 2023 knows is no news.
_OLDEST = (0, 4)
# Other keys of LoraConfig and its parent classes by the first release that has them, of those whose source was read:
# 0.3.0 0.4.0 0.5.0 0.6.2 0.7.1 0.8.2 0.9.0 0.10.0 0.11.1 0.12.0 0.13.2 0.14.0 0.15.2 0.16.0 0.17.1 0.18.1 0.19.1 0.20.0 0.21.2.
_SINCE = {
    (0, 7): ("rank_pattern", "alpha_pattern", "megatron_config", "megatron_core", "loftq_config"),
    (0, 8): ("use_rslora",),
    (0, 9): ("use_dora",),
    (0, 10): ("layer_replication",),
    (0, 12): ("runtime_config",),
    (0, 14): ("exclude_modules", "eva_config", "lora_bias"),
    (0, 15): ("trainable_token_indices", "corda_config"),
    (0, 16): ("use_qalora", "qalora_group_size"),
    (0, 17): ("target_parameters",),
    (0, 18): ("alora_invocation_tokens", "arrow_config", "ensure_weight_tying", "peft_version"),
    (0, 19): ("lora_ga_config", "use_bdlora"),
    (0, 20): ("velora_config", "monteclora_config"),
    (0, 21): ("kasa_config",),
}
_TOLERANT = (0, 14)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare which release each side needs."""
    before, after = base.mapping(FILE), head.mapping(FILE)
    if not before or after.get("peft_type") != "LORA":
        return
    needed, had = _needed(after), _needed(before)
    keys = [key for release in sorted(_SINCE, reverse=True) if release > had for key in _SINCE[release] if key in after]
    inert = had >= _TOLERANT and keys == ["peft_version"]
    if keys and not inert:
        yield Seen(
            key="adapter_config.json",
            title=f"{listed(value(key) for key in keys)} {'is' if len(keys) == 1 else 'are'} known to PEFT since {_text(needed)}; the file needed none after {_text(had)} before",
            places=tuple(head.place(FILE, pointer(key)) for key in keys),
        )


def _needed(config: dict[str, Any]) -> tuple[int, ...]:
    return max((release for release, keys in _SINCE.items() if any(key in config for key in keys)), default=_OLDEST)


def _text(release: tuple[int, ...]) -> str:
    return ".".join(map(str, cast("tuple[int, int]", release)))
