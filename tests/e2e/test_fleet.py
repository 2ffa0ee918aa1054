"""Workers that come, go, and are slow, under load: each record still reaches the trainer once. `sleep` stands for work, so that many workers
share few cores."""
import contextlib
import json
import subprocess

import datasets
from processes import HEADRACE, Cluster, Role, run, wait_for
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


@contextlib.contextmanager
def reading(cluster, pipeline, job, *options):
    """Somebody reads that job for as long as the context is open."""
    process = subprocess.Popen([str(HEADRACE), "run", str(pipeline), "--cluster", cluster.address, "--job", job, *map(str, options)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def heavy(directory):
    """Rows that cost a worker milliseconds of computing, and hardly any bytes; more of them than any test reads."""
    datasets.make_images(directory / "images", classes=2, per_class=10)
    images = datasets.Dataset("heavy", {"files": str(directory / "images/*/*.jpg"), "format": "image_folder"}, [], "image", [])
    return images.write(directory, [{"repeat": 100_000}, {"decode_image": {"field": "image"}}, {"resize": {"field": "image", "size": [400, 400]}},
                                    {"gaussian_blur": {"field": "image", "kernel_size": 15, "sigma": 2.0}},
                                    {"resize": {"field": "image", "size": [4, 4]}}, {"batch": {"size": 2}}])


def delivered(cluster, job):
    return next((j["delivered"] for j in cluster.jobs() if j["name"] == job), 0)


def shared_out(cluster, first, second):
    """How much each of two jobs is handed, from when both are until one has had 200 more."""
    wait_for(lambda: delivered(cluster, first) > 20 and delivered(cluster, second) > 4, 60, "both jobs' first records")
    begin = {job: delivered(cluster, job) for job in (first, second)}
    wait_for(lambda: any(delivered(cluster, job) > begin[job] + 200 for job in begin), 120, "200 records more")
    return [delivered(cluster, job) - begin[job] for job in (first, second)]


def test_a_higher_priority_comes_first_where_workers_are_too_few(tmp_path):
    pipeline = heavy(tmp_path)
    with Cluster(tmp_path, workers=1, worker_args=("--compute-threads", "1")) as cluster:
        with reading(cluster, pipeline, "low"), reading(cluster, pipeline, "like"):
            low, like = shared_out(cluster, "low", "like")
            assert max(low, like) < 3 * min(low, like), (low, like)
        with reading(cluster, pipeline, "low"), reading(cluster, pipeline, "high", "--priority", 1):
            # A 64th is left to it: in place of a half.
            low, high = shared_out(cluster, "low", "high")
            assert high > 6 * low, (low, high)


def test_a_quota_and_what_is_claimed_outlive_the_dispatcher(tmp_path):
    pipeline = heavy(tmp_path)
    claims = {"weight": 3, "priority": -2, "least_workers": 0.5, "most_workers": 2}
    with Cluster(tmp_path, workers=3, worker_args=("--compute-threads", "1")) as cluster:
        options = [word for name, value in claims.items() for word in (f"--{name.replace('_', '-')}", value)]
        with reading(cluster, pipeline, "claims", *options):

            def claimed():
                wait_for(lambda: any(j["tasks"] == 2 for j in cluster.jobs()), 60, "tasks on two workers")
                job = next(j for j in cluster.jobs() if j["name"] == "claims")
                assert {name: job[name] for name in claims} == claims and job["tasks"] == 2
                assert sorted(w["tasks"] for w in workers_of(cluster)) == [0, 1, 1]
                return job["delivered"]

            wait_for(lambda: delivered(cluster, "claims") > 20, 60, "records")
            before = claimed()
            cluster.kill_dispatcher()
            cluster.start_dispatcher()
            wait_for(lambda: len(workers_of(cluster)) == 3 and delivered(cluster, "claims") > before, 60, "records after the restart")
            claimed()
            top = json.loads(run("top", "claims", "--once", "--seconds", 0.5, "--cluster", cluster.address, "--output", "json").stdout)
            assert {name: top["jobs"][0][name] for name in claims} == claims
            assert "priority -2, weight 3, 0.5 to 2 workers" in run("jobs", "--cluster", cluster.address).stdout
        refused = run("run", pipeline, "--cluster", cluster.address, "--least-workers", 3, "--most-workers", 2, check=False)
        assert refused.returncode == 1 and "least_workers is 3, over most_workers, which is 2" in refused.stderr


def sleepy(directory, rows, seconds):
    """Batches of five rows, each of which takes a thread that long."""
    path = directory / "sleepy.yaml"
    path.write_text(json.dumps({"name": "sleepy", "source": {"format": "range", "elements": rows, "split_elements": 50},
                                "steps": [{"sleep": seconds}, {"batch": {"size": 5}}]}))
    return path


def test_up_finds_how_many_workers_it_needs_and_says_why(tmp_path):
    pipeline = sleepy(tmp_path, 1_000_000, 0.01)
    with Role(tmp_path, "up", "up", "--workers", "auto", "--max-workers", 3, "--listen", "127.0.0.1:0") as up:
        cluster = ("--cluster", up.address())
        trainer = subprocess.Popen([str(HEADRACE), "run", str(pipeline), *cluster, "--job", "demo"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: len(json.loads(run("workers", *cluster, "--output", "json").stdout) or []) == 3, 60, "three workers")
            decisions = json.loads(run("top", "--once", "--seconds", 0.5, "--decisions", 50, *cluster, "--output", "json").stdout)["decisions"]
        finally:
            trainer.kill()
            trainer.wait()
        changes = [d for d in decisions if d["verb"] == "set_workers"]
        assert changes[0]["amount"] > 1 and changes[-1]["amount"] == 3, changes
        assert "job 'demo' waits" in changes[0]["reason"] and "a worker makes" in changes[0]["reason"]
        assert changes[0]["reason"] in up.log.read_text()
        assert up.stop(within=20) == 0


def test_a_recorded_run_replays(tmp_path):
    recording, results = tmp_path / "run.jsonl", tmp_path / "results.json"
    run("run", sleepy(tmp_path, 1500, 0.004), "--epochs", 2, "--record-trace", recording, "--record-window", 0.5, "--job", "recorded")
    windows = [json.loads(line) for line in recording.read_text().splitlines()]
    assert len(windows) >= 2 and any(w["jobs"][0].get("elements_per_second", 0) > 0 for w in windows if w.get("jobs"))
    threads = max(worker["cores"] for w in windows for worker in w.get("workers", []))
    run("simulate", "--trace", recording, "--quick", "--json", results)
    figures = {r["name"]: r["value"] for r in json.loads(results.read_text())["results"]}
    # Rows that sleep cannot be made faster than that; a busy machine is slower.
    most = threads / 0.004 / 5
    assert 0.1 * most < figures["'recorded': a worker makes"] < 1.1 * most, (figures, most)
    assert figures["'recorded': trainers take"] > most  # it does nothing with them
    assert {"ours", "Cachew's rule", "Pecan's rule", "HPA on CPU"} <= {name.removeprefix("stall-seconds, ") for name in figures}
    assert figures["stall-seconds, ours"] < figures["stall-seconds, Cachew's rule"]

    recording.write_text(recording.read_text() + "{\n")
    refused = run("simulate", "--trace", recording, check=False)
    assert refused.returncode == 1 and f"{recording}:{len(windows) + 1}:" in refused.stderr
    assert run("run", tmp_path / "sleepy.yaml", "--record-trace", tmp_path / "no" / "folder", check=False).returncode == 1
