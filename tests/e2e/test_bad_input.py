"""Bad input of every kind, to real processes: the error says what, where and what to do, the exit code is right, nothing hangs,
and with on_error: skip nothing else is lost and each failure is counted."""
import collections
import io
import json
import os
import pathlib
import re
import signal
import socket
import struct
import tarfile
import tempfile
import time
import urllib.request

import numpy as np
import pytest
from PIL import Image

import headrace as hr
import processes
from processes import Cluster

FAILED, USAGE = 1, 2
MAX_RECORD = 8 << 20
MAX_ELEMENT = 4 << 20
BOUND = 20  # seconds: far more than any of these takes, far less than for ever


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Bad:
    """The cluster of this file: two workers, small limits, metrics."""

    def __init__(self, directory):
        self.metrics = [free_port() for _ in range(2)]
        self.cluster = Cluster(
            directory, workers=0, dispatcher_args=("--metrics-listen", f"127.0.0.1:{self.metrics[0]}"),
            worker_args=("--max-record-bytes", "8MiB", "--max-element-bytes", "4MiB", "--read-bytes", "16MiB"))
        self.address = self.cluster.address
        self.cluster.add_worker("--metrics-listen", f"127.0.0.1:{self.metrics[1]}")

    def run(self, pipeline, code=0):
        """`headrace run` of a pipeline: its epoch as JSON, or its one line on stderr when it must fail with `code`."""
        done = processes.run("run", pipeline, "--cluster", self.address, "--output", "json", check=False, timeout=BOUND)
        assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}\n{self.cluster.logs()}"
        if code == 0:
            return json.loads(done.stdout)["epochs"][0]
        return error_line(done)

    def values(self, pipeline, field):
        """What a trainer gets of `field`, record by record."""
        out = []
        with hr.connect(self.address) as connection:
            loader = connection.stream(hr.from_yaml(pipeline))
            for batch in loader:
                out += [bytes(v) for v in batch[field]] if not isinstance(batch[field], bytes) else [batch[field]]
            loader.close()
        return out

    def scrape(self, which):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics[which]}/metrics", timeout=5) as reply:
            return reply.read().decode()


@pytest.fixture(scope="module")
def bad(tmp_path_factory):
    made = Bad(tmp_path_factory.mktemp("cluster"))
    with made.cluster:
        yield made


@pytest.fixture(autouse=True)
def bounded():
    """No test hangs: what runs in this process is interrupted too."""
    def hung(*_):
        raise TimeoutError("the test took too long")

    before = signal.signal(signal.SIGALRM, hung)
    signal.alarm(int(60 * processes.SLOW))
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def error_line(done):
    """The one line of a failed command, without what was logged before it."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("headrace: ")]
    assert len(lines) == 1, done.stderr
    return lines[0]


def says(text, *parts):
    for part in parts:
        assert str(part) in text, f"'{part}' is missing in: {text}"


def pipeline(path, source, steps=(), **options):
    path.write_text(json.dumps({"name": path.stem, "source": source, "steps": list(steps), **options}))
    return path


def each_once(got, expected):
    assert collections.Counter(got) == collections.Counter(expected)


def crc32c_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    return table


CRC_TABLE = crc32c_table()


def masked_crc(data):
    crc = 0xFFFFFFFF
    for b in data:
        crc = CRC_TABLE[(crc ^ b) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def tfrecord(records):
    """TFRecord bytes, and the offset of each record: a writer independent of Headrace's."""
    out, offsets = b"", []
    for record in records:
        offsets.append(len(out))
        length = struct.pack("<Q", len(record))
        out += length + struct.pack("<I", masked_crc(length)) + record + struct.pack("<I", masked_crc(record))
    return out, offsets


def two_tfrecords(directory, damage):
    """a.tfrecord, whose bytes `damage(data, offsets)` gives anew, and b.tfrecord, which is whole; the records of both."""
    a = [f"a {i} {'x' * i}".encode() for i in range(20)]
    b = [f"b {i}".encode() for i in range(20)]
    data, offsets = tfrecord(a)
    (directory / "a.tfrecord").write_bytes(damage(bytearray(data), offsets))
    (directory / "b.tfrecord").write_bytes(tfrecord(b)[0])
    return {"files": str(directory / "*.tfrecord"), "format": "tfrecord"}, a, b, offsets


def fail_and_skip(bad, directory, source, steps, field, expected, failed, *parts):
    """With on_error: fail the line has `parts`; with skip so has a sample, all else arrives, and `failed` are counted."""
    line = bad.run(pipeline(directory / "fail.yaml", source, steps), FAILED)
    says(line, *parts)
    skip = pipeline(directory / "skip.yaml", source, steps, on_error="skip")
    epoch = bad.run(skip)
    assert epoch["failed"] == failed and epoch["records"] == len(expected), epoch
    assert len(epoch["failures"]) == failed
    says(" ".join(f["message"] for f in epoch["failures"]), *parts)
    each_once(bad.values(skip, field), expected)
    return line


# --- damaged files


def test_a_truncated_tfrecord(bad, tmp_path):
    source, a, b, offsets = two_tfrecords(tmp_path, lambda data, at: data[: at[12] + 20])
    fail_and_skip(bad, tmp_path, source, [], "record", a[:12] + b, 1,
                  tmp_path / "a.tfrecord", f"byte {offsets[12]}", "record 12", "cut off", "copy it again")


def test_a_flipped_bit_in_a_tfrecord_payload(bad, tmp_path):
    def flip(data, at):
        data[at[7] + 12] ^= 4
        return data

    source, a, b, offsets = two_tfrecords(tmp_path, flip)
    fail_and_skip(bad, tmp_path, source, [], "record", a[:7] + a[8:] + b, 1,
                  tmp_path / "a.tfrecord", f"byte {offsets[7]}", "record 7", "checksum", "on_error: skip")


def test_a_flipped_bit_in_a_tfrecord_length(bad, tmp_path):
    def flip(data, at):
        data[at[7] + 1] ^= 4
        return data

    source, a, b, offsets = two_tfrecords(tmp_path, flip)
    fail_and_skip(bad, tmp_path, source, [], "record", a[:7] + b, 1,
                  tmp_path / "a.tfrecord", f"byte {offsets[7]}", "record 7", "length's checksum", "write the file again")


def test_a_tar_cut_in_the_middle(bad, tmp_path):
    def tar(name, keys):
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w", format=tarfile.USTAR_FORMAT) as out:
            for key in keys:
                payload = f"{name} {key} ".encode() * 200
                info = tarfile.TarInfo(f"{key:03d}.txt")
                info.size = len(payload)
                out.addfile(info, io.BytesIO(payload))
        return data.getvalue()

    def value(name, key):
        return f"{name} {key} ".encode() * 200

    whole = tar("a", range(10))
    member = 512 + (len(value("a", 0)) + 511) // 512 * 512
    (tmp_path / "a.tar").write_bytes(whole[: 6 * member + 700])
    (tmp_path / "b.tar").write_bytes(tar("b", range(10)))
    fail_and_skip(bad, tmp_path, {"files": str(tmp_path / "*.tar"), "format": "webdataset"}, [], "txt",
                  [value("a", k) for k in range(6)] + [value("b", k) for k in range(10)], 1,
                  tmp_path / "a.tar", f"byte {6 * member}", "record 6", "cut off", "copy it again")


# --- images


def image_folder(directory, good=6):
    folder = directory / "images"
    folder.mkdir()
    for i in range(good):
        Image.fromarray(np.full((24, 24, 3), 20 * i, np.uint8)).save(folder / f"good{i}.jpg")
    return folder, {"files": str(folder / "*"), "format": "image_folder"}


def image_case(bad, directory, source, path, decode, *parts):
    steps = [{"decode_image": {"field": "image", **decode}}, {"resize": {"field": "image", "size": [8, 8]}}]
    expected = [str(p).encode() for p in sorted(path.parent.iterdir()) if p != path]
    return fail_and_skip(bad, directory, source, steps, "path", expected, 1, path, "byte 0", "record", *parts)


def test_a_jpeg_that_is_text(bad, tmp_path):
    folder, source = image_folder(tmp_path)
    (folder / "bad.jpg").write_text("<html>404 Not Found</html>")
    image_case(bad, tmp_path, source, folder / "bad.jpg", {}, "decode", "not a JPEG, PNG or WebP", "26 bytes", "text that starts with")


def test_an_image_of_zero_bytes(bad, tmp_path):
    folder, source = image_folder(tmp_path)
    (folder / "bad.jpg").touch()
    image_case(bad, tmp_path, source, folder / "bad.jpg", {}, "decode", "zero bytes")


def test_an_image_20000_pixels_wide(bad, tmp_path):
    folder, source = image_folder(tmp_path)
    Image.new("L", (20000, 60)).save(folder / "wide.png")
    image_case(bad, tmp_path, source, folder / "wide.png", {"max_pixels": 1_000_000},
               "decode", "20000 x 60", "max_pixels = 1000000", "raise max_pixels")


# --- too large


def test_a_line_of_100_megabytes(bad, tmp_path):
    first, last = b'{"t": "first"}\n', b'{"t": "last"}\n'
    with open(tmp_path / "a.jsonl", "wb") as out:
        out.write(first + b'{"t": "')
        for _ in range(100):
            out.write(b"x" * 1_000_000)
        out.write(b'"}\n' + last)
    fail_and_skip(bad, tmp_path, {"files": str(tmp_path / "a.jsonl"), "format": "jsonl"}, [{"json_fields": {"t": "bytes"}}], "t",
                  [b"first", b"last"], 1, tmp_path / "a.jsonl", f"byte {len(first)}", "record 1", "100000009 bytes", MAX_RECORD,
                  "raise max_record_bytes")


def test_an_element_over_the_limit_of_a_frame(bad, tmp_path):
    (tmp_path / "a.txt").write_text("".join("y" * 100_000 + "\n" for _ in range(60)))
    source = {"files": str(tmp_path / "a.txt"), "format": "text"}
    line = bad.run(pipeline(tmp_path / "fail.yaml", source, [{"batch": {"size": 60}}]), FAILED)
    says(line, "batch", "max_element_bytes", MAX_ELEMENT, "smaller")
    assert bad.run(pipeline(tmp_path / "small.yaml", source, [{"batch": {"size": 10}}]))["records"] == 60


# --- files that are not there


def test_a_file_deleted_between_listing_and_reading(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text("".join(f"{name} {i}\n" for i in range(50)))
    path = pipeline(tmp_path / "fail.yaml", {"files": str(tmp_path / "*.txt"), "format": "text"})
    with Cluster(tmp_path, workers=0) as cluster, hr.connect(cluster.address) as connection:
        loader = connection.stream(hr.from_yaml(path), job="deleted")
        (tmp_path / "a.txt").unlink()
        cluster.add_worker()
        with pytest.raises(hr.HeadraceError) as error:
            list(loader)
        says(str(error.value), tmp_path / "a.txt", "moved or deleted")
        loader.close()


def test_a_deleted_image_is_one_failed_record_when_errors_are_skipped(tmp_path):
    folder, source = image_folder(tmp_path)
    path = pipeline(tmp_path / "skip.yaml", source, on_error="skip")
    with Cluster(tmp_path, workers=0) as cluster, hr.connect(cluster.address) as connection:
        loader = connection.stream(hr.from_yaml(path), job="deleted")
        (folder / "good3.jpg").unlink()
        cluster.add_worker()
        assert [e["path"] for e in loader] == [str(folder / f"good{i}.jpg").encode() for i in range(6) if i != 3]
        summary = loader.summary
        assert summary["failed"] == 1
        says(str(summary["failures"]), folder / "good3.jpg", "record 3", "moved or deleted")
        loader.close()


def test_a_pattern_that_matches_nothing(bad, tmp_path):
    says(bad.run(pipeline(tmp_path / "p.yaml", {"files": str(tmp_path / "none-*.tfrecord"), "format": "tfrecord"}), FAILED),
         tmp_path / "none-*.tfrecord", "no file", "check the path")


def test_a_directory_outside_the_roots(tmp_path):
    """PERMISSION_DENIED whoever runs the test: root reads through mode bits, not through --roots."""
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("line\n")
    roots = ("--roots", tmp_path / "in")
    outside = pipeline(tmp_path / "out.yaml", {"files": str(tmp_path / "out" / "*.txt"), "format": "text"})
    inside = pipeline(tmp_path / "in.yaml", {"files": str(tmp_path / "in" / "*.txt"), "format": "text"})
    with Cluster(tmp_path, workers=1, dispatcher_args=roots, worker_args=roots) as cluster:
        done = processes.run("run", outside, "--cluster", cluster.address, check=False, timeout=BOUND)
        assert done.returncode == FAILED
        says(error_line(done), tmp_path / "out", "roots")
        with hr.connect(cluster.address) as connection, pytest.raises(hr.PermissionDeniedError):
            connection.stream(hr.from_yaml(outside))
        assert json.loads(processes.run("run", inside, "--cluster", cluster.address, "--output", "json",
                                        timeout=BOUND).stdout)["epochs"][0]["records"] == 1


def test_roots_of_a_worker_hold_where_the_dispatcher_has_none(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "a.txt").write_text("line\n")
    path = pipeline(tmp_path / "p.yaml", {"files": str(tmp_path / "*.txt"), "format": "text"}, on_error="skip")
    with Cluster(tmp_path, workers=1, worker_args=("--roots", tmp_path / "in")) as cluster:
        done = processes.run("run", path, "--cluster", cluster.address, check=False, timeout=BOUND)
        assert done.returncode == FAILED, done.stdout
        says(error_line(done), tmp_path / "a.txt", "roots")


def test_a_directory_without_permission():
    """Root reads whatever the mode bits say, so as root the command runs as another user."""
    other = {"user": 65534} if os.geteuid() == 0 else {}
    try:
        processes.run("--version", timeout=BOUND, **other)
    except PermissionError:
        pytest.skip(f"another user may not run {processes.HEADRACE}; the tests of --roots cover PERMISSION_DENIED")
    with tempfile.TemporaryDirectory() as name:  # pytest's own directories are shut to other users
        directory = pathlib.Path(name)
        directory.chmod(0o755)
        shut = directory / "shut"
        shut.mkdir()
        (shut / "a.txt").write_text("line\n")
        path = pipeline(directory / "p.yaml", {"files": str(shut / "*.txt"), "format": "text"})
        shut.chmod(0)
        try:
            done = processes.run("run", path, check=False, timeout=BOUND, **other)
        finally:
            shut.chmod(0o700)
    assert done.returncode == FAILED, done.stdout
    says(error_line(done), shut, "ermission")


# --- budgets and counts


def test_too_many_errors_fail_the_job(bad, tmp_path):
    (tmp_path / "a.jsonl").write_text("".join('{"t": "good"}\n' if i % 2 else "{nonsense\n" for i in range(40)))
    source = {"files": str(tmp_path / "a.jsonl"), "format": "jsonl"}
    line = bad.run(pipeline(tmp_path / "p.yaml", source, [{"json_fields": {"t": "bytes"}}], on_error="skip", max_errors=2), FAILED)
    says(line, "records failed", "max_errors: 2", "the first: ", tmp_path / "a.jsonl")
    # The first to be met: blocks run side by side. The bad lines are the even ones.
    assert int(re.search(r"record (\d+)", line).group(1)) % 2 == 0, line
    job = [j for j in bad.cluster.jobs() if "max_errors" in j.get("error", "")]
    assert job and job[0]["failures"], bad.cluster.jobs()


def test_metrics_count_failed_records(bad, tmp_path):
    """While a job runs: of the dispatcher by job and outcome, of the worker by step."""
    (tmp_path / "a.jsonl").write_text("".join("{nonsense\n" if i < 3 else '{"t": "good"}\n' for i in range(40)))
    path = pipeline(tmp_path / "counted.yaml", {"files": str(tmp_path / "a.jsonl"), "format": "jsonl"},
                    [{"json_fields": {"t": "bytes"}}], on_error="skip")
    with hr.connect(bad.address) as connection:
        loader = connection.stream(hr.from_yaml(path), job="counted")
        assert sum(1 for _ in loader) == 37
        step = re.compile(r'^headrace_step_failed_elements_total\{[^}]*pipeline="counted"[^}]*step="[^"]*json_fields[^"]*"[^}]*\} 3$', re.M)
        processes.wait_for(lambda: step.search(bad.scrape(1)), BOUND, "the worker's count of failed elements")
        records = [re.compile(rf'^headrace_dispatcher_records_total\{{[^}}]*job="counted"[^}}]*outcome="{o}"[^}}]*\}} {n}$', re.M)
                   for o, n in (("failed", 3), ("delivered", 37))]
        processes.wait_for(lambda: all(r.search(bad.scrape(0)) for r in records), BOUND, "the dispatcher's counts")
        loader.close()


# --- wrong pipelines, settings and command lines


def test_a_pipeline_with_a_wrong_type(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text("source: {files: a.txt, format: text}\nsteps:\n  - batch: {size: many}\n")
    done = processes.run("run", path, check=False, timeout=BOUND)
    assert done.returncode == FAILED
    says(error_line(done), f"{path}:3:", "batch", "size", "many", "int")


def test_a_pipeline_with_a_mistyped_step(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text("source: {files: a.txt, format: text}\nsteps:\n  - shufle: {buffer: 10}\n")
    done = processes.run("run", path, check=False, timeout=BOUND)
    assert done.returncode == FAILED
    says(error_line(done), f"{path}:3:", "shufle", "did you mean", "shuffle")


def test_a_pipeline_that_is_no_file(tmp_path):
    for command in ("run", "explain"):
        for path in (tmp_path, tmp_path / "none.yaml"):
            done = processes.run(command, path, check=False, timeout=BOUND)
            assert done.returncode == FAILED
            says(error_line(done), f"{path} (check the path)")


def test_a_port_in_use(bad):
    dispatcher = ("dispatcher", "--journal.driver", "memory", "--listen")
    for role in ((*dispatcher, bad.address), (*dispatcher, "127.0.0.1:0", "--metrics-listen", bad.address),
                 ("worker", "--dispatcher", bad.address, "--listen", bad.address)):
        done = processes.run(*role, check=False, timeout=BOUND)
        assert done.returncode == FAILED, role
        says(error_line(done), bad.address, "in use", "listen")


def test_a_worker_without_a_dispatcher():
    address = f"127.0.0.1:{free_port()}"
    begin = time.monotonic()
    done = processes.run("worker", "--dispatcher", address, "--listen", "127.0.0.1:0", "--connect-timeout", "1s", check=False,
                         timeout=BOUND)
    assert done.returncode == FAILED and time.monotonic() - begin < 5 * processes.SLOW
    says(error_line(done), address, "1s", "dispatcher")


def test_a_trainer_without_a_dispatcher():
    address = f"127.0.0.1:{free_port()}"
    begin = time.monotonic()
    with pytest.raises(hr.UnavailableError) as error, hr.connect(address, timeout=1.0):
        pass
    assert time.monotonic() - begin < 5 * processes.SLOW
    says(str(error.value), address, "dispatcher", "is it running")


@pytest.mark.parametrize("command", [["jobs"], ["jobs", "release", "a"], ["workers"], ["top", "--once"], ["cancel", "a"], ["drain", "1"]])
def test_a_command_without_a_dispatcher(command):
    address = f"127.0.0.1:{free_port()}"
    done = processes.run(*command, "--cluster", address, check=False, timeout=BOUND)
    assert done.returncode == FAILED
    says(error_line(done), f"no dispatcher answers at {address}: start one", "--cluster", "HEADRACE_CLUSTER")


def test_settings_that_cannot_be(tmp_path):
    path = tmp_path / "worker.yaml"
    path.write_text("dispatcher: localhost:5050\nconnect_timout: 1s\n")
    done = processes.run("worker", "--config", path, check=False, timeout=BOUND)
    assert done.returncode == USAGE
    says(error_line(done), path, "connect_timout", "did you mean", "connect_timeout")
    done = processes.run("worker", "--max-record-bytes", "plenty", check=False, timeout=BOUND)
    assert done.returncode == USAGE
    says(error_line(done), "max-record-bytes", "plenty")


@pytest.mark.parametrize("args, parts", [
    (["wrker"], ["unknown command 'wrker'; did you mean 'worker'?"]),
    (["xyzzyplugh"], ["unknown command 'xyzzyplugh'; the commands are", "dispatcher", "worker", "run"]),
    (["worker", "--dispacher", "localhost:1"], ["unknown flag '--dispacher' of headrace worker; did you mean '--dispatcher'?"]),
    (["worker", "--xyzzyplugh=1"], ["unknown flag '--xyzzyplugh' of headrace worker; headrace worker --help lists the flags"]),
    (["--versoin"], ["unknown flag '--versoin' of headrace; did you mean '--version'?"]),
    (["run"], ["pipeline is required", "headrace run --help"]),
    (["run", "a.yaml", "--sharding", "dynamc"], ["--sharding: no policy 'dynamc'; did you mean 'dynamic'?", "headrace run --help"]),
    (["run", "a.yaml", "b.yaml"], ["unexpected argument 'b.yaml'"]),
    (["run", "a.yaml", "--epochs", "many"], ["--epochs", "many", "headrace run --help"]),
    ([], ["headrace --help"]),
])
def test_a_wrong_command_line(args, parts):
    done = processes.run(*args, check=False, timeout=BOUND)
    assert done.returncode == USAGE
    says(error_line(done), *parts)
