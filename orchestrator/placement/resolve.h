// When a placement is worth solving again: what was predicted no longer holds, or what it was
// solved for has changed. Pure; the control loop keeps the state, one per decision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::orchestrate {

struct ResolveRule {
  double off_by = 0.2;           // |observed / predicted - 1| ...
  size_t windows = 3;            // ... in so many windows in a row
  double bandwidth_move = 0.25;  // of a tier's free bandwidth, since it was solved
};

// What one window showed.
struct ResolveWindow {
  double predicted_rows_per_second = 0;
  double observed_rows_per_second = 0;  // 0: nothing was asked for; such windows say nothing
  std::vector<double> free_bandwidth;   // per tier, the source last; the same order each time
  size_t jobs = 0;                      // that could share, by their count and ...
  uint64_t jobs_fingerprint = 0;        // ... by who they are
  bool epoch_ended = false;
};

struct ResolveState {
  size_t off_windows = 0;
  std::vector<double> bandwidth_when_solved;
  bool solved = false;
  uint64_t jobs_fingerprint = 0;
};

struct ResolveDecision {
  bool solve = false;
  std::string reason;
  ResolveState state;
};

ResolveDecision ShouldSolveAgain(const ResolveRule& rule, const ResolveWindow& window,
                                 ResolveState state);

}  // namespace headrace::orchestrate
