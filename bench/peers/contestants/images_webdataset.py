"""Images by WebDataset: tar shards, its own loader with two worker processes, batches made in the workers."""
import contestant
import photo
import webdataset


def make(args):
    dataset = (webdataset.WebDataset(args["tar"], shardshuffle=False)
               .to_tuple("jpg").map(lambda sample: (photo.load(sample[0]),)).batched(64))
    loader = webdataset.WebLoader(dataset, batch_size=None, num_workers=2, persistent_workers=True)

    def run():
        batches = contestant.Batches()
        for batch in loader:
            batches.take(batch[0])
        return batches.result()

    return run


contestant.serve(make)
