"""Which paths .gitattributes keeps in Git LFS."""

import fnmatch
import re
from collections.abc import Iterator, Mapping

import msgspec

NAME = ".gitattributes"
_QUOTED = re.compile(r'"((?:[^"\\]|\\[\\"])+)"(?=[ \t\r]|$)')  # other escapes are not taken for a pattern
_ATTRIBUTE = re.compile(r"[-!]?[A-Za-z0-9_.][A-Za-z0-9_.-]*(=.*)?")


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


def rules(files: Mapping[str, str]) -> list[Rule]:
    """The lines that say something about the filter, in the order in which git applies them.

    `files` maps folders ("" for the root) to the text of their .gitattributes. Only the root's may define macros, which hold for all.
    """
    lines = {folder: list(_lines(text)) for folder, text in files.items()}
    macros: dict[str, bool] = {}
    for words in lines.get("", ()):
        if words[0].startswith("[attr]"):
            macros[words[0].removeprefix("[attr]")] = _filter(words[1:], macros) or False
    found: list[Rule] = []
    for folder in sorted(lines, key=lambda folder: (folder.count("/") + bool(folder), folder)):
        for pattern, *attributes in lines[folder]:
            lfs = _filter(attributes, macros)
            # A negative pattern is none, and one of folders says nothing about what is in them.
            if lfs is not None and not pattern.startswith(("[attr]", "!")) and not pattern.endswith("/"):
                found.append(Rule(folder, re.compile(_expression(pattern.removeprefix("/"))), "/" in pattern, lfs))
    return found


def _lines(text: str) -> Iterator[list[str]]:
    """The words of each line that git takes: no comments, and no line with a word that cannot be an attribute."""
    for line in text.removeprefix("\ufeff").split("\n"):
        line = line.strip(" \t\r")  # noqa: PLW2901
        quoted = _QUOTED.match(line)
        rest = re.split(r"[ \t\r]+", line[quoted.end() :].lstrip(" \t\r") if quoted else line)
        words = [re.sub(r"\\([\\\"])", r"\1", quoted.group(1)), *filter(None, rest)] if quoted else rest
        if words[0] and not words[0].startswith("#") and all(_ATTRIBUTE.fullmatch(word) for word in words[1:]):
            yield words


def kept_in_lfs(path: str, every: list[Rule]) -> bool:
    """What the last line that speaks of a path says; `every` are the rules of all files, the root's first."""
    return next((rule.lfs for rule in reversed(every) if rule.matches(path)), False)


def _filter(attributes: list[str], macros: dict[str, bool]) -> bool | None:
    """What a list of attributes makes of the filter: True for lfs, False for another or none, None where it does not say."""
    said: bool | None = None
    for attribute in attributes:
        name = attribute.lstrip("-!").partition("=")[0]
        if name == "filter":
            said = attribute == "filter=lfs"
        elif name in macros:
            said = macros[name] if attribute == name else False
    return said


def _expression(pattern: str) -> str:
    """A pattern as a regular expression: * and ? stop at a slash, ** does not."""
    parts = re.split(r"(\\.|\*\*/|\*\*|\*|\?|\[[^\]]+\])", pattern)
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = [f"[!{p[2:]}" if p.startswith("[^") else p for p in parts]

    def one(part: str) -> str:
        if part.startswith("\\"):
            return re.escape(part[1:])
        return known.get(part) or (fnmatch.translate(part)[4:-3] if part.startswith("[") else re.escape(part))

    return "".join(map(one, parts))
