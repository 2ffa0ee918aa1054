// The level of a noisy positive quantity (rows per second, CPU seconds per row): the median of the
// windows since it last changed, and how much they scatter. One odd window moves it little; two in
// a row that are far off, or four that are somewhat off, on the same side, are a change, and what
// was before is forgotten. Scatter is relative (in logarithms).
//
// Plain state: copyable, no clock. Owned by a policy's state.
#pragma once

#include <cstddef>
#include <deque>

namespace headrace::orchestrate {

class Level {
 public:
  static constexpr size_t kMostWindows = 24;
  // Of one window, until enough were seen to tell.
  static constexpr double kAssumedScatter = 0.08;
  static constexpr double kLeastScatter = 0.02;

  // Values that are not positive numbers are left out. True: the level changed.
  bool Add(double value);
  void Clear() { logs_.clear(); }

  size_t windows() const { return logs_.size(); }
  bool known() const { return !logs_.empty(); }
  double value() const;    // the median; 0 when not known
  double scatter() const;  // of one window, relative
  double error() const;    // of value(), relative: one standard deviation

 private:
  std::deque<double> logs_;
};

// The middle of `values` (mean of the two in the middle); 0 for none.
double Median(std::deque<double> values);

}  // namespace headrace::orchestrate
