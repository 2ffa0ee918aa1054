"""Images by MosaicML Streaming: MDS shards on the local disk, torch's DataLoader with two worker processes."""
import contestant
import photo
from streaming import StreamingDataset
from torch.utils.data import DataLoader


class Photographs(StreamingDataset):
    def __getitem__(self, index):
        return photo.load(super().__getitem__(index)["image"])


def make(args):
    dataset = Photographs(local=args["mds"], shuffle=False, batch_size=64)
    loader = DataLoader(dataset, batch_size=64, num_workers=2, persistent_workers=True)

    def run():
        batches = contestant.Batches()
        for batch in loader:
            batches.take(batch)
        return batches.result()

    return run


contestant.serve(make)
