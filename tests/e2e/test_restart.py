"""The dispatcher is killed in mid-epoch and started again over its journal: workers and trainers go on, every record comes once."""
import os
import random
import shutil
import subprocess
import sys

import pytest

import datasets
import processes
from processes import Cluster, Role
from test_delivery import steps_for
from trainers import assert_each_once, train

# So many events make a snapshot: restarts meet both.
SMALL = ("--journal.snapshot-after", "1MiB")


@pytest.fixture(scope="session")
def lines(tmp_path_factory):
    return datasets.one_huge_text(tmp_path_factory.mktemp("lines"))


def delivered(cluster):
    return sum(job["delivered"] for job in cluster.jobs())


def small_splits(dataset, directory, sharding="dynamic", batch=32):
    return dataset.write(directory, steps_for(sharding, batch=batch))


@pytest.mark.parametrize("sharding", ["dynamic", "static_data"])
def test_a_killed_dispatcher_loses_nothing(lines, tmp_path, sharding):
    with Cluster(tmp_path, workers=3) as cluster:
        pipeline = small_splits(lines, tmp_path, sharding)

        def kill_thrice():
            for times in (1, 2, 3):
                processes.wait_for(lambda: delivered(cluster) > 4000 * times, 60, f"{4000 * times} delivered records")
                cluster.kill_dispatcher()
                cluster.start_dispatcher()

        got = train(cluster, pipeline, lines.field, tmp_path, "restart", sharding, trainers=2, sleep=0.02, during=kill_thrice)
        assert_each_once(got[0], lines.expected)
        assert "replayed in" in cluster.dispatcher.log.read_text()


def test_dispatcher_and_a_worker_die_together(lines, tmp_path):
    with Cluster(tmp_path, workers=3, dispatcher_args=("--worker-timeout", "1500ms", *SMALL)) as cluster:
        pipeline = small_splits(lines, tmp_path)

        def kill():
            processes.wait_for(lambda: delivered(cluster) > 3000, 60, "3000 delivered records")
            cluster.kill_dispatcher()
            cluster.workers[0].kill()
            cluster.start_dispatcher()

        got = train(cluster, pipeline, lines.field, tmp_path, "both", trainers=2, sleep=0.02, during=kill)
        assert_each_once(got[0], lines.expected)


def test_kills_at_random_moments_over_epochs(lines, tmp_path):
    rng = random.Random(4)
    with Cluster(tmp_path, workers=2, dispatcher_args=SMALL) as cluster:
        pipeline = small_splits(lines, tmp_path)

        def kill():
            for _ in range(4):
                processes.wait_for(lambda: delivered(cluster) > 0, 60, "a delivered record")
                processes.pause(rng.uniform(0.1, 1.0))
                cluster.kill_dispatcher()
                processes.pause(rng.uniform(0.0, 1.0))
                cluster.start_dispatcher()

        for epoch in train(cluster, pipeline, lines.field, tmp_path, "random", epochs=2, sleep=0.01, during=kill):
            assert_each_once(epoch, lines.expected)


def test_a_dispatcher_without_the_journal_is_not_taken_for_the_old_one(lines, tmp_path):
    """Ids begin with 1 again: workers register anew, the trainer hears what happened, and a new job gets every record."""
    with Cluster(tmp_path, workers=2) as cluster:
        pipeline = small_splits(lines, tmp_path)
        out = tmp_path / "old.json"
        with open(tmp_path / "old.err", "w+") as err:
            old = subprocess.Popen([sys.executable, os.path.join(os.path.dirname(__file__), "trainer.py"), cluster.address, str(pipeline),
                                    str(out), "--job", "same", "--field", lines.field, "--sleep", "0.05"], stderr=err)
            try:
                processes.wait_for(lambda: delivered(cluster) > 1000, 60, "a thousand delivered records")
                cluster.kill_dispatcher()
                shutil.rmtree(cluster.journal)
                cluster.start_dispatcher()
                assert old.wait(timeout=60 * processes.SLOW) != 0
            finally:
                old.kill()
                old.wait()
            err.seek(0)
            assert "does not have the journal" in err.read()
        assert not out.exists()
        got = train(cluster, pipeline, lines.field, tmp_path, "same")
        assert_each_once(got[0], lines.expected)


def start_fails(directory, *args):
    """What a dispatcher says that must not start."""
    done = processes.run("dispatcher", "--listen", "127.0.0.1:0", *args, check=False, cwd=directory)
    assert done.returncode != 0
    return done.stderr


def test_a_directory_that_another_dispatcher_has_is_refused(tmp_path):
    with Cluster(tmp_path, workers=0) as cluster:
        said = start_fails(tmp_path, "--journal.directory", cluster.journal)
        assert "another dispatcher has it" in said and str(cluster.journal) in said


def test_a_directory_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    said = start_fails(tmp_path, "--journal.directory", tmp_path / "file" / "journal")
    assert "journal.directory" in said and str(tmp_path / "file") in said


def mounted(directory, size):
    directory.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "headrace-test", str(directory)], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}; dispatcher/journal/file_journal_test covers the same errors")
    return directory


def test_a_read_only_directory_is_refused(tmp_path):
    disk = mounted(tmp_path / "disk", "16m")
    try:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        said = start_fails(tmp_path, "--journal.directory", disk / "journal")
        assert "Read-only file system" in said and str(disk) in said and "journal.directory" in said
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_stops_the_dispatcher_and_room_brings_it_back(lines, tmp_path):
    disk = mounted(tmp_path / "disk", "8m")
    try:
        with Cluster(tmp_path, workers=2, journal=disk / "journal") as cluster:
            pipeline = small_splits(lines, tmp_path)

            def fill():
                processes.wait_for(lambda: delivered(cluster) > 1000, 60, "a thousand delivered records")
                try:
                    with open(disk / "ballast", "wb", buffering=0) as ballast:
                        while True:
                            ballast.write(b"x" * 4096)
                except OSError:
                    pass
                said = processes.wait_for(lambda: processes.run("jobs", "--cluster", cluster.address, check=False).stderr, 60, "an error")
                assert "journal failed" in said
                assert "No space left" in cluster.dispatcher.log.read_text()
                cluster.kill_dispatcher()
                (disk / "ballast").unlink()
                cluster.start_dispatcher()

            got = train(cluster, pipeline, lines.field, tmp_path, "full", sleep=0.02, during=fill)
            assert_each_once(got[0], lines.expected)
    finally:
        subprocess.run(["umount", str(disk)], check=False)
