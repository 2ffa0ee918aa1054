"""A batch of JSON lines to padded token ids in Python: json, the sentencepiece wheel (a batch a call: its loop is in C++), NumPy.
For every contestant whose library leaves the work to Python."""
import json

import numpy as np
import sentencepiece as spm

_models = {}


def processor(model):
    if model not in _models:
        _models[model] = spm.SentencePieceProcessor(model_file=model)
    return _models[model]


def pad(rows):
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    out = np.zeros((len(rows), int(lengths.max(initial=0))), dtype=np.int32)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out, lengths


def batch(lines, model):
    records = [json.loads(line) for line in lines]
    out = {}
    for name in ("question", "answer"):
        # One thread: the loader's processes or threads are what is parallel here.
        ids = processor(model).encode([record[name] for record in records], out_type=int, num_threads=1)
        out[name], out[name + "_length"] = pad(ids)
    return out
