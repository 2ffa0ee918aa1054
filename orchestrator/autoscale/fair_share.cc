#include "orchestrator/autoscale/fair_share.h"

#include <algorithm>
#include <set>

namespace headrace::orchestrate {
namespace {

double Weight(const Claim& claim) { return claim.weight > 0 ? claim.weight : 1; }

double Want(const Claim& claim) {
  const double need = std::max(claim.need, 0.0);
  return claim.most > 0 ? std::min(need, claim.most) : need;
}

// Pours `left` over those of one priority: all rise together, in the proportion of their weights,
// and who is full stops rising. Returns what nobody took.
double Pour(const std::vector<Claim>& claims, int priority, double left,
            std::vector<double>& shares) {
  std::vector<size_t> thirsty;
  for (size_t i = 0; i < claims.size(); ++i) {
    if (claims[i].priority == priority && shares[i] < Want(claims[i])) thirsty.push_back(i);
  }
  while (!thirsty.empty() && left > 0) {
    double weights = 0;
    for (size_t i : thirsty) weights += Weight(claims[i]);
    // The first that is full, if all rise as far as `left` allows.
    double rise = left / weights;
    for (size_t i : thirsty)
      rise = std::min(rise, (Want(claims[i]) - shares[i]) / Weight(claims[i]));
    for (size_t i : thirsty) shares[i] += rise * Weight(claims[i]);
    left -= rise * weights;
    const size_t before = thirsty.size();
    std::erase_if(thirsty, [&](size_t i) {
      const bool full = Want(claims[i]) - shares[i] <= 1e-9 * std::max(1.0, Want(claims[i]));
      if (full) shares[i] = Want(claims[i]);
      return full;
    });
    if (thirsty.size() == before) break;  // `left` is used up
  }
  return std::max(left, 0.0);
}

}  // namespace

std::vector<double> FairShares(const std::vector<Claim>& claims, double total) {
  std::vector<double> shares(claims.size(), 0.0);
  std::set<int, std::greater<>> priorities;
  for (const Claim& claim : claims) priorities.insert(claim.priority);
  double left = std::max(total, 0.0);
  // What is kept for each comes first, by the same rule.
  std::vector<Claim> kept = claims;
  for (Claim& claim : kept) claim.need = std::min(Want(claim), std::max(claim.least, 0.0));
  for (int priority : priorities) left = Pour(kept, priority, left, shares);
  for (int priority : priorities) left = Pour(claims, priority, left, shares);
  return shares;
}

}  // namespace headrace::orchestrate
