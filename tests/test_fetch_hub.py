"""Commits read from the Hugging Face Hub by its own client: what is asked, who sees the token, and what is said when it fails."""

import hashlib
import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import CannotLookError, UsageError
from bot.fetch.gather import gather
from bot.fetch.git import Repository
from bot.fetch.hub import HubSource, open_hub, open_hub_pair, parse, pointer_text
from bot.fetch.hub_cache import ContentCache, fits
from bot.fetch.lfs import Pointer, pointer
from bot.fetch.revision import open_pair
from bot.fetch.source import UnreadError
from bot.fetch.tree import GitSource
from bot.hub import ENDPOINT, Access, Budget, access, connect
from tests.doubles.hub import TOKEN, HubDouble
from tests.doubles.model_repository import ModelRepository
from tests.repositories import GitRepository

NAME = "acme/model"
MAIN, PULL = f"hub:{NAME}@main", f"hub:{NAME}@refs/pr/1"


@pytest.fixture
def origin(tmp_path: Path) -> ModelRepository:
    made = ModelRepository(tmp_path / "origin")
    made.spoil()
    made.git("update-ref", "refs/pr/1", "change")
    return made


@pytest.fixture
def hub(origin: ModelRepository) -> Iterator[HubDouble]:
    with HubDouble({NAME: origin.path}) as double:
        double.communities[NAME].open("Stop on end of text")
        yield double


@pytest.fixture
def reader(hub: HubDouble, tmp_path: Path) -> Access:
    return Access(hub.url, TOKEN, tmp_path / "cache")


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Every wait is over at once, and remembered."""
    found: list[float] = []
    monkeypatch.setattr("bot.hub_client.time.sleep", found.append)
    return found


def test_what_a_revision_is_called() -> None:
    assert parse("hub:openai/gpt-oss-20b") == ("openai/gpt-oss-20b", "main")
    assert parse("hub:gpt2@refs/pr/7") == ("gpt2", "refs/pr/7")
    assert parse(f"hub:a/b@{'0' * 40}").label == "a/b@0000000"
    assert str(parse("hub:a/b_c.d@v1.0")) == "hub:a/b_c.d@v1.0"


@pytest.mark.parametrize(
    "name", ["", "@main", "a/b@", "a/b/c", "a//b", "../b", "a/..", "a b", "a/b@x\ny", "a/b--c", "-a/b", "a/b?x", "é/b"]
)
def test_what_is_no_revision_is_told_with_an_example(name: str) -> None:
    with pytest.raises(UsageError, match="hub:<organization>/<name>@<revision> is needed, such as"):
        parse(f"hub:{name}")


@given(st.text(max_size=60))
def test_any_text_is_a_revision_or_wrong_usage(text: str) -> None:
    try:
        found = parse(f"hub:{text}")
    except UsageError:
        return
    assert parse(str(found)) == found


def test_the_environment_says_where_and_with_what() -> None:
    nothing = access({})
    assert (nothing.endpoint, nothing.token, nothing.cache) == (ENDPOINT, "", None)
    given = access({"HF_ENDPOINT": "https://hub.example.com/ ", "HF_TOKEN": f" {TOKEN}\n", "XDG_CACHE_HOME": "/c", "HOME": "/h"})
    assert (given.endpoint, given.token, given.cache) == ("https://hub.example.com", TOKEN, Path("/c/model-repo-drift/hub"))
    assert access({"HOME": "/h"}).cache == Path("/h/.cache/model-repo-drift/hub")
    assert access({"XDG_CACHE_HOME": "relative"}).cache is None
    assert TOKEN not in repr(given)


@pytest.mark.parametrize("endpoint", ["huggingface.co", "ftp://x", "https://", "https://user:pw@x", "https://x?y", "https://[x"])
def test_an_endpoint_that_is_no_address_is_wrong_usage(endpoint: str) -> None:
    with pytest.raises(UsageError, match="HF_ENDPOINT is not the address of a Hub") as error:
        connect(Access(endpoint))
    assert "pw" not in str(error.value)


@pytest.mark.parametrize("token", ["hf_x y", "hf_\n", "hf_é", "hf_\x00"])
def test_what_cannot_be_a_token_is_wrong_usage_and_not_shown(token: str) -> None:
    with pytest.raises(UsageError, match="HF_TOKEN holds what no token has") as error:
        connect(Access(token=token))
    assert token not in str(error.value)


@pytest.mark.parametrize("revision", ["main", "refs/pr/1", "v1", "full"])
def test_any_revision_is_pinned_and_lists_what_git_lists(
    hub: HubDouble, origin: ModelRepository, reader: Access, revision: str
) -> None:
    origin.git("tag", "--annotate", "v1", "change", "--message", "one")
    sha = origin.sha("main" if revision == "main" else "change")
    source = open_hub(f"hub:{NAME}@{sha if revision == 'full' else revision}", reader)
    local = GitSource(Repository(origin.path), "x", sha)
    assert source.sha == sha
    listed = {file.path: file.oid for file in source.entries()}
    assert listed == {file.path: file.oid for file in local.entries()}
    config = next(file for file in source.entries() if file.path == "config.json")
    assert source.read(config) == local.read(config)
    assert len(hub.asked) == (2 if revision == "full" else 3)
    local.close()


def test_a_tree_comes_in_pages(hub: HubDouble, origin: ModelRepository, reader: Access) -> None:
    origin.commit("Many", {f"x/{number:03}.txt": str(number) for number in range(30)})
    hub.repositories[NAME].files = 7
    source = open_hub(f"hub:{NAME}@change", reader)
    assert len(source.entries()) == 34
    assert sum("/tree/" in line for line in hub.asked) == 5


def test_what_lfs_keeps_comes_from_another_host_once_and_weights_never(
    hub: HubDouble, origin: ModelRepository, reader: Access, tmp_path: Path
) -> None:
    origin.commit("Weights", {"model.safetensors": "w" * 5000})
    origin.git("update-ref", "refs/pr/1", "HEAD")
    hub.repositories[NAME].lfs |= {"tokenizer.json", "model.safetensors"}
    got = gather(tmp_path / "one", base=MAIN, head=PULL, repo=tmp_path, hub=reader)
    files = {file.path: file for file in got.head.files}
    kept = files["tokenizer.json"]
    assert (tmp_path / "one" / "contents" / str(kept.content)).read_bytes() == (origin.path / "tokenizer.json").read_bytes()
    assert kept.content == kept.oid
    assert len(kept.oid) == 64
    assert files["model.safetensors"].content is None
    assert (files["model.safetensors"].unread, len(files["model.safetensors"].oid)) == ("", 64)
    assert sum("tokenizer.json" in line and "/resolve/" in line for line in hub.asked) == 1
    assert not any("model.safetensors" in line for line in hub.asked)
    assert {(seen.host.split(":")[0], seen.token) for seen in hub.log} == {("127.0.0.1", TOKEN), ("localhost", "")}
    hub.log.clear()
    again = gather(tmp_path / "two", base=MAIN, head=PULL, repo=tmp_path, hub=reader)
    assert (again.base, again.head) == (got.base, got.head)
    assert len(hub.asked) == 4
    assert not any("/resolve/" in line for line in hub.asked)


def test_a_comparison_that_changes_no_file_asks_four_times(
    hub: HubDouble, origin: ModelRepository, reader: Access, tmp_path: Path
) -> None:
    origin.git("switch", "--quiet", "--detach", "main")
    origin.git("update-ref", "refs/pr/2", origin.commit("Nothing"))
    origin.git("switch", "--quiet", "main")
    origin.commit("Go on", {"x/notes.txt": "x"})
    origin.git("update-ref", "refs/pr/3", "main~1")
    for head, most in (("refs/pr/2", 4), ("main", 3), ("refs/pr/3", 4)):
        hub.log.clear()
        got = gather(tmp_path / head.replace("/", "-"), base=MAIN, head=f"hub:{NAME}@{head}", repo=tmp_path, hub=reader)
        assert got.head.unchanged == (".",)
        assert (got.head.files, len(hub.asked)) == ((), most)


@pytest.mark.usefixtures("hub")
def test_the_base_of_a_pull_request_is_the_merge_base(origin: ModelRepository, reader: Access) -> None:
    start = origin.sha("main")
    origin.git("switch", "--quiet", "main")
    later = origin.commit("Go on", {"config.json": "{}"})
    base, head = open_hub_pair(MAIN, PULL, reader)
    assert (base.sha, base.tip, base.label) == (start, later, f"acme/model@main (merge base {start[:7]})")
    assert (head.sha, head.label) == (origin.sha("change"), "acme/model@refs/pr/1")
    assert [(text.path, text.text) for text in head.messages] == [(f"commit:{head.sha}", "Stop on end of text")]
    behind = open_hub_pair(f"hub:{NAME}@change", f"hub:{NAME}@{start}", reader)
    assert [side.sha for side in behind] == [origin.sha("change"), start]
    assert behind[1].messages == ()
    origin.git("switch", "--quiet", "--orphan", "alone")
    alone = origin.commit("Alone", {"config.json": "1"})
    base, head = open_hub_pair(MAIN, f"hub:{NAME}@alone", reader)
    assert (base.sha, head.sha, base.label) == (later, alone, "acme/model@main (no common history)")


@pytest.mark.parametrize("most", [1, 2, 3, 50])
def test_the_merge_base_is_found_over_pages(hub: HubDouble, origin: ModelRepository, reader: Access, most: int) -> None:
    hub.repositories[NAME].most_commits = most
    start = origin.sha("main")
    for number in range(9):
        origin.commit(f"change {number}")
    origin.git("update-ref", "refs/pr/1", "change")
    origin.git("switch", "--quiet", "main")
    for number in range(5):
        origin.commit(f"main {number}")
    base, head = open_hub_pair(MAIN, PULL, reader)
    assert base.sha == start == origin.git("merge-base", "main", "change")
    assert len(head.messages) == 10


def test_a_merge_base_too_far_away_is_said_in_the_label(hub: HubDouble, origin: ModelRepository, reader: Access) -> None:
    hub.repositories[NAME].most_commits = 1
    for branch in ("main", "change"):
        origin.git("switch", "--quiet", branch)
        lines = (f"commit refs/heads/{branch}\ncommitter A <a@b> {1_800_000_000 + n} +0000\ndata 1\nx\n" for n in range(60))
        first, *rest = lines
        parent = f"from {origin.sha(branch)}\n"
        origin.git("fast-import", "--quiet", "--force", stdin=(first + parent + "".join(rest)).encode())
    base, _ = open_hub_pair(MAIN, f"hub:{NAME}@change", reader)
    assert base.label == "acme/model@main (no common commit among the newest 50 and 50)"
    assert base.sha == origin.sha("main")


def test_two_repositories_are_compared_as_they_stand(origin: ModelRepository) -> None:
    with HubDouble({NAME: origin.path, "fork/model": origin.path}) as hub:
        base, head = open_pair(MAIN, "hub:fork/model@change", origin.path, Access(hub.url))
        assert (base.sha, head.sha) == (origin.sha("main"), origin.sha("change"))


def test_a_folder_and_the_hub_are_in_step(hub: HubDouble, origin: ModelRepository, reader: Access, tmp_path: Path) -> None:
    """Also where Git LFS keeps a file: then both sides say its sha256."""
    origin.git("switch", "--quiet", "main")
    origin.commit("Weights", {"model.safetensors": "w" * 5000})
    hub.repositories[NAME].lfs |= {"tokenizer.json", "model.safetensors"}
    copy = tmp_path / "copy"
    shutil.copytree(origin.path, copy)
    hub.log.clear()
    for base, head in ((str(copy), MAIN), (MAIN, str(copy))):
        got = gather(tmp_path / "out", base=base, head=head, repo=tmp_path, hub=reader)
        assert (got.head.unchanged, got.head.files) == ((".",), ())
    assert not any("/resolve/" in line for line in hub.asked)
    (copy / "tokenizer.json").write_text("{}")
    got = gather(tmp_path / "out", base=str(copy), head=MAIN, repo=tmp_path, hub=reader)
    assert got.change.repository == NAME
    assert {file.path: file.unread for file in got.head.files if file.unread} == {}


def test_a_clone_and_the_hub_are_in_step_also_where_git_has_pointers(hub: HubDouble, tmp_path: Path, reader: Access) -> None:
    content = b'{"model": {}}'
    kept = Pointer(len(content), hashlib.sha256(content).hexdigest())
    clone = GitRepository(tmp_path / "clone")
    files = {"config.json": "{}", "tokenizer.json": pointer_text(kept), ".gitattributes": "tokenizer.json filter=lfs\n"}
    clone.commit("Begin", files)
    repository = hub.repositories[NAME]
    repository.folder = clone.path
    repository.pointers[clone.git("rev-parse", "HEAD:tokenizer.json")] = content
    got = gather(tmp_path / "same", base="git:HEAD", head=MAIN, repo=clone.path, hub=reader)
    assert got.head.unchanged == (".",)
    clone.commit("Go on", {"config.json": '{"model_type": "x"}'})
    got = gather(tmp_path / "out", base="git:HEAD~1", head=MAIN, repo=clone.path, hub=reader)
    sides = [next(file for file in side.files if file.path == "tokenizer.json") for side in (got.base, got.head)]
    assert sides[0].oid == sides[1].oid == clone.git("rev-parse", "HEAD:tokenizer.json")
    assert (tmp_path / "out" / "contents" / str(sides[1].content)).read_bytes() == content
    assert sides[0].content == sides[1].content  # the clone has only the pointer, and what the Hub keeps is the same


def test_the_pointer_that_we_write_is_one() -> None:
    kept = Pointer(12, "a" * 64)
    assert pointer(pointer_text(kept)) == kept


def refused(status: int, code: str = "", message: str = "", **headers: str) -> Callable[[HubDouble], None]:
    said = {name.replace("_", "-"): text for name, text in headers.items()}
    said |= {"X-Error-Code": code} if code else {}
    said |= {"X-Error-Message": message} if message else {}
    return lambda hub: hub.answer("GET", "/(revision|tree|resolve)/", status, {"error": message}, times=99, headers=said)


def private(hub: HubDouble) -> None:
    hub.repositories[NAME].private = True


def gated(hub: HubDouble) -> None:
    hub.repositories[NAME].gated = True


REFUSALS: dict[str, tuple[Callable[[HubDouble], None], str, str]] = {
    "private, no token": (private, "", "the Hub has no such repository that may be read without a token; set HF_TOKEN if it is private"),
    "private, another's token": (private, TOKEN, "the Hub has no such repository that the token in HF_TOKEN may read"),
    "gated, no token": (gated, "", "is gated; accept its conditions on URL/acme/model and set HF_TOKEN to a token of that account"),
    "gated, another's token": (gated, TOKEN, "is gated; accept its conditions on URL/acme/model with the account of HF_TOKEN"),
    "wrong token": (lambda _: None, "hf_wrong", "the Hub does not accept the token in HF_TOKEN (401); make a new one"),
    "forbidden": (refused(403, message="Not for you"), TOKEN, "the Hub answered 403 (Not for you)"),
    "disabled": (
        refused(403, message="Access to this resource is disabled."), TOKEN, "access to the repository is disabled on the Hub",
    ),
    "not there": (refused(404, "RepoNotFound"), TOKEN, "the Hub has no such repository that the token in HF_TOKEN may read"),
    "no revision": (refused(404, "RevisionNotFound"), TOKEN, "the repository has no such revision; a branch, a tag, all 40 digits"),
    "limit with seconds": (
        refused(429, RateLimit='"api";r=0;t=290'), TOKEN, "the Hub's limit of requests is reached (429); try again in 291 seconds",
    ),
    "limit without a token": (
        refused(429, RateLimit='"api";r=0;t=290'), "", "try again in 291 seconds, or set HF_TOKEN: with a token the limit is higher",
    ),
    "limit without seconds": (refused(429), TOKEN, "the Hub's limit of requests is reached (429); try again later"),
    "server": (refused(500), TOKEN, "the Hub answered 500, although it was asked again; try again later"),
    "gateway": (refused(503, Retry_After="1"), TOKEN, "the Hub answered 503, although it was asked again"),
    "another shape": (
        lambda hub: hub.answer("GET", "/revision/", 200, ["x"]), TOKEN, "the Hub's answer is not what its client understands",
    ),
    "an error in another shape": (
        lambda hub: hub.answer("GET", "/revision/", 404, ["x"]), TOKEN, "the Hub's answer is not what its client understands",
    ),
    "not json": (lambda hub: hub.answer("GET", "/tree/", 200, "x"), TOKEN, "the Hub's answer is not what its client understands"),
    "no commit": (lambda hub: hub.answer("GET", "/revision/", 200, {"id": NAME}), TOKEN, "does not say which commit that is"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_one_line_with_place_and_cure(name: str, hub: HubDouble, waited: list[float]) -> None:
    arrange, token, said = REFUSALS[name]
    arrange(hub)
    with pytest.raises(CannotLookError) as error:
        whole(hub, token)
    text = str(error.value)
    assert said.replace("URL", hub.url) in text
    assert text.startswith("hub:acme/model@")
    assert "\n" not in text
    assert "hf_" not in text
    assert sum(waited) <= 240


def whole(hub: HubDouble, token: str) -> None:
    source = open_hub(MAIN, Access(hub.url, token))
    for file in source.entries():
        source.read(file)


def test_a_gated_repository_is_read_with_a_token_that_may(hub: HubDouble) -> None:
    gated(hub)
    hub.repositories[NAME].readers.add(TOKEN)
    whole(hub, TOKEN)
    assert {seen.token for seen in hub.log} == {TOKEN}


FAULTS: dict[str, Callable[[HubDouble, str], None]] = {
    "429 with a time": lambda hub, path: hub.answer("GET", path, 429, headers={"RateLimit": '"api";r=0;t=2'}, times=2),
    "429 with Retry-After": lambda hub, path: hub.answer("GET", path, 429, headers={"Retry-After": "3"}),
    "429 without a time": lambda hub, path: hub.answer("GET", path, 429, times=3),
    "500": lambda hub, path: hub.answer("GET", path, 500, times=3),
    "502": lambda hub, path: hub.answer("GET", path, 502, "<html>", times=2),
    "cut": lambda hub, path: hub.when("GET", path, cut),
}


def cut() -> None:
    raise ConnectionAbortedError


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("path", ["/commits/", "/tree/", "/resolve/", "/elsewhere/", "/refs$"])
def test_a_fault_that_passes_costs_nothing(
    hub: HubDouble, origin: ModelRepository, tmp_path: Path, waited: list[float], fault: str, path: str
) -> None:
    hub.repositories[NAME].lfs.add("tokenizer.json")
    origin.commit("Say", {"README.md": f"See commit {'1' * 40}."})
    origin.git("update-ref", "refs/pr/1", "change")
    FAULTS[fault](hub, path)
    got = gather(tmp_path / "out", base=MAIN, head=PULL, repo=tmp_path, hub=Access(hub.url))
    assert waited
    assert [file.unread for file in (*got.base.files, *got.head.files) if file.unread] == []
    assert [commit.status for commit in got.change.commits] == ["orphaned"]


def test_all_requests_of_a_run_share_their_patience(hub: HubDouble, waited: list[float]) -> None:
    hub.answer("GET", "", 503, times=999, headers={"Retry-After": "90"})
    asked = connect(Access(hub.url), Budget())
    for _ in range(20):
        with pytest.raises(CannotLookError):
            asked.ask("hub:x", lambda api: api.list_repo_refs(NAME))
    assert sum(waited) <= 240
    assert len(hub.asked) < 30


def test_an_answer_that_never_comes_is_not_waited_for(
    hub: HubDouble, monkeypatch: pytest.MonkeyPatch, waited: list[float]
) -> None:
    monkeypatch.setattr("bot.hub_client.TIMEOUT", 0.5)
    hub.when("GET", "/tree/", lambda: threading.Event().wait(0.8))
    assert open_hub(MAIN, Access(hub.url)).entries()
    assert waited == [1]


def test_who_is_not_reached_is_told(waited: list[float]) -> None:
    with pytest.raises(
        CannotLookError, match=r"^hub:acme/model@main: the Hub at 127.0.0.1 could not be reached \(ConnectError\)$"
    ):
        open_hub(MAIN, Access("http://127.0.0.1:9", TOKEN))
    assert waited == [1]


def test_nothing_is_asked_offline(hub: HubDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.hub_client.is_offline_mode", lambda: True)
    with pytest.raises(CannotLookError, match="HF_HUB_OFFLINE is set, so the Hub is not asked; unset it, or give a folder"):
        open_hub(MAIN, Access(hub.url))
    assert hub.log == []


def test_the_token_goes_to_no_other_host(hub: HubDouble, reader: Access) -> None:
    """Wherever an answer sends us: by a redirection, or by the address of the next page."""
    elsewhere = hub.elsewhere
    hub.answer("GET", "/resolve/.*config.json", 302, headers={"Location": f"{elsewhere}/x"})
    source = open_hub(MAIN, reader)
    config = next(file for file in source.entries() if file.path == "config.json")
    with pytest.raises(UnreadError):
        source.read(config)
    link = {"Link": f'<{elsewhere}/api/models/{NAME}/tree/main?cursor=1>; rel="next"'}
    hub.answer("GET", "/tree/", 200, [], headers=link)
    assert open_hub(f"hub:{NAME}@change", reader).entries()
    hub.answer(
        "GET", "/commits/main", 200, [{"id": source.sha, "title": "x"}], headers={"Link": link["Link"].replace("tree", "commits")}
    )
    open_hub_pair(MAIN, PULL, reader)
    assert {seen.host.split(":")[0] for seen in hub.log if seen.token} == {"127.0.0.1"}
    assert [seen.host.split(":")[0] for seen in hub.log if not seen.token] == ["localhost", "localhost"]


def test_who_else_uses_the_client_is_left_alone(hub: HubDouble) -> None:
    connect(Access(hub.url))
    from huggingface_hub import HfApi  # noqa: PLC0415 - not before it was told how to behave
    from huggingface_hub.errors import HfHubHTTPError  # noqa: PLC0415

    hub.answer("GET", "/refs$", 500)
    with pytest.raises(HfHubHTTPError):
        HfApi(endpoint=hub.url).list_repo_refs(NAME)


@pytest.mark.parametrize("body", ["", "y", "x" * 99_999])
def test_bytes_that_the_list_does_not_name_are_refused(hub: HubDouble, reader: Access, body: str) -> None:
    hub.answer("GET", "/resolve/.*config.json", 200, body)
    source = open_hub(MAIN, reader)
    config = next(file for file in source.entries() if file.path == "config.json")
    with pytest.raises(UnreadError, match="what the Hub sent is not what its list of files names"):
        source.read(config)
    assert source.read(config).startswith(b"{")


NAMES = ("a b.json", "c#d.json", "e?f=g.json", "h%2Fi.json", "é.json", "j\\k.json", "l&m+n.json", '"o".json', "p/q r/s.json")


def test_any_name_of_a_file_is_asked_for_as_it_is(hub: HubDouble, origin: ModelRepository, reader: Access) -> None:
    origin.commit("Odd names", {name: name for name in NAMES})
    hub.repositories[NAME].lfs.add("c#d.json")
    source = open_hub(f"hub:{NAME}@change", reader)
    assert {file.path: source.read(file).decode() for file in source.entries() if file.path in NAMES} == {
        name: name for name in NAMES
    }


def test_bytes_that_end_too_early_are_asked_for_again(hub: HubDouble, origin: ModelRepository, waited: list[float]) -> None:
    def begin() -> None:
        assert hub.connection is not None
        hub.connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 117\r\n\r\n{")
        cut()

    hub.when("GET", "/resolve/.*/config.json", begin)
    source = open_hub(MAIN, Access(hub.url))
    config = next(file for file in source.entries() if file.path == "config.json")
    assert source.read(config) == (origin.git("show", "main:config.json") + "\n").encode()
    assert waited == [1]


def test_a_file_that_is_listed_and_gone_is_unread(hub: HubDouble, tmp_path: Path, reader: Access) -> None:
    hub.answer("GET", "/resolve/.*tokenizer.json", 404, headers={"X-Error-Code": "EntryNotFound"})
    got = gather(tmp_path / "out", base=MAIN, head=PULL, repo=tmp_path, hub=reader)
    assert [(file.path, file.unread.split(":")[0]) for file in got.base.files if file.unread] == [
        ("tokenizer.json", "the Hub lists it and does not have it")
    ]


CONTENTS = st.binary(max_size=200)


def oids(content: bytes) -> list[str]:
    return [hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest(), hashlib.sha256(content).hexdigest()]


@given(content=CONTENTS, other=CONTENTS)
def test_a_content_fits_its_own_ids_alone(content: bytes, other: bytes) -> None:
    assert all(fits(oid, content) for oid in oids(content))
    assert any(fits(oid, other) for oid in oids(content)) == (content == other)


def test_the_cache_gives_back_what_fits_and_nothing_else(tmp_path: Path) -> None:
    cache = ContentCache(tmp_path / "cache")
    for oid in oids(b"content"):
        assert cache.get(oid) is None
        cache.put(oid, b"content")
        assert cache.get(oid) == b"content"
        path = tmp_path / "cache" / oid[:2] / oid
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        path.write_bytes(b"damaged")
        assert cache.get(oid) is None
        assert not path.exists()


def test_many_may_fill_the_cache_at_once(tmp_path: Path) -> None:
    contents = [bytes([number]) * 10_000 for number in range(20)]

    def work(_: int) -> list[bytes | None]:
        cache = ContentCache(tmp_path / "cache", largest=50_000)
        found: list[bytes | None] = []
        for content in contents:
            oid = oids(content)[1]
            cache.put(oid, content)
            found.append(cache.get(oid))
            cache.prune()
        return found

    with ThreadPoolExecutor(8) as workers:
        for found in workers.map(work, range(8)):
            assert all(content in (None, wanted) for content, wanted in zip(found, contents, strict=True))
    left = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert left
    assert all(fits(path.name, path.read_bytes()) for path in left)


def test_what_was_not_used_for_longest_is_taken_out_first(tmp_path: Path) -> None:
    cache = ContentCache(tmp_path / "cache", largest=250)
    made = [oids(bytes([number]) * 100)[1] for number in range(3)]
    for number, oid in enumerate(made):
        cache.put(oid, bytes([number]) * 100)
        os.utime(tmp_path / "cache" / oid[:2] / oid, (1000 + number, 1000 + number))
    assert cache.get(made[0]) is not None
    cache.prune()
    assert [cache.get(oid) is not None for oid in made] == [True, False, True]


def test_a_cache_that_cannot_be_written_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    cache = ContentCache(tmp_path / "file" / "cache")
    cache.put("a" * 40, b"")
    assert cache.get("a" * 40) is None
    cache.prune()


def test_no_client_waits_for_ever(hub: HubDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(httpx2.HTTPTransport, "handle_request", spy(httpx2.HTTPTransport.handle_request, seen))
    source: HubSource = open_hub(MAIN, Access(hub.url))
    source.read(source.entries()[0])
    assert len(seen) == 3
    assert all(set(timeout.values()) == {30} for timeout in seen)


def spy(real: Any, seen: list[Any]) -> Any:
    def handle(self: Any, request: httpx2.Request) -> Any:
        seen.append(request.extensions["timeout"])
        return real(self, request)

    return handle
