"""What `bench/run --peers` runs: who competes in which suite, on which files, and what is asked for."""
import json
import os
import pathlib
import random
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import contest  # noqa: E402

SOURCE = HERE.parents[1]
SHARED = pathlib.Path(os.environ.get("HEADRACE_SHARED_DATA", SOURCE / ".." / "shared" / "data"))
SERVICE, IN_PROCESS, TORCH = "tf.data service", "tf.data in process", "torch DataLoader (2 workers)"


def _prepare(what, source, destination):
    """A peer's own container, by its own writer; a peer that is not installed finds none and says so itself."""
    python = contest.VENV / "bin" / "python"
    if not destination.exists() and python.exists():
        done = subprocess.run([python, HERE / "prepare.py", what, source, destination], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              timeout=300, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"})
        if done.returncode != 0:
            print(f"prepare {what}: {done.stderr.decode().strip().splitlines()[-1:]}", file=sys.stderr)
    return str(destination)


def _convert(context, folder, name, shards):
    """The photographs packed by `headrace convert`."""
    first = context.data / f"{folder.name}-00000-of-{shards:05d}.{name}"
    if not first.exists():
        subprocess.run([context.binary("headrace"), "convert", str(folder), str(context.data / f"{folder.name}.{name}"), "--shards",
                        str(shards)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    return str(context.data / f"{folder.name}-*.{name}")


def _rounds(context):
    return 1 if context.quick else 5


def images(context, folder):
    """decode, random_resized_crop 224, flip, normalize, batch 64; `folder`: the photographs."""
    files = {
        "folder": str(folder), "tfrecord": _convert(context, folder, "tfrecord", 4), "tar": None,
        "mds": _prepare("mds", folder, context.data / f"{folder.name}-mds"),
        "array_record": _prepare("array_record", folder, context.data / f"{folder.name}-array-record") + "/images.array_record",
    }
    tar = _convert(context, folder, "tar", 4)  # WebDataset spells patterns with braces
    files["tar"] = tar.replace("*", "{00000..00003}-of-00004")
    field = [
        ("Headrace", "images_headrace", {}), (SERVICE, "images_tf_data", {"service": True}),
        (IN_PROCESS, "images_tf_data", {"service": False}), (TORCH, "images_torch", {}), ("SPDL", "images_spdl", {}),
        ("Ray Data", "images_ray", {}), ("WebDataset", "images_webdataset", {}), ("MosaicML Streaming", "images_streaming", {}),
        ("Grain", "images_grain", {}),
    ]
    ours, *peers = _compete(context, field, files)
    asked = {SERVICE: 1.5, IN_PROCESS: 1.5, TORCH: 1.5, "SPDL": 1.5, "Ray Data": 1.5}
    yield from contest.rows("decode, crop, flip, normalize, batch 64", "images/s", ours, peers, asked)


def text(context):
    """gsm8k's JSON Lines, 20 copies: parse, SentencePiece ids of both fields, pad, batch 64."""
    folder, lines = _jsonl(context)
    model = pathlib.Path(_prepare("sentencepiece", folder / "00.jsonl", context.data / f"{folder.name}-spm")) / "spm.model"
    files = {"folder": str(folder), "jsonl": str(folder / "*.jsonl"), "model": str(model), "lines": lines}
    field = [
        ("Headrace", "text_headrace", {}), (SERVICE, "text_tf_data", {"service": True}), (IN_PROCESS, "text_tf_data", {"service": False}),
        (TORCH, "text_torch", {}), ("SPDL", "text_spdl", {}), ("Ray Data", "text_ray", {}),
    ]
    ours, *peers = _compete(context, field, files)
    tokens = {c.name: c.rounds[0]["tokens"] for c in (ours, *peers) if c.rounds}
    if len(set(tokens.values())) > 1:
        print(f"text: tokens of an epoch differ: {tokens}", file=sys.stderr)
    yield from contest.rows("JSON Lines, SentencePiece, pad, batch 64", "records/s", ours, peers, {SERVICE: 5, TORCH: 5})


def transport(context):
    """1 KiB records from one worker to Python."""
    many, few = (20_000, 5_000) if context.quick else (200_000, 20_000)
    path = context.data / f"records-1k-{many}.tfrecord"
    if not path.exists():
        _write_records(path, many)
    files = {"tfrecord": str(path)}
    for batch, target, name in ((0, 20, "1 KiB elements one by one"), (64, 5, "1 KiB elements in batches of 64")):
        # tf.data service moves a few thousand elements a second: it gets a tenth of them, so that its rounds end.
        ours, *peers = _compete(context, [("Headrace", "transport_headrace", {"batch": batch, "take": 0}),
                                          (SERVICE, "transport_tf_data", {"batch": batch, "take": 0 if batch else few})], files)
        yield from contest.rows(name, "elements/s", ours, peers, {SERVICE: target})


def _compete(context, field, files):
    return contest.compete(context, [{"name": name, "script": script, "args": {**files, **more}, "headrace": name == "Headrace"}
                                     for name, script, more in field], _rounds(context))


def _jsonl(context):
    """A folder of 20 copies, and the lines of one. Characters stand as themselves, not as \\u escapes (see text_tf_data.py)."""
    real = SHARED / "text" / "gsm8k-train.jsonl"
    if real.exists():
        folder = context.data / "gsm8k-x20"
        # Some readers of lines take U+2028 for the end of one.
        plain = str.maketrans({"\u2028": " ", "\u2029": " ", "\x85": " "})
        records = [{k: v.translate(plain) for k, v in json.loads(line).items()} for line in real.read_text().split("\n") if line]
    else:
        print(f"text: made-up lines ({real} is not there)", file=sys.stderr)
        folder = context.data / "made-up-x20"
        records = _made_up(7473)
    if not folder.is_dir():
        part = folder.with_suffix(".part")
        part.mkdir(exist_ok=True)
        lines = "".join('{"question": %s, "answer": %s}\n' % tuple(json.dumps(r[k], ensure_ascii=False) for k in ("question", "answer"))
                        for r in records)
        for copy in range(20):
            (part / f"{copy:02d}.jsonl").write_text(lines)
        part.rename(folder)
    return folder, len(records)


def _made_up(count):
    draw = random.Random(7)
    words = ["".join(draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(draw.randint(2, 9))) for _ in range(8000)]
    weights = [1 / (rank + 2) for rank in range(len(words))]

    def some(low, high):
        return " ".join(draw.choices(words, weights, k=draw.randint(low, high))) + "."

    return [{"question": some(25, 65), "answer": some(20, 80)} for _ in range(count)]


def _write_records(path, count):
    """A TFRecord file of 1 KiB records."""
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)

    def masked(data):
        crc = 0xFFFFFFFF
        for byte in data:
            crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
        crc ^= 0xFFFFFFFF
        return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF

    draw = random.Random(7)
    kinds = []
    for _ in range(64):  # checksums in Python take a while: 64 different ones, in turns
        data = draw.randbytes(1024)
        head = struct.pack("<Q", len(data))
        kinds.append(head + struct.pack("<I", masked(head)) + data + struct.pack("<I", masked(data)))
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        for i in range(count):
            file.write(kinds[i % len(kinds)])
    part.rename(path)
