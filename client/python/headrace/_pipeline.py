"""Pipelines: what is read, and the steps that it goes through. Checked at each line, run by a cluster."""
from __future__ import annotations

import inspect
import os
import pathlib
import sys
from typing import Any, Sequence

from . import _native

_INTERNAL = os.path.dirname(__file__)


def _location() -> str:
    """"train.py:14": the caller's line, outside of this package."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_INTERNAL):
        frame = frame.f_back
    return "" if frame is None else f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


class Pipeline:
    """An immutable pipeline. Each step gives a longer one, and raises PipelineError at once where it does not fit.

    The methods are the steps that `headrace steps` lists; `help(hr.Pipeline.resize)` says what one takes.
    """

    __slots__ = ("_native",)

    def __init__(self, native):
        self._native = native

    def step(self, op: str, /, **params: Any) -> "Pipeline":
        """A step by its name, for names made at run time."""
        return Pipeline(self._native.with_step(op, params, _location()))

    def options(self, **options: Any) -> "Pipeline":
        """name, seed, on_error ('fail' or 'skip'), max_errors (an int, or a float as a fraction of the records read)."""
        return Pipeline(self._native.with_options(options))

    @property
    def schema(self):
        """What leaves the last step: a list of (name, dtype, shape); None in a shape is a dimension that varies, None for
        the shape one of unknown rank. None when the files cannot be seen from this machine."""
        return self._native.schema()

    @property
    def fingerprint(self) -> str:
        """Of the pipeline as written; jobs are joined and checkpoints checked by it."""
        return self._native.fingerprint()

    def to_yaml(self) -> str:
        """The same pipeline, as `headrace run` reads it."""
        return self._native.yaml()

    def to_python(self) -> str:
        """The same pipeline, as an expression of this package."""
        return self._native.python()

    def __repr__(self):
        return self.to_python()

    def __reduce__(self):
        return _from_bytes, (self._native.to_bytes(),)


def _make_method(spec):
    names = [p["name"] for p in spec["params"]]
    map_param = spec["map_param"]

    def method(self, *args, **kwargs):
        if map_param:
            fields = dict(args[0]) if args else {}
            fields.update(kwargs)
            kwargs = {map_param: fields}
        else:
            if len(args) > len(names):
                raise TypeError(f"{spec['name']}() takes at most {len(names)} arguments ({', '.join(names)}), {len(args)} given")
            for name, value in zip(names, args):
                if name in kwargs:
                    raise TypeError(f"{spec['name']}() got two values for '{name}'")
                kwargs[name] = value
        return self.step(spec["name"], **kwargs)

    method.__name__ = spec["name"]
    method.__qualname__ = f"Pipeline.{spec['name']}"
    lines = [spec["help"], ""]
    lines += [f"{p['name']} ({p['type']}{', required' if p['required'] else ''}): {p['help']}" for p in spec["params"]]
    method.__doc__ = "\n".join(lines)
    kind = inspect.Parameter
    parameters = [kind("self", kind.POSITIONAL_OR_KEYWORD)]
    if map_param:
        parameters.append(kind("fields", kind.VAR_KEYWORD))
    else:
        parameters += [kind(n, kind.POSITIONAL_OR_KEYWORD, default=kind.empty if p["required"] else None)
                       for n, p in sorted(zip(names, spec["params"]), key=lambda np: not np[1]["required"])]
    method.__signature__ = inspect.Signature(parameters)
    return method


for _spec in _native.steps():
    setattr(Pipeline, _spec["name"], _make_method(_spec))


def read(files: str | os.PathLike | Sequence[str | os.PathLike] = (), format: str | None = None, **params: Any) -> Pipeline:
    """The records of files. `files`: a path, a pattern ("data/train-*.tfrecord"), a directory, or a list of them.

    format: "tfrecord", "webdataset", "jsonl", "text", "image_folder"; left out, the names of the files tell it.
    params: the format's own parameters. Raises PipelineError for wrong words.
    """
    if isinstance(files, (str, os.PathLike)):
        files = [files]
    return Pipeline(_native.read([os.fspath(f) for f in files], format or "", params, _location()))


def range(elements: int, bytes: int = 8, **params: Any) -> Pipeline:
    """Made-up elements of a stated size, for trying and measuring."""
    return Pipeline(_native.read([], "range", {"elements": elements, "bytes": bytes, **params}, _location()))


def _from_bytes(data: bytes) -> Pipeline:
    return Pipeline(_native.Pipeline.from_bytes(data))


def from_yaml(source: str | os.PathLike) -> Pipeline:
    """A pipeline from a YAML file, or from YAML text (anything with a line break in it)."""
    if isinstance(source, str) and "\n" in source:
        return Pipeline(_native.from_yaml(source, "<text>"))
    path = pathlib.Path(source)
    return Pipeline(_native.from_yaml(path.read_text(), str(path)))
