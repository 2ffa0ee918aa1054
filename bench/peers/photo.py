"""Decode and augment a JPEG with torchvision's fastest parts: its libjpeg-turbo decoder and the v2 transforms on uint8 tensors, whose
resize is vectorised. (Pillow, which ImageFolder uses, is slower.) For every contestant whose library leaves the work to Python."""
import torch
from torchvision.io import ImageReadMode, decode_jpeg
from torchvision.transforms import v2

torch.set_num_threads(1)  # parallel by processes or threads of the loader

transform = v2.Compose([
    v2.RandomResizedCrop(224, antialias=True),
    v2.RandomHorizontalFlip(),
    v2.ToDtype(torch.float32, scale=True),
    v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
])


def load(jpeg):
    """bytes -> float32 [3, 224, 224]"""
    data = torch.frombuffer(bytearray(jpeg), dtype=torch.uint8)
    return transform(decode_jpeg(data, mode=ImageReadMode.RGB))
