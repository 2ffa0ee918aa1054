"""Images by Grain: ArrayRecord, the MapDataset interface, two worker processes that hand batches over in shared memory."""
import time

import contestant
import grain
import numpy as np


def load(jpeg):
    import photo  # in the worker

    return photo.load(jpeg).numpy()


WORKERS, THEIR_BUFFER, READ_AHEAD = 2, 1, 2
MADE_AHEAD = WORKERS * (THEIR_BUFFER + READ_AHEAD + 1)  # batches that may lie ready when a round begins


def make(args):
    source = grain.sources.ArrayRecordDataSource(args["array_record"])
    batches_an_epoch = -(-len(source) // 64)
    # An element of the dataset is a batch of 38 MB here: the 500 that Grain reads ahead by itself would fill the host.
    reading = grain.ReadOptions(num_threads=READ_AHEAD, prefetch_buffer_size=READ_AHEAD)
    # One iterator over many epochs: a new one starts its processes anew, and they import torch.
    dataset = (grain.MapDataset.source(source).map(load).batch(64, batch_fn=np.stack).repeat().to_iter_dataset(reading)
               .mp_prefetch(grain.MultiprocessingOptions(num_workers=WORKERS, per_worker_buffer_size=THEIR_BUFFER)))
    iterator = iter(dataset)

    def run():
        # What was made while nobody measured does not count.
        for _ in range(MADE_AHEAD):
            next(iterator)
        begin = time.perf_counter()
        batches = contestant.Batches()
        for _ in range(batches_an_epoch):
            batches.take(next(iterator))
        return batches.result(seconds=time.perf_counter() - begin)

    return run


if __name__ == "__main__":
    contestant.serve(make)
