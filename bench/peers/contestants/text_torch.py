"""Text by torch's DataLoader as Hugging Face's examples use it: a map-style dataset of lines, a collate function in Python that tokenizes
and pads a batch, two worker processes that are kept."""
import glob

import contestant
import lines
import torch
from torch.utils.data import DataLoader


class Collate:
    def __init__(self, model):
        self.model = model

    def __call__(self, batch):
        return {name: torch.from_numpy(array) for name, array in lines.batch(batch, self.model).items()}


def make(args):
    dataset = [line for path in sorted(glob.glob(args["jsonl"])) for line in open(path, encoding="utf8")]  # read once, outside of the time
    loader = DataLoader(dataset, batch_size=64, num_workers=2, persistent_workers=True, collate_fn=Collate(args["model"]))

    def run():
        batches, tokens = contestant.Batches(), 0
        for b in loader:
            batches.take(b["question"])
            tokens += int(b["question_length"].sum()) + int(b["answer_length"].sum())
        return batches.result(tokens=tokens)

    return run


contestant.serve(make)
