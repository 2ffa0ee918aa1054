// What a flash tier absorbs of a Shift-like trace at one write budget, next to LRU.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "orchestrator/simulator/caching/policy_figure.h"
#include "orchestrator/simulator/caching/shift_trace.h"

namespace headrace::orchestrate {
namespace {

struct Sum {
  double reads = 0, absorbed = 0, written = 0, over_budget = 0;
  double share() const { return absorbed / reads; }
};

// Sizes are set by the trace: the flash holds a part of the segments that the week reads, and may
// be written a part of what LRU would write without a budget.
struct Week {
  ShiftTrace trace;
  double distinct = 0;
  uint64_t seed = 0;
};

Week MakeWeek(const ShiftTraceOptions& options, uint64_t seed) {
  Week week{MakeShiftTrace(options, seed), 0, seed};
  std::vector<bool> read(week.trace.segments);
  for (const ShiftJob& job : week.trace.jobs) {
    for (uint32_t segment : job.segments) {
      week.distinct += !read[segment];
      read[segment] = true;
    }
  }
  return week;
}

void Add(const Week& week, const FlashOptions& options, FlashPolicy policy, Sum& sum) {
  const FlashResult result = RunFlash(week.trace, options, policy, week.seed);
  sum.reads += result.reads;
  sum.absorbed += result.absorbed;
  sum.written += result.written;
  sum.over_budget = std::max(sum.over_budget, result.written_over_budget);
}

struct Outcome {
  Sum ours, lru, unlimited, history;
};

Outcome RunWeeks(const std::vector<Week>& weeks, double capacity_share, double budget_share) {
  Outcome outcome;
  for (const Week& week : weeks) {
    FlashOptions options;
    options.capacity = std::round(capacity_share * week.distinct);
    Sum unlimited;
    Add(week, options, FlashPolicy::kLruUnlimited, unlimited);
    options.writes_per_second = budget_share * unlimited.written / week.trace.seconds;
    Add(week, options, FlashPolicy::kLruUnlimited, outcome.unlimited);
    Add(week, options, FlashPolicy::kHeadrace, outcome.ours);
    Add(week, options, FlashPolicy::kLru, outcome.lru);
    Add(week, options, FlashPolicy::kHistoryOnly, outcome.history);
  }
  return outcome;
}

std::vector<Week> MakeWeeks(const FigureEffort& effort, const ShiftTraceOptions& options) {
  const auto count = static_cast<uint64_t>(std::max(1.0, 5 * effort.share));
  std::vector<Week> weeks;
  for (uint64_t i = 0; i < count; ++i) weeks.push_back(MakeWeek(options, effort.seed + i));
  return weeks;
}

// How much of it hangs on what is known ahead: jobs that take longer, and jobs that are announced.
std::vector<PolicyFigure> KnownAheadFigures(const FigureEffort& effort) {
  std::vector<PolicyFigure> figures;
  const auto add = [&](const std::string& name, const ShiftTraceOptions& options) {
    const Outcome outcome = RunWeeks(MakeWeeks(effort, options), 0.1, 1.0 / 3);
    figures.push_back(
        {"tiering", "the same, " + name, outcome.ours.share() / outcome.lru.share(), "ratio",
         std::nullopt, true,
         fmt::format("absorbed {:.3f} and {:.3f}; LRU without limit {:.3f}", outcome.ours.share(),
                     outcome.lru.share(), outcome.unlimited.share())});
  };
  ShiftTraceOptions options;
  options.queued_share = 1;
  add("every job known 2 hours ahead", options);
  options.queued_hours = 8;
  add("every job known 8 hours ahead", options);
  options = ShiftTraceOptions();
  options.seconds_per_segment *= 10;
  add("jobs that read for ten times as long", options);
  return figures;
}

}  // namespace

std::vector<PolicyFigure> TieringFigures(const FigureEffort& effort) {
  const std::vector<Week> weeks = MakeWeeks(effort, ShiftTraceOptions());
  const size_t count = weeks.size();
  double jobs = 0, distinct = 0;
  for (const Week& week : weeks) {
    jobs += static_cast<double>(week.trace.jobs.size()) / static_cast<double>(count);
    distinct += week.distinct / static_cast<double>(count);
  }
  const Outcome main = RunWeeks(weeks, 0.1, 1.0 / 3);
  std::vector<PolicyFigure> figures = {
      {"tiering", "absorbed reads / LRU at the same write budget",
       main.ours.share() / main.lru.share(), "ratio", 1.5, true,
       fmt::format("flash for 10% of the {:.0f} segments that a week's {:.0f} jobs read, a budget "
                   "of a third of "
                   "what LRU would write; absorbed {:.3f} and {:.3f}; {} weeks",
                   distinct, jobs, main.ours.share(), main.lru.share(), count)},
      {"tiering", "written / write budget, the worst week", main.ours.over_budget, "ratio", 1.0,
       false, fmt::format("LRU behind a token bucket {:.3f}", main.lru.over_budget)},
      {"tiering", "absorbed reads / LRU that may write without limit",
       main.ours.share() / main.unlimited.share(), "ratio", std::nullopt, true,
       fmt::format("it absorbs {:.3f}", main.unlimited.share())},
      {"tiering", "absorbed reads by history alone / LRU at the same write budget",
       main.history.share() / main.lru.share(), "ratio", std::nullopt, true,
       fmt::format("absorbed {:.3f}", main.history.share())},
  };
  for (const auto& [capacity, budget] :
       {std::pair{0.1, 0.1}, {0.1, 1.0}, {0.03, 1.0 / 3}, {0.3, 1.0 / 3}}) {
    const Outcome other = RunWeeks(weeks, capacity, budget);
    figures.push_back(
        {"tiering",
         fmt::format("the same with flash for {:.0f}% and {:.2f} of LRU's writes", 100 * capacity,
                     budget),
         other.ours.share() / other.lru.share(), "ratio", std::nullopt, true,
         fmt::format("absorbed {:.3f} and {:.3f}; written {:.2f} and {:.2f} of the budget",
                     other.ours.share(), other.lru.share(), other.ours.over_budget,
                     other.lru.over_budget)});
  }
  for (PolicyFigure& figure : KnownAheadFigures(effort)) figures.push_back(std::move(figure));
  return figures;
}

}  // namespace headrace::orchestrate
