"""Functions that workers run in the chaos runs."""


def cut(record):
    """As many parts as its id says."""
    for part in range(int(record["id"]) % 4):
        yield {"id": record["id"], "part": part}
