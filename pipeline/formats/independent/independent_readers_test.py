"""Our readers against readers of other hands: Python's tarfile and gzip, and a TFRecord reader of ten lines.

Whatever size the splits have, each record of each file must be the same, field for field.
"""

import gzip
import io
import os
import pathlib
import random
import struct
import subprocess
import tarfile
import zlib

import pytest

BUILD = pathlib.Path(os.environ["HEADRACE_BUILD_DIR"])
SOURCE = pathlib.Path(os.environ["HEADRACE_SOURCE_DIR"])
SHARED = pathlib.Path(os.environ.get("HEADRACE_SHARED_DATA", SOURCE / ".." / "shared" / "data"))
DUMP = BUILD / "pipeline" / "formats" / "independent" / "dump_records"
TARGETS = [1, 5000, 1 << 40]


def ours(format_name, target, path):
    out = subprocess.run(
        [DUMP, format_name, str(target), path], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    assert out[0] == f"file {path}"
    return [tuple(line.split()) for line in out[1:]]


def digest(*fields):
    return tuple(f"{len(field):x}:{zlib.crc32(field):08x}" for field in fields)


def tfrecords(path):
    data = path.read_bytes()
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        yield digest(data[at + 12 : at + 12 + length])
        at += length + 16


def groups(path):
    """webdataset's records, all fields in order of first appearance; every record has all of them here."""
    fields, key, record = [], None, {}
    records = []
    with tarfile.open(path) as archive:
        for member in archive:
            folder, slash, name = member.name.rpartition("/")
            base, dot, extension = name.partition(".")
            if not member.isreg() or not base or not dot:
                continue
            if extension.lower() not in fields:
                fields.append(extension.lower())
            if folder + slash + base != key:
                key, record = folder + slash + base, {}
                records.append((key, record))
            record[extension.lower()] = archive.extractfile(member).read()
    return [
        digest(key.encode("utf-8", "surrogateescape"), *(record[field] for field in fields))
        for key, record in records
    ]


def shared_files(folder, pattern):
    found = sorted((SHARED / folder).glob(pattern))
    if not found:
        pytest.skip(f"no shared data at {SHARED / folder} (set HEADRACE_SHARED_DATA)")
    return [path.resolve() for path in found]


@pytest.mark.parametrize("target", TARGETS)
def test_real_tfrecords(target):
    for path in shared_files("tfrecord", "*"):
        assert ours("tfrecord", target, path) == list(tfrecords(path)), path


@pytest.mark.parametrize("target", TARGETS)
def test_real_archives(target):
    for path in shared_files("webdataset", "*"):
        assert ours("webdataset", target, path) == groups(path), path


@pytest.mark.parametrize("target", TARGETS)
def test_real_lines(target):
    for path in shared_files("text", "*"):
        lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
        expected = [digest(line.removesuffix(b"\r")) for line in lines]
        assert ours("text", target, path) == expected, path
        if path.suffix == ".jsonl":
            assert ours("jsonl", target, path) == expected, path


@pytest.mark.parametrize("layout", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_archives_that_python_writes(tmp_path, layout, mode):
    draw = random.Random(layout)
    path = tmp_path / ("a.tar" if mode == "w" else "a.tgz")
    with tarfile.open(path, mode, format=layout, encoding="utf-8") as archive:
        for i in range(300):
            long = draw.randrange(40, 140) if i % 3 == 0 else 3
            # ustar can hold 100 bytes behind the last slash.
            key = f"{'d' * long}/größe {i}" if i % 5 == 0 else f"{'d' * long}/{i}"
            folder = tarfile.TarInfo(f"folder{i}")
            folder.type = tarfile.DIRTYPE
            archive.addfile(folder)
            for extension in ("jpg", "seg.PNG"):
                member = tarfile.TarInfo(f"{key}.{extension}")
                data = draw.randbytes(draw.randrange(0, 3000))
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    expected = groups(path)
    assert len(expected) == 300
    for target in TARGETS:
        assert ours("webdataset", target, path) == expected


def test_gzip_of_several_members(tmp_path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"one\ntwo\n") + gzip.compress(b"three") + b"\0" * 100)
    assert ours("text", 1, path) == [digest(b"one"), digest(b"two"), digest(b"three")]
