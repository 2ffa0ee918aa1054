"""Workers on the trainer's own host: the rule, and real processes."""
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from processes import Cluster, run, wait_for

import headrace as hr
from headrace._local_workers import LocalWorkers
from headrace._spare_cores import GROWN, Rule, Window

HUNGRY = Window(steps=100, step_seconds=0.010, stall=0.5, spare_cores=4)


def feed(rule, *windows):
    for window in windows:
        rule, _ = rule.decide(window)
    return rule


def grown(window, by):
    return dataclasses.replace(window, step_seconds=window.step_seconds * by)


def test_one_more_every_other_window_while_the_trainer_waits_and_cores_are_idle():
    rule = Rule(most=3)
    counts = []
    for _ in range(8):
        rule, why = rule.decide(HUNGRY)
        counts.append(rule.workers)
    assert counts == [1, 1, 2, 2, 3, 3, 3, 3]


@pytest.mark.parametrize("window", [dataclasses.replace(HUNGRY, stall=0.01), dataclasses.replace(HUNGRY, spare_cores=0.9),
                                    dataclasses.replace(HUNGRY, steps=3)])
def test_none_where_nobody_waits_or_nothing_is_spare_or_known(window):
    assert feed(Rule(most=3), *[window] * 5).workers == 0


def test_what_makes_the_trainer_slower_goes_and_is_not_tried_again_soon():
    two = feed(Rule(most=8), *[HUNGRY] * 4)
    assert two.workers == 2
    slow = grown(HUNGRY, 1.05)
    one = feed(two, slow)
    assert one.workers == 2  # a window alone may be chance
    one, why = one.decide(slow)
    assert one.workers == 1 and "5% longer" in why
    # Back to normal: it was too many, for eight windows.
    counts = []
    for _ in range(12):
        one, _ = one.decide(HUNGRY)
        counts.append(one.workers)
    assert 1 in counts and counts.index(2) >= 6, counts


def test_steps_that_grow_by_themselves_are_not_the_workers_fault():
    two = feed(Rule(most=8), *[HUNGRY] * 4)
    longer = grown(HUNGRY, 1.5)
    rule = feed(two, longer, longer, longer, longer)
    assert rule.workers == 1 and rule.alone == longer.step_seconds
    assert feed(rule, longer, longer).workers == 2


def test_a_rule_never_leaves_its_bounds():
    import random

    random.seed(7)
    for _ in range(300):
        rule = Rule(most=random.randint(1, 4))
        for _ in range(60):
            base = 0.01 * (1 + 0.02 * rule.workers)
            rule, _ = rule.decide(Window(random.choice([0, 50]), base * random.uniform(0.9, 1.2), random.random(), random.uniform(0, 4)))
            assert 0 <= rule.workers <= rule.most
            assert rule.back_off <= 64
    assert GROWN == 1.03


# --- Real processes.


def workers_of(cluster):
    return json.loads(run("workers", "--cluster", cluster.address, "--output", "json").stdout) or []


@pytest.fixture
def empty_cluster(tmp_path):
    """A dispatcher without workers."""
    with Cluster(tmp_path, workers=0, dispatcher_args=("--worker-timeout", "1500ms"), env={"LD_PRELOAD": ""}) as running:
        yield running


def test_two_local_workers_make_a_whole_epoch_and_leave_with_the_loader(empty_cluster):
    pipeline = hr.range(2000, bytes=64, split_elements=100).batch(10)
    with hr.connect(empty_cluster.address) as cluster:
        with cluster.stream(pipeline, job="mine", local_workers=2) as loader:
            assert sorted(int(i) for batch in loader for i in batch["index"]) == list(range(2000))
            wait_for(lambda: len(workers_of(empty_cluster)) == 2, 20, "two workers of its own")
            # Nobody else's.
            with cluster.stream(pipeline, job="other") as other, pytest.raises(TimeoutError):
                iter(other).take(2.0)
            assert [w["leases"] for w in workers_of(empty_cluster)] == [0, 0]
        wait_for(lambda: [w["state"] for w in workers_of(empty_cluster)] == ["left", "left"], 20, "both to have said goodbye")
    with pytest.raises(ValueError, match="local_workers is -1"):
        hr.connect(empty_cluster.address).stream(pipeline, local_workers=-1)


def test_auto_adds_workers_while_the_trainer_waits_and_each_record_comes_once(cluster):
    """The rule on a real loader; how many cores are idle is made up, for this machine runs other tests."""
    pipeline = hr.range(3000, bytes=64, split_elements=50).step("sleep", seconds=0.002).batch(10)
    with hr.connect(cluster.address) as connection, connection.stream(pipeline, job="auto") as loader:
        own = LocalWorkers("auto", cluster.address, "auto", connection._shown(), loader._native.stats, window_seconds=0.3,
                           spare_cores=lambda: 4.0)
        own._rule = Rule(most=2)
        most = 0
        try:
            own.start()
            seen = []
            for batch in loader:
                seen += [int(i) for i in batch["index"]]
                most = max(most, own.count)
        finally:
            own.close(2.0)
        assert sorted(seen) == list(range(3000))
        assert 1 <= most <= 2


def test_they_end_with_a_trainer_that_is_killed(empty_cluster):
    script = f"""
import headrace as hr
with hr.connect("{empty_cluster.address}") as cluster:
    loader = cluster.stream(hr.range(10_000_000, bytes=64, split_elements=1000).batch(10), job="dies", local_workers=2)
    for i, batch in enumerate(loader):
        if i == 5:
            print("reads", flush=True)
"""
    trainer = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert trainer.stdout.readline() == "reads\n"
        children = [int(p) for p in pathlib.Path(f"/proc/{trainer.pid}/task").glob("*/children") for p in p.read_text().split()]
        assert children
    finally:
        trainer.send_signal(signal.SIGKILL)
        trainer.wait()
    deadline = time.monotonic() + 20
    while any(os.path.exists(f"/proc/{pid}") for pid in children):
        assert time.monotonic() < deadline, "its workers live on"
        time.sleep(0.1)
