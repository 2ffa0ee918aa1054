"""The tail of an epoch with one worker five times slower: time from the first idle worker to the epoch's end, over the mean time of a split.

measure_tail.py [--workers 4 --files 24 --lines 200 --seconds 0.005 --rounds 3 --shed-after 500ms]. Target: at most 1.0. `--shed-after 0` shows it
without cuts. Not a test: it says how long things took.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from processes import Cluster, run, wait_for


def measure(directory, args):
    text = [f"line {i}" for i in range(args.lines)]
    for f in range(args.files):
        (directory / f"tail-{f:03d}.txt").write_text("\n".join(text) + "\n")
    pipeline = directory / "tail.yaml"
    pipeline.write_text(json.dumps({"name": "tail", "source": {"files": str(directory / "tail-*.txt"), "format": "text"},
                                    "steps": [{"sleep": args.seconds}, {"batch": {"size": 8}}]}))
    with Cluster(directory, workers=1, worker_args=("--compute-threads", "1"), dispatcher_args=("--shed-after", args.shed_after)) as cluster:
        cluster.worker_args = ("--compute-threads", "5")
        for _ in range(args.workers - 1):
            cluster.add_worker()
        trainer = subprocess.Popen([sys.executable, str(pathlib.Path(__file__).with_name("trainer.py")), cluster.address, str(pipeline),
                                    str(directory / "out.json"), "--job", "tail", "--field", "line"])
        wait_for(lambda: any(j["delivered"] > 0 for j in cluster.jobs()), 60, "the first delivered record")
        time.sleep(1)  # all have leases by now
        idle = None
        while True:
            workers = json.loads(run("workers", "--cluster", cluster.address, "--output", "json").stdout)
            epoch = next(j for j in cluster.jobs() if j["name"] == "tail")["epochs"][0]
            now = time.monotonic()
            if idle is None and any(w.get("leases", 0) == 0 for w in workers):
                idle = now
            if epoch["state"] != "running":
                break
        trainer.wait(timeout=60)
        work = args.lines * args.seconds  # of a split, for one thread
        mean = statistics.mean([work] + [work / 5] * (args.workers - 1))
        return (now - (idle or now)) / mean, epoch.get("pieces", 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--files", type=int, default=24)
    parser.add_argument("--lines", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=0.005, help="that a record takes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shed-after", default="500ms")
    args = parser.parse_args()
    for _ in range(args.rounds):
        with tempfile.TemporaryDirectory() as directory:
            tail, pieces = measure(pathlib.Path(directory), args)
            print(f"tail {tail:.2f} of a mean split's time, {pieces} pieces", flush=True)


if __name__ == "__main__":
    main()
