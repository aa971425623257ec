"""A Dask cluster of the analyst's own, on which models are trained through joblib.

Whatever scikit-learn computes in several jobs (the trees of a forest, the folds of a search, the parts of a vote or a
stack) goes to the cluster's workers, and the representations with it: its machines are to be trusted as the analyst's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import joblib

from dcshap.exceptions import FederationError, InputError

__all__ = ["require_cluster", "training_on"]

_KNOWN = {"scheduler", "ca", "certificate", "key"}
_PATIENCE = 30.0  # seconds that the cluster may take to be reached


def require_cluster(cluster: Any) -> Mapping[str, str]:
    """The settings of a cluster: an address, or `scheduler`, `ca`, `certificate` and `key` where it speaks TLS."""
    settings = {"scheduler": cluster} if isinstance(cluster, str) else cluster
    if not isinstance(settings, Mapping) or "scheduler" not in settings or set(settings) - _KNOWN:
        raise InputError(
            f"`dask` must be a scheduler's address, such as tcp://host:8786, or {sorted(_KNOWN)}. Got another."
        )
    if len(set(settings) & (_KNOWN - {"scheduler"})) not in (0, 3):
        raise InputError("A cluster that speaks TLS needs `ca`, `certificate` and `key`. Some are lacking.")
    return {str(name): str(value) for name, value in settings.items()}


@contextmanager
def training_on(settings: Mapping[str, str]) -> Iterator[None]:
    """Have what joblib does in jobs done by a cluster's workers.

    Raises
    ------
    FederationError
        If the cluster cannot be reached, or has no workers.
    """
    try:
        distributed: Any = import_module("distributed")  # only where a cluster is used
    except ImportError as error:
        raise InputError("Training on a Dask cluster needs dask[distributed]: install it at the analyst.") from error
    security = None
    if "ca" in settings:
        files = {"tls_ca_file": settings["ca"], "tls_client_cert": settings["certificate"]}
        security = distributed.Security(**files, tls_client_key=settings["key"], require_encryption=True)
    try:
        client = distributed.Client(settings["scheduler"], timeout=_PATIENCE, set_as_default=False, security=security)
    except (OSError, TimeoutError, ValueError) as error:
        raise FederationError("The Dask cluster that the analyst is to train on cannot be reached.") from error
    with client:
        if not client.scheduler_info()["workers"]:
            raise FederationError("The Dask cluster that the analyst is to train on has no workers.")
        with joblib.parallel_config(backend="dask", client=client, n_jobs=-1):
            yield
