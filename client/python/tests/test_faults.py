"""What goes wrong around a trainer: forks, late arrays, double closes, Ctrl-C, and either side killed at every stage."""
import collections
import contextlib
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import pytest

import headrace as hr
import processes

ELEMENTS, BATCH = 4000, 8
SECONDS = processes.SLOW  # what "at once" is: 1 s, more under sanitizers


def numbers(batch=BATCH, elements=ELEMENTS):
    return hr.range(elements, bytes=64).batch(batch)


def indices(batches):
    return [int(i) for batch in batches for i in batch["index"]]


def assert_each_once(got, elements=ELEMENTS):
    counts = collections.Counter(got)
    assert len(got) == elements and sorted(counts) == list(range(elements))


@contextlib.contextmanager
def within(seconds):
    began = time.monotonic()
    yield
    took = time.monotonic() - began
    assert took < seconds, f"took {took:.2f} s, {seconds} allowed"


def freeze(*roles):
    """Stops processes; they are stopped when it returns."""
    for role in roles:
        role.process.send_signal(signal.SIGSTOP)

    def stopped(pid):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/stat") as stat:
                if stat.read().rpartition(")")[2].split()[0] != "T":
                    return False
        return True

    for role in roles:
        processes.wait_for(lambda: stopped(role.process.pid), 5, f"{role.name} to stop")  # noqa: B023


# ---- forks

def fork(body):
    """Starts `body(pipe)` in a forked child; its pid, and a file of what it writes to the pipe."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "multi-threaded process uses fork()": that is the point
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            with os.fdopen(writing, "wb", buffering=0) as pipe:
                body(pipe)
            code = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            import atexit

            atexit._run_exitfuncs()
            sys.stderr.flush()
            os._exit(code)
    os.close(writing)
    return pid, os.fdopen(reading, "rb")


def join(pid):
    """The exit code of a forked child."""
    end = time.monotonic() + 30 * SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError("the forked child hung")


def in_forked_child(body):
    """Runs `body` in a child that ends as trainers do, through the interpreter's exit; its exit code."""
    pid, pipe = fork(lambda _: body())
    with pipe:
        return join(pid)


def test_a_child_forked_in_mid_epoch_joins_the_job_and_each_record_comes_once(cluster):
    connection = hr.connect(cluster.address)
    # So little prefetch that neither can take all of it.
    loader = connection.stream(numbers(), job="forked", prefetch_bytes=4096)
    batches = iter(loader)
    got = indices(next(batches) for _ in range(3))

    def child(pipe):
        loader.set_epoch(0)
        theirs = iter(loader)
        pipe.write(b"joined\n")
        pipe.write(np.array(indices(theirs), np.int64).tobytes())
        loader.close()
        loader.close()

    pid, pipe = fork(child)
    with pipe:
        assert pipe.readline() == b"joined\n"
        got += indices(batches)
        theirs = np.frombuffer(pipe.read(), np.int64).tolist()
    assert join(pid) == 0
    assert theirs
    assert_each_once(got + theirs)
    connection.close()


def test_a_child_leaves_the_parents_stream_alone(cluster):
    connection = hr.connect(cluster.address)
    loader = connection.stream(numbers(), job="mine")
    batches = iter(loader)
    got = indices([next(batches)])

    def child():
        loader.close()
        connection.close()
        connection.close()
        with pytest.raises(hr.ClosedError):
            iter(loader)
        with pytest.raises(hr.ClosedError, match="before a fork"):
            loader._closed = False  # the iteration itself is not the child's
            next(batches)
        gc.collect()

    for _ in range(3):
        assert in_forked_child(child) == 0
    assert_each_once(got + indices(batches))
    assert indices(loader) and connection.address
    connection.close()


def test_arrays_may_be_read_and_dropped_in_a_child(cluster):
    with hr.connect(cluster.address) as connection:
        batches = [batch["data"] for batch in connection.stream(numbers(elements=64))]
        sums = [int(b.sum()) for b in batches]

        def child():
            assert [int(b.sum()) for b in batches] == sums
            batches.clear()
            gc.collect()

        assert in_forked_child(child) == 0
        assert [int(b.sum()) for b in batches] == sums


def test_a_connection_not_yet_used_opens_directly_in_the_child():
    program = """
        import os, sys, headrace as hr
        connection = hr.connect(sys.argv[1])
        pid = os.fork()
        with connection.stream(hr.range(100, bytes=8).batch(10), job=f"job-{pid == 0}") as loader:
            assert type(loader._native).__module__ == "headrace._native", type(loader._native)
            assert sum(len(b["index"]) for b in loader) == 100
        connection.close()
        if pid:
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    """
    with hr.local() as cluster:
        run_python(program, cluster.address)


def run_python(program, *args, timeout=30, check=True):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program), *args], capture_output=True, text=True,
                          timeout=timeout * SECONDS)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_processes_of_multiprocessing_share_an_epoch(cluster, method):
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    with hr.connect(cluster.address) as connection:
        loader = connection.stream(numbers(), job=method)
        loader.set_epoch(0)
        readers = [context.Process(target=_count_epoch_0, args=(loader, queue)) for _ in range(2)]
        for reader in readers:
            reader.start()
        got = [queue.get(timeout=30 * SECONDS) for _ in readers]
        for reader in readers:
            reader.join(30 * SECONDS)
            assert reader.exitcode == 0
    assert_each_once(got[0] + got[1])


def _count_epoch_0(loader, queue):
    loader.set_epoch(0)
    try:
        queue.put(indices(loader))
    except hr.EpochOverError:
        queue.put([])  # the other one had it all before this one was up
    loader.close()


def test_a_local_cluster_serves_its_forked_children():
    with hr.local(workers=2) as cluster:
        loader = cluster.stream(numbers(), job="shared")

        def child():
            assert_each_once(indices(cluster.stream(numbers(elements=80))), 80)
            loader.set_epoch(0)
            assert_each_once(indices(loader))

        assert in_forked_child(child) == 0
        loader.set_epoch(1)
        assert_each_once(indices(loader))


def test_a_relay_that_is_killed_is_an_error_and_its_records_go_to_others(cluster):
    connection = hr.connect(cluster.address)
    loader = connection.stream(numbers(), job="relayed", prefetch_bytes=4096, on_client_loss="reassign")

    def child(pipe):
        loader.set_epoch(0)
        batches = iter(loader)
        got = indices([next(batches)])
        loader._native._process.kill()
        with pytest.raises(hr.UnavailableError, match="helper process ended"):
            while True:
                got += indices([next(batches)])
        pipe.write(np.array(got, np.int64).tobytes())
        with within(2 * SECONDS):
            loader.close()
            loader.close()

    pid, pipe = fork(child)
    with pipe:
        theirs = np.frombuffer(pipe.read(), np.int64).tolist()
    assert join(pid) == 0
    loader.set_epoch(0)
    # What the killed one had handed over and not reported may be given out again.
    assert set(theirs) | set(indices(loader)) == set(range(ELEMENTS))
    connection.close()


def test_a_child_that_is_killed_takes_its_relay_along(cluster):
    connection = hr.connect(cluster.address)
    loader = connection.stream(numbers(), job="orphan", prefetch_bytes=4096)

    def child(pipe):
        loader.set_epoch(0)
        next(iter(loader))
        pipe.write(f"{loader._native._process.pid}\n".encode())
        time.sleep(60)

    pid, pipe = fork(child)
    relay = int(pipe.readline())
    os.kill(pid, signal.SIGKILL)
    join(pid)
    pipe.close()

    def gone():
        try:
            with open(f"/proc/{relay}/stat") as stat:
                return stat.read().split()[2] == "Z"
        except FileNotFoundError:
            return True

    processes.wait_for(gone, 10, "the relay to end")
    connection.close()


# ---- arrays that live on

def test_arrays_dropped_late_outlive_loader_and_cluster(cluster):
    connection = hr.connect(cluster.address)
    loader = connection.stream(numbers(elements=64))
    batches = list(loader)
    loader.close()
    connection.close()
    del loader, connection
    cluster.close()
    gc.collect()
    assert sorted(indices(batches)) == list(range(64))
    views = [b["data"][1:3] for b in batches]
    del batches
    gc.collect()
    assert all(v.sum() >= 0 for v in views)


def test_arrays_are_dropped_from_other_threads(cluster):
    with hr.connect(cluster.address) as connection:
        held = collections.deque(batch["data"] for batch in connection.stream(numbers()))

        def drop():
            with contextlib.suppress(IndexError):
                while True:
                    held.pop()

        threads = [threading.Thread(target=drop) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not held


def test_arrays_are_dropped_at_the_interpreters_end():
    run_python("""
        import headrace as hr
        cluster = hr.local()
        loader = cluster.stream(hr.range(1000, bytes=100).batch(10))
        batches = list(loader)
        capsule = hr.dlpack(batches[0]["data"]).__dlpack__()
    """)


# ---- closing

def test_closing_twice_and_reading_after_close(cluster):
    connection = hr.connect(cluster.address)
    loader = connection.stream(numbers())
    batches = iter(loader)
    next(batches)
    with within(3 * SECONDS):
        loader.close()
        loader.close(timeout=0)
    for read in (lambda: next(batches), lambda: iter(loader)):
        with pytest.raises(hr.ClosedError):
            read()
    assert loader.stats["elements"] >= 1 and loader.epoch == 0
    connection.close()
    connection.close()
    with pytest.raises(hr.ClosedError):
        connection.stream(numbers())


def test_closing_the_cluster_closes_its_loaders(cluster):
    connection = hr.connect(cluster.address)
    loader = connection.stream(numbers())
    batches = iter(loader)
    next(batches)
    connection.close()
    with pytest.raises(hr.ClosedError):
        next(batches)


def test_close_wakes_a_read_in_another_thread(cluster):
    connection = hr.connect(cluster.address)
    freeze(*cluster.workers)  # nothing will come
    loader = connection.stream(numbers())
    batches = iter(loader)
    errors = []

    def read():
        try:
            next(batches)
        except hr.ClosedError as error:
            errors.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    time.sleep(0.2)
    with within(3 * SECONDS):
        loader.close()
        reader.join(3 * SECONDS)
    assert errors
    connection.close()


@pytest.mark.parametrize("what", ["loader", "cluster"])
def test_close_is_bounded_when_the_dispatcher_is_frozen(cluster, what):
    connection = hr.connect(cluster.address)
    loader = connection.stream(numbers())
    next(iter(loader))
    freeze(cluster.dispatcher)
    try:
        time.sleep(1.2)  # a beat is under way
        with within(1.0 + SECONDS):
            (loader if what == "loader" else connection).close(timeout=1.0)
    finally:
        cluster.dispatcher.process.send_signal(signal.SIGCONT)
        connection.close()


def test_a_local_cluster_that_nobody_closed_ends_with_the_process():
    with within(10 * SECONDS):
        run_python("""
            import headrace as hr
            cluster = hr.local(workers=2)
            loader = cluster.stream(hr.range(100000, bytes=100).batch(10))
            next(iter(loader))
        """)


# ---- Ctrl-C

INTERRUPTED = """
    import sys, threading, time, headrace as hr
    address, stage = sys.argv[1:]
    def say(): print("now", flush=True)
    if stage == "connect":
        say()
    connection = hr.connect(address, timeout=30)
    try:
        if stage == "stream":
            connection.address and connection._open()
            say(); sys.stdin.readline()
        if stage in ("start", "next"):
            loader = connection.stream(hr.range(1000, bytes=8).batch(10), job="interrupted")
            if stage == "start":
                say(); sys.stdin.readline()
            batches = iter(loader)
            say()
            while True:
                next(batches)
        connection.stream(hr.range(1000, bytes=8).batch(10))
    except KeyboardInterrupt:
        print("interrupted", time.time(), flush=True)
        raise
"""


@pytest.mark.parametrize("stage", ["connect", "stream", "start", "next"])
def test_ctrl_c_is_answered_within_a_second(cluster, stage):
    """The dispatcher is frozen, so that every call waits; workers are, so that nothing comes."""
    frozen = [cluster.dispatcher, *cluster.workers]
    if stage == "connect":
        freeze(*frozen)
    if stage == "next":
        freeze(*cluster.workers)
    trainer = subprocess.Popen([sys.executable, "-c", textwrap.dedent(INTERRUPTED), cluster.address, stage], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert trainer.stdout.readline() == "now\n", trainer.stderr.read()
        if stage in ("stream", "start"):
            freeze(*frozen)
            trainer.stdin.write("go\n")
            trainer.stdin.flush()
        time.sleep(0.5)
        began = time.time()
        trainer.send_signal(signal.SIGINT)
        if stage != "connect":  # its exception has nowhere to be seen but in the exit
            word, at = trainer.stdout.readline().split()
            assert word == "interrupted" and float(at) - began < SECONDS
        _, err = trainer.communicate(timeout=20 * SECONDS)
        assert time.time() - began < 6 * SECONDS  # closing has its time limits
        assert "KeyboardInterrupt" in err
    finally:
        trainer.kill()
        for role in frozen:
            role.process.send_signal(signal.SIGCONT)


def test_an_iteration_goes_on_after_ctrl_c(cluster):
    with hr.connect(cluster.address) as connection:
        batches = iter(connection.stream(numbers(), prefetch_bytes=4096))
        got = indices([next(batches)])
        freeze(*cluster.workers)
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            for batch in batches:
                got += indices([batch])
        for worker in cluster.workers:
            worker.process.send_signal(signal.SIGCONT)
        assert_each_once(got + indices(batches))


# ---- either side killed, at every stage

def test_a_dispatcher_that_is_not_there_is_named(cluster):
    cluster.dispatcher.kill()
    with pytest.raises(hr.UnavailableError, match=cluster.address), within(4 * SECONDS):
        hr.connect(cluster.address, timeout=0.5).stream(numbers())


@pytest.mark.parametrize("stage", ["before the epoch", "in the epoch", "at its end", "at close"])
def test_a_worker_killed_loses_nothing(cluster, stage):
    with hr.connect(cluster.address) as connection:
        loader = connection.stream(numbers(), prefetch_bytes=4096 if stage == "in the epoch" else 1 << 28)
        if stage == "before the epoch":
            cluster.workers[0].kill()
        batches = iter(loader)
        got = indices(next(batches) for _ in range(5))
        if stage == "in the epoch":
            cluster.workers[0].kill()
        got += indices(batches)
        if stage == "at its end":
            cluster.workers[0].kill()
            assert_each_once(indices(loader))
        if stage == "at close":
            cluster.workers[0].kill()
            cluster.workers[1].kill()
        assert_each_once(got)
        with within(3 * SECONDS):
            loader.close()


@pytest.mark.parametrize("stage", ["before the epoch", "in the epoch", "at close"])
def test_a_dispatcher_killed_leaves_nothing_hanging(cluster, stage):
    connection = hr.connect(cluster.address)
    loader = connection.stream(numbers())
    if stage == "before the epoch":
        cluster.dispatcher.kill()
        threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises((KeyboardInterrupt, hr.HeadraceError)):
            next(iter(loader))
    else:
        batches = iter(loader)
        next(batches)
        cluster.dispatcher.kill()
        if stage == "in the epoch":
            threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            with pytest.raises((KeyboardInterrupt, hr.HeadraceError)):
                while True:
                    next(batches)
    with within(4 * SECONDS):
        loader.close(1.0)
        connection.close(1.0)


@pytest.mark.parametrize("stage", ["connected", "streaming", "iterating", "closing"])
def test_a_trainer_killed_leaves_its_records_to_the_others(cluster, stage):
    program = """
        import sys, time, headrace as hr
        address, stage = sys.argv[1:]
        connection = hr.connect(address); connection._open()
        if stage != "connected":
            loader = connection.stream(hr.range(4000, bytes=64).batch(8), job="killed", prefetch_bytes=4096, on_client_loss="reassign")
            if stage != "streaming":
                batches = iter(loader)
                for _ in range(3):
                    print(*next(batches)["index"])
                time.sleep(1)  # reported by now
            if stage == "closing":
                loader.close()
        print("here", flush=True)
        time.sleep(60)
    """
    trainer = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program), cluster.address, stage], stdout=subprocess.PIPE, text=True)
    theirs = []
    for line in trainer.stdout:
        if line.startswith("here"):
            break
        theirs += [int(i) for i in line.split()]
    trainer.kill()
    trainer.wait()
    with hr.connect(cluster.address) as connection:
        loader = connection.stream(numbers(), job="killed", prefetch_bytes=4096, on_client_loss="reassign")
        loader.set_epoch(0)
        assert_each_once(theirs + indices(loader))
