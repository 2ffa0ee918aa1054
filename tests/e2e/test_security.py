"""TLS and tokens between all roles, with real processes and made-up certificates: who does not show what is asked for gets in nowhere,
and is told what to do."""
import json
import os
import subprocess
import time

import pytest

import headrace as hr
import processes
from processes import Cluster, Role

RECORDS = 4000


def openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True)


class Authority:
    """Signs certificates."""

    def __init__(self, directory, name):
        self.directory, self.name = directory, name
        self.cert, self.key = directory / f"{name}.pem", directory / f"{name}.key"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 1, "-subj", f"/CN={name}",
                "-keyout", self.key, "-out", self.cert)

    def issue(self, name, names="DNS:localhost,IP:127.0.0.1"):
        """The paths of a certificate for `names` and of its key."""
        cert, key, request, extension = (self.directory / f"{name}.{end}" for end in ("pem", "key", "csr", "ext"))
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        extension.write_text(f"subjectAltName={names}\n")
        openssl("x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self.key, "-CAcreateserial", "-days", 1, "-extfile", extension,
                "-out", cert)
        return cert, key


def tls_flags(identity, ca):
    return ("--tls.cert", identity[0], "--tls.key", identity[1], "--tls.ca", ca)


class Guarded:
    """A cluster that asks for certificates and a token."""

    def __init__(self, directory):
        self.directory = directory
        self.authority = Authority(directory, "authority")
        self.stranger = Authority(directory, "stranger")
        self.role = self.authority.issue("role")
        self.trainer = self.authority.issue("trainer", "DNS:trainer")
        self.token = directory / "token"
        self.token.write_text("0123456789abcdef0123456789abcdef\n")
        self.other_token = directory / "other_token"
        self.other_token.write_text("fedcba9876543210fedcba9876543210\n")
        guard = (*tls_flags(self.role, self.authority.cert), "--token-file", self.token)
        self.cluster = Cluster(directory, workers=2, dispatcher_args=guard, worker_args=guard)
        self.address = self.cluster.address

    def keywords(self, **changes):
        said = {"tls_ca": self.authority.cert, "tls_cert": self.trainer[0], "tls_key": self.trainer[1], "token_file": self.token, **changes}
        return {name: str(value) for name, value in said.items() if value is not None}

    def flags(self, **changes):
        return [word for name, value in self.keywords(**changes).items() for word in ("--" + name.replace("_", "-"), value)]

    def refusal(self, seconds=5, **changes):
        """How a trainer that shows something else fails; soon, where that is certain."""
        began = time.monotonic()
        with pytest.raises(hr.HeadraceError) as caught:
            hr.connect(self.address, 2, **self.keywords(**changes)).stream(hr.range(10).batch(2))
        assert time.monotonic() - began < seconds * processes.SLOW
        return str(caught.value)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    made = Guarded(tmp_path_factory.mktemp("guarded"))
    with made.cluster:
        yield made


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch):
    for name in list(os.environ):
        if name.startswith("HEADRACE_T"):
            monkeypatch.delenv(name)


def numbers(loader):
    return sorted(int(i) for batch in loader for i in batch["index"])


@pytest.mark.parametrize("transport", ["tcp", "grpc", "shm", "auto"])
def test_who_shows_certificate_and_token_gets_every_record(guarded, transport):
    with hr.connect(guarded.address, transport=transport, **guarded.keywords()) as cluster:
        assert numbers(cluster.stream(hr.range(RECORDS, bytes=64).batch(8))) == list(range(RECORDS))


def test_the_environment_says_it_as_well(guarded, monkeypatch):
    for name, value in guarded.keywords().items():
        monkeypatch.setenv("HEADRACE_" + name.upper(), value)
    with hr.connect(guarded.address) as cluster:
        assert numbers(cluster.stream(hr.range(100).batch(8))) == list(range(100))
    done = processes.run("workers", "--cluster", guarded.address, "--output", "json")
    assert len(json.loads(done.stdout)) == 2


def test_commands_take_it_as_flags(guarded, tmp_path):
    pipeline = tmp_path / "range.yaml"
    pipeline.write_text("source: {format: range, elements: 1000}\nsteps:\n  - batch: {size: 10}\n")
    done = processes.run("run", pipeline, "--cluster", guarded.address, "--output", "json", *guarded.flags())
    assert json.loads(done.stdout)["epochs"][0]["records"] == 1000
    assert "guarded" not in processes.run("jobs", "--cluster", guarded.address, *guarded.flags()).stderr


def test_a_trainer_without_the_token_is_told_to_set_it(guarded):
    assert "token_file" in guarded.refusal(token_file=None)
    refused = guarded.refusal(token_file=guarded.other_token)
    assert "token_file" in refused and "fedcba" not in refused and guarded.address in refused


def test_a_cluster_whose_certificate_the_trainer_cannot_check_is_refused_at_once(guarded):
    assert "tls.ca" in guarded.refusal(seconds=1.8, tls_ca=guarded.stranger.cert)


def test_a_certificate_for_another_name_says_which_name_was_asked_for(guarded):
    refused = guarded.refusal(seconds=1.8, tls_server_name="elsewhere")
    assert "tls.server_name" in refused and "elsewhere" in refused
    assert not guarded.refusal(tls_server_name="localhost", token_file=None).count("server_name")


def test_a_trainer_without_a_certificate_or_with_a_strangers_gets_in_nowhere(guarded):
    assert "tls.cert" in guarded.refusal(tls_cert=None, tls_key=None)
    cert, key = guarded.stranger.issue("impostor")
    assert "tls" in guarded.refusal(tls_cert=cert, tls_key=key)


def test_a_trainer_without_tls_is_told_that_the_cluster_may_ask_for_it(guarded):
    assert "tls" in guarded.refusal(tls_ca=None, tls_cert=None, tls_key=None)


def test_a_command_without_any_of_it_fails_with_advice(guarded):
    done = processes.run("workers", "--cluster", guarded.address, check=False)
    assert done.returncode == 1 and "--tls-ca" in done.stderr and done.stderr.count("\n") == 1
    done = processes.run("workers", "--cluster", guarded.address, *guarded.flags(token_file=None), check=False)
    assert done.returncode == 1 and "--token-file" in done.stderr and done.stderr.count("\n") == 1


def test_top_shows_it_as_well(guarded):
    done = processes.run("top", "--cluster", guarded.address, "--once", "--seconds", 0.2, "--output", "json", *guarded.flags())
    assert len(json.loads(done.stdout)["workers"]) == 2
    done = processes.run("top", "--cluster", guarded.address, "--once", check=False)
    assert done.returncode == 1 and "--tls-ca" in done.stderr and done.stderr.count("\n") == 1
    done = processes.run("top", "--cluster", guarded.address, "--once", *guarded.flags(token_file=None), check=False)
    assert done.returncode == 1 and "--token-file" in done.stderr


def test_an_orchestrator_starts_workers_that_fit(guarded, tmp_path):
    guard = (*tls_flags(guarded.role, guarded.authority.cert), "--token-file", guarded.token)
    with Cluster(tmp_path, workers=0, dispatcher_args=guard) as running:
        log = tmp_path / "orchestrator.log"
        with open(log, "wb") as out:
            orchestrator = subprocess.Popen([str(processes.HEADRACE), "orchestrator", "--dispatcher", running.address, "--driver", "process",
                                             "--max-workers", "1", "--poll", "100ms", *map(str, guard)], stdout=out, stderr=out)
        try:
            with hr.connect(running.address, **guarded.keywords()) as cluster:
                assert numbers(cluster.stream(hr.range(100).batch(8))) == list(range(100))
            orchestrator.terminate()
            assert orchestrator.wait(10 * processes.SLOW) == 0, log.read_text()
        finally:
            orchestrator.kill()
            orchestrator.wait()


def test_workers_of_up_fit_where_trainers_need_no_certificate(guarded, tmp_path):
    guard = (*tls_flags(guarded.role, guarded.authority.cert), "--tls.client-certificates", "false", "--token-file", guarded.token)
    for workers in ("1", "auto"):
        with Role(tmp_path, f"up-{workers}", "up", "--workers", workers, "--max-workers", "1", "--listen", "127.0.0.1:0", *guard) as up:
            with hr.connect(up.address(), transport="tcp", **guarded.keywords(tls_cert=None, tls_key=None)) as cluster:
                assert numbers(cluster.stream(hr.range(100).batch(8))) == list(range(100))


def test_files_that_are_not_there_are_named(guarded, tmp_path):
    assert str(tmp_path / "none.pem") in guarded.refusal(tls_ca=tmp_path / "none.pem")
    assert "tls.key" in guarded.refusal(tls_key=None)
    assert str(tmp_path / "none") in guarded.refusal(token_file=tmp_path / "none")


@pytest.mark.parametrize("what", ["plain", "stranger", "no token"])
def test_a_worker_that_does_not_fit_ends_with_advice(guarded, tmp_path, what):
    fits = tls_flags(guarded.role, guarded.authority.cert)
    args = {"plain": ("--token-file", guarded.token), "no token": fits,
            "stranger": (*tls_flags(guarded.stranger.issue("worker"), guarded.stranger.cert), "--token-file", guarded.token)}[what]
    advice = {"plain": "tls", "no token": "token_file", "stranger": "tls.ca"}[what]
    with Role(tmp_path, "worker", "worker", "--dispatcher", guarded.address, "--listen", "127.0.0.1:0", "--connect-timeout", "2s", *args) as worker:
        assert worker.process.wait(10 * processes.SLOW) == 1
        assert advice in worker.log.read_text().splitlines()[-1]


def test_a_trainer_with_tls_is_told_that_a_cluster_has_none(guarded, tmp_path):
    with Cluster(tmp_path, workers=0) as plain:
        with pytest.raises(hr.HeadraceError, match="speaks no TLS"):
            hr.connect(plain.address, 2, **guarded.keywords()).stream(hr.range(10).batch(2))


def test_a_cluster_without_client_certificates_asks_for_the_token_alone(guarded, tmp_path):
    guard = (*tls_flags(guarded.role, guarded.authority.cert), "--tls.client-certificates", "false", "--token-file", guarded.token)
    with Cluster(tmp_path, workers=1, dispatcher_args=guard, worker_args=guard) as running:
        for transport in ("tcp", "grpc"):
            with hr.connect(running.address, transport=transport, **guarded.keywords(tls_cert=None, tls_key=None)) as cluster:
                assert numbers(cluster.stream(hr.range(100).batch(8))) == list(range(100))


def test_a_cluster_rides_through_a_dispatcher_that_is_killed(guarded, tmp_path):
    guard = (*tls_flags(guarded.role, guarded.authority.cert), "--token-file", guarded.token)
    with Cluster(tmp_path, workers=1, dispatcher_args=guard, worker_args=guard) as running:
        with hr.connect(running.address, **guarded.keywords()) as cluster:
            batches = iter(cluster.stream(hr.range(RECORDS, bytes=64).batch(8)))
            got = [next(batches) for _ in range(10)]
            running.kill_dispatcher()
            running.start_dispatcher()
            got += list(batches)
    assert sorted(int(i) for batch in got for i in batch["index"]) == list(range(RECORDS))


def test_a_loader_of_its_own_connection_and_a_forked_trainer_show_the_same(guarded):
    torch = pytest.importorskip("torch")
    import headrace.torch

    loader = headrace.torch.Loader(hr.range(200).batch(4), guarded.address, connection=guarded.keywords())
    data = torch.utils.data.DataLoader(loader, batch_size=None, num_workers=2)
    assert sorted(int(i) for batch in data for i in batch["index"]) == list(range(200))
    loader.close()
