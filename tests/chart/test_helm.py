"""The chart: what it renders, what it refuses, and that the binary takes the config files it makes."""
import copy
import json
import os
import subprocess

import pytest
import yaml

import processes
import tools

HELM = tools.Helm()
ALL = yaml.safe_load((tools.SOURCE / "tests/chart/values_all.yaml").read_text())
ROLES = {"dispatcher": ("StatefulSet", "r-headrace-dispatcher"), "worker": ("Deployment", "r-headrace-worker")}


@pytest.fixture(scope="module")
def default():
    return HELM.objects()


@pytest.fixture(scope="module")
def everything():
    return HELM.objects(ALL)


def pod_of(objects, role):
    return objects[ROLES[role]]["spec"]["template"]


def pods(objects):
    return [pod_of(objects, "dispatcher"), pod_of(objects, "worker"), *(o for (kind, _), o in objects.items() if kind == "Pod")]


def config_of(objects, role):
    return objects["ConfigMap", f"r-headrace-{role}"]["data"][f"{role}.yaml"]


@pytest.mark.parametrize("arguments", [[], ["--values", str(tools.SOURCE / "tests/chart/values_all.yaml")]], ids=["default", "all"])
def test_helm_finds_nothing_to_complain_about(arguments):
    done = HELM.lint(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_rendered_by_default(default):
    assert sorted(default) == sorted([
        ("ConfigMap", "r-headrace-dispatcher"), ("ConfigMap", "r-headrace-worker"), ("ConfigMap", "r-headrace-test"), ("Pod", "r-headrace-test"),
        ("Deployment", "r-headrace-worker"), ("StatefulSet", "r-headrace-dispatcher"), ("PodDisruptionBudget", "r-headrace-worker"),
        ("Service", "r-headrace-dispatcher"), ("Service", "r-headrace-dispatcher-pods"), ("Service", "r-headrace-worker"),
        ("ServiceAccount", "r-headrace")])


def test_what_is_rendered_with_every_feature(default, everything):
    assert sorted(set(everything) - set(default)) == sorted([
        ("ConfigMap", "r-headrace-dashboards"), ("NetworkPolicy", "r-headrace-dispatcher"), ("NetworkPolicy", "r-headrace-worker"),
        ("PodDisruptionBudget", "r-headrace-dispatcher"), ("PrometheusRule", "r-headrace"), ("ServiceMonitor", "r-headrace")])


def checked(text):
    """What Kubernetes' own types say to objects, strictly read."""
    return tools.run(tools.tool("headrace-objects", "objects"), check=False, input=text)


@pytest.mark.parametrize("values", [{}, ALL], ids=["default", "all"])
def test_every_object_is_one_for_kubernetes(values):
    rendered = HELM.try_template(values=values).stdout
    done = checked(rendered)
    assert done.returncode == 0, done.stderr
    of_others = [line.split("Kind=")[1].split()[0] for line in done.stdout.splitlines() if line.startswith("unknown type:")]
    assert of_others == (["PrometheusRule", "ServiceMonitor"] if values else [])
    assert len(done.stdout.splitlines()) == len([o for o in yaml.safe_load_all(rendered) if o])


def test_a_wrong_field_and_a_wrong_type_are_found():
    rendered = HELM.try_template().stdout
    assert "enableServiceLinkz" in checked(rendered.replace("enableServiceLinks", "enableServiceLinkz", 1)).stderr
    assert "replicas" in checked(rendered.replace("replicas: 2", 'replicas: "two"', 1)).stderr


@pytest.mark.parametrize("which", ["default", "everything"])
def test_every_object_has_its_namespace_and_labels(which, request):
    for name, thing in request.getfixturevalue(which).items():
        assert thing["metadata"]["namespace"] == "ml", name
        assert thing["metadata"]["labels"]["app.kubernetes.io/instance"] == "r", name


@pytest.mark.parametrize("which", ["default", "everything"])
def test_pods_keep_to_the_restricted_profile(which, request):
    for pod in pods(request.getfixturevalue(which)):
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not spec["automountServiceAccountToken"] and not spec["enableServiceLinks"]
        for container in spec["containers"]:
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] and not context["allowPrivilegeEscalation"]
            assert context["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize("which", ["default", "everything"])
def test_selectors_find_the_pods_and_ports_have_names_there(which, request):
    objects = request.getfixturevalue(which)
    labels = {role: pod_of(objects, role)["metadata"]["labels"] for role in ROLES}
    ports = {role: {p["name"] for p in pod_of(objects, role)["spec"]["containers"][0]["ports"]} for role in ROLES}
    for (kind, name), thing in objects.items():
        spec = thing.get("spec", {})
        selector = {"Service": lambda: spec["selector"], "NetworkPolicy": lambda: spec["podSelector"]["matchLabels"]}.get(
            kind, lambda: spec.get("selector", {}).get("matchLabels"))()
        if not selector or kind == "ServiceMonitor":
            continue
        matched = [role for role in ROLES if selector.items() <= labels[role].items()]
        assert matched == [selector["app.kubernetes.io/component"]], (kind, name)
        if kind == "Service":
            assert {p["targetPort"] for p in spec["ports"]} <= ports[matched[0]], name
    for role in ROLES:
        container = pod_of(objects, role)["spec"]["containers"][0]
        mounts = [m["name"] for m in container["volumeMounts"]]
        claims = [c["metadata"]["name"] for c in objects[ROLES[role]]["spec"].get("volumeClaimTemplates", [])]
        assert sorted(mounts) == sorted([v["name"] for v in pod_of(objects, role)["spec"]["volumes"]] + claims)
        for probe in ("readinessProbe", "livenessProbe"):
            assert container[probe]["httpGet"]["port"] in ports[role]


def test_the_service_monitor_finds_each_pod_once(everything):
    wanted = everything["ServiceMonitor", "r-headrace"]["spec"]["selector"]["matchLabels"]
    found = [name for (kind, name), o in everything.items() if kind == "Service" and wanted.items() <= o["metadata"]["labels"].items()]
    assert sorted(found) == ["r-headrace-dispatcher-pods", "r-headrace-worker"]
    for name in found:
        assert "metrics" in {p["name"] for p in everything["Service", name]["spec"]["ports"]}


def changes(before, after, at=""):
    """{path: new value} of two nested dicts with the same keys."""
    assert before.keys() == after.keys(), at
    out = {}
    for key, value in before.items():
        if isinstance(value, dict):
            out.update(changes(value, after[key], f"{at}{key}."))
        elif value != after[key]:
            out[at + key] = after[key]
    return out


def printed(role, *arguments, env=None):
    """The config as the program understands it."""
    done = tools.run(tools.headrace(), role, *arguments, "--print-config", env={**os.environ, **(env or {})})
    return yaml.safe_load(done.stdout)


@pytest.mark.parametrize("role", ROLES)
def test_the_program_takes_the_config_and_only_what_the_chart_sets_differs(role, default, tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(config_of(default, role))
    got = changes(printed(role), printed(role, "--config", path))
    want = {"metrics_listen": "0.0.0.0:9090", "roots": ["/data"]}
    if role == "dispatcher":
        want.update({"listen": "0.0.0.0:5050", "journal.directory": "/var/lib/headrace/journal"})
    else:
        want.update({"dispatcher": "r-headrace-dispatcher.ml:5050", "listen": "0.0.0.0:5051", "tcp_listen": "0.0.0.0:5052", "transports": ["tcp", "grpc"],
                     "connect_timeout": 0})
    assert got == want


def test_the_program_takes_what_values_change(everything, tmp_path):
    for role in ROLES:
        (tmp_path / f"{role}.yaml").write_text(config_of(everything, role))
    got = changes(printed("dispatcher"), printed("dispatcher", "--config", tmp_path / "dispatcher.yaml"))
    tls = {"tls.cert": "/etc/headrace-tls/tls.crt", "tls.key": "/etc/headrace-tls/tls.key", "tls.ca": "/etc/headrace-tls/ca.crt"}
    token = {"token_file": "/etc/headrace-token/token"}
    assert {k: got[k] for k in (*tls, *token)} == {**tls, **token}
    assert {k: got[k] for k in ("worker_timeout", "limits.max_jobs", "limits.max_splits", "log.format", "roots", "listen")} == {
        "worker_timeout": "10s", "limits.max_jobs": 50, "limits.max_splits": 20000000, "log.format": "json", "roots": ["/data/imagenet"],
        "listen": "[::]:5050"}
    got = changes(printed("worker"), printed("worker", "--config", tmp_path / "worker.yaml"))
    assert {k: got[k] for k in ("checksums", "io_threads", "udf", "tags", *tls, *token)} == {
        "checksums": False, "io_threads": 8, "udf": "import", "tags": ["a", "b"], **tls, **token}


def test_rules_and_dashboards_are_the_files_that_are_tested(everything):
    assert everything["PrometheusRule", "r-headrace"]["spec"] == yaml.safe_load(tools.ALERTS.read_text())
    boards = everything["ConfigMap", "r-headrace-dashboards"]
    assert boards["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert boards["data"].keys() == {f"headrace-{path.name}" for path in tools.DASHBOARDS}
    for path in tools.DASHBOARDS:
        assert json.loads(boards["data"][f"headrace-{path.name}"]) == json.loads(path.read_text())


def test_each_worker_has_its_own_address_and_as_many_threads_as_cores(default, everything):
    env = {e["name"]: e for e in pod_of(default, "worker")["spec"]["containers"][0]["env"]}
    assert list(env)[0] == "POD_IP"  # before what is made of it
    assert env["HEADRACE_WORKER_ADVERTISE"]["value"] == "$(POD_IP):5051"
    assert env["HEADRACE_WORKER_COMPUTE_THREADS"]["valueFrom"]["resourceFieldRef"] == {"containerName": "worker", "resource": "requests.cpu"}
    given = printed("worker", env={"HEADRACE_WORKER_ADVERTISE": "10.1.2.3:5051", "HEADRACE_WORKER_COMPUTE_THREADS": "2"})
    assert given["advertise"] == "10.1.2.3:5051" and given["compute_threads"] == 2
    env = [e["name"] for e in pod_of(everything, "worker")["spec"]["containers"][0]["env"]]
    assert "HEADRACE_WORKER_COMPUTE_THREADS" not in env  # the values name a number


def test_with_certificates_a_worker_is_dialled_by_name(everything):
    container = pod_of(everything, "worker")["spec"]["containers"][0]
    script = container["args"][0].replace("exec headrace worker", "echo $HEADRACE_WORKER_ADVERTISE #")
    out = tools.run("/bin/sh", "-c", script, env={"POD_IP": "10.1.2.3", "PATH": os.environ["PATH"]}).stdout
    assert out.strip() == "10-1-2-3.r-headrace-worker.ml.svc.cluster.local:5051"


def test_an_image_by_tag_and_by_digest(default, everything):
    assert {c["image"] for p in pods(default) for c in p["spec"]["containers"]} == {"headrace:0.1.0"}
    assert {c["image"] for p in pods(everything) for c in p["spec"]["containers"]} == {"headrace@sha256:" + "a" * 64}


def test_null_replicas_belong_to_somebody_else():
    assert "replicas" not in HELM.objects({"worker": {"replicas": None}})["Deployment", "r-headrace-worker"]["spec"]


def test_a_changed_config_restarts_its_pods_and_no_others(default):
    changed = HELM.objects({"worker": {"config": {"io_threads": 5}}})
    sums = [{role: pod_of(o, role)["metadata"]["annotations"]["checksum/config"] for role in ROLES} for o in (default, changed)]
    assert sums[0]["worker"] != sums[1]["worker"] and sums[0]["dispatcher"] == sums[1]["dispatcher"]


def test_where_the_journal_lies(default):
    claim = default[ROLES["dispatcher"]]["spec"]["volumeClaimTemplates"][0]["spec"]
    assert claim["resources"]["requests"]["storage"] == "8Gi" and "storageClassName" not in claim
    for persistence, volume in (({"enabled": False}, {"emptyDir": {}}), ({"existingClaim": "mine"}, {"persistentVolumeClaim": {"claimName": "mine"}})):
        spec = HELM.objects({"dispatcher": {"persistence": persistence}})[ROLES["dispatcher"]]["spec"]
        assert "volumeClaimTemplates" not in spec
        assert {"name": "journal", **volume} in spec["template"]["spec"]["volumes"]


def test_long_names_stay_valid():
    for kind, name in HELM.objects(release="a-release-whose-name-is-as-long-as-helm-lets-it-be-xx"):
        assert len(name) <= (52 if kind in ("StatefulSet", "Deployment") else 63), (kind, name)  # pods add eleven characters


@pytest.mark.parametrize("values,words", [
    ({"imagee": {}}, "imagee"),
    ({"image": {"tag": 1.5}}, "tag"),
    ({"image": {"digest": "latest"}}, "digest"),
    ({"image": {"repository": "headrace:latest"}}, "repository"),
    ({"image": {"pullPolicy": "Sometimes"}}, "pullPolicy"),
    ({"worker": {"replicas": -1}}, "replicas"),
    ({"worker": {"replicas": "2"}}, "replicas"),
    ({"worker": {"ports": {"grpc": 70000}}}, "grpc"),
    ({"worker": {"resource": {}}}, "resource"),
    ({"worker": {"podDisruptionBudget": {"maxUnavailable": "150%"}}}, "maxUnavailable"),
    ({"worker": {"podDisruptionBudget": {"maxUnavailable": None}}}, "podDisruptionBudget"),
    ({"worker": {"extraEnv": [{"value": "x"}]}}, "extraEnv"),
    ({"dispatcher": {"replicas": 2}}, "replicas"),
    ({"dispatcher": {"persistence": {"size": "lots"}}}, "size"),
    ({"dispatcher": {"persistence": {"accessModes": ["ReadOnlyMany"]}}}, "accessModes"),
    ({"data": {"volumeMounts": [{"name": "d", "mountPath": "data"}]}}, "mountPath"),
    ({"data": {"roots": ["data"]}}, "roots"),
    ({"metrics": {"serviceMonitor": {"interval": "15"}}}, "interval"),
    ({"networkPolicy": {"clients": {}}}, "clients"),
    ({"listenHost": "127.0.0.1"}, "listenHost"),
], ids=lambda x: x if isinstance(x, str) else "")
def test_the_schema_refuses(values, words):
    said = HELM.refusal(values)
    assert "don't meet the specifications of the schema" in said and words in said


def test_an_unknown_config_key_is_refused_by_name():
    assert "dispatcher.config.limits.max_job: unknown key" in HELM.refusal({"dispatcher": {"config": {"limits": {"max_job": 1}}}})
    assert "worker.config.io_thread: unknown key" in HELM.refusal({"worker": {"config": {"io_thread": 1}}})
    assert "worker.config.log: expected a section" in HELM.refusal({"worker": {"config": {"log": "debug"}}})


@pytest.mark.parametrize("role,config", [("worker", {"listen": "x:1"}), ("worker", {"tls": {"cert": "x"}}), ("dispatcher", {"roots": ["/"]})])
def test_a_key_that_the_chart_sets_is_refused(role, config):
    assert "the chart sets it" in HELM.refusal({role: {"config": config}})


def test_false_and_zero_in_values_win_over_the_default(everything):
    assert yaml.safe_load(config_of(everything, "worker"))["checksums"] is False
    job_grace = HELM.objects({"dispatcher": {"config": {"job_grace": "0s", "max_task_errors": 0}}})
    assert yaml.safe_load(config_of(job_grace, "dispatcher"))["max_task_errors"] == 0


def test_the_values_of_the_docs_are_those_of_the_chart():
    """Every value that docs/kubernetes.md names in its table exists."""
    values = yaml.safe_load((tools.CHART / "values.yaml").read_text())
    lines = (tools.SOURCE / "docs/kubernetes.md").read_text().splitlines()
    names = [name.strip(" `") for line in lines if line.startswith("| `") for name in line.split("|")[1].split(",")]
    assert len(names) > 15
    for name in names:
        at = copy.deepcopy(values)
        for part in name.split("."):
            assert isinstance(at, dict) and part in at, f"docs/kubernetes.md names {name}"
            at = at[part]


def test_the_pre_stop_hook_drains_a_worker_and_loses_nothing(default, tmp_path):
    """The rendered script, with this test's addresses: the worker leaves by itself, and the trainer gets every record once."""
    container = pod_of(default, "worker")["spec"]["containers"][0]
    hook = container["lifecycle"]["preStop"]["exec"]["command"]
    pipeline = tmp_path / "p.yaml"
    pipeline.write_text("source: {format: range, elements: 3000000, bytes: 64}\nsteps: [{batch: {size: 50}}]\n")
    tools.headrace()
    with processes.Cluster(tmp_path, workers=2, dispatcher_args=["--target-split", "64KiB"]) as cluster:
        trainer = subprocess.Popen([str(tools.HEADRACE), "run", str(pipeline), "--cluster", cluster.address, "--job", "j", "--output", "json"],
                                   stdout=subprocess.PIPE, text=True)
        try:
            leaving = cluster.workers[0]
            processes.wait_for(lambda: any(job["delivered"] for job in cluster.jobs()), 10, "the first records")
            assert trainer.poll() is None
            script = hook[2].replace("r-headrace-dispatcher.ml:5050", cluster.address).replace("kill -0 1;", f"kill -0 {leaving.process.pid};")
            waiting = subprocess.Popen([*hook[:2], script], stderr=subprocess.PIPE, env={
                "PATH": f"{tools.HEADRACE.parent}:{os.environ['PATH']}", "HEADRACE_WORKER_ADVERTISE": leaving.address()})
            assert leaving.process.wait(timeout=60 * processes.SLOW) == 0  # reaped here, as a container's runtime would
            assert waiting.wait(timeout=10 * processes.SLOW) == 0
            assert '"records":3000000' in trainer.communicate(timeout=60 * processes.SLOW)[0].replace(" ", "")
        finally:
            trainer.kill()
        assert ", drained" in leaving.log.read_text()
