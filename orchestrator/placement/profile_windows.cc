#include "orchestrator/placement/profile_windows.h"

#include <algorithm>

namespace headrace::orchestrate {

void AddWindow(const JobObservation& job, double window_seconds, ProfileSums& sums) {
  sums.seconds += window_seconds;
  sums.order.clear();
  for (const StepObservation& step : job.steps) {
    sums.order.push_back(step.step);
    if (!(step.rows_in > 0)) continue;
    StepSums& sum = sums.steps[step.step];
    sum.rows_in += step.rows_in;
    sum.rows_out += step.rows_out;
    sum.bytes_in += step.bytes_in;
    sum.bytes_out += step.bytes_out;
    sum.cpu_seconds += step.cpu_seconds;
    ++sum.windows;
    const double mean = step.cpu_seconds / step.rows_in, before = sum.mean;
    sum.mean += (mean - before) * step.rows_in / sum.rows_in;
    sum.scatter += step.rows_in * (mean - before) * (mean - sum.mean);
  }
}

JobProfile ProfileOf(const ProfileSums& sums, const JobProfile& known) {
  JobProfile profile = known;
  const auto first = sums.order.empty() ? sums.steps.end() : sums.steps.find(sums.order.front());
  const double source_rows = first == sums.steps.end() ? 0 : first->second.rows_in;
  if (source_rows <= 0) return profile;
  profile.source_bytes = first->second.bytes_in / source_rows;
  for (StepProfile& step : profile.steps) {
    const auto found = sums.steps.find(step.name);
    if (found == sums.steps.end()) continue;
    const StepSums& sum = found->second;
    step.cpu_seconds = sum.cpu_seconds / sum.rows_in;
    step.visits = sum.rows_in / source_rows;
    step.bytes_out = sum.bytes_out / source_rows;
    step.rows_measured = sum.rows_in;
    // The mean of n rows scatters by variance / n. One window tells nothing: as much as the mean.
    step.cpu_variance = sum.windows > 1 ? sum.scatter / static_cast<double>(sum.windows - 1)
                                        : step.cpu_seconds * step.cpu_seconds;
  }
  return profile;
}

Decision AsDecision(const PlacementQuestion& question, const JobPlacement& placement) {
  Decision decision;
  decision.policy = "placement";
  decision.reason = placement.reason;
  decision.numbers = {{"rows_per_second", placement.with.rows_per_second},
                      {"rows_per_second_without", placement.without.rows_per_second},
                      {"workers", placement.with.workers},
                      {"workers_without", placement.without.workers}};
  decision.action.subject = placement.job;
  if (!placement.choice.has_value()) return decision;
  const auto job = std::find_if(question.jobs.begin(), question.jobs.end(),
                                [&](const JobProfile& j) { return j.job == placement.job; });
  if (job == question.jobs.end()) return decision;
  const size_t cut = placement.choice->cut;
  decision.action.verb = Verb::kPlaceCache;
  decision.action.subject += "/" + (cut == 0 ? std::string("source") : job->steps[cut - 1].name);
  decision.action.where = question.cluster.tiers[placement.choice->tier].name;
  decision.action.amount = CacheBytes(*job, *placement.choice);
  decision.numbers.push_back({"share", placement.choice->share});
  return decision;
}

}  // namespace headrace::orchestrate
