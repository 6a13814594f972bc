"""Prometheus metrics of a server."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

#: Buckets of the histograms: seconds, and queries.
_LATENCIES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Counters, gauges and histograms of a server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "tqnet_requests", "Requests by endpoint and status", ["endpoint", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "tqnet_request_seconds", "Until the answer", ["endpoint"], buckets=_LATENCIES, registry=self._registry
        )
        self.queue = Gauge("tqnet_queue_length", "Searches that wait or run", registry=self._registry)
        self.batches = Histogram("tqnet_batch_size", "Queries encoded at once", buckets=_SIZES, registry=self._registry)
        self.hits = Counter("tqnet_cache_hits", "Searches answered from the cache", registry=self._registry)
        self.misses = Counter("tqnet_cache_misses", "Searches that were carried out", registry=self._registry)
        self.behind = Gauge(
            "tqnet_index_behind", "1 if the current version of the index cannot be opened", registry=self._registry
        )

    def text(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return generate_latest(self._registry)
