"""What processes that read for one rank (a DataLoader's workers) agree on: which epoch the next iteration is, and who may leave it.
A small file that they lock in turn (a lock ends with its holder, however that ends), and one of counters; both end with the process that
made them.

Leaving: a DataLoader takes batches from its workers in turn. One that waits for its turn may hold the epoch's last records, while the
one whose turn it is waits for records or the epoch's end: neither comes. So a worker that has nothing leaves the epoch when another
one stands still with something in hand; what is left comes to those that stay.
"""
from __future__ import annotations

import contextlib
import fcntl
import json
import os
import struct
import tempfile
import weakref
from typing import Any, Callable, Iterator

from ._errors import EpochOverError


_COUNTER = struct.Struct("<Q")


def _remove(paths: list[str], pid: int) -> None:
    if pid != os.getpid():
        return
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)


class SharedEpochs:
    """Picklable; found in forked and spawned processes of the same machine."""

    def __init__(self) -> None:
        handle, self.path = tempfile.mkstemp(prefix="headrace-epochs-")
        os.close(handle)
        handle, self.counters = tempfile.mkstemp(prefix="headrace-readers-")
        os.close(handle)
        weakref.finalize(self, _remove, [self.path, self.counters], os.getpid())

    @contextlib.contextmanager
    def _locked(self) -> Iterator[dict[str, Any]]:
        with open(self.path, "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            text = file.read()
            state = json.loads(text) if text else {"wanted": None, "epoch": None, "finished": True, "key": None, "joined": [], "gone": []}
            yield state
            file.seek(0)
            file.truncate()
            json.dump(state, file)

    def want(self, epoch: int) -> None:
        """The next iteration is to be this one."""
        with self._locked() as state:
            state["wanted"] = epoch

    def forget(self) -> None:
        """A checkpoint was loaded: the job says which epoch is next. A reader of this iteration that came before has said so already."""
        with self._locked() as state:
            if state["finished"] or state["joined"] in ([], [-1]):
                state.update(epoch=None, finished=True)

    def begin(self, key: Any, reader: int, start: Callable[[int | None], int]) -> int:
        """Begins this reader's part of the iteration that `key` names: the first of its readers decides which epoch that is.
        `start(epoch)` begins an epoch (None: the job's next one) and says which. EpochOverError when others had all of it."""
        with self._locked() as state:
            # The same reader again is another iteration, whatever the key says (it may come from a seed that somebody fixed).
            if state["key"] == key and reader not in state["joined"]:
                state["joined"].append(reader)
                return start(state["epoch"])
            wanted = state["wanted"]
            if state["epoch"] is not None:
                wanted = state["epoch"] + 1 if wanted is None else wanted
                if not state["finished"] and wanted != state["epoch"]:
                    with contextlib.suppress(EpochOverError):
                        start(state["epoch"])  # left early; a reader of it may end it where it is
            state.update(epoch=start(wanted), wanted=None, finished=False, key=key, joined=[reader], gone=[])
            return state["epoch"]

    def finished(self, epoch: int) -> None:
        """Read to its end."""
        with self._locked() as state:
            if state["epoch"] == epoch:
                state["finished"] = True

    def leave(self, epoch: int, reader: int) -> bool:
        """Another reader stays, so this one may go."""
        with self._locked() as state:
            if state["epoch"] != epoch or not set(state["joined"]) - set(state["gone"]) - {reader}:
                return False
            state["gone"].append(reader)
            return True


class Readers:
    """The counters: each reader's is even while it asks for a batch, odd while it has handed one over. Of one reader's process."""

    def __init__(self, epochs: SharedEpochs, reader: int):
        self._file = os.open(epochs.counters, os.O_RDWR)
        self._at = reader * _COUNTER.size
        self._mine = (_COUNTER.unpack(os.pread(self._file, _COUNTER.size, self._at).ljust(_COUNTER.size, b"\0"))[0] | 1)
        self._seen: list[int] = []
        weakref.finalize(self, os.close, self._file)

    def asks(self) -> None:
        self._count(even=True)

    def hands_over(self) -> None:
        self._count(even=False)

    def _count(self, even: bool) -> None:
        if (self._mine % 2 == 0) != even:
            self._mine += 1
        os.pwrite(self._file, _COUNTER.pack(self._mine), self._at)

    def another_stands_still(self) -> bool:
        """Some other reader has had a batch in hand ever since the last call."""
        data = os.pread(self._file, os.fstat(self._file).st_size, 0)
        now = [n for (n,) in _COUNTER.iter_unpack(data[:len(data) // _COUNTER.size * _COUNTER.size])]
        before, self._seen = self._seen, now
        return any(i * _COUNTER.size != self._at and n % 2 == 1 and n == m for i, (n, m) in enumerate(zip(now, before)))
