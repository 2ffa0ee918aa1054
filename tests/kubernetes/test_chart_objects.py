"""Every object of the chart is taken by a real kube-apiserver, with its admission and without a field that it does not know."""
import pathlib

import pytest
import yaml

import control_plane
from control_plane import ControlPlane
from processes import SOURCE

control_plane.need_control_plane()
if not control_plane.helm():
    pytest.skip("NOT TESTED: helm is not on this machine; run scripts/install-chart-tools.sh helm", allow_module_level=True)

ALL = yaml.safe_load(pathlib.Path(SOURCE / "tests/chart/values_all.yaml").read_text())
OF_PROMETHEUS = "monitoring.coreos.com/v1"  # kinds of its operator, which Kubernetes does not have


@pytest.fixture(scope="module")
def plane(tmp_path_factory):
    with ControlPlane(tmp_path_factory.mktemp("control-plane")) as plane:
        yield plane


@pytest.mark.parametrize("name, values", [
    ("defaults", {}),
    ("everything", ALL),
    ("orchestrator", {**ALL, "orchestrator": {"enabled": True}, "worker": {**ALL["worker"], "replicas": None}}),
])
def test_the_api_takes_every_object(plane, name, values):
    plane.namespace(name)
    for priority in ("high", "low"):
        plane.apply({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": priority}, "value": 1}, name)
    objects = control_plane.rendered(values, namespace=name)
    taken = [o for o in objects if o["apiVersion"] != OF_PROMETHEUS]
    assert {o["kind"] for o in objects if o not in taken} == ({"ServiceMonitor", "PrometheusRule"} if values else set())
    for each in taken:
        made = plane.apply(each, name)
        assert made["metadata"]["name"] == each["metadata"]["name"]
        # Again, as `helm upgrade` does: nothing changes, nothing is immutable.
        again = plane.apply(each, name)
        assert again["metadata"].get("generation") == made["metadata"].get("generation")
    kinds = {o["kind"] for o in taken}
    assert {"Deployment", "StatefulSet", "Service", "ConfigMap"} <= kinds and len(taken) == len({(o["kind"], o["metadata"]["name"]) for o in taken})


def test_an_object_with_an_unknown_field_is_refused(plane):
    plane.namespace("strict")
    service = next(o for o in control_plane.rendered({}, namespace="strict") if o["kind"] == "Service")
    service["spec"]["prots"] = []
    with pytest.raises(control_plane.Refused, match="prots"):
        plane.apply(service, "strict")
