"""The chart's orchestrator: what it may do in the cluster, and that the binary takes its config."""
import subprocess

import yaml

import tools

HELM = tools.Helm()
VALUES = {"orchestrator": {"enabled": True, "config": {"max_workers": 100, "prices": {"trainer": 30}}}, "worker": {"replicas": None}}
NAME = "r-headrace-orchestrator"


def test_it_is_off_by_default():
    assert not [name for name in HELM.objects() if name[1] == NAME]


def test_it_may_scale_the_workers_and_nothing_else():
    objects = HELM.objects(VALUES)
    assert objects["Role", NAME]["rules"] == [
        {"apiGroups": ["apps"], "resources": ["deployments/scale"], "resourceNames": ["r-headrace-worker"], "verbs": ["get", "patch"]}]
    binding = objects["RoleBinding", NAME]
    assert binding["roleRef"]["name"] == NAME and binding["subjects"] == [{"kind": "ServiceAccount", "name": NAME, "namespace": "ml"}]
    pod = objects["Deployment", NAME]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == NAME and pod["automountServiceAccountToken"]
    assert "replicas" not in objects["Deployment", "r-headrace-worker"]["spec"]
    for other in (objects["Deployment", "r-headrace-worker"], objects["StatefulSet", "r-headrace-dispatcher"]):
        assert not other["spec"]["template"]["spec"]["automountServiceAccountToken"]


def test_replicas_that_upgrades_would_set_back_are_refused():
    assert "worker.replicas" in HELM.refusal({"orchestrator": {"enabled": True}})


def test_what_the_chart_owns_is_refused_and_what_is_unknown_named():
    assert "the chart sets it" in HELM.refusal({**VALUES, "orchestrator": {"enabled": True, "config": {"driver": "none"}}})
    assert "unknown key" in HELM.refusal({**VALUES, "orchestrator": {"enabled": True, "config": {"workers": 3}}})


def test_every_object_is_one_for_kubernetes():
    rendered = HELM.try_template(values=VALUES).stdout
    done = tools.run(tools.tool("headrace-objects", "objects"), check=False, input=rendered)
    assert done.returncode == 0, done.stderr


def test_the_binary_takes_its_config(tmp_path):
    text = HELM.objects(VALUES)["ConfigMap", NAME]["data"]["orchestrator.yaml"]
    (tmp_path / "orchestrator.yaml").write_text(text)
    done = subprocess.run([tools.headrace(), "orchestrator", "--config", str(tmp_path / "orchestrator.yaml"), "--print-config"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    config = yaml.safe_load(done.stdout)
    assert config["driver"] == "kubernetes" and config["kubernetes"]["name"] == "r-headrace-worker"
    assert config["max_workers"] == 100 and config["prices"] == {"trainer": 30, "worker": 1}
