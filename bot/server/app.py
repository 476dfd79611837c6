"""What the bot answers over HTTP: the webhook, whether it is alive, and its metrics."""

import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.errors import UsageError
from bot.server.delivery import LARGEST, Decision, decide
from bot.server.log import Log
from bot.server.metrics import Metrics
from bot.server.queue import Queue

HEADER = "x-webhook-secret"
SHOWN = "text/plain; version=0.0.4; charset=utf-8"

Outcome: TypeAlias = Literal["queued", "ignored", "refused", "invalid", "too large", "unavailable", "broken off"]


@dataclass(frozen=True)
class Service:
    """What the answers need. Without a secret there is no webhook; `own` are the ids of accounts that comment for us, `alive` says whether our workers are."""

    queue: Queue
    log: Log
    metrics: Metrics
    secret: str = field(default="", repr=False)
    own: Callable[[], frozenset[str]] = frozenset
    alive: Callable[[], bool] = lambda: True


def app(service: Service) -> Starlette:
    """The application."""
    routes = [
        Route("/healthz", _Health(service).answer, methods=["GET"]),
        Route("/metrics", _Metrics(service).answer, methods=["GET"]),
    ]
    if service.secret:
        routes.append(Route("/webhook", _Webhook(service).answer, methods=["POST"]))
    return Starlette(routes=routes)


class _Webhook:
    """Takes deliveries: says nothing to who does not know the secret, and answers 202 once the job is on the queue, or 200 where there is none."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._secret = service.secret.encode()

    async def answer(self, request: Request) -> Response:
        given = [value for name, value in request.headers.raw if name == HEADER.encode()]
        if len(given) != 1 or not hmac.compare_digest(given[0], self._secret):
            return self._answered("refused", 403 if given else 401)
        try:
            payload = await _body(request)
        except ClientDisconnect:
            return self._answered("broken off", 400)
        if payload is None:
            return self._answered("too large", 413, f"at most {LARGEST} bytes are read")
        try:
            decision = decide(payload, self._service.own())
        except UsageError as error:
            return self._answered("invalid", 400, str(error))
        if not decision.jobs:
            return self._answered("ignored", 200, decision.reason, decision)
        try:
            await run_in_threadpool(self._put, decision)
        except self._service.queue.faults as fault:
            return self._answered("unavailable", 503, f"the queue does not answer ({type(fault).__name__})", decision)
        return self._answered("queued", 202, "queued", decision)

    def _put(self, decision: Decision) -> None:
        for job in decision.jobs:
            self._service.queue.put(job.key, job)

    def _answered(self, outcome: Outcome, status: int, said: str = "", decision: Decision | None = None) -> Response:
        self._service.metrics.deliveries.labels(outcome).inc()
        about = decision or Decision((), "", "", "")
        jobs = " ".join(job.key for job in about.jobs)
        reason = "" if outcome == "queued" else said
        self._service.log.say("delivery", outcome=outcome, scope=about.event, repo=about.repo, jobs=jobs, said=reason)
        return PlainTextResponse(said + "\n" if said else "", status_code=status)


async def _body(request: Request) -> bytes | None:
    """The whole body, None where it is longer than it may be: the rest is not read then."""
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > LARGEST:
        return None
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST:
            return None
    return bytes(body)


class _Health:
    def __init__(self, service: Service) -> None:
        self._service = service

    async def answer(self, _: Request) -> Response:
        try:
            await run_in_threadpool(self._service.queue.reachable)
        except self._service.queue.faults as fault:
            return PlainTextResponse(f"the queue does not answer ({type(fault).__name__})\n", status_code=503)
        if not self._service.alive():
            return PlainTextResponse("a worker has ended\n", status_code=503)
        return PlainTextResponse("ok\n")


class _Metrics:
    def __init__(self, service: Service) -> None:
        self._service = service

    async def answer(self, _: Request) -> Response:
        return Response(await run_in_threadpool(self._service.metrics.text), media_type=SHOWN)
