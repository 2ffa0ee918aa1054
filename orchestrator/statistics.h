// Medians and quantiles of small samples, which the policies decide by. Free functions, no state.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace headrace::orchestrate {

// The value below which `share` of the sample lies, in [0, 1]; the nearest rank. 0 for no sample.
inline double Quantile(std::vector<double> sample, double share) {
  if (sample.empty()) return 0;
  const auto last = static_cast<double>(sample.size() - 1);
  const auto rank = static_cast<size_t>(std::lround(std::clamp(share, 0.0, 1.0) * last));
  std::nth_element(sample.begin(), sample.begin() + static_cast<ptrdiff_t>(rank), sample.end());
  return sample[rank];
}

inline double Median(std::vector<double> sample) {
  if (sample.empty()) return 0;
  const size_t half = sample.size() / 2;
  std::sort(sample.begin(), sample.end());
  return sample.size() % 2 == 1 ? sample[half] : (sample[half - 1] + sample[half]) / 2;
}

// The median of the last `count`, or of all where there are fewer.
inline double MedianOfLast(std::span<const double> sample, size_t count) {
  const auto last = sample.last(std::min(count, sample.size()));
  return Median({last.begin(), last.end()});
}

inline double Mean(std::span<const double> sample) {
  if (sample.empty()) return 0;
  return std::accumulate(sample.begin(), sample.end(), 0.0) / static_cast<double>(sample.size());
}

}  // namespace headrace::orchestrate
