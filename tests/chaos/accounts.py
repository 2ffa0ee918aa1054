"""What became of every record of a run, by what its trainers wrote down."""
import collections

from cluster import CLIENT_TIMEOUT

# How much older than it should be the last word of a trainer may be that a dispatcher heard: a beat, its retries, a loaded machine.
SLACK = 1.0
# After an outage, until a trainer gets through again.
RECONNECT = 2.0


class Failure(Exception):
    pass


def batches_of(trainer):
    """(epoch, time, records) of each batch that the rank was handed, in order."""
    found = []
    for log in trainer.logs:
        for line in log.read_text().splitlines():
            if line != "done":
                epoch, at, *names = line.split(" ")
                found.append((int(epoch), int(at) / 1e9, names))
    return found


def sequence_of(cluster):
    """The global batches of each epoch, in order."""
    by_rank = [collections.defaultdict(list) for _ in cluster.trainers]
    for rank, trainer in cluster.trainers.items():
        for epoch, _, names in batches_of(trainer):
            by_rank[rank][epoch].append(names)
    epochs = []
    for epoch in range(cluster.plan.epochs):
        parts = [batches[epoch] for batches in by_rank]
        if len({len(part) for part in parts}) != 1:
            raise Failure(f"epoch {epoch}: ranks differ in how many batches they got: {[len(part) for part in parts]}")
        epochs.append([[name for part in batch for name in part] for batch in zip(*parts)])
    return epochs


def check_sequence(cluster, wanted):
    for epoch, batches in enumerate(sequence_of(cluster)):
        for number, (got, want) in enumerate(zip(batches, wanted[epoch])):
            if got != want:
                raise Failure(f"epoch {epoch}: batch {number} is {got[:3]}..., undisturbed it is {want[:3]}...")
        if len(batches) != len(wanted[epoch]):
            raise Failure(f"epoch {epoch}: {len(batches)} batches, undisturbed {len(wanted[epoch])}")


def last_heard(lost_at, outages):
    """The earliest moment from which on a trainer that was taken for lost may have handed over what the dispatcher never heard of: its
    time-out before, and before the outages that reach there."""
    begin = lost_at - CLIENT_TIMEOUT - SLACK
    for outage_begin, outage_end in sorted(outages, reverse=True):
        if outage_begin < begin + SLACK and begin < outage_end + RECONNECT:
            begin = outage_begin - SLACK
    return begin


def may_double(cluster):
    """Per epoch, how often a record may come again: once for each time that a trainer was taken for lost, its share was given to others,
    and it had been handed the record since it was last heard of."""
    found = collections.defaultdict(collections.Counter)
    for lost_at, epoch, rank in cluster.losses():
        begin = last_heard(lost_at, [(b, e) for r, b, e in cluster.outages if r in (None, rank)])
        for in_epoch, at, names in batches_of(cluster.trainers[rank]):
            if in_epoch == epoch and begin <= at <= lost_at + SLACK:
                found[epoch].update(names)
    return found


def check(cluster, workload):
    """Fails when a record is missing or doubled that must not be. The numbers of those that may be."""
    plan = cluster.plan
    seen = collections.defaultdict(collections.Counter)
    largest = killed = 0
    for trainer in cluster.trainers.values():
        killed += sum(trainer.killed)
        for epoch, _, names in batches_of(trainer):
            seen[epoch].update(names)
            largest = max(largest, len(names))
    # Batches that a killed trainer had been handed and may not have written down.
    in_hand = killed * largest
    missing_all = doubled_all = 0
    allowed = may_double(cluster)
    for epoch in range(plan.epochs):
        missing, doubled = differences(workload, epoch, seen[epoch], in_hand)
        missing_all += sum(missing.values())
        doubled_all += sum(doubled.values())
        if plan.visitation != "at_most_once" and sum(missing.values()) > in_hand:
            raise Failure(f"epoch {epoch}: {sum(missing.values())} missing, like {list(missing)[:3]}")
        # Counting steps are made again from the start, what a lost trainer had with it.
        if plan.visitation == "at_most_once" and not workload.counted:
            beyond = doubled
        elif plan.visitation == "at_least_once":
            beyond = {}
        else:
            beyond = doubled - allowed[epoch]
        if beyond:
            raise Failure(f"epoch {epoch}: {sum(beyond.values())} doubled, like {list(beyond)[:3]}; {sum(doubled.values())} in all, "
                          f"{sum(allowed[epoch].values())} may be; lost: {cluster.losses()}")
    return missing_all, doubled_all


def differences(workload, epoch, have, in_hand):
    """(missing, doubled) of an epoch."""
    if workload.counted:
        doubled = have - collections.Counter({name: 1 for name in have})
        if sum(have.values()) - sum(doubled.values()) < workload.records - in_hand:
            raise Failure(f"epoch {epoch}: {sum(have.values())} of {workload.records} taken")
        return collections.Counter(), doubled
    unknown = [name for name in have if name not in workload.expected]
    if unknown:
        raise Failure(f"epoch {epoch}: records that there are not: {unknown[:3]}")
    return workload.expected - have, have - workload.expected
