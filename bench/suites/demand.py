"""A trainer whose demand changes twice, and the orchestrator's driver `process`: how long until it waits for less than 2% of its time again, and
how often the fleet turns round. Real processes: a dispatcher, an orchestrator with its workers, and this trainer, whose steps sleep as the
workers' do.
"""
import json
import statistics
import subprocess
import sys
import time

from _fleet import Fleet

WINDOW = 5.0  # seconds, the orchestrator's
ROW_SECONDS = 0.01  # a worker, of one thread, makes 100 rows a second
BATCH = 5
DEMANDS = (200, 1000, 300)  # rows a second that the trainer would take
STALL = 0.02
MOST_WINDOWS, MOST_REVERSALS = 3, 1
ORCHESTRATOR = ("--driver", "process", "--min-workers", "1", "--max-workers", "24", "--window", f"{WINDOW}s", "--poll", "500ms",
                "--process.worker-arguments", "--compute-threads,1,--io-threads,1")


def phase(batches, demand, windows):
    """Reads so many windows at that demand; the share of each that was waited."""
    step = BATCH / demand
    stalls = []
    for _ in range(windows):
        began, waited = time.perf_counter(), 0.0
        while (asked := time.perf_counter()) < began + WINDOW:
            next(batches)
            waited += time.perf_counter() - asked
            time.sleep(step)
        stalls.append(waited / (time.perf_counter() - began))
    return stalls


def settled(stalls):
    """The first window, from 1, from which on the trainer does not wait: neither in it nor, mostly, in those that follow."""
    for i, stall in enumerate(stalls):
        if stall < STALL and statistics.median(stalls[i:]) < STALL:
            return i + 1
    return len(stalls) + 1


def fleet_sizes(fleet, since):
    out = subprocess.run([fleet.binary, "top", "--once", "--seconds", "0.2", "--decisions", "200", "--cluster", fleet.address, "--output", "json"],
                         check=True, capture_output=True, text=True)
    changes = [d for d in json.loads(out.stdout)["decisions"] if d["verb"] == "set_workers"]
    return [d["amount"] for d in changes[since:]], len(changes)


def reversals(sizes):
    directions = [b > a for a, b in zip(sizes, sizes[1:]) if a != b]
    return sum(a != b for a, b in zip(directions, directions[1:]))


def measure(hr, context, windows):
    """[(windows to settle, reversals, workers at its end, stalls)] of each demand."""
    out = []
    with Fleet(context.binary("headrace"), []) as fleet:
        fleet.start_bare("orchestrator", "--dispatcher", fleet.address, *ORCHESTRATOR)
        total = int(sum(DEMANDS) * WINDOW * (windows + 4) * 2)
        pipeline = hr.range(total, bytes=8, split_elements=25).step("sleep", seconds=ROW_SECONDS).batch(BATCH)
        with hr.connect(fleet.address) as cluster, cluster.stream(pipeline, job="demand") as loader:
            batches = iter(loader)
            seen, size = 0, 1
            for demand in DEMANDS:
                stalls = phase(batches, demand, windows)
                sizes, seen = fleet_sizes(fleet, seen)
                path = [size, *sizes]
                print(f"demand: {demand} rows/s: workers {path}, waited {[round(s, 3) for s in stalls]}", file=sys.stderr)
                size = path[-1]
                out.append((settled(stalls), reversals(path), size, stalls))
    return out


def run(context):
    sys.path.insert(0, str(context.build / "python"))
    import headrace as hr

    rounds, windows = (1, 8) if context.quick else (3, 16)
    runs = [measure(hr, context, windows) for _ in range(rounds)]
    for i in range(1, len(DEMANDS)):
        name = f"demand from {DEMANDS[i - 1]} to {DEMANDS[i]} rows/s"
        took = [r[i][0] for r in runs]
        value = statistics.median(took)
        yield {"name": f"{name}: windows until waiting is under {STALL:.0%} again", "value": value, "unit": f"windows of {WINDOW:.0f} s",
               "baseline": {"name": "at most", "value": MOST_WINDOWS}, "ratio": MOST_WINDOWS / value, "target": 1.0,
               "ratio_range": (MOST_WINDOWS / max(took), MOST_WINDOWS / min(took))}
        turned = [r[i][1] for r in runs]
        value = statistics.median(turned)
        yield {"name": f"{name}: times that the fleet turned round", "value": value, "unit": "",
               "baseline": {"name": "at most", "value": MOST_REVERSALS}, "ratio": 1.0 if value <= MOST_REVERSALS else MOST_REVERSALS / value, "target": 1.0}
