"""Images by torch's DataLoader: a map-style dataset over the files, two worker processes that are kept (persistent_workers), its
default read-ahead of two batches per worker, batches through shared memory."""
import pathlib

import contestant
import photo
from torch.utils.data import DataLoader, Dataset


class Photographs(Dataset):
    def __init__(self, folder):
        self.paths = sorted(p for p in pathlib.Path(folder).rglob("*") if p.suffix.lower() in (".jpeg", ".jpg"))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return photo.load(self.paths[index].read_bytes())


def make(args):
    loader = DataLoader(Photographs(args["folder"]), batch_size=64, num_workers=2, persistent_workers=True)

    def run():
        batches = contestant.Batches()
        for batch in loader:
            batches.take(batch)
        return batches.result()

    return run


contestant.serve(make)
