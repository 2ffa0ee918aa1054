#include "pipeline/audio/decode.h"

#include <sndfile.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/status.h"

namespace headrace {
namespace {

constexpr int64_t kChunkFrames = 4096;
// How much larger samples may be than the file for the announced length to be believed; longer
// ones (silence in FLAC, or a lie) are collected as they come.
constexpr int64_t kBelievedExpansion = 256;

// The file as libsndfile reads it.
struct MemoryFile {
  std::string_view bytes;
  sf_count_t at = 0;
};

sf_count_t Length(void* user) {
  return static_cast<sf_count_t>(static_cast<MemoryFile*>(user)->bytes.size());
}
sf_count_t Seek(sf_count_t offset, int whence, void* user) {
  auto& file = *static_cast<MemoryFile*>(user);
  const sf_count_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? file.at : Length(user);
  sf_count_t to = 0;
  if (__builtin_add_overflow(base, offset, &to) || to < 0) return -1;
  return file.at = to;
}
sf_count_t Read(void* out, sf_count_t count, void* user) {
  auto& file = *static_cast<MemoryFile*>(user);
  const sf_count_t n =
      std::clamp<sf_count_t>(Length(user) - file.at, 0, std::max<sf_count_t>(count, 0));
  if (n > 0) std::memcpy(out, file.bytes.data() + file.at, static_cast<size_t>(n));
  file.at += n;
  return n;
}
sf_count_t Write(const void*, sf_count_t, void*) { return 0; }
sf_count_t Tell(void* user) { return static_cast<MemoryFile*>(user)->at; }

struct Closer {
  void operator()(SNDFILE* file) const { sf_close(file); }
};

uint32_t Little32(std::string_view bytes, size_t at) {
  uint32_t x = 0;
  std::memcpy(&x, bytes.data() + at, sizeof(x));
  return x;
}

absl::Status CheckKind(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, 4);
  if (head == "RIFF" || head == "RF64" || head == "fLaC" || head == "OggS") return absl::OkStatus();
  if (bytes.empty()) return InvalidArgument("0 bytes: no sound file");
  return InvalidArgument("begins with \"{}\": neither WAV, FLAC nor Ogg",
                         absl::CHexEscape({head.data(), head.size()}));
}

// libsndfile takes a WAV that was cut off as a shorter one; we do not. 0 and 0xffffffff announce no
// length: what writes to a pipe.
absl::Status CheckWavIsWhole(std::string_view bytes) {
  if (bytes.substr(0, 4) != "RIFF") return absl::OkStatus();
  for (uint64_t at = 12; at + 8 <= bytes.size();) {
    const uint64_t size = Little32(bytes, static_cast<size_t>(at) + 4);
    const bool data = bytes.substr(static_cast<size_t>(at), 4) == "data";
    const uint64_t left = bytes.size() - at - 8;
    if (data && size != 0 && size != 0xffffffff && size > left) {
      return DataLoss("WAV ends early: its sound is {} bytes long, {} are there", size, left);
    }
    if (data) break;
    at += 8 + size + size % 2;
  }
  return absl::OkStatus();
}

// Where samples go: the allocator's memory where the announced length is believed, else a buffer.
class SampleSink {
 public:
  SampleSink(int64_t channels, bool mono) : channels_(channels), mono_(mono) {}

  void Believe(int64_t frames, SampleAllocator allocate) {
    out_ =
        reinterpret_cast<float*>(allocate(static_cast<size_t>(frames * width()) * sizeof(float)));
  }
  int64_t width() const { return mono_ ? 1 : channels_; }
  int64_t frames() const { return frames_; }

  void Append(const float* chunk, int64_t frames) {
    if (out_ == nullptr) grown_.resize(static_cast<size_t>((frames_ + frames) * width()));
    float* to = (out_ != nullptr ? out_ : grown_.data()) + frames_ * width();
    frames_ += frames;
    if (!mono_ || channels_ == 1) {
      std::copy_n(chunk, frames * channels_, to);
      return;
    }
    for (int64_t f = 0; f < frames; ++f, chunk += channels_) {
      float sum = 0;
      for (int64_t c = 0; c < channels_; ++c) sum += chunk[c];
      to[f] = sum / static_cast<float>(channels_);
    }
  }

  const float* Finish(SampleAllocator allocate) {
    if (out_ != nullptr) return out_;
    Believe(frames_, allocate);
    std::copy(grown_.begin(), grown_.end(), out_);
    return out_;
  }

 private:
  int64_t channels_;
  bool mono_;
  int64_t frames_ = 0;
  float* out_ = nullptr;
  std::vector<float> grown_;
};

absl::Status TooLong(int64_t frames, const SF_INFO& info, int64_t max_samples) {
  return OutOfRange("sound of {} frames and {} channels is over the limit of {} samples", frames,
                    info.channels, max_samples);
}

// `announced`: frames, or -1 where the file does not say.
absl::Status ReadAll(SNDFILE* file, const SF_INFO& info, int64_t announced, int64_t max_samples,
                     SampleSink& sink) {
  std::vector<float> chunk(static_cast<size_t>(kChunkFrames * info.channels));
  for (;;) {
    const int64_t left = announced < 0 ? kChunkFrames : announced - sink.frames();
    const sf_count_t n = sf_readf_float(file, chunk.data(), std::min(left, kChunkFrames));
    if (n <= 0) break;
    if ((sink.frames() + n) > max_samples / info.channels)
      return TooLong(sink.frames() + n, info, max_samples);
    sink.Append(chunk.data(), n);
  }
  if (const int error = sf_error(file); error != SF_ERR_NO_ERROR) {
    return DataLoss("damaged after {} frames: {}", sink.frames(), sf_error_number(error));
  }
  if (sink.frames() < announced) {
    return DataLoss("ends early: {} frames are announced, {} are there", announced, sink.frames());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DecodedAudio> DecodeAudio(std::string_view bytes, const AudioOptions& options,
                                         SampleAllocator allocate) {
  HR_RETURN_IF_ERROR(CheckKind(bytes));
  HR_RETURN_IF_ERROR(CheckWavIsWhole(bytes));
  MemoryFile memory{bytes};
  SF_VIRTUAL_IO io{Length, Seek, Read, Write, Tell};
  SF_INFO info{};
  const std::unique_ptr<SNDFILE, Closer> file(sf_open_virtual(&io, SFM_READ, &info, &memory));
  if (file == nullptr) {
    return DataLoss("no readable sound file: {}", sf_error_number(sf_error(nullptr)));
  }
  if (info.channels <= 0 || info.samplerate <= 0) {
    return DataLoss("sound file of {} channels at {} Hz", info.channels, info.samplerate);
  }
  const bool known = info.frames > 0 && info.frames < SF_COUNT_MAX;
  if (known && info.frames > options.max_samples / info.channels)
    return TooLong(info.frames, info, options.max_samples);
  SampleSink sink(info.channels, options.mono);
  const auto believed = static_cast<int64_t>(bytes.size()) * kBelievedExpansion;
  if (known && info.frames <= believed / info.channels / static_cast<int64_t>(sizeof(float)))
    sink.Believe(info.frames, allocate);
  HR_RETURN_IF_ERROR(
      ReadAll(file.get(), info, known ? info.frames : -1, options.max_samples, sink));
  DecodedAudio out;
  out.samples = sink.Finish(allocate);
  out.frames = sink.frames();
  out.channels = sink.width();
  out.sample_rate = info.samplerate;
  return out;
}

}  // namespace headrace
