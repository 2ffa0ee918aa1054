"""How many workers a trainer's own host should run on the cores that it does not use: a pure rule."""
from __future__ import annotations

import dataclasses

STALL = 0.02  # of its time, what a trainer may wait before it is helped
GROWN = 1.03  # its own step time, next to what it was alone, from which on it suffers
SURE = 2  # windows that must say so
LEAST_STEPS = 10  # of a window that counts
BACK_OFF, LONGEST_BACK_OFF = 8, 64  # windows until a number that was too many is tried again


@dataclasses.dataclass(frozen=True)
class Window:
    """What was measured over some seconds. steps: batches that the trainer took. step_seconds: its own time for each, without waiting.
    stall: of both together, the part that it waited. spare_cores: of the host, that nobody used."""

    steps: int
    step_seconds: float
    stall: float
    spare_cores: float


@dataclasses.dataclass(frozen=True)
class Rule:
    """What the rule remembers. workers: how many it wants. alone: the step time without any. suffered: windows in a row in which the step
    time had grown. before: the step time before one was taken away, while that is looked at."""

    most: int
    workers: int = 0
    alone: float | None = None
    suffered: int = 0
    fresh: bool = False  # the number has just changed: the next window is half of each
    before: float | None = None
    too_many: int | None = None
    retry_in: int = 0
    back_off: int = BACK_OFF

    def decide(self, window: Window) -> tuple[Rule, str]:
        """After `window`: the rule as it then is, and why, in a sentence; the reason is empty where nothing changed."""
        now = dataclasses.replace(self, retry_in=max(0, self.retry_in - 1))
        if window.steps < LEAST_STEPS:
            return now, ""
        if self.fresh:
            return dataclasses.replace(now, fresh=False), ""
        if self.before is not None:
            return now._judged(window)
        if self.workers == 0:
            now = dataclasses.replace(now, alone=window.step_seconds)
        assert now.alone is not None
        grown = window.step_seconds / now.alone if now.alone > 0 else 1.0
        if self.workers > 0 and grown > GROWN:
            now = dataclasses.replace(now, suffered=self.suffered + 1)
            return now._fewer(window, grown) if now.suffered >= SURE else (now, "")
        return dataclasses.replace(now, suffered=0)._more(window)

    def _more(self, window: Window) -> tuple[Rule, str]:
        if window.stall <= STALL or window.spare_cores < 1 or self.workers >= self.most:
            return self, ""
        wanted = self.workers + 1
        if self.too_many is not None and wanted >= self.too_many and self.retry_in > 0:
            return self, ""
        why = f"waits {window.stall:.0%} of the time, and {window.spare_cores:.1f} cores have nothing to do"
        return dataclasses.replace(self, workers=wanted, fresh=True), why

    def _fewer(self, window: Window, grown: float) -> tuple[Rule, str]:
        why = f"its own steps take {grown - 1:.0%} longer than alone"
        return dataclasses.replace(self, workers=self.workers - 1, suffered=0, fresh=True, before=window.step_seconds, too_many=self.workers,
                                   retry_in=self.back_off, back_off=min(2 * self.back_off, LONGEST_BACK_OFF)), why

    def _judged(self, window: Window) -> tuple[Rule, str]:
        """One was taken away, and this is what came of it. Steps that did not get shorter have grown by themselves: another phase of the
        training, larger batches. Then that is how long they take, and the one that was taken away was not too many."""
        assert self.before is not None and self.alone is not None
        now = dataclasses.replace(self, before=None)
        shorter = window.step_seconds < self.before - (GROWN - 1) / 2 * self.alone
        if shorter:
            return now, ""
        return dataclasses.replace(now, alone=window.step_seconds, too_many=None, retry_in=0, back_off=BACK_OFF), ""
