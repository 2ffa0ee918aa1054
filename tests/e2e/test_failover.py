"""Several dispatchers over one etcd: the leader is killed, frozen or cut off in mid-epoch, and every record comes once."""
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest

import datasets
import processes
import test_delivery
from processes import Role

ETCD = pathlib.Path("/usr/bin/etcd")
LEASE = 3.0  # seconds
TAKEOVER = 5.0  # after the lease has expired: what is promised

pytestmark = pytest.mark.skipif(not ETCD.exists(), reason=f"{ETCD} is missing (apt-get install etcd-server): failover NOT tested")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Member:
    """One etcd process on loopback; started again it has what it had."""

    def __init__(self, directory, name):
        self.directory, self.name = pathlib.Path(directory), name
        self.client, self.peer = free_port(), free_port()
        self.process = None

    def start(self, members):
        client, peer = (f"http://127.0.0.1:{port}" for port in (self.client, self.peer))
        with open(self.directory / "etcd.log", "ab") as log:
            self.process = subprocess.Popen(
                [ETCD, "--name", self.name, "--data-dir", self.directory / f"etcd-{self.name}", "--listen-client-urls", client,
                 "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                 "--initial-cluster", ",".join(f"{m.name}=http://127.0.0.1:{m.peer}" for m in members),
                 "--log-level", "warn", "--logger", "zap"], stdout=log, stderr=log)

    def healthy(self):
        """It knows a leader: the members agree."""
        return fetch(self.client, "/health")[0] == 200

    def leads(self):
        status, text = fetch(self.client, "/v3/maintenance/status", b"{}")
        answer = processes.json.loads(text) if status == 200 else {}
        return bool(answer.get("leader")) and answer["leader"] == answer["header"]["member_id"]

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Etcd:
    """`count` members that agree."""

    def __init__(self, directory, count=1):
        self.directory = pathlib.Path(directory)
        self.members = [Member(directory, f"m{i}") for i in range(count)]
        self.start()

    def endpoints(self):
        return ", ".join(f'"127.0.0.1:{m.client}"' for m in self.members)

    def start(self):
        """All that do not run."""
        for member in self.members:
            if member.process is None or member.process.poll() is not None:
                member.start(self.members)
        processes.wait_for(lambda: all(m.healthy() for m in self.members), 60, "etcd")

    def leader(self):
        return processes.wait_for(lambda: next((m for m in self.members if m.process.poll() is None and m.leads()), None), 60, "etcd's leader")

    def kill(self):
        for member in self.members:
            member.kill()

    def remove(self):
        self.kill()
        for member in self.members:
            shutil.rmtree(self.directory / f"etcd-{member.name}", ignore_errors=True)


def fetch(port, path, post=None):
    """(status, body); (0, why) when nobody answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", data=post, timeout=1) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)


class Dispatcher(Role):
    def __init__(self, directory, name, etcd, dispatchers):
        self.metrics = free_port()
        config = pathlib.Path(directory) / f"{name}.yaml"
        config.write_text(f"""
listen: 127.0.0.1:0
metrics_listen: 127.0.0.1:{self.metrics}
journal: {{driver: etcd, endpoints: [{etcd.endpoints()}], prefix: headrace-test, lease_ttl: {LEASE:g}s}}
""")
        super().__init__(directory, name, "dispatcher", "--config", config)

    def leads(self):
        return fetch(self.metrics, "/leader")[0] == 200

    def health(self):
        return fetch(self.metrics, "/healthz")


class Cluster:
    """etcd, dispatchers and workers in processes of their own. Leaves nothing running."""

    def __init__(self, directory, dispatchers=2, workers=2, members=1):
        self.directory = pathlib.Path(directory)
        self.roles = []
        self.etcd = Etcd(directory, members)
        try:
            self.dispatchers = [self.add(Dispatcher(directory, f"dispatcher{i}", self.etcd, dispatchers)) for i in range(dispatchers)]
            self.address = ",".join(d.address() for d in self.dispatchers)
            for i in range(workers):
                self.add(Role(directory, f"worker{i}", "worker", "--dispatcher", self.address, "--listen", "127.0.0.1:0"))
            self.leader()
            for role in self.roles:
                role.address()
        except BaseException:
            print(self.logs())
            self.close()
            raise

    def add(self, role):
        self.roles.append(role)
        return role

    def leader(self, seconds=20, besides=None):
        return processes.wait_for(lambda: next((d for d in self.dispatchers if d is not besides and d.leads()), None), seconds, "a leader")

    def jobs(self, address=None):
        done = processes.run("jobs", "--cluster", address or self.address, "--output", "json", check=False)
        return processes.json.loads(done.stdout) if done.returncode == 0 else []

    def wait_for_records(self, count):
        processes.wait_for(lambda: any(j["delivered"] > count for j in self.jobs()), 60, f"{count} delivered records")

    def logs(self):
        return "\n".join(f"--- {r.name}\n{r.log.read_text()}" for r in self.roles)

    def close(self):
        for role in self.roles:
            if role.process.poll() is None:
                role.process.send_signal(signal.SIGCONT)
                role.process.kill()
                role.process.wait()
        self.etcd.remove()

    def __enter__(self):
        return self

    def __exit__(self, exc_type, *_):
        self.close()
        if exc_type is not None:
            print(self.logs())


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    return datasets.one_huge_text(tmp_path_factory.mktemp("made"))  # 20,000 lines


def train(cluster, dataset, directory, job, during, sleep=0.02):
    pipeline = dataset.write(directory, test_delivery.steps_for("dynamic", batch=32))
    got = test_delivery.train(cluster, pipeline, dataset.field, directory, job, trainers=2, sleep=sleep, during=during)
    test_delivery.assert_each_once(got[0], dataset.expected)


def assert_taken_over(cluster, old, killed_at, what):
    """Waits for the other one to lead; how long that took since the lease must have expired."""
    cluster.leader(seconds=LEASE + TAKEOVER + 5, besides=old)
    took = time.monotonic() - killed_at
    # The last renewal was sent at most a fifth of the lease before: so much earlier the lease may have expired.
    print(f"\n{what}: another leads {took:.2f} s later: {took - LEASE:.2f} s after a lease of {LEASE:g} s that was renewed that instant, "
          f"{took - LEASE * 0.8:.2f} s after the earliest possible expiry")
    assert took - LEASE * 0.8 <= TAKEOVER * processes.SLOW
    return took


def test_the_leader_is_killed_in_mid_epoch(lines, tmp_path):
    with Cluster(tmp_path) as cluster:
        def kill():
            cluster.wait_for_records(1000)
            leader = cluster.leader()
            leader.kill()
            assert_taken_over(cluster, leader, time.monotonic(), "SIGKILL")

        train(cluster, lines, tmp_path, "killed", kill)


def test_the_leader_is_frozen_for_longer_than_its_lease(lines, tmp_path):
    with Cluster(tmp_path) as cluster:
        def freeze():
            cluster.wait_for_records(1000)
            old = cluster.leader()
            old.process.send_signal(signal.SIGSTOP)
            assert_taken_over(cluster, old, time.monotonic(), "SIGSTOP")
            new = cluster.leader(besides=old)
            before = max(j["delivered"] for j in cluster.jobs(new.address()))
            old.process.send_signal(signal.SIGCONT)
            # It finds out by its own clock, and says where to go.
            status, text = processes.wait_for(lambda: (h := old.health())[1].find("the leader is at") > 0 and h, 10, "the old one to follow")
            assert status == 200 and new.address() in text
            assert new.leads() and not old.leads()
            assert "no longer the leader" in old.log.read_text()
            assert max(j["delivered"] for j in cluster.jobs(old.address())) >= before  # asked there, answered by the leader

        train(cluster, lines, tmp_path, "frozen", freeze)


def test_a_leader_that_is_told_to_stop_keeps_nobody_waiting(lines, tmp_path):
    with Cluster(tmp_path) as cluster:
        def stop():
            cluster.wait_for_records(1000)
            old = cluster.leader()
            asked = time.monotonic()
            assert old.stop(within=5) == 0
            cluster.leader(besides=old)
            took = time.monotonic() - asked
            print(f"\nSIGTERM: another leads {took:.2f} s later")
            assert took < LEASE * processes.SLOW

        train(cluster, lines, tmp_path, "stopped", stop)


def test_etcd_is_away_for_less_and_for_more_than_a_lease(lines, tmp_path):
    with Cluster(tmp_path) as cluster:
        def restart_etcd():
            cluster.wait_for_records(500)
            cluster.etcd.kill()
            time.sleep(0.5)
            cluster.etcd.start()
            cluster.leader()
            before = max([j["delivered"] for j in cluster.jobs()], default=0)
            cluster.etcd.kill()
            processes.wait_for(lambda: not any(d.leads() for d in cluster.dispatchers), 2 * LEASE, "the leader to step down")
            done = processes.run("jobs", "--cluster", cluster.address, check=False)
            assert done.returncode == 1 and "not the leader" in done.stderr, done.stderr
            for dispatcher in cluster.dispatchers:  # a restart of its process would help nobody
                assert dispatcher.health()[0] == 200
                # A follower believes in its leader until the lease that it saw has run out.
                processes.wait_for(lambda: fetch(dispatcher.metrics, "/readyz")[0] == 503, 2 * LEASE, "a dispatcher without a leader to be unready")
            cluster.etcd.start()
            cluster.leader(seconds=LEASE + TAKEOVER + 10)
            cluster.wait_for_records(before)

        train(cluster, lines, tmp_path, "cut-off", restart_etcd)


def test_of_three_members_one_dies_and_then_the_one_that_leads(lines, tmp_path):
    with Cluster(tmp_path, members=3) as cluster:
        def goes_on():
            """More records are delivered than were when it was called."""
            before = max([j["delivered"] for j in cluster.jobs()], default=0)
            cluster.wait_for_records(before + 200)

        def kill_members():
            cluster.wait_for_records(500)
            leader = cluster.etcd.leader()
            follower = next(m for m in cluster.etcd.members if m is not leader)
            follower.kill()
            goes_on()
            cluster.etcd.start()  # it catches up; without it the next death would leave one of three
            leader = cluster.etcd.leader()
            leader.kill()
            assert cluster.etcd.leader() is not leader
            cluster.leader(seconds=LEASE + TAKEOVER + 20)
            goes_on()

        train(cluster, lines, tmp_path, "three", kill_members, sleep=0.05)


def test_a_follower_says_who_leads(tmp_path):
    with Cluster(tmp_path) as cluster:
        leader = cluster.leader()
        follower = next(d for d in cluster.dispatchers if d is not leader)
        processes.wait_for(lambda: leader.address() in follower.health()[1], 10, "the follower to know the leader")
        assert leader.health() == (200, "ok: leader\n")
        assert fetch(follower.metrics, "/readyz")[0] == 200
        assert fetch(follower.metrics, "/leader")[0] == 503
        # A command that knows the follower alone is sent on.
        assert len(processes.json.loads(processes.run("workers", "--cluster", follower.address(), "--output", "json").stdout)) == 2
        metrics = {d: re.search(r"^headrace_dispatcher_leader\S* (\S+)$", fetch(d.metrics, "/metrics")[1], re.M).group(1)
                   for d in cluster.dispatchers}
        assert float(metrics[leader]) == 1 and float(metrics[follower]) == 0
