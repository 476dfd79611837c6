"""Questions to the Hugging Face Hub by its own client: how patient we are, who sees the token, and what faults mean."""

import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from http import HTTPStatus
from itertools import count
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import httpx2
from huggingface_hub import HfApi, get_session, hf_hub_url, set_client_factory
from huggingface_hub.constants import is_offline_mode
from huggingface_hub.errors import (
    DisabledRepoError,
    GatedRepoError,
    HfHubHTTPError,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.hf_api import RepoFile, RepoFolder
from huggingface_hub.utils import build_hf_headers, hf_raise_for_status, logging, parse_ratelimit_headers

from bot import __version__
from bot.hub import AbsentError, Access, Budget, HubError

TIMEOUT = 30
"""Seconds that one answer may keep silent."""
SECONDS = 300  # that one file may take
MOST_TRIES = 4
MOST_CONNECTIONS = 2  # tries to reach a host that is not there
LONGEST_WAIT = 120  # seconds, at once
AGAIN = (408, 429, 500, 502, 503, 504)
LIMITED = 429
ONLY_READS = ("GET", "HEAD")
SAID = 200  # characters of what the Hub says that are shown
BROKEN = (httpx2.TimeoutException, httpx2.NetworkError, httpx2.RemoteProtocolError)
NOT_UNDERSTOOD = (AttributeError, KeyError, TypeError, ValueError)  # what the client raises for an answer in another shape

T = TypeVar("T")


class Page(NamedTuple):
    """One page of a list, and the query that brings the next, "" for none."""

    rows: list[Any]
    following: str


class _StoppedError(Exception):
    """We do not ask any further; the text is a clause."""


class _Asking:
    """Who asks: the one origin that may see the token, the patience of the run, and how many requests it made."""

    def __init__(self, endpoint: str, budget: Budget, *, known: bool) -> None:
        self.origin = httpx2.URL(endpoint).origin
        self.host = urlsplit(endpoint).hostname or ""
        self.budget = budget
        self.known = known
        self.requests = 0

    def patient(self, tries: int, fault: httpx2.Response | Exception) -> float | None:
        """Seconds to wait before the next try, None where there is no patience left."""
        limit = MOST_CONNECTIONS if isinstance(fault, httpx2.ConnectError) else MOST_TRIES
        if isinstance(fault, httpx2.TimeoutException):
            self.budget.left -= TIMEOUT
        wait = _asked_wait(fault) if isinstance(fault, httpx2.Response) else None
        wait = 2.0 ** (tries - 1) if wait is None else wait
        if tries >= limit or wait > min(LONGEST_WAIT, self.budget.left):
            return None
        self.budget.left -= wait
        return wait

    def stopped(self, fault: httpx2.Response | Exception) -> str:
        """Say in a clause what was met last."""
        if not isinstance(fault, httpx2.Response):
            return f"the Hub at {self.host} could not be reached ({type(fault).__name__})"
        if fault.status_code != LIMITED:
            return f"the Hub answered {fault.status_code}, although it was asked again; try again later"
        wait = _asked_wait(fault)
        when = "later" if wait is None else f"in {wait:.0f} seconds"
        more = "" if self.known else ", or set HF_TOKEN: with a token the limit is higher"
        return f"the Hub's limit of requests is reached (429); try again {when}{more}"


_asking: ContextVar[_Asking | None] = ContextVar("_asking", default=None)


class _Client(httpx2.Client):
    """The client that huggingface_hub uses, with our patience: its own has none for some questions, and too much for others."""

    def send(self, request: httpx2.Request, **settings: Any) -> httpx2.Response:
        asking = _asking.get()
        if asking is None:  # somebody else uses huggingface_hub in this process
            return super().send(request, **settings)
        for tries in count(1):
            met: httpx2.Response | Exception
            try:
                met = answer = super().send(request, **settings)
                if answer.status_code not in AGAIN or (request.method not in ONLY_READS and answer.status_code != LIMITED):
                    return answer
                answer.close()
            except BROKEN as fault:
                met = fault
                if request.method not in ONLY_READS:
                    raise
            wait = asking.patient(tries, met)
            if wait is None:
                raise _StoppedError(asking.stopped(met)) from (met if isinstance(met, Exception) else None)
            time.sleep(wait)
        raise AssertionError  # the loop has no end


def _guard(request: httpx2.Request) -> None:
    """Before every request, those after a redirection included: the token goes to the endpoint alone, and nothing waits for ever."""
    if is_offline_mode():
        raise _StoppedError("HF_HUB_OFFLINE is set, so the Hub is not asked; unset it, or give a folder")
    asking = _asking.get()
    if asking is None:
        return
    asking.requests += 1
    request.extensions["timeout"] = httpx2.Timeout(TIMEOUT).as_dict()
    if request.url.origin != asking.origin:
        if request.url.scheme != "https" and asking.origin.scheme == "https":
            raise _StoppedError("the Hub sends us to an address that is not https")
        request.headers.pop("Authorization", None)


def _client() -> httpx2.Client:
    return _Client(event_hooks={"request": [_guard]}, follow_redirects=True, timeout=TIMEOUT)


set_client_factory(_client)
logging.set_verbosity_error()  # what the Hub wants said (X-HF-Warning) would start a line of our log


class Hub:
    """The Hub at one endpoint, asked with one token. Every method raises HubError, AbsentError for what is not there.

    `trees` are lists of files by the place that they are of, for those who ask.
    """

    def __init__(self, access: Access, budget: Budget) -> None:
        self.access, self.budget = access, budget
        self.trees: dict[str, list[RepoFile | RepoFolder]] = {}
        self._token = access.token or False  # False: none, also not one that is stored on this machine
        self._api = HfApi(
            endpoint=access.endpoint, token=self._token, library_name="model-repo-drift", library_version=__version__
        )
        self._asked = _Asking(access.endpoint, budget, known=bool(access.token))

    @property
    def requests(self) -> int:
        """How many requests were made so far, redirections and repetitions included."""
        return self._asked.requests

    def ask(self, place: str, call: Callable[[HfApi], T]) -> T:
        """Ask by the client; `place`, as in "hub:org/name@main", is what an error is about. What `call` returns must not be lazy."""
        before = _asking.set(self._asked)
        try:
            return call(self._api)
        except _StoppedError as stop:
            raise HubError(f"{place}: {stop}") from stop
        except HfHubHTTPError as fault:
            raise self._refused(place, fault) from fault
        except httpx2.HTTPError as fault:
            raise HubError(f"{place}: {self._asked.stopped(fault)}") from fault
        except NOT_UNDERSTOOD as fault:
            raise HubError(f"{place}: the Hub's answer is not what its client understands ({type(fault).__name__})") from fault
        finally:
            _asking.reset(before)

    def page(self, place: str, path: str, query: str) -> Page:
        """Ask for one page of a list; `path` is below /api/models/."""

        def asked(_: HfApi) -> Page:
            answer = get_session().get(f"{self.access.endpoint}/api/models/{path}?{query}", headers=self._headers())
            hf_raise_for_status(answer)
            # Only the query of the address is taken: whatever host it names, we go on asking the one that we were given.
            return Page(list(answer.json()), urlsplit(answer.links.get("next", {}).get("url", "")).query)

        return self.ask(place, asked)

    def content(self, place: str, repository: str, sha: str, path: str, size: int) -> bytes:
        """Download one file; of one that has more than `size` bytes only the beginning. It is not looked at; weights are the caller's to leave out."""
        url = hf_hub_url(repository, path, revision=sha, endpoint=self.access.endpoint)
        until = time.monotonic() + SECONDS

        def asked(_: HfApi) -> bytes:
            headers = self._headers() | {"Accept-Encoding": "identity"}
            with get_session().stream("GET", url, headers=headers) as answer:
                if answer.status_code >= HTTPStatus.BAD_REQUEST:
                    answer.read()
                hf_raise_for_status(answer)
                content = bytearray()
                for block in answer.iter_bytes():
                    content += block
                    if len(content) > size:
                        break
                    if time.monotonic() > until:
                        raise _StoppedError(f"it took more than {SECONDS} seconds to download")
            return bytes(content)

        def patiently(api: HfApi) -> bytes:
            for tries in count(1):
                try:
                    return asked(api)
                except BROKEN as fault:  # in the middle of the bytes; before them the client was patient already
                    wait = self._asked.patient(tries, fault)
                    if wait is None:
                        raise
                    time.sleep(wait)
            raise AssertionError

        return self.ask(place, patiently)

    def _headers(self) -> dict[str, str]:
        return build_hf_headers(token=self._token, library_name="model-repo-drift", library_version=__version__)

    def _refused(self, place: str, fault: HfHubHTTPError) -> HubError:
        """What an answer with an error status means, and what to do about it."""
        status, said = fault.response.status_code, _said(fault.response)
        token = self.access.token
        if status == HTTPStatus.UNAUTHORIZED and token and "credentials" in said.lower():
            return HubError(f"{place}: the Hub does not accept the token in HF_TOKEN (401); make a new one")
        match fault:
            case GatedRepoError():
                page = f"{self.access.endpoint}/{_repository(place)}"
                cure = "with the account of HF_TOKEN" if token else "and set HF_TOKEN to a token of that account"
                return HubError(f"{place}: the repository is gated; accept its conditions on {page} {cure}")
            case RepositoryNotFoundError():
                cure = "the token in HF_TOKEN may read" if token else "may be read without a token; set HF_TOKEN if it is private"
                return AbsentError(f"{place}: the Hub has no such repository that {cure}")
            case RevisionNotFoundError():
                cure = "a branch, a tag, all 40 digits of a commit, or refs/pr/N is needed"
                return AbsentError(f"{place}: the repository has no such revision; {cure}")
            case RemoteEntryNotFoundError():
                return AbsentError(f"{place}: the repository has no such file at this commit")
            case DisabledRepoError():
                return HubError(f"{place}: access to the repository is disabled on the Hub")
            case _:
                kind = AbsentError if status == HTTPStatus.NOT_FOUND else HubError
                return kind(f"{place}: the Hub answered {status}{f' ({said})' if said else ''}")


def _repository(place: str) -> str:
    return place.removeprefix("hub:").partition("@")[0]


def _said(answer: httpx2.Response) -> str:
    return str(answer.headers.get("X-Error-Message", ""))[:SAID]


def _asked_wait(answer: httpx2.Response) -> float | None:
    """The seconds that an answer asks us to wait. The Hub names them in `RateLimit` (huggingface_hub 2.4.0, utils/_http.py)."""
    headers: Mapping[str, str] = answer.headers
    limit = parse_ratelimit_headers(headers)
    if answer.status_code == LIMITED and limit is not None and limit.remaining == 0:
        return limit.reset_in_seconds + 1.0
    after = str(headers.get("Retry-After", "")).strip()
    return float(after) if after.isdecimal() else None
