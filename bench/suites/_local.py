"""A cluster of real processes on this host and a client in this one, for the suites that measure the client."""
import contextlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))


@contextlib.contextmanager
def loader(context, pipeline, transport="auto", **options):
    """`pipeline(hr)` streamed from one worker."""
    sys.path.insert(0, str(context.build / "python"))
    import headrace as hr
    import headrace_cluster

    with hr.connect(headrace_cluster.start(context.binary("headrace")), transport=transport) as cluster:
        with cluster.stream(pipeline(hr), **options) as stream:
            yield stream
