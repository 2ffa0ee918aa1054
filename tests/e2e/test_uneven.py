"""`uneven` other than free: ranks that run in step, as DistributedDataParallel does, get the same number of batches; none ever waits for
one that does not come. Real dispatchers and workers; the ranks are threads that meet at a barrier after each batch."""
import collections
import subprocess
import threading
import time

import pytest

import headrace as hr
import processes
from processes import Cluster

FAST = ("--worker-timeout", "1500ms", "--client-timeout", "3s")
BOUND = 40  # seconds of an epoch: far more than it takes


class InStep:
    """Runs `ranks` trainers in step for `epochs`; `got[epoch][rank]` is the list of its batches' indexes."""

    def __init__(self, cluster, pipeline, ranks, uneven, epochs=1, step=0.0, job="uneven", leaves=None, **options):
        self.barrier = threading.Barrier(ranks)
        self.got = [[[] for _ in range(ranks)] for _ in range(epochs)]
        self.errors = [None] * ranks
        self.summaries = [None] * ranks
        self.steps = 0

        def train(rank):
            try:
                with hr.connect(cluster.address) as connection:
                    loader = connection.stream(pipeline, job=job, rank=rank, world_size=ranks, uneven=uneven, **options)
                    for epoch in range(epochs):
                        loader.set_epoch(epoch)
                        batches = iter(loader)
                        while (batch := batches.take(BOUND * processes.SLOW)) is not None:
                            self.got[epoch][rank].append([int(i) for i in batch["index"]])
                            if leaves == (rank, len(self.got[epoch][rank])):
                                break
                            time.sleep(step)
                            if leaves is None:
                                self.barrier.wait(BOUND * processes.SLOW)
                            self.steps += rank == 0
                    self.summaries[rank] = loader.summary
                    loader.close()
            except BaseException as error:
                self.errors[rank] = error
                self.barrier.abort()

        self.threads = [threading.Thread(target=train, args=(r,)) for r in range(ranks)]
        for thread in self.threads:
            thread.start()

    def wait(self):
        for thread in self.threads:
            thread.join(BOUND * processes.SLOW + 20)
            assert not thread.is_alive(), "a rank hangs"
        return self

    def check(self):
        self.wait()
        for error in self.errors:
            if error is not None:
                raise error
        return self


def records(epoch):
    return collections.Counter(i for rank in epoch for batch in rank for i in batch)


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("elements", [0, 8, 400, 1000, 1016])
def test_drop_gives_all_ranks_the_same_number_of_batches_and_leaves_out_fewer_than_there_are_ranks(tmp_path, elements, ranks):
    with Cluster(tmp_path, workers=2, dispatcher_args=FAST) as cluster:
        run = InStep(cluster, hr.range(elements, bytes=16).batch(8), ranks, "drop", epochs=2).check()
        for epoch in run.got:
            assert len({len(rank) for rank in epoch}) == 1
            have = records(epoch)
            assert all(n == 1 for n in have.values())
            dropped = elements - len(have)
            assert dropped <= 8 * (ranks - 1), (dropped, [len(r) for r in epoch])
        assert any(s["dropped_records"] == dropped for s in run.summaries), run.summaries


@pytest.mark.parametrize("ranks", [2, 3])
def test_pad_repeats_batches_and_leaves_out_nothing(tmp_path, ranks):
    with Cluster(tmp_path, workers=2, dispatcher_args=FAST) as cluster:
        run = InStep(cluster, hr.range(1016, bytes=16).batch(8), ranks, "pad", epochs=2).check()
        for epoch in run.got:
            assert len({len(rank) for rank in epoch}) == 1
            have = records(epoch)
            assert len(have) == 1016
            assert sum(len(rank) for rank in epoch) - 127 < ranks
        assert {s["padded_batches"] for s in run.summaries} & {-127 % ranks}, run.summaries


def test_error_says_how_many_are_left(tmp_path):
    with Cluster(tmp_path, workers=2, dispatcher_args=FAST) as cluster:
        InStep(cluster, hr.range(96, bytes=16).batch(8), 2, "error", job="even").check()
        run = InStep(cluster, hr.range(104, bytes=16).batch(8), 2, "error", job="uneven").wait()
        assert any("1 are left" in str(e) for e in run.errors), run.errors


def test_a_worker_that_dies_breaks_no_promise(tmp_path):
    with Cluster(tmp_path, workers=3, dispatcher_args=FAST) as cluster:
        run = InStep(cluster, hr.range(4000, bytes=64).shuffle(200, seed=1).batch(8), 2, "drop", step=0.005)
        processes.wait_for(lambda: run.steps > 40, 30, "40 steps")
        cluster.workers[1].kill()
        run.check()
        have = records(run.got[0])
        assert all(n == 1 for n in have.values()) and 4000 - len(have) <= 8
        assert len({len(rank) for rank in run.got[0]}) == 1


def test_when_a_rank_leaves_the_others_end_where_they_are(tmp_path):
    with Cluster(tmp_path, workers=2, dispatcher_args=FAST) as cluster:
        run = InStep(cluster, hr.range(4000, bytes=64).batch(8), 2, "drop", leaves=(0, 5)).check()
        assert 5 <= len(run.got[0][1]) < 40


def test_what_cannot_be_uneven_is_refused(tmp_path):
    with Cluster(tmp_path, workers=1, dispatcher_args=FAST) as cluster, hr.connect(cluster.address) as connection:
        for pipeline, options, why in [(hr.range(10), {}, "batches"), (hr.range(10).take(5).batch(2), {}, "take"),
                                       (hr.range(10).batch(2), {"sharding": "off"}, "dynamic")]:
            with pytest.raises(hr.PipelineError, match=why):
                connection.stream(pipeline, rank=0, world_size=1, uneven="drop", **options)


def test_the_command_line_has_the_words_too(tmp_path):
    pipeline = tmp_path / "uneven.yaml"
    pipeline.write_text(hr.range(1016, bytes=16).batch(8).to_yaml())
    with Cluster(tmp_path, workers=2, dispatcher_args=FAST) as cluster:
        ranks = [subprocess.Popen([processes.HEADRACE, "run", pipeline, "--cluster", cluster.address, "--job", "words", "--rank", str(rank),
                                   "--world-size", "2", "--uneven", "drop", "--visitation", "exactly_once", "--on-client-loss", "wait",
                                   "--output", "json"], stdout=subprocess.PIPE, text=True) for rank in range(2)]
        epochs = [processes.json.loads(rank.communicate(timeout=60 * processes.SLOW)[0])["epochs"] for rank in ranks]
        assert [[e["elements"] for e in epoch] for epoch in epochs] == [[63], [63]]
    done = processes.run("run", pipeline, "--visitation", "twice", check=False)
    assert done.returncode == 2 and "at_least_once" in done.stderr, done.stderr
