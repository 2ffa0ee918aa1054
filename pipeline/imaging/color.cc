#include "pipeline/imaging/color.h"

#include <algorithm>
#include <array>
#include <type_traits>

#if defined(__x86_64__)
// Bodies that are worth it are compiled a second time for AVX2, and called where the processor has
// it. Multiplications and additions are never fused, so that every processor rounds alike.
#define HR_AVX2 __attribute__((target("avx2")))
#endif
#define HR_BODY [[gnu::always_inline]] inline

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
float Grey(float r, float g, float b) {
  const float grey = 0.2989f * r + 0.587f * g + 0.114f * b;
  // Levels are not negative, so cutting is rounding down.
  return std::is_same_v<T, uint8_t> ? static_cast<float>(static_cast<int32_t>(grey)) : grey;
}
template <typename T>
float Grey(const T* pixel) {
  return Grey<T>(static_cast<float>(pixel[0]), static_cast<float>(pixel[1]),
                 static_cast<float>(pixel[2]));
}

template <typename T>
HR_BODY float MeanGreyBody(const T* in, int64_t pixels, int64_t channels) {
  std::conditional_t<std::is_same_v<T, uint8_t>, int64_t, double> sum = 0;
  for (int64_t p = 0; p < pixels; ++p) {
    const float grey = channels == 1 ? static_cast<float>(in[p]) : Grey(in + p * 3);
    if constexpr (std::is_same_v<T, uint8_t>) {
      sum += static_cast<int32_t>(grey);
    } else {
      sum += grey;
    }
  }
  return static_cast<float>(static_cast<double>(sum) /
                            static_cast<double>(std::max<int64_t>(pixels, 1)));
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

// Some pixels, a plane a channel: the loops over them become vector instructions.
constexpr int64_t kChunk = 64;
struct Planes {
  std::array<float, kChunk> r, g, b;
};

// Turns the hue of `n` pixels. Choices instead of branches throughout.
HR_BODY void TurnHue(float by, size_t n, Planes& p) {
  for (size_t i = 0; i < n; ++i) {
    const float r = p.r[i], g = p.g[i], b = p.b[i];
    const float high = std::max(std::max(r, g), b), low = std::min(std::min(r, g), b);
    const float range = high - low;
    const bool grey = high == low;
    const float s = range / (grey ? 1.0f : high), divisor = grey ? 1.0f : range;
    const float rc = (high - r) / divisor, gc = (high - g) / divisor, bc = (high - b) / divisor;
    const float sixths = high == r ? bc - gc : high == g ? 2.0f + rc - bc : 4.0f + gc - rc;
    float hue = sixths / 6.0f + 1.0f;  // 5/6 to 11/6
    hue = hue >= 1.0f ? hue - 1.0f : hue;
    hue += by;
    hue = hue < 0.0f ? hue + 1.0f : hue;
    hue = hue >= 1.0f ? hue - 1.0f : hue;
    const float six = hue * 6.0f;
    const int32_t cut = static_cast<int32_t>(six);
    const float f = six - static_cast<float>(cut);
    const int32_t sector = cut >= 6 ? cut - 6 : cut;
    const float down = std::min(std::max(high * (1.0f - s), 0.0f), 1.0f);
    const float falling = std::min(std::max(high * (1.0f - s * f), 0.0f), 1.0f);
    const float rising = std::min(std::max(high * (1.0f - s * (1.0f - f)), 0.0f), 1.0f);
    const float red_1_to_4 = sector == 1 ? falling : sector == 4 ? rising : down;
    p.r[i] = (sector == 0) | (sector == 5) ? high : red_1_to_4;
    const float green_0_or_3 = sector == 0 ? rising : sector == 3 ? falling : down;
    p.g[i] = (sector == 1) | (sector == 2) ? high : green_0_or_3;
    const float blue_2_or_5 = sector == 2 ? rising : sector == 5 ? falling : down;
    p.b[i] = (sector == 3) | (sector == 4) ? high : blue_2_or_5;
  }
}

template <typename T>
HR_BODY void SaturationBody(const T* in, int64_t pixels, double factor, T* out) {
  const Weights weights(factor);
  for (int64_t p = 0; p < pixels; ++p, in += 3, out += 3) {
    const float grey = Grey(in);
    for (int c = 0; c < 3; ++c) out[c] = weights.Blend<T>(static_cast<float>(in[c]), grey);
  }
}

template <typename T>
HR_BODY void HueBody(const T* in, int64_t pixels, double shift, T* out) {
  Planes planes;
  for (int64_t from = 0; from < pixels; from += kChunk) {
    const auto n = static_cast<size_t>(std::min(kChunk, pixels - from));
    const T* p = in + from * 3;
    for (size_t i = 0; i < n; ++i) {
      planes.r[i] = Unit(p[3 * i]);
      planes.g[i] = Unit(p[3 * i + 1]);
      planes.b[i] = Unit(p[3 * i + 2]);
    }
    TurnHue(static_cast<float>(shift), n, planes);
    T* q = out + from * 3;
    for (size_t i = 0; i < n; ++i) {
      q[3 * i] = FromUnit<T>(planes.r[i]);
      q[3 * i + 1] = FromUnit<T>(planes.g[i]);
      q[3 * i + 2] = FromUnit<T>(planes.b[i]);
    }
  }
}

#if defined(__x86_64__)
bool HaveAvx2() { return __builtin_cpu_supports("avx2"); }

template <typename T>
HR_AVX2 float MeanGreyAvx2(const T* in, int64_t pixels, int64_t channels) {
  return MeanGreyBody(in, pixels, channels);
}
template <typename T>
HR_AVX2 void SaturationAvx2(const T* in, int64_t pixels, double factor, T* out) {
  SaturationBody(in, pixels, factor, out);
}
template <typename T>
HR_AVX2 void HueAvx2(const T* in, int64_t pixels, double shift, T* out) {
  HueBody(in, pixels, shift, out);
}
#endif

template <typename T>
float MeanGrey(const T* in, int64_t pixels, int64_t channels) {
#if defined(__x86_64__)
  if (HaveAvx2()) return MeanGreyAvx2(in, pixels, channels);
#endif
  return MeanGreyBody(in, pixels, channels);
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
#if defined(__x86_64__)
  if (HaveAvx2()) return SaturationAvx2(in, pixels, factor, out);
#endif
  SaturationBody(in, pixels, factor, out);
}

template <typename T>
void AdjustHue(const T* in, int64_t pixels, double shift, T* out) {
#if defined(__x86_64__)
  if (HaveAvx2()) return HueAvx2(in, pixels, shift, out);
#endif
  HueBody(in, pixels, shift, out);
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
