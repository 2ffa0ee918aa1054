"""A trainer that writes down every record in the moment that it is handed over, so that the truth survives its death.

trainer.py ADDRESS WORKLOAD.json LOG --job J --rank R --world N --epochs E [--sharding S --visitation V --on-client-loss L --ordering O]
           [--sleep SECONDS] [--save PREFIX --every BATCHES] [--restore FILE]
LOG: a line "epoch nanoseconds identity identity ..." for each batch, by one write, times as of the system's clock; at last "done".
PREFIX.0, PREFIX.1, ...: checkpoints: (epoch, bytes of LOG by then, state). FILE: the states of all ranks to go on from.
"""
import argparse
import json
import os
import pickle
import time

import headrace as hr
import workloads


# Small, so that lanes have several windows.
LANES = {"ordered_lanes": 4, "ordered_window_bytes": 16 << 10}


class Checkpoints:
    def __init__(self, prefix, log):
        self.prefix, self.log, self.number = prefix, log, 0

    def save(self, loader):
        state = loader.state_dict()
        path = f"{self.prefix}.{self.number}"
        with open(path + ".new", "wb") as out:
            pickle.dump((state["epoch"], os.fstat(self.log).st_size, state), out)
        os.rename(path + ".new", path)
        self.number += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("workload")
    parser.add_argument("log")
    parser.add_argument("--job", required=True)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--world", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--sharding", default="dynamic")
    parser.add_argument("--visitation", default="exactly_once")
    parser.add_argument("--on-client-loss", default=None)
    parser.add_argument("--ordering", default="free")
    parser.add_argument("--sleep", type=float, default=0, help="seconds that each batch takes the trainer")
    parser.add_argument("--save", default=None)
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--restore", default=None)
    args = parser.parse_args()

    with open(args.workload) as file:
        workload = json.load(file)
    log = os.open(args.log, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    with hr.connect(args.address, timeout=30) as cluster:
        loader = cluster.stream(hr.from_yaml(workload["pipeline"]), job=args.job, sharding=args.sharding, rank=args.rank,
                                world_size=args.world, visitation=args.visitation, on_client_loss=args.on_client_loss,
                                ordering=args.ordering, **(LANES if args.ordering == "deterministic" else {}))
        checkpoints = Checkpoints(args.save, log) if args.save else None
        first = begun = 0
        if args.restore:
            with open(args.restore, "rb") as file:
                states = pickle.load(file)
            loader.load_state_dict(states)
            first = states[0]["epoch"]
            begun = states[0]["elements"] if args.ordering == "deterministic" else 0
        elif checkpoints:
            checkpoints.save(loader)
        for epoch in range(first, args.epochs):
            if epoch != first or not args.restore:
                loader.set_epoch(epoch)
            try:
                batches = iter(loader)
            except hr.EpochOverError:
                continue  # the other ranks finished it before this one was up
            # Ranks of an ordered epoch save after the same batches, whatever they were begun with.
            for number, batch in enumerate(batches, 1 + (begun if epoch == first else 0)):
                names = " ".join(workloads.identities(workload["fields"], batch))
                os.write(log, f"{epoch} {time.time_ns()} {names}\n".encode())
                if checkpoints and number % args.every == 0:
                    checkpoints.save(loader)
                if args.sleep:
                    time.sleep(args.sleep)
        loader.close()
    os.write(log, b"done\n")


if __name__ == "__main__":
    main()
