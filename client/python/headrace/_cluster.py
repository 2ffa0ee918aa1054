"""Connections to clusters."""
from __future__ import annotations

import os
import weakref

from . import _native, _ranks
from ._errors import ClosedError
from ._loader import Loader
from ._pipeline import Pipeline


class Cluster:
    """A connection to a dispatcher, made when it is first used, and made anew in a process that was forked. Use as a context manager."""

    def __init__(self, connect, address: str):
        self._connect = connect
        self._address = address
        self._native = None
        self._pid = None
        self._closed = False
        self._loaders: weakref.WeakSet[Loader] = weakref.WeakSet()

    @property
    def address(self) -> str:
        """The dispatcher's address."""
        return self._open().address

    def _open(self):
        if self._closed:
            raise ClosedError("the cluster's connection is closed")
        if self._native is not None and self._pid != os.getpid():
            self._native.abandon()  # its threads stayed in the parent
            self._native = None
        if self._native is None:
            self._native, self._pid = self._connect(), os.getpid()
        return self._native

    def stream(self, pipeline: Pipeline, *, job: str = "", sharding: str = "dynamic", rank: int | None = None,
               world_size: int | None = None, prefetch_bytes: int = 256 << 20) -> Loader:
        """This rank's stream of a job, which is created or joined.

        job: ranks that name the same job share its records; empty: a job of its own. sharding: "dynamic", "off", "static_file",
        "static_data", "static_file_or_data" or "static_hint". rank, world_size: found out when left out. prefetch_bytes: what may be
        held here and under way. Raises JobConflictError when a job of that name runs with another pipeline.
        """
        rank, world_size = _ranks.resolve(rank, world_size)
        loader = Loader(self._open().stream(pipeline._native, job, sharding, rank, world_size, prefetch_bytes))
        self._loaders.add(loader)
        return loader

    def close(self, timeout: float = 2.0) -> None:
        """Closes its loaders, then the connection (and the cluster itself when it is hr.local())."""
        if self._closed:
            return
        self._closed = True
        if self._native is None or self._pid != os.getpid():
            return
        for loader in list(self._loaders):
            loader.close(timeout)
        self._native.close()

    def __enter__(self):
        self._open()
        return self

    def __exit__(self, *_):
        self.close()


def connect(address: str, timeout: float = 10.0) -> Cluster:
    """The cluster whose dispatcher is at "host:port". UnavailableError when none answers within `timeout` seconds, on first use."""
    return Cluster(lambda: _native.Cluster.connect(address, timeout), address)


def local(workers: int = 1) -> Cluster:
    """A cluster inside this process, for a laptop: the same code, no set-up. Ends with close()."""
    if workers < 1:
        raise ValueError("workers must be 1 or more")
    return Cluster(lambda: _native.Cluster.local(workers), "local")
