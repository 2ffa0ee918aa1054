"""`ordering: deterministic` on real processes: the sequence of global batches is the same for any workers and ranks, after kills, and on from
any batch."""
import collections
import json
import os
import subprocess
import sys

import pytest

import datasets
import processes
from processes import Cluster

BATCH = 32
WINDOWS = {"lanes": 3, "window_bytes": 1}  # a window per split, so that lanes have several


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """JSON Lines in eight files of unlike length, so that lanes differ and rests are joined."""
    directory = tmp_path_factory.mktemp("lines")
    expected = []
    for f in range(8):
        records = [json.dumps({"id": f * 10000 + i, "text": "word " * ((f + i) % 7)}).encode() for i in range(700 + 137 * f)]
        (directory / f"part-{f}.jsonl").write_bytes(b"\n".join(records) + b"\n")
        expected += records
    return datasets.Dataset("lines", {"files": str(directory / "part-*.jsonl"), "format": "jsonl"}, [], "record",
                            [datasets.digest(r) for r in expected])


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    directory = tmp_path_factory.mktemp("photos")
    datasets.make_images(directory / "images")
    return datasets.packed_images("made-tfrecord", directory / "images", directory, "tfrecord")


STEPS = [{"shuffle": {"buffer": 200}}, {"batch": {"size": BATCH}}]
FILTERED = [{"json_fields": {"id": "int64", "text": "bytes"}}, {"filter": {"where": "id % 7 != 3"}}, {"shuffle": {"buffer": 200}},
            {"batch": {"size": BATCH}}]


def train(cluster, pipeline, field, directory, job, ranks=1, during=None, **options):
    """What each rank got: a list of batches per rank, and the ranks' last states."""
    outs, running = [], []
    flags = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    for rank in range(ranks):
        outs.append(directory / f"{job}-{rank}.json")
        running.append(subprocess.Popen(
            [sys.executable, os.path.join(os.path.dirname(__file__), "ordered_trainer.py"), cluster.address, str(pipeline), str(outs[-1]),
             "--job", job, "--field", field, "--rank", str(rank), "--world", str(ranks), *flags], stderr=subprocess.PIPE, text=True))
    try:
        if during:
            during()
        for process in running:
            _, err = process.communicate(timeout=120 * processes.SLOW)
            assert process.returncode == 0, err + "\n" + cluster.logs()
    finally:
        for process in running:
            process.kill()
    got = [json.loads(out.read_text()) for out in outs]
    return [g["batches"] for g in got], [g["state"] for g in got]


def global_batches(per_rank):
    assert len({len(batches) for batches in per_rank}) == 1, "ranks differ in how many batches they got"
    return [[d for part in parts for d in part] for parts in zip(*per_rank)]


def sequence(*args, **options):
    return global_batches(train(*args, **options)[0])


def test_the_sequence_is_the_same_for_any_workers_and_ranks(lines, photos, tmp_path):
    for dataset, steps, field, options in [(lines, FILTERED, "id", WINDOWS), (photos, STEPS, photos.field, {})]:
        pipeline = dataset.write(tmp_path, steps)
        found = {}
        for workers, ranks in [(1, 1), (2, 1), (4, 2), (1, 4), (2, 4)]:
            (tmp_path / f"{dataset.name}-{workers}-{ranks}").mkdir()
            with Cluster(tmp_path / f"{dataset.name}-{workers}-{ranks}", workers=workers) as cluster:
                found[workers, ranks] = sequence(cluster, pipeline, field, tmp_path, "same", ranks, **options)
        first = found[1, 1]
        assert all(len(batch) == BATCH for batch in first[:-1])
        assert len({json.dumps(f) for f in found.values()}) == 1
        if steps is STEPS:
            assert collections.Counter(d for b in first for d in b) == collections.Counter(dataset.expected)
            assert [d for b in first for d in b] != dataset.expected, "it was to be shuffled"


def test_another_epoch_has_another_order_of_the_same_records(lines, tmp_path):
    pipeline = lines.write(tmp_path, STEPS)
    with Cluster(tmp_path, workers=2) as cluster:
        first = sequence(cluster, pipeline, lines.field, tmp_path, "e0")
        second = sequence(cluster, pipeline, lines.field, tmp_path, "e1", epoch=1)
        again = sequence(cluster, pipeline, lines.field, tmp_path, "e1-again", epoch=1)
    assert first != second and second == again
    assert sorted(d for b in first for d in b) == sorted(d for b in second for d in b) == sorted(lines.expected)


def test_workers_killed_in_mid_epoch_change_nothing(lines, tmp_path):
    pipeline = lines.write(tmp_path, FILTERED)
    with Cluster(tmp_path, workers=1) as cluster:
        calm = sequence(cluster, pipeline, "id", tmp_path, "calm", **WINDOWS)
    for ranks in (1, 2):
        (tmp_path / f"kills-{ranks}").mkdir()
        with Cluster(tmp_path / f"kills-{ranks}", workers=3, dispatcher_args=("--worker-timeout", "1500ms")) as cluster:
            def kill():
                for victim, delivered in ((0, 1000), (1, 3000)):
                    processes.wait_for(lambda: any(j["delivered"] > delivered for j in cluster.jobs()), 60, "delivered records")
                    cluster.workers[victim].kill()
                    cluster.add_worker()

            assert sequence(cluster, pipeline, "id", tmp_path, "killed", ranks, during=kill, sleep=0.02, **WINDOWS) == calm


def test_padded_batches_steps_that_count_and_repeats_keep_their_order_though_workers_die(lines, photos, tmp_path):
    fields = {"json_fields": {"id": "int64", "text": "bytes"}}
    batch = {"batch": {"size": BATCH}}
    cases = [
        # Images of unlike sizes: each batch is as large as its largest, on every rank.
        ("padded", photos, [{"decode_image": {"field": "image"}}, {"shuffle": {"buffer": 50}}, {"padded_batch": {"size": 12}}], "image",
         len(photos.expected)),
        ("taken", lines, [fields, {"skip": 50}, {"take": 3000}, batch], "id", 3000),
        ("repeated", lines, [fields, {"filter": {"where": "id % 2 == 0"}}, {"repeat": {"count": 2}}, {"shuffle": {"buffer": 200}}, batch],
         "id", None),
    ]
    for name, dataset, steps, field, records in cases:
        pipeline = dataset.write(tmp_path, steps, suffix=f"-{name}")
        found = {}
        for workers, ranks in [(1, 1), (3, 2), (2, 4)]:
            directory = tmp_path / f"{name}-{workers}-{ranks}"
            directory.mkdir()
            with Cluster(directory, workers=workers, dispatcher_args=("--worker-timeout", "1500ms")) as cluster:
                def kill():
                    processes.wait_for(lambda: any(j["delivered"] > 40 for j in cluster.jobs()), 60, "delivered records")
                    cluster.workers[0].kill()
                    cluster.add_worker()

                found[workers, ranks] = sequence(cluster, pipeline, field, directory, name, ranks, during=kill if workers == 3 else None,
                                                 sleep=0 if workers != 3 else 0.3 if name == "padded" else 0.05, **WINDOWS)
        assert len({json.dumps(f) for f in found.values()}) == 1, name
        got = sum(len(batch) for batch in found[1, 1])
        assert got == records or records is None and got > 0 and got % 2 == 0, (name, got)


def test_it_goes_on_at_a_batch_bit_for_bit_on_other_ranks(lines, tmp_path):
    pipeline = lines.write(tmp_path, FILTERED)
    with Cluster(tmp_path, workers=2) as cluster:
        whole = sequence(cluster, pipeline, "id", tmp_path, "whole", **WINDOWS)
        for at in (1, len(whole) // 2, len(whole) - 1):
            parts, states = train(cluster, pipeline, "id", tmp_path, f"begin-{at}", 2, stop_after=at, **WINDOWS)
            assert global_batches(parts) == whole[:at]
            saved = tmp_path / f"states-{at}.json"
            saved.write_text(json.dumps(states))
            for ranks in (1, 2, 4):  # under the name that it was begun by on two
                tail = sequence(cluster, pipeline, "id", tmp_path, f"begin-{at}", ranks, states=saved, **WINDOWS)
                assert tail == whole[at:], f"from batch {at} on {ranks} ranks"


def test_what_cannot_be_ordered_is_refused_in_words(lines, tmp_path):
    import headrace as hr
    with Cluster(tmp_path, workers=1) as cluster, hr.connect(cluster.address) as connection:
        def refused(steps, **options):
            pipeline = hr.from_yaml(str(lines.write(tmp_path, steps)))
            with pytest.raises(Exception) as error:
                connection.stream(pipeline, ordering="deterministic", **{"rank": 0, "world_size": 1, **options})
            return str(error.value)

        assert "add a 'batch'" in refused([{"shuffle": {"buffer": 10}}])
        assert "in front of" in refused([{"batch": {"size": 4}}, {"shuffle": {"buffer": 10}}])
        assert "does not divide" in refused([{"batch": {"size": 4}}], world_size=3, job="three")
        assert "leave sharding at dynamic" in refused([{"batch": {"size": 4}}], sharding="static_file")
