"""Pipelines in Python: checked at the line that is wrong, one thing with their YAML."""
import subprocess
import sys

import pytest

import headrace as hr


def test_a_step_that_does_not_fit_is_refused_at_its_line():
    ds = hr.range(10, bytes=4)
    with pytest.raises(hr.PipelineError, match=r"test_pipeline.py:\d+: step 1 'select': .*no field 'dta'; did you mean 'data'"):
        ds.select(["dta"])


def test_an_unknown_parameter_names_the_nearest():
    with pytest.raises(hr.PipelineError, match="did you mean 'count'"):
        hr.range(10).step("take", cuont=3)


def test_each_step_is_a_method_with_a_docstring_and_a_signature():
    assert "how many rows" in hr.Pipeline.take.__doc__
    assert "count" in str(__import__("inspect").signature(hr.Pipeline.take))


def test_a_pipeline_is_not_changed_by_its_steps():
    ds = hr.range(10)
    ds.take(3)
    assert ds.schema == hr.range(10).schema


def test_yaml_gives_the_same_pipeline_back():
    ds = hr.range(100, bytes=16).take(50).batch(8).options(name="made-up", seed=3)
    again = hr.from_yaml(ds.to_yaml())
    assert again.to_yaml() == ds.to_yaml()
    assert again.fingerprint == ds.fingerprint


def test_the_printed_python_gives_the_same_pipeline_back():
    ds = hr.range(100, bytes=16).take(50).batch(8)
    names = {}
    exec(ds.to_python(), names)
    assert any(isinstance(v, hr.Pipeline) and v.fingerprint == ds.fingerprint for v in names.values())


def test_the_schema_says_what_leaves():
    names = {name: (dtype, shape) for name, dtype, shape in hr.range(100, bytes=16).batch(8, drop_remainder=True).schema}
    assert names["index"] == ("int64", (8,))
    assert names["data"] == ("uint8", (8, 16))


def test_importing_brings_in_numpy_and_nothing_heavier():
    program = ("import sys; before = set(sys.modules); import headrace; "
               "print(sorted({m.split('.')[0] for m in set(sys.modules) - before}))")
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    heavy = {"torch", "jax", "pandas", "tensorflow", "pyarrow", "google", "grpc", "yaml", "multiprocessing", "asyncio"}
    assert not heavy & set(eval(done.stdout))
