"""The wheel that `make wheel` left, in a fresh virtual environment."""
import glob
import os
import pathlib
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(os.environ.get("HEADRACE_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[3]))


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """An interpreter that has NumPy and the installed wheel, and sees nothing of this tree."""
    wheels = [os.environ["HEADRACE_WHEEL"]] if "HEADRACE_WHEEL" in os.environ else glob.glob(str(SOURCE / "build" / "wheels" / "*.whl"))
    if not wheels:
        pytest.skip("there is no wheel in build/wheels: `make wheel` builds one and runs this test")
    venv = tmp_path_factory.mktemp("venv")
    # NumPy is this machine's, so that no network is needed.
    made = subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", str(venv)], capture_output=True, text=True)
    if made.returncode != 0:
        pytest.skip(f"{sys.executable} cannot make virtual environments (Debian: python3-venv): {made.stdout}{made.stderr}")
    subprocess.run([venv / "bin" / "pip", "install", "-q", "--no-index", "--no-deps", wheels[0]], check=True)
    return venv / "bin" / "python"


def run(python, program):
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "LD_PRELOAD")}
    done = subprocess.run([python, "-I", "-c", program], capture_output=True, text=True, env=env, cwd="/", timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def test_it_streams_from_a_cluster_of_its_own(python):
    assert run(python, "import headrace as hr\nwith hr.local() as c: print(sum(len(b['index']) for b in c.stream(hr.range(100).batch(8))))") == "100"


def test_it_is_typed_versioned_and_brings_its_libraries(python):
    program = ("import headrace, pathlib, importlib.metadata as m; here = pathlib.Path(headrace.__file__).parent; "
               "assert m.version('headrace') == headrace.__version__; assert (here / 'py.typed').exists(); print(here)")
    package = run(python, program)
    assert "site-packages" in package
    linked = subprocess.run(["ldd", *glob.glob(f"{package}/_native*.so")], check=True, capture_output=True, text=True).stdout
    assert "libgrpc" in linked and "not found" not in linked
    assert all("headrace.libs" in line for line in linked.splitlines() if "libgrpc" in line or "libprotobuf" in line), linked
