"""DLPack for arrays of batches."""
from __future__ import annotations

import numpy as np

from . import _native


def dlpack(array: np.ndarray, dtype: str | None = None):
    """`array` as an object that torch.from_dlpack, jax.dlpack.from_dlpack and others take, without a copy.

        tensor = torch.from_dlpack(hr.dlpack(batch["image"]))

    NumPy lends read-only arrays only to consumers that speak DLPack 1.0, and no bfloat16 at all; this lends both. Consumers that know
    no read-only tensors will let you write: do not, unless the array is a copy. dtype: what the bits are, when that is not the array's
    own type: "bfloat16" for the uint16 arrays that bfloat16 fields come as where ml_dtypes is not installed. Shape and strides are the
    array's. TypeError for arrays of objects, strings or dates.
    """
    array = np.asarray(array)
    return _native.DLPackArray(array, dtype or array.dtype.name)
