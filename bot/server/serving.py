"""The process of the bot: web, workers or both, from the first line of the log to a stop that loses nothing."""

import signal
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Literal, TypeAlias

import uvicorn

from bot import __version__
from bot.errors import CannotLookError
from bot.hub import HubError, connect
from bot.server.app import Service, app
from bot.server.discussion import Bot, judge, judge_base
from bot.server.jobs import Base, Discussion, Job
from bot.server.log import Log
from bot.server.metrics import Metrics
from bot.server.queue import Queue, Times, Told

Part: TypeAlias = Literal["web", "worker", "both"]
SHUTDOWN = 5
"""Seconds that answers under way get when we are stopped."""
BACKLOG = 256


@dataclass(frozen=True)
class Setup:
    """What one process does. `listen` is None where nothing is to be answered; `secret` is that of the webhook and shows in no log.

    With `retry` it begins with asking again for what was given up.
    """

    part: Part
    queue: str
    workers: int
    listen: tuple[str, int] | None
    secret: str
    times: Times
    retry: bool = False


def serve(setup: Setup, bot: Bot, log: Log) -> None:
    """Run until SIGTERM or SIGINT; a second one ends the process at once. Raises UsageError or CannotLookError where it cannot start."""
    log.listen()
    threading.excepthook = lambda fault: log.say("fault", said=fault.exc_type.__name__, thread=fault.thread and fault.thread.name)
    queue = Queue(setup.queue, setup.times, lambda told: _tell(told, log, metrics))
    metrics = Metrics(queue.state, queue.faults)
    signals = _Signals()
    stop = threading.Event()
    web = (
        _Web(setup, Service(queue, log, metrics, setup.secret, _own(bot, log), queue.alive), signals.wake)
        if setup.listen
        else None
    )
    workers = threading.Thread(
        target=_work, args=(queue, bot, log, setup.workers, stop), name="workers", daemon=True
    )  # a daemon: what does not end in its time is left to the ledger
    log.say(
        "started", version=__version__, part=setup.part, queue=setup.queue.partition(":")[0], listen=web.address if web else ""
    )
    if setup.retry:
        log.say("retry", jobs=_retried(queue))
    if setup.part != "web":
        metrics.workers.set(setup.workers)
        workers.start()
    if web is not None:
        web.start()
    signals.wait()
    log.say("stopping")
    stop.set()
    if web is not None:
        web.stop()
    if workers.ident is not None:
        workers.join()
    log.say("stopped")


def handler(queue: Queue, bot: Bot, log: Log) -> Callable[[Job], str]:
    """Who does the jobs of the bot, and says in a word what came of each."""

    def handle(job: Job) -> str:
        match job:
            case Discussion():
                judged = judge(job, bot)
                if judged.notice:
                    log.say("notice", job=job.key, said=judged.notice)
                return judged.outcome
            case Base():
                found = judge_base(job, bot, lambda again: queue.put(again.key, again))
                log.say("base moved", job=job.key, pulls=float(found))
                return "asked for again"
            case _:
                raise CannotLookError("this is the job of an audit: start a worker for it with `model-repo-drift audit`")

    return handle


def _retried(queue: Queue) -> float:
    try:
        return queue.retry()
    except queue.faults as fault:
        raise CannotLookError(f"--retry-failed: the queue does not answer ({type(fault).__name__}); start again later") from fault


def _work(queue: Queue, bot: Bot, log: Log, workers: int, stop: threading.Event) -> None:
    if not queue.work(handler(queue, bot, log), workers=workers, stop=stop):
        log.say("left", said="a job did not end in time; it is done again by whoever works next")


def _tell(told: Told, log: Log, metrics: Metrics) -> None:
    if told.job is None:
        metrics.lost.inc()
        log.say("queue", outcome=told.outcome, error=told.error)
        return
    kind = type(told.job).__name__.lower()
    metrics.jobs.labels(kind, told.outcome).inc()
    if told.seconds:
        metrics.seconds.labels(kind).observe(told.seconds)
    log.say("job", job=told.key, outcome=told.outcome, seconds=told.seconds, error=told.error)


def _own(bot: Bot, log: Log) -> Callable[[], frozenset[str]]:
    """The id of the account that comments, once the Hub has said it; until then our marker alone tells which comments are ours."""
    known: list[frozenset[str]] = [frozenset()]

    def ask() -> None:
        try:
            known[0] = frozenset([connect(bot.access).ask("hub:whoami", lambda api: str(api.whoami()["id"]))])
        except HubError as error:
            log.say("notice", said=str(error))

    if bot.access.token:
        threading.Thread(target=ask, name="whoami", daemon=True).start()
    return lambda: known[0]


class _Signals:
    """Waits for a signal, or for `wake`. A handler that runs in the middle of anything could not take a lock."""

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._writer.settimeout(0)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _ignored)

    def wake(self) -> None:
        """Let `wait` return."""
        self._writer.send(b"\0")

    def wait(self) -> None:
        """Wait; the next signal ends the process."""
        self._reader.recv(1)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)


def _ignored(_: int, __: FrameType | None) -> None:
    """The wake-up is written by the interpreter."""


class _Web:
    """The HTTP server, in a thread; `ended` is called when it ends for whatever reason."""

    def __init__(self, setup: Setup, service: Service, ended: Callable[[], None]) -> None:
        host, port = setup.listen or ("127.0.0.1", 0)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._socket = socket.create_server((host, port), family=family, backlog=BACKLOG)
        except OSError as error:
            raise CannotLookError(
                f"--listen {host}:{port}: cannot listen there ({error.strerror}); choose another port"
            ) from error
        self.address = f"{host}:{self._socket.getsockname()[1]}"
        self._server = uvicorn.Server(
            uvicorn.Config(
                app(service),
                log_config=None,
                access_log=False,
                server_header=False,
                lifespan="off",
                ws="none",
                timeout_graceful_shutdown=SHUTDOWN,
            )
        )
        self._thread = threading.Thread(target=self._run, args=(ended,), name="web", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Take no new requests, and let those under way end."""
        self._server.should_exit = True
        self._thread.join(SHUTDOWN + 2)

    def _run(self, ended: Callable[[], None]) -> None:
        try:
            self._server.run(sockets=[self._socket])
        finally:
            ended()
