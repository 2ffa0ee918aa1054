// How others size a cache, by their published rules, for the simulator alone: the pod autoscaler by
// fill percentage that Fluid ships, and a hill climber that stops at a gain below 5%.
#pragma once

#include <cstddef>
#include <vector>

#include "orchestrator/capacity/controller.h"

namespace headrace::orchestrate {

// A Kubernetes HorizontalPodAutoscaler over cache pods of d/16 each: desired = ceil(pods * fill /
// target), nothing within 10% of the target. A job that streams fills any cache, so it only grows.
class FillAutoscaler {
 public:
  explicit FillAutoscaler(double dataset_bytes) : pod_bytes_(dataset_bytes / 16) {}
  double Decide(const CapacityObservation& seen);

 private:
  double pod_bytes_;
  double pods_ = 1;
};

// Doubles from d/64 while five fresh samples are 5% faster than the five before.
class HillClimber {
 public:
  explicit HillClimber(double dataset_bytes)
      : dataset_(dataset_bytes), capacity_(dataset_bytes / 64) {}
  double Decide(const CapacityObservation& seen);

 private:
  double dataset_;
  double capacity_;
  double before_ = 0;
  bool done_ = false;
  std::vector<double> speeds_;
};

}  // namespace headrace::orchestrate
