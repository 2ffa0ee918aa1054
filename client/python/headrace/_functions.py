"""Python functions as steps: Pipeline.map, map_batches, filter and flat_map. They run in subprocesses of the workers
(docs/python-functions.md)."""
from __future__ import annotations

import base64
import inspect
import sys
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from ._errors import PipelineError
from ._pipeline import Pipeline

Function = Callable[..., Any]
_generated_filter = Pipeline.filter  # the step with a condition in words


def _is_importable(fn: Function) -> bool:
    module, name = getattr(fn, "__module__", None), getattr(fn, "__qualname__", None)
    if not module or not name or module == "__main__" or "<" in name or module not in sys.modules:
        return False
    found: Any = sys.modules[module]
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is fn


def _reference(fn: Function | str, mode: str | None) -> dict[str, str]:
    """How workers find the function: by its name, or the function itself."""
    if mode not in (None, "import", "pickle"):
        raise ValueError(f"mode: 'import' or 'pickle', not {mode!r}")
    if isinstance(fn, str):
        return {"function": fn}
    if not callable(fn):
        raise TypeError(f"a function, or its name like 'module:function', not {type(fn).__name__}")
    name = f"{getattr(fn, '__module__', None) or '?'}:{getattr(fn, '__qualname__', type(fn).__name__)}"
    if mode != "pickle" and _is_importable(fn):
        return {"function": name}
    if mode == "import":
        raise PipelineError(f"'{name}' cannot be imported by that name: move it to the top of a module that the workers have, or let it "
                            f"be sent (mode='pickle')")
    try:
        import cloudpickle
    except ImportError:
        raise PipelineError(f"'{name}' is in no module that a worker could import, and cloudpickle, which would send it, is not "
                            f"installed; move it to a module, or install cloudpickle here and on the workers") from None
    return {"function": name, "pickled": base64.b64encode(cloudpickle.dumps(fn)).decode()}


def _takes_rng(fn: Function | str) -> bool:
    if isinstance(fn, str):
        return False
    try:
        return "rng" in inspect.signature(fn).parameters
    except (TypeError, ValueError):
        return False


def _type_name(spec: Any) -> str:
    """'float32[?, 3]' of a name, hr.float32[3], a NumPy type, or (type, shape)."""
    if isinstance(spec, tuple):
        if len(spec) != 2:
            raise TypeError(f"returns: (type, shape), not {spec!r}")
        dtype, shape = spec
        if shape is Ellipsis:
            return f"{_type_name(dtype)}[...]"
        dims = (shape,) if isinstance(shape, int) else shape
        if not dims:
            return _type_name(dtype)
        return f"{_type_name(dtype)}[{', '.join('?' if d is None or d < 0 else str(int(d)) for d in dims)}]"
    if isinstance(spec, str):
        return str(spec)
    if spec in (bytes, str):
        return "bytes"
    return np.dtype(spec).name


def _step(pipeline: Pipeline, op: str, fn: Function | str, *, mode: str | None, fields: Sequence[str] | None,
          returns: Mapping[str, Any] | None, requires: Sequence[str], timeout: float | str | None, processes: int,
          random: bool | None, batched: bool = False) -> Pipeline:
    params: dict[str, Any] = dict(_reference(fn, mode))
    if batched:
        params["batched"] = True
    if fields is not None:
        params["fields"] = list(fields)
    if returns is not None:
        params["returns"] = {name: _type_name(spec) for name, spec in returns.items()}
    if requires:
        params["requires"] = [requires] if isinstance(requires, str) else list(requires)
    if timeout is not None:
        params["timeout"] = timeout if isinstance(timeout, str) else f"{timeout}s"
    if processes:
        params["processes"] = processes
    if _takes_rng(fn) if random is None else random:
        params["random"] = True
    return pipeline.step(op, **params)


def map(self: Pipeline, fn: Function | str, *, fields: Sequence[str] | None = None, returns: Mapping[str, Any] | None = None,
        requires: Sequence[str] = (), timeout: float | str | None = None, processes: int = 0, random: bool | None = None,
        mode: str | None = None) -> Pipeline:
    """Each record as `fn` returns it: fn(record) -> dict, both of field name to value. Runs in subprocesses of the workers.

    Values that fn gets: read-only NumPy arrays that are valid during the call only (copy what you keep), NumPy numbers for fields of
    shape (), `bytes` for text. After `batch`, a record is a batch.

    fn: a function, or its name "module:function". fields: the fields that it gets (default: all; the others pass by). returns: field ->
    type of all that it returns, like {"x": "float32[?, 3]", "n": hr.int64, "y": (np.uint8, (None, 4))} (default: the types of what it
    gets); what it gets and does not return is gone. requires: packages that workers must have, like ["numpy>=1.20"]. timeout: seconds of
    one call (default 60). processes: subprocesses per worker (0: as the worker is set). random: fn(record, rng=...) gets a
    numpy.random.Generator that depends on seed, epoch and record alone (default: when fn has a parameter `rng`). mode: "import" (the
    worker imports fn's module) or "pickle" (fn is sent by cloudpickle; only where workers allow it); default: import where that works.

    An exception, a wrong type or shape, a crash or a call over its time fails that record alone: `options(on_error=...)` says what then.
    """
    return _step(self, "python_map", fn, mode=mode, fields=fields, returns=returns, requires=requires, timeout=timeout,
                 processes=processes, random=random)


def map_batches(self: Pipeline, fn: Function | str, *, fields: Sequence[str] | None = None, returns: Mapping[str, Any] | None = None,
                requires: Sequence[str] = (), timeout: float | str | None = None, processes: int = 0, mode: str | None = None) -> Pipeline:
    """As `map`, but fn gets many records at once: every field stacked (an array of objects where shapes differ, and for text), and
    returns as many rows. How many records one call gets differs from call to call, so each must be worked on by itself; after `batch`, fn
    gets the batches. `returns` names the types of one record (after `batch`: of a batch)."""
    return _step(self, "python_map", fn, mode=mode, fields=fields, returns=returns, requires=requires, timeout=timeout,
                 processes=processes, random=None, batched=True)


def filter(self: Pipeline, where: Function | str, *, fields: Sequence[str] | None = None, batched: bool = False,
           requires: Sequence[str] = (), timeout: float | str | None = None, processes: int = 0, random: bool | None = None,
           mode: str | None = None) -> Pipeline:
    """Keep the records for which a condition holds.

    where: words like "label != 3 and length(text) > 10" (fast, nothing of Python runs), or a function: fn(record) -> bool, with the
    options of `map`; with batched=True it gets many records stacked and returns an array of bool.
    """
    if isinstance(where, str):
        return _generated_filter(self, where)
    return _step(self, "python_filter", where, mode=mode, fields=fields, returns=None, requires=requires, timeout=timeout,
                 processes=processes, random=random, batched=batched)


def flat_map(self: Pipeline, fn: Function | str, *, fields: Sequence[str] | None = None, returns: Mapping[str, Any] | None = None,
             requires: Sequence[str] = (), timeout: float | str | None = None, processes: int = 0, random: bool | None = None,
             mode: str | None = None) -> Pipeline:
    """None, one or several records for each: fn(record) -> a list or iterator of dicts. Options as of `map`.

    Exactly-once delivery counts the parts of a record, so fn must cut a record into the same parts whenever it is called (draw numbers from
    `rng`, never from elsewhere). Once per pipeline, before `batch`.
    """
    return _step(self, "python_flat_map", fn, mode=mode, fields=fields, returns=returns, requires=requires, timeout=timeout,
                 processes=processes, random=random)


for _method in (map, map_batches, filter, flat_map):
    _method.__qualname__ = f"Pipeline.{_method.__name__}"
    setattr(Pipeline, _method.__name__, _method)
