"""Python functions in subprocesses: what the hand-off of a block costs, and how they scale with subprocesses."""
import json
import statistics
import subprocess

LIMIT_US = 15  # of a block's hand-off


def run(context):
    out = subprocess.run([context.binary("bench_udf"), "1" if context.quick else "9"], check=True, capture_output=True, text=True)
    rates = json.loads(out.stdout)
    median = {name: statistics.median(values) for name, values in rates.items()}

    def against(value, bound):
        """Round by round: the machine's speed drifts, the ratio within a round does not."""
        return statistics.median(v / b for v, b in zip(rates[value], rates[bound]))

    # Ratios are against a limit here: limit / value, so that more is better.
    limit = {"name": f"one in {LIMIT_US} us", "value": 1e6 / LIMIT_US}
    yield {"name": "hand-offs a second by CPU time of both sides, block of 64 rows handed back", "value": 1e6 / median["same_cpu_us"],
           "unit": "blocks/s", "baseline": limit, "target": 1.0}
    # The function's own work is in these: x + 1, the array it makes, the copy out of it.
    yield {"name": "the same, a new array returned", "value": 1e6 / median["fresh_cpu_us"], "unit": "blocks/s", "baseline": limit}
    yield {"name": "hand-offs a second by the clock, one subprocess, block handed back", "value": 1e6 / median["same_us"], "unit": "blocks/s",
           "baseline": limit, "target": 1.0}
    yield {"name": "by the clock, a new array returned", "value": 1e6 / median["fresh_us"], "unit": "blocks/s", "baseline": limit}
    yield {"name": "one block at a time, there and back", "value": 1e6 / median["one_at_a_time_us"], "unit": "blocks/s",
           "baseline": {"name": "a bare message between two processes, there and back",
                        "value": 1e6 / median["one_at_a_time_us"] * against("one_at_a_time_us", "ping_pong_us")}}
    yield {"name": "blocks of 1 MiB, a new array returned", "value": (1 << 20) / median["megabyte_us"] / 1e3, "unit": "GB/s"}
    yield {"name": "cost of a record in map (one field, handed back)", "value": median["record_us"], "unit": "us"}
    # What two subprocesses cost each other: nothing, where a block takes the same CPU time as with one. How fast they are is the free cores'.
    yield {"name": "a computing function, two subprocesses, by CPU time", "value": 1e6 / median["two_cpu_us"], "unit": "blocks/s",
           "baseline": {"name": "one subprocess", "value": 1e6 / median["two_cpu_us"] * against("two_cpu_us", "one_cpu_us")}, "target": 0.9}
    yield {"name": "the same by the clock", "value": median["two_processes"], "unit": "blocks/s",
           "baseline": {"name": "one subprocess by the clock", "value": median["two_processes"] / against("two_processes", "one_process")}}
    yield {"name": "two Python processes that are handed nothing, by the clock", "value": median["two_bare"], "unit": "blocks/s",
           "baseline": {"name": "one of them", "value": median["two_bare"] / against("two_bare", "one_bare")}}
