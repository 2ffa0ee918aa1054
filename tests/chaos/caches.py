"""Workers' caches in a chaos run: where they lie, what is done to them, whether they were of use."""
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

# A fraction of what the workloads make, so that the disk is full before all is kept.
SMALL = "160k"
_FETCH = "import sys, urllib.request; sys.stdout.write(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode())"


def _mount(path):
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", str(path)], capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr.strip() or "mount failed"


def _unmount(path):
    subprocess.run(["umount", "-l", str(path)], check=True, capture_output=True)


def permitted():
    """"" when small file systems can be mounted here, else why not."""
    with tempfile.TemporaryDirectory() as directory:
        try:
            why = _mount(directory)
        except OSError as error:
            return str(error)
        if not why:
            _unmount(directory)
        return why


def arguments(cache, disk):
    """For a worker. `cache`: plan.py."""
    memory = {"memory": "64MiB", "both": "100KiB"}.get(cache)
    return [*(["--cache.memory-bytes", memory] if memory else []),
            *(["--cache.disk.path", str(disk.path), "--cache.disk.bytes", "64MiB"] if disk else [])]


class Disk:
    """A folder that all workers share. `small`: on a file system of its own that is soon full. close() leaves nothing mounted."""

    def __init__(self, path, small):
        self.path, self.mounted = pathlib.Path(path), False
        self.path.mkdir()
        if small:
            why = _mount(self.path)
            if why:
                raise OSError(f"{self.path}: {why}")
            self.mounted = True

    def damage(self, number):
        """One of the segments, under the worker that has it: a bit flips, its end is lost, or it becomes another's copy."""
        segments = sorted(self.path.glob("worker-*/*.hrseg"))
        if not segments:
            return
        rng = random.Random(number)
        path, kind = rng.choice(segments), rng.randrange(3)
        try:
            with open(path, "r+b") as file:
                size = os.fstat(file.fileno()).st_size
                if kind == 0:
                    at = rng.randrange(max(1, size))
                    file.seek(at)
                    byte = file.read(1)
                    file.seek(at)
                    file.write(bytes([byte[0] ^ (1 << rng.randrange(8))]))
                elif kind == 1:
                    file.truncate(rng.randrange(max(1, size)))
                else:
                    file.write(rng.choice(segments).read_bytes())
        except (OSError, IndexError):
            pass  # it was evicted meanwhile, or the disk is full

    def close(self):
        if self.mounted:
            self.mounted = False
            _unmount(self.path)


def hits(worker, address, prefix):
    """Splits that a worker took from its caches; 0 when it does not answer."""
    if worker.process.poll() is not None:
        return 0
    done = subprocess.run([*prefix, sys.executable, "-c", _FETCH, f"http://{address}/metrics"], capture_output=True, text=True, timeout=30)
    return int(sum(float(value) for value in re.findall(r"^headrace_cache_hits_total(?:{.*})? (\S+)$", done.stdout, re.M)))
