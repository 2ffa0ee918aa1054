"""Which rank this process is: argument, then an initialised process group, then RANK/WORLD_SIZE, then 0 of 1."""
from __future__ import annotations

import os
import sys


def _process_group():
    distributed = sys.modules.get("torch.distributed")  # never imports torch itself
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return None


def _environment():
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    return None


def resolve(rank, world_size):
    """(rank, world_size); ValueError for half an answer, a rank out of range, or arguments that contradict the process group."""
    if (rank is None) != (world_size is None):
        raise ValueError("give rank and world_size both, or neither")
    group = _process_group()
    if rank is not None:
        if group is not None and group != (rank, world_size):
            raise ValueError(f"rank {rank} of {world_size} contradicts the process group's {group[0]} of {group[1]}")
        found = (rank, world_size)
    else:
        found = group or _environment() or (0, 1)
    if not 0 <= found[0] < found[1]:
        raise ValueError(f"rank {found[0]} is not in 0..{found[1] - 1}")
    return found
