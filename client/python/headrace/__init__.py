"""Headrace: preprocessing for training, on other machines than the trainer's.

    import headrace as hr

    ds = hr.read("data/*.tfrecord").parse_example(image=hr.bytes_, label=hr.int64).decode_image("image").batch(64)
    with hr.connect("dispatcher:5050") as cluster:
        for batch in cluster.stream(ds, job="train"):  # dict[str, np.ndarray], read-only, borrowed
            train_step(batch)
"""
from . import _functions, _native
from ._bytes import BytesColumn
from ._cluster import Cluster, connect, local
from ._dlpack import dlpack
from ._dtypes import (DType, bfloat16, bool_, bytes_, float16, float32, float64, int8, int16, int32, int64, uint8, uint16,
                      uint32, uint64)
from ._errors import (ClosedError, DataLossError, EpochOverError, HeadraceError, JobConflictError, JobEndedError, NotFoundError,
                      PermissionDeniedError, PipelineError, UnauthenticatedError, UnavailableError)
from ._loader import Loader
from ._pipeline import Pipeline, from_yaml, range, read

__all__ = [n for n in dir() if not n.startswith("_")]

__version__: str = _native.version


def __getattr__(name: str):
    if name in ("torch", "jax"):  # imported when they are first named: hr.torch.Loader
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
