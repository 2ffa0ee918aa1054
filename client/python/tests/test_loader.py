"""What a loader tells of its job and of itself: options, length, stats."""
import pytest

import headrace as hr

ELEMENTS, BATCH = 4000, 8


def numbers():
    return hr.range(ELEMENTS, bytes=64).batch(BATCH)


def test_what_a_job_claims_reaches_the_dispatcher_and_errors_name_it(cluster):
    claims = {"weight": 2.5, "priority": 3, "least_workers": 0.5, "most_workers": 4}
    with hr.connect(cluster.address) as connection:
        loader = connection.stream(numbers(), job="claims", **claims)
        job = next(j for j in cluster.jobs() if j["name"] == "claims")
        assert {name: job[name] for name in claims} == claims
        with pytest.raises(hr.JobConflictError, match="priority is 0 here, 3 there"):
            connection.stream(numbers(), job="claims", **{**claims, "priority": 0})
        loader.close()
        for wrong in ({"priority": 9}, {"priority": 1 << 40}, {"weight": -1.0}, {"least_workers": float("nan")}, {"most_workers": -1}):
            with pytest.raises(ValueError, match=next(iter(wrong))):
                connection.stream(numbers(), **wrong)


@pytest.mark.parametrize("options", [{"ordering": "deterministic"}, {"uneven": "drop"}, {"uneven": "pad"}])
def test_the_length_is_that_of_the_last_whole_epoch_where_ranks_have_as_many(cluster, options):
    with hr.connect(cluster.address) as connection:
        loader = connection.stream(numbers(), **options)
        with pytest.raises(TypeError, match="read to its end"):
            len(loader)
        batches = sum(1 for _ in loader)
        assert len(loader) == batches
        part = iter(loader)
        next(part)
        assert len(loader) == batches
    with hr.connect(cluster.address) as connection:
        loader = connection.stream(numbers())
        assert sum(1 for _ in loader) >= ELEMENTS // BATCH
        with pytest.raises(TypeError, match="uneven"):
            len(loader)


def test_the_stats_say_what_the_trainer_waited_for(cluster):
    with hr.connect(cluster.address) as connection:
        loader = connection.stream(numbers())
        for batch in loader:
            pass
        stats = loader.stats
    assert stats["steps"] + (1 if stats["paused_seconds"] else 0) >= stats["elements"] - 1
    assert stats["wait_seconds"] > 0 and 0 < stats["stall_fraction"] <= 1
    assert 0 < stats["longest_wait_seconds"] <= stats["wait_seconds"]
    assert stats["usual_step_seconds"] >= 0 and stats["paused_seconds"] >= 0
