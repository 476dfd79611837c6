"""Fixes as review suggestions, through the real client, against a GitHub held to its published description."""

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from github import GithubException
from github.PullRequest import ReviewComment
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.analyze.records import Comparison, Finding, Fix
from bot.api import connect, patient
from bot.publish import hunks, marker
from bot.publish.github import Posted, Target
from bot.publish.hunks import Edit
from bot.publish.suggestions import LONGEST_LINE, MOST, Suggestion, publish, suggestions
from tests.comparisons import SPLIT_BRAIN, comparison, finding, head
from tests.doubles.github import GitHubDouble
from tests.doubles.github_reviews import NOT_BEFORE, NOT_IN_DIFF, NOT_ONE_HUNK
from tests.doubles.model_repository import ModelRepository
from tests.test_publish_hostile import assert_inert, by_github, hostile_texts

FILE = "generation_config.json"
SPOILT = '{\n  "eos_token_id": 2\n}\n'


def patch(before: str, after: str, path: str = FILE, context: int = 3) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), f"a/{path}", f"b/{path}", n=context, lineterm="")
    return "".join(f"{line}\n" for line in lines)


def repaired(after: str = SPOILT.replace("2", "[2, 3]"), before: str = SPOILT, **fields: Any) -> Finding:
    path = fields.pop("path", FILE)
    return finding(**({"places": (head(path, 2),), "fix": Fix("List both ids.", patch(before, after, path))} | fields))


@pytest.fixture
def repository(tmp_path: Path) -> ModelRepository:
    made = ModelRepository(tmp_path / "model")
    made.spoil()
    return made


@pytest.fixture
def github(repository: ModelRepository) -> Iterator[GitHubDouble]:
    with GitHubDouble(repository.path) as double:
        yield double
        assert double.violations == []


def target(github: GitHubDouble, **fields: Any) -> Target:
    remote = connect(github.url, "secret-token", retry=None, between_requests=0, between_writes=0).get_repo(github.repository)
    return Target(remote, github.number, github.git.sha("change"), **fields)


def bodies(github: GitHubDouble) -> list[str]:
    return [comment["body"] for comment in github.reviews.comments.values()]


def test_a_fix_is_suggested_on_the_lines_that_it_replaces(github: GitHubDouble) -> None:
    posted = publish(target(github), comparison(new=(repaired(),)))

    (review,), (comment,) = github.reviews.reviews, github.reviews.comments.values()
    assert posted == Posted("created", review["html_url"])
    assert (review["state"], review["commit_id"]) == ("COMMENTED", github.git.sha("change"))
    assert review["body"] == "Model Repo Drift suggests a fix, beside the lines to be replaced."
    assert (comment["path"], comment["line"], comment["start_line"], comment["side"]) == (FILE, 2, None, "RIGHT")
    first, *rest = comment["body"].split("\n")
    assert first.startswith('<!-- model-repo-drift suggestion {"id":"default","fingerprint":"')
    assert marker.read(first) is None
    assert "\n".join(rest) == (
        "**`a.json` and `b.json` disagree**\n\nList both ids.\n\n"
        '```suggestion\n  "eos_token_id": [2, 3]\n```\n\n<sub>`eos-split-brain`</sub>'
    )
    assert [line.split(" ")[0] for line in github.writes()] == ["POST"]


def test_the_same_is_suggested_once(github: GitHubDouble, repository: ModelRepository) -> None:
    record = comparison(new=(repaired(),))
    publish(target(github), record)
    assert publish(target(github), record) == Posted("unchanged")

    # A further push moves the line.
    repository.commit("Move it", {FILE: '{\n  "a": 1,\n  "eos_token_id": 2\n}\n'})
    before = '{\n  "a": 1,\n  "eos_token_id": 2\n}\n'
    moved = repaired(before=before, after=before.replace("2", "[2, 3]"))
    assert publish(target(github), comparison(new=(moved,))) == Posted("unchanged")
    assert len(bodies(github)) == 1


def test_another_fix_of_the_same_finding_is_suggested_as_well(github: GitHubDouble) -> None:
    publish(target(github), comparison(new=(repaired(),)))
    assert publish(target(github), comparison(new=(repaired(SPOILT.replace("2", "3")),))).outcome == "created"
    assert len(bodies(github)) == 2


def test_several_lines_are_one_suggestion(github: GitHubDouble) -> None:
    publish(target(github), comparison(new=(repaired('{\n  "eos_token_id": [\n    2\n  ]\n}'),)))
    after = '{"eos_token_id": 3}'
    publish(target(github), comparison(new=(repaired(after, key="x"),)))

    one, other = github.reviews.comments.values()
    assert (one["start_line"], one["line"]) == (None, 2)
    assert '```suggestion\n  "eos_token_id": [\n    2\n  ]\n```' in one["body"]
    assert (other["start_line"], other["line"]) == (1, 3)
    assert f"```suggestion\n{after}\n```" in other["body"]


def test_an_insertion_is_suggested_on_the_line_beside_it(github: GitHubDouble) -> None:
    publish(target(github), comparison(new=(repaired('{\n  "eos_token_id": 2\n  "b": 1\n}\n'),)))
    (comment,) = github.reviews.comments.values()
    assert comment["line"] == 2
    assert '```suggestion\n  "eos_token_id": 2\n  "b": 1\n```' in comment["body"]


def test_a_line_that_goes_is_an_empty_suggestion(github: GitHubDouble) -> None:
    publish(target(github), comparison(new=(repaired("{\n}\n"),)))
    assert "```suggestion\n```" in bodies(github)[0]


def test_a_fix_outside_of_the_diff_is_not_suggested(github: GitHubDouble) -> None:
    before = (github.git.folder / "config.json").read_text(encoding="utf-8")
    elsewhere = repaired(before.replace("8", "9"), before, path="config.json")
    assert publish(target(github), comparison(new=(elsewhere,))) == Posted("not needed")
    assert github.writes() == []


def test_a_far_line_of_a_changed_file_is_not_suggested(github: GitHubDouble, repository: ModelRepository) -> None:
    lines = "".join(f"{n}\n" for n in range(60))
    repository.git("switch", "--quiet", "main")
    repository.commit("Add", {"a.txt": lines})
    repository.git("switch", "--quiet", "change")
    repository.git("merge", "--quiet", "main")
    repository.commit("Change", {"a.txt": lines.replace("\n20\n", "\nx\n")})
    changed = lines.replace("\n20\n", "\nx\n")

    def fix(line: int) -> Finding:
        return repaired(changed.replace(f"\n{line}\n", "\ny\n"), changed, path="a.txt", key=str(line))

    publish(target(github), comparison(new=tuple(map(fix, (10, 16, 17, 23, 24, 50)))))
    assert [comment["line"] for comment in github.reviews.comments.values()] == [18, 24]


def test_a_file_without_a_diff_has_no_suggestion(github: GitHubDouble) -> None:
    github.reviews.without_patch.add(FILE)
    assert publish(target(github), comparison(new=(repaired(),))) == Posted("not needed")


def test_without_a_patch_nothing_is_asked(github: GitHubDouble) -> None:
    there_before = comparison(new=(finding(), finding(fix=Fix("Do it."))), unchanged=(repaired(),), resolved=(repaired(),))
    assert publish(Target(target(github).repository, 1, "x"), there_before) == Posted("not needed")
    assert github.log == ["GET /repos/acme/model"]


@pytest.mark.parametrize("line", ['"a\x1bb"', '"\u202ea"', '"a\r"', f'"{"x" * LONGEST_LINE}"'])
def test_a_line_that_cannot_be_seen_whole_is_not_suggested(line: str) -> None:
    record = finding(fix=Fix("x", f"--- a/{FILE}\n+++ b/{FILE}\n@@ -2 +2 @@\n-a\n+{line}\n"))
    assert suggestions(comparison(new=(record,)), {FILE: ((1, 3),)}) == []


def test_at_most_twenty_are_suggested_worst_first_and_none_on_the_lines_of_another() -> None:
    def fix(line: int, severity: str, text: str = "b") -> Finding:
        change = f"--- a/x\n+++ b/x\n@@ -{line} +{line} @@\n-a\n+{text}\n"
        return finding(key=f"{line}{text}", severity=severity, fix=Fix("x", change))

    warnings, errors = [fix(n, "warning") for n in range(1, 40)], [fix(n, "error", "c") for n in range(1, 6)]
    found = suggestions(comparison(new=(*warnings, *errors)), {"x": ((1, 99),)})
    assert len(found) == MOST
    assert [(each.edit.first, each.edit.lines) for each in found[:6]] == [*((n, ("c",)) for n in range(1, 6)), (6, ("b",))]


def test_a_note_is_not_suggested(github: GitHubDouble) -> None:
    assert suggestions(comparison(new=(repaired(severity="note"),)), {FILE: ((1, 3),)}) == []
    assert publish(target(github), comparison(new=(repaired(severity="note"),))) == Posted("not needed")
    assert github.log == ["GET /repos/acme/model"]


def test_what_another_suggestion_adds_is_not_added_twice() -> None:
    def adds(line: int, key: str, path: str = FILE) -> Finding:
        change = f'--- a/{path}\n+++ b/{path}\n@@ -{line} +{line},2 @@\n   "a": {line},\n+  {key}: {line},\n'
        return finding(key=f"{line}{key}{path}", fix=Fix("x", change))

    new = (
        adds(1, '"eos"'),
        adds(5, '"eos"'),
        adds(9, '"bos"'),
        adds(13, '"bos" '),
        adds(17, '  "eos"'),
        adds(21, '"eos"', "b.json"),
    )
    found = suggestions(comparison(new=new), {FILE: ((1, 30),), "b.json": ((1, 30),)})
    assert [(each.edit.path, each.edit.first) for each in found] == [(FILE, 1), (FILE, 9), (FILE, 17), ("b.json", 21)]


def test_an_edit_of_a_line_is_no_addition() -> None:
    def flag(line: int) -> Finding:
        change = f'--- a/{FILE}\n+++ b/{FILE}\n@@ -{line} +{line} @@\n-  "special": false\n+  "special": true\n'
        return finding(key=str(line), fix=Fix("x", change))

    assert len(suggestions(comparison(new=(flag(2), flag(8))), {FILE: ((1, 30),)})) == 2


def test_beyond_twenty_no_patch_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    real = hunks.edit

    def edit(patch: str) -> Edit | None:
        read.append(patch)
        return real(patch)

    monkeypatch.setattr(hunks, "edit", edit)
    fixes = tuple(repaired(key=str(n), fix=Fix("x", f"--- a/x\n+++ b/x\n@@ -{n} +{n} @@\n-a\n+b\n")) for n in range(1, 200))
    assert len(suggestions(comparison(new=fixes), {"x": ((1, 999),)})) == MOST
    assert len(read) == MOST


def test_a_person_who_copies_a_suggestion_is_left_alone(github: GitHubDouble) -> None:
    publish(target(github), comparison(new=(repaired(),)))
    body = bodies(github)[0]
    github.reviews.comments.clear()
    person = {**github.reviews.reviews[0]["user"], "login": "mallory", "type": "User"}
    copied = github.reviews.comment(body, FILE, 2, user=person)

    assert publish(target(github), comparison(new=(repaired(),))).outcome == "created"
    assert copied in github.reviews.comments
    assert publish(target(github, authors=("Mallory",)), comparison(new=(repaired(),))).outcome == "unchanged"


def test_ours_is_found_behind_250_others(github: GitHubDouble) -> None:
    publish(target(github), comparison(new=(repaired(),)))
    for number in range(250):
        github.reviews.comment(f"comment {number}", FILE, 2)
    github.reviews.comment("<!-- model-repo-drift suggestion {broken} -->\nx", FILE, 2)
    assert publish(target(github), comparison(new=(repaired(),))).outcome == "unchanged"
    assert publish(target(github, comment_id="other"), comparison(new=(repaired(),))).outcome == "created"


def test_two_runs_at_once_end_with_one_suggestion(github: GitHubDouble) -> None:
    record, judged = comparison(new=(repaired(),)), target(github)
    github.when("POST", "/reviews$", lambda: publish_beside(github, record))

    assert publish(judged, record).outcome == "unchanged"
    assert len(bodies(github)) == 1
    assert [line.split(" ")[0] for line in github.writes()] == ["POST", "DELETE", "PUT"]
    assert "nothing is left of this review" in github.reviews.reviews[0]["body"]


def test_a_run_that_is_faster_in_time_leaves_no_review_to_write(github: GitHubDouble) -> None:
    record, judged = comparison(new=(repaired(),)), target(github)
    github.when("GET", "/commits/", lambda: publish_beside(github, record))

    assert publish(judged, record) == Posted("unchanged")
    assert (len(bodies(github)), github.writes()) == (1, [])


def publish_beside(github: GitHubDouble, record: Comparison) -> None:
    """What another run leaves, put there without asking the double, which is answering."""
    (made,) = suggestions(record, {FILE: ((1, 3),)})
    github.reviews.comment(made.body("default"), FILE, 2, review=1)


def test_a_review_that_was_answered_too_late_is_not_doubled(github: GitHubDouble) -> None:
    record = comparison(new=(repaired(),))
    github.when("POST", "/reviews$", lambda: publish_beside(github, record))
    github.answer("POST", "/reviews$", 502, {"message": "Bad Gateway"})
    remote = connect(github.url, "t", retry=patient(), between_requests=0, between_writes=0).get_repo(github.repository)

    assert publish(Target(remote, 1, github.git.sha("change")), record).outcome == "unchanged"
    assert len(bodies(github)) == 1


def test_a_head_that_moved_gets_no_suggestion(github: GitHubDouble, repository: ModelRepository) -> None:
    judged = target(github)
    github.when("GET", "/pulls/1/comments$", repository.repair, after=True)

    posted = publish(judged, comparison(new=(repaired(),)))

    assert posted.outcome == "outdated"
    assert github.writes() == []
    assert publish(judged, comparison(new=(repaired(),))).outcome == "outdated"


def test_a_closed_pull_request_gets_no_suggestion(github: GitHubDouble) -> None:
    github.state = "closed"
    assert publish(target(github), comparison(new=(repaired(),))).outcome == "closed"


@pytest.mark.parametrize("status", [403, 404])
def test_a_missing_permission_is_named(github: GitHubDouble, status: int) -> None:
    github.answer("POST", "/reviews$", status, {"message": "Resource not accessible by integration"})
    posted = publish(target(github), comparison(new=(repaired(),)))
    assert posted.outcome == "refused"
    assert "`permissions: pull-requests: write`" in posted.notice
    assert bodies(github) == []


def test_lines_that_github_does_not_take_are_a_notice(github: GitHubDouble) -> None:
    # The diff is another one by the time of the review.
    github.when("POST", "/reviews$", lambda: github.reviews.without_patch.add(FILE))
    posted = publish(target(github), comparison(new=(repaired(),)))
    assert posted.outcome == "refused"
    assert posted.notice.endswith("GitHub takes suggestions only on lines that the diff shows.")
    assert bodies(github) == []


def test_a_server_that_is_gone_is_said(repository: ModelRepository) -> None:
    with GitHubDouble(repository.path) as gone:
        away = target(gone)
    posted = publish(away, comparison(new=(repaired(),)))
    assert posted.outcome == "refused"
    assert "GitHub could not be reached" in posted.notice


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"path": "config.json", "line": 2}, NOT_IN_DIFF),
        ({"path": FILE, "line": 9}, NOT_IN_DIFF),
        ({"path": FILE, "line": 2, "start_line": 2}, NOT_BEFORE),
        ({"path": FILE, "line": 2, "start_line": 9}, NOT_ONE_HUNK),
    ],
)
def test_the_double_refuses_lines_as_github_does(github: GitHubDouble, where: dict[str, Any], said: str) -> None:
    pull = target(github).repository.get_pull(1)
    asked = ReviewComment(body="x", side="RIGHT", **where)
    with pytest.raises(GithubException) as refused:
        pull.create_review(body="x", event="COMMENT", comments=[asked])
    assert refused.value.status == 422
    assert said in str(refused.value.data)
    assert github.reviews.reviews == []


LINES = st.lists(st.text(st.sampled_from("`~a <>-\t"), max_size=8), min_size=1, max_size=4)


@settings(deadline=None, max_examples=100)
@given(hostile_texts, hostile_texts, LINES)
def test_any_suggestion_is_one_block_with_exactly_its_lines(title: str, description: str, lines: list[str]) -> None:
    record = finding(title=title, check=title, fix=Fix(description, "x"))
    body = Suggestion(record, Edit(FILE, 1, 1, tuple(lines))).body("--> <id>")
    blocks = [token for token in MarkdownIt("commonmark").parse(body) if token.type == "fence"]
    assert [(block.info, block.content) for block in blocks] == [("suggestion", "".join(f"{line}\n" for line in lines))]
    page = by_github(body)
    assert page.skeleton == ["p", "strong", "/strong", "/p", "p", "/p", "pre", "code", "/code", "/pre", "p", "sub", "/sub", "/p"]
    assert len(page.comments) == 1
    assert_inert(page)


def test_the_example_is_an_edit_of_its_line() -> None:
    (made,) = suggestions(comparison(new=(SPLIT_BRAIN,)), {"tokenizer_config.json": ((168, 174),)})
    assert made.edit == Edit("tokenizer_config.json", 171, 171, ('  "eos_token": "<|im_end|>",',))
