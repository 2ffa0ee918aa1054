"""The processes of one chaos run, and what is done to them."""
import datetime
import itertools
import math
import pathlib
import pickle
import re
import signal
import socket
import subprocess
import sys
import time

import caches
import network
import plan as plans
import processes

HERE = pathlib.Path(__file__).resolve().parent
ETCD = pathlib.Path("/usr/bin/etcd")
CLIENT_TIMEOUT = 2.0  # seconds
LEASE = 2.0  # of a dispatcher that leads
# Short, so that a run takes seconds: lost after one or two seconds of silence.
DISPATCHER = ["--worker-timeout", "1s", "--client-timeout", f"{CLIENT_TIMEOUT:g}s", "--worker-beat", "100ms", "--client-beat", "100ms",
              "--closing-beat", "100ms", "--target-split", "8KiB", "--max-task-errors", "1000"]
_LOST = re.compile(r"^(\S+)Z .*epoch (\d+): client \d+ \(rank (\d+)\) was lost", re.M)


class Trainer:
    """A rank: a trainer process, and the logs of it and of those that it took the place of."""

    def __init__(self, cluster, rank):
        self.cluster, self.rank = cluster, rank
        self.logs, self.killed = [], []  # by log: whether its process was killed
        self.process = None
        self.starts = 0
        self.start()

    def start(self, restore=None):
        plan, directory = self.cluster.plan, self.cluster.directory
        self.starts += 1
        log = directory / f"trainer{self.rank}-{self.starts}.log"
        log.touch()
        self.logs.append(log)
        self.killed.append(False)
        command = [*self.cluster.prefix(f"trainer{self.rank}"), sys.executable, str(HERE / "trainer.py"), self.cluster.address,
                   str(self.cluster.workload), str(log), "--job", "chaos", "--rank", str(self.rank), "--world", str(plan.trainers),
                   "--epochs", str(plan.epochs), "--sharding", plan.sharding, "--visitation", plan.visitation, "--on-client-loss",
                   plan.on_client_loss, "--ordering", plan.ordering, "--sleep", str(self.cluster.pace), "--save", f"{log}.state"]
        if restore:
            command += ["--restore", str(restore)]
        with open(directory / f"trainer{self.rank}.err", "ab") as err:
            self.process = subprocess.Popen(command, stdout=err, stderr=err)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.killed[-1] = True

    def checkpoints(self):
        """(epoch, batches, which log, its length by then, state), oldest first."""
        found = []
        for number, log in enumerate(self.logs):
            for at in itertools.count():
                try:
                    with open(f"{log}.state.{at}", "rb") as file:
                        epoch, length, state = pickle.load(file)
                except FileNotFoundError:
                    break
                if length <= log.stat().st_size:  # else of what was gone back on
                    found.append((epoch, state["elements"], number, length, state))
        return found

    def go_back(self, number, length):
        """What was handed over since a checkpoint is forgotten."""
        with open(self.logs[number], "r+b") as log:
            log.truncate(length)
        del self.logs[number + 1:]
        # Of the process that the next one takes the place of all is known that counts.
        self.killed = [False] * (number + 1)


class Etcd:
    """One member; started again it has what it had."""

    def __init__(self, directory, host, prefix):
        self.directory, self.prefix = directory, prefix
        self.client, self.peer = (f"{host}:{port}" for port in (_free_ports() if not prefix else (2379, 2380)))
        self.start()

    def start(self):
        with open(self.directory / "etcd.log", "ab") as log:
            self.process = subprocess.Popen(
                [*self.prefix, str(ETCD), "--data-dir", str(self.directory / "etcd"), "--listen-client-urls", f"http://{self.client}",
                 "--advertise-client-urls", f"http://{self.client}", "--listen-peer-urls", f"http://{self.peer}",
                 "--initial-advertise-peer-urls", f"http://{self.peer}", "--initial-cluster", f"default=http://{self.peer}",
                 "--log-level", "warn", "--logger", "zap"], stdout=log, stderr=log)


def _free_ports():
    with socket.socket() as a, socket.socket() as b:
        a.bind(("127.0.0.1", 0))
        b.bind(("127.0.0.1", 0))
        return a.getsockname()[1], b.getsockname()[1]


class Cluster:
    """Leaves nothing running and no namespace behind."""

    def __init__(self, directory, plan, workload, functions, pace):
        self.directory, self.plan, self.workload, self.pace = directory, plan, workload, pace
        self.functions = functions
        self.network = network.Network() if plan.namespaces else None
        self.disk = None  # of the caches
        self.workers, self.trainers, self.worker_starts, self.restores = {}, {}, 0, 0
        self.dispatchers, self.addresses, self.metrics, self.etcd = {}, {}, {}, None
        self.stopped = set()  # processes under SIGSTOP
        self.outages = []     # [rank or None for all, begin, end]: when the dispatcher may not have heard of trainers
        try:
            if plans.on_disk(plan.cache):
                self.disk = caches.Disk(directory / "cache", small=plan.cache == "full")
            if self.network:
                for name in [*(["etcd"] if plan.dispatchers > 1 else []), *(f"dispatcher{i}" for i in range(plan.dispatchers)),
                             *(f"worker{i}" for i in range(plan.workers)), *(f"trainer{i}" for i in range(plan.trainers))]:
                    self.network.add(name)
            if plan.dispatchers > 1:
                self.etcd = Etcd(directory, self.host("etcd"), self.prefix("etcd"))
            for i in range(plan.dispatchers):
                self.addresses[i] = f"{self.host(f'dispatcher{i}')}:0"
                self.start_dispatcher(i)
            for i, dispatcher in self.dispatchers.items():
                self.addresses[i] = dispatcher.address()
            self.address = ",".join(self.addresses.values())
            for i in range(plan.workers):
                self.start_worker(i)
            for i in range(plan.trainers):
                self.trainers[i] = Trainer(self, i)
        except BaseException:
            self.close()
            raise

    def prefix(self, host):
        return self.network.prefix(host) if self.network else ()

    def host(self, name):
        return self.network.address(name) if self.network else "127.0.0.1"

    def _role(self, host, name, *args, env=None):
        return processes.Role(self.directory, name, *args, prefix=self.prefix(host), env=env)

    def start_dispatcher(self, i):
        """The first one, or another over the same journal at the same address."""
        name = f"dispatcher{i}"
        if self.etcd is None:
            journal = ["--journal.directory", str(self.directory / "journal")]
        else:
            config = self.directory / f"{name}.yaml"
            config.write_text(f'journal: {{driver: etcd, endpoints: ["{self.etcd.client}"], prefix: chaos, lease_ttl: {LEASE:g}s}}\n')
            journal = ["--config", str(config)]
        self.dispatchers[i] = self._role(name, name, "dispatcher", "--listen", self.addresses[i], *journal, *DISPATCHER)

    def start_worker(self, i):
        self.worker_starts += 1
        env, metrics = None, []
        if self.plan.cache != "none":
            self.metrics[i] = f"{self.host(f'worker{i}')}:{9464 if self.network else _free_ports()[0]}"
            metrics = ["--metrics-listen", self.metrics[i]]
        if self.plan.cache_crash and self.worker_starts == 1:
            env = {"HEADRACE_FAULTS": f"cache.segment.commit@{self.plan.cache_crash}*1=crash"}
        functions = ["--udf", "import", "--udf-python", sys.executable, "--udf-path", str(HERE)] if self.functions else []
        self.workers[i] = self._role(f"worker{i}", f"worker{i}-{self.worker_starts}", "worker", "--dispatcher", self.address, "--listen",
                                     f"{self.host(f'worker{i}')}:0", "--transports", self.plan.transports, "--compute-threads", "1",
                                     "--connect-timeout", "60s", *functions, *metrics, *caches.arguments(self.plan.cache, self.disk),
                                     env=env)

    def restore_trainers(self):
        """All trainers are killed, and go on from the latest checkpoints of one epoch that each of them has; ordered: of one batch."""
        for trainer in self.trainers.values():
            trainer.kill()
        saved = {rank: trainer.checkpoints() for rank, trainer in self.trainers.items()}
        key = slice(0, 2) if self.plan.ordering == "deterministic" else slice(0, 1)
        at = max(set.intersection(*({s[key] for s in states} for states in saved.values())))
        last = {rank: [s for s in states if s[key] == at][-1] for rank, states in saved.items()}
        self.restores += 1
        path = self.directory / f"restore{self.restores}"
        path.write_bytes(pickle.dumps([state for *_, state in last.values()]))
        for rank, (_, _, number, length, _) in last.items():
            self.trainers[rank].go_back(number, length)
            self.trainers[rank].start(path)

    def begin_outage(self, rank=None):
        self.outages.append([rank, time.time(), math.inf])
        return self.outages[-1]

    def losses(self):
        """(time, epoch, rank) of each trainer that a dispatcher took for lost and whose share it gave to others."""
        found = []
        for i in self.dispatchers:
            for when, epoch, rank in _LOST.findall((self.directory / f"dispatcher{i}.log").read_text()):
                at = datetime.datetime.fromisoformat(when).replace(tzinfo=datetime.timezone.utc).timestamp()
                found.append((at, int(epoch), int(rank)))
        return found

    def delivered(self):
        """Batches that trainers wrote down so far."""
        return sum(log.read_bytes().count(b"\n") for trainer in self.trainers.values() for log in trainer.logs)

    def cache_hits(self):
        """Of the workers that are left."""
        for process in list(self.stopped):
            self.go_on(process)
        return sum(caches.hits(self.workers[i], address, self.prefix(f"worker{i}")) for i, address in self.metrics.items())

    def stop(self, process):
        if process.poll() is None:
            process.send_signal(signal.SIGSTOP)
            self.stopped.add(process)

    def go_on(self, process):
        if process in self.stopped:
            self.stopped.discard(process)
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)

    def everything_goes_on(self):
        for process in list(self.stopped):
            self.go_on(process)
        if self.network:
            self.network.heal_all()
        if self.etcd is not None and self.etcd.process.poll() is not None:
            self.etcd.start()
        for i, dispatcher in self.dispatchers.items():
            if dispatcher.process.poll() is not None:
                self.start_dispatcher(i)
        for i, worker in self.workers.items():
            if worker.process.poll() is not None:
                self.start_worker(i)

    def close(self):
        running = [r.process for r in itertools.chain(self.trainers.values(), self.workers.values(), self.dispatchers.values())]
        if self.etcd is not None:
            running.append(self.etcd.process)
        for process in running:
            if process.poll() is None:
                process.kill()
            process.wait()
        if self.network:
            self.network.close()
        if self.disk:
            self.disk.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
