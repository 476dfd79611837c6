"""The ids of single tokens that config.json and generation_config.json state by name, such as pad_token_id and image_token_index."""

import re
from typing import Any, cast

import msgspec

from bot.analyze.model.config import FILE, pointer, text_holders, whole
from bot.analyze.model.folder import Model, fact
from bot.place import Place

GENERATION = "generation_config.json"
_NAMED = re.compile(r"(.+)_token_(?:id|index)")
# Ids of other vocabularies than that of the text: codec and speech units.
_OTHERS = re.compile(r"codebook|codec|t2u|tts|blank|latent|depth|semantic|acoustic|speech|timestamp|delay|_?pad_token$")
# Model types whose vocab_size counts the units of a codec, with ids of the text beside it or with a padding row behind it; and SigLIP, whose class has
# ids of another tokenizer that nothing reads.
_SOUND = re.compile(
    r"musicgen|csm|kyutai|moshi|bark|dia$|parler|speecht5|seamless|.*talker|higgs|encodec|mimi|vibevoice|voxtral_tts"
)
_ROLES = {"bos", "eos", "pad", "unk", "sep", "cls", "mask", "decoder_start", "forced_bos", "forced_eos"}


class TokenId(msgspec.Struct, frozen=True):
    """One id: the name that it is given (`image` of image_token_id), the file, the keys that lead to it there, where it stands."""

    name: str
    file: str
    path: tuple[str, ...]
    id: int
    place: Place

    @property
    def role(self) -> bool:
        """Whether it is an id that every text model has; others stand for images, sounds and the like."""
        return self.name in _ROLES

    @property
    def dotted(self) -> str:
        """The dotted path of the key."""
        return ".".join(self.path)


@fact
def token_ids(model: Model) -> tuple[TokenId, ...]:
    """Every id of the text vocabulary that is stated, of lists each one."""
    found: list[TokenId] = []
    if _SOUND.match(str(model.mapping(FILE).get("model_type", ""))):
        return ()
    for holder in text_holders(model):
        for key in holder.values:
            found += _stated(model, FILE, (*holder.path, key), holder.values[key])
    for key, value in model.mapping(GENERATION).items():
        found += _stated(model, GENERATION, (key,), value)
    return tuple(found)


def _stated(model: Model, file: str, path: tuple[str, ...], value: Any) -> list[TokenId]:
    named = _NAMED.fullmatch(path[-1])
    if named is None or _OTHERS.match(path[-1]):
        return []
    numbers = [whole(item) for item in (cast("list[Any]", value) if isinstance(value, list) else [value])]
    unique = dict.fromkeys(number for number in numbers if number is not None)
    place = model.place(file, pointer(*path)) if unique else None
    return [TokenId(named[1], file, path, number, place) for number in unique if place is not None]
