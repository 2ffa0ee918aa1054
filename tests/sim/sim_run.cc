// sim_run HISTORIES FIRST_SEED THREADS [ordered]: histories of seeds FIRST_SEED on, of every kind
// (or of ordered epochs alone), until one breaks a promise. Prints how many it ran, what happened
// in them, and the seed that replays a failure.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/logging/logging.h"
#include "tests/sim/cluster.h"

namespace headrace::sim {
namespace {

struct Tally {
  std::mutex mutex;
  std::map<std::string, uint64_t> seen;
  uint64_t histories = 0;
  uint64_t events = 0;
  std::vector<std::string> failures;
};

using Draw = History (*)(uint64_t seed);

void RunSome(Draw draw, std::atomic<uint64_t>& next, uint64_t end, Tally& tally) {
  while (true) {
    const uint64_t seed = next.fetch_add(1);
    if (seed >= end) return;
    const History history = draw(seed);
    const Outcome outcome = Cluster(history).Run();
    const std::lock_guard lock(tally.mutex);
    ++tally.histories;
    tally.events += outcome.events;
    for (const auto& [what, times] : outcome.seen) tally.seen[what] += times;
    if (outcome.failure.empty()) continue;
    tally.failures.push_back(outcome.failure);
    std::printf("%s\n%s\nreplay: sim_run 1 %llu 1%s\n", outcome.failure.c_str(),
                history.Describe().c_str(), static_cast<unsigned long long>(seed),
                draw == DrawOrderedHistory ? " ordered" : "");
    if (tally.failures.size() >= 10) next = end;
  }
}

int Main(Draw draw, uint64_t histories, uint64_t first, uint64_t threads) {
  LoggingConfig quiet;  // lost clients are many here
  quiet.level = "error";
  (void)InitLogging(quiet);
  Tally tally;
  std::atomic<uint64_t> next = first;
  const auto start = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> pool;
    for (uint64_t i = 0; i < threads; ++i) {
      pool.emplace_back([&] { RunSome(draw, next, first + histories, tally); });
    }
  }
  const double minutes =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 60;
  for (const auto& [what, times] : tally.seen) {
    std::printf("%10llu  %s\n", static_cast<unsigned long long>(times), what.c_str());
  }
  std::printf("%llu histories, %llu events, %.1f minutes, %.0f histories a minute; %zu failed\n",
              static_cast<unsigned long long>(tally.histories),
              static_cast<unsigned long long>(tally.events), minutes,
              static_cast<double>(tally.histories) / minutes, tally.failures.size());
  return tally.failures.empty() ? 0 : 1;
}

}  // namespace
}  // namespace headrace::sim

int main(int argc, char** argv) {
  const auto number = [&](int i, uint64_t otherwise) {
    return i < argc ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  using namespace headrace::sim;
  const bool ordered = argc > 4 && std::string_view(argv[4]) == "ordered";
  return Main(ordered ? DrawOrderedHistory : DrawHistoryOfAnyKind, number(1, 100'000), number(2, 1),
              number(3, 1));
}
