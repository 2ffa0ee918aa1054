"""The names of metrics: docs/metrics.md lists those of the code, and dashboards and alerts use no others."""
import json
import re

import pytest
import yaml

import tools

NAME = re.compile(r"headrace_[a-z0-9]+(?:_[a-z0-9]+)*")
LISTED = {match.group(1) for match in re.finditer(r"^\| `(headrace_[a-z0-9_]+)", (tools.SOURCE / "docs/metrics.md").read_text(), re.MULTILINE)}
ROOMS = ["common", "rpc", "pipeline", "cache", "transport", "dispatcher", "worker", "orchestrator", "client", "embedded", "cli"]


def names_in_code():
    names = set()
    for room in ROOMS:
        for path in (tools.SOURCE / room).rglob("*"):
            if path.suffix in (".cc", ".h") and not path.stem.endswith("_test") and not path.name.startswith("test_"):
                names.update(re.findall(rf'"({NAME.pattern})"', path.read_text()))
    return names


def expressions():
    """(where, PromQL) of every panel and rule."""
    for path in tools.DASHBOARDS:
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel.get("targets", []):
                yield f"{path.name}: {panel['title']}", target["expr"]
    for group in yaml.safe_load(tools.ALERTS.read_text())["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]


def test_the_list_of_metrics_is_that_of_the_code():
    code = names_in_code()
    assert len(code) > 25
    assert sorted(code - LISTED) == [], "in the code, not in docs/metrics.md"
    assert sorted(LISTED - code) == [], "in docs/metrics.md, not in the code"


@pytest.mark.parametrize("where,expression", expressions(), ids=lambda x: "" if "headrace_" in x or "up{" in x else x)
def test_panels_and_rules_use_metrics_that_exist(where, expression):
    for name in NAME.findall(expression):
        assert name in LISTED or re.sub("_(bucket|count|sum)$", "", name) in LISTED, f"{where}: {name}"


def test_dashboards_are_whole():
    uids, ids = set(), set()
    for path in tools.DASHBOARDS:
        board = json.loads(path.read_text())
        uids.add(board["uid"])
        ids = [panel["id"] for panel in board["panels"]]
        assert len(ids) == len(set(ids)), path.name
        variables = {v["name"] for v in board["templating"]["list"]} | {"__rate_interval"}
        used = set(re.findall(r"\$\{?(\w+)", json.dumps(board)))
        assert used == variables, f"{path.name}: variables that are used and not there, or the reverse: {used ^ variables}"
        cells = set()
        for panel in board["panels"]:
            assert panel["type"] == "row" or panel["targets"], f"{path.name}: {panel['title']}"
            at = panel["gridPos"]
            area = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            assert at["x"] + at["w"] <= 24 and not area & cells, f"{path.name}: {panel['title']} lies over another panel"
            cells |= area
    assert len(uids) == len(tools.DASHBOARDS) >= 2
