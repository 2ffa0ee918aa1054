#!/usr/bin/env python3
"""Cuts photographs of a Debian package into JPEG tiles for the demo: make-demo-data.py OUT_DIR [--tiles N]

Input: the nature photographs (and one large one of elephants) that Debian's mate-backgrounds package installs. Output:
OUT_DIR/<photograph>/<number>.jpg, overlapping tiles of 256 to 512 pixels a side, JPEG quality 90; the folder is the label.
Deterministic: the same package gives the same files.
"""
import argparse
import pathlib
import sys

from PIL import Image

PHOTOS = pathlib.Path("/usr/share/backgrounds/mate")


def tiles_of(width, height, side, stride):
    for top in range(0, height - side + 1, stride):
        for left in range(0, width - side + 1, stride):
            yield left, top, left + side, top + side


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--tiles", type=int, default=3000, help="stop after this many (default %(default)s)")
    parser.add_argument("--photos", type=pathlib.Path, default=PHOTOS)
    args = parser.parse_args()
    photos = sorted(args.photos.glob("nature/*.jpg")) + sorted(args.photos.glob("abstract/Elephants_5640x3172.jpg"))
    if not photos:
        sys.exit(f"no photographs under {args.photos}: install Debian's mate-backgrounds (scripts/install-deps.sh does)")
    per_photo = -(-args.tiles // len(photos))
    made = 0
    for photo in photos:
        image = Image.open(photo).convert("RGB")
        # The big photograph has many tiles; the small ones get smaller strides until they give their share.
        side = 512 if image.width > 3000 else 320
        stride = side
        boxes = []
        while len(boxes) < per_photo and stride >= 16:
            boxes = list(tiles_of(image.width, image.height, side, stride))
            stride -= 8
        folder = args.out / photo.stem.lower()
        folder.mkdir(parents=True, exist_ok=True)
        for number, box in enumerate(boxes[:per_photo]):
            if made == args.tiles:
                break
            image.crop(box).save(folder / f"{number:04d}.jpg", quality=90)
            made += 1
        if sys.stderr.isatty():
            print(f"\rcutting photographs into tiles: {made}/{args.tiles}", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(f"{made} tiles of {len(photos)} photographs in {args.out}")


if __name__ == "__main__":
    main()
