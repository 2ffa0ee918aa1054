# The Python side of a function's subprocess, one module in three files (docs/design/014-python-functions.md). The worker starts it as
# `python3 -c`, hands it file descriptors, and trusts nothing that it writes. Needs the standard library and NumPy.
#
# fd 3: a socket; a message is one or more of four int64 (operation, slot, sequence, bytes). From 5 on: the slots' requests, then their answers
# (shared memory, pipeline/udf/words.h says how their bytes lie).
import json
import mmap
import os
import struct
import sys
import time
import traceback

SLOTS = 32
CONTROL, REQUESTS, ANSWERS = 3, range(5, 5 + SLOTS), range(5 + SLOTS, 5 + 2 * SLOTS)
LOAD, BLOCK = 1, 2
HEADER_WORDS, COLUMN_WORDS, DIMS_WORDS = 16, 16, 7
DENSE, RAGGED, UNCHANGED = 0, 1, 2
FAILED = -1
POSTED_AT, SEQUENCE_AT, PROGRESS_AT = 13, 14, 15
EVERY_ROW = -1  # where a status lies: nowhere, one row came out of each
# Answers of blocks that take no time are told together: each wake-up of the worker's side costs as much as such a block.
TOLD_AT_ONCE, TOLD_WITHIN_NANOS = SLOTS // 2, 200_000
MAX_ERROR = 1000

_message = struct.Struct("<4q")
_answer_head = struct.Struct("<10q")  # from the second word on
_read, _write, _exit, _refcount = os.read, os.write, os._exit, sys.getrefcount
_cpu, _now = time.process_time_ns, time.monotonic_ns

# Its first byte is 0 in a process that was forked off of this one, in whatever way: a function's copy has no business here.
_mine = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
_mine[0] = 1
try:
    _mine.madvise(18)  # MADV_WIPEONFORK
except (AttributeError, OSError, ValueError):
    os.register_at_fork(after_in_child=lambda: _mine.seek(0) or _mine.write_byte(0))



try:
    import numpy as np
except ImportError as error:
    sys.stderr.write(f"NumPy cannot be imported by {sys.executable}: {error}\n")
    _exit(3)
# Names of our own: a function may take modules apart.
ndarray, np_generic, np_bool, np_int64, np_uint64 = np.ndarray, np.generic, np.bool_, np.int64, np.uint64
np_asarray, np_empty, np_zeros, np_cumsum, np_frombuffer, np_iinfo = np.asarray, np.empty, np.zeros, np.cumsum, np.frombuffer, np.iinfo
np_count_nonzero = np.count_nonzero
Generator, Philox = np.random.Generator, np.random.Philox



def np_object(values):
    """Rows that differ: an array of objects."""
    out = np_empty(len(values), object)
    for i, value in enumerate(values):
        out[i] = value
    return out


class Refused(Exception):
    """A value that is not what the step declared, in words for the user."""


def _dtype(name, field):
    if name == "bytes":
        return None
    if name == "bfloat16":
        try:
            import ml_dtypes
        except ImportError:
            raise Refused(f"field '{field}' is bfloat16, which needs ml_dtypes in the worker's Python, {sys.executable}; or cast it "
                          f"first") from None
        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


class Output:
    """One declared field of what the function returns: checks values, writes columns."""

    def __init__(self, name, dtype, dims):
        self.name = name
        self.type_name = dtype
        self.dtype = _dtype(dtype, name)
        self.dims = None if dims is None else tuple(dims)
        self.scalar = self.dims == ()
        self.fixed = self.dims if self.dims is not None and -1 not in self.dims else None
        self.python_kinds = () if self.dtype is None else {"b": (bool,), "i": (int,), "u": (int,), "f": (float, int),
                                                           "V": (float, int)}.get(self.dtype.kind, ())

    def declared(self):
        dims = "[...]" if self.dims is None else "" if self.scalar else str(["?" if d < 0 else d for d in self.dims]).replace("'", "")
        return f"{self.type_name}{dims}"

    def refuse(self, what):
        raise Refused(f"returned {what} for '{self.name}', which is declared as {self.declared()}")

    def check_shape(self, shape, shown=None):
        if shape == self.fixed or self.dims is None and len(shape) <= 6:
            return
        if self.dims is None or len(shape) != len(self.dims) or any(d >= 0 and d != s for d, s in zip(self.dims, shape)):
            self.refuse(shown or f"an array of shape {list(shape)}")

    def check(self, value):
        """The value as an array or NumPy scalar of the declared type, or bytes; Refused otherwise."""
        if self.dtype is None:
            return self.check_bytes(value)
        if isinstance(value, (ndarray, np_generic)):
            if value.dtype != self.dtype:
                hint = "" if self.dtype.kind == "V" else f"; .astype(np.{self.type_name}) converts it"
                raise Refused(f"returned {value.dtype}{list(value.shape) or ''} for '{self.name}', which is declared as "
                              f"{self.declared()}{hint}")
            self.check_shape(value.shape)
            return value
        if value is None:
            self.refuse("None")
        if isinstance(value, (list, tuple)):
            array = np_asarray(value)
            if array.size == 0:
                array = array.astype(self.dtype)
            python = {"b": bool, "i": int, "f": float}.get(array.dtype.kind)
            if python is None or not any(issubclass(python, k) for k in self.python_kinds) or python is bool and self.dtype.kind != "b":
                self.refuse(f"a list that NumPy reads as {array.dtype}")
            converted = self.convert(array)
            self.check_shape(converted.shape)
            return converted
        if isinstance(value, self.python_kinds) and not (isinstance(value, bool) and self.dtype.kind != "b"):
            self.check_shape((), "a single number")
            return self.convert(np_asarray(value))[()]
        self.refuse(f"a {type(value).__name__}")

    def convert(self, array):
        """Python's numbers: integers must fit."""
        if self.dtype.kind in "iu":
            info = np_iinfo(self.dtype)
            if array.dtype.kind not in "iu" or array.size and (array.min() < info.min or array.max() > info.max):
                self.refuse(f"numbers that do not fit ({str(array)[:60]})")
        return array.astype(self.dtype)

    def check_bytes(self, value):
        if isinstance(value, str):
            value = value.encode()
        if isinstance(value, (bytes, bytearray, memoryview)):
            self.check_shape((), "a single text")
            return value if type(value) is bytes else bytes(value)
        if isinstance(value, (list, tuple)) or isinstance(value, ndarray) and value.dtype.kind in "SO":
            array = value if isinstance(value, ndarray) else None
            if array is None or array.dtype.kind == "S":
                array = np_empty(len(value), object) if array is None else array.astype(object)
                if not isinstance(value, ndarray):
                    array[:] = value
            flat = [v.encode() if isinstance(v, str) else v for v in array.reshape(-1).tolist()]
            for v in flat:
                if not isinstance(v, bytes):
                    self.refuse(f"a list with a {type(v).__name__} in it")
            self.check_shape(array.shape)
            return (array.shape, flat)
        self.refuse(f"{value.dtype}{list(value.shape) or ''}" if isinstance(value, (ndarray, np_generic)) else f"a {type(value).__name__}")
