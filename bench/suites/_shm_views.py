"""Batches of 1 MiB from a worker process to NumPy views in this one, through shared memory, next to memcpy: in turns, pair by pair."""
import statistics
import time

import _local
import numpy as np

BATCH = 1 << 20
RECORD = 64 << 10


def memcpy_rate(source, target):
    began = time.perf_counter()
    np.copyto(target, source)
    return source.nbytes / (time.perf_counter() - began)


def run(context):
    rounds = 3 if context.quick else 9
    batches = 300 if context.quick else 1500
    # Larger than any cache, as batches in flight are; touched, so that no page is new.
    source, target = (np.ones(256 << 20, np.uint8) for _ in range(2))

    def pipeline(hr):
        return hr.range(batches * BATCH // RECORD * (rounds + 1), bytes=RECORD).batch(BATCH // RECORD)

    ours, memory = [], []
    with _local.loader(context, pipeline, transport="shm", job="shm-views") as loader:
        views = iter(loader)
        for _ in range(rounds + 1):  # the first is warm-up
            began = time.perf_counter()
            seen = checked = 0
            for _ in range(batches):
                batch = next(views, None)
                if batch is None:
                    break
                view = batch["data"]
                seen += view.nbytes
                checked += int(view[0, 0]) + int(view[-1, -1])
            ours.append(seen / (time.perf_counter() - began))
            memory.append(memcpy_rate(source, target))
    ratio = statistics.median(o / m for o, m in zip(ours[1:], memory[1:]))
    rate = statistics.median(ours[1:])
    yield {"name": "shm, records to NumPy view, batches of 1 MiB", "value": rate / 1e9, "unit": "GB/s",
           "baseline": {"name": "memcpy, cold", "value": rate / ratio / 1e9}, "target": 0.50}
