"""Our decoders and resampling against Pillow, an implementation of its own of both.

Run by ctest, which names the program under test in HEADRACE_IMAGE_PROBE (image_probe.cc).
"""

import os
import pathlib
import subprocess

import numpy as np
import pytest
from PIL import Image

FILTERS = {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}


def shared_imagenet():
    shared = os.environ.get("HEADRACE_SHARED_DATA")
    if not shared:
        shared = pathlib.Path(os.environ.get("HEADRACE_SOURCE_DIR", ".")) / ".." / "shared" / "data"
    return pathlib.Path(shared) / "imagenet"


class Probe:
    """A running image_probe."""

    def __init__(self):
        program = os.environ["HEADRACE_IMAGE_PROBE"]
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, *words):
        line = " ".join(str(w) for w in words)
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().decode()
        if answer.startswith("error"):
            raise ValueError(answer.strip())
        height, width, channels = (int(n) for n in answer.split())
        data = self.process.stdout.read(height * width * channels)
        return np.frombuffer(data, np.uint8).reshape(height, width, channels).astype(int)

    def decode(self, path, channels=3):
        return self.ask(path, channels)

    def resize(self, path, method, box, size, channels=3):
        return self.ask(path, channels, method, *box, *size)


@pytest.fixture(scope="module")
def probe():
    running = Probe()
    yield running
    running.process.stdin.close()
    assert running.process.wait(timeout=10) == 0


def picture(height=151, width=203):
    """Smooth with edges, another in every channel."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [
        110 + 70 * np.sin(x / 20.0 + 2 * c) * np.cos(y / 15.0 - c) + 35 * ((x // 23 + y // 31) % 4 == c)
        for c in range(3)
    ]
    return Image.fromarray(np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8))


def with_alpha():
    image = picture().convert("RGBA")
    image.putalpha(Image.linear_gradient("L").resize(image.size))
    return image


MADE = {
    "444.jpg": (picture, dict(quality=90, subsampling=0)),
    "422.jpg": (picture, dict(quality=90, subsampling=1)),
    "420.jpg": (picture, dict(quality=75, subsampling=2)),
    "progressive.jpg": (picture, dict(quality=85, progressive=True)),
    "optimized.jpg": (picture, dict(quality=85, optimize=True)),
    "grey.jpg": (lambda: picture().convert("L"), dict(quality=90)),
    "cmyk.jpg": (lambda: picture().convert("CMYK"), dict(quality=95)),
    "rgb.png": (picture, {}),
    "grey.png": (lambda: picture().convert("L"), {}),
    "palette.png": (lambda: picture().quantize(200), {}),
    "palette4.png": (lambda: picture().quantize(13), dict(bits=4)),
    "one_bit.png": (lambda: picture().convert("1"), {}),
    "rgba.png": (with_alpha, {}),
    "grey_alpha.png": (lambda: with_alpha().convert("LA"), {}),
    "lossy.webp": (picture, dict(quality=80)),
    "lossless.webp": (picture, dict(lossless=True)),
    "alpha.webp": (with_alpha, dict(lossless=True, exact=True)),
}


@pytest.fixture(scope="module", params=MADE)
def made(request, tmp_path_factory):
    make, options = MADE[request.param]
    path = tmp_path_factory.mktemp("made") / request.param
    make().save(path, **options)
    return path


def rgb(path):
    """Pillow's RGB; alpha is dropped, as ours is."""
    image = Image.open(path)
    if image.mode in ("LA", "RGBA"):
        return Image.fromarray(np.array(image.convert("RGBA"))[..., :3])
    return image.convert("RGB")


def deltas(ours, theirs):
    return np.abs(ours - np.asarray(theirs, dtype=int).reshape(ours.shape))


def differences(ours, theirs):
    delta = deltas(ours, theirs)
    return delta.mean(), delta.max()


def assert_like_pillow(ours, theirs, what):
    """Within one level, but for the odd value where two roundings on each side add up to two."""
    delta = deltas(ours, theirs)
    assert delta.max() <= 2 and (delta > 1).mean() < 1e-3 and delta.mean() < 0.3, (
        what,
        delta.max(),
        (delta > 1).mean(),
        delta.mean(),
    )


def test_made_files_decode_to_the_same_pixels(probe, made):
    mean, worst = differences(probe.decode(made), rgb(made))
    assert worst <= 1 and mean < 0.05, (made.name, mean, worst)


def test_made_files_decode_to_the_same_grey(probe, made):
    mean, worst = differences(probe.decode(made, 1), rgb(made).convert("L"))
    # A colour JPEG's luma is taken as stored; Pillow goes by way of RGB.
    assert worst <= 3 and mean < 0.7, (made.name, mean, worst)


def test_sixteen_bits_keep_their_high_byte(probe, tmp_path):
    deep = (np.arange(60 * 70, dtype=np.uint32).reshape(60, 70) * 15 % 65536).astype(np.uint16)
    path = tmp_path / "deep.png"
    Image.fromarray(deep).save(path)
    assert Image.open(path).mode.startswith("I")
    for channels in (1, 3):
        ours = probe.decode(path, channels)
        assert (ours == (deep >> 8).astype(int)[..., None]).all()


@pytest.mark.parametrize("method", FILTERS)
@pytest.mark.parametrize("box", [(0, 0, 203, 151), (13, 7, 120, 140), (10.25, 3.5, 60.75, 50.125)])
@pytest.mark.parametrize("size", [(64, 80), (151, 60), (224, 224)])
def test_resizing_is_within_one_level(probe, tmp_path, method, box, size):
    path = tmp_path / "picture.png"
    picture().save(path)
    noise = tmp_path / "noise.png"
    Image.fromarray(np.random.default_rng(3).integers(0, 256, (151, 203, 3), np.uint8)).save(noise)
    for file in (path, noise):
        for channels in (1, 3):
            image = Image.open(file).convert("L" if channels == 1 else "RGB")
            theirs = image.resize((size[1], size[0]), FILTERS[method], box=box)
            ours = probe.resize(file, method, box, size, channels)
            assert_like_pillow(ours, theirs, (file.name, channels))


def test_a_tag_for_orientation_is_not_applied(probe, tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    path = tmp_path / "turned.jpg"
    picture().save(path, exif=exif)
    assert probe.decode(path).shape == (151, 203, 3)


def test_files_that_pillow_refuses_are_refused(probe, tmp_path):
    whole = tmp_path / "whole.jpg"
    picture().save(whole)
    cut = tmp_path / "cut.jpg"
    cut.write_bytes(whole.read_bytes()[:3000])
    with pytest.raises(OSError):
        Image.open(cut).load()
    with pytest.raises(ValueError, match="DATA_LOSS: JPEG ends early"):
        probe.decode(cut)


def test_every_imagenet_file_decodes_and_resizes_like_pillow(probe):
    folder = shared_imagenet()
    if not folder.is_dir():
        pytest.skip(f"no {folder}: the tests on made files stand alone")
    paths = sorted(folder.glob("*.JPEG"))
    assert len(paths) == 250
    for path in paths:
        theirs = rgb(path)
        mean, worst = differences(probe.decode(path), theirs)
        assert worst <= 1 and mean < 0.05, (path.name, mean, worst)
        box = (0, 0, theirs.width, theirs.height)
        for method in FILTERS:
            resized = theirs.resize((224, 224), FILTERS[method])
            assert_like_pillow(probe.resize(path, method, box, (224, 224)), resized, (path.name, method))
        # Fused, the decoder may have scaled: a little sharper, which shows in fine texture.
        resized = theirs.resize((224, 224), Image.BILINEAR)
        mean, worst = differences(probe.resize(path, "part bilinear", box, (224, 224)), resized)
        assert mean < 4.0, (path.name, mean, worst)
