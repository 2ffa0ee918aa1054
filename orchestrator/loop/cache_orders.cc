#include "orchestrator/loop/cache_orders.h"

#include <algorithm>
#include <set>

namespace headrace::orchestrate {
namespace {

constexpr size_t kMostCandidates = 24;  // that people are shown

v1::CachePlan ToProto(const CachePlan& plan, absl::Time now) {
  v1::CachePlan out;
  out.set_at_unix_ms(absl::ToUnixMillis(now));
  out.set_solved(plan.solved);
  out.set_reason(plan.reason);
  for (const PlanStep& step : plan.steps) {
    v1::PlanStep& to = *out.add_steps();
    to.set_step(step.step);
    to.set_cpu_seconds(step.cpu_seconds);
    to.set_error(step.error);
    to.set_bytes(step.bytes);
    to.set_rows(step.rows);
    to.set_no_cut(step.no_cut);
  }
  for (size_t i = 0; i < plan.candidates.size(); ++i) {
    const PlanCandidate& candidate = plan.candidates[i];
    if (i >= kMostCandidates && !candidate.chosen && candidate.placement.has_value()) continue;
    v1::PlanCandidate& to = *out.add_candidates();
    to.set_none(!candidate.placement.has_value());
    if (candidate.placement.has_value()) {
      to.set_after(candidate.after);
      to.set_tier(candidate.placement->tier);
      to.set_share(candidate.placement->share);
    }
    to.set_bytes(candidate.bytes);
    to.set_cost(candidate.cost);
    to.set_rows_per_second(candidate.rows_per_second);
    to.set_workers(static_cast<uint32_t>(candidate.workers));
    to.set_bottleneck(candidate.bottleneck);
    to.set_chosen(candidate.chosen);
  }
  out.set_rows(plan.rows);
  out.set_epochs_left(plan.epochs_left);
  out.set_demand(plan.demand);
  out.set_predicted(plan.predicted);
  out.set_predicted_without(plan.predicted_without);
  out.set_observed(plan.observed);
  out.set_observed_without(plan.observed_without);
  out.set_workers(static_cast<uint32_t>(plan.workers));
  out.set_bottleneck(plan.bottleneck);
  out.set_bottleneck_without(plan.bottleneck_without);
  return out;
}

}  // namespace

void CacheOrders::Take(const CachePlan& plan, absl::Time now) {
  v1::JobCache& order = orders_[plan.job];
  order.set_job(plan.job);
  order.clear_placement();
  if (plan.placement.has_value()) {
    v1::CachePlacement& placement = *order.mutable_placement();
    placement.set_none(plan.placement->none);
    placement.set_before_step(static_cast<uint32_t>(plan.placement->cut));
    placement.set_tier(plan.placement->tier);
    placement.set_share(plan.placement->share);
  }
  *order.mutable_plan() = ToProto(plan, now);
}

void CacheOrders::Adopt(const v1::ObserveFleetReply& fleet) {
  for (const v1::FleetJob& job : fleet.jobs()) {
    if (!job.has_placement() && !job.has_plan()) continue;
    v1::JobCache& order = orders_[job.job()];
    order.set_job(job.job());
    if (job.has_placement()) *order.mutable_placement() = job.placement();
    if (job.has_plan()) *order.mutable_plan() = job.plan();
  }
}

void CacheOrders::KeepOnly(const v1::ObserveFleetReply& fleet) {
  std::set<uint64_t> jobs;
  for (const v1::FleetJob& job : fleet.jobs()) jobs.insert(job.job());
  std::erase_if(orders_, [&](const auto& entry) { return !jobs.contains(entry.first); });
}

void CacheOrders::Fill(v1::ObserveFleetRequest& request) const {
  for (const auto& [job, order] : orders_) *request.add_caches() = order;
}

}  // namespace headrace::orchestrate
