"""Text by SPDL: its pipeline of threads around the Python work (the sentencepiece wheel gives the GIL up while it encodes)."""
import glob

import contestant
import lines
from spdl.pipeline import PipelineBuilder


def make(args):
    def source():
        for path in sorted(glob.glob(args["jsonl"])):
            with open(path, encoding="utf8") as file:
                yield from file

    def run():
        batches, tokens = contestant.Batches(), 0
        pipeline = (PipelineBuilder().add_source(source()).aggregate(64).pipe(lambda b: lines.batch(b, args["model"]), concurrency=2)
                    .add_sink(8).build(num_threads=2))
        with pipeline.auto_stop():
            for b in pipeline.get_iterator(timeout=60):
                batches.take(b["question"])
                tokens += int(b["question_length"].sum()) + int(b["answer_length"].sum())
        return batches.result(tokens=tokens)

    return run


contestant.serve(make)
