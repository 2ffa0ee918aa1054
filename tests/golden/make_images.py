#!/usr/bin/env python3
"""Writes what torchvision makes of small images: data/image_*.npy, which the tests of image steps compare with.

    python3 -m venv V && V/bin/pip install -r requirements.txt && V/bin/python make_images.py

Images are [height, width, channels], as pipelines have them; torchvision works on [channels, height, width].
"""

import pathlib

import numpy as np
import torch
import torchvision.transforms.functional as F
from torchvision.transforms import RandomErasing, v2

DATA = pathlib.Path(__file__).parent / "data"


def save(name, array):
    np.save(DATA / f"{name}.npy", np.ascontiguousarray(array))


def picture(height=26, width=35, seed=5):
    """Smooth colours with edges, a patch of noise, one of grey, black and white."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [120 + 90 * np.sin(x / 5.0 + 2 * c) * np.cos(y / 4.0 - c) + 30 * ((x // 7 + y // 6) % 4 == c) for c in range(3)]
    image = np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)
    image[14:, 18:] = np.random.default_rng(seed).integers(0, 256, image[14:, 18:].shape, np.uint8)
    image[:5, :6] = np.arange(30, dtype=np.uint8).reshape(5, 6, 1) * 8
    image[5:7, :3], image[5:7, 3:6] = 0, 255
    return image


def run(name, change, image, kinds=("uint8", "float32")):
    """change(tensor) of the image, once of uint8 levels and once of float32 in 0 to 1."""
    for kind in kinds:
        tensor = torch.from_numpy(image).permute(2, 0, 1)
        if kind == "float32":
            tensor = tensor.to(torch.float32) / 255
        save(f"image_{name}_{kind}", change(tensor).permute(1, 2, 0).numpy())


def erasing_deciles(draws=20000, height=48, width=64):
    """How torchvision's RandomErasing spreads its rectangles."""
    image = torch.zeros(1, height, width)
    params = [RandomErasing.get_params(image, (0.02, 0.33), (0.3, 3.3), [0.0])[:4] for _ in range(draws)]
    top, left, h, w = (np.array(column, float) for column in zip(*params))
    shares = np.arange(1, 10) / 10
    spread = {"area": h * w / (height * width), "log_aspect": np.log(h / w), "left": left, "top": top}
    for name, values in spread.items():
        save(f"erasing_{name}_deciles", np.quantile(values, shares))


def mixes():
    """MixUp and CutMix of three small images, with the share and the rectangle fixed."""
    rng = np.random.default_rng(3)
    images = rng.random((3, 6, 8, 2), np.float32)
    save("mix_in", images)
    tensor = torch.from_numpy(images).permute(0, 3, 1, 2)
    labels = torch.tensor([1, 0, 3])
    mixup, cutmix = v2.MixUp(num_classes=4), v2.CutMix(num_classes=4)
    mixup.make_params = lambda _: {"lam": 0.3}
    out, shares = mixup(tensor, labels)
    save("mixup_0.3", out.permute(0, 2, 3, 1).numpy())
    save("mixup_0.3_labels", shares.numpy())
    out, shares = mixup(tensor, shares)
    save("mixup_twice_labels", shares.numpy())
    # Columns 2 to 6, rows 1 to 4 of 8 x 6.
    cutmix.make_params = lambda _: {"box": (2, 1, 7, 5), "lam_adjusted": 1 - 20 / 48}
    out, shares = cutmix(tensor, labels)
    save("cutmix", out.permute(0, 2, 3, 1).numpy())
    save("cutmix_labels", shares.numpy())


def beta_deciles(draws=20000):
    for alpha in (0.2, 1.0, 3.0):
        values = torch.distributions.Beta(alpha, alpha).sample((draws,)).numpy().astype(float)
        save(f"beta_{alpha}_deciles", np.quantile(values, np.arange(1, 10) / 10))


def main():
    torch.manual_seed(11)
    DATA.mkdir(exist_ok=True)
    image = picture()
    grey = image[..., :1]
    save("image_in", image)
    run("brightness_0.6", lambda t: F.adjust_brightness(t, 0.6), image, ["uint8"])
    run("brightness_1.7", lambda t: F.adjust_brightness(t, 1.7), image)
    run("contrast_0.4", lambda t: F.adjust_contrast(t, 0.4), image)
    run("contrast_1.8", lambda t: F.adjust_contrast(t, 1.8), image, ["uint8"])
    run("contrast_grey_1.5", lambda t: F.adjust_contrast(t, 1.5), grey, ["uint8"])
    run("saturation_0.3", lambda t: F.adjust_saturation(t, 0.3), image)
    run("saturation_1.6", lambda t: F.adjust_saturation(t, 1.6), image, ["uint8"])
    run("hue_0.3", lambda t: F.adjust_hue(t, 0.3), image)
    run("hue_-0.45", lambda t: F.adjust_hue(t, -0.45), image, ["uint8"])
    run("grey_1", lambda t: F.rgb_to_grayscale(t, 1), image)
    run("grey_3", lambda t: F.rgb_to_grayscale(t, 3), image, ["uint8"])
    # torchvision's kernel_size and sigma are [x, y]; ours are [height, width].
    run("blur_5x9_1.3", lambda t: F.gaussian_blur(t, [9, 5], [1.3, 1.3]), image)
    run("blur_3_0.5", lambda t: F.gaussian_blur(t, [3, 3], [0.5, 0.5]), grey, ["uint8"])
    mixes()
    erasing_deciles()
    beta_deciles()


if __name__ == "__main__":
    main()
