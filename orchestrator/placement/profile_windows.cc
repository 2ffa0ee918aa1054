#include "orchestrator/placement/profile_windows.h"

#include <algorithm>

namespace headrace::orchestrate {
namespace {

constexpr double kFade = 0.98;  // a window's; the last fifty count

void Add(const StepObservation& step, StepObservation& sum) {
  const auto add = [&](double StepObservation::* field) {
    sum.*field = kFade * sum.*field + step.*field;
  };
  add(&StepObservation::cpu_seconds);
  add(&StepObservation::rows_in);
  add(&StepObservation::rows_out);
  add(&StepObservation::bytes_in);
  add(&StepObservation::bytes_out);
  add(&StepObservation::blocks);
  add(&StepObservation::cpu_square);
  add(&StepObservation::wall_seconds);
}

const StepObservation* Find(const ProfileSums& sums, std::string_view step) {
  const auto found = sums.steps.find(std::string(step));
  return found == sums.steps.end() ? nullptr : &found->second;
}

// Of single rows; of one block nothing is known: as much as the mean.
double VarianceOf(const StepObservation& sum) {
  const double mean = sum.cpu_seconds / sum.rows_in;
  if (sum.blocks <= 1) return mean * mean;
  return std::max(0.0, sum.cpu_square - sum.cpu_seconds * mean) / (sum.blocks - 1);
}

}  // namespace

void AddWindow(const JobObservation& job, double window_seconds, ProfileSums& sums) {
  bool made = false;
  for (const StepObservation& step : job.steps) {
    if (!(step.rows_in > 0) && !(step.rows_out > 0)) continue;
    made = true;
    Add(step, sums.steps[step.step]);
  }
  if (made) sums.seconds += window_seconds;
}

std::string Unmeasured(const ProfileSums& sums, const PipelineFacts& facts) {
  const StepObservation* read = Find(sums, kReadStep);
  if (read == nullptr || !(read->rows_out > 0)) return "reading";
  std::string names;
  for (const StepFacts& step : facts.steps) {
    const StepObservation* sum = Find(sums, step.step);
    if (sum == nullptr || !(sum->rows_in > 0)) names += (names.empty() ? "" : ", ") + step.step;
  }
  return names;
}

JobProfile ProfileOf(const ProfileSums& sums, const PipelineFacts& facts) {
  JobProfile profile;
  if (const StepObservation* read = Find(sums, kReadStep); read && read->rows_out > 0) {
    profile.source_bytes = read->bytes_out / read->rows_out;
    profile.source_cpu_seconds = read->cpu_seconds / read->rows_out;
  }
  profile.prefix_keys.push_back(facts.source_key);
  double visits = 1;
  for (const StepFacts& fact : facts.steps) {
    StepProfile& step = profile.steps.emplace_back();
    step.name = fact.step;
    step.random = fact.random;
    step.pinned = !fact.cut.has_value();
    step.visits = visits;
    profile.prefix_keys.push_back(fact.key);
    const StepObservation* sum = Find(sums, fact.step);
    if (sum == nullptr || !(sum->rows_in > 0)) continue;
    step.cpu_seconds = sum->cpu_seconds / sum->rows_in;
    step.cpu_variance = VarianceOf(*sum);
    step.rows_measured = sum->rows_in;
    // What a step still holds (shuffle) will leave it.
    const double through = fact.one_to_one ? 1 : sum->rows_out / sum->rows_in;
    visits *= through;
    step.bytes_out = sum->rows_out > 0 ? visits * sum->bytes_out / sum->rows_out : 0;
  }
  return profile;
}

}  // namespace headrace::orchestrate
