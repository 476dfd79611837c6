"""The releases of vLLM that are predicted: what each of them knows by name, and the transformers that it runs with.

Source: the metadata and the Python files of each release's wheel (tools/vllm_versions.py, read); 0.33.0 was run.
"""

from functools import cache

import msgspec

from bot.analyze import data
from bot.analyze.tables import parts

# Of the versions of transformers that a release allows, the oldest and the newest that are modelled, and one of 4 beside those of 5. 0.33.0 allows
# 5.16.1 to 5.20 and was run with 5.19.0; releases before 0.11.1 name no newest, and were made for 4.
_FOUR, _FIVE = "4.57.6", ("5.6.2", "5.24.0")
TRANSFORMERS: dict[str, tuple[str, ...]] = {
    "0.8.5": (_FOUR,),
    "0.10.2": (_FOUR,),
    "0.11.0": (_FOUR,),
    "0.12.0": (_FOUR,),
    "0.15.0": (_FOUR,),
    "0.17.0": (_FOUR,),
    "0.19.0": (_FOUR,),
    "0.20.0": (_FOUR, *_FIVE),
    "0.23.0": (_FOUR, *_FIVE),
    "0.24.0": _FIVE,
    "0.26.0": _FIVE,
    "0.28.0": _FIVE,
    "0.31.0": ("5.12.1", "5.15.1"),
    "0.33.0": ("5.19.0",),
}


class Names(msgspec.Struct, frozen=True):
    """Names that a release knows.

    `registered` are model types with a configuration class of its own, `methods` the quantizations that it starts with, `fallback` model types
    with a chat template of its own, `backend` those whose tokenizer it takes as the file stands, `not_in_float16` those that it does not run in
    that type.
    """

    registered: frozenset[str]
    methods: frozenset[str]
    fallback: frozenset[str]
    backend: frozenset[str]
    not_in_float16: frozenset[str]


class Release(msgspec.Struct, frozen=True):
    """One release: its version, the versions of transformers that stand for all it may run with, and the names it knows."""

    version: str
    transformers: tuple[str, ...]
    names: Names

    @property
    def was_run(self) -> bool:
        """Whether its answers were compared with what it did; of the others the source was read."""
        return self.version == "0.33.0"

    def since(self, version: str) -> bool:
        """Whether it is that release or a newer one."""
        return parts(self.version) >= parts(version)


@cache
def release(version: str) -> Release:
    """The release of a version. Raises KeyError for one that is not modelled."""
    return Release(version, TRANSFORMERS[version], _names()[version])


@cache
def _names() -> dict[str, Names]:
    return msgspec.json.decode(data.content("vllm-versions.json"), type=dict[str, Names])
