"""Every file of configs/ loads, and says what the program's defaults are."""

import pytest

import processes

CONFIGS = processes.SOURCE / "configs"
PIPELINES = sorted((CONFIGS / "pipelines").glob("*.yaml"))


@pytest.mark.parametrize("role,name", [("dispatcher", "dispatcher"), ("worker", "worker"), ("up", "embedded")])
def test_a_roles_config_loads_and_holds_the_defaults(role, name):
    with_file = processes.run(role, "--config", CONFIGS / f"{name}.yaml", "--print-config").stdout
    assert with_file == processes.run(role, "--print-config").stdout


def test_there_are_at_least_four_pipelines():
    assert len(PIPELINES) >= 4


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Stands for demo-data/: a few images, packed both ways, and some JSON Lines."""
    import datasets

    directory = tmp_path_factory.mktemp("demo") / "demo-data"
    directory.mkdir()
    datasets.make_images(directory / "tiles", per_class=20)
    processes.run("convert", directory / "tiles", directory / "tiles.tfrecord", "--shards", 2)
    processes.run("convert", directory / "tiles", directory / "tiles.tar", "--shards", 2)
    (directory / "qa.jsonl").write_text('{"question": "q", "answer": "a"}\n' * 50)
    return directory.parent


@pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda p: p.stem)
def test_a_sample_pipeline_runs(pipeline, data):
    done = processes.run("run", pipeline, "--output", "json", cwd=data)
    assert '"records":' in done.stdout


def test_the_readme_names_every_config():
    text = (processes.SOURCE / "README.md").read_text()
    assert "configs/dispatcher.yaml" in text and "configs/worker.yaml" in text
