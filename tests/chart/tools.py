"""Where the chart's tests find what they check and run. A tool that is missing skips, with what to do: ctest shows it as skipped, never as passed."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest
import yaml

SOURCE = pathlib.Path(os.environ.get("HEADRACE_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("HEADRACE_BUILD_DIR", SOURCE / "build" / "dev"))
HEADRACE = BUILD / "cli" / "headrace"
CHART = SOURCE / "charts" / "headrace"
ALERTS = CHART / "files" / "prometheus" / "alerts.yml"
DASHBOARDS = sorted((CHART / "files" / "dashboards").glob("*.json"))
KUBERNETES = ["--kube-version", "1.25.0"]  # the oldest that the chart allows; a Helm built without release flags takes itself for 1.20
TOOLS = SOURCE / "build" / "tools"


def missing(what, whole_file):
    """Skips. ctest shows a file as skipped by the words NOT TESTED, whatever else it says: they are for files of which nothing runs."""
    pytest.skip(f"{'NOT TESTED' if whole_file else 'left out'}: {what}", allow_module_level=whole_file)


def tool(name, below, whole_file=False):
    """A program that scripts/install-chart-tools.sh made, or one of the PATH."""
    made = TOOLS / below
    found = str(made) if made.exists() else shutil.which(name)
    if not found:
        missing(f"{name} is not on this machine; run scripts/install-chart-tools.sh", whole_file)
    return found


def headrace(whole_file=False):
    if not HEADRACE.exists():
        missing(f"{HEADRACE} is not built", whole_file)
    return str(HEADRACE)


def run(*command, check=True, **kwargs):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, **kwargs)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


class Helm:
    """Renders the chart."""

    def __init__(self):
        self.program = tool("helm", "helm/helm", whole_file=True)

    def lint(self, *arguments):
        return run(self.program, "lint", "--strict", CHART, *KUBERNETES, *arguments, check=False)

    def try_template(self, *arguments, values=None, release="r"):
        """A values dict goes in by standard input."""
        more = ["--values", "-"] if values is not None else []
        return run(self.program, "template", release, CHART, "--namespace", "ml", *KUBERNETES, *more, *arguments, check=False,
                   input=json.dumps(values) if values is not None else None)

    def objects(self, values=None, release="r"):
        """What it renders, as {(kind, name): object}."""
        done = self.try_template(values=values, release=release)
        assert done.returncode == 0, done.stderr
        objects = [o for o in yaml.safe_load_all(done.stdout) if o]
        named = {(o["kind"], o["metadata"]["name"]): o for o in objects}
        assert len(named) == len(objects), "two objects have one kind and name"
        return named

    def refusal(self, values):
        """What it says to values that it refuses; fails when it takes them."""
        done = self.try_template(values=values)
        assert done.returncode != 0, f"the chart took {values}"
        return done.stderr
