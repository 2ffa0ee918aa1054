"""The tail of an epoch with one worker five times slower than the others: how long some have nothing to do before the last record is there,
next to the mean time that a split takes. Real processes, a step that sleeps instead of computing.

Workers are looked at some ten times a second. The tail begins with the last look before the first at which one had no lease, so what is
reported is never too short.
"""
import json
import statistics
import subprocess
import sys
import threading
import time

from _fleet import Fleet

WORKERS = 4
SPLITS, ROWS = 24, 200
ROW_SECONDS = 0.005
SLOW = ("--compute-threads", "1", "--io-threads", "1")
FAST = ("--compute-threads", "5", "--io-threads", "1")
SETTLE = 1.0  # seconds: all have leases by then
MEAN = statistics.mean([ROWS * ROW_SECONDS] + [ROWS * ROW_SECONDS / 5] * (WORKERS - 1))  # seconds that a split takes


class Looks:
    """When all workers were last seen at work, before one was first seen without."""

    def __init__(self, fleet):
        self.fleet, self.busy, self.idle = fleet, None, False
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.loop, daemon=True)

    def loop(self):
        while not self.stop.is_set() and not self.idle:
            at = time.perf_counter()
            try:
                workers = self.fleet.workers()
            except (subprocess.CalledProcessError, json.JSONDecodeError):
                continue
            if any(w.get("leases", 0) == 0 for w in workers):
                self.idle = True
            else:
                self.busy = at

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


def tail_seconds(hr, binary, shed_after):
    pipeline = hr.range(SPLITS * ROWS, bytes=8, split_elements=ROWS).step("sleep", seconds=ROW_SECONDS).batch(8)
    with Fleet(binary, [SLOW] + [FAST] * (WORKERS - 1), ("--shed-after", shed_after)) as fleet:
        with hr.connect(fleet.address) as cluster, cluster.stream(pipeline) as loader:
            batches = iter(loader)
            next(batches)
            until = time.perf_counter() + SETTLE
            while time.perf_counter() < until:
                next(batches)
            with Looks(fleet) as looks:
                rows = 0
                for batch in batches:
                    rows = len(batch["index"])
                end = time.perf_counter()
            if not rows or looks.busy is None:
                raise RuntimeError("the epoch ended before all workers were seen at work")
            return end - looks.busy


def run(context):
    sys.path.insert(0, str(context.build / "python"))
    import headrace as hr

    rounds = 1 if context.quick else 4
    for name, shed_after, target in (("epoch tail", "500ms", 1.0), ("epoch tail, no splits cut (shed_after 0)", "0s", None)):
        tails = [tail_seconds(hr, context.binary("headrace"), shed_after) for _ in range(rounds)]
        tails = tails[1:] or tails  # the first is warm-up
        ratios = [MEAN / tail for tail in tails]
        yield {"name": f"{name}: from the first idle worker to the epoch's end, one of {WORKERS} workers 5x slower", "value": statistics.median(tails),
               "unit": "s", "baseline": {"name": "a split, mean", "value": MEAN}, "ratio": statistics.median(ratios), "target": target,
               "ratio_range": (min(ratios), max(ratios))}
