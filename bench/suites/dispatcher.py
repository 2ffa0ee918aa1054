"""What a dispatcher with a durable journal carries: simulated workers and clients over real gRPC on loopback, on the same cores."""
import json
import subprocess


def measure(context, *args):
    out = subprocess.run([context.binary("bench_dispatcher"), "--directory", str(context.data / "journal"), *map(str, args)],
                         check=True, stdout=subprocess.PIPE, text=True)  # what goes wrong shows on standard error
    return json.loads(out.stdout)


def at_most(name, value, unit, limit):
    return {"name": name, "value": value, "unit": unit, "baseline": {"name": "at most", "value": limit}, "ratio": limit / max(value, 1e-9),
            "target": 1.0}


def run(context):
    quick = context.quick
    workers, clients, seconds = (200, 50, 3) if quick else (2000, 500, 20)
    beats = measure(context, "--workers", workers, "--clients", clients, "--seconds", seconds, "--threads", 2, "--splits", 10_000_000, "beats")
    assert beats["failed"] == 0, beats
    yield at_most(f"p99 of a heartbeat, {workers} workers and {clients} clients, one a second", beats["beats"]["p99_ms"], "ms", 50)
    yield {"name": "p50 of a heartbeat", "value": beats["beats"]["p50_ms"], "unit": "ms"}
    for journal in ("file", "memory"):
        rate = measure(context, "--journal", journal, "--threads", 4, "--batch", 1024, "--seconds", 2 if quick else 8,
                       "--splits", 10_000_000, "retirement")  # less than an epoch
        yield {"name": f"small splits leased, reported and retired, journal {journal}", "value": rate["splits_per_second"], "unit": "splits/s",
               "target": 200_000 if journal == "file" else None}
    for files in (0, 100_000) if quick else (0, 10_000, 10_000_000):
        splits = 1_000_000 if quick else 10_000_000
        what = f"{splits} splits of {files} files" if files else f"{splits} splits of a range"
        found = measure(context, "--splits", splits, "--files", files, "registration")
        yield at_most(f"{what}: register", found["register_seconds"], "s", 60)
        yield at_most(f"{what}: memory", found["peak_mebibytes"], "MiB", 2048)
        yield at_most(f"{what}: restart by its events", found["restart_by_events_seconds"], "s", 30)
        yield at_most(f"{what}: restart by a snapshot", found["restart_by_snapshot_seconds"], "s", 30)
