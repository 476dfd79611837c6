"""Which hexadecimal words of a text are claims about a commit, decided on its Markdown structure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.analyze.records import Claim
from bot.place import Place
from bot.snapshot import Change, Commit

if TYPE_CHECKING:
    from markdown_it.token import Token

_HEX = re.compile(r"(?<![0-9A-Za-z_#])[0-9a-fA-F]{7,40}(?![0-9A-Za-z_])")
# "commit abc1234", "fixed in abc1234", "revision: abc1234", "rev = abc1234": a word for a commit shortly before.
_BEFORE = re.compile(
    r"(?:\b(?:commits?|revisions?|revs?|fix(?:e[sd])?|patch(?:e[sd])?|sha|merged?|changesets?|backport(?:ed)?)\b)"
    r"(?:\s+(?:in|by|with|at|as|is|to|via|from|of|the|this|commit|revision|and|see|id|hash)\b)*[\s:=\"'`(\[]*$",
    re.IGNORECASE,
)
# "sha256: …", "md5 …", "checksum …", "colour …", and copies that say so themselves: no claim that the commit is here.
_NOT = re.compile(
    r"(?:\b(?:sha-?(?:1|224|256|384|512)(?:sum)?|md5(?:sum)?|checksum|digest|etag|uuid|colou?r|blake\w*|crc32)\b|cherry.picked from commit|reverts commit)[\s:=\"'`(]*$",
    re.IGNORECASE,
)
_REVISION = re.compile(r"(?:code_|--)?revision[\s\"']*[=:\s][\s\"']*([0-9a-fA-F]{7,40})(?![0-9A-Za-z_])")
_LINK = re.compile(
    r"^(?:https?://[^/\s]+)?/?(?:(?:datasets|spaces)/)?([\w.-]+/[\w.-]+)/(?:commit|commits|tree|blob|raw|resolve)/([0-9a-fA-F]{7,40})(?![0-9A-Za-z_])"
)
_DATE = re.compile(r"^(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])(?:\d{2,6})?$")


@dataclass(frozen=True)
class _Word:
    word: str
    line: int  # 1-based
    repository: str = ""  # of a link, or of a from_pretrained call around it


def claims(texts: Mapping[Place, str], change: Change) -> tuple[Claim, ...]:
    """The commits that texts claim, each with every place that says so and what became of it.

    `texts` maps the place of each text (line 1) to the text. A commit is named by its full id where that is known.
    """
    commits = {commit.word: commit for commit in change.commits}
    found: dict[str, list[tuple[Place, Commit, str]]] = {}
    for place, text in texts.items():
        for word in _words(text):
            commit = commits.get(word.word) or Commit(word.word, None, "unknown", "it was not looked up")
            spot = Place(place.revision, place.path, "", word.line)
            found.setdefault(commit.sha or commit.word, []).append((spot, commit, word.repository))
    return tuple(_claim(sha, rows, change.repository) for sha, rows in found.items())


def _claim(sha: str, rows: list[tuple[Place, Commit, str]], ours: str) -> Claim:
    places = tuple(dict.fromkeys(place for place, _, _ in rows))
    commit = rows[0][1]
    named = {repository for _, _, repository in rows}
    foreign = next((r for r in named if r and r.lower() != ours.lower()), None)
    if foreign is not None and commit.sha is None and "" not in named:
        # The object is not here: only a commit that is can be told to be ours whatever the link says.
        return Claim(sha=sha, places=places, status="unknown", reason=f"it is a commit of {foreign}")
    return Claim(sha=sha, places=places, status=commit.status, reason=commit.reason)


def _words(text: str) -> Iterator[_Word]:
    """Every claim of a text, in order."""
    if not _HEX.search(text):
        return
    from markdown_it import MarkdownIt  # noqa: PLC0415 - a fifth of the child's start, and most changes name no commit

    seen: set[tuple[str, int]] = set()
    for word in _of_tokens(MarkdownIt("commonmark").parse(text), text.splitlines()):
        if (word.word, word.line) not in seen:
            seen.add((word.word, word.line))
            yield word


def _of_tokens(tokens: "Iterable[Token]", lines: list[str]) -> Iterator[_Word]:
    for token in tokens:
        start, end = token.map or (0, 0)
        if token.type in ("fence", "code_block"):
            yield from _of_code(token.content, start + (token.type == "fence"))
        elif token.type == "html_block":
            yield from _of_prose(token.content, start, lines, end)
        elif token.type == "inline":
            yield from _of_inline(token.children or [], start, end, lines)


def _of_inline(children: "list[Token]", start: int, end: int, lines: list[str]) -> Iterator[_Word]:
    """Claims of a paragraph: links by their target, code by itself, prose by the words before."""
    before = ""
    for child in children:
        if child.type == "link_open":
            yield from _of_link(str(child.attrGet("href") or ""), start, end, lines)
        elif child.type == "code_inline":
            for word in _of_code(child.content, start):
                yield _Word(word.word, _line(word.word, start, end, lines), word.repository)
            content = child.content.strip()
            if _HEX.fullmatch(content) and not _NOT.search(before) and _plausible(content, said=bool(_BEFORE.search(before))):
                yield _Word(content.lower(), _line(content, start, end, lines))
            before += f"`{child.content}`"
        elif child.type in ("softbreak", "hardbreak"):
            before += " "
        else:
            yield from _of_prose(child.content, start, lines, end, before)
            before += child.content


def _of_prose(text: str, start: int, lines: list[str], end: int, before: str = "") -> Iterator[_Word]:
    for match in re.finditer(r"https?://\S+", text):
        yield from _of_link(match.group(), start, end, lines)
    for match in _HEX.finditer(text):
        ahead = (before + text[: match.start()])[-80:]
        if _BEFORE.search(ahead) and not _NOT.search(ahead) and _plausible(match.group(), said=True):
            yield _Word(match.group().lower(), _line(match.group(), start, end, lines))


def _of_code(code: str, start: int) -> Iterator[_Word]:
    """`revision=` and links inside code; any other hexadecimal word in a program is none of ours."""
    for i, line in enumerate(code.splitlines() or [""]):
        repository = re.search(r"from_pretrained\(\s*[\"']([\w.-]+/[\w.-]+)[\"']", code)
        for match in _REVISION.finditer(line):
            yield _Word(match.group(1).lower(), start + i + 1, repository.group(1) if repository else "")
        for match in re.finditer(r"https?://[^\s\"'<>)]+", line):
            for word in _of_link(match.group(), start + i, start + i, []):
                yield _Word(word.word, start + i + 1, word.repository)


def _of_link(target: str, start: int, end: int, lines: list[str]) -> Iterator[_Word]:
    match = _LINK.match(target)
    if match:
        yield _Word(match.group(2).lower(), _line(match.group(2), start, end, lines), match.group(1))


def _plausible(word: str, *, said: bool) -> bool:
    """Whether a word can be a commit: digits alone only when said to be one and no date, other lengths than people write only then."""
    if word.isdecimal():
        return said and not _DATE.match(word)
    if word.isalpha() and len(word) < 40:
        return said and len(word) > 8  # "defaced", "acceded" and other English words
    return said or len(word) <= 12 or len(word) == 40


def _line(word: str, start: int, end: int, lines: list[str]) -> int:
    for i in range(start, min(end, len(lines))):
        if word.lower() in lines[i].lower():
            return i + 1
    return start + 1
