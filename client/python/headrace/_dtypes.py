"""Element types, by the names that pipelines use."""
from __future__ import annotations

import numpy as np


class DType(str):
    """A type's name; `hr.int64`. Lists: `hr.int64[:]` (any length), `hr.float32[4]`."""

    __slots__ = ()

    def __getitem__(self, length):
        if isinstance(length, slice):
            return DType(f"{self}[]")
        return DType(f"{self}[{int(length)}]")

    def __repr__(self):
        return f"headrace.{'bytes_' if self == 'bytes' else str(self)}"


bool_ = DType("bool")
int8, int16, int32, int64 = (DType(f"int{n}") for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (DType(f"uint{n}") for n in (8, 16, 32, 64))
float16, bfloat16, float32, float64 = (DType(n) for n in ("float16", "bfloat16", "float32", "float64"))
bytes_ = DType("bytes")


def numpy_dtype(name: str) -> np.dtype:
    """NumPy's type of that name; bfloat16 is ml_dtypes', or uint16 (the bits) where that is not installed."""
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype(np.uint16)
    return np.dtype(ml_dtypes.bfloat16)
