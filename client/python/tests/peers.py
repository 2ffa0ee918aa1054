"""Tests that need torch, jax or pyarrow run in the interpreter that HEADRACE_PEERS_PYTHON names (else in this one), and are skipped,
saying so, where it cannot import them."""
import functools
import os
import subprocess
import sys
import textwrap

import pytest

PYTHON = os.environ.get("HEADRACE_PEERS_PYTHON", sys.executable)


@functools.lru_cache
def importable(module):
    return subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True).returncode == 0


def run(*modules, program, args=(), env=None, timeout=120):
    """Runs a program where `modules` can be imported; its output. Skips where they cannot."""
    missing = [m for m in modules if not importable(m)]
    if missing:
        pytest.skip(f"{PYTHON} cannot import {', '.join(missing)}: set HEADRACE_PEERS_PYTHON to one that can")
    done = subprocess.run([PYTHON, "-c", textwrap.dedent(program), *map(str, args)], capture_output=True, text=True, timeout=timeout,
                          env={**os.environ, "OMP_NUM_THREADS": "1", **(env or {})})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
