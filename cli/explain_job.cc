#include "cli/explain_job.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/proto_json.h"
#include "cli/table.h"
#include "common/status.h"
#include "common/sync/signals.h"
#include "orchestrator/observation/collector.h"
#include "orchestrator/observation/limits.h"

namespace headrace {
namespace {

using orchestrate::JobObservation;
using orchestrate::Observation;

constexpr absl::Duration kBetweenLooks = absl::Milliseconds(200);

std::string Percent(double share) { return fmt::format("{:.0f}%", 100 * share); }

std::string Word(v1::Caching caching) {
  switch (caching) {
    case v1::CACHING_AUTO:
      return "auto";
    case v1::CACHING_OFF:
      return "off";
    default:
      return "pipeline";
  }
}

// What is known of one job, from all sources.
struct Explained {
  v1::FleetJob job;
  Observation seen;
  std::vector<v1::PlanStep> steps;
  const char* steps_from = "";
  std::string why;

  const JobObservation& now() const { return seen.jobs.front(); }
  const v1::CachePlan& plan() const { return job.plan(); }
  double cpu() const {
    double total = 0;
    for (const v1::PlanStep& step : steps) total += step.cpu_seconds();
    return total;
  }
  const v1::PlanStep* slowest() const {
    const auto most = std::ranges::max_element(steps, {}, &v1::PlanStep::cpu_seconds);
    return most == steps.end() || most->cpu_seconds() <= 0 ? nullptr : &*most;
  }
  double records_per_second() const { return now().records / seen.window_seconds; }
};

// Of the tasks that run, since they began: where no orchestrator has told of its own measuring.
std::vector<v1::PlanStep> StepsOfTasks(const v1::FleetJob& job) {
  struct Sum {
    std::string step;
    double cpu = 0, rows_in = 0, bytes_out = 0;
  };
  std::vector<Sum> sums;
  double rows = 0;
  for (const v1::FleetTask& task : job.tasks()) {
    for (const v1::FleetStep& step : task.steps()) {
      if (step.step() == "0:read" || step.step() == "0:cached")
        rows += static_cast<double>(step.rows_out());
      auto sum = std::ranges::find(sums, step.step(), &Sum::step);
      if (sum == sums.end()) sum = sums.insert(sum, {.step = step.step()});
      sum->cpu += step.cpu_seconds();
      sum->rows_in +=
          static_cast<double>(step.rows_in() + (step.rows_in() == 0 ? step.rows_out() : 0));
      sum->bytes_out += static_cast<double>(step.bytes_out());
    }
  }
  std::vector<v1::PlanStep> steps;
  for (const Sum& sum : sums) {
    v1::PlanStep& step = steps.emplace_back();
    step.set_step(sum.step);
    if (rows <= 0) continue;
    step.set_cpu_seconds(sum.cpu / rows);
    step.set_rows(sum.rows_in / rows);
    step.set_bytes(sum.bytes_out / rows);
  }
  return steps;
}

std::string WhyNoPlan(const v1::FleetJob& job) {
  switch (job.cache()) {
    case v1::CACHING_AUTO:
      return "no orchestrator has told anything yet: rows are kept as the pipeline says";
    case v1::CACHING_OFF:
      return "the job's option is `cache: off`: nothing is kept";
    default: {
      const bool own = std::ranges::any_of(
          job.pipeline().steps(), [](const v1::Step& step) { return step.op() == "cache"; });
      return own ? "the job's option is `cache: pipeline`: rows are kept where its `cache` step is"
                 : "the job's option is `cache: pipeline`, which has no `cache` step: nothing is "
                   "kept; with `auto` the orchestrator would decide";
    }
  }
}

std::string Place(const v1::PlanCandidate& candidate) {
  if (candidate.none()) return "no cache";
  const std::string part = candidate.share() > 0.999
                               ? "all rows"
                               : fmt::format("{:.0f}% of the rows", 100 * candidate.share());
  return fmt::format("{} after {} in {}", part, candidate.after(), candidate.tier());
}

void PrintSteps(const Explained& e) {
  if (e.steps.empty()) return;
  std::printf("\nsteps, a record of the source (%s):\n", e.steps_from);
  Table table(
      {"step", "us/record", "+-", "share", "rows", "bytes out", "rows may be kept behind it"});
  const bool cuts = e.job.plan().steps_size() > 0;
  const double total = std::max(e.cpu(), 1e-12);
  for (const v1::PlanStep& step : e.steps) {
    table.Add({step.step(), fmt::format("{:.2f}", 1e6 * step.cpu_seconds()),
               step.error() > 0 ? Percent(step.error()) : "-", Percent(step.cpu_seconds() / total),
               fmt::format("{:.3g}", step.rows()), Bytes(step.bytes()),
               !cuts                   ? "-"
               : step.no_cut().empty() ? "yes"
                                       : "no: " + step.no_cut()});
  }
  std::fputs(table.ToString().c_str(), stdout);
  if (const v1::PlanStep* slowest = e.slowest()) {
    std::printf("bottleneck of the workers: %s, %.0f%% of the CPU time\n", slowest->step().c_str(),
                100 * slowest->cpu_seconds() / total);
  }
}

void PrintRate(const char* what, double predicted, double observed, const std::string& bound) {
  if (predicted <= 0) return;
  const std::string seen = observed > 0 ? fmt::format("observed {}, {:+.0f}%", Count(observed),
                                                      100 * (observed / predicted - 1))
                                        : "not observed yet";
  std::printf("%s: predicted %s records/s, bound by %s; %s\n", what, Count(predicted).c_str(),
              bound.c_str(), seen.c_str());
}

void PrintPlan(const Explained& e) {
  const v1::CachePlan& plan = e.plan();
  if (plan.candidates_size() > 0) {
    std::printf("\nwhere caches could go, over %g epochs that will begin:\n", plan.epochs_left());
    Table table({"", "rows", "cost", "records/s", "workers", "bound by", "bytes kept"});
    for (const v1::PlanCandidate& candidate : plan.candidates()) {
      table.Add({candidate.chosen() ? "*" : "", Place(candidate),
                 fmt::format("{:.4g}", candidate.cost()), Count(candidate.rows_per_second()),
                 std::to_string(candidate.workers()), candidate.bottleneck(),
                 candidate.none() ? "-" : Bytes(candidate.bytes())});
    }
    std::fputs(table.ToString().c_str(), stdout);
    const std::string workers =
        fmt::format("with {} worker{}", plan.workers(), plan.workers() == 1 ? "" : "s");
    const bool none = !e.job.has_placement() || e.job.placement().none();
    if (!none)
      PrintRate((workers + ", as chosen").c_str(), plan.predicted(), plan.observed(),
                plan.bottleneck());
    PrintRate((workers + ", without a cache").c_str(), plan.predicted_without(),
              plan.observed_without(), plan.bottleneck_without());
  }
  std::printf("\ncache: %s\nwhy: %s\n", Word(e.job.cache()).c_str(), e.why.c_str());
}

void PrintText(const Explained& e) {
  const JobObservation& now = e.now();
  std::printf("job %s  epoch %llu%s  %.0f%% of it done\n", e.job.name().c_str(),
              static_cast<unsigned long long>(e.job.epoch()),
              e.job.epochs() > 0 ? fmt::format(" (of {})", e.job.epochs()).c_str() : "",
              100 * now.epoch_progress);
  const orchestrate::Limit limit = LimitOf(now, e.seen);
  std::printf("now: %s records/s; limit: %s, %s\n", Count(e.records_per_second()).c_str(),
              std::string(Word(limit)).c_str(), std::string(Advice(limit)).c_str());
  PrintSteps(e);
  PrintPlan(e);
}

void PrintJson(const Explained& e) {
  nlohmann::json steps = nlohmann::json::array();
  for (const v1::PlanStep& step : e.steps) steps.push_back(ToJson(step));
  nlohmann::json plan = ToJson(e.plan());
  plan.erase("steps");
  const v1::PlanStep* slowest = e.slowest();
  const nlohmann::json out = {
      {"job", e.job.name()},
      {"epoch", e.job.epoch()},
      {"epochs", e.job.epochs()},
      {"cache", Word(e.job.cache())},
      {"limit", std::string(Word(LimitOf(e.now(), e.seen)))},
      {"records_per_second", e.records_per_second()},
      {"steps", steps},
      {"steps_from", e.steps_from},
      {"bottleneck", slowest == nullptr ? nlohmann::json() : nlohmann::json(slowest->step())},
      {"placement", e.job.has_placement() ? ToJson(e.job.placement()) : nlohmann::json()},
      {"plan", e.job.has_plan() ? plan : nlohmann::json()},
      {"why", e.why}};
  std::printf("%s\n", out.dump(2).c_str());
}

}  // namespace

absl::Status ExplainJob(const ClusterOption& cluster, const std::string& job,
                        absl::Duration measure) {
  ShutdownSignal signal;
  HR_ASSIGN_OR_RETURN(auto calls, cluster.ConnectFleet());
  const auto ask = [&]() -> absl::StatusOr<v1::ObserveFleetReply> {
    v1::ObserveFleetRequest request;
    request.set_job_name(job);
    request.set_pipelines(true);
    HR_ASSIGN_OR_RETURN(v1::ObserveFleetReply fleet,
                        cluster.Explain(calls->ObserveFleet(request, cluster.timeout())));
    if (fleet.jobs().empty()) {
      return NotFound(
          "no file '{}', and no job of that name at {}: `headrace jobs` lists those that run", job,
          cluster.address());
    }
    return fleet;
  };
  HR_ASSIGN_OR_RETURN(v1::ObserveFleetReply fleet, ask());
  orchestrate::Collector collector;
  collector.Begin(fleet);
  for (absl::Duration left = measure; left > absl::ZeroDuration(); left -= kBetweenLooks) {
    if (signal.token().Wait(std::min(left, kBetweenLooks))) return absl::OkStatus();
    HR_ASSIGN_OR_RETURN(fleet, ask());
    collector.Look(fleet);
  }
  Explained e;
  e.seen = collector.End(fleet, 0);
  e.job = fleet.jobs(0);
  e.why = e.job.has_plan() ? e.plan().reason() : WhyNoPlan(e.job);
  if (e.job.plan().steps_size() > 0) {
    e.steps.assign(e.plan().steps().begin(), e.plan().steps().end());
    e.steps_from = "measured by the orchestrator";
  } else {
    e.steps = StepsOfTasks(e.job);
    e.steps_from = "of the tasks that run, since they began";
  }
  cluster.json() ? PrintJson(e) : PrintText(e);
  return absl::OkStatus();
}

}  // namespace headrace
