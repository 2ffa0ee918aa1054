"""Text by Ray Data: lines read by read_text, parsed, tokenized and padded by map_batches in its worker processes. A block of Ray's holds
rows of one length, so each batch is one row there, and is taken apart here."""
import contestant
import numpy as np
import ray


def make(args):
    import ray_cluster

    ray_cluster.start()
    model = args["model"]

    def work(rows):
        import lines  # in the worker

        batch = lines.batch(rows["text"], model)
        return {name: _one(array) for name, array in batch.items()}

    def _one(array):
        column = np.empty(1, dtype=object)
        column[0] = array
        return column

    dataset = ray.data.read_text(args["folder"]).map_batches(work, batch_size=64)

    def run():
        batches, tokens = contestant.Batches(), 0
        for b in dataset.iter_batches(batch_size=1, prefetch_batches=4, batch_format="numpy"):
            batches.take(b["question"][0])
            tokens += int(b["question_length"][0].sum()) + int(b["answer_length"][0].sum())
        return batches.result(tokens=tokens)

    return run


contestant.serve(make)
