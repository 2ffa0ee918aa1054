"""Images a CPU second of one worker, all that it needs included, next to a bare loop over libjpeg-turbo on the same files."""
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "bench" / "peers"))
IMAGENET = pathlib.Path(os.environ.get("HEADRACE_SHARED_DATA", SOURCE / ".." / "shared" / "data")) / "imagenet"
COPIES = 4  # of each of the few hundred photographs: an epoch should take seconds
TILES = 1000


def photographs(scratch):
    """A folder of them, and what to call it."""
    originals = sorted(IMAGENET.glob("*.JPEG"))
    if originals:
        folder = scratch / f"imagenet-{len(originals)}x{COPIES}"
        if not folder.is_dir():
            made = folder.with_suffix(".part")
            shutil.rmtree(made, ignore_errors=True)
            for copy in range(COPIES):
                (made / str(copy)).mkdir(parents=True)
                for path in originals:
                    shutil.copyfile(path, made / str(copy) / path.name)
            made.rename(folder)
        return folder, f"{len(originals)} ImageNet photographs, {COPIES} copies"
    folder = scratch / f"tiles-{TILES}"
    if not folder.is_dir():
        made = folder.with_suffix(".part")
        shutil.rmtree(made, ignore_errors=True)
        subprocess.run([sys.executable, SOURCE / "scripts" / "make-demo-data.py", made, "--tiles", str(TILES)],
                       check=True, stdout=subprocess.DEVNULL)
        made.rename(folder)
    return folder, f"{TILES} tiles of Debian's mate-backgrounds (no ImageNet photographs here)"


def run(context):
    folder, name = photographs(context.data)
    print(f"images: on {name}", file=sys.stderr)
    rounds = 2 if context.quick else 9
    out = subprocess.run([context.binary("bench_images"), str(folder), "--rounds", str(rounds)],
                         check=True, stdout=subprocess.PIPE, text=True)
    rates = json.loads(out.stdout)
    for variant, target in (("unfused", 0.85), ("fused", 1.3)):
        # Round by round: the machine's speed drifts, the ratio within a round does not.
        ratio = statistics.median(h / b for h, b in zip(rates[variant], rates["loop"]))
        ours = statistics.median(rates[variant])
        yield {"name": f"decode, crop to 224, normalize, batch; {variant}", "value": ours, "unit": "images/s",
               "baseline": {"name": "bare libjpeg-turbo loop", "value": ours / ratio}, "target": target}
    if context.peers:
        import versus

        yield from versus.images(context, folder)
