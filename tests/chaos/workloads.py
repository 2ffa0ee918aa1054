"""What the chaos runs read: real files, pipelines over them that shuffle, filter, cut and batch, and the identities of the records that
must come out, found by other means than Headrace's."""
import collections
import hashlib
import json
import os
import pathlib
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent


def digest(value):
    return hashlib.sha1(bytes(value)).hexdigest()[:16]


def identities(fields, batch):
    """One name per record of a batch, made of some of its fields."""
    columns = []
    for field in fields:
        value = batch[field]
        if isinstance(value, np.ndarray) and value.dtype != object:
            columns.append([str(int(v)) for v in value.reshape(-1)])
        else:
            columns.append([digest(v) for v in value])
    return ["/".join(parts) for parts in zip(*columns)]


class Workload:
    def __init__(self, name, source, steps, fields, expected, functions=False, counted=False, splits=0):
        self.name, self.source, self.steps, self.fields = name, source, steps, fields
        self.expected = collections.Counter(expected)  # of one epoch
        self.functions = functions  # needs Python functions on workers
        self.counted = counted      # take: any records, so many
        self.records = sum(self.expected.values())
        self.batch = next(iter(steps[-1].values()))["size"]

    def cached_steps(self):
        """With a cache behind what looks at one record at a time."""
        at = next(i for i, step in enumerate(self.steps) if next(iter(step)) not in ("json_fields", "filter", "select"))
        return [*self.steps[:at], {"cache": {}}, *self.steps[at:]]

    def write(self, directory, cached=False):
        """Its pipeline and its fields, for trainers; the path."""
        pipeline = directory / f"{self.name}.yaml"
        steps = self.cached_steps() if cached else self.steps
        pipeline.write_text(json.dumps({"name": self.name, "source": self.source, "steps": steps}))
        path = directory / f"{self.name}.json"
        path.write_text(json.dumps({"pipeline": str(pipeline), "fields": self.fields}))
        return path


def _lines(directory, files=8, lines=250):
    """JSON lines with an id each; one file is empty, one is long."""
    ids = []
    for f in range(files):
        count = 0 if f == 3 else lines * 4 if f == 5 else lines
        with open(directory / f"lines-{f}.jsonl", "w") as out:
            for i in range(count):
                ids.append(f * 100000 + i)
                out.write(json.dumps({"id": ids[-1], "text": f"line {i} of file {f} " + "x" * (i % 53)}) + "\n")
        then = time.time() - 3600  # caches do not keep what was just written
        os.utime(directory / f"lines-{f}.jsonl", (then, then))
    return ids


def parts_of(number):
    """Into how many parts chaos_functions.cut cuts a record."""
    return number % 4


def made(directory):
    """Workloads over files made here."""
    directory.mkdir(parents=True, exist_ok=True)
    ids = _lines(directory)
    source = {"files": str(directory / "lines-*.jsonl"), "format": "jsonl"}
    fields = {"json_fields": {"id": "int64", "text": "bytes"}}
    kept = [i for i in ids if i % 3 != 1]
    shuffle = {"shuffle": {"buffer": 200, "seed": 1}}
    batch = {"batch": {"size": 16}}
    cut = {"python_flat_map": {"function": "chaos_functions:cut", "fields": ["id"], "returns": {"id": "int64", "part": "int64"},
                               "processes": 1}}
    return [
        Workload("plain", source, [fields, batch], ["id"], map(str, ids)),
        Workload("shuffled", source, [fields, {"filter": "id % 3 != 1"}, shuffle, batch], ["id"], map(str, kept)),
        Workload("padded", source, [fields, {"filter": "id % 3 != 1"}, shuffle, {"padded_batch": {"size": 7}}], ["id"], map(str, kept)),
        Workload("twice", source, [fields, {"repeat": {"count": 2}}, {"filter": "id % 3 != 1"}, shuffle, batch], ["id"],
                 [str(i) for i in kept] * 2),
        Workload("cut", source, [fields, {"select": ["id"]}, {"filter": "id % 3 != 1"}, cut, shuffle, batch], ["id", "part"],
                 [f"{i}/{p}" for i in kept for p in range(parts_of(i))], functions=True),
        Workload("taken", source, [fields, {"skip": 10}, {"take": 1000}, batch], ["id"], [str(i) for i in range(1000)], counted=True),
    ]


def shared(data, directory):
    """Workloads over files by other writers."""
    directory.mkdir(parents=True, exist_ok=True)
    questions = [json.loads(line)["question"].encode() for line in open(data / "text" / "gsm8k-train.jsonl", "rb")]
    long = [q for q in questions if len(q) > 200]
    return [
        Workload("gsm8k", {"files": str(data / "text" / "gsm8k-train.jsonl"), "format": "jsonl"},
                 [{"json_fields": {"question": "bytes"}}, {"filter": "length(question) > 200"}, {"shuffle": {"buffer": 500, "seed": 2}},
                  {"batch": {"size": 32}}], ["question"], map(digest, long)),
    ]
