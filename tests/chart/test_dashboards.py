"""Every panel's query returns data: Debian's Prometheus scrapes a real cluster that streams."""
import json
import math
import re
import subprocess
import urllib.parse
import urllib.request

import pytest
import yaml

import processes
import tools

PROMETHEUS = tools.tool("prometheus", "prometheus/usr/bin/prometheus", whole_file=True)
tools.headrace(whole_file=True)
JOB = "dashboards"
PIPELINE = """
name: made-up
source: {format: range, elements: 3000000, bytes: 256}
steps:
  - filter: "index % 5 != 0"
  - shuffle: {buffer: 1000, seed: 1}
  - batch: {size: 16}
"""


class Prometheus:
    """A server with the shipped scrape config, but for how targets are found and how often they are asked."""

    def __init__(self, directory, targets):
        (port,) = processes.free_ports(1)
        self.url = f"http://127.0.0.1:{port}/api/v1/"
        (job,) = yaml.safe_load((tools.CHART / "files/prometheus/scrape.yml").read_text())["scrape_configs"]
        for key in ("kubernetes_sd_configs", "relabel_configs"):
            del job[key]
        job.update(scrape_interval="500ms", scrape_timeout="500ms", static_configs=[{"targets": targets, "labels": {"namespace": "ml"}}])
        (directory / "alerts.yml").write_text(tools.ALERTS.read_text())
        config = {"global": {"evaluation_interval": "1s"}, "rule_files": ["alerts.yml"], "scrape_configs": [job]}
        (directory / "prometheus.yml").write_text(yaml.safe_dump(config))
        self.log = directory / "prometheus.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [PROMETHEUS, f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data", f"--web.listen-address=127.0.0.1:{port}"],
                stdout=log, stderr=log)

    def get(self, path, **parameters):
        with urllib.request.urlopen(self.url + path + "?" + urllib.parse.urlencode(parameters, doseq=True), timeout=10) as reply:
            return json.load(reply)["data"]

    def values(self, expression):
        """The numbers that it gives now."""
        found = (float(sample["value"][1]) for sample in self.get("query", query=expression)["result"])
        return [value for value in found if math.isfinite(value)]

    def up(self):
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.values("up")
        except OSError:
            return []

    def stop(self):
        self.process.kill()
        self.process.wait()


def panels():
    for path in tools.DASHBOARDS:
        board = json.loads(path.read_text())
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                yield f"{board['title']} / {panel['title']} {target['refId']}", target["expr"]


def filled_in(expression):
    for name, value in {"__rate_interval": "4s", "namespace": "ml", "job": JOB, "pipeline": "made-up"}.items():
        expression = expression.replace("$" + name, value)
    assert "$" not in expression, expression
    return expression


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory):
    directory = tmp_path_factory.mktemp("cluster")
    (directory / "pipeline.yaml").write_text(PIPELINE)
    ports = processes.free_ports(3)
    listen = [f"127.0.0.1:{port}" for port in ports]
    with processes.Cluster(directory, workers=0, dispatcher_args=["--metrics-listen", listen[0], "--target-split", "64KiB"]) as cluster:
        for address in listen[1:]:
            cluster.add_worker("--metrics-listen", address, "--compute-threads", 1)
        trainer = subprocess.Popen([str(tools.HEADRACE), "run", str(directory / "pipeline.yaml"), "--cluster", cluster.address, "--job", JOB,
                                    "--epochs", "1000", "--output", "json"], stdout=subprocess.DEVNULL)
        server = None
        try:
            server = Prometheus(directory, listen)
            processes.wait_for(lambda: server.up() == [1, 1, 1], 20, "Prometheus to scrape three processes")
            processes.run("drain", "nobody", "--cluster", cluster.address, check=False)  # a call that fails
            delivered = filled_in('rate(headrace_dispatcher_records_total{outcome="delivered"}[$__rate_interval])')
            processes.wait_for(lambda: any(value > 0 for value in server.values(delivered)), 20, "records to be delivered")
            assert trainer.poll() is None
            yield server
        finally:
            trainer.kill()
            trainer.wait()
            if server is not None:
                server.stop()


@pytest.mark.parametrize("expression", [pytest.param(expression, id=title) for title, expression in panels()])
def test_a_panel_shows_something(prometheus, expression):
    query = filled_in(expression)
    processes.wait_for(lambda: prometheus.values(query), 10, f"a value of {query}")


def test_a_panel_that_shows_nothing_is_found(prometheus):
    assert prometheus.values("headrace_no_such_metric") == []


@pytest.mark.parametrize("path", tools.DASHBOARDS, ids=lambda p: p.stem)
def test_the_menus_offer_what_there_is(prometheus, path):
    for variable in json.loads(path.read_text())["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"]).groups()
            wanted = {"namespace": "ml", "job": JOB, "pipeline": "made-up"}[label]
            assert wanted in prometheus.get(f"label/{label}/values", **{"match[]": metric}), variable["name"]


def test_the_rules_can_be_evaluated_and_none_is_critical(prometheus):
    def evaluated():
        rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
        return rules if all(rule["health"] != "unknown" for rule in rules) else None

    def alarmed():
        return [rule for rule in evaluated() or [] if rule["labels"]["severity"] == "critical" and rule["state"] != "inactive"]

    for rule in processes.wait_for(evaluated, 10, "the rules to be evaluated"):
        assert rule["health"] == "ok", rule
        assert rule["state"] != "firing" or rule["labels"]["severity"] != "critical", rule
    # The first evaluation may come before the first scrape, and finds nobody up.
    processes.wait_for(lambda: not alarmed(), 10, "every critical rule to be at rest")


def test_the_job_label_is_the_training_job(prometheus):
    assert prometheus.values(f'headrace_dispatcher_job_clients{{job="{JOB}"}}') == [1]
    assert prometheus.values('count(up{job="headrace"})') == [3]
    assert prometheus.values('count({exported_job!=""})') == []
