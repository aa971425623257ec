"""Has collaborations serve again by themselves: a component of the analyst's server, beside the runs.

A run that was serving and has ended, because the server, a party or a run's process died, is submitted again in the
name of whoever submitted it first, and starts as soon as all its parties are connected.
"""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_constant import FLContextKey, RunProcessKey
from nvflare.apis.fl_context import FLContext
from nvflare.apis.job_def import JobMetaKey, RunStatus
from nvflare.fuel.common.exit_codes import ProcessExitCode
from nvflare.private.fed.server.job_cmds import CLONED_META_KEYS

from dcshap.exceptions import DcshapError
from dcshap.federation.flare.naming import NAME_BEGINS
from dcshap.federation.flare.relay import carry_without_lock
from dcshap.federation.operation.wishes import AGAIN, Wish, drop_wish, keep_wish, read_wishes

__all__ = ["HEARD", "Watchman"]

HEARD = 15.0  # seconds since a party's last heartbeat within which it counts as connected
_LOOK = 1.0
_KEPT_JOBS = 20  # ended runs whose logs the server keeps
_LONGEST_PAUSE = 120.0
_SUBMITTER = {JobMetaKey.SUBMITTER_NAME.value, JobMetaKey.SUBMITTER_ORG.value, JobMetaKey.SUBMITTER_ROLE.value}
_ALIVE = (RunStatus.SUBMITTED.value, RunStatus.DISPATCHED.value, RunStatus.RUNNING.value)
_log = logging.getLogger(__name__)


class Watchman(FLComponent):  # type: ignore[misc]  # nvflare is untyped
    """Watches over the collaborations that are to serve.

    Parameters
    ----------
    folder : str
        The analyst's `dcshap` folder.
    """

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._folder = Path(folder)
        self._engine: Any = None
        self._stop = threading.Event()
        self._pauses: dict[str, tuple[float, float]] = {}  # by collaboration: how long, and until when

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Begin once the server is up; hold a run back until its parties are connected."""
        if event_type == EventType.SYSTEM_START:
            self._engine = fl_ctx.get_engine()
            carry_without_lock(self._engine)
            self._bury_the_dead(fl_ctx)
            threading.Thread(target=self._watch, daemon=True, name="watchman").start()
        elif event_type == EventType.SYSTEM_END:
            self._stop.set()
        elif event_type == EventType.BEFORE_CHECK_CLIENT_RESOURCES:
            missing = self._missing(fl_ctx.get_prop(FLContextKey.JOB_META) or {})
            if missing:
                fl_ctx.set_prop(FLContextKey.JOB_BLOCK_REASON, f"waiting for {missing}", private=True, sticky=False)

    def _bury_the_dead(self, fl_ctx: FLContext) -> None:
        """Note that the runs of a server that was killed have ended; the engine goes on listing them."""
        jobs = self._engine.job_def_manager
        for job in jobs.get_jobs_by_status([RunStatus.RUNNING, RunStatus.DISPATCHED], fl_ctx):
            jobs.set_status(job.job_id, RunStatus.FINISHED_ABNORMAL, fl_ctx)

    def _missing(self, meta: dict[str, Any]) -> list[str]:
        if not str(meta.get("name")).startswith(NAME_BEGINS) or self._engine is None:
            return []
        since = time.time() - HEARD
        heard = {client.name for client in self._engine.get_clients() if (client.last_connect_time or 0) >= since}
        return sorted(set(meta.get("mandatory_clients") or ()) - heard)

    def _watch(self) -> None:
        while not self._stop.wait(_LOOK):
            try:
                wishes = read_wishes(self._folder)
            except DcshapError as error:
                _log.warning("%s", error)
                continue
            for wish in wishes:
                self._look_after(wish)

    def _look_after(self, wish: Wish) -> None:
        with self._engine.new_context() as fl_ctx:
            jobs = self._engine.job_def_manager
            job = jobs.get_job(wish.job, fl_ctx)
            status = "" if job is None else str(job.meta.get(JobMetaKey.STATUS.value))
            if status in _ALIVE:
                if status == RunStatus.RUNNING.value:
                    self._end_replaced(wish, jobs, fl_ctx)
                    self._end_without_parties(wish, fl_ctx)
            elif status == RunStatus.FINISHED_ABORTED.value and not job.meta.get(JobMetaKey.START_TIME.value):
                drop_wish(self._folder, wish.collaboration)  # somebody stopped it while it was waiting
            elif job is not None and self._rested(wish.collaboration):
                self._submit_again(wish, job.meta, jobs, fl_ctx)

    def _end_without_parties(self, wish: Wish, fl_ctx: FLContext) -> None:
        """End a run whose party was started anew: its own process of the run is gone for good."""
        meant = (self._engine.run_processes.get(wish.job) or {}).get(RunProcessKey.PARTICIPANTS) or {}
        tokens = {client.name: token for token, client in self._engine.client_manager.get_clients().items()}
        anew = sorted(client.name for token, client in meant.items() if tokens.get(client.name, token) != token)
        if anew:
            _log.info("%s were started anew: %s is served again", anew, wish.collaboration)
            self._engine.job_runner.fail_run(wish.job, ProcessExitCode.EXCEPTION, fl_ctx)

    def _end_replaced(self, wish: Wish, jobs: Any, fl_ctx: FLContext) -> None:
        """End the run whose place this one has taken: it served until this one was trained."""
        earlier = jobs.get_job(wish.before, fl_ctx) if wish.before else None
        if earlier is not None and earlier.meta.get(JobMetaKey.STATUS.value) == RunStatus.RUNNING.value:
            _log.info("the run %s has been replaced", wish.before)
            self._engine.job_runner.stop_run(wish.before, fl_ctx)

    def _rested(self, collaboration: str) -> bool:
        """Whether it is time to try again: at once, and less and less often where that does not help."""
        pause, until = self._pauses.get(collaboration, (0.0, 0.0))
        now = time.monotonic()
        if now < until:
            return False
        calm = now > until + 10 * pause
        pause = 2.0 if calm else min(2 * pause, _LONGEST_PAUSE)
        self._pauses[collaboration] = (pause, now + pause)
        return True

    def _submit_again(self, wish: Wish, earlier: dict[str, Any], jobs: Any, fl_ctx: FLContext) -> None:
        """Submit the same job, under the signature of whoever submitted it: the server cannot make one of its own."""
        meta = {key: earlier[key] for key in (CLONED_META_KEYS | _SUBMITTER) & set(earlier)}
        made = jobs.clone(wish.job, meta | {AGAIN: True}, fl_ctx)
        keep_wish(self._folder, wish.collaboration, str(made[JobMetaKey.JOB_ID.value]))
        _log.info("%s was serving, and is served again", wish.collaboration)
        self._drop_old_jobs(jobs, fl_ctx)

    @staticmethod
    def _drop_old_jobs(jobs: Any, fl_ctx: FLContext) -> None:
        ended = [job for job in jobs.get_all_jobs(fl_ctx) if str(job.meta.get("status")).startswith("FINISHED")]
        ended.sort(key=lambda job: job.meta["submit_time"])
        for job in ended[:-_KEPT_JOBS]:
            jobs.delete(job.job_id, fl_ctx)
