#include "pipeline/imaging/blur.h"

#include <algorithm>
#include <cmath>

#include "pipeline/imaging/scratch.h"

namespace headrace {
namespace {

// Where index i of a side of `n` mirrors to: -1 is 1, n is n - 2.
int64_t Mirror(int64_t i, int64_t n) {
  if (i < 0) return -i;
  return i < n ? i : 2 * (n - 1) - i;
}

// out[i] += weight * in[i]
template <typename T>
void AddScaled(const T* in, int64_t items, float weight, float* out) {
  for (int64_t i = 0; i < items; ++i) out[i] += weight * static_cast<float>(in[i]);
}

// Row `y` of `in`, weighted over the rows around it, between `margin` mirrored pixels left and
// right.
template <typename T>
void BlurDown(const T* in, int64_t height, int64_t width, int64_t channels, int64_t y,
              std::span<const float> weights, int64_t margin, float* row) {
  const int64_t items = width * channels;
  const auto reach = static_cast<int64_t>(weights.size() / 2);
  float* middle = row + margin * channels;
  std::fill(middle, middle + items, 0.0f);
  for (int64_t k = -reach; k <= reach; ++k) {
    AddScaled(in + Mirror(y + k, height) * items, items, weights[static_cast<size_t>(k + reach)],
              middle);
  }
  for (int64_t x = 1; x <= margin; ++x) {
    std::copy_n(middle + Mirror(-x, width) * channels, channels, middle - x * channels);
    std::copy_n(middle + Mirror(width - 1 + x, width) * channels, channels,
                middle + (width - 1 + x) * channels);
  }
}

void Store(const float* in, int64_t items, float* out) { std::copy_n(in, items, out); }
void Store(const float* in, int64_t items, uint8_t* out) {
  for (int64_t i = 0; i < items; ++i)
    out[i] = static_cast<uint8_t>(std::clamp(std::nearbyint(in[i]), 0.0f, 255.0f));
}

template <typename T>
void BlurBoth(const T* in, int64_t height, int64_t width, int64_t channels,
              std::span<const float> down, std::span<const float> across, T* out) {
  const int64_t items = width * channels;
  const auto margin = static_cast<int64_t>(across.size() / 2);
  const int64_t padded = (width + 2 * margin) * channels;
  // One row with margins, one row of sums.
  std::byte* scratch =
      ThreadScratch(ScratchUse::kResample).Get(static_cast<size_t>(padded + items) * sizeof(float));
  auto* row = reinterpret_cast<float*>(scratch);
  float* sums = row + padded;
  for (int64_t y = 0; y < height; ++y) {
    BlurDown(in, height, width, channels, y, down, margin, row);
    std::fill(sums, sums + items, 0.0f);
    for (size_t k = 0; k < across.size(); ++k)
      AddScaled(row + static_cast<int64_t>(k) * channels, items, across[k], sums);
    Store(sums, items, out + y * items);
  }
}

}  // namespace

void GaussianWeights(double sigma, std::span<float> out) {
  const double half = static_cast<double>(out.size() - 1) * 0.5;
  double sum = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    const double x = (static_cast<double>(i) - half) / sigma;
    out[i] = static_cast<float>(std::exp(-0.5 * x * x));
    sum += out[i];
  }
  for (float& w : out) w = static_cast<float>(w / sum);
}

void Blur(const ImageView& in, std::span<const float> down, std::span<const float> across,
          uint8_t* out) {
  BlurBoth(in.data, in.height, in.width, in.channels, down, across, out);
}

void Blur(const float* in, int64_t height, int64_t width, int64_t channels,
          std::span<const float> down, std::span<const float> across, float* out) {
  BlurBoth(in, height, width, channels, down, across, out);
}

}  // namespace headrace
