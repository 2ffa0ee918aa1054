#include "orchestrator/capacity/allocator.h"

#include <deque>
#include <numeric>

#include "gtest/gtest.h"
#include "orchestrator/seeded_random.h"

namespace headrace::orchestrate {
namespace {

TEST(AllocateBudgetTest, FirstAFloorForEachThenTheDensest) {
  const auto grants =
      AllocateBudget({{"a", 100, 1, 0.1}, {"b", 100, 1, 0.9}, {"c", 5, 1, 0.5}}, 100, 0.5);
  EXPECT_NEAR(grants[0].bytes, 100.0 / 6, 1e-9);
  EXPECT_NEAR(grants[1].bytes, 100 - 100.0 / 6 - 5, 1e-9);
  EXPECT_EQ(grants[2].bytes, 5);
  EXPECT_NE(grants[1].reason.find("1 of 3"), std::string::npos) << grants[1].reason;
}

TEST(AllocateBudgetTest, LendsWhatNobodyWants) {
  const auto grants = AllocateBudget(
      {{"a", 10, 1, 0.1, 200}, {"b", 10, 1, 0.9, 50}, {"c", 10, 1, 0.5, 0}}, 100, 0.5);
  EXPECT_EQ(grants[0].bytes, 40);
  EXPECT_EQ(grants[1].bytes, 50);
  EXPECT_EQ(grants[2].bytes, 10);
}

TEST(AllocateBudgetTest, NeverMoreThanTheBudgetNorThanWanted) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SeededRandom random(seed);
    std::vector<BudgetClaim> claims(random.Below(12));
    for (BudgetClaim& claim : claims) {
      claim = {"", random.Chance(0.1) ? 0 : random.LogUniform(1, 1e6),
               random.Chance(0.1) ? 0 : random.Uniform(0, 4), random.Uniform()};
    }
    const double budget = random.Chance(0.05) ? 0 : random.LogUniform(1, 1e6);
    const double floor_share = random.Uniform();
    const auto grants = AllocateBudget(claims, budget, floor_share);
    double sum = 0, wanted = 0, weights = 0;
    for (const BudgetClaim& claim : claims) weights += claim.weight;
    for (size_t i = 0; i < claims.size(); ++i) {
      sum += grants[i].bytes;
      wanted += claims[i].want_bytes;
      ASSERT_LE(grants[i].bytes, claims[i].want_bytes * (1 + 1e-9));
      const double floor = weights > 0 ? floor_share * budget * claims[i].weight / weights : 0;
      ASSERT_GE(grants[i].bytes, std::min(claims[i].want_bytes, floor) * (1 - 1e-9));
    }
    ASSERT_LE(sum, budget * (1 + 1e-9));
    ASSERT_GE(sum, std::min(budget, wanted) * (1 - 1e-9)) << "seed " << seed;  // nothing lies idle
  }
}

TEST(CapacityLedgerTest, GrowthWaitsForBytesThatWereFreed) {
  CapacityLedger ledger(100);
  ledger.Join("a", 100);
  ledger.Join("b", 100);
  auto told = ledger.Plan({{"a", 80, ""}, {"b", 20, ""}});
  ASSERT_EQ(told.size(), 2u);
  for (const auto& t : told) ledger.Report(t.cache, t.limit, t.generation);
  told = ledger.Plan({{"a", 30, ""}, {"b", 70, ""}});
  ASSERT_EQ(told.size(), 1u);  // b has to wait
  EXPECT_EQ(told[0].cache, "a");
  ledger.Report("a", 60, told[0].generation);
  EXPECT_EQ(ledger.entries().at("a").claim, 60);
  EXPECT_EQ(ledger.Plan({}).at(0).limit, 40);  // b, by what was freed
  ledger.Report("a", 30, told[0].generation);
  EXPECT_EQ(ledger.Plan({}).at(0).limit, 70);
}

TEST(CapacityLedgerTest, AnOldLimitCountsUntilTheWorkerKnowsTheNewOne) {
  CapacityLedger ledger(100);
  ledger.Join("a", 100);
  const auto first = ledger.Plan({{"a", 80, ""}}).at(0);
  const auto second = ledger.Plan({{"a", 10, ""}}).at(0);
  ledger.Report("a", 5, first.generation);
  EXPECT_EQ(ledger.entries().at("a").claim, 80);
  ledger.Report("a", 5, second.generation);
  EXPECT_EQ(ledger.entries().at("a").claim, 10);
  ledger.Report("a", 5, first.generation);  // overtaken
  EXPECT_EQ(ledger.entries().at("a").claim, 10);
}

TEST(CapacityLedgerTest, AnEndedJobHoldsNothingAndItsBytesDrain) {
  CapacityLedger ledger(100);
  ledger.Join("a", 100);
  ledger.Join("b", 100);
  const auto told = ledger.Plan({{"a", 100, ""}}).at(0);
  ledger.Report("a", 100, told.generation);
  ledger.End("a");
  ledger.End("a");
  EXPECT_EQ(ledger.entries().count("a"), 0u);
  EXPECT_EQ(ledger.draining(), 100);
  EXPECT_TRUE(ledger.Plan({{"b", 100, ""}}).empty());
  ledger.Report("a", 40, ledger.ended().at("a").generation);
  EXPECT_EQ(ledger.Plan({}).at(0).limit, 60);
  ledger.Lost("a");
  EXPECT_EQ(ledger.Plan({}).at(0).limit, 100);
  EXPECT_EQ(ledger.claimed(), 100);
}

// A worker that hears late, frees slowly, fills as fast as it may, and crashes.
struct Worker {
  double limit = 0, resident = 0;
  int64_t generation = 0;
  bool ended = false;
};
struct Letter {
  std::string cache;
  double limit;
  int64_t generation;
};

class LedgerWorld {
 public:
  explicit LedgerWorld(uint64_t seed) : random_(seed), ledger_(1000) {}

  void Event() {
    const double before = ledger_.claimed();
    const bool shrank = Change();
    const double bound =
        shrank ? std::max(ledger_.budget(), before) : std::max(ledger_.budget(), bound_);
    ASSERT_LE(ledger_.claimed(), bound + 1e-6);
    bound_ = std::max(ledger_.budget(), ledger_.claimed());
    double held = 0;
    for (const auto& [name, worker] : workers_) held += worker.resident;
    ASSERT_LE(held, ledger_.claimed() + 1e-6);
    for (const auto& [name, entry] : ledger_.entries()) {
      ASSERT_GE(entry.limit, 0);
      ASSERT_LE(entry.limit, entry.claim + 1e-6);
      ASSERT_LE(entry.limit, entry.dataset_bytes + 1e-6);
      ASSERT_FALSE(workers_.at(name).ended);
    }
  }

 private:
  std::string Any() {
    auto at = workers_.begin();
    std::advance(at, static_cast<ptrdiff_t>(random_.Below(workers_.size())));
    return at->first;
  }

  // True when the budget shrank.
  bool Change() {
    const size_t kind = random_.Below(9);
    if (workers_.empty() || (kind == 0 && workers_.size() < 12)) {
      const std::string name = "job" + std::to_string(next_++);
      workers_[name] = {};
      ledger_.Join(name, random_.LogUniform(10, 2000));
    } else if (kind == 1) {
      const std::string name = Any();
      ledger_.End(name);
      workers_[name].ended = true;
    } else if (kind == 2) {
      const double budget = random_.Uniform(200, 1500);
      const bool shrank = budget < ledger_.budget();
      ledger_.SetBudget(budget);
      return shrank;
    } else if (kind == 3) {
      std::vector<BudgetClaim> claims;
      for (const auto& [name, entry] : ledger_.entries()) {
        claims.push_back({name, random_.Uniform() * entry.dataset_bytes, 1, random_.Uniform()});
      }
      for (const auto& told : ledger_.Plan(AllocateBudget(claims, ledger_.budget(), 0.5))) {
        letters_.push_back({told.cache, told.limit, told.generation});
      }
    } else if (kind == 4) {
      if (letters_.empty() || random_.Chance(0.3)) {
        for (const auto& told : ledger_.Unacknowledged())
          letters_.push_back({told.cache, told.limit, told.generation});
      }
      if (!letters_.empty()) Deliver();
    } else if (kind == 5) {
      Worker& worker = workers_[Any()];  // fills
      worker.resident = std::max(worker.resident, random_.Uniform() * worker.limit);
    } else if (kind == 6) {
      Worker& worker = workers_[Any()];  // frees a part of what it should
      if (worker.resident > worker.limit)
        worker.resident -= random_.Uniform() * (worker.resident - worker.limit);
    } else if (kind == 7) {
      const std::string name = Any();
      const Worker& worker = workers_[name];
      ledger_.Report(name, worker.resident, worker.generation);
    } else if (kind == 8 && random_.Chance(0.2)) {
      Crash(Any());
    }
    return false;
  }

  void Crash(const std::string& name) {
    const bool ended = workers_[name].ended;
    ledger_.Lost(name);
    if (ended) {
      workers_.erase(name);
    } else {
      workers_[name] = {};
      // The next one gets its own instructions: what was on the way is to a process that is gone.
      std::erase_if(letters_, [&](const Letter& l) { return l.cache == name; });
    }
  }

  // Letters are lost, doubled and overtaken.
  void Deliver() {
    const size_t which = random_.Below(letters_.size());
    const Letter letter = letters_[which];
    if (!random_.Chance(0.2)) letters_.erase(letters_.begin() + static_cast<ptrdiff_t>(which));
    auto found = workers_.find(letter.cache);
    if (found == workers_.end() || random_.Chance(0.1)) return;
    if (letter.generation <= found->second.generation) return;
    found->second.generation = letter.generation;
    found->second.limit = letter.limit;
  }

  SeededRandom random_;
  CapacityLedger ledger_;
  double bound_ = 1000;
  std::map<std::string, Worker> workers_;
  std::deque<Letter> letters_;
  int next_ = 0;
};

TEST(CapacityLedgerTest, TheBudgetHoldsUnderAnyOrderOfEventsCrashesAndSlowFrees) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    LedgerWorld world(seed);
    for (int i = 0; i < 400; ++i) {
      world.Event();
      ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "seed " << seed << ", event " << i;
    }
  }
}

}  // namespace
}  // namespace headrace::orchestrate
