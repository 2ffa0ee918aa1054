"""A trainer of an ordered job, for tests: writes down each batch that it got.

ordered_trainer.py ADDRESS PIPELINE.yaml OUT.json --job J --field F [--rank R --world N --sleep SECONDS] [--stop-after N] [--states STATES.json]
OUT.json: {"batches": the digests of field F of each batch's records, in order, "state": its state_dict at the end, pickled, in hex}.
STATES.json: a list of such states to go on from.
"""
import argparse
import json
import pickle
import time

import headrace as hr
from trainer import digests


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("pipeline")
    parser.add_argument("out")
    parser.add_argument("--job", required=True)
    parser.add_argument("--field", required=True)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--world", type=int, default=1)
    parser.add_argument("--epoch", type=int, default=0)
    parser.add_argument("--lanes", type=int, default=0)
    parser.add_argument("--window-bytes", type=int, default=0)
    parser.add_argument("--sleep", type=float, default=0)
    parser.add_argument("--stop-after", type=int, default=0)
    parser.add_argument("--states", default="")
    args = parser.parse_args()

    batches = []
    with hr.connect(args.address) as cluster:
        loader = cluster.stream(hr.from_yaml(args.pipeline), job=args.job, rank=args.rank, world_size=args.world,
                                ordering="deterministic", ordered_lanes=args.lanes, ordered_window_bytes=args.window_bytes)
        if args.states:
            loader.load_state_dict([pickle.loads(bytes.fromhex(s)) for s in json.load(open(args.states))])
        else:
            loader.set_epoch(args.epoch)
        for batch in loader:
            batches.append(digests(batch[args.field]))
            if args.sleep:
                time.sleep(args.sleep)
            if len(batches) == args.stop_after:
                break
        state = pickle.dumps(loader.state_dict()).hex()
        loader.close()
    with open(args.out, "w") as out:
        json.dump({"batches": batches, "state": state}, out)


if __name__ == "__main__":
    main()
