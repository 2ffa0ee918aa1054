#include "orchestrator/placement/profile.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fmt/format.h"

namespace headrace::orchestrate {

JobProfile SplitRandomSteps(const JobProfile& job) {
  JobProfile split = job;
  split.steps.clear();
  split.prefix_keys.clear();
  const bool keyed = job.prefix_keys.size() == job.steps.size() + 1;
  if (keyed) split.prefix_keys.push_back(job.prefix_keys[0]);
  for (size_t i = 0; i < job.steps.size(); ++i) {
    StepProfile rest = job.steps[i];
    if (rest.random && rest.deterministic_share.has_value()) {
      const double share = std::clamp(*rest.deterministic_share, 0.0, 1.0);
      StepProfile part = rest;
      part.name += " (before the draw)";
      part.random = false;
      part.deterministic_share.reset();
      part.cpu_seconds *= share;
      part.cpu_variance *= share * share;
      part.bytes_out = rest.bytes_between;
      rest.deterministic_share.reset();
      rest.cpu_seconds *= 1 - share;
      rest.cpu_variance *= (1 - share) * (1 - share);
      split.steps.push_back(std::move(part));
      // The step's own parameters are in its key; what is before the draw is a function of its
      // input.
      if (keyed) split.prefix_keys.push_back(job.prefix_keys[i] * 0x9E3779B97F4A7C15u + 1);
    }
    split.steps.push_back(std::move(rest));
    if (keyed) split.prefix_keys.push_back(job.prefix_keys[i + 1]);
  }
  return split;
}

std::vector<size_t> LegalCuts(const JobProfile& job) {
  std::vector<size_t> cuts = {0};
  for (size_t i = 0; i < job.steps.size(); ++i) {
    const StepProfile& step = job.steps[i];
    if (step.pinned || step.stateful) break;
    if (step.random) {
      if (job.variants > 0) cuts.push_back(i + 1);
      break;
    }
    cuts.push_back(i + 1);
  }
  return cuts;
}

double BytesAtCut(const JobProfile& job, size_t cut) {
  return cut == 0 ? job.source_bytes : job.steps[cut - 1].bytes_out;
}

double CpuError(const StepProfile& step) {
  if (step.rows_measured <= 0) return std::numeric_limits<double>::infinity();
  return std::sqrt(std::max(0.0, step.cpu_variance) / step.rows_measured);
}

ProfileEvidence EnoughEvidence(const JobProfile& job, double measured_seconds,
                               const EvidenceRule& rule) {
  if (measured_seconds >= rule.seconds) {
    return {true, fmt::format("measured for {:.0f} s", measured_seconds)};
  }
  double total = job.source_cpu_seconds;
  double rows = std::numeric_limits<double>::infinity();
  for (const StepProfile& step : job.steps) {
    total += step.visits * step.cpu_seconds;
    // Rows of the source that it has seen the work of.
    if (step.visits > 0) rows = std::min(rows, step.rows_measured / step.visits);
  }
  if (rows < rule.rows) {
    return {false, fmt::format("{:.0f} rows measured of {:.0f}", rows, rule.rows)};
  }
  for (const StepProfile& step : job.steps) {
    if (step.visits * step.cpu_seconds <= rule.cpu_share * total) continue;
    const double error = CpuError(step) / step.cpu_seconds;
    if (error >= rule.relative_error) {
      return {false, fmt::format("step {}: CPU time known to {:.1f}%, needed {:.1f}%", step.name,
                                 100 * error, 100 * rule.relative_error)};
    }
  }
  return {true, fmt::format("{:.0f} rows measured", rows)};
}

}  // namespace headrace::orchestrate
