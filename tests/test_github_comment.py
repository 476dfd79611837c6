"""One comment on a pull request, through the real client, against a GitHub held to its published description."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from github import Github

from bot.api import connect, patient
from bot.publish import marker
from bot.publish.comment import comment
from bot.publish.github import Posted, Target, Text, publish
from bot.publish.links import Links
from bot.publish.marker import Marker
from tests import comparisons
from tests.doubles.github import GitHubDouble
from tests.doubles.model_repository import ModelRepository


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


def client(double: GitHubDouble) -> Github:
    return connect(double.url, "secret-token", retry=None, between_requests=0, between_writes=0)


def target(
    double: GitHubDouble, repository: ModelRepository, comment_id: str = "default", authors: tuple[str, ...] = ()
) -> Target:
    return Target(client(double).get_repo(double.repository), double.number, repository.sha("change"), comment_id, authors)


def body(text: str, comment_id: str = "default", head: str = "a" * 40) -> str:
    return f"{marker.write(Marker(id=comment_id, head=head))}\n{text}"


def always(text: str) -> Text:
    return lambda _: body(text)


def only_over_an_earlier_one(previous: Marker | None) -> str | None:
    return body("nothing new") if previous else None


def test_the_first_run_creates_and_the_next_ones_edit(github: GitHubDouble, repository: ModelRepository) -> None:
    created = publish(target(github, repository), always("one finding"))
    edited = publish(target(github, repository), always("two findings"))
    same = publish(target(github, repository), always("two findings"))

    assert [created.outcome, edited.outcome, same.outcome] == ["created", "edited", "unchanged"]
    assert (
        created.url
        == edited.url
        == same.url
        == f"https://example.com/acme/model/pull/1#issuecomment-{next(iter(github.comments))}"
    )
    assert github.bodies() == [body("two findings")]
    assert [line.split(" ")[0] for line in github.writes()] == ["POST", "PATCH"]


def test_nothing_is_created_where_nothing_is_to_be_said(github: GitHubDouble, repository: ModelRepository) -> None:
    assert publish(target(github, repository), only_over_an_earlier_one) == Posted("not needed")
    assert github.writes() == []

    publish(target(github, repository), always("one finding"))
    assert publish(target(github, repository), only_over_an_earlier_one).outcome == "edited"
    assert github.bodies() == [body("nothing new")]


def test_the_text_is_told_what_the_earlier_comment_said(github: GitHubDouble, repository: ModelRepository) -> None:
    said: list[Marker | None] = []
    earlier = Marker(id="default", head="b" * 40, fingerprints=(("0123456789abcdef", "error"),))
    github.comment(f"{marker.write(earlier)}\r\nold")

    def text(previous: Marker | None) -> str:
        said.append(previous)
        return body("new")

    assert publish(target(github, repository), text).outcome == "edited"
    assert said == [earlier]


def test_our_comment_is_found_behind_150_others(github: GitHubDouble, repository: ModelRepository) -> None:
    for number in range(150):
        github.comment(f"comment {number}", login="reviewer")
    ours = github.comment(body("old"))
    github.comment("last", login="reviewer")

    posted = publish(target(github, repository), always("new"))

    assert posted.outcome == "edited"
    assert github.comments[ours]["body"] == body("new")
    assert len(github.comments) == 152
    assert sum("/issues/1/comments" in line for line in github.log if line.startswith("GET")) == 2


@pytest.mark.parametrize("login", ["mallory", ""], ids=["a person", "a deleted account"])
def test_a_person_who_copies_the_marker_is_left_alone(github: GitHubDouble, repository: ModelRepository, login: str) -> None:
    copied = github.comment(body("copied"), login=login)

    assert publish(target(github, repository), always("ours")).outcome == "created"
    assert publish(target(github, repository), always("ours again")).outcome == "edited"
    assert github.comments[copied]["body"] == body("copied")
    assert github.bodies() == [body("copied"), body("ours again")]


def test_the_marker_counts_on_the_first_line_only(github: GitHubDouble, repository: ModelRepository) -> None:
    github.comment(f"> quoting\n{body('old')}")
    github.comment(body("of another model", comment_id="other"))
    github.comment("<!-- model-repo-drift {broken -->\nx")
    github.comment("")

    assert publish(target(github, repository), always("ours")).outcome == "created"
    assert len(github.comments) == 5


def test_a_named_author_owns_the_comment(github: GitHubDouble, repository: ModelRepository) -> None:
    owned = github.comment(body("old"), login="Maintainer")

    assert publish(target(github, repository, authors=("maintainer",)), always("new")).outcome == "edited"
    assert github.comments[owned]["body"] == body("new")


def test_whoever_lends_the_token_owns_the_comment(github: GitHubDouble, repository: ModelRepository) -> None:
    github.login, github.kind = "maintainer", "User"
    github.answer("GET", "^/user$", 200, {"login": "maintainer", "id": 7}, times=9)

    first, second = publish(target(github, repository), always("one")), publish(target(github, repository), always("two"))

    assert [first, second] == [Posted("created", first.url), Posted("edited", first.url)]
    assert github.bodies() == [body("two")]


def test_a_login_that_github_does_not_say_has_to_be_named(github: GitHubDouble, repository: ModelRepository) -> None:
    github.login, github.kind = "maintainer", "User"

    posted = publish(target(github, repository), always("one"))

    assert posted.outcome == "created"
    assert posted.notice.startswith("The comment is by maintainer")
    assert "comment_authors" in posted.notice


def test_a_token_of_a_job_does_not_ask_who_it_is(github: GitHubDouble, repository: ModelRepository) -> None:
    github.comment(body("copied"), login="mallory")
    hub = connect(github.url, "ghs_0123456789", retry=None, between_requests=0, between_writes=0)

    publish(Target(hub.get_repo(github.repository), 1, repository.sha("change")), always("ours"))

    assert not any("/user" in line for line in github.log)


def test_another_token_identity_edits_the_comment_behind_150_others(github: GitHubDouble, repository: ModelRepository) -> None:
    publish(target(github, repository), always("one"))
    for number in range(150):
        github.comment(f"comment {number}", login=f"person{number}")
    github.login = "other-app[bot]"

    assert publish(target(github, repository), always("two")).outcome == "edited"
    assert sum("model-repo-drift" in text for text in github.bodies()) == 1


def test_two_comment_ids_keep_two_comments(github: GitHubDouble, repository: ModelRepository) -> None:
    for name in ("small", "large", "small"):
        publish(target(github, repository, comment_id=name), lambda _, name=name: body("x", comment_id=name))
    assert github.bodies() == [body("x", comment_id="small"), body("x", comment_id="large")]


def test_a_head_that_moved_is_not_commented(github: GitHubDouble, repository: ModelRepository) -> None:
    judged = target(github, repository)
    # The push comes after everything was read, right before writing.
    github.when("GET", "/comments$", repository.repair, after=True)

    posted = publish(judged, always("about the old head"))

    assert posted.outcome == "outdated"
    assert posted.notice == f"No comment was written: the pull request has moved on to {repository.sha('change')[:7]}."
    assert github.writes() == []


def test_an_older_run_that_ends_last_writes_nothing(github: GitHubDouble, repository: ModelRepository) -> None:
    old = target(github, repository)
    repository.repair()
    publish(target(github, repository), always("about the new head"))

    assert publish(old, always("about the old head")).outcome == "outdated"
    assert github.bodies() == [body("about the new head")]


def test_a_closed_pull_request_is_not_commented(github: GitHubDouble, repository: ModelRepository) -> None:
    ours = github.comment(body("old"))
    github.state = "closed"

    assert publish(target(github, repository), always("new")) == Posted(
        "closed", notice="No comment was written: the pull request is closed."
    )
    assert github.comments[ours]["body"] == body("old")


def test_two_runs_at_once_end_with_one_comment(github: GitHubDouble, repository: ModelRepository) -> None:
    # The other run creates its comment after we have listed, and before we create ours.
    others: list[int] = []
    github.when("POST", "/comments$", lambda: others.append(github.comment(body("the other run"))))

    posted = publish(target(github, repository), always("this run"))

    assert posted.outcome == "edited"
    assert list(github.comments) == others
    assert github.bodies() == [body("this run")]
    assert [line.split(" ")[0] for line in github.writes()] == ["POST", "DELETE", "PATCH"]


@pytest.mark.parametrize("_", range(5))
def test_five_runs_that_start_together_end_with_one_comment(github: GitHubDouble, repository: ModelRepository, _: int) -> None:
    start = threading.Barrier(5)

    def go(number: int) -> Posted:
        ready = target(github, repository)
        start.wait()
        return publish(ready, always(f"run {number}"))

    with ThreadPoolExecutor(5) as threads:
        posted = list(threads.map(go, range(5)))

    assert len(github.comments) == 1
    assert {each.outcome for each in posted} <= {"created", "edited", "unchanged"}


def test_the_faster_of_two_runs_keeps_its_comment(github: GitHubDouble, repository: ModelRepository) -> None:
    github.when("POST", "/comments$", lambda: github.comment(body("the slower run")), after=True)

    assert publish(target(github, repository), always("this run")).outcome == "created"
    assert github.bodies() == [body("this run"), body("the slower run")]  # which the slower run takes away itself
    assert not any(line.startswith("DELETE") for line in github.log)


def test_a_slower_run_of_an_older_head_takes_back_its_comment_only(github: GitHubDouble, repository: ModelRepository) -> None:
    def pushed() -> None:
        repository.repair()
        github.comment(body("the run of the new head"))

    judged = target(github, repository)
    github.when("POST", "/comments$", pushed)

    assert publish(judged, always("about the old head")).outcome == "outdated"
    assert github.bodies() == [body("the run of the new head")]


@pytest.mark.parametrize("status", [403, 404])
def test_a_token_that_may_only_read_is_said_once(github: GitHubDouble, repository: ModelRepository, status: int) -> None:
    github.answer("POST", "/comments$", status, {"message": "Resource not accessible by integration"})

    posted = publish(target(github, repository), always("one finding"))

    assert posted.outcome == "refused"
    assert f"answered {status} " in posted.notice
    assert "`permissions: pull-requests: write`" in posted.notice
    assert github.comments == {}


def test_a_refused_edit_never_becomes_a_second_comment(github: GitHubDouble, repository: ModelRepository) -> None:
    github.comment(body("old"), login="other-app[bot]", kind="Bot")
    github.answer("PATCH", "/issues/comments/", 403, {"message": "Resource not accessible by integration"})

    assert publish(target(github, repository), always("new")).outcome == "refused"
    assert github.bodies() == [body("old")]
    assert not any(line.startswith("POST") for line in github.log)


@pytest.mark.parametrize(
    ("status", "answer", "said"),
    [
        (401, {"message": "Bad credentials"}, "does not accept the token (401)"),
        (403, {"message": "API rate limit exceeded for installation"}, "rate limit"),
        (500, {"message": "Server Error"}, "answered 500 Server Error"),
        (422, {"message": "Validation Failed"}, "answered 422 Validation Failed"),
    ],
)
def test_what_goes_wrong_is_said(
    github: GitHubDouble, repository: ModelRepository, status: int, answer: dict[str, str], said: str
) -> None:
    github.answer("GET", "/pulls/1$", status, answer)

    posted = publish(target(github, repository), always("x"))

    assert posted.outcome == "refused"
    assert said in posted.notice


def test_a_body_that_is_too_long_is_reported(github: GitHubDouble, repository: ModelRepository) -> None:
    posted = publish(target(github, repository), always("x" * 65_536))

    assert posted.outcome == "refused"
    assert "answered 422 Validation Failed" in posted.notice


def test_a_server_that_is_gone_is_said(repository: ModelRepository) -> None:
    with GitHubDouble(repository.path) as gone:
        away = target(gone, repository)

    posted = publish(away, always("x"))

    assert posted.outcome == "refused"
    assert "GitHub could not be reached (ConnectionError)" in posted.notice


def test_the_token_never_follows_a_redirection_to_another_host(github: GitHubDouble, repository: ModelRepository) -> None:
    with GitHubDouble(repository.path) as foreign:
        address = foreign.url.replace("127.0.0.1", "localhost")
        github.answer("GET", "/pulls/1$", 301, {}, headers={"Location": f"{address}/repos/acme/model/pulls/1"})

        posted = publish(target(github, repository), always("x"))

        assert posted.outcome == "refused"
        assert foreign.log == []
    assert github.credentials == {"token secret-token"}


def test_a_fault_that_passes_is_waited_for(github: GitHubDouble, repository: ModelRepository) -> None:
    remote = connect(github.url, "t", retry=patient(), between_requests=0, between_writes=0).get_repo(github.repository)
    github.answer("POST", "/comments$", 502, {"message": "Bad Gateway"})
    github.answer("GET", "/pulls/1$", 429, {"message": "Too Many Requests"}, headers={"Retry-After": "0"})

    posted = publish(Target(remote, 1, repository.sha("change")), always("one finding"))

    assert posted.outcome == "created"
    assert github.bodies() == [body("one finding")]


def test_a_creation_that_was_answered_too_late_is_not_doubled(github: GitHubDouble, repository: ModelRepository) -> None:
    # GitHub keeps the comment, but answers 502: the client tries again.
    github.when("POST", "/comments$", lambda: github.comment(body("one finding")))
    github.answer("POST", "/comments$", 502, {"message": "Bad Gateway"})
    remote = connect(github.url, "t", retry=patient(), between_requests=0, between_writes=0).get_repo(github.repository)

    posted = publish(Target(remote, 1, repository.sha("change")), always("one finding"))

    assert posted.outcome == "unchanged"
    assert github.bodies() == [body("one finding")]


def test_two_thousand_findings_fit_into_a_comment_that_github_takes(github: GitHubDouble, repository: ModelRepository) -> None:
    new = tuple(
        comparisons.finding(
            key=f"🔥{number}", title=f"`🔥{number}` " + "🔥" * 150, severity=("error", "warning", "note")[number % 3]
        )
        for number in range(2_000)
    )

    posted = publish(target(github, repository), lambda _: comment(comparisons.comparison(new=new), links=Links()))

    (text,) = github.bodies()
    read = marker.read(text.split("\n", 1)[0])
    assert posted.outcome == "created"
    assert read is not None
    assert len(read.fingerprints) + read.more == 2_000
    assert "see the job summary" in text


def test_not_knowing_whose_a_comment_is_never_makes_a_second_one(github: GitHubDouble, repository: ModelRepository) -> None:
    github.comment(body("old"), login="maintainer")
    github.answer("GET", "^/user$", 502, {"message": "Bad Gateway"}, times=9)

    assert publish(target(github, repository), always("new")).outcome == "refused"
    assert github.bodies() == [body("old")]
