"""Images by Ray Data: the files read as bytes, decoded and augmented by map_batches in its worker processes (one task a core), batches
through the object store."""
import contestant
import numpy as np
import ray


def load(batch):
    import photo  # in the worker

    return {"image": np.stack([photo.load(jpeg).numpy() for jpeg in batch["bytes"]])}


def make(args):
    import ray_cluster

    ray_cluster.start()
    dataset = ray.data.read_binary_files(args["folder"]).map_batches(load, batch_size=64)

    def run():
        batches = contestant.Batches()
        for batch in dataset.iter_batches(batch_size=64, prefetch_batches=2, batch_format="numpy"):
            batches.take(batch["image"])
        return batches.result()

    return run


contestant.serve(make)
