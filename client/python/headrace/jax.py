"""Headrace for JAX: batches as arrays on devices.

    import headrace as hr
    import headrace.jax

    loader = hr.jax.Loader(pipeline, "dispatcher:5050", job="lm", placement="local")
    for batch in loader:                          # dict[str, jax.Array], split over this process's devices
        state = train_step(state, batch["tokens"])
"""
from __future__ import annotations

from typing import Any, Iterator

from . import _ranks
from ._cluster import Cluster, connected
from ._pipeline import Pipeline

try:
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding
except ImportError as error:
    raise ImportError("headrace.jax needs JAX: pip install jax (headrace itself needs only NumPy)") from error


def _rank(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """As everywhere, and jax.distributed's processes where it runs."""
    if jax.process_count() == 1:
        return _ranks.resolve(rank, world_size)
    ours = (jax.process_index(), jax.process_count())
    if rank is not None and (rank, world_size) != ours:
        raise ValueError(f"rank {rank} of {world_size} contradicts jax.distributed's process {ours[0]} of {ours[1]}")
    return _ranks.resolve(*ours)


def to_arrays(batch: dict[str, Any], placement: Any = None) -> dict[str, Any]:
    """The arrays of a batch as jax.Arrays of the same shapes. On the CPU's first device they borrow the batch's memory. 64-bit types
    become 32-bit ones unless jax_enable_x64 is set, as everywhere in JAX. bytes and BytesColumn stay what they are.

    placement: None (JAX's default device), a device, "local" (the first dimension split evenly over jax.local_devices()), or a
    jax.sharding.Sharding: of a mesh over all processes' devices too, where each process's batch is its part of the global one.
    """
    if isinstance(placement, str):
        if placement != "local":
            raise ValueError(f"placement: None, 'local', a device or a Sharding, not '{placement}'")
        placement = NamedSharding(Mesh(jax.local_devices(), ("batch",)), PartitionSpec("batch"))
    out = {}
    for name, value in batch.items():
        if not hasattr(value, "dtype"):
            out[name] = value
            continue
        where = placement
        if isinstance(where, NamedSharding) and value.ndim == 0:
            where = NamedSharding(where.mesh, PartitionSpec())
        try:
            if isinstance(where, Sharding) and not where.is_fully_addressable:
                out[name] = jax.make_array_from_process_local_data(where, value)
            else:
                out[name] = jax.device_put(value, where)
        except ValueError as error:
            raise ValueError(f"field '{name}' of shape {value.shape} cannot be split over {getattr(where, 'num_devices', '?')} devices: "
                             "a batch size that they divide, and drop_remainder=True, make it fit") from error
    return out


class Loader:
    """This process's batches of a job: dict[str, jax.Array], the shapes as in the pipeline's schema, batch first.

    pipeline: what to read. cluster: the dispatcher's "host:port", or a Cluster. placement: as in to_arrays. job: ranks that name the same
    job share its records. rank, world_size: found out when left out (jax.distributed's processes, then as in Cluster.stream).
    sharding (of the records over workers), prefetch_bytes, visitation, on_client_loss, uneven, ordering, ordered_lanes,
    ordered_window_bytes, weight, priority, least_workers, most_workers, cache, epochs: as in Cluster.stream. connection: keywords of hr.connect where `cluster` is an address.
    """

    def __init__(self, pipeline: Pipeline, cluster: str | Cluster, *, placement: Any = None, job: str = "", sharding: str = "dynamic",
                 rank: int | None = None, world_size: int | None = None, prefetch_bytes: int = 256 << 20,
                 visitation: str = "exactly_once", on_client_loss: str | None = None, uneven: str = "free", ordering: str = "free",
                 ordered_lanes: int = 0, ordered_window_bytes: int = 0, weight: float = 1.0, priority: int = 0,
                 least_workers: float = 0, most_workers: int = 0, cache: str = "pipeline", epochs: int = 0,
                 connection: dict[str, Any] | None = None):
        rank, world_size = _rank(rank, world_size)
        if world_size > 1 and not job:
            raise ValueError(f"there are {world_size} ranks: name the job that they share (job=...)")
        self._own_cluster = isinstance(cluster, str)
        self._cluster = connected(cluster, connection)
        self._stream = self._cluster.stream(pipeline, job=job, sharding=sharding, rank=rank, world_size=world_size,
                                            prefetch_bytes=prefetch_bytes, visitation=visitation, on_client_loss=on_client_loss,
                                            uneven=uneven, ordering=ordering, ordered_lanes=ordered_lanes,
                                            ordered_window_bytes=ordered_window_bytes, weight=weight, priority=priority,
                                            least_workers=least_workers, most_workers=most_workers, cache=cache, epochs=epochs)
        self._placement = placement

    def set_epoch(self, epoch: int) -> None:
        """The epoch of the next iteration; epochs count from 0."""
        self._stream.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Where this process is, for a checkpoint (headrace.Loader.state_dict)."""
        return self._stream.state_dict()

    def load_state_dict(self, states: Any) -> None:
        """The next iteration goes on from a checkpoint (headrace.Loader.load_state_dict)."""
        self._stream.load_state_dict(states)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        batches = iter(self._stream)
        return (to_arrays(batch, self._placement) for batch in batches)

    def __len__(self) -> int:
        return len(self._stream)

    @property
    def stats(self) -> dict[str, Any]:
        """As of headrace.Loader."""
        return self._stream.stats

    @property
    def summary(self) -> dict[str, Any]:
        """Of the last epoch that ended."""
        return self._stream.summary

    def close(self, timeout: float = 2.0) -> None:
        """Says goodbye, within about `timeout` seconds; also closes the connection when it was made from an address. Twice is fine."""
        self._stream.close(timeout)
        if self._own_cluster:
            self._cluster.close(timeout)

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
