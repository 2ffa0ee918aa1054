"""A stream in a process that was forked after its parent had used gRPC.

gRPC cannot be used on the child's side of such a fork: its threads stayed in the parent, and both processes share its epoll set. So
the stream runs in a helper process, started afresh (fork and exec), and batches come over a socket pair: one request, one reply, so
that what the helper counts as handed over has reached this process. The helper ends when this process does, however it ends.

Messages: a length, a pickled header (both ends are this package), then the buffers that the header lists, each 64-byte aligned.
"""
from __future__ import annotations

import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np

from . import _errors
from ._bytes import BytesColumn
from ._dtypes import numpy_dtype

_ALIGNMENT = 64
_LENGTHS = struct.Struct("<QQ")  # header bytes, payload bytes


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _send(sock: socket.socket, header: Any, arrays: list[np.ndarray] = ()) -> None:
    text = pickle.dumps((header, [a.nbytes for a in arrays]), protocol=5)
    parts: list[Any] = [_LENGTHS.pack(len(text), sum(_padded(a.nbytes) for a in arrays)), text]
    for array in arrays:
        parts.append(memoryview(array))
        parts.append(bytes(_padded(array.nbytes) - array.nbytes))
    for part in parts:
        sock.sendall(part)


def _receive_into(sock: socket.socket, view: memoryview) -> None:
    while view.nbytes:
        got = sock.recv_into(view)
        if got == 0:
            raise EOFError
        view = view[got:]


def _receive(sock: socket.socket) -> tuple[Any, list[np.ndarray]]:
    lengths = bytearray(_LENGTHS.size)
    _receive_into(sock, memoryview(lengths))
    header_bytes, payload_bytes = _LENGTHS.unpack(lengths)
    text = bytearray(header_bytes)
    _receive_into(sock, memoryview(text))
    header, sizes = pickle.loads(text)
    room = np.empty(payload_bytes + _ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    _receive_into(sock, memoryview(room[start:start + payload_bytes]))
    room.flags.writeable = False
    arrays = []
    for size in sizes:
        arrays.append(room[start:start + size])
        start += _padded(size)
    return header, arrays


def _flat(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _encode(batch: dict[str, Any] | None) -> tuple[Any, list[np.ndarray]]:
    if batch is None:
        return None, []
    fields, arrays = [], []
    for name, value in batch.items():
        if isinstance(value, bytes):
            fields.append((name, "bytes", value))
        elif isinstance(value, BytesColumn):
            fields.append((name, "column", value.shape))
            arrays += [_flat(value.offsets), _flat(value.data)]
        else:
            fields.append((name, value.dtype.name, value.shape))
            arrays.append(_flat(value))
    return fields, arrays


def _decode(fields: Any, arrays: list[np.ndarray]) -> dict[str, Any] | None:
    if fields is None:
        return None
    rest = iter(arrays)
    batch: dict[str, Any] = {}
    for name, kind, what in fields:
        if kind == "bytes":
            batch[name] = what
        elif kind == "column":
            batch[name] = BytesColumn(next(rest).view(np.int64), next(rest), what)
        else:
            batch[name] = next(rest).view(numpy_dtype(kind)).reshape(what)
    return batch


class RelayedStream:
    """What _native.Loader is elsewhere. Not thread-safe."""

    def __init__(self, address: str, pipeline: bytes, options: dict[str, Any]):
        ours, theirs = socket.socketpair()
        # Modules are found where this process finds them, whatever it did to sys.path.
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        with theirs:
            self._process = subprocess.Popen([sys.executable, "-m", "headrace._relay", str(theirs.fileno())],
                                             pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=env)
        self._socket = ours
        self._asked: str | None = None  # a request without its reply: Ctrl-C came in between
        self._broken = False
        self._pid = os.getpid()
        self._last: dict[str, Any] = {"epoch": 0, "stats": {}, "summary": {}, "state": None}
        opened = self._call("open", (address, pipeline, options))[0]
        self.job, self.batched, self.schema = opened["job"], opened["batched"], opened["schema"]

    def _call(self, what: str, argument: Any = None, timeout: float | None = None) -> tuple[Any, list[np.ndarray]]:
        if self._broken or self._pid != os.getpid():
            raise _errors.ClosedError("the stream's helper process is gone")
        try:
            if self._asked not in (None, what):  # of a call that was given up
                self._reply(timeout)
            if self._asked is None:
                self._asked = what
                _send(self._socket, (what, argument))
            header, arrays = self._reply(timeout)
        except (EOFError, OSError) as error:
            self._broken = True
            raise _errors.UnavailableError("the stream's helper process ended; what it had not handed over goes to other readers") from error
        error, value = header
        if error is not None and error[0] == "TimeoutError":
            raise TimeoutError(error[1])
        if error is not None:
            raise getattr(_errors, error[0], _errors.HeadraceError)(error[1])
        return value, arrays

    def _reply(self, timeout: float | None) -> tuple[Any, list[np.ndarray]]:
        waiting = select.poll()
        waiting.register(self._socket, select.POLLIN)
        if not waiting.poll(None if timeout is None else timeout * 1000):  # interruptible: nothing is read yet
            raise EOFError
        try:
            answer = _receive(self._socket)
        except BaseException:  # in mid-message
            self._broken = True
            raise
        self._asked = None
        return answer

    def start_epoch(self, epoch: int | None) -> None:
        self._last["epoch"] = self._call("start_epoch", epoch)[0]

    def next(self, timeout: float | None) -> dict[str, Any] | None:
        return _decode(*self._call("next", timeout))

    def _told(self, what: str) -> Any:
        if not self._broken and self._pid == os.getpid():
            self._last[what] = self._call(what)[0]
        return self._last[what]

    def stats(self) -> dict[str, Any]:
        return self._told("stats")

    def summary(self) -> dict[str, Any]:
        return self._told("summary")

    def state(self) -> dict[str, Any]:
        return self._told("state")

    def load_states(self, states: list[dict[str, Any]]) -> None:
        self._call("load_states", (states,))

    def set_place(self, reader: int, readers: int) -> None:
        self._call("set_place", (reader, readers))

    def restore(self) -> None:
        self._call("restore")

    @property
    def epoch(self) -> int:
        return self._last["epoch"]

    def close(self, timeout: float) -> None:
        if self._pid != os.getpid() or self._process is None:
            return
        deadline = time.monotonic() + timeout
        try:
            if self._asked is None and not self._broken:
                for what in ("stats", "summary", "state"):
                    self._last[what] = self._call(what, timeout=timeout)[0]
                self._call("close", timeout, timeout)
        except _errors.HeadraceError:
            pass
        self._broken = True
        self._socket.close()  # the helper says goodbye and ends
        process, self._process = self._process, None
        try:
            process.wait(max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def __del__(self):
        if getattr(self, "_process", None) is not None:
            self.close(1.0)


def _serve(sock: socket.socket) -> None:
    from . import _native

    cluster = loader = None
    while True:
        try:
            (what, argument), _ = _receive(sock)
        except EOFError:
            break
        arrays: list[np.ndarray] = []
        value: Any = None
        try:
            if what == "open":
                address, pipeline, options = argument
                cluster = _native.Cluster.connect(address, options.pop("connect_timeout"), options.pop("transport"),
                                                  *options.pop("security"))
                loader = cluster.stream(_native.Pipeline.from_bytes(pipeline), *options.values())
                _end_with_peer(sock, loader)
                value = {"job": loader.job, "batched": loader.batched, "schema": loader.schema}
            elif what == "start_epoch":
                loader.start_epoch(argument)
                value = loader.epoch
            elif what == "next":
                value, arrays = _encode(loader.next(argument))
            elif what == "close":
                loader.close(argument)
            else:
                value = getattr(loader, what)(*(argument or ()))
            header = (None, value)
        except Exception as error:  # told to the other side, whatever it is
            header = ((type(error).__name__, str(error)), None)
        try:
            _send(sock, header, arrays)
        except OSError:
            break
    if loader is not None:
        loader.close(1.0)


def _end_with_peer(sock: socket.socket, loader: Any) -> None:
    """However the trainer ends, and whatever this process waits for at that moment."""
    def watch() -> None:
        hangup = select.poll()
        hangup.register(sock, 0)  # POLLHUP and POLLERR alone
        hangup.poll()
        loader.close(1.0)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the trainer's to answer
    _serve(socket.socket(fileno=int(sys.argv[1])))
    os._exit(0)  # the watching thread may be in native code
