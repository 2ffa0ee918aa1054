"""Chaos runs: a cluster of real processes, faults drawn from a seed, and the account of every record afterwards.

run.py [--seed N] [--runs M] [--jobs J] [--keep DIR] [--only FIELD=VALUE ...]     one line a run; exit 1 when any failed
--only: fields of every plan (plan.py), like visitation=at_most_once, ordering=deterministic, dispatchers=2
"""
import argparse
import collections
import concurrent.futures
import pathlib
import shutil
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import accounts  # noqa: E402
import caches  # noqa: E402
import network  # noqa: E402
import plan as plans  # noqa: E402
import processes  # noqa: E402
import workloads  # noqa: E402
from accounts import Failure  # noqa: E402
from cluster import ETCD, LEASE, Cluster  # noqa: E402

BOUND_SECONDS = 90.0  # every run ends by then: faults, time-outs, twenty seconds until a cut stream is given up, and the work


def inject(cluster, fault, timers):
    """Does what the fault says, and sees to it that it ends."""
    plan = cluster.plan
    w, t, d = fault.who % plan.workers, fault.other % plan.trainers, fault.who % plan.dispatchers
    worker, trainer, dispatcher = cluster.workers[w], cluster.trainers[t], cluster.dispatchers[d]
    dispatchers = [f"dispatcher{i}" for i in range(plan.dispatchers)]
    takeover = LEASE + 1 if plan.dispatchers > 1 else 0

    def later(seconds, action):
        timers.append((time.monotonic() + seconds, action))

    def cut(a, *others):
        for b in others:
            cluster.network.cut(a, b)
            later(fault.lasts, lambda b=b: cluster.network.heal(a, b))

    def outage(rank, lasts):
        """The dispatcher may not hear of that trainer (None: of all) for so long."""
        entry = cluster.begin_outage(rank)
        entry[2] = entry[1] + lasts

    def restart():
        if cluster.workers[w].process.poll() is not None:
            cluster.start_worker(w)

    def stop(process):
        cluster.stop(process)
        later(fault.lasts, lambda: cluster.go_on(process))

    if fault.kind == "kill_worker":
        worker.kill()
        later(fault.lasts / 3, restart)
    elif fault.kind == "damage_cache":
        cluster.disk.damage(fault.other)
    elif fault.kind == "end_worker":
        cluster.go_on(worker.process)
        worker.process.terminate()
        # Another fault may have stopped it meanwhile.
        later(fault.lasts, lambda: (cluster.go_on(worker.process), worker.process.wait(timeout=10), restart()))
    elif fault.kind == "stop_worker":
        stop(worker.process)
    elif fault.kind == "stop_trainer":
        outage(t, fault.lasts)
        stop(trainer.process)
    elif fault.kind == "stop_dispatcher":
        outage(None, fault.lasts + takeover)
        stop(dispatcher.process)
    elif fault.kind == "kill_dispatcher":
        if dispatcher.process.poll() is None:
            outage(None, fault.lasts / 3 + takeover)
            dispatcher.kill()
            later(fault.lasts / 3, lambda: cluster.dispatchers[d].process.poll() is not None and cluster.start_dispatcher(d))
    elif fault.kind == "kill_etcd":
        if cluster.etcd.process.poll() is None:
            outage(None, fault.lasts / 3 + takeover)
            cluster.etcd.process.kill()
            cluster.etcd.process.wait()
            later(fault.lasts / 3, lambda: cluster.etcd.process.poll() is not None and cluster.etcd.start())
    elif fault.kind == "kill_trainer":
        if trainer.process.poll() is None:
            trainer.kill()
            trainer.start()
    elif fault.kind == "restore_trainers":
        if all(t.checkpoints() for t in cluster.trainers.values()):
            cluster.restore_trainers()
    elif fault.kind == "cut_worker_dispatcher":
        cut(f"worker{w}", *dispatchers)
    elif fault.kind == "cut_worker_trainer":
        cut(f"worker{w}", f"trainer{t}")
    elif fault.kind == "cut_worker":
        cut(f"worker{w}", *dispatchers, *(f"trainer{i}" for i in range(plan.trainers)))
    elif fault.kind == "cut_trainer_dispatcher":
        outage(t, fault.lasts)
        cut(f"trainer{t}", *dispatchers)
    elif fault.kind == "cut_trainer":
        outage(t, fault.lasts)
        cut(f"trainer{t}", *dispatchers, *(f"worker{i}" for i in range(plan.workers)))
    elif fault.kind == "cut_dispatcher_etcd":
        outage(None, fault.lasts + takeover)
        cut(f"dispatcher{d}", "etcd")
    elif fault.kind == "cut_dispatcher":
        outage(None, fault.lasts)
        cut(f"dispatcher{d}", *(f"worker{i}" for i in range(plan.workers)), *(f"trainer{i}" for i in range(plan.trainers)))
    elif fault.kind == "reset_stream":
        cluster.network.reset(f"trainer{t}", f"worker{w}")
    elif fault.kind == "reset_dispatcher":
        cluster.network.reset(f"worker{w}", dispatchers[d])
    else:
        raise AssertionError(fault.kind)


def carry_out(cluster):
    """Faults at their times, until every trainer has ended by itself."""
    plan, start = cluster.plan, time.monotonic()
    first = None
    faults, timers = list(plan.faults), []
    while any(t.process.poll() is None for t in cluster.trainers.values()):
        now = time.monotonic()
        if now - start > BOUND_SECONDS * processes.SLOW:
            raise Failure("it did not end within its bound")
        for due in [timer for timer in timers if timer[0] <= now]:
            timers.remove(due)
            due[1]()
        if first is None and cluster.delivered() > 0:
            first = now
        while first is not None and faults and now - first >= faults[0].at:
            inject(cluster, faults.pop(0), timers)
        if not faults and not timers and first is not None:
            cluster.everything_goes_on()
        time.sleep(0.01)
    for rank, trainer in cluster.trainers.items():
        if trainer.process.returncode != 0:
            raise Failure(f"trainer {rank} ended with {trainer.process.returncode}: " +
                          (cluster.directory / f"trainer{rank}.err").read_text()[-2000:])
    return time.monotonic() - start


class Bench:
    """Workloads, what this machine allows, and the sequences of ordered epochs, each found once by a calm run."""

    def __init__(self, directory):
        self.directory = directory
        self.workloads = workloads.made(directory / "made")
        data = processes.shared_data()
        if data is None:
            print("chaos: no shared/data on this machine; the made files cover the same promises", flush=True)
        else:
            self.workloads += workloads.shared(data, directory / "shared")
        self.why_no_cuts = network.permitted()
        why_no_mounts = caches.permitted()
        self.machine = plans.Machine(namespaces=not self.why_no_cuts, etcd=ETCD.exists(), mounts=not why_no_mounts)
        if self.why_no_cuts:
            print(f"chaos: NO PARTITIONS: network namespaces cannot be made here ({self.why_no_cuts})", flush=True)
        if why_no_mounts:
            print(f"chaos: NO FULL DISKS: no file system can be mounted here ({why_no_mounts})", flush=True)
        if not self.machine.etcd:
            print(f"chaos: NO RUNS OF SEVERAL DISPATCHERS: {ETCD} is missing (apt-get install etcd-server)", flush=True)
        self._lock = threading.Lock()
        self._sequences = {}

    def draw(self, seed, **fixed):
        return plans.draw(seed, self.workloads, self.machine, **fixed)

    def sequence(self, number):
        with self._lock:
            if number not in self._sequences:
                plan = plans.Plan(seed=0, workload=number, workers=1, trainers=1, epochs=3, ordering="deterministic", seconds=0)
                directory = self.directory / f"calm{number}"
                with self._cluster(plan, directory) as cluster:
                    carry_out(cluster)
                    self._sequences[number] = accounts.sequence_of(cluster)
                shutil.rmtree(directory)
            return self._sequences[number]

    def _cluster(self, plan, directory):
        workload = self.workloads[plan.workload]
        directory.mkdir(parents=True, exist_ok=True)
        batches = max(1, workload.records // workload.batch)
        return Cluster(directory, plan, workload.write(directory, cached=plan.cache != "none"), workload.functions,
                       pace=plan.seconds * plan.trainers / batches / plan.epochs)

    def carry_out(self, plan, directory):
        """One run: seconds, missing, doubled, hits of the caches; Failure names what was wrong."""
        wanted = self.sequence(plan.workload) if plan.ordering == "deterministic" else None
        with self._cluster(plan, directory) as cluster:
            seconds = carry_out(cluster)
            if wanted is not None:
                accounts.check_sequence(cluster, wanted)
            missing, doubled = accounts.check(cluster, self.workloads[plan.workload])
            hits = cluster.cache_hits()
        return seconds, missing, doubled, hits


def level_of(plan):
    return ("deterministic" if plan.ordering == "deterministic" else plan.visitation) + (
        f", {plan.dispatchers} dispatchers" if plan.dispatchers > 1 else "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", action="append", default=[], metavar="FIELD=VALUE")
    parser.add_argument("--keep", default=None, help="where to leave the logs of failed runs")
    args = parser.parse_args()
    fixed = {name: int(value) if value.isdigit() else value for name, value in (item.split("=", 1) for item in args.only)}
    root = pathlib.Path(tempfile.mkdtemp(prefix="headrace-chaos-"))
    bench = Bench(root)
    counts, lock = collections.Counter(), threading.Lock()
    totals = collections.defaultdict(collections.Counter)

    def run(seed):
        directory = root / f"run{seed}"
        started = time.monotonic()
        plan = bench.draw(seed, **fixed)
        name = bench.workloads[plan.workload].name
        found = collections.Counter(runs=1)
        try:
            seconds, missing, doubled, hits = bench.carry_out(plan, directory)
            line = f"ok {seconds:5.1f}s {name}: missing {missing} doubled {doubled}, {hits} splits from caches; {plan}"
            found.update(ok=1, missing=missing, doubled=doubled, cached=plan.cache != "none", hits=hits,
                         runs_that_miss=missing > 0, runs_that_double=doubled > 0)
            shutil.rmtree(directory)
        except Exception as error:  # the next seeds are worth knowing
            what = str(error) if isinstance(error, Failure) else "".join(traceback.format_exception(error))
            line = f"FAILED {time.monotonic() - started:5.1f}s {name}: {what}\n  {plan}\n  logs: {directory}"
            if args.keep:
                shutil.copytree(directory, pathlib.Path(args.keep) / f"run{seed}", dirs_exist_ok=True)
        with lock:
            counts[line.split(" ")[0]] += 1
            totals[level_of(plan)].update(found)
            print(line, flush=True)

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(run, range(args.seed, args.seed + args.runs)))
    for level, total in sorted(totals.items()):
        print(f"{level}: {total['ok']} of {total['runs']} ok; missing {total['missing']} in {total['runs_that_miss']} runs, "
              f"doubled {total['doubled']} in {total['runs_that_double']}; {total['cached']} with caches, "
              f"{total['hits']} splits from them", flush=True)
    print(f"{counts['ok']} of {args.runs} runs ok", flush=True)
    if counts["ok"] == args.runs:
        shutil.rmtree(root)
    return 0 if counts["ok"] == args.runs else 1


if __name__ == "__main__":
    sys.exit(main())
