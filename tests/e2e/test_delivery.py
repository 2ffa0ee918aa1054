"""Which record reaches which trainer, and how often: real processes, every record's identity counted."""
import os
import subprocess
import sys

import pytest

import datasets
import processes
from processes import Cluster
from trainers import assert_each_once, train

EXACT = ["dynamic", "static_file", "static_data", "static_file_or_data", "static_hint"]


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    directory = tmp_path_factory.mktemp("made")
    images = directory / "images"
    datasets.make_images(images)
    return [datasets.packed_images("made-tfrecord", images, directory, "tfrecord"),
            datasets.packed_images("made-webdataset", images, directory, "webdataset"),
            datasets.made_jsonl(directory), datasets.one_huge_text(directory)]


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    found = datasets.shared_datasets(tmp_path_factory.mktemp("shared"))
    if not found:
        pytest.skip("shared/data with real files by other writers is not on this machine; the made files cover the same promises")
    return found


def steps_for(sharding, batch=16):
    return ([{"shard": {}}] if sharding == "static_hint" else []) + [{"shuffle": {"buffer": 50, "seed": 1}}, {"batch": {"size": batch}}]


@pytest.mark.parametrize("trainers", [1, 4])
@pytest.mark.parametrize("sharding", EXACT)
def test_each_record_is_delivered_once(made, tmp_path, sharding, trainers):
    with Cluster(tmp_path, workers=3) as cluster:
        for dataset in made:
            pipeline = dataset.write(tmp_path, steps_for(sharding))
            for epoch in train(cluster, pipeline, dataset.field, tmp_path, f"{dataset.name}-job", sharding, trainers, epochs=2):
                assert_each_once(epoch, dataset.expected)


@pytest.mark.parametrize("trainers", [1, 4])
@pytest.mark.parametrize("sharding", EXACT)
def test_each_real_record_is_delivered_once(shared, tmp_path, sharding, trainers):
    with Cluster(tmp_path, workers=3) as cluster:
        for dataset in shared:
            pipeline = dataset.write(tmp_path, steps_for(sharding))
            got = train(cluster, pipeline, dataset.field, tmp_path, f"{dataset.name}-job", sharding, trainers)
            assert_each_once(got[0], dataset.expected)


def test_off_delivers_each_record_once_per_worker(made, tmp_path):
    with Cluster(tmp_path, workers=3) as cluster:
        for dataset in made:
            pipeline = dataset.write(tmp_path, steps_for("off"))
            got = train(cluster, pipeline, dataset.field, tmp_path, f"{dataset.name}-job", "off")
            assert_each_once(got[0], dataset.expected, times=3)


def test_a_worker_killed_in_mid_epoch_loses_nothing(made, tmp_path):
    with Cluster(tmp_path, workers=3, dispatcher_args=("--worker-timeout", "1500ms")) as cluster:
        dataset = made[3]  # 20,000 lines
        pipeline = dataset.write(tmp_path, steps_for("dynamic", batch=32))

        def kill_one():
            processes.wait_for(lambda: any(j["delivered"] > 1000 for j in cluster.jobs()), 30, "a thousand delivered records")
            cluster.workers[1].kill()

        got = train(cluster, pipeline, dataset.field, tmp_path, "killed", trainers=2, sleep=0.01, during=kill_one)
        assert_each_once(got[0], dataset.expected)


def test_a_worker_that_comes_late_helps(made, tmp_path):
    with Cluster(tmp_path, workers=0) as cluster:
        dataset = made[2]
        pipeline = dataset.write(tmp_path, steps_for("dynamic"))
        got = train(cluster, pipeline, dataset.field, tmp_path, "late", during=lambda: cluster.add_worker())
        assert_each_once(got[0], dataset.expected)


def test_more_workers_than_files(made, tmp_path):
    with Cluster(tmp_path, workers=6) as cluster:
        dataset = made[1]  # four shards
        pipeline = dataset.write(tmp_path, steps_for("dynamic"))
        assert_each_once(train(cluster, pipeline, dataset.field, tmp_path, "many")[0], dataset.expected)


def test_empty_files_alone_make_an_empty_epoch(tmp_path):
    for i in range(3):
        (tmp_path / f"empty-{i}.jsonl").touch()
    dataset = datasets.Dataset("empty", {"files": str(tmp_path / "empty-*.jsonl"), "format": "jsonl"}, [], "record", [])
    with Cluster(tmp_path, workers=2) as cluster:
        assert train(cluster, dataset.write(tmp_path), "record", tmp_path, "empty", epochs=2) == [[], []]


def test_every_role_ends_within_two_seconds_of_sigterm_in_mid_epoch(made, tmp_path):
    dataset = made[3]
    pipeline = dataset.write(tmp_path, steps_for("dynamic"))
    with Cluster(tmp_path, workers=2) as cluster:
        trainer = subprocess.Popen(
            [sys.executable, os.path.join(os.path.dirname(__file__), "trainer.py"), cluster.address, str(pipeline),
             str(tmp_path / "out.json"), "--job", "stopped", "--field", dataset.field, "--sleep", "0.05"],
            stderr=subprocess.DEVNULL)
        try:
            processes.wait_for(lambda: any(j["delivered"] > 100 for j in cluster.jobs()), 30, "records")
            assert cluster.workers[0].stop() == 0
            assert cluster.dispatcher.stop() == 0
            assert cluster.workers[1].stop() == 0
        finally:
            trainer.kill()
            trainer.wait()
