"""Functions for test_functions.py, in a module that subprocesses import. Each does to its record what its name says."""
import os
import sys
import time

import numpy as np


def double(record):
    return {"index": record["index"] * 2}


def double_batch(batch):
    return {"index": batch["index"] * 2}


def mean_of_batch(batch):
    return {"mean": np.float64(batch["index"].mean()), "rows": len(batch["index"])}


def is_odd(record):
    return record["index"] % 2 == 1


def are_odd(batch):
    return batch["index"] % 2 == 1


def cut(record):
    """As many parts as the index says, modulo 3."""
    for part in range(int(record["index"]) % 3):
        yield {"index": record["index"], "part": part}


def jitter(record, rng):
    return {"index": record["index"], "x": rng.normal()}


def describe(record):
    return {"text": f"record {record['index']}", "words": [b"a", b"bc"][:int(record["index"]) % 3],
            "ragged": np.arange(int(record["index"]) % 4, dtype=np.float32)}


def burn(record):
    """Some milliseconds of pure Python."""
    total = 0
    for i in range(20_000):
        total += i * i
    return {"index": record["index"]}


def fault(name):
    def decorate(harm):
        def function(record):
            if int(record["index"]) == 13:
                return harm(record)
            return record
        function.__name__ = function.__qualname__ = name
        globals()[name] = function
        return function
    return decorate


@fault("raises")
def _(record):
    raise ValueError("thirteen")


@fault("exits")
def _(record):
    sys.exit(3)


@fault("aborts")
def _(record):
    os.abort()


@fault("leaves")
def _(record):
    os._exit(0)


@fault("hangs")
def _(record):
    while True:
        pass


@fault("wrong_dtype")
def _(record):
    return {**record, "index": np.float32(1)}


@fault("wrong_shape")
def _(record):
    return {**record, "index": np.zeros(3, np.int64)}


@fault("forgets_a_field")
def _(record):
    return {}


@fault("takes_all_memory")
def _(record):
    kept = []
    while True:
        kept.append(np.ones(1 << 20, np.uint8))
        time.sleep(0.0005)


@fault("segfaults")
def _(record):
    import ctypes
    ctypes.string_at(0)


@fault("closes_everything")
def _(record):
    os.closerange(0, 64)
    return record


def prints_a_lot(record):
    for _ in range(300):
        print("x" * 1000)
    return record


def leaks(record, kept=[]):
    kept.append(np.ones(1 << 20, np.uint8))
    return record


def wrecks_numpy(record, done=[]):
    if not done:
        done.append(True)
        for name in [n for n in sys.modules if n.startswith("numpy") or n in ("os", "mmap", "struct")]:
            del sys.modules[name]
        del np.ndarray, np.zeros, np.frombuffer, np.asarray
    return record
