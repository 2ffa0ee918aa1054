"""What trainers get next to independent readers: pixels by Pillow, features by a reader of our own, text by Python."""
import gzip
import json

import numpy as np
import pytest
from PIL import Image

import datasets
import headrace as hr
import processes
from processes import Cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("cluster"), workers=3) as running:
        yield running


@pytest.fixture(scope="module")
def connection(cluster):
    with hr.connect(cluster.address) as connected:
        yield connected


def resized_by_pillow(path, size):
    return np.asarray(Image.open(path).convert("RGB").resize((size, size), Image.BILINEAR), dtype=np.int16)


def assert_pixels_agree(connection, folder, size=64):
    differences = []
    pipeline = hr.read(folder, "image_folder").decode_image("image").resize("image", [size, size]).batch(8)
    for batch in connection.stream(pipeline):
        for image, path in zip(batch["image"], batch["path"]):
            differences.append(np.abs(image.astype(np.int16) - resized_by_pillow(path.decode(), size)).mean())
    assert np.mean(differences) <= 2.0, f"worst image: {max(differences):.2f} levels"
    return len(differences)


def test_pixels_agree_with_pillow(connection, tmp_path):
    paths = datasets.make_images(tmp_path / "images")
    assert assert_pixels_agree(connection, tmp_path / "images") == len(paths)


def test_pixels_of_real_photographs_agree_with_pillow(connection):
    shared = processes.shared_data()
    if shared is None:
        pytest.skip("shared/data/imagenet is not on this machine; made images cover the same promise")
    assert assert_pixels_agree(connection, shared / "imagenet") == 250


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 2:
            size, at = varint(data, at)
            yield tag >> 3, data[at:at + size]
            at += size
        elif tag & 7 == 0:
            value, at = varint(data, at)
            yield tag >> 3, value
        elif tag & 7 == 5:
            yield tag >> 3, data[at:at + 4]
            at += 4
        else:
            raise ValueError(f"wire type {tag & 7}")


def example(record):
    """A tf.train.Example as {name: list}, read by hand."""
    out = {}
    for _, features in fields(record):
        for _, entry in fields(features):
            parts = dict(fields(entry))
            for kind, values in fields(parts.get(2, b"")):
                if kind == 1:
                    out[parts[1].decode()] = [v for _, v in fields(values)]
                elif kind == 2:
                    out[parts[1].decode()] = np.frombuffer(b"".join(v for _, v in fields(values)), "<f4").tolist()
                else:
                    items = []
                    for _, packed in fields(values):
                        if isinstance(packed, int):
                            items.append(packed)
                            continue
                        at = 0
                        while at < len(packed):
                            value, at = varint(packed, at)
                            items.append(value - (1 << 64) if value >> 63 else value)
                    out[parts[1].decode()] = items
    return out


def test_features_agree_with_a_reader_written_by_hand(connection):
    shared = processes.shared_data()
    if shared is None:
        pytest.skip("shared/data/tfrecord is not on this machine; test_packed_features_come_back covers the same promise")
    checked = 0
    for path in sorted((shared / "tfrecord").iterdir()):
        records = [example(r) for r in datasets.read_tfrecord(path)]
        names = [n for n in sorted(records[0]) if all(n in r for r in records)]
        for name in names:
            kind = records[0][name]
            dtype = "bytes" if kind and isinstance(kind[0], bytes) else "float32" if kind and isinstance(kind[0], float) else "int64"
            pipeline = hr.read(path, "tfrecord").step("parse_example", features={name: f"{dtype}[]"})
            got = [list(row[name]) for row in connection.stream(pipeline)]
            key = repr
            assert sorted((key([v if isinstance(v, bytes) else float(v) for v in g]) for g in got)) == sorted(
                key([v if isinstance(v, bytes) else float(v) for v in r[name]]) for r in records), f"{path.name}: {name}"
            checked += len(got)
    assert checked > 30


def test_packed_features_come_back(connection, tmp_path):
    paths = datasets.make_images(tmp_path / "images", classes=2, per_class=10)
    processes.run("convert", tmp_path / "images", tmp_path / "packed.tfrecord")
    pipeline = hr.read(tmp_path / "packed.tfrecord").parse_example(image=hr.bytes_, label=hr.bytes_)
    got = sorted((row["image"], row["label"]) for row in connection.stream(pipeline))
    assert got == sorted((p.read_bytes(), p.parent.name.encode()) for p in paths)
    for record in datasets.read_tfrecord(tmp_path / "packed.tfrecord"):
        assert set(example(record)) == {"image", "label", "path"}


def test_compressed_text_comes_back(connection, tmp_path):
    lines = [{"n": i, "text": f"line {i}", "nested": {"x": [i, i + 1]}} for i in range(500)]
    with gzip.open(tmp_path / "lines.jsonl.gz", "wt") as out:
        out.writelines(json.dumps(line) + "\n" for line in lines)
    pipeline = hr.read(tmp_path / "lines.jsonl.gz").json_fields(n=hr.int64, text=hr.bytes_).filter("n % 3 == 0").batch(10)
    got = [(int(n), text.decode()) for batch in connection.stream(pipeline) for n, text in zip(batch["n"], batch["text"])]
    assert sorted(got) == [(line["n"], line["text"]) for line in lines if line["n"] % 3 == 0]


def test_random_crops_are_the_same_on_any_number_of_workers_and_other_each_epoch(tmp_path):
    datasets.make_images(tmp_path / "images", classes=2, per_class=15)
    pipeline = (hr.read(tmp_path / "images", "image_folder").decode_image("image")
                .random_resized_crop("image", [32, 32]).random_flip("image").options(seed=5))

    def epochs(workers):
        with hr.local(workers=workers) as local:
            loader = local.stream(pipeline)
            return [{row["path"]: row["image"].tobytes() for row in loader} for _ in range(2)]

    one, three = epochs(1), epochs(3)
    assert one == three
    assert one[0].keys() == one[1].keys() and one[0] != one[1]
