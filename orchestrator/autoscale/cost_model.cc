#include "orchestrator/autoscale/cost_model.h"

#include <algorithm>
#include <cmath>

namespace headrace::orchestrate {
namespace {

std::vector<Claim> ClaimsOf(const Fleet& fleet) {
  std::vector<Claim> claims;
  for (const JobLoad& job : fleet.jobs) {
    claims.push_back(job.claim);
    claims.back().need = job.Need();
  }
  return claims;
}

}  // namespace

double JobLoad::Need() const {
  if (!(demand > 0) || !(worker_rate > 0)) return 0;
  const double useful = ceiling > 0 ? std::min(demand, ceiling) : demand;
  return useful / worker_rate;
}

double Fleet::NeedOf() const {
  double sum = 0;
  for (const Claim& claim : ClaimsOf(*this))
    sum += claim.most > 0 ? std::min(claim.need, claim.most) : claim.need;
  return sum;
}

std::vector<double> Slowdowns(const Fleet& fleet, double workers) {
  const std::vector<double> shares = FairShares(ClaimsOf(fleet), workers);
  std::vector<double> slowdowns;
  for (size_t i = 0; i < shares.size(); ++i) {
    const JobLoad& job = fleet.jobs[i];
    if (job.Need() <= 0) {
      slowdowns.push_back(1);
      continue;
    }
    // A job without any workers does not go on at all; a large number keeps sums finite.
    constexpr double kLeast = 1e-3;
    const double made = std::max(shares[i], kLeast) * job.worker_rate;
    slowdowns.push_back(std::max(1.0, job.demand / made));
  }
  return slowdowns;
}

double Cost(const Fleet& fleet, double workers) {
  const std::vector<double> slowdowns = Slowdowns(fleet, workers);
  double trainers = 0;  // what they cost
  double slowed = 0;    // what they cost while they do the same work
  double weight = 0;
  double weighted = 0;
  for (size_t i = 0; i < slowdowns.size(); ++i) {
    const double price = fleet.jobs[i].trainers * fleet.prices.trainer;
    trainers += price;
    slowed += price * slowdowns[i];
    weight += std::max(fleet.jobs[i].trainers, 1e-9);
    weighted += std::max(fleet.jobs[i].trainers, 1e-9) * slowdowns[i];
  }
  if (weight == 0) return workers * fleet.prices.worker;
  // Workers are paid for as long as the work takes, on average over the jobs.
  const double longer = trainers > 0 ? slowed / trainers : weighted / weight;
  return slowed + workers * fleet.prices.worker * longer;
}

size_t CheapestFleet(const Fleet& fleet, double scale) {
  Fleet scaled = fleet;
  for (JobLoad& job : scaled.jobs) job.worker_rate /= std::max(scale, 1e-6);
  double least = static_cast<double>(fleet.least);
  double kept = 0;
  for (const JobLoad& job : scaled.jobs) kept += std::min(job.claim.least, job.Need());
  least = std::max(least, std::ceil(kept));
  if (scaled.NeedOf() > 0) least = std::max(least, 1.0);
  // Beyond what all jobs together can use, a worker only costs.
  const double most = std::max(least, std::ceil(scaled.NeedOf() - 1e-9));
  const auto bound = [&](double w) {
    return std::clamp(w, static_cast<double>(fleet.least),
                      std::max(static_cast<double>(fleet.most), static_cast<double>(fleet.least)));
  };
  double best = bound(least);
  double best_cost = Cost(scaled, best);
  for (double w = bound(least) + 1; w <= bound(most); ++w) {
    const double cost = Cost(scaled, w);
    if (cost < best_cost * (1 - 1e-9)) {
      best = w;
      best_cost = cost;
    }
  }
  return static_cast<size_t>(best);
}

}  // namespace headrace::orchestrate
