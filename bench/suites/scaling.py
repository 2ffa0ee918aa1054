"""How rows a second grow with workers: real processes, one compute thread each, a step that sleeps instead of computing, so that 32 of them fit
a few cores. Next to what so many times one worker of the same run make."""
import statistics
import sys
import time

from _fleet import Fleet

FLEETS = (1, 2, 4, 8, 16, 32)
ROW_SECONDS = 0.01  # one worker makes 100 rows a second
SPLIT = 25  # rows: a quarter of a second
BATCH = 5
WORKER = ("--compute-threads", "1", "--io-threads", "1")


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
            with Fleet(context.binary("headrace"), [WORKER] * size) as fleet:
                rates[size].append(rows_per_second(hr, fleet, seconds))
    for size in FLEETS[1:]:
        ratios = [many / (size * one) for many, one in zip(rates[size], rates[1])]
        value = statistics.median(rates[size])
        yield {"name": f"rows of {ROW_SECONDS * 1e3:.0f} ms asleep, {size} workers", "value": value, "unit": "rows/s",
               "baseline": {"name": f"{size} times one worker", "value": value / statistics.median(ratios)}, "target": 0.95,
               "ratio_range": (min(ratios), max(ratios))}
