"""What the Python package costs its trainer: a call of next() whose batch is there already, and the import."""
import os
import statistics
import subprocess
import sys

NEXT = """
import sys, time, headrace as hr
calls = int(sys.argv[1])
with hr.local() as cluster:
    loader = cluster.stream(hr.range(128 * calls, bytes=1024).batch(64))
    batches = iter(loader)
    while loader.stats["held_bytes"] < 64 * 1040 * calls:  # all that will be asked for is here
        time.sleep(0.05)
    times = []
    for _ in range(calls):
        began = time.perf_counter_ns()
        batch = next(batches)
        times.append(time.perf_counter_ns() - began)
print(sorted(times)[calls // 2] / 1e9)
"""
IMPORT = "import time; began = time.perf_counter(); import {}; print(time.perf_counter() - began)"


def seconds(context, program, *args):
    env = {**os.environ, "PYTHONPATH": str(context.build / "python")}
    out = subprocess.run([sys.executable, "-c", program, *map(str, args)], check=True, capture_output=True, text=True, env=env, timeout=120)
    return float(out.stdout)


def run(context):
    repeats = 3 if context.quick else 11
    took = statistics.median(seconds(context, NEXT, 1000) for _ in range(repeats))
    yield {"name": "next() on a ready batch of 64 x 1 KiB, calls", "value": 1 / took, "unit": "1/s", "target": 1 / 20e-6}
    # In turn, so that a busy spell of the machine hits both.
    pairs = [(seconds(context, IMPORT.format("headrace")), seconds(context, IMPORT.format("numpy"))) for _ in range(repeats)]
    ours, numpy = (statistics.median(p[i] for p in pairs) for i in (0, 1))
    yield {"name": "import headrace, imports", "value": 1 / ours, "unit": "1/s", "target": 1 / 0.2}
    yield {"name": "import numpy, imports", "value": 1 / numpy, "unit": "1/s"}
