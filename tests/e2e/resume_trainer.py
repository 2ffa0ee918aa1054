"""A trainer for tests of checkpoints: reads a job from where saved states say, perhaps saves its own, and ends as it is told.

resume_trainer.py ADDRESS PIPELINE.yaml OUT.pickle --job J --field F [--rank R --world N] [--load STATES.pickle] [--batches K]
    [--epochs E] [--end kill|close] [--on-client-loss wait|reassign]
Stops after K batches of the first epoch that it reads (left out: reads E epochs whole); a batch that does not come within 3 s counts as the last.
OUT.pickle: {"got": [[digest, ...] per epoch], "epochs": [n, ...], "state": the state at the end, "microseconds": what saving took}.
"""
import argparse
import os
import pickle
import signal
import time

import headrace as hr
from trainer import digests


def read(loader, args, out):
    for epoch in range(args.epochs):
        seen = []
        if not args.load:
            loader.set_epoch(epoch)  # another rank may be through with it already
        try:
            batches = iter(loader)
        except hr.EpochOverError:
            continue
        out["epochs"].append(loader.epoch)
        out["got"].append(seen)
        count = 0
        while args.batches is None or count < args.batches:
            try:
                batch = batches.take(None if args.batches is None else 3.0)
            except TimeoutError:
                return
            if batch is None:
                break
            seen += digests(batch[args.field])
            count += 1
        if args.batches is not None:
            return


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("pipeline")
    parser.add_argument("out")
    parser.add_argument("--job", required=True)
    parser.add_argument("--field", required=True)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--world", type=int, default=1)
    parser.add_argument("--load")
    parser.add_argument("--batches", type=int)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--end", default="kill")
    parser.add_argument("--on-client-loss")
    args = parser.parse_args()

    out = {"got": [], "epochs": []}
    cluster = hr.connect(args.address)
    loader = cluster.stream(hr.from_yaml(args.pipeline), job=args.job, rank=args.rank, world_size=args.world,
                            on_client_loss=args.on_client_loss)
    if args.load:
        with open(args.load, "rb") as file:
            loader.load_state_dict(pickle.load(file))
    read(loader, args, out)
    begin = time.perf_counter()
    out["state"] = loader.state_dict()
    out["microseconds"] = (time.perf_counter() - begin) * 1e6
    assert loader.state_dict() == out["state"], "saving changed something"
    with open(args.out + ".part", "wb") as file:
        pickle.dump(out, file)
    os.rename(args.out + ".part", args.out)
    if args.end == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    cluster.close()


if __name__ == "__main__":
    main()
