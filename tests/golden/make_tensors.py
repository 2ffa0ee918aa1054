#!/usr/bin/env python3
"""Writes what NumPy makes of a small tensor: data/{box_in,pad_to_*,crop_to_*}.npy. Needs numpy alone."""

import pathlib

import numpy as np

DATA = pathlib.Path(__file__).parent / "data"


def main():
    x = np.arange(3 * 4 * 6, dtype=np.int32).reshape(3, 4, 6)
    np.save(DATA / "box_in.npy", x)
    # To [5, 4, 9]: two and three more; to [2, 4, 3]: one and three less.
    before = {"start": (0, 0), "center": (1, 1), "end": (2, 3)}
    for align, (a, b) in before.items():
        padded = np.pad(x, [(a, 2 - a), (0, 0), (b, 3 - b)], constant_values=-7)
        np.save(DATA / f"pad_to_{align}.npy", padded)
    first = {"start": (0, 0), "center": (0, 1), "end": (1, 3)}
    for align, (a, b) in first.items():
        np.save(DATA / f"crop_to_{align}.npy", np.ascontiguousarray(x[a : a + 2, :, b : b + 3]))


if __name__ == "__main__":
    main()
