"""Which folders of a repository a list of globs means."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

ANY_DEPTH = "**"


def chosen(folder: str, globs: Iterable[str]) -> bool:
    """Whether a folder is among those that `globs` name: some glob fits it, or all are exclusions ("!…"), and no exclusion does."""
    wanted = list(globs)
    included = [each for each in wanted if not each.startswith("!")]
    excluded = [each[1:] for each in wanted if each.startswith("!")]
    return (not included or any(fits(folder, each) for each in included)) and not any(fits(folder, each) for each in excluded)


def fits(folder: str, glob: str) -> bool:
    """Whether a glob means this folder. `*`, `?` and `[…]` stay within one name, `**` stands for any number of folders, also none; "." is the root."""
    steps = _names(glob)
    reached = _skipping({0}, steps)
    for name in _names(folder):
        here = {at for at in reached if at < len(steps)}
        stays = {at for at in here if steps[at] == ANY_DEPTH}
        goes = {at + 1 for at in here - stays if fnmatchcase(name, steps[at])}
        reached = _skipping(stays | goes, steps)
    return len(steps) in reached


def literal(folder: str) -> str:
    """The glob that fits this folder alone."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in folder)


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]


def _skipping(reached: set[int], steps: list[str]) -> set[int]:
    """The places of `steps` that are reached, given that `**` may stand for nothing."""
    found = set(reached)
    for at, step in enumerate(steps):
        if at in found and step == ANY_DEPTH:
            found.add(at + 1)
    return found
