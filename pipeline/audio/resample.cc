#include "pipeline/audio/resample.h"

#include <soxr.h>

#include <algorithm>

#include "common/status.h"

namespace headrace {

absl::Status CheckSampleRate(int64_t rate) {
  if (rate >= kMinSampleRate && rate <= kMaxSampleRate) return absl::OkStatus();
  return InvalidArgument("sample rate {} Hz: expected {} to {}", rate, kMinSampleRate,
                         kMaxSampleRate);
}

int64_t ResampledFrames(int64_t frames, int64_t from_rate, int64_t to_rate) {
  __extension__ using Wide = __int128;
  const Wide scaled = static_cast<Wide>(frames) * to_rate;
  return static_cast<int64_t>((scaled + from_rate - 1) / from_rate);
}

absl::Status ResampleAudio(const float* in, int64_t frames, int64_t channels, int64_t from_rate,
                           int64_t to_rate, float* out) {
  const int64_t wanted = ResampledFrames(frames, from_rate, to_rate);
  const soxr_io_spec_t types = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
  const soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
  const soxr_runtime_spec_t one_thread = soxr_runtime_spec(1);
  size_t made = 0;
  const soxr_error_t error =
      soxr_oneshot(static_cast<double>(from_rate), static_cast<double>(to_rate),
                   static_cast<unsigned>(channels), in, static_cast<size_t>(frames), nullptr, out,
                   static_cast<size_t>(wanted), &made, &types, &quality, &one_thread);
  if (error != nullptr) return InvalidArgument("libsoxr: {}", error);
  // It rounds to the nearest frame where we round up.
  std::fill(out + static_cast<int64_t>(made) * channels, out + wanted * channels, 0.0f);
  return absl::OkStatus();
}

}  // namespace headrace
