"""Chat templates that mean harm, each with what has to come of it in the environment of transformers."""

from typing import Final

from tests.hostile.kinds import Hostile
from tests.hostile.words import ESCAPES, TRICKS, WORDS
from tests.hostile.work import DEPTHS, LOOPS, SEARCHES, SIZES, STUCK

GROUPS: Final[dict[str, dict[str, Hostile]]] = {
    "work without an end": LOOPS,
    "sizes": SIZES,
    "depths": DEPTHS,
    "searches": SEARCHES,
    "ways out of the sandbox": ESCAPES,
    "words": WORDS,
    "tricks": TRICKS,
    "stuck in C": STUCK,
}
HOSTILE: Final[dict[str, Hostile]] = {name: each for group in GROUPS.values() for name, each in group.items()}
ENDING: Final[dict[str, Hostile]] = {name: each for name, each in HOSTILE.items() if name not in STUCK}
