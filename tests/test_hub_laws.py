"""Whatever the history of a repository looks like, the Hub's lists tell of it what git tells."""

import random
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.fetch.git import Repository
from bot.fetch.history_git import GitHistory
from bot.fetch.hub import open_hub_pair
from bot.fetch.hub_history import history_of
from bot.hub import Access
from tests.doubles.hub import HubDouble
from tests.repositories import WHEN, GitRepository

NAME = "acme/model"
NUMBERS = range(6)
COMMITS = 40


def history(path: Path, number: int) -> GitRepository:
    """Branches, tags and pull requests put together by chance, with merges and roots; no two commits make the same change."""
    made, chance = GitRepository(path), random.Random(number)
    lines: list[str] = []
    for mark in range(1, COMMITS + 1):
        root = mark == 1 or chance.random() < 0.03
        parents = [] if root else [max(1, mark - chance.randint(1, 6))]
        if parents and chance.random() < 0.25:
            parents.append(chance.randint(1, mark - 1))
        if root and mark > 1:
            lines.append("reset refs/heads/made\n")
        lines.append(f"commit refs/heads/made\nmark :{mark}\ncommitter A <a@b> {WHEN + mark} +0000\ndata 1\nx\n")
        lines += [f"{'merge' if index else 'from'} :{parent}\n" for index, parent in enumerate(dict.fromkeys(parents))]
        lines.append(f"M 100644 inline f{mark}\ndata {len(str(mark))}\n{mark}\n")
        if chance.random() < 0.3:
            lines.append(f"reset refs/{chance.choice(('heads/b', 'tags/t', 'pr/', 'pr/'))}{mark}\nfrom :{mark}\n\n")
    lines.append(f"reset refs/heads/main\nfrom :{chance.randint(COMMITS // 2, COMMITS)}\n\n")
    lines.append(f"reset refs/pr/99\nfrom :{chance.randint(1, COMMITS)}\n\n")
    made.git("fast-import", "--quiet", "--force", stdin="".join(lines).encode())
    made.git("update-ref", "-d", "refs/heads/made")
    return made


@contextmanager
def served(path: Path, number: int) -> Generator[tuple[GitRepository, HubDouble]]:
    made = history(path, number)
    with HubDouble({NAME: made.path}) as hub:
        hub.repositories[NAME].most_commits = number % 4 * 5 + 5
        yield made, hub


@pytest.mark.parametrize("number", NUMBERS)
def test_the_hub_tells_of_every_commit_what_git_tells(number: int, tmp_path: Path) -> None:
    with served(tmp_path / "made", number) as (made, hub):
        sides = open_hub_pair(f"hub:{NAME}@main", f"hub:{NAME}@refs/pr/99", Access(hub.url))
        asked = made.git("cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname)").split("\n")
        all_of_them = [row.split(" ")[1] for row in asked if row.startswith("commit ")]
        assert len(all_of_them) == COMMITS
        shas = random.Random(number).sample(all_of_them, 16)  # more of them would need more than the requests of a run
        local = GitHistory(Repository(made.path), made.git("rev-parse", "main"), made.git("rev-parse", "refs/pr/99"), "main")
        theirs = history_of(*sides)
        told = theirs.resolve(shas)
        for ours, there in zip(local.resolve(shas), told, strict=True):
            merged = made.git("rev-list", "--no-walk", "--merges", ours.sha or "")
            if merged and there.reason.startswith("what it changes"):
                continue  # git has no patch of a merge to look for
            assert (there.sha, there.status) == (ours.sha, ours.status), (ours, there)
        assert {commit.status for commit in told} == {"reachable", "orphaned"}


@pytest.mark.parametrize("number", NUMBERS)
def test_the_merge_base_is_one_of_those_that_git_finds(number: int, tmp_path: Path) -> None:
    with served(tmp_path / "made", number) as (made, hub):
        for head in made.git("for-each-ref", "--format=%(refname)").split("\n"):
            base, _ = open_hub_pair(f"hub:{NAME}@main", f"hub:{NAME}@{head}", Access(hub.url))
            best = made.git("merge-base", "--all", "main", head, check=False).split()
            tip = made.git("rev-parse", "main")
            behind = made.git("rev-parse", f"{head}^{{commit}}") in best
            assert base.sha in ([tip] if behind or not best else best)
