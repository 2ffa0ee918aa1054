"""A rank's stream of a job: iterate over it once per epoch."""
from __future__ import annotations

from typing import Any, Iterator

from ._errors import ClosedError


class Loader:
    """`for batch in loader` is one epoch. A batch is a dict[str, np.ndarray]; its arrays are read-only and borrow the frame that
    they came in, which lives as long as any of them. Fields of bytes are `bytes`, or BytesColumn in a batch.

    Use as a context manager, or call close(). Reading after close raises ClosedError.
    """

    def __init__(self, native):
        self._native = native
        self._next_epoch: int | None = None
        self._closed = False

    def set_epoch(self, epoch: int) -> None:
        """The epoch that the next `iter()` begins; epochs count from 0."""
        self._next_epoch = int(epoch)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if self._closed:
            raise ClosedError("the loader is closed")
        self._native.start_epoch(self._next_epoch)
        self._next_epoch = None
        return self._epoch()

    def _epoch(self):
        while True:
            if self._closed:
                raise ClosedError("the loader is closed")
            batch = self._native.next()
            if batch is None:
                return
            yield batch

    def __len__(self):
        raise TypeError("how many batches an epoch has is known when it is over: workers share the records out as they go")

    @property
    def epoch(self) -> int:
        """The epoch that runs, or ran last."""
        return self._native.epoch

    @property
    def job(self) -> str:
        """The job's name, made up by the dispatcher when none was given."""
        return self._native.job

    @property
    def stats(self) -> dict[str, Any]:
        """Since the start: step_seconds (the trainer's own time), wait_seconds (it asked and had nothing), elements, bytes; held_bytes now."""
        return self._native.stats()

    @property
    def summary(self) -> dict[str, Any]:
        """Of the last epoch that ended: delivered, settled and failed records, and the first failures in words."""
        return self._native.summary()

    def close(self, timeout: float = 2.0) -> None:
        """Says goodbye to the cluster within about `timeout` seconds. Closing twice is fine."""
        self._closed = True
        self._native.close(timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
