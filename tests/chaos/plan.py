"""What one run does to its cluster: all of it drawn from the seed."""
import dataclasses
import random


@dataclasses.dataclass
class Fault:
    at: float  # seconds after the first record
    kind: str
    who: int = 0
    other: int = 0
    lasts: float = 0.0

    def __str__(self):
        return f"{self.at:.2f}s {self.kind} {self.who}" + (f"/{self.other}" if self.other else "") + (
            f" for {self.lasts:.2f}s" if self.lasts else "")


@dataclasses.dataclass
class Plan:
    seed: int
    workload: int
    workers: int
    trainers: int
    epochs: int
    sharding: str = "dynamic"
    visitation: str = "exactly_once"
    on_client_loss: str = "wait"
    ordering: str = "free"
    dispatchers: int = 1  # more: over one etcd
    namespaces: bool = False
    transports: str = "grpc"
    cache: str = "none"    # where workers keep rows: memory, disk, both, full (a disk that is too small)
    cache_crash: int = 0   # the first worker is killed within its so-manieth commit of a segment
    seconds: float = 2.0  # that the trainers' work takes undisturbed, about
    faults: list = dataclasses.field(default_factory=list)

    def __str__(self):
        kind = "deterministic" if self.ordering == "deterministic" else self.visitation
        return (f"seed {self.seed}: {self.dispatchers} dispatchers, {self.workers} workers, {self.trainers} trainers, {self.epochs} epochs, "
                f"{self.sharding}, {kind}, on_client_loss {self.on_client_loss}, {'namespaces, ' if self.namespaces else ''}"
                f"{self.transports}, {self.cached()}; " + "; ".join(map(str, self.faults)))


    def cached(self):
        return f"cache {self.cache}" + (f" with a crash in commit {self.cache_crash}" if self.cache_crash else "")


@dataclasses.dataclass
class Machine:
    """What this one allows."""
    namespaces: bool  # networks that can be cut
    etcd: bool
    mounts: bool = False  # file systems that are small


WORKER = ["kill_worker", "kill_worker", "stop_worker", "stop_worker", "end_worker"]
DISPATCHER = ["stop_dispatcher", "kill_dispatcher", "kill_dispatcher"]
NETWORK = ["cut_worker_dispatcher", "cut_worker_trainer", "cut_worker", "cut_trainer_dispatcher", "cut_trainer", "reset_stream",
           "reset_dispatcher"]
CACHE = ["damage_cache", "damage_cache", "kill_worker"]  # where there is one on disk
SEVERAL = ["cut_dispatcher_etcd", "cut_dispatcher_etcd", "cut_dispatcher", "kill_etcd"]  # where there are several dispatchers


def kinds_of(on_client_loss, ordering, dispatchers, cut):
    kinds = WORKER + ["stop_trainer"] + DISPATCHER
    # A killed trainer comes back: as another reader, or, waited for, all of them from a checkpoint. Ranks of an ordered epoch go on
    # together, so theirs is the second.
    kinds.append("restore_trainers" if on_client_loss == "wait" or ordering == "deterministic" else "kill_trainer")
    if cut:
        kinds += NETWORK
    if dispatchers > 1:
        kinds += DISPATCHER + [kind for kind in SEVERAL if cut or not kind.startswith("cut")]
    return kinds


def on_disk(cache):
    return cache in ("disk", "both", "full")


def cache_faults(rng, seconds, cache):
    """Beside the others, spread over the epochs that read it."""
    faults = [Fault(rng.uniform(seconds / 3, seconds), rng.choice(CACHE), rng.randrange(6), rng.randrange(1, 1000), rng.uniform(0.2, 1.0))
              for _ in range(rng.randint(1, 4))]
    return faults if on_disk(cache) else []


def draw(seed, workloads, machine, **fixed):
    """The plan of a seed. `workloads`: to choose from; `fixed`: fields that are not drawn."""
    rng = random.Random(seed)

    def choose(name, *options):
        drawn = rng.choice(options)  # also where it is fixed, so that the rest stays the same
        return fixed.get(name, drawn)

    on_client_loss = choose("on_client_loss", "wait", "reassign")
    ordering = choose("ordering", "free", "free", "free", "deterministic")
    visitation = choose("visitation", *["exactly_once"] * 5, "at_least_once", "at_most_once")
    dispatchers = choose("dispatchers", 1, 1, 1, 2) if machine.etcd else 1
    if visitation != "exactly_once" and "ordering" not in fixed:
        ordering = "free"
    if ordering == "deterministic":
        visitation = "exactly_once"
    cut = machine.namespaces and rng.random() < 0.7
    workers, trainers = rng.randint(2, 3), rng.randint(1, 2)
    seconds = rng.uniform(1.5, 3.0)
    kinds = kinds_of(on_client_loss, ordering, dispatchers, cut)
    faults = sorted((Fault(rng.uniform(0.0, seconds), rng.choice(kinds), rng.randrange(6), rng.randrange(6), rng.uniform(0.2, 3.0))
                     for _ in range(rng.randint(2, 6))), key=lambda fault: fault.at)
    workload = choose("workload", *range(len(workloads)))
    epochs = rng.choice([1, 1, 2])
    sharding = rng.choice(["dynamic", "dynamic", "dynamic", "static_file", "static_data"])
    transports = "tcp,grpc" if cut and rng.random() < 0.7 else rng.choice(["shm,tcp,grpc", "grpc"])
    if workloads[workload].counted or ordering == "deterministic":
        sharding = "dynamic"
    if ordering == "deterministic" and workloads[workload].batch % trainers != 0:
        trainers = 1
    cache = choose("cache", "none", "none", "none", "memory", "disk", "both", "full")
    if cache == "full" and not machine.mounts:
        cache = "disk"
    crash = rng.choice([0, 0, 1, 5, 20])
    faults = sorted(faults + cache_faults(rng, seconds, cache), key=lambda fault: fault.at)
    if cache != "none":
        epochs = 3  # so that it is read
    return Plan(seed=seed, workload=workload, workers=workers, trainers=trainers, epochs=epochs, sharding=sharding, visitation=visitation,
                on_client_loss=on_client_loss, ordering=ordering, dispatchers=dispatchers, namespaces=cut, transports=transports,
                cache=cache, cache_crash=crash if on_disk(cache) else 0, seconds=seconds, faults=faults)
