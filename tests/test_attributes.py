"""Which paths .gitattributes keeps in Git LFS, against git itself."""

from pathlib import Path

import pytest

from bot.analyze.model.attributes import kept_in_lfs, rules
from tests.repositories import GitRepository

# By name: the .gitattributes of folders ("" is the root), and whether paths are kept in Git LFS.
TABLE: dict[str, tuple[dict[str, str], dict[str, bool]]] = {
    "what git lfs track writes": (
        {"": "*.7z filter=lfs diff=lfs merge=lfs -text\n*tfevents* filter=lfs diff=lfs merge=lfs -text\n"},
        {"a.7z": True, "m/a.7z": True, "m/x.tfevents.1": True, "7z": False},
    ),
    "a later line overrides": (
        {"": "*.bin filter=lfs\nb.bin filter=other\nc.bin text\n"},
        {"a.bin": True, "b.bin": False, "d/b.bin": False, "c.bin": True},
    ),
    "a later attribute overrides": (
        {"": "a.bin filter=lfs -filter\nb.bin -filter filter=lfs\n"},
        {"a.bin": False, "b.bin": True},
    ),
    "-filter, !filter and no value": (
        {"": "*.bin filter=lfs\nb.bin -filter\nc.bin !filter\nd.bin filter\n"},
        {"a.bin": True, "b.bin": False, "c.bin": False, "d.bin": False},
    ),
    "macros": (
        {"": "[attr]big filter=lfs diff=lfs\n[attr]huge big\n*.bin big\n*.pt huge\n*.x bigger\n"},
        {"a.bin": True, "a.pt": True, "a.x": False},
    ),
    "a macro that takes it away": (
        {"": "[attr]small -filter\n*.bin filter=lfs\nb.bin small\n"},
        {"a.bin": True, "b.bin": False},
    ),
    "two asterisks": (
        {"": "a/** filter=lfs\n**/b.x filter=lfs\nc/**/d filter=lfs\ns/**/* filter=lfs\n"},
        {
            "a": False,
            "a/x": True,
            "a/b/c": True,
            "xa/x": False,
            "b.x": True,
            "q/r/b.x": True,
            "qb.x": False,
            "c/d": True,
            "c/x/y/d": True,
            "cd": False,
            "s/a": True,
            "s/b/c": True,
            "x/s/b": False,
        },
    ),
    "folders with a common prefix": (
        {"m": "*.bin filter=lfs\n"},
        {"m/a.bin": True, "m/n/a.bin": True, "mm/a.bin": False, "m-2/a.bin": False, "a.bin": False, "n/m/a.bin": False},
    ),
    "a deeper file overrides": (
        {"": "*.bin filter=lfs\n", "m": "*.bin -filter\n", "m/n": "*.bin filter=lfs\n"},
        {"a.bin": True, "m/a.bin": False, "m/n/a.bin": True, "m/o/a.bin": False},
    ),
    "a slash in a deeper file": (
        {"m": "/a.bin filter=lfs\nn/b.bin filter=lfs\n"},
        {"m/a.bin": True, "m/n/a.bin": False, "a.bin": False, "m/n/b.bin": True, "n/b.bin": False},
    ),
    "with and without a slash": (
        {"": "a/*.bin filter=lfs\n/r.bin filter=lfs\nplain filter=lfs\n"},
        {
            "a/x.bin": True,
            "a/b/x.bin": False,
            "b/a/x.bin": False,
            "r.bin": True,
            "b/r.bin": False,
            "plain": True,
            "a/plain": True,
            "plain/a": False,
        },
    ),
    "folders": ({"": "a/ filter=lfs\nb filter=lfs\n"}, {"a/x": False, "b": True, "b/x": False}),
    "comments and blank lines": (
        {"": "# *.bin filter=lfs\n#*.x filter=lfs\n\n  # *.y filter=lfs\n  *.z filter=lfs\n"},
        {"a.bin": False, "#a.x": False, "a.x": False, "a.y": False, "a.z": True},
    ),
    "one letter, and classes": (
        {"": "?.bin filter=lfs\n[ab].x filter=lfs\n[!ab].y filter=lfs\n[a-c]/q filter=lfs\nx[!a]y filter=lfs\n"},
        {
            "a.bin": True,
            "ab.bin": False,
            "a.x": True,
            "c.x": False,
            "a.y": False,
            "c.y": True,
            "b/q": True,
            "d/q": False,
            "x/y": False,
            "xby": True,
        },
    ),
    "letters that mean something elsewhere": (
        {"": "a+b.bin filter=lfs\nx.y filter=lfs\n(a|b) filter=lfs\n$ filter=lfs\n"},
        {"a+b.bin": True, "aab.bin": False, "x.y": True, "xay": False, "a": False, "(a|b)": True, "$": True},
    ),
    "tabs and carriage returns": ({"": "a.bin\tfilter=lfs\r\nb.bin filter=lfs text\r\n"}, {"a.bin": True, "b.bin": True}),
    "case": ({"": "*.BIN filter=lfs\nx Filter=lfs\ny filter=LFS\n"}, {"a.bin": False, "a.BIN": True, "x": False, "y": False}),
    "quoted patterns and escapes": (
        {"": '"a b.bin" filter=lfs\n"q\\"r" filter=lfs\n\\*.bin filter=lfs\n[^x]y filter=lfs\n"open filter=lfs\n'},
        {"a b.bin": True, 'q"r': True, "*.bin": True, "c.bin": False, "ay": True, "xy": False, "open": False},
    ),
    "nothing": ({"": ""}, {"a.bin": False}),
}


@pytest.mark.parametrize("name", TABLE)
def test_what_is_kept_in_lfs(name: str, tmp_path: Path) -> None:
    files, expected = TABLE[name]
    assert asked_of_git(tmp_path, files, expected) == expected
    every = rules(files)
    assert {path: kept_in_lfs(path, every) for path in expected} == expected


def asked_of_git(folder: Path, files: dict[str, str], paths: dict[str, bool]) -> dict[str, bool]:
    """What `git check-attr` says of the paths, which need not be there."""
    repository = GitRepository(folder)
    repository.write({f"{name}/.gitattributes".removeprefix("/"): text for name, text in files.items()})
    words = repository.git("check-attr", "-z", "filter", "--", *paths).split("\0")
    return {path: value == "lfs" for path, value in zip(words[0:-1:3], words[2::3], strict=True)}
