// One job that reads a shuffled dataset through a cache, item by item: what the capacity
// controllers are tried on. Every epoch is a real permutation; what is cached in an epoch pays off
// in the next; a cache that should shrink gives items up slowly. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "orchestrator/capacity/controller.h"
#include "orchestrator/seeded_random.h"

namespace headrace::orchestrate {

enum class PlantCache {
  kUniform,  // keeps what it has; admits while there is room (CoorDL)
  kLru,
};

struct PlantOptions {
  size_t items = 4000;               // d; an item is one byte of the controller's
  double full_speed = 200;           // f*: items/s of a trainer that never waits
  double miss_speed = 100;           // b: items/s from below
  double prepare_speed = 0;          // items/s that the workers can prepare; 0: no limit
  double sigma = 0.05;               // noise of the trainer's speed; half of it on the measurement
  double evicted_per_period = 0.05;  // share of the dataset that can be given up in one period
  PlantCache cache = PlantCache::kUniform;
  uint64_t seed = 1;
};

class CapacityPlant {
 public:
  explicit CapacityPlant(const PlantOptions& options);

  // Runs `seconds` with room for `capacity` items and says what was seen. granted_bytes = capacity.
  CapacityObservation Run(double capacity, double seconds);

  void set_miss_speed(double items_per_second) { o_.miss_speed = items_per_second; }
  size_t epoch() const { return epoch_; }
  // Without noise: items/s of the last period.
  double speed() const { return speed_; }
  const PlantOptions& options() const { return o_; }

 private:
  void BeginEpoch();
  bool Read(uint32_t item, size_t capacity);  // was it a hit
  void Insert(uint32_t item);
  void Remove(uint32_t item);
  uint32_t Victim();
  void LinkFront(uint32_t item);
  void Unlink(uint32_t item);

  PlantOptions o_;
  SeededRandom random_;
  std::vector<uint32_t> order_;
  size_t position_ = 0;
  size_t epoch_ = 0;
  double speed_ = 0;
  std::vector<uint32_t> resident_;  // in no order
  std::vector<uint32_t> place_;     // in resident_, or kNone
  std::vector<uint8_t> old_;        // was there when the epoch began
  size_t old_count_ = 0;
  std::vector<uint32_t> newer_, older_;  // LRU list; the last entry is its head
};

}  // namespace headrace::orchestrate
