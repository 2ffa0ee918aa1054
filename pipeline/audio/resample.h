// Another sample rate for a sound, by libsoxr at its high quality (pass band to 0.91 of the lower
// half rate, 20 bits of precision): what librosa calls soxr_hq.
//
// Thread-safe; each call makes and frees a resampler of its own.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

namespace headrace {

inline constexpr int64_t kMinSampleRate = 100;
inline constexpr int64_t kMaxSampleRate = 1'000'000;

// INVALID_ARGUMENT for a rate outside the two.
absl::Status CheckSampleRate(int64_t rate);

// Frames that come out of `frames`: the length in seconds stays, rounded up.
int64_t ResampledFrames(int64_t frames, int64_t from_rate, int64_t to_rate);

// `out` has room for ResampledFrames() of `channels` interleaved channels. INVALID_ARGUMENT where
// libsoxr cannot do it.
absl::Status ResampleAudio(const float* in, int64_t frames, int64_t channels, int64_t from_rate,
                           int64_t to_rate, float* out);

}  // namespace headrace
