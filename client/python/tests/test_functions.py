"""Python functions as steps: what they compute, and that nothing they do harms more than its record."""
import json
import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import headrace as hr
import udf_functions as f

RECORDS = 30
OTHERS = sorted(set(range(RECORDS)) - {13})


def records(n=RECORDS):
    return hr.range(n, bytes=8).select(["index"])


def rows(ds, **options):
    """Every element of an epoch, and the epoch's summary."""
    with hr.local(**options) as cluster:
        loader = cluster.stream(ds)
        return [{k: np.array(v) if isinstance(v, np.ndarray) else v for k, v in row.items()} for row in loader], loader.summary


def indexes(ds, **options):
    return sorted(int(row["index"]) for row in rows(ds, **options)[0])


def test_map_filter_and_flat_map_compute():
    assert indexes(records().map(f.double)) == [2 * i for i in range(RECORDS)]
    assert indexes(records().map_batches(f.double_batch)) == [2 * i for i in range(RECORDS)]
    assert indexes(records().filter(f.is_odd)) == list(range(1, RECORDS, 2))
    assert indexes(records().filter(f.are_odd, batched=True)) == list(range(1, RECORDS, 2))
    assert indexes(records().filter("index % 2 == 1")) == list(range(1, RECORDS, 2))
    parts = rows(records().flat_map(f.cut, returns={"index": "int64", "part": hr.int64}))[0]
    assert sorted((int(r["index"]), int(r["part"])) for r in parts) == [(i, p) for i in range(RECORDS) for p in range(i % 3)]


def test_after_batch_a_function_gets_the_batch():
    for step in ("map", "map_batches"):
        ds = getattr(records(20).batch(10), step)(f.mean_of_batch, returns={"mean": "float64", "rows": "int64"})
        out = rows(ds)[0]
        assert sorted(float(r["mean"]) for r in out) == [4.5, 14.5]
        assert [int(r["rows"]) for r in out] == [10, 10]


def test_text_and_ragged_arrays():
    ds = records(6).map(f.describe, returns={"text": bytes, "words": "bytes[?]", "ragged": (np.float32, (None,))})
    for row in rows(ds)[0]:
        index = int(bytes(row["text"]).split()[1])
        assert [bytes(w) for w in row["words"]] == [b"a", b"bc"][:index % 3]
        assert row["ragged"].tolist() == list(range(index % 4))


def test_random_numbers_hang_on_seed_epoch_and_record():
    ds = records(50).map(f.jitter, returns={"index": "int64", "x": "float64"})

    def draws(ds, workers):
        with hr.local(workers=workers) as cluster:
            loader = cluster.stream(ds)
            return [{int(r["index"]): float(r["x"]) for r in loader} for _ in range(2)]

    first = draws(ds.options(seed=1), 1)
    assert first == draws(ds.options(seed=1), 2)
    assert first[0] != first[1] and first[0] != draws(ds.options(seed=2), 1)[0]
    assert len(set(first[0].values())) == 50


def test_functions_without_a_module_are_sent():
    pytest.importorskip("cloudpickle", reason="python3-cloudpickle is not installed: functions cannot be sent")
    factor = 7
    assert indexes(records().map(lambda r: {"index": r["index"] * factor})) == [7 * i for i in range(RECORDS)]
    with pytest.raises(hr.HeadraceError, match="udf: pickle"):
        rows(records().map(lambda r: r), udf="import")
    with pytest.raises(hr.HeadraceError, match="udf: import"):
        rows(records().map(f.double), udf="off")
    with pytest.raises(hr.PipelineError, match="cannot be imported by that name"):
        records().map(lambda r: r, mode="import")


def test_yaml_python_and_the_pipeline_are_one_thing():
    ds = (records().map(f.jitter, returns={"index": "int64", "x": (np.float64, ())}, requires=["numpy>=1.20"], timeout=2.5, processes=2)
          .filter(f.is_odd, fields=["index"]).map_batches(f.double_batch, fields=["index"]))
    again = hr.from_yaml(ds.to_yaml())
    assert again.to_yaml() == ds.to_yaml() and again.fingerprint == ds.fingerprint
    names = {}
    exec(ds.to_python(), names)
    assert names["ds"].fingerprint == ds.fingerprint
    assert "udf_functions:jitter" in ds.to_yaml() and "random: true" in ds.to_yaml()


def test_types_are_checked_when_the_pipeline_is_built():
    with pytest.raises(hr.PipelineError, match=r"test_functions.py:\d+: step 2 'python_map'.*no field 'indx'"):
        records().map(f.double, fields=["indx"])
    with pytest.raises(hr.PipelineError, match="returns: x: .*int65"):
        records().map(f.double, returns={"x": "int65"})
    with pytest.raises(hr.PipelineError, match="not like package.module:function"):
        records().map("double")
    with pytest.raises(hr.PipelineError, match="cut once"):
        records().flat_map(f.cut).flat_map(f.cut)
    with pytest.raises(hr.PipelineError, match="move it before batch"):
        records().batch(2).flat_map(f.cut)
    assert records().map(f.describe, returns={"a": "uint8[?, 4]"}).schema == [("a", "uint8", (None, 4))]


def test_requirements_are_checked_at_the_start():
    with pytest.raises(hr.HeadraceError, match=r"numpy>=99.*has numpy \d"):
        rows(records().map(f.double, requires="numpy>=99"))


FAULTS = {
    "raises": r"ValueError: thirteen \(udf_functions.py:\d+",
    "exits": "SystemExit: 3",
    "aborts": r"ended by signal 6 \(Aborted\)",
    "leaves": "exited with code 0",
    # AddressSanitizer's runtime, where it is preloaded, ends the process itself.
    "segfaults": "ABORTING" if os.environ.get("HEADRACE_SANITIZED") else "ended by signal 11",
    "closes_everything": "ended its process",
    "hangs": "took longer than its timeout, 1.5s",
    "wrong_dtype": "returned float32 for 'index', which is declared as int64",
    "wrong_shape": r"returned an array of shape \[3\] for 'index'",
    "forgets_a_field": "without 'index', which is declared",
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_costs_its_record_and_is_named_with_it(name):
    ds = records().map(getattr(f, name), timeout=1.5)
    out, summary = rows(ds.options(on_error="skip"))
    assert sorted(int(r["index"]) for r in out) == OTHERS
    assert summary["failed"] == 1
    assert "record 13 of split" in summary["failures"][0] and "step 2 'python_map'" in summary["failures"][0]
    assert re.search(FAULTS[name], summary["failures"][0]), summary["failures"]


@pytest.mark.parametrize("name", ["raises", "aborts"])
def test_on_error_fail_ends_the_job_with_the_record(name):
    with pytest.raises(hr.HeadraceError, match="record 13 of split"):
        rows(records().map(getattr(f, name)))


def test_the_budget_of_errors_holds():
    pytest.importorskip("cloudpickle", reason="python3-cloudpickle is not installed: functions cannot be sent")

    def always(record):
        raise RuntimeError("no")

    with pytest.raises(hr.HeadraceError, match="max_errors"):
        rows(records(2000).map(always).options(on_error="skip", max_errors=10))


@pytest.mark.parametrize("name", ["prints_a_lot", "leaks", "wrecks_numpy"])
def test_rude_functions_harm_nobody(name):
    assert indexes(records().map(getattr(f, name))) == list(range(RECORDS))


def test_a_killed_process_leaves_nothing_behind():
    """SIGKILL of the process that has the worker: the functions' subprocesses go with it, even one that hangs."""
    program = ("import headrace as hr, udf_functions as f, sys\n"
               "with hr.local() as cluster:\n"
               "    for row in cluster.stream(hr.range(30, bytes=8).select(['index']).map(f.hangs, timeout=600)): pass\n")
    process = subprocess.Popen([sys.executable, "-c", program], cwd=os.path.dirname(__file__), stderr=subprocess.PIPE)
    try:
        children = wait_for(lambda: process.poll() is not None or python_children(process.pid))
        assert process.poll() is None, process.stderr.read()
    finally:
        process.kill()
        process.wait(10)
    wait_for(lambda: not any(os.path.exists(f"/proc/{pid}/exe") for pid in children))


def python_children(pid):
    out = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == pid:
                    out.append(int(name))
        except OSError:
            pass  # gone meanwhile
    return out


def wait_for(condition, seconds=20):
    pause = threading.Event()
    for _ in range(seconds * 20):
        value = condition()
        if value:
            return value
        pause.wait(0.05)
    raise AssertionError("nothing came within the time")


def test_the_command_line_runs_functions_where_it_is_told_to(tmp_path):
    headrace = os.path.join(os.environ["HEADRACE_BUILD_DIR"], "cli", "headrace")
    pipeline = tmp_path / "p.yaml"
    pipeline.write_text(records().map(f.double).batch(4).to_yaml())
    off = subprocess.run([headrace, "run", pipeline], capture_output=True, text=True, timeout=60)
    assert off.returncode == 1 and "udf: import" in off.stderr
    allowed = ["--udf", "import", "--udf-python", sys.executable, "--udf-path", os.path.dirname(__file__)]
    done = subprocess.run([headrace, "run", pipeline, "--workers", "2", "--output", "json", *allowed], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["epochs"][0]["records"] == RECORDS
    explained = subprocess.run([headrace, "explain", pipeline, *allowed], capture_output=True, text=True, timeout=60)
    assert "subprocess" in explained.stdout and "measured on" in explained.stdout
