#include "pipeline/audio/test_sounds.h"

#include <sndfile.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <numbers>

namespace headrace {
namespace {

struct Growing {
  std::string bytes;
  size_t at = 0;
};

sf_count_t Length(void* user) {
  return static_cast<sf_count_t>(static_cast<Growing*>(user)->bytes.size());
}
sf_count_t Seek(sf_count_t offset, int whence, void* user) {
  auto& file = *static_cast<Growing*>(user);
  const sf_count_t base = whence == SEEK_SET   ? 0
                          : whence == SEEK_CUR ? static_cast<sf_count_t>(file.at)
                                               : Length(user);
  file.at = static_cast<size_t>(base + offset);
  return base + offset;
}
sf_count_t Read(void* out, sf_count_t count, void* user) {
  auto& file = *static_cast<Growing*>(user);
  const size_t n = file.bytes.copy(static_cast<char*>(out), static_cast<size_t>(count), file.at);
  file.at += n;
  return static_cast<sf_count_t>(n);
}
sf_count_t Write(const void* data, sf_count_t count, void* user) {
  auto& file = *static_cast<Growing*>(user);
  const auto n = static_cast<size_t>(count);
  if (file.bytes.size() < file.at + n) file.bytes.resize(file.at + n);
  std::memcpy(file.bytes.data() + file.at, data, n);
  file.at += n;
  return count;
}
sf_count_t Tell(void* user) { return static_cast<sf_count_t>(static_cast<Growing*>(user)->at); }

int FormatOf(SoundKind kind) {
  switch (kind) {
    case SoundKind::kWav16:
      return SF_FORMAT_WAV | SF_FORMAT_PCM_16;
    case SoundKind::kWavFloat:
      return SF_FORMAT_WAV | SF_FORMAT_FLOAT;
    case SoundKind::kFlac:
      return SF_FORMAT_FLAC | SF_FORMAT_PCM_16;
    case SoundKind::kVorbis:
      return SF_FORMAT_OGG | SF_FORMAT_VORBIS;
    case SoundKind::kOpus:
      return SF_FORMAT_OGG | SF_FORMAT_OPUS;
  }
  return 0;
}

}  // namespace

std::vector<float> MakeTone(int64_t frames, int64_t channels, int64_t sample_rate) {
  std::vector<float> out;
  for (int64_t f = 0; f < frames; ++f) {
    const double t = static_cast<double>(f) / static_cast<double>(sample_rate);
    for (int64_t c = 0; c < channels; ++c) {
      const double hz = 200.0 + 150.0 * static_cast<double>(c);
      out.push_back(static_cast<float>(0.5 * std::sin(2 * std::numbers::pi * hz * t)));
    }
  }
  return out;
}

std::string EncodeSound(SoundKind kind, const std::vector<float>& samples, int64_t channels,
                        int64_t sample_rate) {
  Growing file;
  SF_VIRTUAL_IO io{Length, Seek, Read, Write, Tell};
  SF_INFO info{};
  info.format = FormatOf(kind);
  info.channels = static_cast<int>(channels);
  info.samplerate = static_cast<int>(sample_rate);
  SNDFILE* out = sf_open_virtual(&io, SFM_WRITE, &info, &file);
  if (out == nullptr) return "";
  sf_writef_float(out, samples.data(), static_cast<sf_count_t>(samples.size()) / channels);
  sf_close(out);
  return file.bytes;
}

}  // namespace headrace
