#include <algorithm>
#include <array>

#include "pipeline/imaging/resample_kernels.h"

namespace headrace {
namespace {

constexpr int32_t kHalf = 1 << (kWeightBits - 1);

uint8_t ToByte(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kWeightBits, 0, 255)); }

void Blend(const uint8_t* const* rows, const int16_t* weights, int64_t taps, int64_t bytes,
           uint8_t* out) {
  constexpr int64_t kChunk = 64;
  std::array<int32_t, kChunk> sums;
  for (int64_t at = 0; at < bytes; at += kChunk) {
    const int64_t n = std::min(kChunk, bytes - at);
    sums.fill(kHalf);
    for (int64_t t = 0; t < taps; ++t) {
      const uint8_t* row = rows[t] + at;
      const int32_t weight = weights[t];
      for (int64_t i = 0; i < n; ++i) sums[static_cast<size_t>(i)] += weight * row[i];
    }
    for (int64_t i = 0; i < n; ++i) out[at + i] = ToByte(sums[static_cast<size_t>(i)]);
  }
}

void GatherRow3(const uint8_t* in, const ResampleAxis<int16_t>& axis, uint8_t* out) {
  for (int64_t x = 0; x < axis.size; ++x, out += 3) {
    const uint8_t* p = in + int64_t{axis.first[static_cast<size_t>(x)]} * 3;
    const int16_t* weights = axis.row(x);
    int32_t r = kHalf, g = kHalf, b = kHalf;
    for (int32_t t = 0; t < axis.count[static_cast<size_t>(x)]; ++t, p += 3) {
      r += weights[t] * p[0];
      g += weights[t] * p[1];
      b += weights[t] * p[2];
    }
    out[0] = ToByte(r);
    out[1] = ToByte(g);
    out[2] = ToByte(b);
  }
}

void Gather3(const uint8_t* in0, const uint8_t* in1, const ResampleAxis<int16_t>& axis,
             uint8_t* out0, uint8_t* out1) {
  GatherRow3(in0, axis, out0);
  GatherRow3(in1, axis, out1);
}

}  // namespace

const ResampleKernels& PortableResampleKernels() {
  static constexpr ResampleKernels kKernels{Blend, Gather3};
  return kKernels;
}

}  // namespace headrace
