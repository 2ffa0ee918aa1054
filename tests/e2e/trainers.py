"""Trainers of a job in processes of their own, and the account of what reached them."""
import collections
import json
import os
import subprocess
import sys

import processes


def train(cluster, pipeline, field, directory, job, sharding="dynamic", trainers=1, epochs=1, sleep=0.0, during=None, cache="pipeline", said=0,
          hold=None):
    """Runs trainers as processes to their end; per epoch the digests that they got, all together."""
    outs, running = [], []
    for rank in range(trainers):
        outs.append(directory / f"{job}-{rank}.json")
        running.append(subprocess.Popen(
            [sys.executable, os.path.join(os.path.dirname(__file__), "trainer.py"), cluster.address, str(pipeline), str(outs[-1]),
             "--job", job, "--field", field, "--rank", str(rank), "--world", str(trainers), "--epochs", str(epochs),
             "--sharding", sharding, "--sleep", str(sleep), "--cache", cache, "--said", str(said), *(["--hold", str(hold)] if hold else [])],
            stderr=subprocess.PIPE, text=True))
    try:
        if during:
            during()
        for process in running:
            _, err = process.communicate(timeout=120 * processes.SLOW)
            assert process.returncode == 0, err + "\n" + cluster.logs()
    finally:
        for process in running:
            process.kill()
    per_rank = [json.loads(out.read_text()) for out in outs]
    return [[d for rank in per_rank for d in rank[e]] for e in range(epochs)]


def assert_each_once(got, expected, times=1):
    want = collections.Counter({d: n * times for d, n in collections.Counter(expected).items()})
    have = collections.Counter(got)
    missing, extra = want - have, have - want
    assert not missing and not extra, f"{sum(missing.values())} missing, {sum(extra.values())} too many of {len(expected)}"
