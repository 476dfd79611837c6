"""What the bot counts, in the form that Prometheus reads. No label holds a name that somebody else chose."""

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from bot.server.queue import State

PREFIX = "model_repo_drift"
SECONDS = (0.5, 1, 2, 5, 10, 20, 40, 80, 160, 320)


class Metrics:
    """The counters of this process, and what the queue that all share says of itself when it is asked."""

    def __init__(self, state: Callable[[], State], faults: tuple[type[Exception], ...]) -> None:
        self._registry = CollectorRegistry()
        counts = self._registry
        self.deliveries = Counter(f"{PREFIX}_deliveries", "Webhook deliveries, by outcome", ["outcome"], registry=counts)
        self.jobs = Counter(f"{PREFIX}_jobs", "Jobs that this process ended, by outcome", ["kind", "outcome"], registry=counts)
        self.seconds = Histogram(f"{PREFIX}_job_seconds", "How long jobs took", ["kind"], buckets=SECONDS, registry=counts)
        self.lost = Counter(f"{PREFIX}_queue_lost", "How often the queue did not answer this process", registry=counts)
        self.workers = Gauge(f"{PREFIX}_workers", "Workers of this process", registry=counts)
        self._registry.register(_Queue(state, faults))

    def text(self) -> bytes:
        """All of it, in the text format."""
        return generate_latest(self._registry)


class _Queue(Collector):
    """Gauges that are read when they are asked for; where the queue does not answer they are left out, and `queue_up` is 0."""

    def __init__(self, state: Callable[[], State], faults: tuple[type[Exception], ...]) -> None:
        self._state = state
        self._faults = faults

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Nothing that would have to be asked for when we are registered."""
        return iter(())

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """What the queue says now."""
        try:
            state = self._state()
        except self._faults:
            yield GaugeMetricFamily(f"{PREFIX}_queue_up", "Whether the queue answers", value=0)
            return
        yield GaugeMetricFamily(f"{PREFIX}_queue_up", "Whether the queue answers", value=1)
        yield GaugeMetricFamily(f"{PREFIX}_outstanding", "Jobs that wait or are worked on, anywhere", value=state.outstanding)
        yield GaugeMetricFamily(f"{PREFIX}_failed", "Jobs that were given up", value=state.failed)
        yield GaugeMetricFamily(f"{PREFIX}_oldest_seconds", "Since when the oldest job waits", value=state.oldest)
