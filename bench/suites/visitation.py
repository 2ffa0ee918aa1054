"""What the guarantees cost: throughput of exactly_once next to at_most_once, and of deterministic order next to free; and what a checkpoint
costs the trainer. Records of 1 KiB in batches of 64, a dispatcher and a worker in processes of their own, every batch taken in Python."""
import pathlib
import pickle
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))

# Epochs of more than a second: shorter ones are mostly their beginning and the moments at which a busy machine looks away.
RECORDS, BATCH = 4_000_000, 64
MODES = {
    "at_most_once": {"visitation": "at_most_once"},
    "exactly_once": {},
    "free": {"shuffle": True},
    "deterministic": {"shuffle": True, "ordering": "deterministic"},
}


def epoch_rate(hr, cluster, records, shuffle=False, **options):
    """Records a second, from the first batch to the end of the epoch."""
    pipeline = hr.range(records, bytes=1024, split_elements=max(1, records // 256))
    if shuffle:
        pipeline = pipeline.shuffle(1024)
    with cluster.stream(pipeline.batch(BATCH), rank=0, world_size=1, **options) as loader:
        batches = iter(loader)
        next(batches)
        began, rows = time.perf_counter(), 0
        for batch in batches:
            values = batch["value"] if "value" in batch else next(iter(batch.values()))
            rows += len(values)
            values.flat[0], values.flat[-1]
        return rows / (time.perf_counter() - began)


def rates(hr, cluster, records, rounds):
    found = {name: [] for name in MODES}
    for round_number in range(rounds + 1):
        # There and back: none always comes after the same one.
        order = list(MODES.items())[:: 1 if round_number % 2 else -1]
        for name, options in order:
            rate = epoch_rate(hr, cluster, records, **options)
            if round_number:  # the first is warm-up
                found[name].append(rate)
    return found


def saved_state(hr, cluster):
    """(seconds of a state_dict(), bytes of it) in the midst of an epoch of 1,000 splits, shuffled by 10,000."""
    pipeline = hr.range(1_000_000, bytes=16, split_elements=1000).shuffle(10_000).batch(BATCH)
    with cluster.stream(pipeline, rank=0, world_size=1) as loader:
        if not hasattr(loader, "state_dict"):
            return None
        batches, times = iter(loader), []
        for _ in range(500_000 // BATCH):
            next(batches)
        for _ in range(101):
            next(batches)
            began = time.perf_counter()
            state = loader.state_dict()
            times.append(time.perf_counter() - began)
        return statistics.median(times), len(pickle.dumps(state))


def run(context):
    sys.path.insert(0, str(context.build / "python"))
    import headrace as hr
    import headrace_cluster

    with hr.connect(headrace_cluster.start(context.binary("headrace"))) as cluster:
        found = rates(hr, cluster, RECORDS // (10 if context.quick else 1), 2 if context.quick else 14)
        for ours, other, target in (("exactly_once", "at_most_once", 0.97), ("deterministic", "free", 0.90)):
            # Round by round: the machine's speed drifts, the ratio within a round does not.
            ratios = [a / b for a, b in zip(found[ours], found[other])]
            value = statistics.median(found[ours])
            yield {"name": f"{ours}, 1 KiB records in batches of {BATCH}", "value": value, "unit": "records/s",
                   "baseline": {"name": other, "value": value / statistics.median(ratios)}, "target": target,
                   "ratio_range": (min(ratios), max(ratios))}
        state = saved_state(hr, cluster)
        if state is not None:
            seconds, size = state
            yield {"name": "state_dict() amid 1,000 splits, shuffled by 10,000, calls", "value": 1 / seconds, "unit": "1/s", "target": 1000}
            yield {"name": "states of that size in 64 KiB", "value": (64 << 10) / size, "unit": "", "target": 1}
