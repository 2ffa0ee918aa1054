// Sound file -> samples, by contents (never by file name): WAV (RIFF, RF64), FLAC and Ogg (Vorbis,
// Opus, FLAC), by libsndfile.
//
// What comes out is float32, channels interleaved; integer files are scaled to -1 to 1 (a 16-bit
// sample is n / 32768), as soundfile and torchaudio do. Lossy files may reach a little over 1.
//
// Thread-safe; no state between calls. Damaged bytes never give samples: a file that holds fewer
// frames than it announces is an error. (An Ogg file announces nothing: cut between two pages, it
// is a shorter file.)
//
// Errors: INVALID_ARGUMENT (no sound file of a known kind; says what was found), DATA_LOSS (damaged
// or cut off), OUT_OF_RANGE (over max_samples). No message names the file: the caller knows it.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace headrace {

// 1 GiB of float32: an hour and a half of 48 kHz mono.
inline constexpr int64_t kDefaultMaxSamples = int64_t{1} << 28;

struct AudioOptions {
  bool mono = false;  // the mean of the channels, as one
  // frames x channels (as stored) above which a file is refused, before memory is taken for it.
  int64_t max_samples = kDefaultMaxSamples;
};

// Where the decoder writes: called once, with the bytes it needs; what it returns must not be null.
using SampleAllocator = absl::FunctionRef<std::byte*(size_t bytes)>;

struct DecodedAudio {
  const float* samples = nullptr;  // frames x channels, in what the allocator gave
  int64_t frames = 0;
  int64_t channels = 0;     // 1 when mono was asked for
  int64_t sample_rate = 0;  // frames a second
};

absl::StatusOr<DecodedAudio> DecodeAudio(std::string_view bytes, const AudioOptions& options,
                                         SampleAllocator allocate);

}  // namespace headrace
