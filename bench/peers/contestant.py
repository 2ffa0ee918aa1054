"""One side of a comparison, in a process of its own: makes ready, then runs a round each time it is told to.

    def make(args) -> round       # round() -> {"records": n, ...}: one epoch, all batches taken by the trainer in this process;
                                  # with "seconds" where a part of the round is not to count
    contestant.serve(make)

Talks to contest.py over the pipes that it was started with: a JSON line per answer. What libraries print goes to standard error.
"""
import json
import os
import sys
import time


def serve(make):
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    args = json.loads(sys.argv[1])

    def answer(**what):
        answers.write(json.dumps(what) + "\n")
        answers.flush()

    try:
        run = make(args)
        answer(ready=True)
        for _ in sys.stdin:
            begin = time.perf_counter()
            result = run()
            answer(**{"seconds": time.perf_counter() - begin, **result})
    except BaseException as error:  # every kind: the table says why
        import traceback

        traceback.print_exc()
        answer(error=f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"[:300])
        raise


class Batches:
    """Takes batches as a trainer would: looks at the corners of each, so that nothing lazy is left undone."""

    def __init__(self):
        self.records = 0
        self.first = None
        self.seen = 0.0

    def take(self, array):
        if self.first is None:
            self.first = f"{str(array.dtype).removeprefix('torch.')} {list(array.shape)[1:]}"
        self.records += array.shape[0]
        flat = array.reshape(-1)
        self.seen += float(flat[0]) + float(flat[-1])

    def result(self, **more):
        return {"records": self.records, "batch": self.first, **more}
