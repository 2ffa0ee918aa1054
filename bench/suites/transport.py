"""Frames over Headrace's gRPC transport next to a bare stream of byte buffers: same loopback, same sizes, interleaved."""
import json
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))


def run(context):
    repeats = 2 if context.quick else 9
    for size, frames, name, target in ((1 << 20, 1500, "1 MiB", 0.85), (64 << 10, 12000, "64 KiB", None)):
        out = subprocess.run([context.binary("bench_transport"), "--repeats", str(repeats), "--size", str(size), "--frames",
                              str(frames // (10 if context.quick else 1))], check=True, capture_output=True, text=True)
        rates = json.loads(out.stdout)
        # Pair by pair: the machine's speed drifts, the ratio within a pair does not.
        ratio = statistics.median(h / r for h, r in zip(rates["headrace"], rates["raw"]))
        ours = statistics.median(rates["headrace"])
        yield {"name": f"{name} frames over grpc", "value": ours / 1e9, "unit": "GB/s",
               "baseline": {"name": "raw ByteBuffer stream", "value": ours / ratio / 1e9}, "target": target}
    import _shm_views

    yield from _shm_views.run(context)
    if context.peers:
        import versus

        yield from versus.transport(context)
