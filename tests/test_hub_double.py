"""The stand-in for the Hugging Face Hub answers the unmodified client as the real one is documented to."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, hf_hub_url
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import get_session

from tests.doubles.hub import TOKEN, HubDouble
from tests.doubles.model_repository import ModelRepository

NAME = "acme/model"


@pytest.fixture
def origin(tmp_path: Path) -> ModelRepository:
    made = ModelRepository(tmp_path / "origin")
    made.spoil()
    made.git("update-ref", "refs/pr/1", "change")
    made.git("tag", "--annotate", "v1", "main", "--message", "first")
    return made


@pytest.fixture
def hub(origin: ModelRepository) -> Iterator[HubDouble]:
    with HubDouble({NAME: origin.path, "gpt2": origin.path}) as double:
        yield double


@pytest.fixture
def api(hub: HubDouble) -> HfApi:
    return HfApi(endpoint=hub.url, token=TOKEN)


def test_revisions_are_answered(hub: HubDouble, api: HfApi, origin: ModelRepository) -> None:
    main, change = origin.sha("main"), origin.sha("change")
    hub.communities[NAME].open("Stop on end of text")
    for revision, sha in (("main", main), ("v1", main), ("refs/pr/1", change), (change, change)):
        assert api.model_info(NAME, revision=revision, expand=["sha"]).sha == sha
    assert api.model_info("gpt2").sha == main
    refs = api.list_repo_refs(NAME, include_pull_requests=True)
    assert {ref.ref: ref.target_commit for ref in (*refs.branches, *refs.tags, *(refs.pull_requests or ()))} == {
        "refs/heads/main": main,
        "refs/heads/change": change,
        "refs/tags/v1": main,
        "refs/pr/1": change,
    }
    assert [commit.title for commit in api.list_repo_commits(NAME, revision="refs/pr/1")] == [
        "Stop on end of text",
        "Add the model",
    ]
    with pytest.raises(RevisionNotFoundError):
        api.model_info(NAME, revision=main[:7])


def test_files_are_answered_and_large_ones_come_from_another_host(hub: HubDouble, api: HfApi, tmp_path: Path) -> None:
    hub.repositories[NAME].lfs.add("tokenizer.json")
    files = {row.path: row for row in api.list_repo_tree(NAME, recursive=True)}
    assert getattr(files["tokenizer.json"], "lfs", None) is not None
    assert getattr(files["config.json"], "lfs", None) is None
    assert [row.path for row in api.get_paths_info(NAME, ["config.json", "nope"])] == ["config.json"]
    hub.log.clear()
    answer = get_session().get(hf_hub_url(NAME, "tokenizer.json", endpoint=hub.url), headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.json()["version"] == "1.0"
    assert [(seen.host.split(":")[0], seen.token) for seen in hub.log] == [("127.0.0.1", TOKEN), ("localhost", "")]
    path = api.hf_hub_download(NAME, "config.json", cache_dir=tmp_path)
    assert Path(path).read_text().startswith('{\n  "model_type": "qwen2"')
    with pytest.raises(RemoteEntryNotFoundError):
        api.hf_hub_download(NAME, "nope.json", cache_dir=tmp_path)


def test_what_may_not_be_read_is_refused(hub: HubDouble, api: HfApi, tmp_path: Path) -> None:
    repository = hub.repositories[NAME]
    nobody = HfApi(endpoint=hub.url, token=False)
    repository.private = True
    for each in (nobody, api):
        with pytest.raises(RepositoryNotFoundError):
            each.model_info(NAME)
    repository.readers.add(TOKEN)
    assert api.model_info(NAME).private
    repository.private, repository.gated = False, True
    assert nobody.model_info(NAME).gated == "auto"
    with pytest.raises(GatedRepoError):
        nobody.hf_hub_download(NAME, "config.json", cache_dir=tmp_path)
    assert api.hf_hub_download(NAME, "config.json", cache_dir=tmp_path)
    with pytest.raises(HfHubHTTPError, match="Invalid credentials"):
        HfApi(endpoint=hub.url, token="hf_wrong").model_info(NAME)


def test_lists_come_in_pages(hub: HubDouble, api: HfApi) -> None:
    repository = hub.repositories[NAME]
    repository.most_commits, repository.files = 1, 2
    assert len(api.list_repo_commits(NAME, revision="change")) == 2
    assert [row.path for row in api.list_repo_tree(NAME, recursive=True)] == [
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    assert hub.asked[-1].endswith("/tree/main?recursive=True&cursor=2")


def test_a_pull_request_lives(hub: HubDouble, api: HfApi, origin: ModelRepository) -> None:
    hub.communities[NAME].open("Stop on end of text")
    operations = [CommitOperationAdd("README.md", b"# Model\n"), CommitOperationDelete("config.json")]
    made = api.create_commit(NAME, operations, commit_message="Say what it is", create_pr=True)
    number = made.pr_num
    assert number == 2
    assert origin.git("diff", "--name-status", "main", "refs/pr/2").split("\n") == ["A\tREADME.md", "D\tconfig.json"]
    said = api.comment_discussion(NAME, number, "Fine.")
    assert api.edit_discussion_comment(NAME, number, said.id, "Not fine.").content == "Not fine."
    with pytest.warns(UserWarning, match="irreversible"):
        assert api.hide_discussion_comment(NAME, number, said.id).hidden
    assert [each.num for each in api.get_repo_discussions(NAME, discussion_type="pull_request")] == [2, 1]
    api.change_discussion_status(NAME, 1, "closed")
    assert [each.num for each in api.get_repo_discussions(NAME, discussion_status="open")] == [2]
    api.merge_pull_request(NAME, number)
    about = api.get_discussion_details(NAME, number)
    assert (about.status, about.merge_commit_oid) == ("merged", origin.sha("main"))
    assert origin.git("log", "-1", "--format=%s%n%b", "main") == f"Say what it is (#2)\n- Say what it is ({made.oid})"


def test_two_hundred_discussions_are_listed(hub: HubDouble, api: HfApi) -> None:
    for _ in range(200):
        hub.communities[NAME].open()
    assert len(list(api.get_repo_discussions(NAME))) == 200


def test_writes_may_be_refused_and_faults_arranged(hub: HubDouble, api: HfApi) -> None:
    hub.communities[NAME].open()
    hub.read_only = True
    with pytest.raises(HfHubHTTPError, match="403 Forbidden"):
        api.comment_discussion(NAME, 1, "x")
    hub.answer("GET", "/refs$", 500, {"error": "down"})
    with pytest.raises(HfHubHTTPError, match="500"):
        api.list_repo_refs(NAME)
    assert api.list_repo_refs(NAME).branches
