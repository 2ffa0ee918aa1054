"""Shared by the package's tests: clusters in processes of their own (as in tests/e2e)."""
import os
import pathlib
import sys

import pytest

SOURCE = pathlib.Path(os.environ.get("HEADRACE_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[3]))
sys.path.insert(0, str(SOURCE / "tests" / "e2e"))


@pytest.fixture
def cluster(tmp_path):
    """A dispatcher and two workers, real processes."""
    import processes

    with processes.Cluster(tmp_path, workers=2, dispatcher_args=("--worker-timeout", "1500ms", "--client-timeout", "3s"),
                           env={"LD_PRELOAD": ""}) as running:
        yield running
