"""torch, jax and pyarrow on top of batches. What needs none of them is tested without."""
import sys

import numpy as np
import pytest

import headrace as hr
import peers

NUMBERS = "hr.range(2000, bytes=64).batch(8)"


def torch(program, *args, **kwargs):
    return peers.run("torch", program="import headrace as hr, torch, numpy as np, os, sys, warnings\n" + program, args=args, **kwargs)


def jax(program, *args, **kwargs):
    return peers.run("jax", program="import headrace as hr, jax, numpy as np\n" + program, args=args, **kwargs)


# ---- DLPack and bytes, with NumPy alone

def batch_of(pipeline):
    with hr.local() as cluster:
        return next(iter(cluster.stream(pipeline)))


def test_arrays_are_read_only_and_their_frame_outlives_the_cluster():
    batch = batch_of(hr.range(64, bytes=16).batch(8))
    assert batch["data"].shape == (8, 16) and batch["data"].strides == (16, 1)
    assert sorted(batch["index"]) == list(batch["index"])
    with pytest.raises(ValueError, match="read-only"):
        batch["data"][0, 0] = 1


def test_a_capsule_says_what_the_array_is():
    lent = hr.dlpack(batch_of(hr.range(64, bytes=16).batch(8))["data"])
    assert lent.__dlpack_device__() == (1, 0)
    assert '"dltensor"' in repr(lent.__dlpack__())
    assert '"dltensor_versioned"' in repr(lent.__dlpack__(max_version=(1, 0)))
    with pytest.raises(BufferError):
        lent.__dlpack__(copy=True)
    with pytest.raises(BufferError):
        lent.__dlpack__(dl_device=(2, 0))


def test_what_dlpack_cannot_say_is_a_type_error():
    with pytest.raises(TypeError, match="no type for an array of object"):
        hr.dlpack(np.array([b"x", None], object))
    with pytest.raises(TypeError, match="cannot be lent as bfloat16"):
        hr.dlpack(np.zeros(3, np.float32), "bfloat16")


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint32", "float16", "float32", "float64"])
def test_numpy_takes_a_capsule_without_a_copy(dtype):
    if not hasattr(np, "from_dlpack"):
        pytest.skip("this NumPy has no from_dlpack")
    array = np.arange(24).astype(dtype).reshape(4, 6)[::2, 1:5:3]
    again = np.from_dlpack(hr.dlpack(array))
    assert again.dtype == array.dtype and (again == array).all()
    assert again.strides == array.strides and again.ctypes.data == array.ctypes.data


@pytest.fixture
def words(tmp_path):
    lines = [f"word {i}" * (i % 5) for i in range(40)]
    (tmp_path / "words.txt").write_text("\n".join(lines) + "\n")
    return hr.read(tmp_path / "words.txt").batch(8), [line.encode() for line in lines]


def test_bytes_are_objects_and_offsets(words):
    pipeline, lines = words
    with hr.local() as cluster:
        columns = [batch["line"] for batch in cluster.stream(pipeline)]
    got = [item for column in columns for item in column]
    assert sorted(got) == sorted(lines) and all(type(item) is bytes for item in got)
    for column in columns:
        assert column.offsets.dtype == np.int64 and column.data.dtype == np.uint8 and column.shape == (8,)
        assert column.offsets[-1] - column.offsets[0] == column.data.nbytes
        assert list(column.to_numpy()) == column[:] and column[-1] == column[7]


def test_bytes_are_arrow_arrays_over_the_same_memory():
    peers.run("pyarrow", program="""
        import headrace as hr, pyarrow as pa, tempfile, pathlib
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "words.txt"
            path.write_text("".join(f"{'word ' * (i % 5)}{i}\\n" for i in range(40)))
            with hr.local() as cluster:
                columns = [batch["line"] for batch in cluster.stream(hr.read(path).batch(8))]
        for column in columns:
            array = column.to_arrow()
            array.validate(full=True)
            assert array.to_pylist() == list(column)
            assert pa.array(column).equals(array)
            first = int(column.offsets[0])
            assert array.buffers()[2].address + first == column.data.ctypes.data
            assert array.buffers()[1].address == column.offsets.ctypes.data
        array = columns[0].to_arrow(); want = list(columns[0])
        del columns, column
        assert array.to_pylist() == want
    """)


# ---- ranks

@pytest.fixture
def ranks(monkeypatch):
    from headrace import _ranks

    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    return _ranks


class Group:
    """What is asked of torch.distributed."""

    @staticmethod
    def is_available():
        return True

    is_initialized = is_available

    @staticmethod
    def get_rank():
        return 1

    @staticmethod
    def get_world_size():
        return 4


def test_the_rank_is_the_arguments_the_groups_the_environments_or_0_of_1(ranks, monkeypatch):
    assert ranks.resolve(None, None) == (0, 1)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert ranks.resolve(None, None) == ranks.resolve(1, 4) == (1, 4)
    monkeypatch.setitem(sys.modules, "torch.distributed", Group)
    assert ranks.resolve(None, None) == ranks.resolve(1, 4) == (1, 4)
    monkeypatch.delenv("RANK")
    monkeypatch.delenv("WORLD_SIZE")
    assert ranks.resolve(None, None) == (1, 4)


def test_contradictions_about_the_rank_are_errors(ranks, monkeypatch):
    for half in [(0, None), (None, 2)]:
        with pytest.raises(ValueError, match="both, or neither"):
            ranks.resolve(*half)
    for outside in [(2, 2), (-1, 2)]:
        with pytest.raises(ValueError, match="is not in"):
            ranks.resolve(*outside)
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(ValueError, match="RANK and WORLD_SIZE"):
        ranks.resolve(None, None)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="0 of 2 by the arguments contradicts 1 of 2 by RANK and WORLD_SIZE"):
        ranks.resolve(0, 2)
    monkeypatch.setitem(sys.modules, "torch.distributed", Group)
    with pytest.raises(ValueError, match="1 of 4 by the process group contradicts 1 of 2"):
        ranks.resolve(None, None)


@pytest.mark.parametrize("module", ["torch", "jax"])
def test_a_framework_that_is_missing_is_named(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"headrace.{module}", raising=False)
    with pytest.raises(ImportError, match=f"pip install {module}"):
        getattr(hr, module)


# ---- torch

def test_torch_takes_arrays_without_a_copy_bfloat16_too():
    torch("""
with hr.local() as cluster:
    stream = cluster.stream(hr.range(64, bytes=16).batch(8).cast("data", hr.bfloat16))
    batch = next(iter(stream))
tensors = hr.torch.to_tensors(batch, {"data"})
assert tensors["data"].dtype == torch.bfloat16 and tensors["data"].shape == (8, 16)
assert tensors["data"].data_ptr() == batch["data"].ctypes.data
bits = batch["data"].view(np.uint16)
assert (torch.from_dlpack(hr.dlpack(bits, "bfloat16")).view(torch.int16).numpy().view(np.uint16) == bits).all()
del batch, bits
assert tensors["data"].float().sum() >= 0
""")


@pytest.mark.parametrize("cluster,workers,persistent,method", [
    ("by address", 0, False, "fork"), ("by address", 2, False, "fork"), ("already used", 2, True, "fork"), ("by address", 2, True, "spawn")])
def test_torch_loader_in_a_data_loader_gives_each_record_once_per_epoch(cluster, workers, persistent, method):
    torch(f"""
from torch.utils.data import DataLoader
warnings.simplefilter("ignore", DeprecationWarning)
address, used = sys.argv[1], "{cluster}" == "already used"
connection = hr.connect(address)
if used:
    sum(1 for _ in connection.stream({NUMBERS}))
loader = hr.torch.Loader({NUMBERS}, connection if used else address, prefetch_bytes=8192)
data = DataLoader(loader, batch_size=None, num_workers={workers}, persistent_workers={persistent},
                  multiprocessing_context="{method}" if {workers} else None)
for epoch in range(2):
    got = sorted(int(i) for batch in data for i in batch["index"])
    assert got == list(range(2000)), (epoch, len(got), len(set(got)))
for batch in data:
    break  # left early
got = sorted(int(i) for batch in data for i in batch["index"])
assert got == list(range(2000)), ("after leaving", len(got), len(set(got)))
loader.set_epoch(9)
assert len({{int(i) for batch in data for i in batch["index"]}}) == 2000
try:
    len(data)
    raise AssertionError("len() should not be known")
except TypeError:
    pass
del data
loader.close()
loader.close()
""", local_cluster())


_running = []


def local_cluster():
    """The address of a cluster in this process, kept for the tests' time."""
    if not _running:
        _running.append(hr.local(workers=2))
        _running[0]._open()
    return _running[0].address


def test_torch_loader_bare_with_options():
    torch(f"""
with hr.torch.Loader({NUMBERS}, sys.argv[1], length=250, rank=0, world_size=1) as loader:
    assert len(loader) == 250 and isinstance(loader, torch.utils.data.IterableDataset)
    for epoch in range(2):
        loader.set_epoch(epoch)
        seen = 0
        for batch in loader:
            batch["data"].zero_()  # a copy may be written to
            seen += len(batch["index"])
        assert seen == 2000 and loader.summary["delivered"] == 2000
    first = next(iter(loader))
    assert sum(len(b["index"]) for b in loader) == 2000
try:
    iter(loader)
    raise AssertionError("closed")
except hr.ClosedError:
    pass
try:
    hr.torch.Loader({NUMBERS}, "nowhere:1", rank=0, world_size=2)
    raise AssertionError("no job named")
except ValueError as error:
    assert "job" in str(error)
""", local_cluster())


def test_torch_ranks_of_a_process_group_share_a_job():
    torch(f"""
import torch.distributed as dist, torch.multiprocessing as mp
from torch.utils.data import DataLoader
def main(rank, address, store, out):
    dist.init_process_group("gloo", init_method=f"file://{{store}}", rank=rank, world_size=2)
    loader = hr.torch.Loader({NUMBERS}, address, job="ranks", prefetch_bytes=8192)
    assert (loader.rank, loader.world_size) == (rank, 2)
    loader.set_epoch(0)
    got = []
    for batch in DataLoader(loader, batch_size=None, num_workers=2):
        got += batch["index"].tolist()
    np.save(f"{{out}}/{{rank}}.npy", np.array(got, np.int64))
    dist.barrier()
    dist.destroy_process_group()
if True:
    import tempfile
    with tempfile.TemporaryDirectory() as directory:
        children = []
        for rank in range(2):
            pid = os.fork()
            if pid == 0:
                try:
                    main(rank, sys.argv[1], f"{{directory}}/store", directory)
                except BaseException:
                    import traceback; traceback.print_exc(); os._exit(1)
                os._exit(0)
            children.append(pid)
        assert all(os.waitpid(pid, 0)[1] == 0 for pid in children)
        got = np.concatenate([np.load(f"{{directory}}/{{rank}}.npy") for rank in range(2)])
        assert sorted(got.tolist()) == list(range(2000)), len(got)
""", local_cluster())


# ---- checkpoints

@pytest.mark.parametrize("workers", [0, 2])
def test_torchdatas_stateful_data_loader_goes_on_in_mid_epoch(workers):
    peers.run("torch", "torchdata.stateful_dataloader", program=f"""
import headrace as hr, torch, pickle, sys, warnings
from torchdata.stateful_dataloader import StatefulDataLoader
warnings.simplefilter("ignore", DeprecationWarning)
def make(at):
    loader = hr.torch.Loader({NUMBERS}, sys.argv[1], job=f"stateful-{workers}-{{at}}", prefetch_bytes=8192)
    return StatefulDataLoader(loader, batch_size=None, num_workers={workers})
def read(batches):
    return [int(i) for batch in batches for i in batch["index"]]
for at in (1, 100, 200):
    data = make(at)
    batches = iter(data)
    got = read(next(batches) for _ in range(at))
    state = pickle.loads(pickle.dumps(data.state_dict()))
    del batches, data
    data = make(at)
    data.load_state_dict(state)
    got += read(data)
    assert sorted(got) == list(range(2000)), (at, len(got), len(set(got)))
    assert sorted(read(data)) == list(range(2000)), "the epoch after it"
""", args=(local_cluster(),))


def test_torch_distributed_checkpoint_keeps_the_states_of_all_ranks(tmp_path):
    torch(f"""
import torch.distributed.checkpoint as dcp
warnings.simplefilter("ignore")
def make():
    return hr.torch.Loader({NUMBERS}, sys.argv[1], job="dcp", rank=0, world_size=1)
loader = make()
batches = iter(loader)
got = [int(i) for _ in range(100) for i in next(batches)["index"]]
dcp.save({{"loader": hr.torch.gather_state_dict(loader)}}, checkpoint_id=sys.argv[2])
later = make()
state = {{"loader": hr.torch.gather_state_dict(later)}}
dcp.load(state, checkpoint_id=sys.argv[2])
later.load_state_dict(state["loader"])
got += [int(i) for batch in later for i in batch["index"]]
assert sorted(got) == list(range(2000)), len(got)
assert later.state_dict()["epoch"] == 1
try:
    for _ in batches: pass
    raise AssertionError("the first trainer was not told")
except hr.JobEndedError as error:
    assert "replaced" in str(error)
""", local_cluster(), tmp_path / "checkpoint")


# ---- jax

def test_jax_arrays_split_over_local_devices():
    jax("""
assert len(jax.devices()) == 4
with hr.local() as cluster:
    loader = hr.jax.Loader(hr.range(64, bytes=16).batch(8).cast("data", hr.bfloat16), cluster, placement="local")
    for epoch in range(2):
        loader.set_epoch(epoch)
        got = []
        for batch in loader:
            assert isinstance(batch["data"], jax.Array) and batch["data"].dtype == "bfloat16"
            assert [s.data.shape for s in batch["data"].addressable_shards] == [(2, 16)] * 4
            got += batch["index"].tolist()
        assert sorted(got) == list(range(64))
    uneven = hr.jax.Loader(hr.range(6, bytes=16).batch(6), cluster, placement="local")
    try:
        next(iter(uneven))
        raise AssertionError("6 rows over 4 devices")
    except ValueError as error:
        assert "drop_remainder" in str(error), error
    plain = next(iter(hr.jax.Loader(hr.range(64, bytes=16).batch(8), cluster)))
    assert plain["data"].shape == (8, 16) and len(plain["data"].devices()) == 1
    lent = jax.dlpack.from_dlpack(hr.dlpack(next(iter(cluster.stream(hr.range(64, bytes=16).batch(8))))["data"]))
    assert lent.shape == (8, 16)
loader.close()
""", env={"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"})
