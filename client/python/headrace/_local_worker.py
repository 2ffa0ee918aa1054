"""A worker on a trainer's own host, for its job alone: a process of its own, started by _local_workers. Not for users."""
from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading

from . import _native

_NICENESS = 10  # the trainer comes first
_DRAIN_SECONDS = 30.0  # what is left then is made elsewhere


def _die_with(parent: int) -> None:
    """The kernel ends this process when the trainer dies, however it does."""
    ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        sys.exit(1)


def main() -> None:
    config = json.loads(sys.argv[1])
    _die_with(config.pop("parent"))
    os.nice(_NICENESS)
    drain, stop = threading.Event(), threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: drain.set())
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    worker = _native.Worker.start(config["dispatcher"], config["listen"], config["job"], sys.executable, config["path"], config["security"])
    draining = 0.0
    while not stop.wait(0.1) and not worker.drained and draining < _DRAIN_SECONDS:
        if drain.is_set():
            if draining == 0:
                worker.drain()
            draining += 0.1
    worker.close(1.0)


if __name__ == "__main__":
    main()
