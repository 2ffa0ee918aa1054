"""What a kubelet and the controllers of Deployments and StatefulSets would do, as far as Headrace is concerned: a worker process for each
replica that the API wants; one that is too many is drained, as the chart's preStop hook does, and ends by itself."""
import threading

from control_plane import Refused
from processes import run


class Pods:
    def __init__(self, plane, cluster, scale):
        self.plane, self.cluster, self.scale = plane, cluster, scale
        self.seen = []  # numbers of replicas that the API wanted, each once, in their order
        self.live = []
        self.failure = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    def _loop(self):
        try:
            while not self._stop.wait(0.2):
                try:
                    wanted = self.plane.call("GET", self.scale)["spec"].get("replicas", 0)
                except (OSError, Refused):
                    continue  # a kubelet keeps its pods while the API is away
                if not self.seen or self.seen[-1] != wanted:
                    self.seen.append(wanted)
                while len(self.live) < wanted:
                    self.live.append(self.cluster.add_worker(wait=True))
                while len(self.live) > wanted:
                    run("drain", self.live.pop().address(), "--cluster", self.cluster.address)
        except Exception as error:  # noqa: BLE001: for the test to show
            self.failure = error

    def __enter__(self):
        return self

    def __exit__(self, exc_type, *_):
        self._stop.set()
        self._thread.join(timeout=60)
        if exc_type is None and self.failure:
            raise self.failure
