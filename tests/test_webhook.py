"""What the Hub delivers, what is done about it, and what is said to whom."""

import http.client
import io
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import UsageError
from bot.publish import marker
from bot.publish.marker import Marker
from bot.server.app import Service, app
from bot.server.delivery import LARGEST, decide
from bot.server.jobs import Base, Discussion
from bot.server.log import Log
from bot.server.metrics import Metrics
from bot.server.queue import Queue
from tests.storm import send

NAME = "acme/model"
SECRET = "a-secret-of-the-webhook"
SHA, OLD = "1" * 40, "2" * 40
PULL = Discussion(repo=NAME, num=7)
MAIN = Base(repo=NAME, ref="refs/heads/main")
OURS = marker.write(Marker(head=SHA)) + "\n### It says so"


def payload(scope: str, action: str = "update", *, kind: str = "model", name: str = NAME, **more: Any) -> bytes:
    """A payload in the shape that the Hub sends (huggingface/hub-docs, docs/hub/webhooks.md)."""
    whole = {
        "event": {"action": action, "scope": scope},
        "repo": {
            "type": kind,
            "name": name,
            "id": "64c0ffee64c0ffee64c0ffee",
            "private": True,
            "url": {"web": f"https://huggingface.co/{name}", "api": f"https://huggingface.co/api/models/{name}"},
            "owner": {"id": "64beef0064beef0064beef00"},
            **({"headSha": SHA} if scope.startswith("repo") else {}),
        },
        "webhook": {"id": "64aaaaaa64aaaaaa64aaaaaa", "version": 3},
    }
    return json.dumps(whole | more).encode()


def discussion(status: str = "open", *, pull: bool = True, base: str = "refs/heads/main") -> dict[str, Any]:
    about = {"id": "64dddddd64dddddd64dddddd", "num": 7, "title": "A title", "status": status, "isPullRequest": pull}
    return about | {"author": {"id": "64eeeeee64eeeeee64eeeeee"}} | ({"changes": {"base": base}} if pull else {})


def comment(content: str | None = "Looks good to me", author: str = "64eeeeee64eeeeee64eeeeee") -> dict[str, Any]:
    about = {"id": "64bbbbbb64bbbbbb64bbbbbb", "author": {"id": author}, "hidden": content is None}
    return about if content is None else about | {"content": content}


def refs(*rows: tuple[str, str | None]) -> dict[str, Any]:
    return {"updatedRefs": [{"ref": ref, "oldSha": OLD, "newSha": new} for ref, new in rows]}


JOBS: dict[str, tuple[bytes, list[Any]]] = {
    "a pull request is opened": (
        payload("discussion", "create", discussion=discussion(), comment=comment("It fixes it")),
        [PULL],
    ),
    "it is a draft": (payload("discussion", "create", discussion=discussion("draft")), [PULL]),
    "its title is another one": (payload("discussion", discussion=discussion()), [PULL]),
    "it is closed": (payload("discussion", discussion=discussion("closed")), []),
    "it is reopened": (payload("discussion", discussion=discussion("open")), [PULL]),
    "it is merged": (payload("discussion", discussion=discussion("merged")), [MAIN]),
    "it is merged into another branch": (
        payload("discussion", discussion=discussion("merged", base="refs/heads/v2")),
        [Base(repo=NAME, ref="refs/heads/v2")],
    ),
    "it is deleted": (payload("discussion", "delete", discussion=discussion()), []),
    "a status of the future": (payload("discussion", discussion=discussion("frozen")), []),
    "a discussion is opened": (payload("discussion", "create", discussion=discussion(pull=False)), []),
    "a discussion without a discussion": (payload("discussion", "create"), []),
    "a person comments": (payload("discussion.comment", "create", discussion=discussion(), comment=comment()), [PULL]),
    "a person hides a comment": (payload("discussion.comment", discussion=discussion(), comment=comment(None)), [PULL]),
    "we comment": (payload("discussion.comment", "create", discussion=discussion(), comment=comment(OURS)), []),
    "ours is hidden": (payload("discussion.comment", discussion=discussion(), comment=comment(None, "me")), []),
    "we say something else": (payload("discussion.comment", "create", discussion=discussion(), comment=comment("Hi", "me")), []),
    "somebody quotes ours": (
        payload("discussion.comment", "create", discussion=discussion(), comment=comment("> " + OURS)),
        [PULL],
    ),
    "a person comments on a closed one": (payload("discussion.comment", discussion=discussion("closed"), comment=comment()), []),
    "a scope of the future below comments": (
        payload("discussion.comment.reaction", discussion=discussion(), comment=comment()),
        [PULL],
    ),
    "a scope of the future below discussions": (payload("discussion.review", "delete", discussion=discussion()), [PULL]),
    "a commit on a pull request": (payload("repo.content", **refs(("refs/pr/7", SHA))), [PULL]),
    "a commit on main": (payload("repo.content", **refs(("refs/heads/main", SHA))), [MAIN]),
    "several at once": (
        payload("repo.content", **refs(("refs/pr/7", SHA), ("refs/heads/main", SHA), ("refs/pr/7", SHA), ("refs/pr/12", SHA))),
        [PULL, MAIN, Discussion(repo=NAME, num=12)],
    ),
    "a branch is deleted": (payload("repo.content", **refs(("refs/heads/old", None), ("refs/pr/7", None))), []),
    "a tag, and a conversion": (payload("repo.content", **refs(("refs/tags/v1", SHA), ("refs/convert/parquet", SHA))), []),
    "no pull request's number": (
        payload("repo.content", **refs(("refs/pr/07", SHA), ("refs/pr/7/head", SHA), ("refs/pr/0", SHA))),
        [],
    ),
    "content without its refs": (payload("repo.content"), [MAIN]),
    "a scope of the future below content": (payload("repo.content.files", "create", **refs(("refs/pr/7", SHA))), [PULL]),
    "a scope of the future below repositories": (payload("repo.card"), [MAIN]),
    "a repository is changed": (payload("repo"), [MAIN]),
    "a repository is made": (payload("repo", "create"), []),
    "a repository is deleted": (payload("repo", "delete"), []),
    "a repository moves": (payload("repo", "move", movedTo={"name": "acme/other", "owner": {"id": "x"}}), []),
    "it becomes public": (payload("repo.config", updatedConfig={"private": False}), []),
    "a scope of the future below settings": (payload("repo.config.dois"), []),
    "a scope of the future": (payload("collection"), []),
    "a dataset": (payload("discussion", "create", kind="dataset", discussion=discussion()), []),
    "a repository without an organization": (
        payload("discussion", "create", name="gpt2", discussion=discussion()),
        [Discussion(repo="gpt2", num=7)],
    ),
    "fields of the future": (payload("discussion", discussion=discussion() | {"reviewers": [1]}, mood={"sky": "blue"}), [PULL]),
}


@pytest.mark.parametrize(("given", "jobs"), JOBS.values(), ids=JOBS)
def test_what_is_done_about_a_delivery(given: bytes, jobs: list[Any]) -> None:
    decision = decide(given, frozenset(["me"]))

    assert list(decision.jobs) == jobs
    assert bool(decision.reason) == (not jobs)


WRONG = {
    "nothing": (b"", "no JSON"),
    "no JSON": (b'{"event": hunter2', "no JSON"),
    "no text": (b"\xff\xfe{}", "no JSON"),
    "a list": (b"[]", "another value is expected"),
    "no event": (b"{}", "missing required field `event`"),
    "another version": (
        payload("repo", webhook={"id": "hunter2", "version": 2}),
        "another value is expected at $.webhook.version",
    ),
    "no number": (payload("discussion", discussion=discussion() | {"num": "hunter2"}), "at $.discussion.num"),
    "a number too large": (payload("discussion", discussion=discussion() | {"num": 10**12}), "at $.discussion.num"),
    "a name with a path": (payload("repo", name="../hunter2/x"), "at $.repo.name"),
    "a name with a line": (payload("repo", name="acme/hunter2\nx"), "at $.repo.name"),
    "a ref with a space": (payload("repo.content", **refs(("refs/heads/hunter2 x", SHA))), "at $.updatedRefs[0].ref"),
    "a sha of words": (payload("repo.content", **refs(("refs/heads/main", "hunter2"))), "at $.updatedRefs[0].newSha"),
    "too many refs": (payload("repo.content", **refs(*[("refs/heads/main", SHA)] * 1_001)), "at $.updatedRefs"),
    "a scope with a line": (payload("repo\nhunter2"), "at $.event.scope"),
    "deeper than anybody reads": (b'{"future":' + b"[" * 500_000, "no JSON"),
}


@pytest.mark.parametrize(("given", "said"), WRONG.values(), ids=WRONG)
def test_what_is_no_payload_is_told_by_its_field_and_not_quoted(given: bytes, said: str) -> None:
    with pytest.raises(UsageError) as told:
        decide(given)
    text = str(told.value)
    assert text.startswith("this is no webhook payload of version 3: ")
    assert said in text
    assert "hunter2" not in text
    assert "\n" not in text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)


@given(st.sampled_from(["event", "repo", "discussion", "comment", "updatedRefs", "webhook"]), JSON)
def test_any_payload_is_decided_or_told(field: str, value: object) -> None:
    whole = json.loads(payload("discussion.comment", discussion=discussion(), comment=comment()))
    with suppress(UsageError):
        assert len(decide(json.dumps(whole | {field: value}).encode()).jobs) <= 1


class Bot:
    """The receiving part with a real server and a real queue."""

    def __init__(self, folder: Path) -> None:
        self.database = folder / "queue.db"
        self.queue = Queue(f"sqlite:{self.database}")
        self.logged = io.StringIO()
        self.is_alive = True
        self.metrics = Metrics(self.queue.state, self.queue.faults)
        log = Log(self.logged)
        service = Service(self.queue, log, self.metrics, SECRET, lambda: frozenset(["me"]), lambda: self.is_alive)
        self.service = service
        config = uvicorn.Config(app(service), port=0, log_config=None, access_log=False, lifespan="off", ws="none")
        self.server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self.server.run)

    def start(self) -> None:
        self._thread.start()
        while not self.server.started:
            assert self._thread.is_alive()
        self.address = f"http://127.0.0.1:{self.server.servers[0].sockets[0].getsockname()[1]}"

    def stop(self) -> None:
        self.server.should_exit = True
        self._thread.join()
        self.queue.close()

    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.logged.getvalue().splitlines()]

    def get(self, path: str, method: str = "GET") -> tuple[int, str]:
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=30)
        connection.request(method, path)
        answer = connection.getresponse()
        found = answer.status, answer.read().decode()
        connection.close()
        return found

    def counted(self, name: str) -> float:
        (line,) = [line for line in self.get("/metrics")[1].splitlines() if line.startswith(f"model_repo_drift_{name} ")]
        return float(line.rpartition(" ")[2])


@pytest.fixture
def bot(tmp_path: Path) -> Iterator[Bot]:
    made = Bot(tmp_path)
    made.start()
    yield made
    made.stop()


OPENED = payload("discussion", "create", discussion=discussion(), comment=comment("A description that nobody else may read"))


def test_a_delivery_is_on_the_queue_once_it_is_answered(bot: Bot) -> None:
    assert [send(bot.address, OPENED, SECRET) for _ in range(3)] == [(202, "queued\n")] * 3

    assert bot.queue.asked() == {PULL.key}
    with Queue(f"sqlite:{bot.database}") as other:  # as any other process sees it
        assert other.outstanding() == 1
    assert [(row["outcome"], row["repo"], row["jobs"]) for row in bot.rows()] == [("queued", NAME, PULL.key)] * 3
    assert bot.counted('deliveries_total{outcome="queued"}') == 3
    assert bot.counted("outstanding") == 1


def test_a_delivery_without_a_job_is_answered_with_the_reason(bot: Bot) -> None:
    closed = payload("discussion", discussion=discussion("closed"))

    assert send(bot.address, closed, SECRET) == (200, "the pull request is closed\n")
    assert bot.queue.outstanding() == 0
    assert bot.rows()[0]["said"] == "the pull request is closed"


@pytest.mark.parametrize(
    ("secret", "status"),
    [(None, 401), ("", 403), ("wrong", 403), (SECRET + "x", 403), (SECRET[:-1], 403), ("ä" * 23, 403), (SECRET.upper(), 403)],
)
def test_who_does_not_know_the_secret_is_told_nothing(bot: Bot, secret: str | None, status: int) -> None:
    for body in (OPENED, b"", b"{"):
        assert send(bot.address, body, secret) == (status, "")

    assert bot.queue.outstanding() == 0
    assert {row["outcome"] for row in bot.rows()} == {"refused"}
    assert {tuple(sorted(row)) for row in bot.rows()} == {("event", "outcome", "time")}
    assert bot.counted('deliveries_total{outcome="refused"}') == 3


def test_a_secret_that_is_given_twice_is_none(bot: Bot) -> None:
    connection = http.client.HTTPConnection(urlsplit(bot.address).netloc, timeout=30)
    connection.putrequest("POST", "/webhook")
    connection.putheader("X-Webhook-Secret", SECRET)
    connection.putheader("X-Webhook-Secret", "other")
    connection.putheader("Content-Length", "0")
    connection.endheaders()
    assert connection.getresponse().status == 403
    connection.close()


def test_what_is_too_large_is_not_read_to_its_end(bot: Bot) -> None:
    whole = json.loads(OPENED)
    whole["comment"]["content"] = "x" * LARGEST
    assert send(bot.address, json.dumps(whole).encode(), SECRET) == (413, f"at most {LARGEST} bytes are read\n")

    connection = http.client.HTTPConnection(urlsplit(bot.address).netloc, timeout=30)
    connection.putrequest("POST", "/webhook")
    connection.putheader("X-Webhook-Secret", SECRET)
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    for _ in range(LARGEST // 65536 + 1):  # a length that nobody told before
        connection.send(b"10000\r\n" + b"x" * 65536 + b"\r\n")
    assert connection.getresponse().status == 413
    connection.close()
    assert [row["outcome"] for row in bot.rows()] == ["too large", "too large"]

    whole["comment"]["content"] = "x" * (LARGEST - len(OPENED))
    assert send(bot.address, json.dumps(whole).encode(), SECRET)[0] == 202


def test_a_payload_that_is_none_is_answered_in_one_line(bot: Bot) -> None:
    status, said = send(bot.address, payload("repo", name="a/b\nc"), SECRET)
    assert (status, said.count("\n")) == (400, 1)
    assert "$.repo.name" in said
    assert bot.rows()[0]["outcome"] == "invalid"


def test_what_could_not_be_kept_is_not_promised(bot: Bot) -> None:
    with closing(sqlite3.connect(bot.database)) as database:
        database.execute("drop table kv")

    status, said = send(bot.address, OPENED, SECRET)

    assert (status, said) == (503, "the queue does not answer (OperationalError)\n")
    assert bot.rows()[0]["outcome"] == "unavailable"
    assert bot.get("/healthz") == (503, "the queue does not answer (OperationalError)\n")
    assert bot.counted("queue_up") == 0


def test_health_is_that_of_the_queue_and_of_our_workers(bot: Bot) -> None:
    assert bot.get("/healthz") == (200, "ok\n")
    bot.is_alive = False
    assert bot.get("/healthz") == (503, "a worker has ended\n")


def test_nothing_else_is_answered(bot: Bot) -> None:
    asked = [("/webhook", "GET"), ("/", "GET"), ("/healthz", "POST"), ("/docs", "GET"), ("/webhook/", "POST")]
    assert [bot.get(path, method)[0] for path, method in asked] == [405, 404, 405, 404, 307]
    assert bot.queue.outstanding() == 0


def test_without_a_secret_there_is_no_webhook(bot: Bot) -> None:
    worker = Service(bot.queue, bot.service.log, bot.metrics)
    assert [getattr(route, "path", "") for route in app(worker).routes] == ["/healthz", "/metrics"]


def test_log_and_metrics_hold_no_secret_and_no_text_of_anybody(bot: Bot) -> None:
    for secret in (SECRET, "wrong-but-secret", None):
        for body in (
            OPENED,
            payload("discussion.comment", discussion=discussion(), comment=comment(OURS)),
            b'{"description": 1}',
        ):
            send(bot.address, body, secret)
    shown = bot.logged.getvalue() + bot.get("/metrics")[1] + repr(bot.service)
    assert SECRET not in shown
    assert "wrong-but-secret" not in shown
    assert "description" not in shown
    assert "A title" not in shown
    assert NAME not in bot.get("/metrics")[1]


@given(st.text(max_size=50), st.text(max_size=400))
def test_a_line_of_the_log_is_one_json_object(repo: str, said: str) -> None:
    stream = io.StringIO()
    Log(stream).say("delivery", repo=repo, said=said, seconds=0.12345)
    (line,) = stream.getvalue().splitlines(keepends=True)
    row = json.loads(line)
    assert line.endswith("\n")
    assert line.isascii()
    assert (row.get("repo", ""), row.get("said", ""), row["seconds"]) == (repo, said[:300], 0.123)
