#include "pipeline/imaging/color.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headrace {
namespace {

template <typename T>
constexpr float kBound = 1.0f;
template <>
constexpr float kBound<uint8_t> = 255.0f;

// Cut, as a conversion to an integer type is.
template <typename T>
T ToLevel(float x) {
  return static_cast<T>(std::clamp(x, 0.0f, kBound<T>));
}

// What a blend of `x` with `other` weighs.
struct Weights {
  explicit Weights(double factor)
      : of_x(static_cast<float>(factor)), of_other(static_cast<float>(1.0 - factor)) {}
  float of_x, of_other;

  template <typename T>
  T Blend(float x, float other) const {
    return ToLevel<T>(of_x * x + of_other * other);
  }
};

template <typename T>
float Grey(const T* pixel) {
  const float grey = 0.2989f * static_cast<float>(pixel[0]) +
                     0.587f * static_cast<float>(pixel[1]) + 0.114f * static_cast<float>(pixel[2]);
  return std::is_same_v<T, uint8_t> ? std::floor(grey) : grey;
}

template <typename T>
float MeanGrey(const T* in, int64_t pixels, int64_t channels) {
  double sum = 0;
  for (int64_t p = 0; p < pixels; ++p)
    sum += channels == 1 ? static_cast<float>(in[p]) : Grey(in + p * 3);
  return static_cast<float>(sum / static_cast<double>(std::max<int64_t>(pixels, 1)));
}

// One value in, one out: a look-up where there are only 256 of them.
template <typename T, typename Change>
void ForEachValue(const T* in, int64_t items, Change change, T* out) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    std::array<uint8_t, 256> table;
    for (size_t x = 0; x < table.size(); ++x) table[x] = change(static_cast<float>(x));
    for (int64_t i = 0; i < items; ++i) out[i] = table[in[i]];
  } else {
    for (int64_t i = 0; i < items; ++i) out[i] = change(in[i]);
  }
}

template <typename T>
float Unit(T x) {
  return std::is_same_v<T, uint8_t> ? static_cast<float>(x) / 255.0f : static_cast<float>(x);
}
template <typename T>
T FromUnit(float x) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    return static_cast<uint8_t>(x * 255.999f);
  } else {
    return x;
  }
}

// The hue of a pixel in turns, 0 to 1; its saturation in `s`.
float Hue(float r, float g, float b, float high, float low, float& s) {
  const bool grey = high == low;
  const float range = high - low;
  s = range / (grey ? 1.0f : high);
  const float divisor = grey ? 1.0f : range;
  const float rc = (high - r) / divisor, gc = (high - g) / divisor, bc = (high - b) / divisor;
  const float sixths = high == r ? bc - gc : high == g ? 2.0f + rc - bc : 4.0f + gc - rc;
  const float turned = sixths / 6.0f + 1.0f;
  return turned - std::floor(turned);
}

}  // namespace

template <typename T>
void AdjustBrightness(const T* in, int64_t items, double factor, T* out) {
  const auto by = static_cast<float>(factor);
  ForEachValue(in, items, [by](float x) { return ToLevel<T>(by * x); }, out);
}

template <typename T>
void AdjustContrast(const T* in, int64_t pixels, int64_t channels, double factor, T* out) {
  const float mean = MeanGrey(in, pixels, channels);
  const Weights weights(factor);
  ForEachValue(in, pixels * channels, [&](float x) { return weights.Blend<T>(x, mean); }, out);
}

template <typename T>
void AdjustSaturation(const T* in, int64_t pixels, double factor, T* out) {
  const Weights weights(factor);
  for (int64_t p = 0; p < pixels; ++p, in += 3, out += 3) {
    const float grey = Grey(in);
    for (int c = 0; c < 3; ++c) out[c] = weights.Blend<T>(static_cast<float>(in[c]), grey);
  }
}

template <typename T>
void AdjustHue(const T* in, int64_t pixels, double shift, T* out) {
  const auto by = static_cast<float>(shift);
  for (int64_t p = 0; p < pixels; ++p, in += 3, out += 3) {
    const float r = Unit(in[0]), g = Unit(in[1]), b = Unit(in[2]);
    const float high = std::max({r, g, b}), low = std::min({r, g, b});
    float s = 0;
    float hue = Hue(r, g, b, high, low, s) + by;
    hue -= std::floor(hue);
    const float sector = std::floor(hue * 6.0f), f = hue * 6.0f - sector;
    const float v = high;
    const float down = std::clamp(v * (1.0f - s), 0.0f, 1.0f);
    const float falling = std::clamp(v * (1.0f - s * f), 0.0f, 1.0f);
    const float rising = std::clamp(v * (1.0f - s * (1.0f - f)), 0.0f, 1.0f);
    const std::array<std::array<float, 3>, 6> wheel{{{v, rising, down},
                                                     {falling, v, down},
                                                     {down, v, rising},
                                                     {down, falling, v},
                                                     {rising, down, v},
                                                     {v, down, falling}}};
    const std::array<float, 3>& rgb = wheel[static_cast<size_t>(sector) % 6];
    for (size_t c = 0; c < 3; ++c) out[c] = FromUnit<T>(rgb[c]);
  }
}

template <typename T>
void ToGrey(const T* in, int64_t pixels, int64_t out_channels, T* out) {
  for (int64_t p = 0; p < pixels; ++p, in += 3, out += out_channels) {
    const auto grey = static_cast<T>(Grey(in));
    for (int64_t c = 0; c < out_channels; ++c) out[c] = grey;
  }
}

#define HR_FOR_PIXELS(T)                                                   \
  template void AdjustBrightness<T>(const T*, int64_t, double, T*);        \
  template void AdjustContrast<T>(const T*, int64_t, int64_t, double, T*); \
  template void AdjustSaturation<T>(const T*, int64_t, double, T*);        \
  template void AdjustHue<T>(const T*, int64_t, double, T*);               \
  template void ToGrey<T>(const T*, int64_t, int64_t, T*);
HR_FOR_PIXELS(uint8_t)
HR_FOR_PIXELS(float)
#undef HR_FOR_PIXELS

}  // namespace headrace
