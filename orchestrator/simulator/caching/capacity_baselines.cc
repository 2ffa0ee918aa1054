#include "orchestrator/simulator/caching/capacity_baselines.h"

#include <algorithm>
#include <cmath>

#include "orchestrator/statistics.h"

namespace headrace::orchestrate {

double FillAutoscaler::Decide(const CapacityObservation& seen) {
  constexpr double kTargetFill = 0.9, kTolerance = 0.1, kPods = 16;
  const double fill = seen.resident_bytes / (pods_ * pod_bytes_);
  const double ratio = fill / kTargetFill;
  if (std::abs(ratio - 1) > kTolerance) pods_ = std::clamp(std::ceil(pods_ * ratio), 1.0, kPods);
  return pods_ * pod_bytes_;
}

double HillClimber::Decide(const CapacityObservation& seen) {
  if (done_) return capacity_;
  if (seen.resident_at_epoch_start < 0.95 * capacity_) {
    speeds_.clear();
    return capacity_;
  }
  speeds_.push_back(seen.bytes_per_second);
  if (speeds_.size() < 5) return capacity_;
  const double speed = Median(speeds_);
  speeds_.clear();
  if (before_ > 0 && speed < 1.05 * before_) {
    done_ = true;
    return capacity_;
  }
  before_ = speed;
  capacity_ = std::min(dataset_, 2 * capacity_);
  return capacity_;
}

}  // namespace headrace::orchestrate
