"""Headrace for PyTorch: `headrace.torch.Loader` is a torch.utils.data.IterableDataset.

    import headrace as hr
    import headrace.torch

    loader = hr.torch.Loader(pipeline, "dispatcher:5050", job="resnet50")
    for epoch in range(90):
        loader.set_epoch(epoch)
        for batch in loader:                      # dict[str, torch.Tensor]
            train_step(batch["image"], batch["label"])

It can be used bare (as above: the quickest way, since the batches are made elsewhere already), or inside of
torch.utils.data.DataLoader(loader, batch_size=None, num_workers=n) with any n.
"""
from __future__ import annotations

import multiprocessing.util
import os
import uuid
from typing import Any, Callable, Iterator

from . import _ranks
from ._cluster import Cluster, connected
from ._dlpack import dlpack
from ._epochs import Readers, SharedEpochs
from ._errors import ClosedError, EpochOverError
from ._loader import Loader as _Stream
from ._loader import saved_states
from ._pipeline import Pipeline

try:
    import torch
    import torch.distributed
    import torch.utils.data
except ImportError as error:
    raise ImportError("headrace.torch needs PyTorch: pip install torch (headrace itself needs only NumPy)") from error

def to_tensors(batch: dict[str, Any], bfloat16: frozenset[str] | set[str] = frozenset(), copy: bool = False) -> dict[str, Any]:
    """The arrays of a batch as tensors on the CPU, of the same shapes; without a copy they borrow the batch's memory, which is
    read-only. bytes and BytesColumn stay what they are. bfloat16: fields that are bfloat16 though their array says uint16."""
    out = {}
    for name, value in batch.items():
        if hasattr(value, "dtype"):
            value = torch.from_dlpack(dlpack(value, "bfloat16" if name in bfloat16 else None))
            if copy:
                value = value.clone()
        out[name] = value
    return out


def gather_state_dict(loader: Any) -> dict[str, Any]:
    """The states of all ranks, the same dict on each: for checkpoints whose plain values are kept once, whoever saves them
    (torch.distributed.checkpoint, or rank 0's torch.save). A collective call where a process group is initialised. loader: anything with
    state_dict(); load_state_dict of headrace's loaders takes the result, on any number of ranks."""
    mine = loader.state_dict()
    group = torch.distributed
    if not (group.is_available() and group.is_initialized()):
        return {"states": [mine]}
    states: list[Any] = [None] * group.get_world_size()
    group.all_gather_object(states, mine)
    return {"states": states}


# How long a worker of a DataLoader waits before it looks whether the others wait for it.
_PATIENCE_SECONDS = 0.25


class Loader(torch.utils.data.IterableDataset):
    """This rank's batches of a job: dict[str, torch.Tensor], the tensors' shapes as in the pipeline's schema, batch first.

    pipeline: what to read. cluster: the dispatcher's "host:port", or a Cluster (hr.connect, hr.local). job: ranks that name the same job
    share its records; needed when there is more than one rank. sharding, prefetch_bytes: as in Cluster.stream. rank, world_size: found
    out when left out: an initialised torch.distributed process group, then RANK and WORLD_SIZE, then 0 of 1; ValueError when they
    contradict each other. pin_memory: batches in pinned memory; None: where CUDA is. copy: tensors own their memory. Without, they
    borrow what arrived, which may be mapped read-only: a write in place (x.mul_(2), torch.relu_) may then end the process. length: what
    len() says, in batches, when you know it. connection: keywords of hr.connect where `cluster` is an address: {"tls_ca": "ca.pem",
    "token_file": "token"}. weight, priority, least_workers, most_workers, ordering, ordered_lanes, ordered_window_bytes, cache, epochs: as in Cluster.stream; "deterministic" needs num_workers of 0 or 1.

    In a DataLoader use batch_size=None. Each of its workers is a reader of its own, and takes its share: over all workers each record
    of the rank comes exactly once. It connects when it is first iterated over, in the process that does.
    """

    def __init__(self, pipeline: Pipeline, cluster: str | Cluster, *, job: str = "", sharding: str = "dynamic", rank: int | None = None,
                 world_size: int | None = None, prefetch_bytes: int = 256 << 20, pin_memory: bool | None = None, copy: bool = True,
                 length: int | None = None, visitation: str = "exactly_once", on_client_loss: str | None = None,
                 uneven: str = "free", ordering: str = "free", ordered_lanes: int = 0, ordered_window_bytes: int = 0,
                 weight: float = 1.0, priority: int = 0, least_workers: float = 0, most_workers: int = 0,
                 cache: str = "pipeline", epochs: int = 0,
                 connection: dict[str, Any] | None = None):
        super().__init__()
        self.rank, self.world_size = _ranks.resolve(rank, world_size)
        if self.world_size > 1 and not job:
            raise ValueError(f"there are {self.world_size} ranks: name the job that they share (job=...)")
        self._pipeline = pipeline
        self._cluster = connected(cluster, connection)
        # Workers of a DataLoader find each other by the job's name.
        self._options = {"job": job or f"torch-{uuid.uuid4().hex[:12]}", "sharding": sharding, "rank": self.rank,
                         "world_size": self.world_size, "prefetch_bytes": prefetch_bytes, "visitation": visitation,
                         "on_client_loss": on_client_loss, "uneven": uneven, "ordering": ordering,
                         "ordered_lanes": ordered_lanes, "ordered_window_bytes": ordered_window_bytes, "weight": weight,
                         "priority": priority, "least_workers": least_workers, "most_workers": most_workers,
                         "cache": cache, "epochs": epochs}
        self._copy = copy
        self._pin = pin_memory
        self._length = length
        self._epochs = SharedEpochs()
        self._own_cluster = isinstance(cluster, str)
        self._closed = False
        self._stream: _Stream | None = None
        self._stream_pid: int | None = None
        self._iterations = 0
        self._left: Any = None
        self._loaded: list[dict[str, Any]] | None = None

    def set_epoch(self, epoch: int) -> None:
        """The epoch of the next iteration; epochs count from 0. Without it, iterations count on."""
        if epoch < 0:
            raise ValueError(f"epochs count from 0, not {epoch}")
        self._epochs.want(int(epoch))

    def state_dict(self) -> dict[str, Any]:
        """Of this process's reader, for a checkpoint: ints, str and bytes under fixed keys (headrace.Loader.state_dict). In a DataLoader
        with workers, each worker has a state of its own: use torchdata's StatefulDataLoader, which collects them. For one file from all
        ranks: gather_state_dict."""
        if self._stream is not None and self._stream_pid == os.getpid():
            return self._stream.state_dict()  # also of one that left the epoch to the other workers
        return self._reader().state_dict()

    def load_state_dict(self, states: Any) -> None:
        """The next iteration goes on from a checkpoint (headrace.Loader.load_state_dict): the states of all readers that saved (a list, or
        what gather_state_dict gave), or the one that this reader saved."""
        self._loaded = saved_states(states)
        if self._stream is not None and self._stream_pid == os.getpid():
            self._load(self._stream)

    def _load(self, stream: _Stream) -> None:
        loaded, self._loaded = self._loaded, None
        if loaded is not None:
            stream.load_state_dict(loaded)
            self._epochs.forget()

    def __len__(self) -> int:
        if self._length is not None:
            return self._length
        if self._stream is None or self._stream_pid != os.getpid():
            raise TypeError("how many batches an epoch has is not known yet: workers share the records out as they go "
                            "(say length=... if you know it)")
        return len(self._stream)

    def _reader(self) -> _Stream:
        if self._closed:
            raise ClosedError("the loader is closed")
        if self._stream_pid != os.getpid():
            self._stream, self._stream_pid, self._iterations = None, os.getpid(), 0
        if self._stream is None or self._stream._closed:
            self._stream = self._cluster.stream(self._pipeline, **self._options)
            info = torch.utils.data.get_worker_info()
            if info is not None and info.num_workers > 1 and self._options["ordering"] == "deterministic":
                raise ValueError("ordering=\"deterministic\": a rank has one reader; use num_workers=0 or 1 (Headrace's workers do the work)")
            if info is not None:
                self._stream._place(self.rank * info.num_workers + info.id, self.world_size * info.num_workers)
                # A worker ends by os._exit, and says goodbye here; those that are killed are found out by their silence.
                multiprocessing.util.Finalize(self._stream, _Stream.close, (self._stream, 1.0), exitpriority=10)
        self._load(self._stream)
        return self._stream

    def __iter__(self) -> Iterator[dict[str, Any]]:
        info = torch.utils.data.get_worker_info()
        if self._left is not None:
            self._left.close()  # of a worker that is kept: the iteration before
        stream = self._reader()
        stream._restore()  # before the readers take turns to begin: it waits for all of them
        self._iterations += 1

        def start(epoch: int | None) -> int:
            if epoch is not None:
                stream.set_epoch(epoch)
            batches.append(iter(stream))
            return stream.epoch

        batches: list[Iterator[dict[str, Any]]] = []
        key = [os.getpid() if info is None else info.seed - info.id, self._iterations]
        try:
            epoch = self._epochs.begin(key, -1 if info is None else info.id, start)
        except EpochOverError:
            if info is None:
                raise
            return iter(())  # the other workers had all of it before this one was up
        if info is not None:
            self._left = self._worker(stream, batches[-1], epoch, info.id)
            return self._left
        return self._main(stream, batches[-1], epoch)

    def _convert(self, stream: _Stream, copy: bool) -> Callable[[dict[str, Any]], dict[str, Any]]:
        bfloat16 = {name for name, dtype, _ in stream.schema if dtype == "bfloat16"}
        return lambda batch: to_tensors(batch, bfloat16, copy=copy)

    def _main(self, stream: _Stream, batches: Iterator[dict[str, Any]], epoch: int) -> Iterator[dict[str, Any]]:
        pin = torch.cuda.is_available() if self._pin is None else self._pin
        convert = self._convert(stream, copy=self._copy and not pin)
        for batch in batches:
            tensors = convert(batch)
            if pin:
                tensors = {k: v.pin_memory() if isinstance(v, torch.Tensor) else v for k, v in tensors.items()}
            yield tensors
        self._epochs.finished(epoch)

    def _worker(self, stream: _Stream, batches: Any, epoch: int, worker: int) -> Iterator[dict[str, Any]]:
        convert = self._convert(stream, copy=False)  # the DataLoader copies it to the main process
        readers = Readers(self._epochs, worker)
        try:
            yield from self._turns(stream, batches, epoch, worker, readers, convert)
        except GeneratorExit:
            stream.close(1.0)  # left early: the epoch may end once all its readers have left it
            raise

    def _turns(self, stream: _Stream, batches: Any, epoch: int, worker: int, readers: Readers, convert: Any) -> Iterator[dict[str, Any]]:
        while True:
            readers.asks()
            try:
                batch = batches.take(_PATIENCE_SECONDS)
            except TimeoutError:
                if not readers.another_stands_still() or not self._epochs.leave(epoch, worker):
                    continue
                stream.close(1.0)  # what it had not handed over goes to those that stay
                return
            if batch is None:
                break
            tensors = convert(batch)
            readers.hands_over()
            yield tensors
        self._epochs.finished(epoch)

    @property
    def stats(self) -> dict[str, Any]:
        """As of headrace.Loader, of this process's reader."""
        return self._reader().stats

    @property
    def summary(self) -> dict[str, Any]:
        """Of the last epoch that this process's reader saw the end of."""
        return self._reader().summary

    def close(self, timeout: float = 2.0) -> None:
        """Says goodbye, within about `timeout` seconds; also closes the connection when it was made from an address. Twice is fine."""
        self._closed = True
        if self._stream is not None and self._stream_pid == os.getpid():
            self._stream.close(timeout)
        if self._own_cluster:
            self._cluster.close(timeout)

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_stream": None, "_stream_pid": None, "_iterations": 0, "_left": None}
