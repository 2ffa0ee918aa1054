"""The driver `kubernetes` against a real kube-apiserver: the orchestrator as the chart sets it up, with its own service account and Role."""
import contextlib
import json
import signal
import subprocess

import pytest
import yaml

import control_plane
from control_plane import ControlPlane
from pods import Pods
from processes import HEADRACE, Cluster, run, wait_for

control_plane.need_control_plane()

SPACE = "ml"


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    with ControlPlane(tmp_path_factory.mktemp("control-plane")) as plane:
        plane.namespace(SPACE)
        yield plane


@contextlib.contextmanager
def orchestrator(plane, cluster, directory, name, config, token):
    """`headrace orchestrator` with what a pod would find in its place given by flags, and quick windows."""
    (directory / f"{name}.yaml").write_text(config)
    (directory / f"{name}.token").write_text(token + "\n")
    log = open(directory / f"{name}.log", "ab")
    process = subprocess.Popen(
        [str(HEADRACE), "orchestrator", "--config", str(directory / f"{name}.yaml"), "--dispatcher", cluster.address, "--metrics-listen", "",
         "--kubernetes.url", plane.url, "--kubernetes.ca-file", str(plane.ca_file), "--kubernetes.token-file", str(directory / f"{name}.token"),
         "--kubernetes.namespace", SPACE, "--window", "2s", "--poll", "300ms", "--idle-time", "4s"], stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        log.close()


@contextlib.contextmanager
def job(cluster, directory, name, row_seconds=0.01):
    """Somebody reads rows that wait, as fast as they come."""
    pipeline = directory / f"{name}.yaml"
    pipeline.write_text(json.dumps({"name": name, "source": {"format": "range", "elements": 10_000_000, "split_elements": 50},
                                    "steps": [{"sleep": row_seconds}, {"batch": {"size": 5}}]}))
    process = subprocess.Popen([str(HEADRACE), "run", str(pipeline), "--cluster", cluster.address, "--job", name], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        yield
        # Killed it would be waited for: it may come back. So it says goodbye.
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
    finally:
        process.kill()
        process.wait()


def replicas(plane, scale):
    return plane.call("GET", scale)["spec"].get("replicas", 0)


def delivered(cluster):
    return sum(j["delivered"] for j in cluster.jobs())


def test_the_charts_orchestrator_scales_the_charts_workers(plane, tmp_path):
    if not control_plane.helm():
        pytest.skip("left out: helm is not on this machine; run scripts/install-chart-tools.sh helm")
    objects = control_plane.rendered({"orchestrator": {"enabled": True, "config": {"max_workers": 3}}, "worker": {"replicas": None}}, namespace=SPACE)
    for each in objects:
        plane.apply(each, SPACE)
    config = next(o for o in objects if o["kind"] == "ConfigMap" and "orchestrator.yaml" in o["data"])["data"]["orchestrator.yaml"]
    workers = f"/apis/apps/v1/namespaces/{SPACE}/deployments/r-headrace-worker"
    scale = workers + "/scale"
    token = plane.token("r-headrace-orchestrator", SPACE)

    # The Role: this number and nothing else.
    assert plane.status_of("GET", scale, token=token) == 200
    for path in (workers, f"/apis/apps/v1/namespaces/{SPACE}/deployments/r-headrace-orchestrator/scale",
                 f"/apis/apps/v1/namespaces/{SPACE}/statefulsets/r-headrace-dispatcher/scale", f"/api/v1/namespaces/{SPACE}/secrets",
                 f"/api/v1/namespaces/{SPACE}/pods"):
        assert plane.status_of("GET", path, token=token) == 403, path
    assert plane.status_of("PATCH", workers, {"spec": {"replicas": 9}}, "application/merge-patch+json", token=token) == 403
    assert replicas(plane, scale) == 1

    with Cluster(tmp_path, workers=0, worker_args=("--compute-threads", "1")) as cluster, Pods(plane, cluster, scale) as pods, \
            orchestrator(plane, cluster, tmp_path, "orchestrator", config, token) as process:
        log = tmp_path / "orchestrator.log"
        with job(cluster, tmp_path, "hungry"):
            wait_for(lambda: len(pods.live) == 3, 90, "three workers: " + log.read_text()[-2000:])
            assert pods.seen[0] == 1 and max(pods.seen) == 3  # never over max_workers

            # The API goes away: the fleet stays, the job goes on, the orchestrator lives.
            plane.kill()
            begin = delivered(cluster)
            wait_for(lambda: "driver kubernetes: UNAVAILABLE" in log.read_text(), 60, "the orchestrator to notice")
            wait_for(lambda: delivered(cluster) > begin + 100, 60, "records while the API is away")
            assert process.poll() is None and len(pods.live) == 3
            plane.start()
            # Somebody else's hand is seen, and decided upon: more than may be goes back.
            plane.call("PATCH", scale, {"spec": {"replicas": 5}}, "application/merge-patch+json")
            wait_for(lambda: 5 in pods.seen and pods.seen[-1] <= 3, 90, "the fleet within max_workers again")
        # Its end: from here on nothing is asked for.
        wait_for(lambda: replicas(plane, scale) == 1, 120, "one worker without a job")
        assert process.poll() is None
        decisions = json.loads(run("top", "--once", "--seconds", 0.5, "--decisions", 50, "--cluster", cluster.address, "--output", "json").stdout)["decisions"]
    reasons = [d["reason"] for d in decisions if d["verb"] == "set_workers"]
    assert any("'hungry' waits" in r and "(1 -> 3 workers)" in r for r in reasons), reasons
    assert any("max_workers is lower (5 -> 3 workers)" in r for r in reasons), reasons
    assert any("no job has been read" in r and "-> 1 workers)" in r for r in reasons), reasons


def role(plane, name, resource):
    """A service account that may scale one StatefulSet; its token."""
    plane.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}, SPACE)
    plane.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name},
                 "rules": [{"apiGroups": ["apps"], "resources": ["statefulsets/scale"], "resourceNames": [resource], "verbs": ["get", "patch"]}]}, SPACE)
    plane.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name},
                 "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
                 "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": SPACE}]}, SPACE)
    return plane.token(name, SPACE)


def stateful_set(plane, name):
    labels = {"app": name}
    plane.apply({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
                 "spec": {"serviceName": name, "selector": {"matchLabels": labels},
                          "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "worker", "image": "worker"}]}}}}, SPACE)
    return f"/apis/apps/v1/namespaces/{SPACE}/statefulsets/{name}"


def test_a_change_that_was_decided_on_an_old_state_is_refused(plane):
    """What the driver builds on: a merge patch of `scale` is refused when its resourceVersion is not the present one."""
    scale = stateful_set(plane, "versions") + "/scale"
    token = role(plane, "versions", "versions")
    old = plane.call("GET", scale, token=token)["metadata"]["resourceVersion"]

    def change(version, count):
        body = {"metadata": {"resourceVersion": version}, "spec": {"replicas": count}}
        return plane.call("PATCH", scale, body, "application/merge-patch+json", token=token)

    new = change(old, 4)
    assert new["spec"]["replicas"] == 4 and new["metadata"]["resourceVersion"] != old
    with pytest.raises(control_plane.Refused) as refused:
        change(old, 7)
    assert refused.value.status == 409
    assert replicas(plane, scale) == 4


def test_two_orchestrators_at_once_do_not_push_the_fleet_about(plane, tmp_path):
    path = stateful_set(plane, "workers")
    scale = path + "/scale"
    token = role(plane, "scalers", "workers")
    config = yaml.safe_dump({"driver": "kubernetes", "min_workers": 1, "max_workers": 3, "kubernetes": {"kind": "statefulset", "name": "workers"}})
    with Cluster(tmp_path, workers=0, worker_args=("--compute-threads", "1")) as cluster, Pods(plane, cluster, scale) as pods, \
            orchestrator(plane, cluster, tmp_path, "first", config, token) as first, \
            orchestrator(plane, cluster, tmp_path, "second", config, token) as second:
        with job(cluster, tmp_path, "hungry"):
            wait_for(lambda: len(pods.live) == 3, 90, "three workers")
            begin = delivered(cluster)
            wait_for(lambda: delivered(cluster) > begin + 3000, 90, "ten seconds of three workers' records")
            assert replicas(plane, scale) == 3
            # Each change of the spec is a generation: up, and no more.
            assert plane.call("GET", path)["metadata"]["generation"] <= 3
            assert pods.seen == sorted(pods.seen)
            # One of them is gone: the other goes on.
            first.kill()
            first.wait()
        wait_for(lambda: replicas(plane, scale) == 1, 120, "one worker without a job")
        assert second.poll() is None
    assert len(pods.seen) <= 4, pods.seen
