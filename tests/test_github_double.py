"""The stand-in for GitHub keeps to the published description, and holds others to it."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.api import connect
from tests.doubles.github import GitHubDouble
from tests.doubles.model_repository import ModelRepository


@pytest.fixture
def origin(tmp_path: Path) -> ModelRepository:
    made = ModelRepository(tmp_path / "origin")
    made.spoil()
    return made


@pytest.fixture
def github(origin: ModelRepository) -> Iterator[GitHubDouble]:
    with GitHubDouble(origin.path) as double:
        yield double


def post(github: GitHubDouble, content: Any) -> int:
    request = urllib.request.Request(
        f"{github.url}/repos/acme/model/issues/1/comments",
        data=json.dumps(content).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_every_answer_about_a_repository_keeps_to_the_description(github: GitHubDouble, origin: ModelRepository) -> None:
    (origin.path / "link").symlink_to("config.json")
    origin.commit("Odd names", {'sub/ü "x".json': "{}\n"})
    origin.git("mv", "tokenizer.json", "sub/tokenizer.json")
    head = origin.commit("Move")
    repository = connect(github.url, "t", retry=None, between_requests=0, between_writes=0).get_repo("acme/model")
    pull = repository.get_pull(1)

    assert pull.head.sha == head
    assert {file.filename: file.status for file in pull.get_files()} == {
        "generation_config.json": "modified",
        "link": "added",
        "sub/tokenizer.json": "renamed",
        'sub/ü "x".json': "added",
    }
    assert [commit.commit.message for commit in pull.get_commits()] == ["Stop on end of text", "Odd names", "Move"]
    assert repository.compare("main", "change").merge_base_commit.sha == origin.sha("main")
    assert repository.compare("change", "main").status == "behind"
    assert repository.get_commit("change").files[0].previous_filename == "tokenizer.json"
    assert repository.get_git_commit(head).tree.sha == origin.sha("change^{tree}")
    tree = {row.path: row.mode for row in repository.get_git_tree(head, recursive=True).tree}
    assert (tree["link"], tree["sub"], tree['sub/ü "x".json']) == ("120000", "040000", "100644")
    assert repository.get_git_blob(origin.sha("change:generation_config.json")).size == 24
    contents = repository.get_contents("generation_config.json", ref="change")
    assert not isinstance(contents, list)
    assert contents.decoded_content == b'{\n  "eos_token_id": 2\n}\n'
    listed = repository.get_contents("sub", ref="change")
    assert isinstance(listed, list)
    assert len(listed) == 2
    assert [branch.name for branch in repository.get_branches()] == ["change", "main"]
    assert repository.get_git_ref("heads/main").object.sha == origin.sha("main")
    assert [ref.ref for ref in repository.get_git_matching_refs("heads/ch")] == ["refs/heads/change"]
    assert repository.get_issue(1).number == 1
    assert github.violations == []


@pytest.mark.parametrize("content", [{}, {"body": 3}, {"text": "x"}, []])
def test_a_request_against_the_description_is_refused_and_kept(github: GitHubDouble, content: Any) -> None:
    assert post(github, content) == 422
    assert [(kind, operation) for kind, operation, _ in github.violations] == [
        ("request", "POST /repos/acme/model/issues/1/comments")
    ]
    assert github.comments == {}


def test_what_the_description_does_not_know_is_kept(github: GitHubDouble) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{github.url}/repos/acme/model/no-such-thing")
    refused.value.close()
    assert github.violations[0][:2] == ("request", "GET /repos/acme/model/no-such-thing")


def test_an_answer_against_the_description_is_kept(github: GitHubDouble) -> None:
    number = github.comment("fine")
    github.comments[number]["user"]["login"] = None
    with urllib.request.urlopen(f"{github.url}/repos/acme/model/issues/comments/{number}"):
        pass
    assert [kind for kind, *_ in github.violations] == ["answer"]


@pytest.mark.parametrize(("length", "status"), [(65_536, 201), (65_537, 422), (0, 422)])
def test_bodies_have_a_limit_that_is_not_in_the_description(github: GitHubDouble, length: int, status: int) -> None:
    assert post(github, {"body": "x" * length}) == status
    assert github.violations == []
