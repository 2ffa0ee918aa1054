"""Which rank this process is: argument, then an initialised process group, then RANK/WORLD_SIZE, then 0 of 1."""
from __future__ import annotations

import os
import sys


def _process_group() -> tuple[int, int] | None:
    distributed = sys.modules.get("torch.distributed")  # never imports torch itself
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return None


def _environment() -> tuple[int, int] | None:
    found = [os.environ.get(name) for name in ("RANK", "WORLD_SIZE")]
    if found == [None, None]:
        return None
    if None in found:
        raise ValueError("RANK and WORLD_SIZE are to be set both, or neither")
    try:
        return int(found[0]), int(found[1])
    except ValueError:
        raise ValueError(f"RANK={found[0]} and WORLD_SIZE={found[1]} are no numbers") from None


def resolve(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """(rank, world_size); ValueError for half an answer, a rank out of range, and where two that say it contradict each other."""
    if (rank is None) != (world_size is None):
        raise ValueError("give rank and world_size both, or neither")
    said = [("the arguments", None if rank is None else (rank, world_size)), ("the process group", _process_group()),
            ("RANK and WORLD_SIZE", _environment())]
    answers = [(who, answer) for who, answer in said if answer is not None]
    for who, answer in answers[1:]:
        if answer != answers[0][1]:
            first, (r, n) = answers[0]
            raise ValueError(f"rank {r} of {n} by {first} contradicts {answer[0]} of {answer[1]} by {who}")
    found = answers[0][1] if answers else (0, 1)
    if not 0 <= found[0] < found[1]:
        raise ValueError(f"rank {found[0]} is not in 0..{found[1] - 1}")
    return found
