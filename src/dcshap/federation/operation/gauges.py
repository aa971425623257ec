"""Whether a site is well, for whoever watches machines: two answers on loopback, and metrics without data in them."""

from __future__ import annotations

import importlib.util
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from dcshap.exceptions import FederationError
from dcshap.federation.flare.kits import Kit
from dcshap.federation.operation.checks import days_left

__all__ = ["answering_health", "metrics_of"]

_LOOPBACK = "127.0.0.1"


@contextmanager
def answering_health(kit: Kit, port: int, ready: Callable[[], bool]) -> Iterator[int]:
    """Answer `/healthz`, `/readyz` and `/metrics` on a port of loopback, 0 for any that is free; gives the port."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/healthz":
                self._answer(200, b"alive\n")
            elif self.path == "/readyz":
                well = ready()
                self._answer(200 if well else 503, b"ready\n" if well else b"not ready\n")
            elif self.path == "/metrics" and importlib.util.find_spec("prometheus_client"):
                self._answer(200, metrics_of(kit, ready=ready()))
            else:
                self._answer(404, b"/healthz, /readyz; /metrics with pip install 'dcshap[metrics]'\n")

        def _answer(self, code: int, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing: whoever watches asks every few seconds."""

    try:
        server = ThreadingHTTPServer((_LOOPBACK, port), Answers)
    except OSError as error:
        raise FederationError(f"Port {port} on loopback is taken ({error.strerror}): say another --health.") from error
    threading.Thread(target=server.serve_forever, daemon=True, name="health").start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()


def metrics_of(kit: Kit, *, ready: bool) -> bytes:
    """A site's state in Prometheus' format: counts and sizes, no names of people or records."""
    from prometheus_client import CollectorRegistry, Gauge, generate_latest  # noqa: PLC0415 - an optional extra

    ledger = kit.folder / "dcshap" / "ledger.jsonl"
    found = {
        "dcshap_ready": ("Whether the site can be used", float(ready)),
        "dcshap_certificate_days_left": ("Days until the first certificate ends", days_left(kit)),
        "dcshap_disk_free_bytes": ("Free disk where the site keeps its state", shutil.disk_usage(kit.folder).free),
        "dcshap_ledger_bytes": ("Size of the ledger", ledger.stat().st_size if ledger.exists() else 0),
        "dcshap_trained_collaborations": (
            "Collaborations with a training in use",
            len(list((kit.folder / "dcshap").glob("*/run.json"))),
        ),
    }
    registry = CollectorRegistry()
    for name, (said, value) in found.items():
        Gauge(name, said, ["site"], registry=registry).labels(kit.name).set(value)
    text: bytes = generate_latest(registry)
    return text
