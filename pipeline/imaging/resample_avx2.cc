// Chosen at run time: only these functions are compiled for AVX2, the file is not, so that no
// inline function of a header is emitted with instructions that another processor lacks.
#include "pipeline/imaging/resample_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#define HR_AVX2 __attribute__((target("avx2")))

namespace headrace {
namespace {

constexpr int32_t kHalf = 1 << (kWeightBits - 1);

// Two neighbouring weights, in every pair of 16-bit lanes.
HR_AVX2 inline __m256i WeightPair(const int16_t* weights) {
  int32_t pair;
  std::memcpy(&pair, weights, sizeof(pair));
  return _mm256_set1_epi32(pair);
}

HR_AVX2 inline void Blend32(const uint8_t* const* rows, const int16_t* weights, int64_t taps,
                            int64_t at, uint8_t* out) {
  const __m256i zero = _mm256_setzero_si256();
  __m256i s0 = _mm256_set1_epi32(kHalf), s1 = s0, s2 = s0, s3 = s0;
  for (int64_t t = 0; t < taps; t += 2) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows[t] + at));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows[t + 1] + at));
    const __m256i weight = WeightPair(weights + t);
    // a0 b0 a1 b1 ...: each madd gives weight[t] * a + weight[t + 1] * b.
    const __m256i low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b);
    s0 = _mm256_add_epi32(s0, _mm256_madd_epi16(_mm256_unpacklo_epi8(low, zero), weight));
    s1 = _mm256_add_epi32(s1, _mm256_madd_epi16(_mm256_unpackhi_epi8(low, zero), weight));
    s2 = _mm256_add_epi32(s2, _mm256_madd_epi16(_mm256_unpacklo_epi8(high, zero), weight));
    s3 = _mm256_add_epi32(s3, _mm256_madd_epi16(_mm256_unpackhi_epi8(high, zero), weight));
  }
  const __m256i low =
      _mm256_packs_epi32(_mm256_srai_epi32(s0, kWeightBits), _mm256_srai_epi32(s1, kWeightBits));
  const __m256i high =
      _mm256_packs_epi32(_mm256_srai_epi32(s2, kWeightBits), _mm256_srai_epi32(s3, kWeightBits));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + at), _mm256_packus_epi16(low, high));
}

HR_AVX2 void Blend(const uint8_t* const* rows, const int16_t* weights, int64_t taps, int64_t bytes,
                   uint8_t* out) {
  if (bytes < 32) {
    PortableResampleKernels().blend(rows, weights, taps, bytes, out);
    return;
  }
  int64_t at = 0;
  for (; at + 32 <= bytes; at += 32) Blend32(rows, weights, taps, at, out);
  if (at < bytes) Blend32(rows, weights, taps, bytes - 32, out);
}

// Two rows of 16 bytes, one in each half.
HR_AVX2 inline __m256i TwoRows(const uint8_t* a, const uint8_t* b) {
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low),
                                 _mm_loadu_si128(reinterpret_cast<const __m128i*>(b)), 1);
}

// The sums r g b - of one output pixel, of both rows. kPairs pairs of taps; 0: as many as this
// pixel has.
template <int kPairs>
HR_AVX2 inline __m256i Pixel3(const uint8_t* a, const uint8_t* b, const ResampleAxis<int16_t>& axis,
                              int64_t x) {
  // RGBRGBRGBRGB.... -> R0 R1 G0 G1 B0 B1 (and R2 R3 ...), each byte widened to 16 bits.
  const __m256i taps01 =
      _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1,  //
                       0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
  const __m256i taps23 =
      _mm256_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1,  //
                       6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
  const int64_t offset = int64_t{axis.first[static_cast<size_t>(x)]} * 3;
  const int16_t* weights = axis.row(x);
  __m256i sum = _mm256_set1_epi32(kHalf);
  const int64_t pairs = kPairs > 0 ? kPairs : (axis.count[static_cast<size_t>(x)] + 1) / 2;
  for (int64_t p = 0; p < pairs; p += 2) {
    const __m256i rows = TwoRows(a + offset + p * 6, b + offset + p * 6);
    sum = _mm256_add_epi32(
        sum, _mm256_madd_epi16(_mm256_shuffle_epi8(rows, taps01), WeightPair(weights + p * 2)));
    if (p + 1 < pairs) {
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_shuffle_epi8(rows, taps23),
                                                    WeightPair(weights + p * 2 + 2)));
    }
  }
  return _mm256_srai_epi32(sum, kWeightBits);
}

// 12 bytes: never one behind the row.
HR_AVX2 inline void Store12(__m128i value, uint8_t* out) {
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), value);
  const int32_t last = _mm_extract_epi32(value, 2);
  std::memcpy(out + 8, &last, sizeof(last));
}

template <int kPairs>
HR_AVX2 void GatherPairs(const uint8_t* in0, const uint8_t* in1, const ResampleAxis<int16_t>& axis,
                         uint8_t* out0, uint8_t* out1) {
  const __m256i squeeze =
      _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1,  //
                       0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  int64_t x = 0;
  for (; x + 4 <= axis.size; x += 4) {
    const __m256i p0 = Pixel3<kPairs>(in0, in1, axis, x),
                  p1 = Pixel3<kPairs>(in0, in1, axis, x + 1);
    const __m256i p2 = Pixel3<kPairs>(in0, in1, axis, x + 2),
                  p3 = Pixel3<kPairs>(in0, in1, axis, x + 3);
    const __m256i bytes = _mm256_shuffle_epi8(
        _mm256_packus_epi16(_mm256_packs_epi32(p0, p1), _mm256_packs_epi32(p2, p3)), squeeze);
    Store12(_mm256_castsi256_si128(bytes), out0 + x * 3);
    Store12(_mm256_extracti128_si256(bytes, 1), out1 + x * 3);
  }
  for (; x < axis.size; ++x) {
    const __m256i p = Pixel3<kPairs>(in0, in1, axis, x);
    alignas(32) uint8_t bytes[32];
    _mm256_store_si256(reinterpret_cast<__m256i*>(bytes),
                       _mm256_packus_epi16(_mm256_packs_epi32(p, p), p));
    std::memcpy(out0 + x * 3, bytes, 3);
    std::memcpy(out1 + x * 3, bytes + 16, 3);
  }
}

HR_AVX2 void Gather3(const uint8_t* in0, const uint8_t* in1, const ResampleAxis<int16_t>& axis,
                     uint8_t* out0, uint8_t* out1) {
  switch ((axis.taps + 1) / 2) {
    case 1:
      return GatherPairs<1>(in0, in1, axis, out0, out1);
    case 2:
      return GatherPairs<2>(in0, in1, axis, out0, out1);
    case 3:
      return GatherPairs<3>(in0, in1, axis, out0, out1);
    case 4:
      return GatherPairs<4>(in0, in1, axis, out0, out1);
    default:
      return GatherPairs<0>(in0, in1, axis, out0, out1);
  }
}

constexpr ResampleKernels kAvx2Kernels{Blend, Gather3};

}  // namespace

const ResampleKernels& BestResampleKernels() {
  return __builtin_cpu_supports("avx2") ? kAvx2Kernels : PortableResampleKernels();
}

}  // namespace headrace

#else
namespace headrace {
const ResampleKernels& BestResampleKernels() { return PortableResampleKernels(); }
}  // namespace headrace
#endif
