#include "element/half.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace headrace {
namespace {

#if defined(__x86_64__)
// Returns how many were converted.
__attribute__((target("avx,f16c"))) size_t ToHalfF16c(std::span<const float> in,
                                                      std::span<Half> out) {
  size_t i = 0;
  for (; i + 8 <= in.size(); i += 8) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(in.data() + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out.data() + i), half);
  }
  return i;
}
#endif

}  // namespace

void ToHalf(std::span<const float> in, std::span<Half> out) {
  size_t i = 0;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c")) i = ToHalfF16c(in, out);
#endif
  for (; i < in.size(); ++i) out[i] = ToHalf(in[i]);
}

}  // namespace headrace
