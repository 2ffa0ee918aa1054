#include "orchestrator/capacity/allocator.h"

#include <algorithm>
#include <numeric>

#include "fmt/format.h"

namespace headrace::orchestrate {

std::vector<BudgetGrant> AllocateBudget(const std::vector<BudgetClaim>& claims, double budget,
                                        double floor_share) {
  double weights = 0;
  for (const BudgetClaim& claim : claims) weights += std::max(0.0, claim.weight);
  std::vector<BudgetGrant> grants(claims.size());
  double left = std::max(0.0, budget);
  std::vector<double> floors(claims.size());
  for (size_t i = 0; i < claims.size(); ++i) {
    const double share = weights > 0 ? std::max(0.0, claims[i].weight) / weights : 0;
    floors[i] = std::clamp(claims[i].want_bytes, 0.0, floor_share * std::max(0.0, budget) * share);
    floors[i] = std::min(floors[i], left);
    left -= floors[i];
  }
  std::vector<size_t> order(claims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return claims[a].density > claims[b].density; });
  size_t rank = 0;
  for (size_t i : order) {
    ++rank;
    const double more = std::clamp(claims[i].want_bytes - floors[i], 0.0, left);
    left -= more;
    grants[i].cache = claims[i].cache;
    grants[i].bytes = floors[i] + more;
    grants[i].reason = fmt::format(
        "{:.3g} bytes of {:.3g} wanted: a floor of {:.3g}, and {:.3g} by density {:.3g}, which is "
        "{} of {}",
        grants[i].bytes, claims[i].want_bytes, floors[i], more, claims[i].density, rank,
        claims.size());
  }
  for (size_t i : order) {
    const double lent = std::clamp(claims[i].lend_bytes - grants[i].bytes, 0.0, left);
    if (lent <= 0) continue;
    left -= lent;
    grants[i].bytes += lent;
    grants[i].reason += fmt::format("; {:.3g} lent, which nobody wants", lent);
  }
  return grants;
}

void CapacityLedger::Join(const std::string& cache, double dataset_bytes) {
  Entry& entry = entries_[cache];
  entry.dataset_bytes = std::max(0.0, dataset_bytes);
  auto draining = ended_.find(cache);
  if (draining == ended_.end()) return;
  entry.claim += draining->second.claim;  // a namesake that comes back takes over what still drains
  entry.generation = draining->second.generation;
  ended_.erase(draining);
}

void CapacityLedger::End(const std::string& cache) {
  auto found = entries_.find(cache);
  if (found == entries_.end()) return;
  Entry ended = found->second;
  entries_.erase(found);
  ended.target = ended.limit = 0;
  ended.generation = ++generation_;
  auto [before, added] = ended_.try_emplace(cache, ended);
  if (!added) {  // a namesake still drains: both do
    before->second.claim += ended.claim;
    before->second.generation = ended.generation;
  }
  if (before->second.claim <= 0) ended_.erase(before);
}

void CapacityLedger::Report(const std::string& cache, double resident_bytes, int64_t generation) {
  resident_bytes = std::max(0.0, resident_bytes);
  if (auto found = entries_.find(cache); found != entries_.end()) {
    Entry& entry = found->second;
    if (generation < entry.acknowledged || generation > entry.generation) return;  // overtaken
    entry.acknowledged = generation;
    if (generation < entry.generation) return;  // it may still fill up to an older limit
    entry.claim = std::min(entry.claim, std::max(entry.limit, resident_bytes));
    return;
  }
  auto found = ended_.find(cache);
  if (found == ended_.end() || generation < found->second.generation) return;
  found->second.acknowledged = generation;
  found->second.claim = std::min(found->second.claim, resident_bytes);
  if (found->second.claim <= 0) ended_.erase(found);
}

void CapacityLedger::Lost(const std::string& cache) {
  ended_.erase(cache);
  auto found = entries_.find(cache);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  entry.claim = entry.limit = 0;
  entry.acknowledged = entry.generation = ++generation_;  // what the old worker says is not heard
}

std::vector<CapacityLedger::Instruction> CapacityLedger::Plan(
    const std::vector<BudgetGrant>& grants) {
  for (const BudgetGrant& grant : grants) {
    auto found = entries_.find(grant.cache);
    if (found == entries_.end()) continue;
    Entry& entry = found->second;
    entry.target = std::clamp(grant.bytes, 0.0, entry.dataset_bytes);
  }
  std::vector<Instruction> changed;
  for (auto& [cache, entry] : entries_) {
    if (entry.limit <= entry.target) continue;
    entry.limit = entry.target;
    entry.generation = ++generation_;
    changed.push_back({cache, entry.limit, entry.generation});
  }
  double free = budget_ - claimed();
  for (auto& [cache, entry] : entries_) {
    if (entry.limit >= entry.target) continue;
    // Within its own claim there is room without taking any; above it, only what is free.
    const double limit = std::min(entry.target, entry.claim + std::max(0.0, free));
    if (limit <= entry.limit) continue;
    free -= std::max(0.0, limit - entry.claim);
    entry.claim = std::max(entry.claim, limit);
    entry.limit = limit;
    entry.generation = ++generation_;
    changed.push_back({cache, entry.limit, entry.generation});
  }
  return changed;
}

std::vector<CapacityLedger::Instruction> CapacityLedger::Unacknowledged() const {
  std::vector<Instruction> told;
  for (const auto* entries : {&ended_, &entries_}) {
    for (const auto& [cache, entry] : *entries) {
      if (entry.acknowledged < entry.generation)
        told.push_back({cache, entry.limit, entry.generation});
    }
  }
  return told;
}

double CapacityLedger::claimed() const {
  double sum = draining();
  for (const auto& [cache, entry] : entries_) sum += entry.claim;
  return sum;
}

double CapacityLedger::draining() const {
  double sum = 0;
  for (const auto& [cache, entry] : ended_) sum += entry.claim;
  return sum;
}

}  // namespace headrace::orchestrate
