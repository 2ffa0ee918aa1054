#include "orchestrator/tiering/priority.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"

namespace headrace::orchestrate {

double DecayedBytes(const PriorityRule& rule, const ReadHistory& history, double now_seconds) {
  const double age = std::max(0.0, now_seconds - history.at_seconds);
  return history.decayed_bytes * std::exp2(-age / rule.half_life_seconds);
}

void AddRead(const PriorityRule& rule, double bytes, double now_seconds, ReadHistory& history) {
  history.decayed_bytes = DecayedBytes(rule, history, now_seconds) + bytes;
  history.at_seconds = std::max(history.at_seconds, now_seconds);
}

double SegmentPriority(const PriorityRule& rule, const SegmentOutlook& outlook) {
  if (outlook.bytes <= 0) return 0;
  const auto saturated = [&](double bytes) {
    const double reads = std::max(0.0, bytes) / outlook.bytes;
    return reads / (reads + rule.half_at_reads);
  };
  return rule.history_weight * saturated(outlook.history_bytes) +
         rule.future_weight * saturated(outlook.future_bytes);
}

AdmissionDecision DecideAdmission(const AdmissionConstants& k, const AdmissionWindow& window,
                                  AdmissionState state) {
  AdmissionDecision decision;
  if (window.budget_bytes <= 0) {
    state.theta = 1;
    decision.reason = "the tier may not be written to";
  } else {
    const double budget = window.budget_bytes;
    const double error = std::clamp((window.written_bytes - budget) / budget, -1.0, k.most_error);
    const double before = state.theta;
    const double sum = std::clamp(state.error_sum + error, -k.most_sum, k.most_sum);
    const double offered = std::max(window.offered_bytes, window.written_bytes);
    const double gain = std::min(1.0, budget / std::max(1e-9, k.full_gain_share * offered));
    const double wanted = before + gain * (k.proportional * error + k.integral * sum);
    state.theta = std::clamp(wanted, 0.0, 1.0);
    // At a stop the sum does not wind up further, and does unwind.
    const bool outwards = (wanted > 1 && error > 0) || (wanted < 0 && error < 0);
    if (!outwards) state.error_sum = sum;
    decision.reason = fmt::format(
        "{:.3g} bytes were written of {:.3g} allowed: the threshold goes from {:.3f} to {:.3f}",
        window.written_bytes, budget, before, state.theta);
  }
  decision.theta = state.theta;
  decision.state = state;
  return decision;
}

DemotionDecision DecideDemotion(std::span<const TierRoom> tiers, size_t from, double bytes,
                                double priority) {
  for (size_t tier = from + 1; tier < tiers.size(); ++tier) {
    const TierRoom& room = tiers[tier];
    if (priority < room.theta) continue;
    if (room.free_bytes >= bytes) {
      return {tier,
              fmt::format("priority {:.2f}: moved to {}, which has room", priority, room.name)};
    }
    if (priority > room.lowest_priority) {
      return {tier, fmt::format("priority {:.2f}: moved to {} in place of {:.2f}", priority,
                                room.name, room.lowest_priority)};
    }
  }
  return {std::nullopt, fmt::format("priority {:.2f}: deleted, no lower tier takes it", priority)};
}

}  // namespace headrace::orchestrate
