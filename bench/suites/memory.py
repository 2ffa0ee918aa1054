"""Resident memory over ten epochs with a consumer that is slower than the worker: the slope per epoch, of this process and of the worker.

The epochs before them are warm-up: pools and queues come to their byte limits only when chance has filled all of them at once, and the
allocator gives freed pages back after 10 to 20 seconds, as many epochs as that takes."""
import os
import pathlib
import statistics
import time

import _local

WARM = 25
EPOCHS = 10


def resident(pid):
    """Bytes of its own and shared pages, not of files."""
    fields = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    return sum(int(fields[key].split()[0]) << 10 for key in ("RssAnon", "RssShmem"))


def slope(values):
    """Least squares, and its standard error."""
    n = len(values)
    xs = [i - (n - 1) / 2 for i in range(n)]
    mean = statistics.fmean(values)
    spread = sum(x * x for x in xs)
    rise = sum(x * (v - mean) for x, v in zip(xs, values)) / spread
    residual = sum((v - mean - rise * x) ** 2 for x, v in zip(xs, values)) / max(n - 2, 1)
    return rise, (residual / spread) ** 0.5


def workers(ours):
    """Processes of `headrace worker` that this one started."""
    for status in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = status.read_bytes().split(b"\0")
            parent = (status.parent / "stat").read_text().rsplit(")", 1)[1].split()[1]
        except OSError:
            continue
        if int(parent) == ours and b"worker" in words:
            yield int(status.parent.name)


def run(context):
    batches = 100 if context.quick else 400

    def pipeline(hr):
        return hr.range(batches * 16, bytes=64 << 10).batch(16)

    with _local.loader(context, pipeline, job="memory", prefetch_bytes=32 << 20) as loader:
        pids = {"client": os.getpid(), "worker": max(workers(os.getpid()))}
        seen = {name: [] for name in pids}
        for _ in range(WARM + EPOCHS):
            for batch in loader:
                time.sleep(0.002)
                del batch
            for name, pid in pids.items():
                seen[name].append(resident(pid))
    for name, values in seen.items():
        rise, error = slope(values[WARM:])
        noise = max(3 * error, 64 << 10)
        yield {"name": f"RSS slope over {EPOCHS} epochs, slow consumer, {name}", "value": rise / 2**20, "unit": "MiB/epoch",
               "baseline": {"name": "noise", "value": noise / 2**20}, "ratio": noise / max(abs(rise), 1.0), "target": 1.0,
               "resident": values}
