"""How rows a second grow with workers: real processes, one compute thread each, a step that sleeps instead of computing, so that 32 of them fit
a few cores. Next to what so many times one worker of the same run make."""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))

FLEETS = (1, 2, 4, 8, 16, 32)
ROW_SECONDS = 0.01  # one worker makes 100 rows a second
SPLIT = 25  # rows: a quarter of a second
BATCH = 5


class Fleet:
    """A dispatcher and `size` workers; ended by leaving the context."""

    def __init__(self, binary, size):
        self.binary, self.size, self.processes = binary, size, []
        self.folder = tempfile.TemporaryDirectory(prefix="headrace-scaling-")

    def start(self, name, role, *flags):
        file = pathlib.Path(self.folder.name) / name
        self.processes.append(subprocess.Popen(
            [self.binary, role, "--listen", "127.0.0.1:0", "--address-file", str(file), *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return file

    def __enter__(self):
        file = self.start("dispatcher", "dispatcher", "--journal.driver", "memory")
        deadline = time.monotonic() + 30
        while not (file.exists() and file.read_text().strip()):
            if time.monotonic() > deadline:
                raise RuntimeError("the dispatcher did not start within 30 s")
            time.sleep(0.05)
        self.address = file.read_text().strip()
        for i in range(self.size):
            self.start(f"worker{i}", "worker", "--dispatcher", self.address, "--compute-threads", "1", "--io-threads", "1")
        while self.ready() < self.size:
            if time.monotonic() > deadline + 60:
                raise RuntimeError(f"{self.ready()} of {self.size} workers came within a minute")
            time.sleep(0.2)
        return self

    def ready(self):
        """Workers that the dispatcher knows."""
        out = subprocess.run([self.binary, "workers", "--cluster", self.address, "--output", "json"], check=True, capture_output=True, text=True)
        return len(json.loads(out.stdout) or [])

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
        self.folder.cleanup()


def rows_per_second(hr, fleet, seconds):
    """Over so many seconds in mid-epoch, from when every worker has had time to begin and to fill what is read ahead."""
    settle = 4.0 + 0.1 * fleet.size
    records = int((settle + seconds + 4) * fleet.size / ROW_SECONDS)
    pipeline = hr.range(records, bytes=8, split_elements=SPLIT).step("sleep", seconds=ROW_SECONDS).batch(BATCH)
    with hr.connect(fleet.address) as cluster, cluster.stream(pipeline) as loader:
        batches = iter(loader)
        until = time.perf_counter() + settle
        while time.perf_counter() < until:
            next(batches)
        # From the arrival of one batch to that of another.
        began, rows = time.perf_counter(), 0
        while (now := time.perf_counter()) < began + seconds:
            rows += len(next(batches)["index"])
        return rows / (now - began)


def run(context):
    sys.path.insert(0, str(context.build / "python"))
    import headrace as hr

    rounds, seconds = (1, 2.0) if context.quick else (3, 6.0)
    rates = {size: [] for size in FLEETS}
    for _ in range(rounds):
        for size in FLEETS:
            with Fleet(context.binary("headrace"), size) as fleet:
                rates[size].append(rows_per_second(hr, fleet, seconds))
    for size in FLEETS[1:]:
        ratios = [many / (size * one) for many, one in zip(rates[size], rates[1])]
        value = statistics.median(rates[size])
        yield {"name": f"rows of {ROW_SECONDS * 1e3:.0f} ms asleep, {size} workers", "value": value, "unit": "rows/s",
               "baseline": {"name": f"{size} times one worker", "value": value / statistics.median(ratios)}, "target": 0.95,
               "ratio_range": (min(ratios), max(ratios))}
