"""The alert rules and the scrape config, by Prometheus's own checker."""
import re

import yaml

import tools

PROMTOOL = tools.tool("promtool", "prometheus/usr/bin/promtool", whole_file=True)
TESTS = tools.SOURCE / "tests/chart/alerts_test.yml"


def alerts():
    return [rule["alert"] for group in yaml.safe_load(tools.ALERTS.read_text())["groups"] for rule in group["rules"]]


def test_the_rules_are_well_formed():
    assert f"{len(alerts())} rules found" in tools.run(PROMTOOL, "check", "rules", tools.ALERTS).stdout


def test_each_alert_fires_when_it_should_and_not_before(tmp_path):
    (tmp_path / "alerts.yml").write_text(tools.ALERTS.read_text())
    (tmp_path / "test.yml").write_text(TESTS.read_text())
    assert "SUCCESS" in tools.run(PROMTOOL, "test", "rules", tmp_path / "test.yml").stdout


def test_every_alert_has_a_test_and_says_what_to_do():
    tested = [test["name"] for test in yaml.safe_load(TESTS.read_text())["tests"]]
    assert sorted(tested) == sorted(alerts())
    for group in yaml.safe_load(tools.ALERTS.read_text())["groups"]:
        for rule in group["rules"]:
            assert rule["labels"]["severity"] in ("critical", "warning") and rule["annotations"].keys() == {"summary", "description"}


def test_a_wrong_rule_is_found(tmp_path):
    """The checks above look: a rule that never fires fails its test."""
    (tmp_path / "alerts.yml").write_text(re.sub("> 0.01", "> 0.5", tools.ALERTS.read_text()))
    (tmp_path / "test.yml").write_text(TESTS.read_text())
    done = tools.run(PROMTOOL, "test", "rules", tmp_path / "test.yml", check=False)
    assert done.returncode != 0 and "HeadraceRecordsFail" in done.stdout + done.stderr


def test_the_scrape_config_is_well_formed(tmp_path):
    """Debian's Prometheus is built without Kubernetes' discovery: that part is replaced, and what it discovers by is compared with the chart's pods."""
    config = yaml.safe_load((tools.CHART / "files/prometheus/scrape.yml").read_text())
    (job,) = config["scrape_configs"]
    assert job["job_name"] == "headrace" and job["honor_labels"]
    assert job.pop("kubernetes_sd_configs") == [{"role": "pod", "selectors": [{"role": "pod", "label": "app.kubernetes.io/part-of=headrace"}]}]
    job["static_configs"] = [{"targets": ["localhost:9090"]}]
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config))
    assert "SUCCESS" in tools.run(PROMTOOL, "check", "config", tmp_path / "prometheus.yml").stdout
