"""Real processes for tests: a dispatcher, workers and trainers, started, watched, killed, and never left behind."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

SOURCE = pathlib.Path(os.environ.get("HEADRACE_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("HEADRACE_BUILD_DIR", SOURCE / "build" / "dev"))
HEADRACE = BUILD / "cli" / "headrace"
SLOW = 5.0 if os.environ.get("HEADRACE_SANITIZED") else 1.0  # time bounds under sanitizers


def shared_data():
    """The real files by other writers, or None where this machine has none."""
    path = pathlib.Path(os.environ.get("HEADRACE_SHARED_DATA", SOURCE.parent / "shared" / "data"))
    return path.resolve() if path.is_dir() else None


class NoAnswer(AssertionError):
    """A command found no dispatcher: it may be dead on purpose, or too busy to take a connection in time."""


def wait_for(condition, seconds, what):
    """Polls until `condition()` is true and returns its value; fails with `what` after `seconds`. No answer is not yet one."""
    end = time.monotonic() + seconds * SLOW
    while True:
        value, why = None, None
        try:
            value = condition()
        except NoAnswer as error:
            why = error
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds * SLOW:.0f} s for {what}") from why
        time.sleep(0.02)


def free_ports(count):
    """Ports of this host that nobody listened on just now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def pause(seconds):
    """For faults at random moments; never to wait for something."""
    time.sleep(seconds)


def run(*args, timeout=60, check=True, **kwargs):
    """Runs `headrace ARGS` to its end; stdout and stderr as text."""
    done = subprocess.run([str(HEADRACE), *map(str, args)], capture_output=True, text=True, timeout=timeout * SLOW, **kwargs)
    if check and done.returncode != 0:
        kind = NoAnswer if "no dispatcher answers" in done.stderr else AssertionError
        raise kind(f"headrace {' '.join(map(str, args))}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


class Role:
    """One `headrace ROLE` process that serves on an address. `prefix`: what its command line starts with (ip netns exec NAME)."""

    def __init__(self, directory, name, *args, env=None, prefix=()):
        self.name = name
        self.log = pathlib.Path(directory) / f"{name}.log"
        self.address_file = pathlib.Path(directory) / f"{name}.address"
        self.address_file.unlink(missing_ok=True)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*prefix, str(HEADRACE), *map(str, args), "--address-file", str(self.address_file)],
                stdout=log, stderr=log, env={**os.environ, **(env or {})})

    def address(self, seconds=20):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError(f"{self.name} ended with {self.process.returncode}:\n{self.log.read_text()}")
            return self.address_file.exists() and self.address_file.read_text().strip()

        return wait_for(ready, seconds, f"{self.name}'s address")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self, signal_number=signal.SIGTERM, within=2.0):
        """Asks it to end; its exit code. Fails when it takes longer than `within` seconds."""
        if self.process.poll() is None:
            self.process.send_signal(signal_number)
            try:
                self.process.wait(timeout=within * SLOW)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"{self.name} did not end within {within} s:\n{self.log.read_text()}") from None
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Cluster:
    """A dispatcher and `workers` workers in processes of their own. Leaves nothing running."""

    def __init__(self, directory, workers=2, dispatcher_args=(), worker_args=(), env=None, journal=None):
        self.directory = pathlib.Path(directory)
        self.env = env
        self.worker_args = worker_args
        self.dispatcher_args = dispatcher_args
        self.journal = pathlib.Path(journal or self.directory / "journal")
        self.address = "127.0.0.1:0"
        self.workers = []
        try:
            self.start_dispatcher()
            for _ in range(workers):
                self.add_worker(wait=False)
            for worker in self.workers:
                worker.address()
        except BaseException:
            self.close()
            raise

    def start_dispatcher(self):
        """The first one, or another over the same journal at the same address."""
        self.dispatcher = Role(self.directory, "dispatcher", "dispatcher", "--listen", self.address, "--journal.directory", self.journal,
                               *self.dispatcher_args, env=self.env)
        self.address = self.dispatcher.address()

    def kill_dispatcher(self):
        self.dispatcher.kill()

    def add_worker(self, *args, wait=True):
        worker = Role(self.directory, f"worker{len(self.workers)}", "worker", "--dispatcher", self.address,
                      "--listen", "127.0.0.1:0", *self.worker_args, *args, env=self.env)
        self.workers.append(worker)
        if wait:
            worker.address()
        return worker

    def jobs(self):
        return json.loads(run("jobs", "--cluster", self.address, "--output", "json").stdout)

    def close(self):
        for role in [*self.workers, self.dispatcher]:
            if role.process.poll() is None:
                role.process.kill()
                role.process.wait()

    def logs(self):
        return "\n".join(f"--- {r.name}\n{r.log.read_text()}" for r in [self.dispatcher, *self.workers])

    def __enter__(self):
        return self

    def __exit__(self, exc_type, *_):
        self.close()
        if exc_type is not None:
            print(self.logs(), file=sys.stderr)
