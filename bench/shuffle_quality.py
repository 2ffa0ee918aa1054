#!/usr/bin/env python3
"""How well an ordered epoch is mixed, next to a full shuffle and to a free epoch of one worker: a model of the two orders in NumPy.

    bench/shuffle_quality.py [--splits N] [--records N] [--buffer N] [--window SPLITS] [--batch N]

Records are numbered as they lie in the files. Three figures, each 1.00 for a full shuffle and near 0 for none: how far records go
from their place (mean of |place - number|), how far apart neighbours come from (mean of |number - next number|), and how many splits a
batch holds records of. The model of an ordered epoch is docs/design/022; tests/e2e/test_ordered.py reads the real one.
"""
import argparse

import numpy as np


def buffered(records, size, rng):
    """The `shuffle` step: a full buffer sends a random row out for each that enters."""
    held, out = list(records[:size]), []
    for record in records[size:]:
        at = rng.integers(len(held))
        out.append(held[at])
        held[at] = record
    rng.shuffle(held)
    return np.array(out + held)


def free(splits, records, buffer, rng):
    return buffered(np.arange(splits * records), buffer, rng)


def ordered(splits, records, buffer, window, batch, lanes, rng):
    lanes = min(lanes, splits)
    order = rng.permutation(splits)
    batches, rest = [[] for _ in range(lanes)], [np.empty(0, np.int64) for _ in range(lanes)]
    for i, first in enumerate(range(0, splits, window)):
        rows = np.concatenate([np.arange(s * records, (s + 1) * records) for s in order[first:first + window]])
        rows = buffered(rows, min(buffer, -(-4 * buffer // lanes)), rng)
        lane, whole = i % lanes, len(rows) // batch * batch
        batches[lane] += np.split(rows[:whole], max(1, whole // batch)) if whole else []
        rest[lane] = np.concatenate([rest[lane], rows[whole:]])
        if len(rest[lane]) >= batch:
            batches[lane].append(rest[lane][:batch])
            rest[lane] = rest[lane][batch:]
    out = []
    for turn in range(max(map(len, batches))):
        out += [b[turn] for b in batches if turn < len(b)]
    return np.concatenate(out + rest)


def figures(order, records, batch):
    n = len(order)
    batches = order[:n // batch * batch].reshape(-1, batch) // records
    return [np.abs(np.arange(n) - order).mean(), np.abs(np.diff(order)).mean(), np.mean([len(np.unique(b)) for b in batches])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=256)
    parser.add_argument("--records", type=int, default=1000, help="in a split")
    parser.add_argument("--buffer", type=int, default=10000)
    parser.add_argument("--window", type=int, default=16, help="splits")
    parser.add_argument("--batch", type=int, default=64)
    args = parser.parse_args()
    rng = np.random.default_rng(1)
    n = args.splits * args.records
    full = figures(rng.permutation(n), args.records, args.batch)
    rows = [("free, one worker", free(args.splits, args.records, args.buffer, rng))]
    for lanes in (1, 4, 16, 64):
        rows.append((f"deterministic, {lanes} lanes",
                     ordered(args.splits, args.records, args.buffer, args.window, args.batch, lanes, rng)))
    print(f"{n} records in {args.splits} splits, buffer {args.buffer}, windows of {args.window} splits, batches of {args.batch}")
    print(f"{'':26}{'displacement':>14}{'neighbours':>14}{'splits a batch':>16}")
    for name, order in rows:
        assert len(np.unique(order)) == n
        print(f"{name:26}" + "".join(f"{a / b:14.2f}" for a, b in zip(figures(order, args.records, args.batch), full)))


if __name__ == "__main__":
    main()
