"""Caches: later epochs and other jobs begin at the `cache` step; whatever happens to a cache costs time, never a record."""
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

import datasets
import processes
import trainers
from processes import Cluster

FILES, LINES = 12, 400
STEPS = [{"filter": {"where": "length(line) % 3 != 0"}}, {"cache": {}}, {"shuffle": {"buffer": 300, "seed": 1}}, {"batch": {"size": 16}}]
FAST = ("--worker-timeout", "1500ms", "--client-timeout", "3s")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def write_lines(directory, word, files=FILES, age=3600):
    """Lines in files that were written `age` seconds ago; the dataset of those that the filter keeps."""
    directory.mkdir(parents=True, exist_ok=True)
    kept = []
    then = time.time() - age
    for f in range(files):
        text = [f"{word} file {f} line {i} {'x' * (i % 41)}" for i in range(LINES)]
        path = directory / f"{f:02d}.txt"
        path.write_text("\n".join(text) + "\n")
        os.utime(path, (then, then))
        kept += [t for t in text if len(t) % 3 != 0]
    return datasets.Dataset("lines", {"files": str(directory / "*.txt"), "format": "text"}, [], "line",
                            [datasets.digest(t.encode()) for t in kept])


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    return write_lines(tmp_path_factory.mktemp("lines") / "data", "old")


class Caching(Cluster):
    """A cluster whose workers have caches, and metrics."""

    def __init__(self, directory, workers=1, memory="0", disk=None, disk_bytes="64MiB", env=None, dispatcher_args=(), worker_args=()):
        args = ["--cache.memory-bytes", memory, *worker_args]
        if disk:
            args += ["--cache.disk.path", str(disk), "--cache.disk.bytes", disk_bytes]
        self.ports = []
        super().__init__(directory, workers=0, dispatcher_args=(*FAST, *dispatcher_args), worker_args=tuple(args))
        try:
            for _ in range(workers):
                self.add_caching_worker(env)
        except BaseException:
            self.close()
            raise

    def add_caching_worker(self, env=None):
        self.env = env
        self.ports.append(free_port())
        worker = self.add_worker("--metrics-listen", f"127.0.0.1:{self.ports[-1]}")
        self.env = None
        return worker

    def metrics(self, worker=-1):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[worker]}/metrics", timeout=5) as reply:
            return reply.read().decode()

    def metric(self, name, worker=-1, **labels):
        """The sum of its series that have these labels."""
        total = 0.0
        for line in self.metrics(worker).splitlines():
            match = re.match(rf"{name}(?:{{(.*)}})? (\S+)$", line)
            if match and all(f'{k}="{v}"' in (match.group(1) or "") for k, v in labels.items()):
                total += float(match.group(2))
        return total

    def await_metric(self, value, name, **labels):
        """Metrics follow with the next beat."""
        processes.wait_for(lambda: self.metric(name, **labels) == value, 10, f"{name} {labels} to be {value}")

    def await_at_least(self, value, name, **labels):
        processes.wait_for(lambda: self.metric(name, **labels) >= value, 10, f"{name} {labels} to be at least {value}")


def train(cluster, dataset, directory, job, steps=STEPS, **options):
    return trainers.train(cluster, dataset.write(directory, steps, suffix=job), dataset.field, directory, job, **options)


def assert_each_once(got, dataset):
    trainers.assert_each_once(got, dataset.expected)


def segments(disk):
    return sorted(disk.glob("worker-*/*.hrseg"))


@pytest.mark.parametrize("tiers", ["memory", "disk", "both"])
def test_the_second_epoch_comes_from_the_cache(lines, tmp_path, tiers):
    memory = {"memory": "64MiB", "disk": "0", "both": "100KiB"}[tiers]
    disk = None if tiers == "memory" else tmp_path / "disk"
    with Caching(tmp_path, memory=memory, disk=disk) as cluster:
        for epoch in train(cluster, lines, tmp_path, "epochs", epochs=3):
            assert_each_once(epoch, lines)
        cluster.await_metric(2 * FILES, "headrace_cache_hits_total")
        assert cluster.metric("headrace_cache_misses_total") == FILES
        assert cluster.metric("headrace_step_elements_total", step="0:read") == FILES * LINES, "one epoch was read"
        assert cluster.metric("headrace_step_input_elements_total", step="1:filter") == FILES * LINES
        if tiers == "both":
            assert cluster.metric("headrace_cache_splits", tier="memory") > 0
            assert cluster.metric("headrace_cache_splits", tier="disk") > 0
        assert cluster.metric("headrace_cache_bytes") <= cluster.metric("headrace_cache_limit_bytes")


def test_two_workers_caches_add_up(tmp_path):
    files, workers = 32, (0, 1)
    lines = write_lines(tmp_path / "data", "both", files=files)
    # It takes time to make what is kept, and none to read it: so both have about a half when the first epoch is over.
    steps = [{"sleep": {"seconds": 0.001}}, *STEPS]

    def reads(cluster):
        return sum(cluster.metric("headrace_step_elements_total", worker, step="0:read") for worker in workers)

    with Caching(tmp_path, workers=1, memory="64MiB") as cluster:
        train(cluster, lines, tmp_path, "whole", steps=steps)
        cluster.await_metric(files, "headrace_cache_splits")
        whole = int(cluster.metric("headrace_cache_bytes"))
    # A worker that others wait for would give up splits that it has, and they have not.
    with Caching(tmp_path, workers=2, memory=str(whole * 7 // 10), dispatcher_args=("--shed-after", "0s")) as cluster:
        first = {}

        def look():
            processes.wait_for(lambda: any(j["epoch"] >= 1 for j in cluster.jobs()), 60, "the second epoch")
            first["reads"] = reads(cluster)

        for epoch in train(cluster, lines, tmp_path, "both", steps=steps, epochs=4, during=look):
            assert_each_once(epoch, lines)
        kept = [cluster.metric("headrace_cache_splits", worker) for worker in workers]
        assert max(kept) < files, "no worker has them all"
        assert sum(kept) >= files - 3, "some may go again and again to the worker that is full"
        processes.wait_for(lambda: sum(cluster.metric("headrace_cache_hits_total", worker) for worker in workers) +
                           sum(cluster.metric("headrace_cache_misses_total", worker) for worker in workers) >= 4 * files, 10, "all splits")
        # What did not fit where it was made in the first epoch is made once more. By chance, half of the later three would be.
        assert reads(cluster) <= 1.3 * files * LINES, f"{reads(cluster)} reads, {first['reads']} of them until the second epoch; kept {kept}"


def test_other_jobs_share_what_stands_in_front_and_each_split_is_kept_once(lines, tmp_path):
    with Caching(tmp_path, memory="64MiB") as cluster:
        other = [*STEPS[:2], {"batch": {"size": 7}}]
        got = {}
        train(cluster, lines, tmp_path, "one", during=lambda: got.update(
            two=train(cluster, lines, tmp_path, "two", steps=other)[0]))
        assert_each_once(got["two"], lines)
        assert_each_once(train(cluster, lines, tmp_path, "three", steps=other)[0], lines)
        cluster.await_metric(FILES, "headrace_cache_fills_total")
        assert cluster.metric("headrace_cache_splits") == FILES
        assert cluster.metric("headrace_cache_hits_total") >= FILES


def test_a_restarted_worker_finds_what_it_kept_on_disk(lines, tmp_path):
    disk = tmp_path / "disk"
    with Caching(tmp_path, disk=disk) as cluster:
        assert_each_once(train(cluster, lines, tmp_path, "before")[0], lines)
        cluster.await_metric(FILES, "headrace_cache_splits")
        assert cluster.workers[0].stop() == 0
        cluster.add_caching_worker()
        assert_each_once(train(cluster, lines, tmp_path, "after")[0], lines)
        cluster.await_metric(FILES, "headrace_cache_hits_total")
        assert cluster.metric("headrace_step_elements_total", step="0:read") == 0


def test_a_worker_killed_in_mid_fill_costs_no_record(lines, tmp_path):
    disk = tmp_path / "disk"
    with Caching(tmp_path, disk=disk) as cluster:
        cluster.workers[0].stop()
        # It is killed as its fourth segment is whole but not yet under its name.
        doomed = cluster.add_caching_worker(env={"HEADRACE_FAULTS": "cache.segment.commit@4*1=crash"})

        def replace():
            processes.wait_for(lambda: doomed.process.poll() is not None, 30, "the crash")
            assert list(disk.glob("worker-*/*.tmp")), "an unfinished segment"
            cluster.add_caching_worker()

        for epoch in train(cluster, lines, tmp_path, "killed", epochs=3, during=replace):
            assert_each_once(epoch, lines)
        cluster.await_metric(FILES, "headrace_cache_splits")
        assert cluster.metric("headrace_cache_dropped_total", reason="torn") >= 1
        assert not list(disk.glob("worker-*/*.tmp"))


def test_workers_killed_over_cached_epochs_cost_no_record(lines, tmp_path):
    disk = tmp_path / "disk"
    with Caching(tmp_path, workers=3, memory="100KiB", disk=disk) as cluster:
        def kill_two():
            for n in (0, 1):
                processes.wait_for(lambda: any(j["epoch"] == n + 1 and j["delivered"] > 500 for j in cluster.jobs()), 60,
                                   f"five hundred records of epoch {n + 1}")
                cluster.workers[n].kill()
                cluster.add_caching_worker()

        for epoch in train(cluster, lines, tmp_path, "chaos", epochs=4, trainers=2, sleep=0.01, during=kill_two):
            assert_each_once(epoch, lines)


@contextlib.contextmanager
def small_file_system(path, size):
    path.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)], capture_output=True).returncode != 0:
        pytest.skip("this machine does not let us mount a tmpfs; the unit tests inject a full disk instead")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def test_a_full_disk_costs_no_record(lines, tmp_path):
    with small_file_system(tmp_path / "small", "200k") as disk, Caching(tmp_path, disk=disk) as cluster:
        for epoch in train(cluster, lines, tmp_path, "full", epochs=3):
            assert_each_once(epoch, lines)
        cluster.await_at_least(1, "headrace_cache_fills_dropped_total", reason="disk_full")
        cluster.await_at_least(1, "headrace_cache_hits_total")
        assert 0 < cluster.metric("headrace_cache_splits") < FILES


def test_damage_under_a_running_worker_is_seen_and_never_served(lines, tmp_path):
    disk = tmp_path / "disk"
    with Caching(tmp_path, disk=disk) as cluster:
        assert_each_once(train(cluster, lines, tmp_path, "first")[0], lines)
        cluster.await_metric(FILES, "headrace_cache_splits")
        damaged = segments(disk)
        for n, path in enumerate(damaged):
            data = bytearray(path.read_bytes())
            if n % 3 == 0:
                data[4096 + (n * 997) % (len(data) - 8192)] ^= 1 << (n % 8)
            elif n % 3 == 1:
                data = data[:len(data) // 2]
            else:
                data[:] = damaged[0].read_bytes()  # another split's
            path.write_bytes(data)
        assert_each_once(train(cluster, lines, tmp_path, "second")[0], lines)
        cluster.await_at_least(FILES * 2 // 3, "headrace_cache_dropped_total")  # a flipped bit of padding is no damage
        assert_each_once(train(cluster, lines, tmp_path, "third")[0], lines)
        cluster.await_metric(FILES, "headrace_cache_splits")


def test_a_changed_file_is_never_served_from_an_old_cache(tmp_path):
    old = write_lines(tmp_path / "data", "old")
    with Caching(tmp_path, memory="100KiB", disk=tmp_path / "disk") as cluster:
        assert_each_once(train(cluster, old, tmp_path, "one")[0], old)
        new = write_lines(tmp_path / "data", "new", age=1800)  # as long as before, byte for byte
        assert_each_once(train(cluster, new, tmp_path, "two")[0], new)
        assert cluster.metric("headrace_cache_hits_total") == 0
        cluster.await_metric(FILES, "headrace_cache_dropped_total", reason="stale")
        assert_each_once(train(cluster, new, tmp_path, "three")[0], new)
        cluster.await_metric(FILES, "headrace_cache_hits_total")


def test_a_file_that_changes_between_the_epochs_of_a_job_is_an_error_with_a_cache_as_without(tmp_path):
    old = write_lines(tmp_path / "data", "old")
    with Caching(tmp_path, memory="64MiB") as cluster:
        def change():  # all of epoch 0 is kept, and the trainer is still at it
            cluster.await_metric(FILES, "headrace_cache_splits")
            write_lines(tmp_path / "data", "new", age=1800)

        with pytest.raises(AssertionError, match="was written again since the dataset was listed"):
            train(cluster, old, tmp_path, "job", epochs=2, sleep=0.03, during=change)


def test_a_job_without_caches_keeps_nothing_and_gets_the_same(lines, tmp_path):
    with Caching(tmp_path, memory="64MiB") as cluster:
        for epoch in train(cluster, lines, tmp_path, "off", epochs=2, cache="off"):
            assert_each_once(epoch, lines)
        assert cluster.metric("headrace_cache_fills_total") == 0
        assert cluster.metric("headrace_cache_misses_total") == 0
        # Nobody has decided anything: as the pipeline says.
        for epoch in train(cluster, lines, tmp_path, "auto", epochs=2, cache="auto"):
            assert_each_once(epoch, lines)
        cluster.await_metric(FILES, "headrace_cache_hits_total")


def test_the_deterministic_order_is_the_same_with_and_without_caches(lines, tmp_path):
    script = os.path.join(os.path.dirname(__file__), "ordered_trainer.py")

    def batches(cluster, name, steps):
        out = tmp_path / f"{name}.json"
        pipeline = lines.write(tmp_path, steps, suffix=name)
        subprocess.run([sys.executable, script, cluster.address, str(pipeline), str(out), "--job", name, "--field", "line", "--lanes", "3",
                        "--window-bytes", "1"], check=True, timeout=120 * processes.SLOW)
        return json.loads(out.read_text())["batches"]

    without = [s for s in STEPS if "cache" not in s]
    with Caching(tmp_path, workers=2, memory="64MiB") as cluster:
        plain = batches(cluster, "plain", without)
        assert sum(map(len, plain)) == len(lines.expected)
        assert batches(cluster, "filling", STEPS) == plain
        assert batches(cluster, "filled", STEPS) == plain
        processes.wait_for(lambda: sum(cluster.metric("headrace_cache_hits_total", worker) for worker in (0, 1)) > 0, 10, "hits")
