#include "orchestrator/simulator/caching/capacity_plant.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace headrace::orchestrate {
namespace {
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
}  // namespace

CapacityPlant::CapacityPlant(const PlantOptions& options)
    : o_(options),
      random_(options.seed),
      order_(options.items),
      place_(options.items, kNone),
      old_(options.items, 0),
      newer_(options.items + 1, static_cast<uint32_t>(options.items)),
      older_(options.items + 1, static_cast<uint32_t>(options.items)) {
  std::iota(order_.begin(), order_.end(), 0u);
  random_.Shuffle(order_);
}

void CapacityPlant::BeginEpoch() {
  position_ = 0;
  ++epoch_;
  random_.Shuffle(order_);
  for (uint32_t item : resident_) old_[item] = 1;
  old_count_ = resident_.size();
}

void CapacityPlant::LinkFront(uint32_t item) {
  const auto head = static_cast<uint32_t>(o_.items);
  const uint32_t first = older_[head];
  older_[item] = first;
  newer_[item] = head;
  newer_[first] = item;
  older_[head] = item;
}

void CapacityPlant::Unlink(uint32_t item) {
  older_[newer_[item]] = older_[item];
  newer_[older_[item]] = newer_[item];
}

void CapacityPlant::Insert(uint32_t item) {
  place_[item] = static_cast<uint32_t>(resident_.size());
  resident_.push_back(item);
  if (o_.cache == PlantCache::kLru) LinkFront(item);
}

void CapacityPlant::Remove(uint32_t item) {
  const uint32_t hole = place_[item];
  resident_[hole] = resident_.back();
  place_[resident_[hole]] = hole;
  resident_.pop_back();
  place_[item] = kNone;
  if (old_[item] != 0) {
    old_[item] = 0;
    --old_count_;
  }
  if (o_.cache == PlantCache::kLru) Unlink(item);
}

uint32_t CapacityPlant::Victim() {
  if (o_.cache == PlantCache::kLru) return newer_[o_.items];  // the head's newer one is the oldest
  return resident_[random_.Below(resident_.size())];
}

bool CapacityPlant::Read(uint32_t item, size_t capacity) {
  if (place_[item] != kNone) {
    if (o_.cache == PlantCache::kLru) {
      Unlink(item);
      LinkFront(item);
    }
    return true;
  }
  if (resident_.size() < capacity) {
    Insert(item);
  } else if (o_.cache == PlantCache::kLru && capacity > 0 && resident_.size() == capacity) {
    Remove(Victim());
    Insert(item);
  }
  return false;
}

CapacityObservation CapacityPlant::Run(double capacity, double seconds) {
  const auto room = static_cast<size_t>(std::max(0.0, std::floor(capacity)));
  auto evictions =
      static_cast<size_t>(std::ceil(o_.evicted_per_period * static_cast<double>(o_.items)));
  for (; resident_.size() > room && evictions > 0; --evictions) Remove(Victim());
  const double full = o_.full_speed * random_.Noise(o_.sigma);
  const double prepare = o_.prepare_speed > 0 ? o_.prepare_speed : 1e18;
  double items = 0, misses = 0;
  while (items / std::min(full, prepare) < seconds && misses / o_.miss_speed < seconds) {
    ++items;
    if (!Read(order_[position_], room)) ++misses;
    if (++position_ == order_.size()) BeginEpoch();
  }
  speed_ = std::min(items / seconds, full);
  const double seen = std::min(full, speed_ * random_.Noise(o_.sigma / 2));
  CapacityObservation observation;
  observation.dataset_bytes = static_cast<double>(o_.items);
  observation.bytes_per_second = seen;
  observation.stall =
      std::min(1.0, std::max(0.0, 1 - seen / full) + std::abs(random_.Normal(0, 0.005)));
  observation.missed_bytes_per_second = misses / seconds;
  observation.hit_ratio = items > 0 ? 1 - misses / items : 0;
  observation.resident_bytes = static_cast<double>(resident_.size());
  observation.resident_at_epoch_start = static_cast<double>(old_count_);
  observation.granted_bytes = capacity;
  return observation;
}

}  // namespace headrace::orchestrate
