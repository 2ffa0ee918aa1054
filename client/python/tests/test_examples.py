"""The examples train, and the loss falls: on data that the demo's script makes, and on real data of others where this machine has it."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

import peers
import processes

EXAMPLES = processes.SOURCE / "examples"
PHOTOGRAPHS = pathlib.Path("/usr/share/backgrounds/mate")
LICENSES = pathlib.Path("/usr/share/common-licenses")


def train(module, example, *args, env=None):
    """Runs an example to its end; the loss at the epoch's beginning and at its end."""
    if not peers.importable(module):
        pytest.skip(f"{peers.PYTHON} cannot import {module}: set HEADRACE_PEERS_PYTHON to one that can")
    done = subprocess.run([peers.PYTHON, str(EXAMPLES / example), *map(str, args)], capture_output=True, text=True, timeout=400,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu", **(env or {})})
    assert done.returncode == 0, done.stdout + done.stderr
    first, last = re.search(r"loss ([0-9.]+) -> ([0-9.]+)", done.stdout.splitlines()[-1]).groups()
    return float(first), float(last), done.stdout


def shared(name):
    data = processes.shared_data()
    if data is None or not (data / name).exists():
        pytest.skip(f"shared/data/{name} is not on this machine; made data covers the same promise")
    return data / name


@pytest.fixture(scope="module")
def tiles(tmp_path_factory):
    if not PHOTOGRAPHS.is_dir():
        pytest.skip(f"no photographs in {PHOTOGRAPHS}: install mate-backgrounds")
    directory = tmp_path_factory.mktemp("tiles")
    subprocess.run([sys.executable, str(processes.SOURCE / "scripts" / "make-demo-data.py"), str(directory), "--tiles", "480"],
                   check=True, stdout=subprocess.DEVNULL)
    return directory


@pytest.mark.parametrize("readers", [(), ("--num-workers", "2")])
def test_torch_tells_photographs_apart(tiles, readers):
    first, last, _ = train("torch", "torch_imagenet.py", tiles, *readers)
    assert first > 2.2 and last < 0.8 * first


def test_torch_tells_animals_from_things(tmp_path):
    first, last, _ = train("torch", "torch_imagenet.py", shared("imagenet"), "--passes", 8)
    assert last < 0.93 * first


def test_jax_learns_the_licenses_over_two_devices():
    files = [LICENSES / name for name in ("GPL-2", "GPL-3", "MPL-2.0") if (LICENSES / name).exists()]
    if not files:
        pytest.skip(f"no texts in {LICENSES} (Debian's base-files)")
    first, last, out = train("jax", "jax_text.py", *files, "--rows", 8, env={"XLA_FLAGS": "--xla_force_host_platform_device_count=2"})
    assert "on 2 devices" in out and last < 0.7 * first


def test_jax_learns_grade_school_mathematics(tmp_path):
    head = tmp_path / "head.jsonl"  # a part: an epoch of all of it takes minutes
    with open(shared("text/gsm8k-train.jsonl"), "rb") as lines:
        head.write_bytes(b"".join(line for line, _ in zip(lines, range(1500))))
    first, last, _ = train("jax", "jax_text.py", head, "--field", "question")
    assert last < 0.7 * first
