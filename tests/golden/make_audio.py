#!/usr/bin/env python3
"""Writes sound files by SciPy and FFmpeg with the samples that FFmpeg's own decoders give, what SciPy makes of a sound at other
rates, and librosa's mel spectrograms: data/audio_*. Needs the packages of requirements.txt and the ffmpeg program.

Our decoders are libsndfile's (libvorbis, libFLAC, libopus), our resampler libsoxr's: other code than what is used here.
"""

import pathlib
import subprocess

import librosa
import numpy as np
import scipy.io.wavfile
import scipy.signal

DATA = pathlib.Path(__file__).parent / "data"
RATE = 16000


def save(name, array):
    np.save(DATA / f"audio_{name}.npy", np.ascontiguousarray(array))


def sound(frames, rate=RATE, seed=1):
    """A rising tone with overtones over a little noise, softer towards the end."""
    t = np.arange(frames) / rate
    phase = 2 * np.pi * (220 * t + 1500 * t**2)
    x = sum(np.sin(k * phase + k) / k for k in (1, 2, 3)) * 0.3 * np.exp(-2 * t)
    return x + np.random.default_rng(seed).normal(0, 0.01, frames)


def ffmpeg(*arguments, stdin=b""):
    command = ["ffmpeg", "-v", "error", "-nostdin", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, input=stdin).stdout


def decoded(path, channels):
    """Samples by FFmpeg's decoder; native ones, not the wrappers of other libraries."""
    raw = ffmpeg("-i", path, "-f", "f32le", "-acodec", "pcm_f32le", "-")
    return np.frombuffer(raw, "<f4").reshape(-1, channels)


def files():
    left, right = sound(700), sound(700, seed=2)[::-1]
    stereo = np.stack([left, right], -1)
    as_int = (np.clip(stereo, -1, 1) * 32767).astype(np.int16)
    wav = DATA / "audio_stereo_s16.wav"
    scipy.io.wavfile.write(wav, RATE, as_int)
    save("stereo", as_int.astype(np.float32) / 32768)
    scipy.io.wavfile.write(DATA / "audio_mono_f32.wav", 8000, left.astype(np.float32))
    save("mono", left.astype(np.float32)[:, None])
    for name, codec in {"s24.wav": "pcm_s24le", "u8.wav": "pcm_u8", "s16.flac": "flac"}.items():
        ffmpeg("-y", "-i", wav, "-c:a", codec, "-bitexact", DATA / f"audio_stereo_{name}")
    save("stereo_u8", decoded(DATA / "audio_stereo_u8.wav", 2))
    long = DATA / "long.wav"
    scipy.io.wavfile.write(long, RATE, (np.clip(sound(2500), -1, 1) * 32767).astype(np.int16))
    ogg = DATA / "audio_mono_vorbis.ogg"
    ffmpeg("-y", "-i", long, "-c:a", "libvorbis", "-q:a", 2, "-bitexact", ogg)
    save("mono_vorbis", decoded(ogg, 1)[:2500])  # FFmpeg leaves what fills the last block
    long.unlink()


def rates():
    """Far from the filters' edges, so that two good resamplers agree."""
    for source, target in ((16000, 8000), (8000, 11025), (44100, 16000)):
        t = np.arange(1200) / source
        low = min(source, target)
        x = sum(np.sin(2 * np.pi * f * low * t + f) for f in (0.03, 0.11, 0.23, 0.31)) / 4
        x = (x * scipy.signal.windows.tukey(len(x), 0.3)).astype(np.float32)
        up, down = target // np.gcd(source, target), source // np.gcd(source, target)
        half = 64 * max(up, down)
        taps = scipy.signal.firwin(2 * half + 1, 1 / max(up, down), window=("kaiser", 12.0))
        save(f"at_{source}", x)
        save(f"from_{source}_to_{target}", scipy.signal.resample_poly(x.astype(float), up, down, window=taps).astype(np.float32))


def mels():
    x = sound(3000).astype(np.float32)
    save("mel_in", x)
    # torchaudio's defaults; librosa says them otherwise.
    save("mel_torchaudio", librosa.feature.melspectrogram(y=x, sr=RATE, n_fft=400, hop_length=200, n_mels=24, htk=True, norm=None, pad_mode="reflect"))
    slaney = dict(sr=RATE, n_fft=512, hop_length=128, n_mels=20, fmin=50, fmax=7600)
    save("mel_librosa", librosa.feature.melspectrogram(y=x, **slaney))
    save("mel_magnitude", librosa.feature.melspectrogram(y=x, win_length=300, center=False, power=1.0, **slaney))
    save("mel_db", librosa.power_to_db(librosa.feature.melspectrogram(y=x, **slaney), top_db=30.0))


def main():
    files()
    rates()
    mels()


if __name__ == "__main__":
    main()
