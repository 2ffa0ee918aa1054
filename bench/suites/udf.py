"""Python functions in subprocesses: what the hand-off of a block costs, and how they scale with subprocesses."""
import json
import statistics
import subprocess

LIMIT_US = 15  # of a block's hand-off


def run(context):
    out = subprocess.run([context.binary("bench_udf"), "1" if context.quick else "9"], check=True, capture_output=True, text=True)
    rates = json.loads(out.stdout)
    median = {name: statistics.median(values) for name, values in rates.items()}
    # Ratios are against a limit here: limit / value, so that more is better.
    yield {"name": "hand-offs a second, one subprocess, block of 64 rows handed back", "value": 1e6 / median["same_us"], "unit": "blocks/s",
           "baseline": {"name": f"one in {LIMIT_US} us", "value": 1e6 / LIMIT_US}, "target": 1.0}
    yield {"name": "CPU time of a hand-off, both sides", "value": median["same_cpu_us"], "unit": "us"}
    yield {"name": "the same, a new array returned", "value": 1e6 / median["fresh_us"], "unit": "blocks/s",
           "baseline": {"name": f"one in {LIMIT_US} us", "value": 1e6 / LIMIT_US}}
    yield {"name": "one block at a time, there and back", "value": median["one_at_a_time_us"], "unit": "us"}
    yield {"name": "blocks of 1 MiB, a new array returned", "value": (1 << 20) / median["megabyte_us"] / 1e3, "unit": "GB/s"}
    yield {"name": "cost of a record in map (one field, handed back)", "value": median["record_us"], "unit": "us"}
    # Round by round: the machine's speed drifts, the ratio within a round does not.
    ratio = statistics.median(t / o for o, t in zip(rates["one_process"], rates["two_processes"]))
    yield {"name": "a computing function, two subprocesses", "value": median["two_processes"], "unit": "blocks/s",
           "baseline": {"name": "one subprocess", "value": median["two_processes"] / ratio}, "target": 1.6}
