"""Workers that come, go, and are slow, under load: each record still reaches the trainer once. `sleep` stands for work, so that many workers
share few cores."""
import json

import datasets
from processes import Cluster, run, wait_for
from trainers import assert_each_once, train


def lines(directory, files, each):
    expected = []
    for f in range(files):
        text = [f"file {f} line {i}" for i in range(each)]
        (directory / f"fleet-{f:03d}.txt").write_text("\n".join(text) + "\n")
        expected += [datasets.digest(t.encode()) for t in text]
    return datasets.Dataset("fleet", {"files": str(directory / "fleet-*.txt"), "format": "text"}, [], "line", expected)


def workers_of(cluster):
    return json.loads(run("workers", "--cluster", cluster.address, "--output", "json").stdout)


def epochs_of(cluster, job):
    return next(j for j in cluster.jobs() if j["name"] == job).get("epochs", [])


def test_workers_come_and_go_under_load(tmp_path):
    dataset = lines(tmp_path, files=30, each=60)
    pipeline = dataset.write(tmp_path, [{"sleep": 0.01}, {"batch": {"size": 16}}])
    with Cluster(tmp_path, workers=1, worker_args=("--compute-threads", "1")) as cluster:

        def scale():
            wait_for(lambda: any(j["delivered"] > 100 for j in cluster.jobs()), 30, "a hundred delivered records")
            for _ in range(5):
                cluster.add_worker(wait=False)
            # One alone would need 15 seconds more: all six have something to do before that.
            working = set()

            def all_work():
                working.update(w["worker"] for w in workers_of(cluster) if w.get("leases", 0) > 0)
                return len(working) == 6

            wait_for(all_work, 10, "splits for all six workers")
            for worker in cluster.workers[:4]:
                run("drain", worker.address(), "--cluster", cluster.address)
            for worker in cluster.workers[:4]:
                wait_for(lambda w=worker: w.process.poll() is not None, 30, "a drained worker to leave")

        got = train(cluster, pipeline, dataset.field, tmp_path, "fleet", trainers=2, during=scale)
        assert_each_once(got[0], dataset.expected)
        assert [w.process.poll() is None for w in cluster.workers] == [False] * 4 + [True] * 2


def test_a_slow_workers_splits_are_cut(tmp_path):
    dataset = lines(tmp_path, files=6, each=200)
    pipeline = dataset.write(tmp_path, [{"sleep": 0.02}, {"shuffle": {"buffer": 20, "seed": 1}}, {"batch": {"size": 16}}])
    with Cluster(tmp_path, workers=1, worker_args=("--compute-threads", "1")) as cluster:
        cluster.worker_args = ("--compute-threads", "5")

        def others_come():
            wait_for(lambda: any(j["delivered"] > 0 for j in cluster.jobs()), 30, "the first delivered record")
            cluster.add_worker(wait=False)
            cluster.add_worker(wait=False)

        # The slow one takes four seconds for a split, the others less than one for each of theirs.
        got = train(cluster, pipeline, dataset.field, tmp_path, "slow", during=others_come)
        assert_each_once(got[0], dataset.expected)
        assert epochs_of(cluster, "slow")[0].get("pieces", 0) > 0, cluster.jobs()
