"""Epochs that come from a worker's cache, next to what they are bound by: memcpy of the same frames, direct reads of the same files. In turns."""
import mmap
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))

RECORD = 64 << 10
BATCH = 16
CHUNK = 2 << 20


def epoch_rate(loader):
    """Bytes a second of one epoch from its first batch on (what it takes to begin one is no matter of the cache), and its bytes."""
    began, first, seen = None, 0, 0
    for batch in loader:
        view = batch["data"]
        seen += view.nbytes
        assert int(view[0, 0]) + int(view[-1, -1]) >= 0
        if began is None:
            began, first = time.perf_counter(), seen
    return (seen - first) / (time.perf_counter() - began), seen


def memcpy_rate(source, target):
    """A reader that copies each batch of a dataset in memory to where the trainer reads it."""
    step = RECORD * BATCH
    began = time.perf_counter()
    for at in range(0, source.nbytes, step):
        np.copyto(target[:step], source[at:at + step])
    return source.nbytes / (time.perf_counter() - began)


def direct_rate(files):
    """Front to back, aligned, past the page cache."""
    buffer = mmap.mmap(-1, CHUNK)
    began = time.perf_counter()
    total = 0
    for path in files:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
        try:
            at = 0
            while got := os.preadv(fd, [buffer], at):
                at += got
            total += at
        finally:
            os.close(fd)
    return total / (time.perf_counter() - began)


def rounds_of(context, tier, flags, baseline):
    """Pairs of (our rate, the baseline's), the first epoch left out."""
    sys.path.insert(0, str(context.build / "python"))
    import headrace as hr
    import headrace_cluster

    records = 2048 if context.quick else 8192  # 512 MiB
    pipeline = hr.range(records, bytes=RECORD, split_elements=512).cache(tier=tier).batch(BATCH)
    pairs = []
    with hr.connect(headrace_cluster.start(context.binary("headrace"), *flags), transport="shm") as cluster:
        with cluster.stream(pipeline, job=f"cache-{tier}") as loader:
            for _ in range(2):  # fills, then warms up
                _, seen = epoch_rate(loader)
                time.sleep(1)  # what was handed to the disk's writer is written
            assert seen == records * RECORD
            for _ in range(3 if context.quick else 9):
                pairs.append((epoch_rate(loader)[0], baseline(records)))
    return pairs


def row(name, against, pairs, target):
    ratio = statistics.median(ours / theirs for ours, theirs in pairs)
    ours = statistics.median(o for o, _ in pairs)
    return {"name": name, "value": ours / 1e9, "unit": "GB/s", "baseline": {"name": against, "value": ours / ratio / 1e9}, "target": target}


def run(context):
    source = np.ones((2048 if context.quick else 8192) * RECORD, np.uint8)
    target = np.ones(RECORD * BATCH, np.uint8)
    pairs = rounds_of(context, "memory", ["--cache.memory-bytes", "2GiB"], lambda _: memcpy_rate(source, target))
    yield row("second epoch from the memory tier, over shm", "memcpy of the same batches", pairs, 0.6)
    del source

    folder = pathlib.Path(tempfile.mkdtemp(prefix="cache-", dir=context.data))
    try:
        flags = ["--cache.disk.path", str(folder), "--cache.disk.bytes", "2GiB"]
        pairs = rounds_of(context, "disk", flags, lambda _: direct_rate(sorted(folder.glob("worker-*/*.hrseg"))))
        yield row("second epoch from the disk tier, over shm", "aligned direct reads of the same files", pairs, 0.8)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
