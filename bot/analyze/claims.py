"""Which hexadecimal words of a text are claims about a commit, decided on its Markdown structure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING

import msgspec

from bot.analyze.records import Claim
from bot.analyze.whose import Sentences
from bot.place import Place
from bot.snapshot import Change, Commit

if TYPE_CHECKING:
    from markdown_it.token import Token

_HEX = re.compile(r"(?<![0-9A-Za-z_#])[0-9a-fA-F]{7,40}(?![0-9A-Za-z_])")
_GLUE = r"(?:\s+(?:in|by|with|at|as|is|to|via|from|of|the|this|commit|revision|and|see|id|hash)\b)*[\s:=\"'`(\[]*$"
# A word for a commit shortly before: "commit abc1234", "fixed in abc1234", "revision: abc1234". Digits alone need the first kind.
_COMMIT = re.compile(rf"\b(?:commits?|revisions?|revs?|sha|changesets?){_GLUE}", re.IGNORECASE)
# A model that was merged with another one is no commit.
_FIXED_IN = re.compile(r"\b(?:(?:fixed|patched|reverted)\s+(?:in|by|with)|merged\s+(?:in|by))[\s:`(\[]*$", re.IGNORECASE)
_FIXED = re.compile(rf"\b(?:fix(?:e[sd])?|patch(?:e[sd])?|merged?(?!\s+with\b)|backport(?:ed)?|reverted){_GLUE}", re.IGNORECASE)
# Numbers count: revisions of Subversion, which are short, steps, samples.
_COUNTED = re.compile(r"\b(?:revisions?|revs?)[\s:=\"'`(\[]*$", re.IGNORECASE)
_UNIT = re.compile(
    r"\s*(?:[KMB]\b|(?:[a-z]+\s+)?(?:steps?|tokens|samples|examples|iterations|param\w*|images|hours|epochs|updates|rows|bytes)\b)",
    re.IGNORECASE,
)
# A sentence that speaks of commits at all, for a SHA that only stands in back-ticks.
_ABOUT = re.compile(r"\b(?:commits?|revisions?|changesets?)\b", re.IGNORECASE)
# "sha256: …", "md5 …", "colour …", and copies that say so themselves: no claim that the commit is here.
_SUMS = r"\b(?:sha-?(?:1|224|256|384|512)(?:sum)?|md5(?:sum)?|checksums?|digest|etag|uuid|colou?r|blake\w*|crc32)\b"
_NOT = re.compile(
    rf"(?:{_SUMS}|cherry.picked from commit|reverts commit|\bseed|\bblob|autov2)[^.;|]{{0,40}}$|^merge commit '$", re.IGNORECASE
)
_REVISION = re.compile(r"(code_|--code-)?revision[\s\"']*[=:\s][\s\"']*([0-9a-fA-F]{7,40})(?![0-9A-Za-z_])")
_NAMED = re.compile(r"(?<![\w./-])([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?![\w/])")
_LINK = re.compile(
    r"^(?:https?://[^/\s]+)?/?(?:(?:datasets|spaces)/)?([\w.-]+/[\w.-]+)/(?:commit|commits|tree|blob|raw|resolve)/([0-9a-fA-F]{7,40})(?![0-9A-Za-z_])"
)
_FIRST = re.compile(r"\(\s*[\"']([\w.-]+)[\"']\s*,[^()]*$")  # load("name", revision="…")
# The metadata of a model card names revisions of data sets and of base models; a squash names the commits that it replaces.
_FRONT = re.compile(r"\A---[ \t]*\r?\n.*?\n---[ \t]*\r?(?=\n|\Z)", re.DOTALL)
_SQUASH = "Squashed commit of the following:"
_SQUASHED = re.compile(r"^commit [0-9a-f]{40}\r?$", re.MULTILINE)
_DATE = re.compile(r"^(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])(?:\d{2,6})?$")


ANOTHER = "another repository"
MOST = 2_000  # claims of one text
_NEAR = 80  # characters before a word that tell what it is
_LONG_NUMBER = 10  # digits that no revision number has
_ABOVE = 500  # characters of the item before that are looked at
_IN_LIST = 2  # the level of a paragraph in a list item


class _Word(msgspec.Struct, frozen=True):
    """A hexadecimal word that may be a claim, and its 1-based line.

    `repository` is the one that the text speaks of ("" for this one): of a link, of a call around it, a project named before it.
    `said` is False for a short word in back-ticks of which the text does not say that it is a commit.
    """

    word: str
    line: int
    repository: str = ""
    said: bool = True


def claims(texts: Mapping[Place, str], change: Change) -> tuple[Claim, ...]:
    """The commits that texts claim, each with every place that says so and what became of it.

    `texts` maps the place of each text (line 1) to the text. A commit is named by its full id where that is known.
    """
    commits = {commit.word: commit for commit in change.commits if not commit.repository}
    others = {(commit.repository.lower(), commit.word): commit for commit in change.commits if commit.repository}
    found: dict[str, list[tuple[Place, Commit, _Word]]] = {}
    for place, text in texts.items():
        for word in _words(text, change.repository):
            commit = commits.get(word.word) or Commit(word.word, None, "unknown", "it was not looked up")
            if commit.sha is None:
                commit = others.get((word.repository.lower(), word.word), commit)
            if word.said or commit.sha is not None:  # else it may be anything
                spot = Place(place.revision, place.path, "", word.line)
                found.setdefault(commit.sha or commit.word, []).append((spot, commit, word))
    return tuple(_claim(sha, rows, change.repository) for sha, rows in found.items())


def _claim(sha: str, rows: list[tuple[Place, Commit, _Word]], ours: str) -> Claim:
    places = tuple(dict.fromkeys(place for place, _, _ in rows))
    commit = rows[0][1]
    foreign = [word.repository for _, _, word in rows if word.repository and word.repository.lower() != ours.lower()]
    if commit.sha is None and not commit.repository and len(foreign) == len(rows):
        # The object is not here: only a commit that is can be told to be ours whatever the text around it says.
        sure = "/" in foreign[0] or foreign[0] == ANOTHER
        return Claim(sha=sha, places=places, status="unknown", reason=f"it {'is' if sure else 'may be'} a commit of {foreign[0]}")
    return Claim(sha=sha, places=places, status=commit.status, reason=commit.reason)


def _words(text: str, ours: str) -> Iterator[_Word]:
    """Every claim of a text, in order, each once a line; at most MOST of them."""
    text = _FRONT.sub(lambda front: "\n" * front.group().count("\n"), text)
    text = _SQUASHED.sub("", text) if _SQUASH in text else text
    if not _HEX.search(text):
        return
    from markdown_it import MarkdownIt  # noqa: PLC0415 - a fifth of the child's start, and most changes name no commit

    seen: set[tuple[str, int]] = set()
    for word in _of_tokens(MarkdownIt("commonmark").parse(text), ours):
        if (word.word, word.line) not in seen:
            seen.add((word.word, word.line))
            yield word
        if len(seen) >= MOST:
            return


def _of_tokens(tokens: "Iterable[Token]", ours: str) -> Iterator[_Word]:
    above = ""  # the item before, in a list
    for token in tokens:
        line = (token.map or (0, 0))[0] + 1
        if token.type in ("fence", "code_block"):
            yield from _of_code(token.content, line + (token.type == "fence"))
        elif token.type == "html_block":
            for i, row in enumerate(token.content.split("\n")):
                yield from _of_prose(row, line + i, Sentences(row, ours), row)
        elif token.type == "inline":
            yield from _of_inline(token.children or [], line, ours, above)
            above = token.content[:_ABOVE] if token.level > _IN_LIST else ""


def _of_inline(children: "list[Token]", line: int, ours: str, above: str) -> Iterator[_Word]:
    """Claims of a paragraph: links by their target, code by itself, prose by the words before."""
    shown = [f"`{child.content}`" if child.type == "code_inline" else child.content or " " for child in children]
    whole = "".join(shown)
    places = list(accumulate(map(len, shown), initial=0))
    opened = [(at, child) for at, child in zip(places, children, strict=False) if child.type == "link_open"]
    links = [(at, str(child.attrGet("href") or "")) for at, child in opened]
    sentences = Sentences(whole, ours, [link for link in links if not _LINK.match(link[1])], above)
    linked = ""
    for at, child in zip(places, children, strict=False):
        if child.type == "link_open":
            linked = str(child.attrGet("href") or "")
        elif child.type == "link_close":
            yield from _of_link(linked, line)  # the target stands behind the text, which may have several lines
            linked = ""
        elif child.type == "code_inline":
            for word in _of_code(child.content, line):
                yield msgspec.structs.replace(word, line=line)
            if not _LINK.match(linked):
                yield from _of_quoted(child.content, at + 1, line, sentences, whole)
        elif child.type in ("softbreak", "hardbreak"):
            line += 1
        elif not _LINK.match(linked):  # the text of a link to a commit repeats what the link says
            yield from _of_prose(child.content, line, sentences, whole, at)


def _of_quoted(content: str, at: int, line: int, sentences: Sentences, whole: str) -> Iterator[_Word]:
    """A SHA in back-ticks, which is no evidence of a commit: the sentence around it must speak of commits."""
    text = content.strip()
    ahead = whole[max(0, at - _NEAR) : at]
    after = at + len(content) + 1
    if _HEX.fullmatch(text) and not _NOT.search(ahead) and _plausible(text, ahead, whole[after : after + _NEAR]):
        said = _COMMIT.search(ahead) or _FIXED.search(ahead) or any(map(_ABOUT.search, sentences.around(at, after)))
        yield _Word(text.lower(), line, sentences.owner(at, after), bool(said))


def _of_prose(text: str, line: int, sentences: Sentences, whole: str, at: int = 0) -> Iterator[_Word]:
    """SHAs that prose calls commits; `text` stands at `at` in `whole`."""
    for match in re.finditer(r"https?://\S+", text):
        yield from _of_link(match.group(), line)
    for match in _HEX.finditer(text):
        start, end = at + match.start(), at + match.end()
        ahead = whole[max(0, start - _NEAR) : start]
        named = _COMMIT.search(ahead) or _FIXED.search(ahead)
        if named and not _NOT.search(ahead) and _plausible(match.group(), ahead, whole[end : end + _NEAR]):
            yield _Word(match.group().lower(), line, sentences.owner(start, end))


def _of_code(code: str, line: int) -> Iterator[_Word]:
    """`revision=` and links inside code; any other hexadecimal word in a program is none of ours.

    The repository is the last one named before, as in `load("owner/name", revision="…")`. What code_revision pins is the
    repository of the code, which is another one.
    """
    at, row = 0, line
    for match in _REVISION.finditer(code):
        row += code.count("\n", at, match.start())
        at = match.start()
        first = _FIRST.search(code, max(0, at - 300), at)
        named = [first.group(1)] if first else _NAMED.findall(code[max(0, at - 2_000) : at])
        repository = ANOTHER if match.group(1) else named[-1] if named else ""
        yield _Word(match.group(2).lower(), row, repository)
    at, row = 0, line
    for match in re.finditer(r"https?://[^\s\"'<>)]+", code):
        row += code.count("\n", at, match.start())
        at = match.start()
        yield from _of_link(match.group(), row)


def _of_link(target: str, line: int) -> Iterator[_Word]:
    match = _LINK.match(target)
    if match:
        yield _Word(match.group(2).lower(), line, match.group(1))


def _plausible(word: str, ahead: str, after: str) -> bool:
    """Whether a word can be a commit.

    Digits alone only after a word for a commit that is none for a number, and no date, nor a number of something; letters alone only when they are no English word ("defaced"); lengths that
    nobody writes, such as the 32 of an md5, only after a word for a commit.
    """
    named = bool(_COMMIT.search(ahead))
    if word.isdecimal():
        number = _DATE.match(word) or (len(word) < _LONG_NUMBER and _COUNTED.search(ahead)) or _UNIT.match(after)
        return (named or bool(_FIXED_IN.search(ahead))) and not number
    if word.isalpha() and len(word) < 40:
        return (named or bool(_FIXED.search(ahead))) and len(word) > 8
    return named or len(word) <= 12 or len(word) == 40
