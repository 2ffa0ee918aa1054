// The two 16-bit float types: IEEE binary16 and bfloat16 (the upper half of a float32). Conversions
// round to nearest, ties to even; too large becomes infinity; NaN stays NaN (quiet, sign and upper
// payload kept), as the hardware does.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <span>

namespace headrace {

struct Half {
  uint16_t bits = 0;
  bool operator==(const Half&) const = default;  // of bits: NaN equals itself, 0 is not -0
};
struct BFloat16 {
  uint16_t bits = 0;
  bool operator==(const BFloat16&) const = default;
};

inline float ToFloat(BFloat16 x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16);
}

inline float ToFloat(Half x) {
  // The exponent moves by 127 - 15; the product by a power of two does it, subnormals included.
  // Infinity and NaN apart.
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000) << 16;
  const uint32_t rest = x.bits & 0x7fff;
  if (rest >= 0x7c00) {
    const uint32_t quiet = rest > 0x7c00 ? 0x400000 : 0;
    return std::bit_cast<float>(sign | 0x7f800000 | (rest & 0x3ff) << 13 | quiet);
  }
  const float magnitude = std::bit_cast<float>(rest << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

inline BFloat16 ToBFloat16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffff) > 0x7f800000) return {static_cast<uint16_t>(bits >> 16 | 0x40)};
  return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

inline Half ToHalf(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t rest = bits & 0x7fffffff;
  if (rest > 0x7f800000) return {static_cast<uint16_t>(sign | 0x7e00 | (rest >> 13 & 0x3ff))};
  if (rest >= 0x47800000) return {static_cast<uint16_t>(sign | 0x7c00)};  // 65536 and more
  if (rest <
      0x38800000) {  // below 2^-14: adding 1/2 leaves the subnormal's bits, rounded, at the end
    const float shifted = std::bit_cast<float>(rest) + 0.5f;
    return {static_cast<uint16_t>(
        sign | (std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5f)))};
  }
  const uint32_t rebased = rest - (112u << 23);  // may round up to infinity, which is right
  return {static_cast<uint16_t>(sign | ((rebased + 0xfff + (rebased >> 13 & 1)) >> 13))};
}

// float32 with the last bit set when `x` lies between two floats ("round to odd"): rounding it
// again to a shorter type gives what rounding `x` at once gives.
inline float ToFloatOdd(double x) {
  const auto near = static_cast<float>(x);
  if (!std::isfinite(near) || static_cast<double>(near) == x || x != x) return near;
  const float toward_zero =
      std::fabs(static_cast<double>(near)) > std::fabs(x) ? std::nextafter(near, 0.0f) : near;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(toward_zero) | 1);
}
inline float ToFloatOdd(float x) { return x; }
template <std::integral T>
float ToFloatOdd(T x) {
  if constexpr (sizeof(T) < 4) return static_cast<float>(x);
  const bool negative = x < 0;
  const uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  const int shift = std::max(0, 64 - std::countl_zero(magnitude) - 24);
  const uint64_t kept = magnitude >> shift;
  const uint64_t odd = (kept << shift) == magnitude ? kept : kept | 1;
  const float out = std::ldexp(static_cast<float>(odd), shift);
  return negative ? -out : out;
}

// Many at once; uses the processor's own conversion where it has one. out.size() >= in.size().
void ToHalf(std::span<const float> in, std::span<Half> out);

}  // namespace headrace
