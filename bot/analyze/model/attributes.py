"""Which paths .gitattributes keeps in Git LFS."""

import fnmatch
import re

import msgspec

NAME = ".gitattributes"


class Rule(msgspec.Struct, frozen=True):
    """One line: the folder it stands in ("" for the root), its pattern, and what it makes of the filter (None: nothing)."""

    folder: str
    pattern: "re.Pattern[str]"
    whole_path: bool
    lfs: bool

    def matches(self, path: str) -> bool:
        """Whether the line speaks of a path; a pattern without a slash is held against the last part, as gitattributes(5) says."""
        if self.folder and not path.startswith(f"{self.folder}/"):
            return False
        inner = path[len(self.folder) + 1 :] if self.folder else path
        return self.pattern.fullmatch(inner if self.whole_path else inner.rpartition("/")[2]) is not None


def rules(folder: str, text: str) -> list[Rule]:
    """The lines of a .gitattributes file that say something about the filter, in order. Macros ([attr]) are followed."""
    macros: dict[str, bool] = {}
    found: list[Rule] = []
    for line in text.splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        lfs = _filter(words[1:], macros)
        if lfs is None:
            continue
        if words[0].startswith("[attr]"):
            macros[words[0].removeprefix("[attr]")] = lfs
        elif not words[0].endswith("/"):  # a pattern of folders says nothing about what is in them
            pattern = words[0]
            found.append(Rule(folder, re.compile(_expression(pattern.removeprefix("/"))), "/" in pattern, lfs))
    return found


def kept_in_lfs(path: str, every: list[Rule]) -> bool:
    """What the last line that speaks of a path says; `every` are the rules of all files, the root's first."""
    return next((rule.lfs for rule in reversed(every) if rule.matches(path)), False)


def _filter(attributes: list[str], macros: dict[str, bool]) -> bool | None:
    """What a list of attributes makes of the filter: True for lfs, False for another or none, None where it does not say."""
    said: bool | None = None
    for attribute in attributes:
        if attribute in macros:
            said = macros[attribute]
        elif attribute.lstrip("-!").partition("=")[0] == "filter":
            said = attribute == "filter=lfs"
    return said


def _expression(pattern: str) -> str:
    """A pattern as a regular expression: * and ? stop at a slash, ** does not."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", pattern)
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(known.get(p) or (fnmatch.translate(p)[4:-3] if p.startswith("[") else re.escape(p)) for p in parts)
