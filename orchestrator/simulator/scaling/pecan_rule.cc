// Pecan (Graur et al., "Pecan: Cost-Efficient ML Data Preprocessing with Automatic Transformation
// Ordering and Hybrid Placement", USENIX ATC 2024), AutoPlacement: its climb is Cachew's.
#include "orchestrator/simulator/scaling/rules.h"

namespace headrace::orchestrate {
namespace {

constexpr double kBetter = 0.07;
constexpr double kCrowded = -0.10;  // batch time with one more local worker, to stop adding
constexpr double kWorse = -0.03;    // batch time with one remote worker less, to stop dropping
constexpr size_t kMostLocal = 16;

struct PecanState {
  enum class Phase { kFirst, kRemote, kLocal, kDrop, kOver } phase = Phase::kFirst;
  double last_time = 0;
  size_t local = 0;
};

Decision Remote(const Observation& seen, double change, const char* why) {
  return {"pecan",
          {.verb = Verb::kSetWorkers, .amount = static_cast<double>(seen.workers_wanted) + change},
          why,
          {}};
}

Decision Local(PecanState& state, size_t workers, const char* why) {
  state.local = workers;
  return {"pecan",
          {.verb = Verb::kSetWorkers, .where = "local", .amount = static_cast<double>(workers)},
          why,
          {}};
}

std::vector<Decision> DecidePecan(const RuleOptions& options, const Observation& seen,
                                  PecanState& state) {
  using Phase = PecanState::Phase;
  if (seen.jobs.empty() || !(seen.jobs[0].elements_per_second > 0))
    return {{"pecan", {}, "no batches", {}}};
  const double time = 1 / seen.jobs[0].elements_per_second;
  const double relative = state.last_time > 0 ? 1 - time / state.last_time : 0;
  switch (state.phase) {
    case Phase::kFirst:
      state.last_time = time;
      state.phase = Phase::kRemote;
      return {Remote(seen, +1, "first window")};
    case Phase::kRemote:
      if (relative > kBetter && seen.workers_wanted < options.most_workers) {
        state.last_time = time;
        return {Remote(seen, +1, "it paid")};
      }
      state.phase = Phase::kLocal;
      return {Remote(seen, -1, "it did not pay: back"), Local(state, 1, "local workers next")};
    case Phase::kLocal:
      if (relative < kCrowded || state.local >= kMostLocal) {
        state.phase = Phase::kDrop;
        std::vector<Decision> both = {Local(state, state.local - 1, "the trainer is crowded")};
        if (seen.workers_wanted > 1) both.push_back(Remote(seen, -1, "fewer remote ones"));
        return both;
      }
      state.last_time = time;
      return {Local(state, state.local + 1, "room for one more")};
    case Phase::kDrop:
      if (relative > kWorse && seen.workers_wanted > 1) {
        state.last_time = time;
        return {Remote(seen, -1, "it cost nothing")};
      }
      state.phase = Phase::kOver;
      return {Remote(seen, relative > kWorse ? 0 : +1, "over")};
    case Phase::kOver:
      break;
  }
  return {{"pecan", {}, "over", {}}};
}

}  // namespace

std::unique_ptr<Policy> MakePecanRule(const RuleOptions& options) {
  return MakePolicy<RuleOptions, PecanState>("pecan", options, DecidePecan);
}

}  // namespace headrace::orchestrate
