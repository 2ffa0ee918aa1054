"""Real processes on this host, a dispatcher and its workers, for the suites that measure many workers."""
import json
import pathlib
import subprocess
import sys
import tempfile
import time


class Fleet:
    """A dispatcher and a worker for each item of `workers`, its flags; ended by leaving the context."""

    def __init__(self, binary, workers, dispatcher=()):
        self.binary, self.flags, self.dispatcher, self.processes = binary, workers, dispatcher, []
        self.size = len(workers)
        self.folder = tempfile.TemporaryDirectory(prefix="headrace-fleet-")

    def start(self, name, role, *flags):
        file = pathlib.Path(self.folder.name) / name
        self.start_bare(role, "--listen", "127.0.0.1:0", "--address-file", str(file), *flags)
        return file

    def start_bare(self, role, *flags):
        self.processes.append(subprocess.Popen([self.binary, role, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def __enter__(self):
        file = self.start("dispatcher", "dispatcher", "--journal.driver", "memory", *self.dispatcher)
        deadline = time.monotonic() + 30
        while not (file.exists() and file.read_text().strip()):
            if time.monotonic() > deadline:
                raise RuntimeError("the dispatcher did not start within 30 s")
            time.sleep(0.05)
        self.address = file.read_text().strip()
        for i, flags in enumerate(self.flags):
            self.start(f"worker{i}", "worker", "--dispatcher", self.address, *flags)
        while len(self.workers()) < self.size:
            if time.monotonic() > deadline + 60:
                raise RuntimeError(f"{len(self.workers())} of {self.size} workers came within a minute")
            time.sleep(0.2)
        return self

    def workers(self):
        """What the dispatcher knows of each."""
        out = subprocess.run([self.binary, "workers", "--cluster", self.address, "--output", "json"], check=True, capture_output=True, text=True)
        return json.loads(out.stdout) or []

    def __exit__(self, *_):
        for process in reversed(self.processes):
            if process.args[1] == "orchestrator":  # which has workers of its own to end
                process.terminate()
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    print("the orchestrator did not end within 20 s", file=sys.stderr)
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
        self.folder.cleanup()
