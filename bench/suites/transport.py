"""Frames over each of Headrace's transports next to what it is made of: same loopback, same sizes, interleaved."""
import json
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))

CASES = (
    # transport and flags, payload bytes, frames, name, baseline, target
    ("tcp", 1 << 20, 3000, "1 MiB frames over tcp", "plain loop of gathered writes", 0.80),
    ("tcp --checksums", 1 << 20, 3000, "1 MiB frames over tcp, checksums on loopback too", "plain loop of gathered writes", None),
    ("tcp", 64 << 10, 30000, "64 KiB frames over tcp", "plain loop of gathered writes", None),
    ("grpc", 1 << 20, 1500, "1 MiB frames over grpc", "raw ByteBuffer stream", 0.85),
    ("grpc", 64 << 10, 12000, "64 KiB frames over grpc", "raw ByteBuffer stream", None),
)


def run(context):
    repeats = 2 if context.quick else 9
    for transport, size, frames, name, baseline, target in CASES:
        out = subprocess.run([context.binary("bench_transport"), "--transport", *transport.split(), "--repeats", str(repeats), "--size", str(size),
                              "--frames", str(frames // (10 if context.quick else 1))], check=True, capture_output=True, text=True)
        rates = json.loads(out.stdout)
        # Pair by pair: the machine's speed drifts, the ratio within a pair does not.
        ratio = statistics.median(h / r for h, r in zip(rates["headrace"], rates["raw"]))
        ours = statistics.median(rates["headrace"])
        yield {"name": name, "value": ours / 1e9, "unit": "GB/s",
               "baseline": {"name": baseline, "value": ours / ratio / 1e9}, "target": target}
    import _shm_views

    yield from _shm_views.run(context)
    if context.peers:
        import versus

        yield from versus.transport(context)
