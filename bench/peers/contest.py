"""Runs contestants (bench/peers/contestants/) in turns and compares their rates.

Each is a process, with children of its own where its library starts some. All are kept alive between rounds, and rounds go round:
one epoch of each, then the next round, so that a drift of the machine meets all alike. The first round is warm-up. Whatever takes
longer than its bound is killed with all its children, and is reported as such; so is one that cannot start.
"""
import json
import os
import pathlib
import select
import signal
import statistics
import subprocess
import sys
import time
import uuid

HERE = pathlib.Path(__file__).resolve().parent
VENV = pathlib.Path(os.environ.get("HEADRACE_PEERS_VENV", HERE / ".venv"))
MARK = "HEADRACE_CONTESTANT"  # in the environment of a contestant and of every process that comes from it
TICK = os.sysconf("SC_CLK_TCK")


def two_cores():
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[:2])


def marked(mark):
    """Processes that come from the contestant."""
    wanted = f"{MARK}={mark}".encode()
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if wanted in pathlib.Path(entry.path, "environ").read_bytes().split(b"\0"):
                yield int(entry.name)
        except OSError:
            continue


class Failed(Exception):
    pass


class Contestant:
    def __init__(self, name, script, args, *, context, start_bound=90, round_bound=120, headrace=False):
        self.name, self.round_bound = name, round_bound
        self.rounds = []  # answers, warm-up left out
        self.failure = None
        self.mark = uuid.uuid4().hex
        logs = context.data / "contestants"
        logs.mkdir(exist_ok=True)
        self.log = logs / f"{script}-{name.replace(' ', '-').replace('/', '-')}.log"
        python = "/usr/bin/python3" if headrace else str(VENV / "bin" / "python")
        # No accelerator, no thread pools of BLAS beside the libraries' own, nothing fetched or reported over the network.
        env = {**os.environ, MARK: self.mark, "PYTHONPATH": f"{HERE}:{context.build / 'python'}" if headrace else str(HERE),
               "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "2", "RAY_USAGE_STATS_ENABLED": "0", "HF_HUB_OFFLINE": "1",
               "PYTHONDONTWRITEBYTECODE": "1"}
        if not pathlib.Path(python).exists():
            self.process = None
            self.failure = "not installed: bench/peers/install"
            return
        args = {**args, "headrace": context.binary("headrace") if headrace else None}
        self.process = subprocess.Popen([python, str(HERE / "contestants" / f"{script}.py"), json.dumps(args)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.log.open("wb"), env=env, start_new_session=True)
        self._guarded(lambda: self._answer(start_bound))

    def _guarded(self, act):
        try:
            return act()
        except (Failed, OSError) as error:
            self.failure = str(error)
            print(f"{self.name}: {self.failure} ({self.log})", file=sys.stderr)
            self.kill()
            return None

    def _answer(self, bound):
        deadline = time.monotonic() + bound
        line = b""
        while not line.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Failed(f"took longer than {bound} s")
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                raise Failed(f"ended by itself (exit code {self.process.wait()})")
            line += more
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def cpu_seconds(self):
        """Of all its processes that live."""
        ticks = 0
        for pid in marked(self.mark):
            try:
                fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
                ticks += int(fields[11]) + int(fields[12]) + int(fields[13]) + int(fields[14])
            except OSError:
                continue
        return ticks / TICK

    def round(self, keep):
        if self.failure:
            return

        def act():
            before = self.cpu_seconds()
            self.process.stdin.write(b"round\n")
            self.process.stdin.flush()
            answer = self._answer(self.round_bound)
            return {**answer, "cpu_seconds": max(0.0, self.cpu_seconds() - before)}

        answer = self._guarded(act)
        if answer and keep:
            self.rounds.append(answer)
        self.settle()

    def settle(self, bound=10, step=0.25):
        """Waits until it rests: what a library makes ahead after its round must not take the next one's cores."""
        deadline = time.monotonic() + bound
        before = self.cpu_seconds()
        while time.monotonic() < deadline:
            time.sleep(step)
            now = self.cpu_seconds()
            if now - before < 0.1 * step:
                return
            before = now

    def kill(self):
        """Twice: a process may start another while we look."""
        if self.process is None:
            return
        self.process.stdin.close()
        if self.failure is None:  # it may say goodbye
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                pass
        for _ in range(2):
            for pid in marked(self.mark):
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
        self.process.wait()

    def rates(self, key="records"):
        return [r[key] / r["seconds"] for r in self.rounds]


def compete(context, contestants, rounds):
    """contestants: list of keyword dicts of Contestant. Returns them after warm-up and `rounds` rounds, ended."""
    affinity = os.sched_getaffinity(0)
    two_cores()
    running = []
    try:
        for options in contestants:
            print(f"  {options['name']} ...", file=sys.stderr)
            running.append(Contestant(context=context, **options))
        for number in range(rounds + 1):
            for contestant in running:
                contestant.round(keep=number > 0)
    finally:
        for contestant in running:
            contestant.kill()
        os.sched_setaffinity(0, affinity)
    return running


def rows(name, unit, ours, peers, targets, key="records"):
    """A row per peer: Headrace's rate against its; the ratio is the median over rounds of the ratio within a round."""
    if ours.failure or not ours.rounds:
        for peer in peers:
            yield {"name": name, "value": 0.0, "unit": unit, "target": targets.get(peer.name), "baseline": {"name": peer.name, "value": None},
                   "failure": f"Headrace itself: {ours.failure or 'no round'}"}
        return
    ours_rates = ours.rates(key)
    for peer in peers:
        row = {"name": name, "value": statistics.median(ours_rates), "unit": unit, "target": targets.get(peer.name),
               "range": [min(ours_rates), max(ours_rates)], "batch": ours.rounds[0].get("batch"),
               "cpu_seconds": cpu_per_record(ours, key)}
        if peer.failure or not peer.rounds:
            yield {**row, "baseline": {"name": peer.name, "value": None}, "failure": peer.failure or "no round"}
            continue
        theirs = peer.rates(key)
        ratios = [a / b for a, b in zip(ours_rates, theirs)]
        yield {**row, "ratio": statistics.median(ratios), "ratio_range": [min(ratios), max(ratios)], "rounds": len(ratios),
               "baseline": {"name": peer.name, "value": statistics.median(theirs), "range": [min(theirs), max(theirs)],
                            "batch": peer.rounds[0].get("batch"), "cpu_seconds": cpu_per_record(peer, key)}}


def cpu_per_record(contestant, key):
    """CPU seconds of all its processes per record: what a rate does not say."""
    return statistics.median(r["cpu_seconds"] / r[key] for r in contestant.rounds)
