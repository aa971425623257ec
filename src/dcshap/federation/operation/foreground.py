"""A site in the foreground: started, watched until it is up, and ended with the command."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack

from dcshap.federation.flare.kits import Kit
from dcshap.federation.flare.processes import SiteProcess
from dcshap.federation.operation.checks import WARN_DAYS, days_left
from dcshap.federation.operation.gauges import answering_health
from dcshap.federation.seals.identity import Identity

__all__ = ["run_in_foreground"]

_LOOK = 0.2  # seconds between looks at the process
_NOT_UP = {
    "party": "The analyst's server has not let this party in yet: it is not running, cannot be reached, or does not "
    "accept this certificate. It is asked again and again.",
    "server": "The server does not listen yet: another program may use its port, or the host's name may not be this "
    "machine's.",
}


def run_in_foreground(
    kit: Kit,
    tell: Callable[[str], None],
    *,
    patience: float = 30.0,
    env: Mapping[str, str] | None = None,
    health: int | None = None,
) -> int:
    """Run a site until it ends, or until this process is interrupted or told to end; what it returned.

    `tell` is told that the site is up, or, where it is not after some `patience` (in seconds), what that may be due
    to. `env` adds to the environment; `health` is a port on loopback that says whether the site is well.
    """
    Identity(kit.startup)  # the engine waits without a word where its certificate is missing or another authority's
    site, told = SiteProcess(kit, env=env), threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: told.set())
    waiting, until = True, time.monotonic() + patience
    left = days_left(kit)
    if left <= WARN_DAYS:
        tell(f"The certificate ends in {left:.0f} days: renew it (`dcshap federation certificates renew`).")
    with ExitStack() as stack:
        if health is not None:
            stack.enter_context(answering_health(kit, health, site.is_up))
        stack.enter_context(site)
        tell(f"{kit.name} is starting; {site.log} has the engine's own words. Interrupt to end.")
        while site.running and not told.wait(_LOOK):
            if waiting and site.is_up():
                waiting = False
                tell(f"{kit.name} is up.")
            elif waiting and time.monotonic() >= until:
                until = float("inf")
                tell(_NOT_UP[kit.role])
        ended = not told.is_set()
    return site.returncode if ended else 0
