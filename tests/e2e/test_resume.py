"""Checkpoints: save anywhere, go on on any number of ranks, with the dispatcher's journal kept or lost; real processes."""
import collections
import os
import pickle
import signal
import subprocess
import sys

import pytest

import datasets
import headrace as hr
import processes
from processes import Cluster, Role

BATCH = 16
FAST = ("--worker-timeout", "1500ms", "--client-timeout", "3s")
STEPS = [{"filter": {"where": "length(line) % 3 != 0"}}, {"shuffle": {"buffer": 500, "seed": 1}}, {"batch": {"size": BATCH}}]


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """Lines in files of several splits, a third of them filtered out."""
    directory = tmp_path_factory.mktemp("lines")
    kept = []
    for f in range(12):
        text = [f"file {f} line {i} {'x' * (i % 41)}" for i in range(500)]
        (directory / f"{f:02d}.txt").write_text("\n".join(text) + "\n")
        kept += [t for t in text if len(t) % 3 != 0]
    return datasets.Dataset("lines", {"files": str(directory / "*.txt"), "format": "text"}, STEPS, "line",
                            [datasets.digest(t.encode()) for t in kept])


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """The questions of a real file by other writers, filtered like the lines."""
    shared = processes.shared_data()
    if shared is None:
        pytest.skip("shared/data with real files by other writers is not on this machine; the made files cover the same promise")
    import json

    path = shared / "text" / "gsm8k-train.jsonl"
    questions = [json.loads(line)["question"].encode() for line in open(path, "rb")]
    steps = [{"json_fields": {"question": "bytes"}}, {"filter": {"where": "length(question) % 3 != 0"}}, *STEPS[1:]]
    return datasets.Dataset("gsm8k", {"files": str(path), "format": "jsonl"}, steps, "question",
                            [datasets.digest(q) for q in questions if len(q) % 3 != 0])


class Ranks:
    """Trainers of one job, started together."""

    def __init__(self, cluster, directory, dataset, name, world, states=None, batches=None, own=False, end="kill", job="resume", epochs=1,
                 loss=None):
        self.outs, self.running, self.cluster = [], [], cluster
        pipeline = dataset.write(directory)
        for rank in range(world):
            out = directory / f"{name}-{rank}.pickle"
            out.unlink(missing_ok=True)
            self.outs.append(out)
            command = [sys.executable, os.path.join(os.path.dirname(__file__), "resume_trainer.py"), cluster.address, str(pipeline), str(out),
                       "--job", job, "--field", dataset.field, "--rank", str(rank), "--world", str(world), "--end", end,
                       "--epochs", str(epochs)]
            if states is not None:
                load = directory / f"{name}-{rank}.load"
                load.write_bytes(pickle.dumps(states[rank] if own else states))
                command += ["--load", str(load)]
            if batches is not None:
                command += ["--batches", str(batches)]
            if loss:
                command += ["--on-client-loss", loss]
            self.running.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))

    def wait(self, codes=(0, -signal.SIGKILL)):
        """What they wrote down. Fails when one ended in another way."""
        try:
            for process in self.running:
                _, err = process.communicate(timeout=90 * processes.SLOW)
                assert process.returncode in codes, err + "\n" + self.cluster.logs()
        finally:
            for process in self.running:
                process.kill()
                process.wait()
        return [pickle.loads(out.read_bytes()) for out in self.outs]


def got(results, epoch=0):
    return [d for r in results for d in (r["got"][epoch] if len(r["got"]) > epoch else [])]


def assert_epoch(dataset, *parts):
    have = collections.Counter(d for part in parts for d in part)
    want = collections.Counter(dataset.expected)
    missing, extra = want - have, have - want
    assert not missing and not extra, f"{sum(missing.values())} missing, {sum(extra.values())} too many of {len(dataset.expected)}"


def batches_at(dataset, percent, ranks):
    return max(1, len(dataset.expected) * percent // 100 // BATCH // ranks)


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("percent", [1, 50, 99])
def test_saved_anywhere_and_gone_on_on_any_number_of_ranks(lines, tmp_path, percent, ranks):
    with Cluster(tmp_path, workers=2, dispatcher_args=FAST) as cluster:
        saved = Ranks(cluster, tmp_path, lines, "saved", 2, batches=batches_at(lines, percent, 2)).wait()
        states = [s["state"] for s in saved]
        assert [(s["reader"], s["readers"], s["epoch"]) for s in states] == [(0, 2, 0), (1, 2, 0)]
        resumed = Ranks(cluster, tmp_path, lines, "resumed", ranks, states, end="close").wait()
        assert_epoch(lines, got(saved), got(resumed))


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_saved_at_an_epochs_end_it_is_the_start_of_the_next(lines, tmp_path, ranks):
    with Cluster(tmp_path, workers=2, dispatcher_args=FAST) as cluster:
        saved = Ranks(cluster, tmp_path, lines, "saved", 2, end="close").wait()
        assert_epoch(lines, got(saved))
        states = [s["state"] for s in saved]
        assert [(s["epoch"], s["delivered"]) for s in states] == [(1, b""), (1, b"")]
        resumed = Ranks(cluster, tmp_path, lines, "resumed", ranks, states, end="close").wait()
        assert {e for r in resumed for e in r["epochs"]} == {1}
        assert_epoch(lines, got(resumed))


@pytest.mark.parametrize("ranks", [1, 3])
def test_real_records_are_gone_on_with(real, tmp_path, ranks):
    with Cluster(tmp_path, workers=2, dispatcher_args=FAST) as cluster:
        saved = Ranks(cluster, tmp_path, real, "saved", 2, batches=batches_at(real, 50, 2)).wait()
        resumed = Ranks(cluster, tmp_path, real, "resumed", ranks, [s["state"] for s in saved], end="close").wait()
        assert_epoch(real, got(saved), got(resumed))


def test_each_rank_may_load_its_own_state_alone(lines, tmp_path):
    with Cluster(tmp_path, workers=2, dispatcher_args=FAST) as cluster:
        saved = Ranks(cluster, tmp_path, lines, "saved", 3, batches=batches_at(lines, 50, 3)).wait()
        resumed = Ranks(cluster, tmp_path, lines, "resumed", 3, [s["state"] for s in saved], own=True, end="close").wait()
        assert_epoch(lines, got(saved), got(resumed))


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_dispatcher_that_lost_its_journal_goes_on_all_the_same(lines, tmp_path, ranks):
    with Cluster(tmp_path, workers=2, dispatcher_args=FAST) as cluster:
        saved = Ranks(cluster, tmp_path, lines, "saved", 2, batches=batches_at(lines, 50, 2)).wait()
        cluster.dispatcher.kill()
        cluster.dispatcher = Role(tmp_path, "dispatcher2", "dispatcher", "--listen", cluster.address,
                                  "--journal.directory", tmp_path / "another", *FAST)
        assert cluster.dispatcher.address() == cluster.address
        resumed = Ranks(cluster, tmp_path, lines, "resumed", ranks, [s["state"] for s in saved], end="close").wait()
        assert_epoch(lines, got(saved), got(resumed))


def test_states_of_a_restored_run_hold_what_was_restored(lines, tmp_path):
    """Save, go on on another number of ranks, save, and so on: each time all ranks crash right after."""
    with Cluster(tmp_path, workers=2, dispatcher_args=FAST) as cluster:
        parts, states, before = [], None, 0
        for turn, ranks in enumerate([2, 3, 1, 2]):
            results = Ranks(cluster, tmp_path, lines, f"turn{turn}", ranks, states, batches=batches_at(lines, 20, ranks)).wait()
            parts.append(got(results))
            states = [r["state"] for r in results]
        results = Ranks(cluster, tmp_path, lines, "last", 2, states, end="close", epochs=2).wait()
        assert_epoch(lines, *parts, got(results))
        assert_epoch(lines, got(results, 1))


def test_a_forgotten_trainer_is_told_that_it_was_replaced(lines, tmp_path):
    with Cluster(tmp_path, workers=2, dispatcher_args=FAST) as cluster, hr.connect(cluster.address) as connection:
        pipeline = hr.from_yaml(lines.write(tmp_path))
        old = connection.stream(pipeline, job="resume", rank=0, world_size=1, prefetch_bytes=1 << 14)
        batches = iter(old)
        first = datasets_digests(next(batches))
        state = old.state_dict()
        resumed = Ranks(cluster, tmp_path, lines, "resumed", 1, [state], end="close").wait()
        assert_epoch(lines, first, got(resumed))
        with pytest.raises(hr.JobEndedError, match="replaced"):
            for _ in batches:
                pass
        old.close()


def datasets_digests(batch):
    from trainer import digests

    return digests(batch["line"])


def test_states_of_something_else_are_refused_with_the_difference(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"line {i}\n" for i in range(400)))
    with Cluster(tmp_path, workers=1, dispatcher_args=FAST) as cluster, hr.connect(cluster.address) as connection:
        def loader(steps=STEPS):
            other = datasets.Dataset("other", {"files": str(path), "format": "text"}, steps, "line", [])
            return connection.stream(hr.from_yaml(other.write(tmp_path)), rank=0, world_size=1)

        with loader() as one:
            next(iter(one))
            state = one.state_dict()
        with loader([STEPS[0], {"shuffle": {"buffer": 400, "seed": 1}}, STEPS[2]]) as other:
            other.load_state_dict(state)
            with pytest.raises(hr.PipelineError, match="step 2 'shuffle': buffer is 400 now, 500 in the state"):
                iter(other)
        with loader() as other:
            other.load_state_dict({**state, "readers": 2})
            with pytest.raises(hr.PipelineError, match="1 of the 2 readers that saved"):
                iter(other)
        with loader() as other:
            for wrong in ({}, [], 7, {**state, "format": "x"}, {**state, "delivered": b"\xff\xff"}, {**state, "delivered": "text"},
                          {**state, "epoch": -1}, {**state, "version": 2}, {**state, "seed": 5}):
                with pytest.raises((hr.PipelineError, TypeError)):
                    other.load_state_dict(wrong)
        path.write_text(path.read_text() + "one more\n")
        with loader() as other:
            other.load_state_dict(state)
            with pytest.raises(hr.PipelineError, match="dataset's files changed"):
                iter(other)


def test_ranks_that_do_not_come_are_named_and_waiting_can_be_left(lines, tmp_path):
    with Cluster(tmp_path, workers=1, dispatcher_args=FAST) as cluster:
        saved = Ranks(cluster, tmp_path, lines, "saved", 2, batches=2).wait()
        half = Ranks(cluster, tmp_path, lines, "half", 2, [s["state"] for s in saved], end="close")
        half.running[1].kill()
        with pytest.raises(subprocess.TimeoutExpired):
            half.running[0].wait(timeout=3)
        half.running[0].send_signal(signal.SIGINT)
        _, err = half.running[0].communicate(timeout=10 * processes.SLOW)
        assert half.running[0].returncode != 0 and "KeyboardInterrupt" in err
        half.running[1].wait()


def test_a_lost_trainers_share_waits_until_it_is_released(lines, tmp_path):
    with Cluster(tmp_path, workers=2, dispatcher_args=FAST) as cluster:
        first = Ranks(cluster, tmp_path, lines, "lost", 1, batches=3).wait()
        others = Ranks(cluster, tmp_path, lines, "others", 1, end="close")

        def waits():
            job = next((j for j in cluster.jobs() if j["name"] == "resume"), None)
            return job and "jobs release resume" in job.get("error", "") and job

        processes.wait_for(waits, 30, "the job to say whom it waits for")
        assert others.running[0].poll() is None
        said = processes.run("jobs", "release", "resume", "--cluster", cluster.address).stdout
        assert "may come twice" in said
        rest = others.wait()
        have = collections.Counter(got(first) + got(rest))
        want = collections.Counter(lines.expected)
        assert not want - have, "missing"
        assert sum((have - want).values()) <= 3 * BATCH
        job = next(j for j in cluster.jobs() if j["name"] == "resume")
        assert "may have come twice" in job["warnings"][0]


def test_reassign_gives_a_lost_trainers_share_away_at_once(lines, tmp_path):
    with Cluster(tmp_path, workers=2, dispatcher_args=FAST) as cluster:
        first = Ranks(cluster, tmp_path, lines, "lost", 1, batches=3, loss="reassign").wait()
        rest = Ranks(cluster, tmp_path, lines, "others", 1, end="close", loss="reassign").wait()
        assert not collections.Counter(lines.expected) - collections.Counter(got(first) + got(rest))


def test_jobs_shows_where_records_are(lines, tmp_path):
    with Cluster(tmp_path, workers=2, dispatcher_args=FAST) as cluster:
        Ranks(cluster, tmp_path, lines, "whole", 1, end="close").wait()
        job = next(j for j in cluster.jobs() if j["name"] == "resume")
        epoch = {k: int(v) for k, v in job["epochs"][0].items() if k != "state"}
        assert epoch["delivered"] == len(lines.expected) and epoch["settled"] == 12 * 500 - len(lines.expected)
        assert "skipped" in processes.run("jobs", "resume", "--cluster", cluster.address).stdout
