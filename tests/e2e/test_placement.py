"""Where the orchestrator puts caches, in a cluster of real processes: what it decides, that it is so, that it says why; and warm-up."""
import contextlib
import io
import json
import os
import subprocess
import tarfile
import time

import datasets
import processes
import trainers
from processes import HEADRACE, run, wait_for
from test_cache import Caching, write_lines

TARS, EACH = 12, 80
ROWS = TARS * EACH
# Some ten milliseconds of computing for each row, and few bytes behind it.
HEAVY = [{"decode_image": {"field": "jpg"}}, {"resize": {"field": "jpg", "size": [400, 400]}},
         {"gaussian_blur": {"field": "jpg", "kernel_size": 31, "sigma": 5.0}}, {"resize": {"field": "jpg", "size": [16, 16]}},
         {"random_flip": {"field": "jpg"}}, {"shuffle": {"buffer": 60, "seed": 1}}, {"batch": {"size": 10}}]


def numbered_images(directory):
    """Images, each with a number, which tells them apart when they are pixels."""
    images = [path.read_bytes() for path in datasets.make_images(directory / "images", classes=2, per_class=20)]
    then = time.time() - 3600
    expected = []
    for t in range(TARS):
        path = directory / f"images-{t:02d}.tar"
        with tarfile.open(path, "w") as tar:
            for i in range(EACH):
                number = f"{t}/{i}".encode()
                expected.append(datasets.digest(number))
                for name, data in ((f"{t:02d}{i:03d}.jpg", images[(t * EACH + i) % len(images)]), (f"{t:02d}{i:03d}.txt", number)):
                    info = tarfile.TarInfo(name)
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))
        os.utime(path, (then, then))
    return datasets.Dataset("images", {"files": str(directory / "images-*.tar"), "format": "webdataset"}, [{"select": ["jpg", "txt"]}], "txt", expected)


def placing(directory):
    """One worker with one thread, so that it is the same work on any machine."""
    return Caching(directory, memory="256MiB", worker_args=("--compute-threads", "1"))


class Orchestrator:
    """A process that decides about the cluster's caches; workers are somebody else's."""

    def __init__(self, cluster, directory, name="orchestrator"):
        self.log = directory / f"{name}.log"
        (self.port,) = processes.free_ports(1)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([str(HEADRACE), "orchestrator", "--dispatcher", cluster.address, "--window", "1s", "--poll", "200ms",
                                             "--metrics-listen", f"127.0.0.1:{self.port}"], stdout=log, stderr=log)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        print(self.log.read_text())


def explain(cluster, job, *options):
    """What `headrace explain` says of the job; None while there is none."""
    done = run("explain", job, "--cluster", cluster.address, "--output", "json", "--seconds", 0.4, *options, check=False)
    if done.returncode != 0:
        if "no dispatcher answers" in done.stderr:
            raise processes.NoAnswer(done.stderr)
        assert "no job of that name" in done.stderr, done.stderr
        return None
    return json.loads(done.stdout)


def solved(cluster, job):
    said = explain(cluster, job)
    return said if said and said["plan"] and said["plan"]["solved"] else None


def placed(cluster, job):
    said = solved(cluster, job)
    return said if said and not said["placement"]["none"] else None


def decisions(cluster, job):
    top = json.loads(run("top", job, "--once", "--seconds", 0.2, "--decisions", 100, "--cluster", cluster.address, "--output", "json").stdout)
    return [d for d in top["decisions"] if d["policy"] == "placement"]


def test_a_job_bound_by_its_preprocessing_is_given_a_cache_which_serves_later_epochs(tmp_path):
    images, hold, epochs = numbered_images(tmp_path), tmp_path / "go on", 8
    said = {}
    with placing(tmp_path) as cluster, Orchestrator(cluster, tmp_path) as orchestrator:

        def watch():
            said["decided"] = wait_for(lambda: placed(cluster, "heavy"), 120, "a cache")
            said["decisions"] = decisions(cluster, "heavy")
            hold.touch()
            said["seen"] = wait_for(lambda: (e := placed(cluster, "heavy")) and e["plan"]["observed"] > 0 and e, 120, "rows from the cache")
            said["text"] = run("explain", "heavy", "--cluster", cluster.address, "--seconds", 0.2).stdout

        # Batches take the trainer a while, so that epochs from the cache last as long as somebody looks.
        got = trainers.train(cluster, images.write(tmp_path, HEAVY), images.field, tmp_path, "heavy", epochs=epochs, said=epochs, cache="auto",
                             hold=hold, sleep=0.01, during=watch)
        for epoch in got:
            trainers.assert_each_once(epoch, images.expected)
        # It was told in the first epoch, kept in the second, and found in the others.
        cluster.await_metric((epochs - 2) * TARS, "headrace_cache_hits_total")
        cluster.await_metric(2 * ROWS, "headrace_step_elements_total", step="0:read")
        cluster.await_metric((epochs - 2) * ROWS, "headrace_step_elements_total", step="0:cached")
        assert cluster.metric("headrace_step_input_elements_total", step="4:gaussian_blur") == 2 * ROWS
        assert cluster.metric("headrace_step_input_elements_total", step="8:batch") == epochs * ROWS
        assert "place_cache 'heavy/" in orchestrator.log.read_text()

    decided = said["decided"]
    assert decided["placement"]["tier"] == "memory" and decided["placement"]["before_step"] == 5, decided["placement"]
    assert decided["bottleneck"] == "4:gaussian_blur"
    assert [c["chosen"] for c in decided["plan"]["candidates"]].count(True) == 1
    assert any(c["none"] for c in decided["plan"]["candidates"])
    assert next(s for s in decided["steps"] if s["step"] == "6:random_flip")["no_cut"]
    (change,) = [d for d in said["decisions"] if d["verb"] == "place_cache"]
    assert change["subject"].startswith("heavy/") and change["where"] == "memory" and "saves" in change["reason"]
    assert {"predicted", "predicted_without", "observed_without"} <= {n["name"] for n in change["numbers"]}
    seen = said["seen"]["plan"]
    assert seen["observed"] > seen["observed_without"] > 0 and seen["predicted"] > seen["predicted_without"]
    for words in ("bottleneck of the workers", "as chosen: predicted", "without a cache: predicted", "observed", "why: ", "all rows after"):
        assert words in said["text"], said["text"]


def test_what_was_decided_outlives_the_orchestrator_and_the_dispatcher(tmp_path):
    images, hold = numbered_images(tmp_path), tmp_path / "go on"
    with placing(tmp_path) as cluster, contextlib.ExitStack() as stack:
        first = stack.enter_context(Orchestrator(cluster, tmp_path))

        def replace():
            before = wait_for(lambda: placed(cluster, "heavy"), 120, "a cache")["placement"]
            first.kill()
            stack.enter_context(Orchestrator(cluster, tmp_path, "second"))
            # It knows nothing of the job, and says so; what the job was told stays.
            after = wait_for(lambda: (e := explain(cluster, "heavy")) and e["plan"] and not e["plan"]["solved"] and e, 60, "the second's word")
            assert after["placement"] == before
            assert "nothing is decided" in after["why"]
            cluster.kill_dispatcher()
            cluster.start_dispatcher()
            told_again = wait_for(lambda: (e := explain(cluster, "heavy")) and e["placement"] and e, 60, "the placement")
            assert told_again["placement"] == before
            hold.touch()

        got = trainers.train(cluster, images.write(tmp_path, HEAVY), images.field, tmp_path, "heavy", epochs=3, said=5, cache="auto", hold=hold,
                             during=replace)
        for epoch in got:
            trainers.assert_each_once(epoch, images.expected)
        cluster.await_at_least(1, "headrace_cache_hits_total")


def test_what_is_not_asked_for_is_explained_too(tmp_path):
    lines = write_lines(tmp_path / "data", "plain")
    with Caching(tmp_path, memory="64MiB") as cluster:

        def look():
            said = wait_for(lambda: (e := explain(cluster, "plain")) and len(e["steps"]) > 1 and e, 60, "steps")
            assert said["cache"] == "pipeline" and said["plan"] is None
            assert "with `auto` the orchestrator would decide" in said["why"]

        trainers.train(cluster, lines.write(tmp_path, [{"sleep": 0.002}, {"batch": {"size": 16}}]), lines.field, tmp_path, "plain", during=look)
        missing = run("explain", "nobody", "--cluster", cluster.address, check=False)
        assert missing.returncode == 1 and "no job of that name" in missing.stderr


STEPS = [{"filter": {"where": "length(line) % 3 != 0"}}, {"cache": {}}, {"shuffle": {"buffer": 300, "seed": 1}}, {"batch": {"size": 16}}]


def warm(cluster, pipeline, *options, check=True):
    done = run("warm", pipeline, "--cluster", cluster.address, "--output", "json", *options, check=check)
    return json.loads(done.stdout) if check else done


def test_warming_up_fills_caches_and_runs_nothing_behind_them(tmp_path):
    lines = write_lines(tmp_path / "data", "warm", files=12)
    pipeline = lines.write(tmp_path, STEPS)
    with Caching(tmp_path, memory="64MiB") as cluster:
        first = warm(cluster, pipeline)
        assert first["done"] and first["splits"] == first["splits_filled"] == first["splits_kept"] == 12
        assert first["records"] == 12 * 400 and first["passes"] == 1
        assert cluster.metric("headrace_step_input_elements_total", step="2:cache") == len(lines.expected)
        for step in ("3:shuffle", "4:batch"):
            assert cluster.metric("headrace_step_input_elements_total", step=step) == 0
        assert cluster.metric("headrace_step_elements_total", step="3:filter") == 0, "no row is sent"
        again = warm(cluster, pipeline)
        assert again["done"] and again["splits_filled"] == 0
        trainers.assert_each_once(trainers.train(cluster, pipeline, lines.field, tmp_path, "warmed")[0], lines.expected)
        cluster.await_metric(12 + 12, "headrace_cache_hits_total")
        assert cluster.metric("headrace_step_input_elements_total", step="1:filter") == 12 * 400, "once, when it was warmed up"


def test_warming_up_in_front_of_any_step_is_what_jobs_find_there(tmp_path):
    lines = write_lines(tmp_path / "data", "before", files=6)
    without = lines.write(tmp_path, [s for s in STEPS if "cache" not in s], suffix="without")
    with Caching(tmp_path, memory="64MiB") as cluster:
        assert warm(cluster, without, "--before", 2, "--tier", "memory")["splits_filled"] == 6
        got = trainers.train(cluster, lines.write(tmp_path, STEPS, suffix="with"), lines.field, tmp_path, "found")
        trainers.assert_each_once(got[0], lines.expected)
        cluster.await_metric(6, "headrace_cache_hits_total")
        refused = warm(cluster, without, check=False)
        assert refused.returncode == 1 and "--before STEP" in refused.stderr
        illegal = warm(cluster, without, "--before", 4, check=False)
        assert illegal.returncode == 1 and "shuffle" in illegal.stderr


def test_warming_up_fills_all_workers_caches_together(tmp_path):
    lines = write_lines(tmp_path / "data", "both", files=12)
    pipeline = lines.write(tmp_path, STEPS)
    with Caching(tmp_path, workers=2, memory="64MiB") as cluster:
        assert warm(cluster, pipeline)["done"]
        assert sum(cluster.metric("headrace_cache_splits", worker) for worker in (0, 1)) >= 12
        trainers.assert_each_once(trainers.train(cluster, pipeline, lines.field, tmp_path, "warmed")[0], lines.expected)


def test_warming_up_ends_in_time_and_says_how_far_it_came(tmp_path):
    lines = write_lines(tmp_path / "data", "slow", files=12)
    with Caching(tmp_path, memory="64MiB") as cluster:
        late = warm(cluster, lines.write(tmp_path, [{"sleep": 0.01}, {"cache": {}}]), "--timeout", 1, check=False)
        assert late.returncode == 1 and "what is kept stays" in late.stderr, late.stderr
        assert not json.loads(late.stdout)["done"]
        wait_for(lambda: all(j["state"] != "running" for j in cluster.jobs() if j["name"].startswith("warm-")), 20, "its job to be gone")
    bare = tmp_path / "bare"
    bare.mkdir()
    with Caching(bare, memory="0") as cluster:
        refused = warm(cluster, lines.write(tmp_path, STEPS, suffix="bare"), check=False)
        assert refused.returncode == 1 and "cache.memory_bytes" in refused.stderr
