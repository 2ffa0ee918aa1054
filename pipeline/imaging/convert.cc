#include "pipeline/imaging/convert.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
// Only functions so marked are compiled for AVX2; they are called where the processor has it.
// Multiplications and additions are never fused, so that every processor rounds alike.
#define HR_AVX2 __attribute__((target("avx2")))
#endif

namespace headrace {
namespace {

template <typename In>
void ScaleInterleaved(const In* in, int64_t items, std::span<const float> factor,
                      std::span<const float> offset, float* out) {
  const auto channels = static_cast<int64_t>(factor.size());
  for (int64_t at = 0; at < items; at += channels) {
    for (int64_t c = 0; c < channels; ++c) {
      const auto k = static_cast<size_t>(c);
      out[at + c] = static_cast<float>(in[at + c]) * factor[k] + offset[k];
    }
  }
}

template <typename In>
void ScaleToPlanes(const In* in, int64_t from, int64_t pixels, std::span<const float> factor,
                   std::span<const float> offset, float* out) {
  const auto channels = static_cast<int64_t>(factor.size());
  for (int64_t c = 0; c < channels; ++c) {
    const float f = factor[static_cast<size_t>(c)], o = offset[static_cast<size_t>(c)];
    for (int64_t p = from; p < pixels; ++p)
      out[c * pixels + p] = static_cast<float>(in[p * channels + c]) * f + o;
  }
}

template <typename T>
void ToPlanes(const T* in, int64_t pixels, int64_t channels, T* out) {
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t p = 0; p < pixels; ++p) out[c * pixels + p] = in[p * channels + c];
  }
}

void FlipRow(const std::byte* in, int64_t from, int64_t width, int64_t pixel_bytes,
             std::byte* out) {
  const auto size = static_cast<size_t>(pixel_bytes);
  for (int64_t x = from; x < width; ++x) {
    std::memcpy(out + (width - 1 - x) * pixel_bytes, in + x * pixel_bytes, size);
  }
}

#if defined(__x86_64__)
bool HaveAvx2() { return __builtin_cpu_supports("avx2"); }

HR_AVX2 inline __m256 Scale8(__m128i bytes, __m256 factor, __m256 offset) {
  return _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)), factor),
                       offset);
}

HR_AVX2 inline __m128i Load8(const uint8_t* in) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in));
}
HR_AVX2 inline __m128i Load16(const uint8_t* in) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
}

// kStreamed: `out` is a multiple of 32 bytes.
template <Stores stores>
HR_AVX2 inline void Store8(float* out, __m256 values) {
  if constexpr (stores == Stores::kStreamed) {
    _mm256_stream_ps(out, values);
  } else {
    _mm256_storeu_ps(out, values);
  }
}

// Channel counts that divide 24: the pattern of factors repeats after three vectors. Returns the
// items done.
template <Stores stores>
HR_AVX2 int64_t ScaleInterleaved24(const uint8_t* in, int64_t items, std::span<const float> factor,
                                   std::span<const float> offset, float* out) {
  float f[24], o[24];
  for (size_t i = 0; i < 24; ++i) {
    f[i] = factor[i % factor.size()];
    o[i] = offset[i % factor.size()];
  }
  const __m256 f0 = _mm256_loadu_ps(f), f1 = _mm256_loadu_ps(f + 8), f2 = _mm256_loadu_ps(f + 16);
  const __m256 o0 = _mm256_loadu_ps(o), o1 = _mm256_loadu_ps(o + 8), o2 = _mm256_loadu_ps(o + 16);
  int64_t at = 0;
  for (; at + 24 <= items; at += 24) {
    Store8<stores>(out + at, Scale8(Load8(in + at), f0, o0));
    Store8<stores>(out + at + 8, Scale8(Load8(in + at + 8), f1, o1));
    Store8<stores>(out + at + 16, Scale8(Load8(in + at + 16), f2, o2));
  }
  return at;
}

// Eight RGB pixels: bytes 3k + c of 24, of which `low` holds 0..15 and `high` 8..23.
template <int c>
HR_AVX2 inline __m128i Channel8(__m128i low, __m128i high) {
  alignas(16) int8_t from_low[16], from_high[16];
  for (int k = 0; k < 16; ++k) {
    const int at = 3 * k + c;
    from_low[k] = static_cast<int8_t>(k < 8 && at < 16 ? at : -1);
    from_high[k] = static_cast<int8_t>(k < 8 && at >= 16 ? at - 8 : -1);
  }
  return _mm_or_si128(
      _mm_shuffle_epi8(low, _mm_load_si128(reinterpret_cast<const __m128i*>(from_low))),
      _mm_shuffle_epi8(high, _mm_load_si128(reinterpret_cast<const __m128i*>(from_high))));
}

// Returns the pixels done.
template <Stores stores>
HR_AVX2 int64_t ScaleToPlanes3(const uint8_t* in, int64_t pixels, const float* factor,
                               const float* offset, float* out) {
  const __m256 f0 = _mm256_set1_ps(factor[0]), f1 = _mm256_set1_ps(factor[1]),
               f2 = _mm256_set1_ps(factor[2]);
  const __m256 o0 = _mm256_set1_ps(offset[0]), o1 = _mm256_set1_ps(offset[1]),
               o2 = _mm256_set1_ps(offset[2]);
  int64_t p = 0;
  for (; p + 8 <= pixels; p += 8) {
    const __m128i low = Load16(in + p * 3), high = Load16(in + p * 3 + 8);
    Store8<stores>(out + p, Scale8(Channel8<0>(low, high), f0, o0));
    Store8<stores>(out + pixels + p, Scale8(Channel8<1>(low, high), f1, o1));
    Store8<stores>(out + 2 * pixels + p, Scale8(Channel8<2>(low, high), f2, o2));
  }
  return p;
}

// Five RGB pixels a step. The byte in front of what is meant is overwritten too, and is the next
// step's. Returns the pixels done.
HR_AVX2 int64_t FlipRow3(const std::byte* in, int64_t width, std::byte* out) {
  const __m128i reverse = _mm_setr_epi8(-1, 12, 13, 14, 9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2);
  int64_t x = 0;
  for (; x + 6 <= width; x += 5) {
    const __m128i pixels = Load16(reinterpret_cast<const uint8_t*>(in + x * 3));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + (width - 5 - x) * 3 - 1),
                     _mm_shuffle_epi8(pixels, reverse));
  }
  return x;
}

bool Aligned32(const float* out) { return reinterpret_cast<uintptr_t>(out) % 32 == 0; }
#endif

}  // namespace

void ScalePixels(const uint8_t* in, int64_t pixels, std::span<const float> factor,
                 std::span<const float> offset, Layout layout, float* out, Stores stores) {
  const auto channels = static_cast<int64_t>(factor.size());
  const bool planes = layout == Layout::kChw && channels > 1;
  int64_t done = 0;
#if defined(__x86_64__)
  const bool streamed = stores == Stores::kStreamed && Aligned32(out);
  if (planes && channels == 3 && HaveAvx2()) {
    const auto scale = streamed && pixels % 8 == 0 ? ScaleToPlanes3<Stores::kStreamed>
                                                   : ScaleToPlanes3<Stores::kCached>;
    done = scale(in, pixels, factor.data(), offset.data(), out);
  } else if (!planes && 24 % channels == 0 && HaveAvx2()) {
    const auto scale =
        streamed ? ScaleInterleaved24<Stores::kStreamed> : ScaleInterleaved24<Stores::kCached>;
    done = scale(in, pixels * channels, factor, offset, out);
  }
  if (streamed) _mm_sfence();  // before anybody is told of the pixels
#endif
  if (planes) return ScaleToPlanes(in, done, pixels, factor, offset, out);
  ScaleInterleaved(in + done, pixels * channels - done, factor, offset, out + done);
}

void ScalePixels(const float* in, int64_t pixels, std::span<const float> factor,
                 std::span<const float> offset, Layout layout, float* out, Stores) {
  if (layout == Layout::kChw) return ScaleToPlanes(in, 0, pixels, factor, offset, out);
  ScaleInterleaved(in, pixels * static_cast<int64_t>(factor.size()), factor, offset, out);
}

void PixelsToPlanes(const uint8_t* in, int64_t pixels, int64_t channels, uint8_t* out) {
  ToPlanes(in, pixels, channels, out);
}
void PixelsToPlanes(const float* in, int64_t pixels, int64_t channels, float* out) {
  ToPlanes(in, pixels, channels, out);
}

void FlipHorizontal(const std::byte* in, int64_t height, int64_t width, int64_t pixel_bytes,
                    std::byte* out) {
  const int64_t row_bytes = width * pixel_bytes;
  for (int64_t y = 0; y < height; ++y, in += row_bytes, out += row_bytes) {
    int64_t done = 0;
#if defined(__x86_64__)
    if (pixel_bytes == 3 && HaveAvx2()) done = FlipRow3(in, width, out);
#endif
    FlipRow(in, done, width, pixel_bytes, out);
  }
}

void FlipVertical(const std::byte* in, int64_t height, int64_t row_bytes, std::byte* out) {
  for (int64_t y = 0; y < height; ++y) {
    std::memcpy(out + (height - 1 - y) * row_bytes, in + y * row_bytes,
                static_cast<size_t>(row_bytes));
  }
}

}  // namespace headrace
