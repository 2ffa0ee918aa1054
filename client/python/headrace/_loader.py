"""A rank's stream of a job: iterate over it once per epoch."""
from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, Iterator, Sequence

from ._errors import ClosedError

if TYPE_CHECKING:
    from ._cluster import Cluster
    from ._local_workers import LocalWorkers
    from ._pipeline import Pipeline


def saved_states(states: dict[str, Any] | Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What load_state_dict takes as a list: one state, several, or what headrace.torch.gather_state_dict gave."""
    if isinstance(states, dict):
        return list(states["states"]) if "states" in states else [states]
    return list(states)


class Loader:
    """`for batch in loader` is one epoch. A batch is a dict[str, np.ndarray]; its arrays are read-only and borrow the frame that
    they came in, which lives as long as any of them. Fields of bytes are `bytes`, or BytesColumn in a batch. bfloat16 is ml_dtypes'
    type where that is installed, else its bits as uint16.

    Use as a context manager, or call close(). Reading after close raises ClosedError. In a process that was forked or spawned it joins
    the job anew, as one more reader: the readers share the records of an epoch. One reader at a time may iterate.
    """

    def __init__(self, cluster: Cluster, pipeline: Pipeline, options: dict[str, Any], local_workers: int | str = 0):
        self._cluster = cluster
        self._pipeline = pipeline
        self._options = options
        self._next_epoch: int | None = None
        self._length: int | None = None
        self._resumes = False
        self._reading = False
        self._closed = False
        self._pid: int | None = None
        self._native: Any = None
        self._wants_workers = local_workers
        self._local_workers: LocalWorkers | None = None
        self._stream()

    def _stream(self) -> Any:
        """The native stream, of this process."""
        if self._pid != os.getpid():
            if self._closed:
                raise ClosedError("the loader is closed")
            self._native = self._cluster._open_stream(self._pipeline, self._options)
            self._pid = os.getpid()
            self._options = {**self._options, "job": self._native.job}
            self._cluster._loaders.add(self)
            self._local_workers = None  # the other process's, of a fork
            if self._wants_workers != 0:
                from ._local_workers import LocalWorkers

                self._local_workers = LocalWorkers(self._wants_workers, self._cluster.address, self.job, self._cluster._shown(),
                                                   self._native.stats)
        return self._native

    def set_epoch(self, epoch: int) -> None:
        """The epoch that the next `iter()` begins; epochs count from 0."""
        if epoch < 0:
            raise ValueError(f"epochs count from 0, not {epoch}")
        self._next_epoch = int(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Where this rank is, for a checkpoint: a small dict of ints, str and bytes. It counts batches that this loader handed over, not
        those it holds ready, and changes nothing. At an epoch's end it is the start of the next one."""
        return self._stream().state()

    def load_state_dict(self, states: dict[str, Any] | Sequence[dict[str, Any]]) -> None:
        """The next iteration goes on from a checkpoint; every rank calls this before it iterates.

        states: the list of the states of all ranks that saved (on any number of ranks), or this rank's own (where as many ranks go on as
        saved). All that none of them was handed is delivered once; trainers of before get an error that says they were replaced. The
        next iteration waits until all ranks have come. PipelineError: a damaged state; then, or when the iteration begins: a state of
        another pipeline, seed or dataset, or of a rank is missing.
        """
        self._stream().load_states(saved_states(states))
        self._resumes = True

    def _place(self, reader: int, readers: int) -> None:
        """Which of all ranks' readers this is; the rank, of world_size, where each rank has one."""
        self._stream().set_place(reader, readers)

    def _restore(self) -> None:
        """Waits until all readers have loaded their states; nothing to do where none was."""
        self._stream().restore()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if self._closed:
            raise ClosedError("the loader is closed")
        self._stream().start_epoch(self._next_epoch)
        self._next_epoch = None
        if self._local_workers is not None:
            self._local_workers.start()
        whole, self._resumes, self._reading = not self._resumes and not self._reading, False, True
        return _Epoch(self, whole)

    def __len__(self) -> int:
        """This rank's batches of an epoch, where all ranks have as many (ordering="deterministic", or an `uneven` that is not "free"): those of
        the last epoch that was read to its end. TypeError before that, and elsewhere: workers share the records out as they go."""
        if self._length is None:
            what = "when an epoch was read to its end" if self._counts_alike() else "with ordering=\"deterministic\" or uneven=\"drop\" alone"
            raise TypeError(f"how many batches an epoch has is known {what}: workers share the records out as they go")
        return self._length

    def _counts_alike(self) -> bool:
        return self._options["ordering"] == "deterministic" or self._options["uneven"] != "free"

    def _ended(self, batches: int | None) -> None:
        """An epoch was read to its end; `batches`: how many it had, None where it was gone on with in its midst."""
        self._reading = False
        if not self._counts_alike():
            return
        steps = self._native.summary()["steps"] if self._options["uneven"] != "free" else 0
        self._length = steps or batches or self._length

    @property
    def epoch(self) -> int:
        """The epoch that runs, or ran last."""
        return self._stream().epoch

    @property
    def job(self) -> str:
        """The job's name, made up by the dispatcher when none was given."""
        return self._options["job"]

    @property
    def schema(self) -> list[tuple[str, str, tuple[int | None, ...] | None]]:
        """What a batch holds: (name, dtype, shape) of each field; None in a shape is a dimension that varies from batch to batch."""
        return self._stream().schema

    @property
    def stats(self) -> dict[str, Any]:
        """Since the start: step_seconds (the trainer's own time between batches), wait_seconds (it asked and had nothing),
        stall_fraction (of both together, the part that it waited), paused_seconds (steps so long that it did something else meanwhile:
        an evaluation, a checkpoint; in none of the others), longest_wait_seconds, usual_step_seconds (at present), steps, elements,
        bytes; held_bytes (fetched ahead) now."""
        return self._stream().stats()

    @property
    def summary(self) -> dict[str, Any]:
        """Of the last epoch that ended: delivered, settled and failed records, and the first failures in words."""
        return self._stream().summary()

    def close(self, timeout: float = 2.0) -> None:
        """Says goodbye to the cluster within about `timeout` seconds. Closing twice is fine; in a forked process this leaves the parent's
        stream alone."""
        self._closed = True
        if self._pid != os.getpid():
            return
        deadline = time.monotonic() + timeout
        if self._local_workers is not None:
            self._local_workers.close(timeout / 2)
        self._native.close(max(deadline - time.monotonic(), 0.1))

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self):
        return _join, (self._cluster, self._pipeline, self._options)  # without local workers: a host needs them once


def _join(cluster: Cluster, pipeline: Pipeline, options: dict[str, Any]) -> Loader:
    return Loader(cluster, pipeline, options)


class _Epoch(Iterator[dict[str, Any]]):
    """One iteration. No generator: one that Ctrl-C ended would look like the epoch's end to whoever goes on."""

    def __init__(self, loader: Loader, whole: bool):
        self._loader = loader
        self._whole = whole
        self._count = 0
        self._native = loader._native
        self._pid = loader._pid
        self._over = False

    def __next__(self) -> dict[str, Any]:
        batch = self.take(None)
        if batch is None:
            raise StopIteration
        return batch

    def take(self, timeout: float | None) -> dict[str, Any] | None:
        """The next batch, or None at the epoch's end. TimeoutError when neither has come within `timeout` seconds: ask again."""
        if self._over:
            return None
        if self._loader._closed:
            raise ClosedError("the loader is closed")
        if self._pid != os.getpid():
            raise ClosedError("this iteration began in the parent process, before a fork: call iter() in this one")
        batch = self._native.next(timeout)
        if batch is None:
            self._over = True
            self._loader._ended(self._count if self._whole else None)
        self._count += 1
        return batch
