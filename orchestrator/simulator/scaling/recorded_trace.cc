#include "orchestrator/simulator/scaling/recorded_trace.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <utility>

#include "common/status.h"
#include "orchestrator/observation/observation_json.h"

namespace headrace::orchestrate {
namespace {

constexpr double kOff = 0.25;       // of a level: two windows further off are another
constexpr double kStalled = 0.02;   // of the time: workers make all that they can
constexpr double kMostNoise = 0.3;  // beyond that the recording is not of levels at all
constexpr double kWorkerStartSeconds = 5;

struct Point {
  double at = 0;  // where its window begins
  double value = 0;
};

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// What windows told of one job.
struct Told {
  double begins = 0;
  double ends = 0;
  std::vector<Point> demand = {};
  std::vector<Point> busy_rate =
      {};                         // elements per busy second of a thread, times a worker's threads
  std::vector<double> full = {};  // how busy workers were while the trainers waited
};

double ReadyCores(const Observation& seen) {
  double cores = 0;
  for (const WorkerObservation& worker : seen.workers)
    cores += worker.condition == WorkerCondition::kReady ? worker.cores : 0;
  return cores;
}

void Listen(const Observation& seen, const JobObservation& job, double begin, Told& told) {
  if (job.demand.has_value() && *job.demand > 0) told.demand.push_back({begin, *job.demand});
  const size_t ready = seen.ready();
  const double cores = ReadyCores(seen);
  if (job.elements_per_second <= 0 || job.busy_seconds <= 0 || ready == 0 || cores <= 0) return;
  const double each = job.elements_per_second * seen.window_seconds / job.busy_seconds;
  told.busy_rate.push_back({begin, each * cores / static_cast<double>(ready)});
  if (job.stall.value_or(0) <= kStalled) return;
  double busy = 0;
  for (const JobObservation& other : seen.jobs) busy += other.busy_seconds;
  told.full.push_back(std::clamp(busy / (cores * seen.window_seconds), 0.05, 1.0));
}

bool Off(double value, double level, int side) {
  return side * std::log(value / level) > std::log(1 + kOff);
}

// `noise` gets the logarithms of what windows are off their levels.
std::vector<Point> LevelsOf(const std::vector<Point>& points, std::vector<double>& noise) {
  std::vector<Point> levels;
  std::vector<double> values;
  const auto close = [&] {
    levels.back().value = Median(values);
    for (double value : values) noise.push_back(std::log(value / levels.back().value));
    values.clear();
  };
  for (size_t i = 0; i < points.size(); ++i) {
    bool next = levels.empty();
    for (int side : {-1, 1}) {
      next = next || (i + 1 < points.size() && Off(points[i].value, Median(values), side) &&
                      Off(points[i + 1].value, Median(values), side));
    }
    if (next) {
      if (!levels.empty()) close();
      levels.push_back({points[i].at, points[i].value});
    }
    values.push_back(points[i].value);
  }
  if (!levels.empty()) close();
  return levels;
}

// The steps behind the first level, as factors.
void AddSteps(const std::vector<Point>& levels, size_t job, double TraceStep::* factor,
              std::vector<TraceStep>& steps) {
  for (size_t i = 1; i < levels.size(); ++i) {
    TraceStep step{.at = std::floor(levels[i].at), .job = job};
    step.*factor = levels[i].value / levels[i - 1].value;
    steps.push_back(step);
  }
}

double Deviation(const std::vector<double>& values) {
  double squares = 0;
  for (double value : values) squares += value * value;
  return values.empty() ? 0 : std::sqrt(squares / static_cast<double>(values.size()));
}

}  // namespace

absl::StatusOr<std::vector<Observation>> ReadRecording(const std::string& path) {
  std::ifstream file(path);
  if (!file) return NotFound("read {}: it cannot be opened", path);
  std::vector<Observation> recording;
  std::string line;
  for (size_t number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    absl::StatusOr<Observation> seen = ObservationFromJson(line);
    if (!seen.ok()) {
      return InvalidArgument("{}:{}: no observation of `headrace run --record-trace`: {}", path,
                             number, OneLine(seen.status()));
    }
    if (!recording.empty() && seen->at_seconds <= recording.back().at_seconds)
      return InvalidArgument("{}:{}: at_seconds does not grow", path, number);
    recording.push_back(*std::move(seen));
  }
  if (recording.empty()) return InvalidArgument("{}: no window was recorded", path);
  return recording;
}

absl::StatusOr<ScalingTrace> TraceOf(const std::vector<Observation>& recording,
                                     double least_seconds) {
  if (recording.empty()) return InvalidArgument("no window was recorded");
  const double origin = recording.front().at_seconds - recording.front().window_seconds;
  const double recorded = recording.back().at_seconds - origin;
  ScalingTrace trace;
  trace.seed = 1;
  trace.kind = "recorded";
  trace.seconds = std::ceil(std::max(recorded, least_seconds));
  trace.worker_start_seconds = kWorkerStartSeconds;
  std::map<std::string, Told> jobs;
  for (const Observation& seen : recording) {
    const double begin = std::max(0.0, seen.at_seconds - seen.window_seconds - origin);
    for (const JobObservation& job : seen.jobs) {
      if (job.clients > 0) jobs.try_emplace(job.name, Told{.begins = begin});
      const auto told = jobs.find(job.name);
      if (told == jobs.end() || job.clients + job.connected == 0) continue;
      told->second.ends = seen.at_seconds - origin;  // between epochs it has not ended
      if (job.clients > 0) Listen(seen, job, begin, told->second);
    }
    for (size_t i = 0; i < seen.workers_lost; ++i)
      trace.preemptions.push_back({std::floor(seen.at_seconds - origin), 0});
  }
  std::vector<double> noise;
  for (const auto& [name, told] : jobs) {
    if (told.demand.empty() || told.busy_rate.empty()) continue;
    const std::vector<Point> demand = LevelsOf(told.demand, noise);
    const std::vector<Point> rate = LevelsOf(told.busy_rate, noise);
    TraceJob job;
    job.name = name;
    job.full_busy = told.full.empty() ? 1 : Median(told.full);
    job.demand = demand.front().value;
    job.worker_rate = rate.front().value * job.full_busy;
    job.begins = std::floor(told.begins);
    // Of the last window's: it goes on.
    job.ends = told.ends >= recorded ? trace.seconds : std::ceil(told.ends);
    AddSteps(demand, trace.jobs.size(), &TraceStep::demand_factor, trace.steps);
    AddSteps(rate, trace.jobs.size(), &TraceStep::rate_factor, trace.steps);
    trace.jobs.push_back(job);
  }
  if (trace.jobs.empty())
    return InvalidArgument("no job of the recording took anything for a whole window");
  std::ranges::sort(trace.steps, {}, &TraceStep::at);
  trace.noise = std::min(Deviation(noise), kMostNoise);
  return trace;
}

}  // namespace headrace::orchestrate
