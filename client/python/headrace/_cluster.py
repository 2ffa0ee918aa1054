"""Connections to clusters."""
from __future__ import annotations

import atexit
import functools
import os
import sys
import time
import weakref
from typing import Any, Callable

from . import _native, _ranks
from ._errors import ClosedError
from ._loader import Loader
from ._pipeline import Pipeline

_open_clusters: weakref.WeakSet[Cluster] = weakref.WeakSet()


class Cluster:
    """A connection to a dispatcher, made when it is first used. Use as a context manager, or call close().

    It may be used in a process that was forked, or sent to one that was spawned: there it is opened anew when it is used, and nothing of
    the first process's is touched. Of hr.local(), the cluster itself stays in the process that made it. Thread-safe, but for close().
    """

    def __init__(self, open_native: Callable[[], Any], address: str | None, timeout: float = 10.0, transport: str | None = None,
                 security: dict[str, str | None] | None = None):
        self._open_native = open_native
        self._address = address  # None: hr.local() that is not open yet
        self._timeout = timeout
        self._transport = transport
        self._security = security or {}
        self._native = None
        self._pid: int | None = None
        self._closed = False
        self._loaders: weakref.WeakSet[Loader] = weakref.WeakSet()

    @property
    def address(self) -> str:
        """The dispatcher's address, "host:port"."""
        if self._address is None:
            self._open()
        assert self._address is not None
        return self._address

    def _open(self) -> Any:
        """The native connection of this process; None where gRPC cannot be used any more (a fork), and streams are relayed."""
        if self._closed:
            raise ClosedError("the cluster's connection is closed")
        if self._pid == os.getpid():
            return self._native
        if self._pid is not None:
            self._native = None  # the other process's; letting it go here touches nothing of it
            self._loaders = weakref.WeakSet()
            address, timeout, transport, security = self.address, self._timeout, _transport(self._transport), _secured(self._security)
            self._open_native = lambda: _native.Cluster.connect(address, timeout, transport, *security)
        if self._address is None or not _native.grpc_is_unusable():
            self._native = self._open_native()
            self._address = self._address or self._native.address
            _open_clusters.add(self)
        self._pid = os.getpid()
        return self._native

    def _open_stream(self, pipeline: Pipeline, options: dict[str, Any]) -> Any:
        native = self._open()
        if native is not None:
            return native.stream(pipeline._native, *options.values())
        from ._relay import RelayedStream

        connection = {"connect_timeout": self._timeout, "transport": _transport(self._transport), "security": _secured(self._security)}
        return RelayedStream(self.address, pipeline._native.to_bytes(), {**options, **connection})

    def stream(self, pipeline: Pipeline, *, job: str = "", sharding: str = "dynamic", rank: int | None = None,
               world_size: int | None = None, prefetch_bytes: int = 256 << 20, visitation: str = "exactly_once",
               on_client_loss: str | None = None, uneven: str = "free", ordering: str = "free", ordered_lanes: int = 0,
               ordered_window_bytes: int = 0, weight: float = 1.0, priority: int = 0, least_workers: float = 0,
               most_workers: int = 0, cache: str = "pipeline", epochs: int = 0, local_workers: int | str = 0) -> Loader:
        """This rank's stream of a job, which is created or joined.

        job: ranks that name the same job share its records; empty: a job of its own. sharding: "dynamic", "off", "static_file",
        "static_data", "static_file_or_data" or "static_hint". rank, world_size: found out when left out (an initialised process group,
        then RANK and WORLD_SIZE, then 0 of 1). prefetch_bytes: what may be held here and under way, in bytes.
        visitation: "exactly_once", "at_least_once" or "at_most_once". on_client_loss: what becomes of what a trainer was handed that
        fell silent: "wait" (the default of exactly_once: until it comes back, a checkpoint is restored, or `headrace jobs release JOB`)
        or "reassign" (others get it at once, and what it did not report may come twice). uneven: "free" (each rank reads what it can get),
        or every rank gets the same number of batches an epoch, and those left over are left out ("drop"), filled up by repeating the
        rank's last one ("pad"), or an "error". ordering: "free", or
        "deterministic": the same batches in the same order, whatever workers and ranks do (docs/pipelines.md); the batch step's size is then
        that of all ranks together. ordered_lanes: how many lanes that order is woven of, and the most workers that share it; 0: 16.
        ordered_window_bytes: how much of a lane's data is made as one, and again when its worker is lost; 0: 64 MiB.
        Where workers are too few for all jobs (docs/fleet.md): those of a higher priority (-8 to 8) come first, and others share by weight.
        least_workers: kept for the job whatever others claim, as far as it needs it, in workers' worth of work. most_workers: its quota;
        0: none. All ranks say the same.
        cache: where workers keep rows between epochs: "pipeline" (where its `cache` step stands), "auto" (where the orchestrator finds it
        cheapest; until it has found something, as "pipeline") or "off" (docs/caching.md). epochs: how many you will read, which tells what
        a cache is worth; 0: unknown.
        local_workers: workers of one thread on this host, for this job alone, beside the cluster's, which see the same files: a number, or
        "auto": one more while this trainer waits and a core has nothing to do, one less when its own steps get longer (docs/fleet.md).

        Raises JobConflictError when a job of that name runs with another pipeline, UnavailableError when the dispatcher does not answer.
        """
        rank, world_size = _ranks.resolve(rank, world_size)
        if not 0 <= most_workers < 1 << 32:
            raise ValueError(f"most_workers is {most_workers}: it must be at least 0 (no quota)")
        if not -(1 << 31) <= priority < 1 << 31:
            raise ValueError(f"priority is {priority}: it must be -8 to 8")
        options = {"job": job, "sharding": sharding, "rank": rank, "world_size": world_size, "prefetch_bytes": prefetch_bytes,
                   "visitation": visitation, "on_client_loss": on_client_loss or "", "uneven": uneven,
                   "ordering": ordering, "ordered_lanes": ordered_lanes, "ordered_window_bytes": ordered_window_bytes,
                   "weight": weight, "priority": priority, "least_workers": least_workers, "most_workers": most_workers,
                   "cache": cache, "epochs": epochs}
        if local_workers != "auto" and (not isinstance(local_workers, int) or not 0 <= local_workers <= 1024):
            raise ValueError(f'local_workers is {local_workers!r}: it must be "auto", or 0 to 1024')
        loader = Loader(self, pipeline, options, local_workers)
        self._loaders.add(loader)
        return loader

    def _shown(self) -> list[str]:
        """What is shown to the cluster, as native calls take it."""
        return _secured(self._security)

    def close(self, timeout: float = 2.0) -> None:
        """Closes its loaders, then the connection (and the cluster itself when it is hr.local()), all within about `timeout` seconds.
        Closing twice is fine; in a forked process this leaves the parent's connection alone."""
        if self._closed:
            return
        self._closed = True
        if self._pid != os.getpid():
            return
        deadline = time.monotonic() + timeout
        for loader in list(self._loaders):
            loader.close(max(deadline - time.monotonic(), 0.1))
        if self._native is not None:
            self._native.close(max(deadline - time.monotonic(), 0.1))

    def __enter__(self) -> Cluster:
        self._open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self):
        return functools.partial(connect, transport=self._transport, **self._security), (self.address, self._timeout)


def _transport(asked: str | None) -> str:
    return asked or os.environ.get("HEADRACE_TRANSPORT") or "auto"


# Keywords of connect(), in the order that the native call takes them, and the variables that stand in for them.
_SECURITY = {"token_file": "HEADRACE_TOKEN_FILE", "tls_ca": "HEADRACE_TLS_CA", "tls_cert": "HEADRACE_TLS_CERT",
             "tls_key": "HEADRACE_TLS_KEY", "tls_server_name": "HEADRACE_TLS_SERVER_NAME"}


def _secured(asked: dict[str, str | None]) -> list[str]:
    """What was said, or else the environment says. Of a hr.local() nothing was said, and nothing counts."""
    if not asked:
        return [""] * len(_SECURITY)
    return [os.fspath(asked[name] or os.environ.get(variable) or "") for name, variable in _SECURITY.items()]


def connect(address: str, timeout: float = 10.0, *, transport: str | None = None, token_file: str | None = None, tls_ca: str | None = None,
            tls_cert: str | None = None, tls_key: str | None = None, tls_server_name: str | None = None) -> Cluster:
    """The cluster whose dispatcher is at "host:port"; of several dispatchers, "a:5050,b:5050", the one that leads.

    UnavailableError when none answers within `timeout` seconds, on first use.

    transport: how batches come: "auto" (the best that each worker offers), or "grpc", "tcp", "shm" to force one; left out:
    $HEADRACE_TRANSPORT, else auto.

    Where the cluster asks for it (docs/security.md): token_file: a file with the cluster's token. tls_ca: a PEM file of the authorities that
    the cluster's certificates are checked by; it alone turns TLS on. tls_cert, tls_key: PEM files of this trainer's own certificate.
    tls_server_name: the name that the cluster's certificates must be for; left out: that of the address. Each falls back to the
    environment: $HEADRACE_TOKEN_FILE, $HEADRACE_TLS_CA, $HEADRACE_TLS_CERT, $HEADRACE_TLS_KEY, $HEADRACE_TLS_SERVER_NAME.
    """
    security = {"token_file": token_file, "tls_ca": tls_ca, "tls_cert": tls_cert, "tls_key": tls_key, "tls_server_name": tls_server_name}
    return Cluster(lambda: _native.Cluster.connect(address, timeout, _transport(transport), *_secured(security)), address, timeout, transport,
                   security)


def connected(cluster: str | Cluster, connection: dict[str, Any] | None) -> Cluster:
    """A loader's cluster: the one that it was given, or one of its own."""
    if isinstance(cluster, str):
        return connect(cluster, **(connection or {}))
    if connection:
        raise ValueError("connection: only where `cluster` is an address; say it to hr.connect instead")
    return cluster


def local(workers: int = 1, *, transport: str | None = None, udf: str = "pickle") -> Cluster:
    """A cluster inside this process, for a laptop: the same code, no set-up. Ends with close(), or with the process.

    transport: as for connect(). udf: which Python functions pipelines may run: "off", "import" or "pickle" (all; they are this process's
    own). They run in subprocesses of this interpreter, with its sys.path.
    """
    if workers < 1:
        raise ValueError("workers must be 1 or more")
    if udf not in ("off", "import", "pickle"):
        raise ValueError(f"udf: 'off', 'import' or 'pickle', not {udf!r}")
    functions = (udf, sys.executable or "python3", [p or os.getcwd() for p in sys.path])
    return Cluster(lambda: _native.Cluster.local(workers, _transport(transport), *functions), None, transport=transport)


@atexit.register
def _close_all() -> None:
    """Threads of ours must not outlive the interpreter."""
    for cluster in list(_open_clusters):
        cluster.close(1.0)
    _native.wait_for_left_calls(2.0)
