"""Opening a desk on a port: loopback unless told otherwise, and no data in the log."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from anyio import to_thread

from dcshap.desk.application import create_app
from dcshap.desk.state import Desk
from dcshap.exceptions import InputError

__all__ = ["Opening", "most_processes", "serve"]

# Pages at work at once in a process: the more of them wait for the engine or the disk, the more are served by one call
# and one transaction; far more would only take the interpreter from each other.
THREADS = 32
MOST_PROCESSES = 4
SEARCHED_AFTER = 20_000  # new objects, until those that nobody holds any more are looked for
PATIENCE = 2.0  # seconds until a port counts as taken: the processes of a desk that was killed end soon after it
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Opening:
    """A desk, and where it is opened."""

    desk: Desk
    host: str = "127.0.0.1"
    port: int = 0  # 0 for any that is free
    certificate: Path | None = None  # for HTTPS, which is needed beyond loopback
    key: Path | None = None  # the certificate's

    @property
    def https(self) -> bool:
        """Whether it is served over TLS."""
        return self.certificate is not None

    def bound(self) -> socket.socket:
        """A socket on the port, if nobody else has it."""
        if self.host not in LOOPBACK and not (self.certificate and self.key):
            raise InputError(
                "Beyond loopback the desk is served over HTTPS only. Give --certificate and --key, or leave out --host."
            )
        until = time.monotonic() + PATIENCE
        while True:
            try:
                with self._listening(self.port) as alone:  # nobody else may listen there
                    port = alone.getsockname()[1]
                return self._listening(port, shared=True)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                if time.monotonic() >= until:
                    raise InputError(
                        f"Port {self.port} is taken: another desk may be open there. Close it, or choose another "
                        f"--port."
                    ) from error
            time.sleep(0.05)

    def again(self, bound: socket.socket) -> socket.socket:
        """Another socket on the same port, for another process: the system divides visitors among them."""
        return self._listening(bound.getsockname()[1], shared=True)

    def _listening(self, port: int, *, shared: bool = False) -> socket.socket:
        shared = shared and hasattr(socket, "SO_REUSEPORT")
        return socket.create_server((self.host, port), family=_family(self.host), backlog=512, reuse_port=shared)

    def address(self, bound: socket.socket) -> str:
        """Where a browser finds it."""
        name = self.host if ":" not in self.host else f"[{self.host}]"
        return f"{'https' if self.https else 'http'}://{name}:{bound.getsockname()[1]}"

    def server(self, bound: socket.socket) -> uvicorn.Server:
        """The server of the desk on a socket."""
        port = bound.getsockname()[1]
        names = {self.host, *(LOOPBACK if self.host in LOOPBACK else ())}
        hosts = {f"{name}:{port}" for name in names} | ({*names} if port == (443 if self.https else 80) else set())
        app = create_app(self.desk, hosts=hosts, https=self.https)
        config = uvicorn.Config(
            app,
            access_log=False,  # paths have handles and codes in them
            log_config=None,
            lifespan="off",
            server_header=False,
            proxy_headers=False,
            ssl_certfile=self.certificate,
            ssl_keyfile=self.key,
        )
        return uvicorn.Server(config)


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def most_processes() -> int:
    """In how many processes a desk is best served here: one for each core, where processes can be forked safely."""
    return min(len(os.sched_getaffinity(0)), MOST_PROCESSES) if sys.platform == "linux" else 1


def serve(openings: Sequence[tuple[Opening, socket.socket]], *, processes: int = 1) -> None:
    """Serve desks until the process is asked to end.

    Parameters
    ----------
    openings : sequence of Opening and its socket
    processes : int
        All of them end with this one. They share nothing but the database.
    """
    _keep_data_out_of_log()
    for opening, _ in openings:
        opening.desk.prepare()
        opening.desk.close()  # a connection must not be used by two processes; the next query opens another
    gc.collect()
    gc.freeze()  # what is there by now stays: it need not be searched again, nor copied to the other processes
    gc.set_threshold(SEARCHED_AFTER)  # a page makes thousands of objects, and leaves hardly any
    reading, writing = os.pipe()
    children = [_forked(openings, reading, writing) for _ in range(processes - 1)]
    os.close(reading)
    try:
        _serve_here(openings, None)
    finally:
        for child in children:
            os.kill(child, signal.SIGTERM)
        for child in children:
            os.waitpid(child, 0)
        os.close(writing)


def _serve_here(openings: Sequence[tuple[Opening, socket.socket]], alive: int | None) -> None:
    """Serve until a signal comes; break off when the process that holds the other end of a pipe is gone."""
    servers = [(opening.server(bound), bound) for opening, bound in openings]

    def end(*_: object) -> None:
        for server, _bound in servers:
            server.should_exit = True

    async def run() -> None:
        to_thread.current_default_thread_limiter().total_tokens = THREADS
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, end)
        if alive is not None:
            loop.add_reader(alive, os._exit, 1)
        await asyncio.gather(*(server._serve([bound]) for server, bound in servers))

    asyncio.run(run())
    for opening, _ in openings:
        opening.desk.close()


def _forked(openings: Sequence[tuple[Opening, socket.socket]], reading: int, writing: int) -> int:
    """Begin a process that serves as well; it breaks off when nobody holds the writing end of the pipe any more."""
    own = [(opening, opening.again(bound)) for opening, bound in openings]
    child = os.fork()
    if child == 0:
        os.close(writing)
        for _, bound in openings:
            bound.close()
        try:
            _serve_here(own, reading)
        finally:
            os._exit(0)  # nothing of what the first process has still to do
    for _, bound in own:
        bound.close()
    return child


class _WithoutData(logging.Filter):
    """Keeps where and what kind of error it was; an error's own text may quote a cell of somebody's record."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[1] is not None:
            error, place = record.exc_info[1], record.exc_info[2]
            while place is not None and place.tb_next is not None:
                place = place.tb_next
            where = "" if place is None else f" at {place.tb_frame.f_code.co_filename}:{place.tb_lineno}"
            record.msg, record.args, record.exc_info = f"A page failed: {type(error).__name__}{where}", (), None
            record.exc_text = None
        return True


def _keep_data_out_of_log() -> None:
    logging.getLogger("uvicorn.error").addFilter(_WithoutData())
    logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # it quotes what it could not read
