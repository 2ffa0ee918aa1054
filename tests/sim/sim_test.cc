// Thousands of histories of the whole protocol, each from a seed. HEADRACE_SIM_SEED=n replays one
// and prints it; HEADRACE_SIM_HISTORIES=n runs more, or fewer, than the usual number.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>

#include "common/logging/logging.h"
#include "tests/sim/cluster.h"

namespace headrace::sim {
namespace {

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

struct Findings {
  std::string failure;  // of the first history that failed, with what replays it
  std::map<std::string, uint64_t> seen;
};

// Runs histories of seeds [first, first + count), until one fails.
Findings RunHistories(const std::function<History(uint64_t seed)>& draw, uint64_t first,
                      uint64_t count, bool mutated = false) {
  LoggingConfig quiet;  // lost clients are many here
  quiet.level = "error";
  (void)InitLogging(quiet);
  const uint64_t wanted = FromEnvironment("HEADRACE_SIM_SEED", 0);
  if (wanted != 0) {
    first = wanted;
    count = 1;
  } else if (!mutated) {  // a planted fault needs as many as it takes to find it
    count = FromEnvironment("HEADRACE_SIM_HISTORIES", count);
  }
  Findings findings;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const History history = draw(seed);
    const Outcome outcome = Cluster(history).Run();
    for (const auto& [what, times] : outcome.seen) findings.seen[what] += times;
    if (!outcome.failure.empty()) {
      findings.failure = fmt::format("{}\n{}\nreplay: HEADRACE_SIM_SEED={}", outcome.failure,
                                     history.Describe(), seed);
      return findings;
    }
  }
  return findings;
}

Findings RunHistories(Faults faults, uint64_t first, uint64_t count,
                      void (*mutate)(History&) = nullptr) {
  return RunHistories(
      [faults, mutate](uint64_t seed) {
        History history = DrawHistory(seed, faults);
        if (mutate != nullptr) mutate(history);
        return history;
      },
      first, count, mutate != nullptr);
}

void ExpectSeen(const Findings& findings, std::initializer_list<const char*> all) {
  if (FromEnvironment("HEADRACE_SIM_SEED", 0) != 0) return;
  const uint64_t more_than = FromEnvironment("HEADRACE_SIM_HISTORIES", 1000) < 1000 ? 0 : 20;
  for (const char* what : all) {
    const auto it = findings.seen.find(what);
    EXPECT_GT(it == findings.seen.end() ? 0 : it->second, more_than) << what;
  }
}

std::string FirstWord(const std::string& text) { return text.substr(0, text.find_first_of(" \n")); }

TEST(SimTest, WithoutFaultsEveryRecordComesOnce) {
  const Findings findings = RunHistories(Faults::kNone, 1, 300);
  EXPECT_EQ(findings.failure, "");
  ExpectSeen(findings, {"epoch finished", "delivered", "cut", "piece leased"});
}

TEST(SimTest, WorkersStreamsCallsAndTheDispatcherFailAndEveryRecordComesOnce) {
  const Findings findings = RunHistories(Faults::kWorkers, 100'001, 3000);
  EXPECT_EQ(findings.failure, "");
  ExpectSeen(findings, {"FENCE_CAUSE_WORKER_GONE", "FENCE_CAUSE_CLIENT_GONE",
                        "FENCE_CAUSE_TASK_ERROR", "FENCE_CAUSE_STREAM_BROKEN", "fence confirmed",
                        "fence awaits several clients", "replay", "cut", "piece leased",
                        "worker drained", "dispatcher restarted", "restarted from a snapshot"});
}

TEST(SimTest, ClientsAreLostAndNothingIsMissingNorMoreDoubledThanTheyLeftUnreported) {
  const Findings findings = RunHistories(Faults::kClients, 200'001, 1500);
  EXPECT_EQ(findings.failure, "");
  ExpectSeen(findings, {"client lost", "FENCE_CAUSE_CLIENT_GONE"});
}

TEST(SimTest, AllTrainersGoOnFromACheckpointWhileOtherPartsFailAndEveryRecordComesOnce) {
  const Findings findings = RunHistories(Faults::kRestores, 800'001, 1500);
  EXPECT_EQ(findings.failure, "");
  ExpectSeen(findings, {"restored", "FENCE_CAUSE_WORKER_GONE", "dispatcher restarted"});
}

TEST(SimTest, AtLeastOnceNothingIsMissingAndAtMostOnceNothingIsDoubled) {
  const Findings findings = RunHistories(DrawHistoryOfAnyLevel, 250'001, 1500);
  EXPECT_EQ(findings.failure, "");
  ExpectSeen(findings, {"client lost", "fence confirmed", "given up"});
}

TEST(SimTest, AnOrderedEpochHasTheSameBatchesWhateverFailsOnAnyWorkersAndRanks) {
  const Findings findings = RunHistories(DrawOrderedHistory, 270'001, 1500);
  EXPECT_EQ(findings.failure, "");
  ExpectSeen(findings, {"FENCE_CAUSE_WORKER_GONE", "FENCE_CAUSE_STREAM_BROKEN", "FENCE_CAUSE_MOVED",
                        "client lost", "restored", "dispatcher restarted"});
}

// A simulation that finds nothing shows little unless it finds what is known to be wrong.
TEST(SimMutationTest, WithoutConfirmationsARecordIsDoubled) {
  const Findings findings = RunHistories(Faults::kWorkers, 300'001, 500, [](History& history) {
    history.confirmations_not_awaited = true;
  });
  EXPECT_EQ(FirstWord(findings.failure), "DOUBLED") << findings.failure;
}

TEST(SimMutationTest, WithFencedFramesKeptARecordIsDoubled) {
  const Findings findings = RunHistories(Faults::kWorkers, 400'001, 500, [](History& history) {
    history.clients_keep_fenced_frames = true;
  });
  EXPECT_EQ(FirstWord(findings.failure), "DOUBLED") << findings.failure;
}

TEST(SimMutationTest, WithoutSkipSetsARecordIsDoubled) {
  const Findings findings = RunHistories(Faults::kWorkers, 500'001, 500, [](History& history) {
    history.leases_lose_their_skip_sets = true;
  });
  EXPECT_EQ(FirstWord(findings.failure), "DOUBLED") << findings.failure;
}

TEST(SimMutationTest, WithRecordsReadPastTheCutARecordIsDoubled) {
  const Findings findings = RunHistories(Faults::kNone, 550'001, 500, [](History& history) {
    history.workers_read_past_their_cuts = true;
  });
  EXPECT_NE(findings.failure, "");
}

TEST(SimMutationTest, WithBrokenStreamsKeptSecretAnEpochNeverEnds) {
  const Findings findings = RunHistories(Faults::kWorkers, 600'001, 500, [](History& history) {
    history.clients_hide_broken_streams = true;
    history.stream_breaks = 2;
  });
  EXPECT_EQ(FirstWord(findings.failure), "STUCK") << findings.failure;
}

TEST(SimMutationTest, WithAnotherShuffleByEachWorkerAnOrderedEpochIsAnother) {
  const Findings findings = RunHistories(
      [](uint64_t seed) {
        History history = DrawOrderedHistory(seed);
        history.workers_shuffle_anew = true;
        return history;
      },
      650'001, 500);
  EXPECT_NE(findings.failure, "");  // what a worker makes again is not what it made before
}

TEST(SimMutationTest, WithoutReplayTakeTakesAnotherNumber) {
  const Findings findings = RunHistories(
      Faults::kWorkers, 700'001, 3000, [](History& history) { history.replays_begin_anew = true; });
  EXPECT_EQ(FirstWord(findings.failure), "TAKE") << findings.failure;
}

TEST(SimMutationTest, WithReportsAheadOfTheTrainerTheLedgerIsFoundWrongAtOnce) {
  const Findings findings = RunHistories(Faults::kNone, 900'001, 100, [](History& history) {
    history.clients_report_on_arrival = true;
  });
  EXPECT_EQ(FirstWord(findings.failure), "LEDGER") << findings.failure;
}

TEST(SimMutationTest, WithOutputSettledTheLedgerIsFoundWrongAtOnce) {
  const Findings findings = RunHistories(Faults::kNone, 950'001, 100, [](History& history) {
    history.workers_settle_what_they_emit = true;
  });
  EXPECT_EQ(FirstWord(findings.failure), "LEDGER") << findings.failure;
}

}  // namespace
}  // namespace headrace::sim
