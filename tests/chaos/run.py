"""Chaos runs: a cluster of real processes, faults drawn from a seed, and the account of every record afterwards.

run.py [--seed N] [--runs M] [--jobs J] [--keep DIR]      one line a run; exit 1 when any failed
"""
import argparse
import collections
import concurrent.futures
import pathlib
import random
import shutil
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import network  # noqa: E402
import plan as plans  # noqa: E402
import processes  # noqa: E402
import workloads  # noqa: E402
from cluster import Cluster  # noqa: E402

BOUND_SECONDS = 90.0  # every run ends by then: faults, time-outs, twenty seconds until a cut stream is given up, and the work
# What a client may have handed over without the dispatcher's knowing: a beat period, its retries, and its time-out.
UNREPORTED_SECONDS = 3.0


class Failure(Exception):
    pass


def inject(cluster, fault, timers):
    """Does what the fault says, and sees to it that it ends."""
    plan = cluster.plan
    w, t = fault.who % plan.workers, fault.other % plan.trainers
    worker, trainer = cluster.workers[w], cluster.trainers[t]

    def later(seconds, action):
        timers.append((time.monotonic() + seconds, action))

    def cut(a, b):
        cluster.network.cut(a, b)
        later(fault.lasts, lambda: cluster.network.heal(a, b))

    def restart():
        if cluster.workers[w].process.poll() is not None:
            cluster.start_worker(w)

    if fault.kind == "kill_worker":
        worker.kill()
        later(fault.lasts / 3, restart)
    elif fault.kind == "end_worker":
        cluster.go_on(worker.process)
        worker.process.terminate()
        later(fault.lasts, lambda: (worker.process.wait(timeout=10), restart()))
    elif fault.kind in ("stop_worker", "stop_trainer", "stop_dispatcher"):
        process = {"stop_worker": worker, "stop_trainer": trainer, "stop_dispatcher": cluster.dispatcher}[fault.kind].process
        cluster.stop(process)
        later(fault.lasts, lambda: cluster.go_on(process))
    elif fault.kind == "kill_dispatcher":
        if cluster.dispatcher.process.poll() is None:
            cluster.dispatcher.kill()
            later(fault.lasts / 3, lambda: cluster.dispatcher.process.poll() is not None and cluster.start_dispatcher())
    elif fault.kind == "kill_trainer":
        if trainer.process.poll() is None:
            trainer.kill()
            trainer.start()
    elif fault.kind == "restore_trainers":
        if all(t.checkpoints() for t in cluster.trainers.values()):
            cluster.restore_trainers()
    elif fault.kind == "cut_worker_dispatcher":
        cut(f"worker{w}", "dispatcher")
    elif fault.kind == "cut_worker_trainer":
        cut(f"worker{w}", f"trainer{t}")
    elif fault.kind == "cut_worker":
        cut(f"worker{w}", "dispatcher")
        for i in range(plan.trainers):
            cut(f"worker{w}", f"trainer{i}")
    elif fault.kind == "cut_trainer_dispatcher":
        cut(f"trainer{t}", "dispatcher")
    elif fault.kind == "cut_trainer":
        cut(f"trainer{t}", "dispatcher")
        for i in range(plan.workers):
            cut(f"trainer{t}", f"worker{i}")
    elif fault.kind == "reset_stream":
        cluster.network.reset(f"trainer{t}", f"worker{w}")
    elif fault.kind == "reset_dispatcher":
        cluster.network.reset(f"worker{w}", "dispatcher")
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


def read_logs(cluster):
    """Per epoch: how often each record was handed over, and those that a trainer may have handed over unreported before it was lost."""
    seen = collections.defaultdict(collections.Counter)
    unreported = collections.defaultdict(collections.Counter)
    in_hand = 0  # batches that a killed trainer had been handed and may not have written down
    largest = 0
    for trainer in cluster.trainers.values():
        for log, killed_at in zip(trainer.logs, trainer.killed_at):
            in_hand += killed_at is not None
            lines = log.read_text().splitlines()
            for line in lines:
                if line == "done":
                    continue
                epoch, at, *names = line.split(" ")
                seen[int(epoch)].update(names)
                largest = max(largest, len(names))
                if killed_at is not None and int(at) > killed_at - UNREPORTED_SECONDS * 1e9:
                    unreported[int(epoch)].update(names)
    return seen, unreported, in_hand * largest


def account(cluster, workload):
    """Fails when a record is missing or doubled that must not be. The numbers of those that may be."""
    plan = cluster.plan
    seen, unreported, in_hand = read_logs(cluster)
    # A trainer that was stopped, or cut off from the dispatcher, for longer than its time-out counts as lost under `reassign`.
    silenced = any(f.kind in ("stop_trainer", "stop_dispatcher", "kill_dispatcher", "cut_trainer", "cut_trainer_dispatcher")
                   for f in plan.faults)
    missing_all = doubled_all = 0
    for epoch in range(plan.epochs):
        have, want = seen[epoch], workload.expected
        missing, doubled = want - have, have - want
        if workload.counted:
            missing, doubled = collections.Counter(), have - collections.Counter({name: 1 for name in have})
            if sum(have.values()) - sum(doubled.values()) < workload.records - in_hand:
                raise Failure(f"epoch {epoch}: {sum(have.values())} of {workload.records} taken")
        unknown = [name for name in have if name not in want]
        if unknown and not workload.counted:
            raise Failure(f"epoch {epoch}: records that there are not: {unknown[:3]}")
        missing_all += sum(missing.values())
        doubled_all += sum(doubled.values())
        if plan.visitation != "at_most_once" and sum(missing.values()) > in_hand:
            raise Failure(f"epoch {epoch}: {sum(missing.values())} missing, like {list(missing)[:3]}")
        if plan.visitation == "at_least_once" or (plan.on_client_loss == "reassign" and silenced):
            continue
        beyond = doubled - unreported[epoch]
        if beyond:
            raise Failure(f"epoch {epoch}: {sum(beyond.values())} doubled, like {list(beyond)[:3]}")
    return missing_all, doubled_all


def one(seed, directory, made, can_cut, visitation=None):
    """One run. Its plan, and how it ended: seconds, missing, doubled; Failure names what was wrong."""
    plan = plans.draw(seed, len(made), can_cut, visitation)
    workload = made[plan.workload]
    directory.mkdir(parents=True, exist_ok=True)
    if workload.counted:
        plan.sharding = "dynamic"
    batches = max(1, workload.records // 16)
    with Cluster(directory, plan, workload.write(directory), workload.functions,
                 pace=plan.seconds * plan.trainers / batches / plan.epochs) as cluster:
        seconds = carry_out(cluster)
        missing, doubled = account(cluster, workload)
    return plan, workload, seconds, missing, doubled


def datasets(directory):
    made = workloads.made(directory / "made")
    data = processes.shared_data()
    if data is None:
        print("chaos: no shared/data on this machine; the made files cover the same promises", flush=True)
    else:
        made += workloads.shared(data, directory / "shared")
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--visitation", default=None)
    parser.add_argument("--keep", default=None, help="where to leave the logs of failed runs")
    args = parser.parse_args()
    why_not = network.permitted()
    if why_not:
        print(f"chaos: NO PARTITIONS: network namespaces cannot be made here ({why_not})", flush=True)
    root = pathlib.Path(tempfile.mkdtemp(prefix="headrace-chaos-"))
    made = datasets(root)
    counts, lock = collections.Counter(), threading.Lock()

    def run(seed):
        directory = root / f"run{seed}"
        started = time.monotonic()
        try:
            plan, workload, seconds, missing, doubled = one(seed, directory, made, not why_not, args.visitation)
            line = f"ok {seconds:5.1f}s {workload.name}: missing {missing} doubled {doubled}; {plan}"
            shutil.rmtree(directory)
        except Exception as error:  # the next seeds are worth knowing
            plan = plans.draw(seed, len(made), not why_not, args.visitation)
            what = str(error) if isinstance(error, Failure) else "".join(traceback.format_exception(error))
            line = f"FAILED {time.monotonic() - started:5.1f}s {made[plan.workload].name}: {what}\n  {plan}\n  logs: {directory}"
            if args.keep:
                shutil.copytree(directory, pathlib.Path(args.keep) / f"run{seed}", dirs_exist_ok=True)
        with lock:
            counts[line.split(" ")[0]] += 1
            print(line, flush=True)

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(run, range(args.seed, args.seed + args.runs)))
    print(f"{counts['ok']} of {args.runs} runs ok", flush=True)
    if counts["ok"] == args.runs:
        shutil.rmtree(root)
    return 0 if counts["ok"] == args.runs else 1


if __name__ == "__main__":
    random.seed(0)
    sys.exit(main())
