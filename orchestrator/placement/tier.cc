#include "orchestrator/placement/tier.h"

#include <algorithm>
#include <cmath>

namespace headrace::orchestrate {

void TransferFit::Add(double bytes, double seconds) {
  if (!(bytes > 0) || !(seconds > 0) || !std::isfinite(bytes) || !std::isfinite(seconds)) return;
  for (double* sum : {&weight_, &w_, &wb_, &wbb_, &wt_, &wbt_}) *sum *= fade_;
  const double weight = 1 / (seconds * seconds);
  weight_ += 1;
  w_ += weight;
  wb_ += weight * bytes;
  wbb_ += weight * bytes * bytes;
  wt_ += weight * seconds;
  wbt_ += weight * bytes * seconds;
}

TransferFit::Line TransferFit::Fit() const {
  if (weight_ <= 0) return {};
  const double through_zero = wbt_ / wbb_;
  const double determinant = w_ * wbb_ - wb_ * wb_;
  if (determinant <= 1e-9 * w_ * wbb_) return {0, through_zero};  // all of one size
  Line line;
  line.slope = (w_ * wbt_ - wb_ * wt_) / determinant;
  line.alpha = (wt_ - line.slope * wb_) / w_;
  if (line.alpha < 0) return {0, through_zero};
  // Longer reads that are not slower: all of it is latency, and the bandwidth is at least what the
  // mean read shows.
  if (line.slope <= 0) return {wt_ / w_, 1e-3 * through_zero};
  return line;
}

double TransferFit::alpha() const { return Fit().alpha; }

double TransferFit::beta() const {
  const Line line = Fit();
  return line.slope > 0 ? 1 / line.slope : 0;
}

}  // namespace headrace::orchestrate
