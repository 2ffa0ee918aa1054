"""Every file of configs/ loads, and says what the program's defaults are."""

import io
import tarfile

import pytest

import processes

CONFIGS = processes.SOURCE / "configs"
PIPELINES = sorted((CONFIGS / "pipelines").glob("*.yaml"))


@pytest.mark.parametrize("role,name", [("dispatcher", "dispatcher"), ("worker", "worker"), ("orchestrator", "orchestrator"), ("up", "embedded")])
def test_a_roles_config_loads_and_holds_the_defaults(role, name):
    with_file = processes.run(role, "--config", CONFIGS / f"{name}.yaml", "--print-config").stdout
    assert with_file == processes.run(role, "--print-config").stdout


def test_the_config_of_one_of_several_dispatchers_loads():
    printed = processes.run("dispatcher", "--config", CONFIGS / "dispatcher-ha.yaml", "--print-config").stdout
    assert "driver: etcd" in printed and "etcd-2:2379" in printed


def test_there_are_at_least_four_pipelines():
    assert len(PIPELINES) >= 4


def make_shard(path, extension, content, records=20):
    """A WebDataset shard of equal records with labels 0 to 3."""
    with tarfile.open(path, "w") as tar:
        for i in range(records):
            for name, data in ((f"{i:04}.{extension}", content), (f"{i:04}.cls", str(i % 4).encode())):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Stands for demo-data/: a few images, packed both ways, and some JSON Lines."""
    import datasets

    directory = tmp_path_factory.mktemp("demo") / "demo-data"
    directory.mkdir()
    datasets.make_images(directory / "tiles", per_class=20)
    processes.run("convert", directory / "tiles", directory / "tiles.tfrecord", "--shards", 2)
    processes.run("convert", directory / "tiles", directory / "tiles.tar", "--shards", 2)
    golden = processes.SOURCE / "tests/golden/data"
    make_shard(directory / "speech-0.tar", "wav", (golden / "audio_stereo_s16.wav").read_bytes())
    make_shard(directory / "clips-0.tar", "webm", (golden / "video_vp9.webm").read_bytes())
    (directory / "qa.jsonl").write_text('{"question": "q", "answer": "a"}\n' * 50)
    return directory.parent


@pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda p: p.stem)
def test_a_sample_pipeline_runs(pipeline, data):
    done = processes.run("run", pipeline, "--output", "json", cwd=data)
    assert '"records":' in done.stdout


def test_the_readme_names_every_config():
    text = (processes.SOURCE / "README.md").read_text()
    for name in ("dispatcher", "dispatcher-ha", "worker"):
        assert f"configs/{name}.yaml" in text, name
