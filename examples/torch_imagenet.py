#!/usr/bin/env python3
"""Trains a small residual network on photographs with PyTorch, on the CPU, fed by Headrace.

    python examples/torch_imagenet.py IMAGES [--cluster HOST:PORT] [--epochs N] [--num-workers N]

IMAGES is a directory of images. With a folder per class (as torchvision's ImageFolder) the folder is the label. Without, the files are
ImageNet's own (n01440764_tench.JPEG), and the network tells photographs of animals from the others, by the WordNet number.
`scripts/make-demo-data.py DIR` makes a directory of the first kind. Without --cluster, a cluster runs inside this process.

Needs torch and headrace. Prints the loss as it goes, and as its last line the mean loss of the epoch's first and last tenth.
"""
import argparse
import pathlib
import re

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader

import headrace as hr
import headrace.torch

SIDE = 64  # pixels


def pipeline_for(images: str, batch: int, passes: int) -> hr.Pipeline:
    """uint8 photographs -> float32 [batch, 3, SIDE, SIDE], all of it on the cluster's workers."""
    return (hr.read(images, "image_folder").repeat(passes).shuffle(512, seed=1)
            .decode_image("image").random_resized_crop("image", (SIDE, SIDE), scale=(0.3, 1.0)).random_flip("image")
            .normalize("image", mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]).to_chw("image")
            .batch(batch, drop_remainder=True))


class Labels:
    """What a file's path says it shows, as a number."""

    def __init__(self, images: str):
        self.folders = sorted(d.name for d in pathlib.Path(images).iterdir() if d.is_dir())
        self.classes = max(len(self.folders), 2)

    def __call__(self, paths: hr.BytesColumn) -> torch.Tensor:
        return torch.tensor([self.of(path.decode()) for path in paths])

    def of(self, path: str) -> int:
        if self.folders:
            return self.folders.index(pathlib.Path(path).parent.name)
        number = re.match(r"n(\d{8})_", pathlib.Path(path).name)
        if number is None:
            raise SystemExit(f"{path}: neither in a folder that names its class, nor called like n01440764_tench.JPEG")
        return int(int(number[1]) < 2_600_000)  # WordNet 3.0 counts animals up to there, things from there on


class Block(nn.Module):
    """Two convolutions and a way around them; half the pixels."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.around = nn.Conv2d(inputs, outputs, 1, stride=2, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(outputs) for _ in range(2)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = F.relu(self.norms[0](self.first(x)))
        return F.relu(self.norms[1](self.second(inner)) + self.around(x))


def network(classes: int) -> nn.Module:
    return nn.Sequential(Block(3, 12), Block(12, 24), Block(24, 48), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, classes))


def train(loader, labels: Labels, epochs: int) -> list[float]:
    torch.manual_seed(0)
    model = network(labels.classes)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    losses: list[float] = []
    for epoch in range(epochs):
        for step, batch in enumerate(loader):
            loss = F.cross_entropy(model(batch["image"]), labels(batch["path"]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if step % 10 == 0:
                print(f"epoch {epoch} step {step}: loss {losses[-1]:.3f}", flush=True)
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("images", help="a directory of images")
    parser.add_argument("--cluster", help="the dispatcher's address; left out: a cluster inside this process")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--passes", type=int, default=1, help="times that each image comes in an epoch, cropped differently each time")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--num-workers", type=int, help="read through torch's DataLoader with so many workers; left out: directly")
    args = parser.parse_args()

    with hr.connect(args.cluster) if args.cluster else hr.local(workers=1) as cluster:
        loader = hr.torch.Loader(pipeline_for(args.images, args.batch, args.passes), cluster)
        data = loader if args.num_workers is None else DataLoader(loader, batch_size=None, num_workers=args.num_workers)
        losses = train(data, Labels(args.images), args.epochs)
        if args.num_workers in (None, 0):
            stats = loader.stats
            print(f"waited {stats['wait_seconds']:.1f} s for data, trained {stats['step_seconds']:.1f} s")
    tenth = max(len(losses) // 10, 1)
    first, last = (sum(part) / tenth for part in (losses[:tenth], losses[-tenth:]))
    print(f"{len(losses)} steps, loss {first:.3f} -> {last:.3f}")


if __name__ == "__main__":
    main()
