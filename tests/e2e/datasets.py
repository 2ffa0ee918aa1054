"""What the end-to-end tests read: real files by other writers where this machine has them, and files that the tests make."""
import hashlib
import json
import random
import struct
import tarfile

import numpy as np
from PIL import Image

import processes


def digest(value):
    return hashlib.sha1(value).hexdigest()


class Dataset:
    """A pipeline (YAML, as a dict of source and steps), the field that tells records apart, and the digests it must give."""

    def __init__(self, name, source, steps, field, expected):
        self.name, self.source, self.steps, self.field, self.expected = name, source, steps, field, sorted(expected)

    def write(self, directory, steps=None, suffix=""):
        """The YAML of this dataset with `steps` behind its own; its path."""
        path = directory / f"{self.name}{suffix}.yaml"
        path.write_text(json.dumps({"name": self.name, "source": self.source, "steps": self.steps + (steps or [])}))
        return path


def make_images(directory, classes=4, per_class=30, seed=3):
    """JPEGs of noise-free gradients in class folders: small, each different."""
    rng = random.Random(seed)
    paths = []
    for c in range(classes):
        folder = directory / f"class{c}"
        folder.mkdir(parents=True, exist_ok=True)
        for i in range(per_class):
            w, h = rng.randint(40, 160), rng.randint(40, 160)
            y, x = np.mgrid[0:h, 0:w]
            image = np.stack([x * 255 // w, y * 255 // h, (x * (c + 1) + y * (i + 1)) % 256], axis=-1).astype(np.uint8)
            path = folder / f"{i:03d}.jpg"
            Image.fromarray(image).save(path, quality=90)
            paths.append(path)
    return sorted(paths)


def packed_images(name, folder, directory, kind):
    """A folder of images packed by `headrace convert`."""
    paths = sorted(p for p in folder.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))
    expected = [digest(p.read_bytes()) for p in paths]
    if kind == "tfrecord":
        processes.run("convert", folder, directory / f"{name}.tfrecord", "--shards", 5, "--seed", 1)
        return Dataset(name, {"files": str(directory / f"{name}-*.tfrecord"), "format": "tfrecord"},
                       [{"parse_example": {"image": "bytes", "label": "bytes"}}], "image", expected)
    processes.run("convert", folder, directory / f"{name}.tar", "--shards", 4, "--seed", 1)
    return Dataset(name, {"files": str(directory / f"{name}-*.tar"), "format": "webdataset"}, [], "jpg", expected)


def made_jsonl(directory, files=7, lines=101):
    """Lines in several files, one of them empty."""
    expected = []
    for f in range(files):
        with open(directory / f"made-{f}.jsonl", "w") as out:
            for i in range(0 if f == 3 else lines):
                out.write(json.dumps({"text": f"file {f} line {i}"}) + "\n")
                expected.append(digest(f"file {f} line {i}".encode()))
    return Dataset("made-jsonl", {"files": str(directory / "made-*.jsonl"), "format": "jsonl"},
                   [{"json_fields": {"text": "bytes"}}], "text", expected)


def one_huge_text(directory, lines=20000):
    path = directory / "huge.txt"
    text = [f"line {i} {'x' * (i % 97)}" for i in range(lines)]
    path.write_text("\n".join(text) + "\n")
    return Dataset("huge-text", {"files": str(path), "format": "text"}, [], "line", [digest(t.encode()) for t in text])


def read_tfrecord(path):
    """The records of an uncompressed TFRecord file: an independent reader."""
    data = path.read_bytes()
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        yield data[at + 12:at + 12 + length]
        at += 16 + length


def read_tar(path, field):
    """What the files of a tar whose name ends in .`field` hold: an independent reader."""
    with tarfile.open(path) as tar:
        return [tar.extractfile(member).read() for member in tar if member.isfile() and member.name.endswith("." + field)]


def shared_datasets(directory):
    """The real files: a list of Datasets. Empty where this machine has none."""
    shared = processes.shared_data()
    if shared is None:
        return []
    out = [packed_images("imagenet-tfrecord", shared / "imagenet", directory, "tfrecord"),
           packed_images("imagenet-webdataset", shared / "imagenet", directory, "webdataset")]
    for path in sorted((shared / "tfrecord").iterdir()):
        out.append(Dataset(f"tfrecord-{path.stem}", {"files": str(path), "format": "tfrecord"}, [], "record",
                           [digest(r) for r in read_tfrecord(path)]))
    for name, field, records in [("tendata.tar", "ten", 100), ("mpdata.tar", "mp", 100), ("compressed.tar", "txt.gz", 3),
                                 ("sample.tgz", "png", 90)]:
        expected = read_tar(shared / "webdataset" / name, field)
        assert len(expected) == records, f"{name} has {len(expected)} files .{field}"
        out.append(Dataset(f"webdataset-{name.split('.')[0]}", {"files": str(shared / "webdataset" / name), "format": "webdataset"},
                           [{"select": [field]}], field, [digest(value) for value in expected]))
    gsm8k = [json.loads(line)["question"].encode() for line in open(shared / "text" / "gsm8k-train.jsonl", "rb")]
    out.append(Dataset("gsm8k", {"files": str(shared / "text" / "gsm8k-train.jsonl"), "format": "jsonl"},
                       [{"json_fields": {"question": "bytes"}}], "question", [digest(q) for q in gsm8k]))
    return out
