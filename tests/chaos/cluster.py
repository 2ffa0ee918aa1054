"""The processes of one chaos run, and what is done to them."""
import itertools
import pathlib
import pickle
import signal
import subprocess
import sys
import time

import network
import processes

HERE = pathlib.Path(__file__).resolve().parent
# Short, so that a run takes seconds: lost after one or two seconds of silence.
DISPATCHER = ["--worker-timeout", "1s", "--client-timeout", "2s", "--worker-beat", "100ms", "--client-beat", "100ms", "--closing-beat",
              "100ms", "--target-split", "8KiB", "--max-task-errors", "1000"]


class Trainer:
    """A rank: a trainer process, and the logs of it and of those that it took the place of."""

    def __init__(self, cluster, rank):
        self.cluster, self.rank = cluster, rank
        self.logs, self.killed_at = [], []  # monotonic nanoseconds, by log; None: it ended by itself
        self.process = None
        self.starts = 0
        self.start()

    def start(self, restore=None):
        plan, directory = self.cluster.plan, self.cluster.directory
        self.starts += 1
        log = directory / f"trainer{self.rank}-{self.starts}.log"
        log.touch()
        self.logs.append(log)
        self.killed_at.append(None)
        command = [*self.cluster.prefix(f"trainer{self.rank}"), sys.executable, str(HERE / "trainer.py"), self.cluster.address,
                   str(self.cluster.workload), str(log), "--job", "chaos", "--rank", str(self.rank), "--world", str(plan.trainers),
                   "--epochs", str(plan.epochs), "--sharding", plan.sharding, "--visitation", plan.visitation, "--on-client-loss",
                   plan.on_client_loss, "--sleep", str(self.cluster.pace), "--save", f"{log}.state"]
        if restore:
            command += ["--restore", str(restore)]
        with open(directory / f"trainer{self.rank}.err", "ab") as err:
            self.process = subprocess.Popen(command, stdout=err, stderr=err)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.killed_at[-1] = time.monotonic_ns()

    def checkpoints(self):
        """(epoch, which log, its length by then, state), oldest first."""
        found = []
        for number, log in enumerate(self.logs):
            for at in itertools.count():
                try:
                    with open(f"{log}.state.{at}", "rb") as file:
                        epoch, length, state = pickle.load(file)
                except FileNotFoundError:
                    break
                if length <= log.stat().st_size:  # else of what was gone back on
                    found.append((epoch, number, length, state))
        return found

    def go_back(self, number, length):
        """What was handed over since a checkpoint is forgotten."""
        with open(self.logs[number], "r+b") as log:
            log.truncate(length)
        del self.logs[number + 1:]
        # Of the process that the next one takes the place of all is known that counts.
        self.killed_at = [None] * (number + 1)


class Cluster:
    """Leaves nothing running and no namespace behind."""

    def __init__(self, directory, plan, workload, functions, pace):
        self.directory, self.plan, self.workload, self.pace = directory, plan, workload, pace
        self.functions = functions
        self.network = network.Network() if plan.namespaces else None
        self.workers, self.trainers, self.worker_starts, self.restores = {}, {}, 0, 0
        self.stopped = set()  # processes under SIGSTOP
        self.dispatcher = None
        try:
            if self.network:
                for name in ["dispatcher", *(f"worker{i}" for i in range(plan.workers)), *(f"trainer{i}" for i in range(plan.trainers))]:
                    self.network.add(name)
            self.address = f"{self.host('dispatcher')}:0"
            self.start_dispatcher()
            self.address = self.dispatcher.address()
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

    def _role(self, host, name, *args):
        return processes.Role(self.directory, name, *args, prefix=self.prefix(host))

    def start_dispatcher(self):
        """The first one, or another over the same journal at the same address."""
        self.dispatcher = self._role("dispatcher", "dispatcher", "dispatcher", "--listen", self.address, "--journal.directory",
                                     str(self.directory / "journal"), *DISPATCHER)

    def start_worker(self, i):
        self.worker_starts += 1
        functions = ["--udf", "import", "--udf-python", sys.executable, "--udf-path", str(HERE)] if self.functions else []
        self.workers[i] = self._role(f"worker{i}", f"worker{i}-{self.worker_starts}", "worker", "--dispatcher", self.address, "--listen",
                                     f"{self.host(f'worker{i}')}:0", "--transports", self.plan.transports, "--compute-threads", "1",
                                     "--connect-timeout", "60s", *functions)

    def restore_trainers(self):
        """All trainers are killed, and go on from the latest checkpoints of one epoch that each of them has."""
        for trainer in self.trainers.values():
            trainer.kill()
        saved = {rank: trainer.checkpoints() for rank, trainer in self.trainers.items()}
        epoch = max(set.intersection(*({s[0] for s in states} for states in saved.values())))
        last = {rank: [s for s in states if s[0] == epoch] for rank, states in saved.items()}
        self.restores += 1
        path = self.directory / f"restore{self.restores}"
        path.write_bytes(pickle.dumps([states[-1][3] for states in last.values()]))
        for rank, states in last.items():
            self.trainers[rank].go_back(states[-1][1], states[-1][2])
            self.trainers[rank].start(path)

    def delivered(self):
        """Batches that trainers wrote down so far."""
        return sum(log.read_bytes().count(b"\n") for trainer in self.trainers.values() for log in trainer.logs)

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
        if self.dispatcher.process.poll() is not None:
            self.start_dispatcher()
        for i, worker in self.workers.items():
            if worker.process.poll() is not None:
                self.start_worker(i)

    def close(self):
        running = [t.process for t in self.trainers.values()] + [w.process for w in self.workers.values()]
        if self.dispatcher is not None:
            running.append(self.dispatcher.process)
        for process in running:
            if process.poll() is None:
                process.kill()
            process.wait()
        if self.network:
            self.network.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
