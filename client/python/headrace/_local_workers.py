"""Workers on a trainer's own host, for its job alone: a fixed number, or as many as its spare cores carry."""
from __future__ import annotations

import json
import logging
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Callable

from ._spare_cores import Rule, Window

_log = logging.getLogger("headrace")
_WINDOW_SECONDS = 5.0
_LOOPBACK = ("localhost", "127.", "[::1]", "unix:")


class _IdleCores:
    """Of this host's cores that this process may use, how many had nothing to do since the last look."""

    def __init__(self) -> None:
        self.last = self._read()

    @staticmethod
    def _read() -> tuple[int, int]:
        with open("/proc/stat") as f:
            counts = [int(word) for word in f.readline().split()[1:9]]
        return counts[3] + counts[4], sum(counts)  # idle and waiting for disks; all

    def __call__(self) -> float:
        before, self.last = self.last, self._read()
        idle, total = (now - then for now, then in zip(self.last, before))
        share = idle / total if total > 0 else 0.0
        return min(share * (os.cpu_count() or 1), len(os.sched_getaffinity(0)))


class LocalWorkers:
    """Owned by a loader: start() when it begins to read, close() with it. A thread looks at the loader's step time every few seconds
    and starts and drains processes; it is joined by close(). Workers end with this process, however it ends."""

    def __init__(self, number: int | str, address: str, job: str, security: list[str], stats: Callable[[], dict[str, Any]],
                 window_seconds: float = _WINDOW_SECONDS, spare_cores: Callable[[], float] | None = None):
        cores = len(os.sched_getaffinity(0))
        self._fixed = None if number == "auto" else int(number)
        self._rule = Rule(most=max(1, cores - 1))
        self._address, self._job, self._security, self._stats = address, job, security, stats
        self._window_seconds = window_seconds
        self._spare_cores = spare_cores or _IdleCores()
        self._running: list[subprocess.Popen[bytes]] = []
        self._leaving: list[subprocess.Popen[bytes]] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._deaths = 0
        self._patience = 1.0

    @property
    def count(self) -> int:
        """How many run now, those that are leaving not counted."""
        return len(self._running)

    def start(self) -> None:
        """Idempotent."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="headrace-local-workers", daemon=True)
            self._thread.start()

    def close(self, timeout: float) -> None:
        """Tells all to leave at once, and waits at most so many seconds for them; what is left is killed. Idempotent."""
        self._patience = timeout
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout + 1.0)

    def _run(self) -> None:
        # The kernel ends the workers with the thread that started them, so this one sees them off.
        try:
            self._loop()
        finally:
            self._see_off(self._running + self._leaving)

    def _see_off(self, workers: list[subprocess.Popen[bytes]]) -> None:
        deadline = time.monotonic() + self._patience
        for worker in workers:
            worker.send_signal(signal.SIGINT)
        for worker in workers:
            try:
                worker.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()

    def _loop(self) -> None:
        before = self._stats()
        while not self._stop.is_set():
            self._carry_out(self._fixed if self._fixed is not None else self._rule.workers)
            if self._stop.wait(self._window_seconds):
                return
            now = self._stats()
            steps = now["steps"] - before["steps"]
            own, waited = (now[key] - before[key] for key in ("step_seconds", "wait_seconds"))
            window = Window(steps, own / steps if steps > 0 else 0.0, waited / (own + waited) if own + waited > 0 else 0.0, self._spare_cores())
            before = now
            if self._fixed is not None:
                continue
            was = self._rule.workers
            self._rule, why = self._rule.decide(window)
            if why:
                _log.info("job '%s': %s: local workers %d -> %d", self._job, why, was, self._rule.workers)

    def _carry_out(self, wanted: int) -> None:
        self._leaving = [w for w in self._leaving if w.poll() is None]
        dead = [w for w in self._running if w.poll() is not None]
        if dead:
            self._deaths += len(dead)
            self._running = [w for w in self._running if w not in dead]
            _log.warning("job '%s': a local worker ended by itself (exit code %s)%s", self._job, dead[0].returncode,
                         "; no others are started" if self._deaths > 3 else "")
        if self._deaths > 3:
            return
        while len(self._running) > wanted:
            worker = self._running.pop()
            worker.terminate()  # it finishes what it has
            self._leaving.append(worker)
        while len(self._running) < wanted:
            self._running.append(self._spawn())

    def _spawn(self) -> subprocess.Popen[bytes]:
        package = str(pathlib.Path(__file__).resolve().parents[1])
        config = {"parent": os.getpid(), "dispatcher": self._address, "job": self._job, "security": self._security,
                  "listen": "127.0.0.1:0" if self._address.startswith(_LOOPBACK) else "0.0.0.0:0",
                  "path": [p or os.getcwd() for p in sys.path]}
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))}
        return subprocess.Popen([sys.executable, "-m", "headrace._local_worker", json.dumps(config)], env=environment, stdin=subprocess.DEVNULL)
