"""A real etcd and a real kube-apiserver on loopback, and calls to it. No kubelet and no controller: what stands in for them is pods.py.

Without the programs a whole file skips, with the words NOT TESTED and what to do (scripts/install-kubernetes.sh)."""
import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest

from processes import SOURCE, free_ports, wait_for

APISERVER = SOURCE / "build" / "tools" / "kube-apiserver"
ETCD = pathlib.Path("/usr/bin/etcd")
ADMIN = "administrator"


def need(*programs):
    for program, advice in programs:
        if not pathlib.Path(program).exists():
            pytest.skip(f"NOT TESTED against a real kube-apiserver: {program} is missing; {advice}", allow_module_level=True)


def need_control_plane():
    need((ETCD, "apt-get install etcd-server"), (APISERVER, "make kubernetes, or scripts/install-kubernetes.sh (needs Go)"))


class Refused(Exception):
    def __init__(self, status, body):
        super().__init__(f"HTTP {status}: {body}")
        self.status, self.body = status, body


class ControlPlane:
    """Leaves nothing running. `kill` and `start` are of the API server; etcd keeps its data."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        client, peer, self.port = free_ports(3)
        self.url = f"https://127.0.0.1:{self.port}"
        self.ca_file = self.directory / "certificates" / "apiserver.crt"
        self.etcd_url = f"http://127.0.0.1:{client}"
        self.processes = []
        subprocess.run(["openssl", "genrsa", "-out", self.directory / "accounts.key", "2048"], check=True, capture_output=True)
        (self.directory / "tokens.csv").write_text(f'{ADMIN},admin,admin,"system:masters"\n')
        try:
            self._run("etcd", ETCD, "--data-dir", self.directory / "etcd", "--listen-client-urls", self.etcd_url, "--advertise-client-urls",
                      self.etcd_url, "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
                      "--initial-cluster", f"default=http://127.0.0.1:{peer}", "--unsafe-no-fsync")
            self.start()
        except BaseException:
            self.close()
            raise

    def _run(self, name, *command):
        with open(self.directory / f"{name}.log", "ab") as log:
            self.processes.append(subprocess.Popen([str(c) for c in command], stdout=log, stderr=log, cwd=self.directory))
        return self.processes[-1]

    def start(self):
        key = self.directory / "accounts.key"
        self.apiserver = self._run(
            "apiserver", APISERVER, "--etcd-servers", self.etcd_url, "--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1",
            "--secure-port", self.port, "--cert-dir", self.directory / "certificates", "--token-auth-file", self.directory / "tokens.csv",
            "--authorization-mode", "RBAC", "--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", key,
            "--service-account-signing-key-file", key, "--service-cluster-ip-range", "10.96.0.0/16", "--endpoint-reconciler-type", "none")
        wait_for(self._ready, 120, f"the API server; see {self.directory}/apiserver.log")

    def _ready(self):
        if self.apiserver.poll() is not None:
            raise AssertionError("the API server ended:\n" + (self.directory / "apiserver.log").read_text()[-4000:])
        try:
            return self.call("GET", "/readyz", raw=True) == b"ok"
        except (OSError, Refused):
            return False

    def kill(self):
        self.apiserver.send_signal(signal.SIGKILL)
        self.apiserver.wait()

    def call(self, method, path, body=None, content="application/json", token=ADMIN, raw=False):
        """The answer; Refused says what the API said."""
        request = urllib.request.Request(self.url + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Authorization": f"Bearer {token}", "Content-Type": content, "Accept": "application/json"})
        if raw:
            request.add_header("Accept", "*/*")
        try:
            with urllib.request.urlopen(request, timeout=20, context=ssl.create_default_context(cafile=str(self.ca_file))) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise Refused(error.code, error.read().decode(errors="replace")) from None
        return text if raw else json.loads(text)

    def status_of(self, *args, **kwargs):
        """The HTTP status alone."""
        try:
            self.call(*args, **kwargs)
            return 200
        except Refused as refused:
            return refused.status

    def path_of(self, kind, api_version, namespace):
        """Where objects of a kind are, as the API's discovery says; None: it knows no such kind."""
        group = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        try:
            resources = self.call("GET", group)["resources"]
        except Refused as refused:
            if refused.status == 404:
                return None
            raise
        found = next((r for r in resources if r["kind"] == kind and "/" not in r["name"]), None)
        if found is None:
            return None
        return f"{group}/namespaces/{namespace}/{found['name']}" if found["namespaced"] else f"{group}/{found['name']}"

    def apply(self, obj, namespace):
        """As `kubectl apply --server-side --validate=strict`: a field that Kubernetes does not know is an error."""
        path = self.path_of(obj["kind"], obj["apiVersion"], namespace)
        assert path, f"no kind {obj['kind']} of {obj['apiVersion']}"
        return self.call("PATCH", f"{path}/{obj['metadata']['name']}?fieldManager=tests&fieldValidation=Strict&force=true", obj, "application/apply-patch+yaml")

    def namespace(self, name):
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, name)

    def token(self, account, namespace):
        """Of a service account, for an hour, as a kubelet asks for it."""
        answer = self.call("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token",
                           {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}})
        return answer["status"]["token"]

    def close(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.kill()
                process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def helm():
    made = SOURCE / "build" / "tools" / "helm" / "helm"
    return str(made) if made.exists() else shutil.which("helm")


def rendered(values, release="r", namespace="ml"):
    """The chart's objects."""
    import yaml

    done = subprocess.run([helm(), "template", release, SOURCE / "charts" / "headrace", "--namespace", namespace, "--kube-version", "1.37.2", "--values", "-"],
                          input=json.dumps(values), capture_output=True, text=True, env={**os.environ})
    assert done.returncode == 0, done.stderr
    return [o for o in yaml.safe_load_all(done.stdout) if o]
