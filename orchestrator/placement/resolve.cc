#include "orchestrator/placement/resolve.h"

#include <cmath>
#include <utility>

#include "fmt/format.h"

namespace headrace::orchestrate {
namespace {

std::string Why(const ResolveRule& rule, const ResolveWindow& window, const ResolveState& state) {
  if (!state.solved) return "nothing was solved yet";
  if (window.jobs_fingerprint != state.jobs_fingerprint) {
    return fmt::format("a job joined or left: {} now", window.jobs);
  }
  for (size_t i = 0; i < window.free_bandwidth.size() && i < state.bandwidth_when_solved.size();
       ++i) {
    const double before = state.bandwidth_when_solved[i], now = window.free_bandwidth[i];
    if (std::abs(now - before) <= rule.bandwidth_move * before) continue;
    return fmt::format("free bandwidth went from {:.3g} to {:.3g} bytes/s", before, now);
  }
  if (state.off_windows >= rule.windows) {
    return fmt::format("{:.4g} rows/s were predicted and {:.4g} seen, {} windows in a row",
                       window.predicted_rows_per_second, window.observed_rows_per_second,
                       state.off_windows);
  }
  if (window.epoch_ended) return "an epoch ended";
  return {};
}

}  // namespace

ResolveDecision ShouldSolveAgain(const ResolveRule& rule, const ResolveWindow& window,
                                 ResolveState state) {
  if (window.observed_rows_per_second > 0 && window.predicted_rows_per_second > 0) {
    const double ratio = window.observed_rows_per_second / window.predicted_rows_per_second;
    state.off_windows = std::abs(ratio - 1) > rule.off_by ? state.off_windows + 1 : 0;
  }
  ResolveDecision decision;
  decision.reason = Why(rule, window, state);
  decision.solve = !decision.reason.empty();
  if (decision.solve) {
    state.solved = true;
    state.off_windows = 0;
    state.jobs_fingerprint = window.jobs_fingerprint;
    state.bandwidth_when_solved = window.free_bandwidth;
  } else {
    decision.reason = "what was predicted still holds";
  }
  decision.state = std::move(state);
  return decision;
}

}  // namespace headrace::orchestrate
