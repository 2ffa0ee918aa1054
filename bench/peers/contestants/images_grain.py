"""Images by Grain: ArrayRecord, the MapDataset interface, two worker processes that hand batches over in shared memory."""
import contestant
import grain
import numpy as np


def load(jpeg):
    import photo  # in the worker

    return photo.load(jpeg).numpy()


def make(args):
    source = grain.sources.ArrayRecordDataSource(args["array_record"])
    batches_an_epoch = -(-len(source) // 64)
    # One iterator over many epochs: a new one starts its processes anew, and they import torch.
    dataset = (grain.MapDataset.source(source).map(load).batch(64, batch_fn=np.stack).repeat().to_iter_dataset()
               .mp_prefetch(grain.MultiprocessingOptions(num_workers=2, per_worker_buffer_size=2)))
    iterator = iter(dataset)

    def run():
        batches = contestant.Batches()
        for _ in range(batches_an_epoch):
            batches.take(next(iterator))
        return batches.result()

    return run


if __name__ == "__main__":
    contestant.serve(make)
