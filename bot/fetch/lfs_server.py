"""Content that Git LFS keeps, asked of the server that a repository lives on.

The protocol is that of git-lfs/git-lfs, docs/api/batch.md and docs/api/basic-transfers.md: one request names the objects, its answer says
where each is and which headers it wants. What a repository says about its server in `.lfsconfig` is never read.
"""

import base64
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from urllib.parse import urljoin, urlsplit

import msgspec
import requests
from requests.adapters import HTTPAdapter
from requests.exceptions import RequestException
from urllib3 import Retry
from urllib3.exceptions import HTTPError

from bot.api import TIMEOUT
from bot.fetch.lfs import Absent, Pointer, fits

MOST_AT_ONCE = 100  # objects of one request
MOST_REDIRECTIONS = 3
LARGEST_ANSWER = 4 << 20  # bytes, of a batch
SECONDS = 300  # for everything that one revision asks for
BLOCK = 1 << 16
MEDIA = "application/vnd.git-lfs+json"
ELSEWHERE = (301, 302, 303, 307, 308)


class _Action(msgspec.Struct, frozen=True):
    href: str
    header: dict[str, str] | None = None


class _Error(msgspec.Struct, frozen=True):
    code: int = 0


class _Object(msgspec.Struct, frozen=True):
    oid: str
    actions: dict[str, _Action] | None = None
    error: _Error | None = None


class _Answer(msgspec.Struct, frozen=True):
    objects: list[_Object]
    transfer: str | None = "basic"


class RefusedError(Exception):
    """A content is not to be had; its text is the reason."""


class LfsServer:
    """The LFS server of `repository` ("owner/name") on GitHub at `server_url`, the only place that ever sees `token`.

    Where it says that a content is elsewhere, that place gets the headers that the server names for it and nothing of ours.
    """

    def __init__(self, server_url: str, repository: str, token: str, *, retry: Retry | None = None) -> None:
        self._url = f"{server_url.rstrip('/')}/{repository}.git/info/lfs/objects/batch"
        self._token = token
        # As actions/checkout hands a token to git and git-lfs (src/git-auth-helper.ts at 033fa0d).
        self._basic = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        self._session = requests.Session()
        self._session.auth = _as_it_is
        adapter = HTTPAdapter(max_retries=patient() if retry is None else retry)
        self._session.mount("https://", adapter)
        self._session.mount("http://", adapter)
        self._session.headers.update({"User-Agent": "model-repo-drift", "Accept-Encoding": "identity"})

    def bring(self, wanted: Sequence[Pointer]) -> Iterator[tuple[Pointer, bytes | Absent]]:
        """Ask for contents, and download each."""
        until = time.monotonic() + SECONDS
        for start in range(0, len(wanted), MOST_AT_ONCE):
            some = wanted[start : start + MOST_AT_ONCE]
            try:
                places = self._places(some, until)
            except RefusedError as reason:
                yield from ((one, Absent(str(reason))) for one in some)
                continue
            for one in some:
                try:
                    yield one, self._content(one, places.get(one.oid), until)
                except RefusedError as reason:
                    yield one, Absent(str(reason))

    def _places(self, wanted: Sequence[Pointer], until: float) -> Mapping[str, _Object]:
        asked = {
            "operation": "download",
            "transfers": ["basic"],
            "objects": [{"oid": one.oid, "size": one.size} for one in wanted],
        }
        headers = {"Accept": MEDIA, "Content-Type": MEDIA, "Authorization": f"Basic {self._basic}"}
        answer = self._ask("POST", self._url, headers, LARGEST_ANSWER, until, msgspec.json.encode(asked))
        try:
            said = msgspec.json.decode(answer, type=_Answer)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RefusedError("the answer of the LFS server is not what git-lfs describes") from error
        if said.transfer not in (None, "basic"):
            raise RefusedError("the LFS server wants another way of transfer than the basic one")
        return {one.oid: one for one in said.objects}

    def _content(self, wanted: Pointer, place: _Object | None, until: float) -> bytes:
        if place is None:
            raise RefusedError("the LFS server says nothing about it")
        if place.error is not None:
            gone = place.error.code in (404, 410)
            raise RefusedError(f"the LFS server {'does not have it' if gone else 'refuses it'} ({place.error.code})")
        action = (place.actions or {}).get("download")
        if action is None:
            raise RefusedError("the LFS server does not say where it is")
        headers = action.header or {}
        shown = any(secret in text for text in (action.href, *headers.values()) for secret in (self._token, self._basic))
        if shown and not self._is_ours(action.href):
            raise RefusedError("the LFS server would have us show the token to another host")
        content = self._ask("GET", action.href, headers, wanted.size, until)
        if not fits(content, wanted):
            raise RefusedError("what the LFS server sent is not what the pointer names")
        return content

    def _ask(
        self, method: str, url: str, headers: Mapping[str, str], most: int, until: float, asked: bytes | None = None
    ) -> bytes:
        """Return what one address answers, in time. A download may be sent on, then without any header; a question may not."""
        return _in_time(lambda: self._answer(method, url, headers, most, until, asked), until)

    def _answer(self, method: str, url: str, headers: Mapping[str, str], most: int, until: float, asked: bytes | None) -> bytes:
        for _ in range(MOST_REDIRECTIONS + 1):
            try:
                refuse_open(url, self._url)
                with self._session.request(
                    method, url, headers=headers, data=asked, stream=True, allow_redirects=False, timeout=TIMEOUT
                ) as answer:
                    if answer.status_code not in ELSEWHERE or asked is not None:
                        return _bytes(answer, most, until)
                    url, headers = urljoin(url, answer.headers.get("Location", "")), {}
            except (RequestException, HTTPError, ValueError) as fault:  # the last for an address that is none
                raise RefusedError(f"it could not be downloaded ({type(fault).__name__})") from fault
        raise RefusedError("the LFS server sends us on and on")

    def _is_ours(self, url: str) -> bool:
        ours, other = urlsplit(self._url), urlsplit(url)
        return (ours.scheme, ours.netloc) == (other.scheme, other.netloc)


def patient() -> Retry:
    """How often to try again: twice on faults of the server, never waiting over a minute at once."""
    return Retry(
        total=2,
        backoff_factor=1,
        status_forcelist=(429, 500, 502, 503, 504),
        allowed_methods=None,  # a question for places changes nothing, although it is a POST
        raise_on_status=False,
        retry_after_max=60,
    )


def refuse_open(url: str, server_url: str) -> None:
    """Raise RefusedError for an address that everybody on the way can read, unless the server itself is such a one."""
    if urlsplit(url).scheme not in ("https", urlsplit(server_url).scheme):
        raise RefusedError("the LFS server names an address that is not https")


def _in_time(work: Callable[[], bytes], until: float) -> bytes:
    """What `work` returns, or raises. Raises RefusedError when it is not done by then, and leaves it alone with what it waits for.

    A timeout of a socket is about one letter: a server that sends one now and then, of its headers or its content, never runs into it.
    """
    left = until - time.monotonic()
    done: list[bytes | Exception] = []

    def run() -> None:
        try:
            done.append(work())
        except Exception as fault:  # noqa: BLE001 - it is raised again below
            done.append(fault)

    if left > 0:
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(left)
    if not done:
        raise RefusedError(f"it took more than {SECONDS} seconds to download what Git LFS keeps")
    if isinstance(done[0], Exception):
        raise done[0]
    return done[0]


def _bytes(answer: requests.Response, most: int, until: float) -> bytes:
    """Read an answer, no further than one byte behind what it may have."""
    if answer.status_code != requests.codes.ok:
        raise RefusedError(f"the LFS server answered {answer.status_code}")
    content = bytearray()
    # As it comes: nobody waits any longer for what is not there in time, so that the connection is to be given up.
    while time.monotonic() < until and (block := answer.raw.read1(BLOCK, decode_content=True)):
        content += block
        if len(content) > most:
            raise RefusedError("the LFS server sends more than it should")
    return bytes(content)


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Add no credentials: without this, requests looks for some in ~/.netrc (requests 2.34, sessions.py, prepare_request)."""
    return request
