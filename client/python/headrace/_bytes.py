"""Columns of byte strings: Arrow's large-binary layout, without a copy."""
from __future__ import annotations

import numpy as np


class BytesColumn:
    """A sequence of bytes objects. `offsets` (int64, items + 1) and `data` (uint8) are read-only arrays that borrow the batch:
    item i is data[offsets[i] - offsets[0] : offsets[i + 1] - offsets[0]]. `shape` has the dimensions; indexing is flat in C order."""

    __slots__ = ("offsets", "data", "shape")

    def __init__(self, offsets, data, shape):
        self.offsets, self.data, self.shape = offsets, data, shape

    def __len__(self):
        return len(self.offsets) - 1

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(f"item {index} of {len(self)}")
        first = self.offsets[0]
        return self.data[self.offsets[index] - first:self.offsets[index + 1] - first].tobytes()

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def to_numpy(self):
        """An object array of bytes, of this column's shape; copies."""
        out = np.empty(len(self), dtype=object)
        out[:] = list(self)
        return out.reshape(self.shape)

    def to_arrow(self):
        """A pyarrow.LargeBinaryArray over the same memory, flat in C order; nothing is copied. Needs pyarrow."""
        try:
            import pyarrow
        except ImportError as error:
            raise ImportError("BytesColumn.to_arrow needs pyarrow: pip install pyarrow") from error
        # Arrow's offsets count from the buffer's start; ours from where the first item's column begins.
        first = int(self.offsets[0])
        data = pyarrow.foreign_buffer(self.data.ctypes.data - first, first + self.data.nbytes, base=self.data)
        offsets = pyarrow.foreign_buffer(self.offsets.ctypes.data, self.offsets.nbytes, base=self.offsets)
        return pyarrow.LargeBinaryArray.from_buffers(pyarrow.large_binary(), len(self), [None, offsets, data])

    def __arrow_array__(self, type=None):
        array = self.to_arrow()
        return array if type is None else array.cast(type)

    def __repr__(self):
        return f"BytesColumn(shape={self.shape}, {self.data.nbytes} bytes)"
