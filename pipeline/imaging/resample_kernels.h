// The two inner loops of Resample, in a portable form and one for AVX2 that gives the same bytes.
// Not for other rooms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipeline/imaging/resample.h"

namespace headrace {

// Bits after the point: 1.0 still fits int16, and the error of a weight is 2^-15.
inline constexpr int kWeightBits = 14;
// Weights of an output pixel are padded with zeros to a multiple of this.
inline constexpr int64_t kTapPad = 4;
// Kernels may read so many bytes behind the last input pixel they use.
inline constexpr int64_t kOverread = 32;

// For each output position of one axis: which input positions, with which weights (summing to 1).
template <typename Weight>
struct ResampleAxis {
  int64_t size = 0;       // outputs
  int64_t stride = 0;     // weights per output, with padding
  int64_t taps = 0;       // the most that any output uses
  bool identity = false;  // every output is one input pixel
  std::vector<int32_t> first;
  std::vector<int32_t> count;
  std::vector<Weight> weights;
  std::vector<double> exact;  // of one output, while the axis is made

  const Weight* row(int64_t i) const { return weights.data() + i * stride; }
  // [begin, end) of the inputs that are used at all.
  int64_t begin() const;
  int64_t end() const;
};

// Reuses the memory of `axis`. Input positions are [0, in_size), the box [low, high).
void MakeAxis(int64_t in_size, double low, double high, int64_t out_size, ResampleMethod method,
              ResampleAxis<int16_t>& axis);
void MakeAxis(int64_t in_size, double low, double high, int64_t out_size, ResampleMethod method,
              ResampleAxis<float>& axis);

struct ResampleKernels {
  // out[i] = sum over t of weights[t] * rows[t][i], for `bytes` bytes. `taps` is even: an odd one
  // out has weight 0.
  void (*blend)(const uint8_t* const* rows, const int16_t* weights, int64_t taps, int64_t bytes,
                uint8_t* out);
  // One output row from one input row, twice. Three channels.
  void (*gather3)(const uint8_t* in0, const uint8_t* in1, const ResampleAxis<int16_t>& axis,
                  uint8_t* out0, uint8_t* out1);
};

const ResampleKernels& PortableResampleKernels();
// The best that this processor runs.
const ResampleKernels& BestResampleKernels();

// Resample with given kernels, for tests.
void ResampleWith(const ResampleKernels& kernels, const ImageView& in, const Box& box,
                  ResampleMethod method, int64_t out_height, int64_t out_width, uint8_t* out);

}  // namespace headrace
