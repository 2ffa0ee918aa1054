#include <algorithm>
#include <cmath>

#include "common/status.h"
#include "pipeline/imaging/resample_kernels.h"

namespace headrace {
namespace {

double Triangle(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

// R. Keys, "Cubic convolution interpolation for digital image processing" (1981), a = -0.5.
double Cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

double Support(ResampleMethod method) { return method == ResampleMethod::kBilinear ? 1.0 : 2.0; }

// To fixed point, so that the sum is exactly 1: a flat area keeps its value.
void Store(const double* weights, int64_t n, int16_t* out) {
  int32_t left = 1 << kWeightBits;
  int64_t biggest = 0;
  for (int64_t i = 0; i < n; ++i) {
    const auto fixed = static_cast<int32_t>(std::lrint(weights[i] * (1 << kWeightBits)));
    out[i] = static_cast<int16_t>(fixed);
    left -= fixed;
    if (out[i] > out[biggest]) biggest = i;
  }
  out[biggest] = static_cast<int16_t>(out[biggest] + left);
}

void Store(const double* weights, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(weights[i]);
}

template <typename Weight>
void Make(int64_t in_size, double low, double high, int64_t out_size, ResampleMethod method,
          ResampleAxis<Weight>& axis) {
  const double scale = (high - low) / static_cast<double>(out_size);
  const double widen = std::max(scale, 1.0);
  const double support = Support(method) * widen;
  const int64_t most = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
  axis.size = out_size;
  axis.stride = (most + kTapPad - 1) / kTapPad * kTapPad;
  axis.taps = 0;
  axis.identity = true;
  axis.first.resize(static_cast<size_t>(out_size));
  axis.count.resize(static_cast<size_t>(out_size));
  axis.weights.assign(static_cast<size_t>(out_size * axis.stride), Weight{});
  std::vector<double>& weights = axis.exact;
  weights.resize(static_cast<size_t>(most));
  const double narrow = 1.0 / widen;
  for (int64_t i = 0; i < out_size; ++i) {
    const double center = low + (static_cast<double>(i) + 0.5) * scale;
    auto first = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
    int64_t count = std::min(static_cast<int64_t>(center + support + 0.5), in_size) - first;
    double sum = 0;
    for (int64_t t = 0; t < count; ++t) {
      const double x = (static_cast<double>(first + t) - center + 0.5) * narrow;
      weights[static_cast<size_t>(t)] =
          method == ResampleMethod::kBilinear ? Triangle(x) : Cubic(x);
      sum += weights[static_cast<size_t>(t)];
    }
    const double* used = weights.data();
    while (count > 1 && used[0] == 0) ++used, ++first, --count;
    while (count > 1 && used[count - 1] == 0) --count;
    const double share = 1.0 / sum;
    for (int64_t t = 0; t < count; ++t)
      weights[static_cast<size_t>(used - weights.data() + t)] *= share;
    Store(used, count, axis.weights.data() + i * axis.stride);
    axis.first[static_cast<size_t>(i)] = static_cast<int32_t>(first);
    axis.count[static_cast<size_t>(i)] = static_cast<int32_t>(count);
    axis.taps = std::max(axis.taps, count);
    axis.identity = axis.identity && count == 1 && first == axis.first[0] + i;
  }
}

}  // namespace

// Positions only grow along an axis, but the filter's cut at the image's edge makes the last one's
// end the greatest.
template <typename Weight>
int64_t ResampleAxis<Weight>::begin() const {
  return *std::min_element(first.begin(), first.end());
}
template <typename Weight>
int64_t ResampleAxis<Weight>::end() const {
  int64_t end = 0;
  for (size_t i = 0; i < first.size(); ++i) end = std::max<int64_t>(end, first[i] + count[i]);
  return end;
}
template struct ResampleAxis<int16_t>;
template struct ResampleAxis<float>;

void MakeAxis(int64_t in_size, double low, double high, int64_t out_size, ResampleMethod method,
              ResampleAxis<int16_t>& axis) {
  Make(in_size, low, high, out_size, method, axis);
}
void MakeAxis(int64_t in_size, double low, double high, int64_t out_size, ResampleMethod method,
              ResampleAxis<float>& axis) {
  Make(in_size, low, high, out_size, method, axis);
}

double FilterReach(ResampleMethod method, double box_size, int64_t out_size) {
  return Support(method) * std::max(box_size / static_cast<double>(out_size), 1.0);
}

absl::StatusOr<ResampleMethod> ParseResampleMethod(std::string_view name) {
  if (name == "bilinear") return ResampleMethod::kBilinear;
  if (name == "bicubic") return ResampleMethod::kBicubic;
  return InvalidArgument("method: expected 'bilinear' or 'bicubic', got '{}'", name);
}

}  // namespace headrace
