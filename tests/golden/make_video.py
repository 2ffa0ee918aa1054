#!/usr/bin/env python3
"""Writes two small clips and the frames that other decoders than FFmpeg's make of them: data/video_*. Needs numpy, pillow and the
ffmpeg program.

The JPEGs in the first are decoded by Pillow (libjpeg). The second is decoded by libvpx, to YCbCr; RGB comes by BT.601's own formula.
"""

import io
import pathlib
import subprocess

import numpy as np
from PIL import Image

DATA = pathlib.Path(__file__).parent / "data"
HEIGHT, WIDTH = 32, 40


def ffmpeg(*arguments, stdin=b""):
    command = ["ffmpeg", "-v", "error", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, input=stdin).stdout


def picture(t):
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    planes = [128 + 100 * np.sin(x / 6 + t + 2 * c) * np.cos(y / 5 - t / 2 + c) for c in range(3)]
    return np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)


def mjpeg():
    jpegs = []
    for t in range(3):
        file = io.BytesIO()
        Image.fromarray(picture(t)).save(file, "JPEG", quality=92, subsampling=0)
        jpegs.append(file.getvalue())
    ffmpeg("-y", "-f", "image2pipe", "-c:v", "mjpeg", "-r", 10, "-i", "-", "-c", "copy", "-bitexact", DATA / "video_mjpeg.avi", stdin=b"".join(jpegs))
    frames = [np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB")) for jpeg in jpegs]
    np.save(DATA / "video_mjpeg.npy", np.stack(frames))


def vp9():
    clip = DATA / "video_vp9.webm"
    raw = b"".join(picture(t).tobytes() for t in range(4))
    source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{WIDTH}x{HEIGHT}", "-r", 10, "-i", "-"]
    ffmpeg("-y", *source, "-c:v", "libvpx-vp9", "-pix_fmt", "yuv444p", "-crf", 20, "-b:v", 0, "-threads", 1, "-bitexact", clip, stdin=raw)
    yuv = ffmpeg("-c:v", "libvpx-vp9", "-i", clip, "-f", "rawvideo", "-pix_fmt", "yuv444p", "-")
    y, u, v = np.moveaxis(np.frombuffer(yuv, np.uint8).reshape(4, 3, HEIGHT, WIDTH).astype(float), 1, 0)
    y, u, v = (y - 16) * 255 / 219, (u - 128) * 255 / 224, (v - 128) * 255 / 224
    rgb = np.stack([y + 1.402 * v, y - 0.344136 * u - 0.714136 * v, y + 1.772 * u], -1)
    np.save(DATA / "video_vp9.npy", np.clip(np.round(rgb), 0, 255).astype(np.uint8))


def main():
    mjpeg()
    vp9()


if __name__ == "__main__":
    main()
