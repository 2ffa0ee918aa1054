"""A real dispatcher and one worker process of Headrace, for the contestants. They end with the process that started them."""
import ctypes
import os
import pathlib
import signal
import subprocess
import tempfile
import time


def _die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def start(binary, *worker_flags):
    """The dispatcher's address."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="headrace-contestant-"))

    def role(name, *flags):
        file = folder / name
        process = subprocess.Popen([binary, name, "--address-file", str(file), *flags], preexec_fn=_die_with_parent)
        for _ in range(300):
            if file.exists() and file.read_text().strip():
                return file.read_text().strip()
            if process.poll() is not None:
                raise RuntimeError(f"headrace {name} ended with {process.returncode}")
            time.sleep(0.1)
        raise RuntimeError(f"headrace {name} did not start within 30 s")

    address = role("dispatcher", "--listen", "127.0.0.1:0", "--journal.driver", "memory")
    role("worker", "--listen", "127.0.0.1:0", "--dispatcher", address, *worker_flags)
    return address
