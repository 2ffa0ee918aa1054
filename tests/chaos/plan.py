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
    sharding: str
    visitation: str
    on_client_loss: str
    namespaces: bool
    transports: str
    seconds: float  # that the trainers' work takes undisturbed, about
    faults: list

    def __str__(self):
        return (f"seed {self.seed}: {self.workers} workers, {self.trainers} trainers, {self.epochs} epochs, {self.sharding}, "
                f"{self.visitation}, on_client_loss {self.on_client_loss}, {'namespaces, ' if self.namespaces else ''}{self.transports}; "
                + "; ".join(map(str, self.faults)))


WORKER = ["kill_worker", "kill_worker", "stop_worker", "stop_worker", "end_worker"]
NETWORK = ["cut_worker_dispatcher", "cut_worker_trainer", "cut_worker", "cut_trainer_dispatcher", "cut_trainer", "reset_stream",
           "reset_dispatcher"]


def draw(seed, workloads, namespaces, visitation=None):
    """The plan of a seed. `workloads`: how many there are to choose from; `namespaces`: whether networks can be cut here."""
    rng = random.Random(seed)
    on_client_loss = rng.choice(["wait", "reassign"])
    cut = namespaces and rng.random() < 0.7
    kinds = list(WORKER) + ["stop_trainer", "stop_dispatcher", "kill_dispatcher", "kill_dispatcher"]
    # A killed trainer comes back: as another reader, or, waited for, all of them from a checkpoint.
    kinds.append("kill_trainer" if on_client_loss == "reassign" else "restore_trainers")
    if cut:
        kinds += NETWORK
    workers, trainers = rng.randint(2, 3), rng.randint(1, 2)
    seconds = rng.uniform(1.5, 3.0)
    faults = sorted((Fault(rng.uniform(0.0, seconds), rng.choice(kinds), rng.randrange(6), rng.randrange(6), rng.uniform(0.2, 3.0))
                     for _ in range(rng.randint(2, 6))), key=lambda fault: fault.at)
    return Plan(seed=seed, workload=rng.randrange(workloads), workers=workers, trainers=trainers, epochs=rng.choice([1, 1, 2]),
                sharding=rng.choice(["dynamic", "dynamic", "dynamic", "static_file", "static_data"]),
                visitation=visitation or "exactly_once", on_client_loss=on_client_loss, namespaces=cut,
                transports="tcp,grpc" if cut and rng.random() < 0.7 else rng.choice(["shm,tcp,grpc", "grpc"]), seconds=seconds, faults=faults)
