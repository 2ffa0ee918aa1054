"""Where the orchestrator puts caches, in real runs: rows a second that it predicts of what it chose, next to those that are seen. Real processes:
a dispatcher, a worker, an orchestrator, a trainer. The ratio is of the smaller to the larger of the two, so that 0.85 is within 15% on either side.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import images  # this folder's: which photographs there are
from _fleet import Fleet

WINDOW = "2s"


def decode(hr, folder):
    # What a cache may stand behind, then a draw.
    return (hr.read(str(folder / "*" / "*"), format="image_folder").decode_image("image").step("resize", field="image", size=[224, 224])
            .step("random_flip", field="image").batch(32))


def words(hr, folder, rows):
    """JSON Lines of two kilobytes, of which a pattern keeps some."""
    files = folder / "placement-text"
    if not files.is_dir():
        files.mkdir(parents=True)
        for n in range(16):
            with open(files / f"{n:02d}.jsonl", "w") as out:
                for i in range(rows // 16):
                    out.write(json.dumps({"text": f"line {i} of {n} " + f"word{i % 97} " * 250}) + "\n")
            then = time.time() - 3600
            os.utime(files / f"{n:02d}.jsonl", (then, then))
    return (hr.read(str(files / "*.jsonl"), format="jsonl").step("json_fields", fields={"text": "bytes"})
            .step("filter", where=r"matches(text, '(word1 ?|word2 ?)+.*word3')").step("shuffle", buffer=500, seed=1).batch(32))


class Cluster(Fleet):
    """And an orchestrator, which watches."""

    def __enter__(self):
        super().__enter__()
        try:
            self.processes.append(subprocess.Popen([self.binary, "orchestrator", "--dispatcher", self.address, "--window", WINDOW, "--poll", "500ms"],
                                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        except BaseException:
            self.__exit__()
            raise
        return self

    def explain(self, job):
        done = subprocess.run([self.binary, "explain", job, "--cluster", self.address, "--output", "json", "--seconds", "0.2"],
                              capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else None


def measure(hr, context, name, pipeline, memory, step_seconds=0.0, seconds=60):
    """Reads epochs for so long; the last word of the orchestrator."""
    said = {}
    stop = threading.Event()

    def read(address):
        with hr.connect(address) as cluster, cluster.stream(pipeline, job="job", cache="auto", epochs=1000) as loader:
            while not stop.is_set():
                for _ in loader:
                    if step_seconds:
                        time.sleep(step_seconds)
                    if stop.is_set():
                        return

    with Cluster(context.binary("headrace"), [("--cache.memory-bytes", str(memory), "--compute-threads", "1")]) as fleet:
        trainer = threading.Thread(target=read, args=(fleet.address,), daemon=True)
        trainer.start()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(1)
            said = fleet.explain("job") or said
        stop.set()
        trainer.join(10)
    plan = said.get("plan") or {}
    if not plan.get("solved") or not plan.get("observed"):
        return {"name": name, "value": 0, "unit": "rows/s", "target": 0.85, "failure": said.get("why", "the orchestrator said nothing")}
    observed, predicted = plan["observed"], plan["predicted"]
    chosen = next(c for c in plan["candidates"] if c["chosen"])
    place = "no cache" if chosen["none"] else f"{100 * chosen['share']:.0f}% behind {chosen['after']}"
    return {"name": f"{name}: {place}", "value": observed, "unit": "rows/s", "baseline": {"name": "predicted", "value": predicted},
            "ratio": min(observed / predicted, predicted / observed), "target": 0.85, "why": said["why"],
            "observed_without": plan["observed_without"], "predicted_without": plan["predicted_without"]}


def run(context):
    sys.path.insert(0, str(context.build / "python"))
    import headrace as hr

    folder, what = images.photographs(context.data)
    print(f"placement: images are {what}", file=sys.stderr)
    rows = sum(1 for _ in folder.glob("*/*"))
    kept = rows * 224 * 224 * 3
    seconds = 30 if context.quick else 120
    yield measure(hr, context, "images", decode(hr, folder), 2 * kept, seconds=seconds)
    yield measure(hr, context, "text", words(hr, context.data, 8000 if context.quick else 64000), 1 << 30, seconds=seconds)
    yield measure(hr, context, "images, bound by the trainer", decode(hr, folder), 2 * kept, step_seconds=1.0, seconds=seconds)
    yield measure(hr, context, "images, twice the cache", decode(hr, folder), kept // 2, seconds=seconds)
