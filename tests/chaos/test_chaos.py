"""A few chaos runs, of fixed seeds, for every day; `make chaos` runs hundreds."""
import os

import network
import processes
import pytest
import run

SEEDS = range(1, 7)
LEVELS = [("at_least_once", 101), ("at_most_once", 102)]


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    return run.datasets(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="session")
def can_cut():
    why_not = network.permitted()
    if why_not:
        print(f"NO PARTITIONS: network namespaces cannot be made on this machine ({why_not})")
    return not why_not


@pytest.mark.parametrize("seed", SEEDS)
def test_no_record_is_missing_or_doubled(made, can_cut, tmp_path, seed):
    plan, workload, seconds, missing, doubled = run.one(seed, tmp_path / "run", made, can_cut)
    print(f"{workload.name} in {seconds:.1f}s, missing {missing}, doubled {doubled}; {plan}")


@pytest.mark.parametrize("visitation,seed", LEVELS)
def test_other_levels_keep_what_they_promise(made, can_cut, tmp_path, visitation, seed):
    plan, workload, seconds, missing, doubled = run.one(seed, tmp_path / "run", made, can_cut, visitation)
    print(f"{workload.name} in {seconds:.1f}s, missing {missing}, doubled {doubled}; {plan}")


def test_partitions_are_tried_on_this_machine(can_cut):
    if not can_cut:
        pytest.skip(f"network namespaces cannot be made here ({network.permitted()}): runs without partitions only; "
                    f"run as root with ip from iproute2 (uid {os.getuid()}, {processes.HEADRACE})")
