"""A few chaos runs, of fixed seeds, for every day; `make chaos` runs hundreds."""
import os

import accounts
import processes
import pytest
import run
from plan import Fault, Plan


@pytest.fixture(scope="session")
def bench(tmp_path_factory):
    return run.Bench(tmp_path_factory.mktemp("chaos"))


def carry_out(bench, plan, directory):
    seconds, missing, doubled, hits = bench.carry_out(plan, directory)
    print(f"{bench.workloads[plan.workload].name} in {seconds:.1f}s, missing {missing}, doubled {doubled}, {hits} splits from caches; {plan}")
    return missing, doubled


@pytest.mark.parametrize("seed", range(1, 7))
def test_no_record_is_missing_or_doubled(bench, tmp_path, seed):
    carry_out(bench, bench.draw(seed, visitation="exactly_once", ordering="free", dispatchers=1), tmp_path / "run")


@pytest.mark.parametrize("seed", range(201, 204))
def test_an_ordered_epoch_is_the_same_as_undisturbed(bench, tmp_path, seed):
    carry_out(bench, bench.draw(seed, ordering="deterministic", dispatchers=1), tmp_path / "run")


@pytest.mark.parametrize("seed", range(301, 304))
def test_several_dispatchers_over_etcd_lose_and_double_nothing(bench, tmp_path, seed):
    if not bench.machine.etcd:
        pytest.skip(f"{run.ETCD} is missing (apt-get install etcd-server): runs of several dispatchers NOT made")
    carry_out(bench, bench.draw(seed, visitation="exactly_once", dispatchers=2), tmp_path / "run")


@pytest.mark.parametrize("visitation,seed", [("at_least_once", 101), ("at_most_once", 102)])
def test_other_levels_keep_what_they_promise(bench, tmp_path, visitation, seed):
    carry_out(bench, bench.draw(seed, visitation=visitation, ordering="free", dispatchers=1), tmp_path / "run")


@pytest.mark.parametrize("cache,workload,seed", [("memory", 1, 401), ("disk", 3, 402), ("both", 4, 403), ("full", 0, 404)])
def test_caches_neither_lose_nor_double_a_record(bench, tmp_path, cache, workload, seed):
    plan = bench.draw(seed, visitation="exactly_once", ordering="free", dispatchers=1, cache=cache, workload=workload)
    carry_out(bench, plan, tmp_path / "run")


def test_epochs_read_from_caches_that_are_damaged_and_whose_workers_are_killed(bench, tmp_path):
    """A worker dies within a commit, another while its rows are read, and segments are damaged under those that run."""
    faults = sorted([Fault(at=0.6, kind="kill_worker", who=1, lasts=0.3), Fault(at=1.9, kind="kill_worker", who=1, lasts=0.3),
                     *(Fault(at=1.0 + 0.2 * i, kind="damage_cache", other=i) for i in range(10))], key=lambda fault: fault.at)
    plan = Plan(seed=0, workload=1, workers=2, trainers=1, epochs=4, visitation="exactly_once", cache="disk", cache_crash=5, seconds=4.0,
                faults=faults)
    seconds, missing, doubled, hits = bench.carry_out(plan, tmp_path / "run")
    assert (missing, doubled) == (0, 0)
    assert hits > 0


def workers_die(visitation):
    """All workers, one after the other, while a slow trainer has a lot of theirs in hand."""
    kills = [Fault(at=0.4 + 0.5 * i, kind="kill_worker", who=i, lasts=0.3) for i in range(3)]
    return Plan(seed=0, workload=1, workers=3, trainers=1, epochs=1, visitation=visitation, seconds=4.0, faults=kills)


def test_at_least_once_doubles_and_at_most_once_misses_where_exactly_once_does_neither(bench, tmp_path):
    found = {level: carry_out(bench, workers_die(level), tmp_path / level) for level in ("exactly_once", "at_least_once", "at_most_once")}
    assert found["exactly_once"] == (0, 0)
    assert found["at_least_once"][0] == 0 and found["at_least_once"][1] > 0, found
    assert found["at_most_once"][0] > 0 and found["at_most_once"][1] == 0, found


def test_what_a_lost_trainer_may_have_been_handed_unheard_begins_at_its_time_out_or_the_outage_before():
    lost = 100.0
    calm = lost - accounts.CLIENT_TIMEOUT - accounts.SLACK
    assert accounts.last_heard(lost, []) == calm
    assert accounts.last_heard(lost, [(10.0, 20.0)]) == calm
    assert accounts.last_heard(lost, [(90.0, 96.5)]) == 90.0 - accounts.SLACK
    assert accounts.last_heard(lost, [(90.0, 96.5), (80.0, 88.0), (1.0, 2.0)]) == 80.0 - accounts.SLACK


def test_partitions_are_tried_on_this_machine(bench):
    if bench.why_no_cuts:
        pytest.skip(f"network namespaces cannot be made here ({bench.why_no_cuts}): runs without partitions only; "
                    f"run as root with ip from iproute2 (uid {os.getuid()}, {processes.HEADRACE})")
