"""A trainer for tests: reads epochs of a job and writes down what it got.

trainer.py ADDRESS PIPELINE.yaml OUT.json --job J --field F [--rank R --world N --epochs E --sharding S --sleep SECONDS ...]
OUT.json: a list per epoch of the hex digests of field F of every record, in the order of arrival.
"""
import argparse
import hashlib
import json
import os
import time

import numpy as np

import headrace as hr


def digests(value):
    """One digest per record of a batch's field; or of the one element of an unbatched stream."""
    if isinstance(value, np.ndarray):
        rows = value if value.ndim and value.dtype == object else np.atleast_1d(value)
        return [hashlib.sha1(r if isinstance(r, bytes) else np.ascontiguousarray(r).tobytes()).hexdigest() for r in rows]
    if isinstance(value, bytes):
        return [hashlib.sha1(value).hexdigest()]
    return [hashlib.sha1(bytes(r)).hexdigest() for r in value]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("pipeline")
    parser.add_argument("out")
    parser.add_argument("--job", required=True)
    parser.add_argument("--field", required=True)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--world", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--sharding", default="dynamic")
    parser.add_argument("--sleep", type=float, default=0, help="seconds that each batch takes the trainer")
    parser.add_argument("--cache", default="pipeline")
    parser.add_argument("--said", type=int, default=0, help="how many epochs it says that it will read")
    parser.add_argument("--hold", help="a file; the second epoch is begun once it is there")
    args = parser.parse_args()

    epochs = []
    with hr.connect(args.address) as cluster:
        loader = cluster.stream(hr.from_yaml(args.pipeline), job=args.job, sharding=args.sharding, rank=args.rank,
                                world_size=args.world, cache=args.cache, epochs=args.said)
        for epoch in range(args.epochs):
            seen = []
            epochs.append(seen)
            while epoch == 1 and args.hold and not os.path.exists(args.hold):
                time.sleep(0.02)
            loader.set_epoch(epoch)
            try:
                batches = iter(loader)
            except hr.EpochOverError:
                continue  # the other ranks finished it before this one was up
            for batch in batches:
                seen += digests(batch[args.field])
                if args.sleep:
                    time.sleep(args.sleep)
        loader.close()
    with open(args.out, "w") as out:
        json.dump(epochs, out)


if __name__ == "__main__":
    main()
