// EtcdJournal over an etcd in memory that loses, doubles and delays; and over a real one.
#include "dispatcher/journal/etcd_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "common/fake_clock.h"
#include "common/status.h"
#include "dispatcher/etcd/election.h"
#include "dispatcher/etcd/etcd_process.h"
#include "dispatcher/etcd/etcd_requests.h"
#include "dispatcher/etcd/fake_etcd.h"
#include "dispatcher/journal/etcd_pieces.h"
#include "rpc/leader_redirect.h"

namespace headrace {
namespace {

using Fault = FakeEtcd::Fault;
using testing::HasSubstr;

constexpr char kPrefix[] = "hr/journal";

v1::Event Numbered(uint64_t number, size_t bytes = 0) {
  v1::Event event;
  event.mutable_worker_gone()->set_worker(number);
  if (bytes != 0) {
    v1::WorkerRegistered& worker = *event.mutable_worker_registered();
    worker.set_worker(number);
    std::string& noise = *worker.mutable_address();
    std::mt19937_64 random(number);
    for (size_t i = 0; i < bytes; ++i) noise.push_back(static_cast<char>('a' + random() % 26));
  }
  return event;
}
uint64_t NumberOf(const v1::Event& event) {
  return event.has_worker_registered() ? event.worker_registered().worker()
                                       : event.worker_gone().worker();
}

// What a reader was handed: chunks as text, events as numbers.
struct Handed {
  std::vector<std::string> chunks;
  std::vector<v1::Event> events;
  absl::Status Read(Journal& journal) {
    const auto chunk = [this](std::string_view c) {
      chunks.emplace_back(c);
      return absl::OkStatus();
    };
    const auto event = [this](const v1::Event& e) {
      events.push_back(e);
      return absl::OkStatus();
    };
    return journal.Replay({chunk, event});
  }
  std::vector<uint64_t> Numbers() const {
    std::vector<uint64_t> numbers;
    for (const v1::Event& event : events) numbers.push_back(NumberOf(event));
    return numbers;
  }
};

std::vector<uint64_t> Range(uint64_t first, uint64_t end) {
  std::vector<uint64_t> numbers;
  for (uint64_t n = first; n < end; ++n) numbers.push_back(n);
  return numbers;
}

class EtcdJournalTest : public testing::Test {
 protected:
  struct Term {
    std::unique_ptr<Leadership> leadership;
    std::unique_ptr<EtcdJournal> journal;
    Handed handed;
    absl::Status replayed;
  };
  // A dispatcher that takes over: after the lease of the last one, if it did not resign.
  Term TakeOver() {
    Term term;
    Election election({.key = "hr/leader", .address = "a:1", .ttl = absl::Seconds(30)}, etcd_,
                      clock_);
    while (term.leadership == nullptr) {
      clock_.Advance(absl::Seconds(60));
      auto won = election.Try();
      if (won.ok()) term.leadership = *std::move(won);
    }
    EtcdJournal::Options options;
    options.prefix = kPrefix;
    options.piece_bytes = piece_bytes_;
    options.snapshot_after = KiB(4);
    term.journal =
        std::make_unique<EtcdJournal>(options, *term.leadership, etcd_, journal_metrics_);
    term.replayed = term.handed.Read(*term.journal);
    return term;
  }
  static absl::Status Add(Term& term, uint64_t first, uint64_t end, size_t bytes = 0) {
    std::vector<v1::Event> events;
    for (uint64_t n = first; n < end; ++n) events.push_back(Numbered(n, bytes));
    return term.journal->WaitDurable(term.journal->Append(std::move(events)));
  }
  static absl::Status Snapshot(Term& term, uint64_t position, std::vector<std::string> chunks) {
    size_t next = 0;
    return term.journal->Compact(position, [&](std::string& chunk) {
      if (next == chunks.size()) return false;
      chunk = chunks[next++];
      return true;
    });
  }
  size_t KeysBelow(const std::string& prefix) {
    size_t count = 0;
    for (const auto& [key, value] : etcd_.Contents()) count += key.starts_with(kPrefix + prefix);
    return count;
  }

  Metrics metrics_{"test"};
  JournalMetrics journal_metrics_{metrics_};
  FakeClock clock_;
  FakeEtcd etcd_{clock_};
  size_t piece_bytes_ = 1 << 20;
};

TEST_F(EtcdJournalTest, WhatWasDurableComesBackInOrder) {
  {
    Term term = TakeOver();
    ASSERT_TRUE(term.replayed.ok()) << term.replayed;
    EXPECT_TRUE(term.handed.events.empty());
    for (uint64_t n = 0; n < 50; n += 5) ASSERT_TRUE(Add(term, n, n + 5).ok());
  }
  Term second = TakeOver();
  ASSERT_TRUE(second.replayed.ok()) << second.replayed;
  EXPECT_EQ(second.handed.Numbers(), Range(0, 50));
  ASSERT_TRUE(Add(second, 50, 51).ok());
  EXPECT_EQ(TakeOver().handed.Numbers(), Range(0, 51));
}

TEST_F(EtcdJournalTest, ManyCallersShareTransactions) {
  Term term = TakeOver();
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&term, t] {
      for (uint64_t n = 0; n < 100; ++n) ASSERT_TRUE(Add(term, t * 100 + n, t * 100 + n + 1).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  Term next = TakeOver();
  ASSERT_EQ(next.handed.events.size(), 800u);
  std::vector<uint64_t> seen(8, 0);  // each caller's own order holds
  for (uint64_t number : next.handed.Numbers()) EXPECT_EQ(seen[number / 100]++, number % 100);
}

TEST_F(EtcdJournalTest, LostAndLateAnswersDoubleNothing) {
  std::mt19937_64 random(7);
  etcd_.SetFaults([&random](std::string_view method) {
    if (method != "Txn") return Fault::kNone;
    switch (random() % 8) {
      case 0:
        return Fault::kLoseRequest;
      case 1:
        return Fault::kLoseReply;
      case 2:
        return Fault::kLate;
      default:
        return Fault::kNone;
    }
  });
  Term term = TakeOver();
  ASSERT_TRUE(term.replayed.ok()) << term.replayed;
  for (uint64_t n = 0; n < 60; n += 3) {
    ASSERT_TRUE(Add(term, n, n + 3, n % 2 == 0 ? 0 : 300).ok());
    if (n % 4 == 0) etcd_.DeliverLate();
    if (n == 12 || n == 30) {
      ASSERT_TRUE(Snapshot(term, n + 3, {std::to_string(n)}).ok());
    }
  }
  etcd_.SetFaults(nullptr);
  etcd_.DeliverLate();
  Term next = TakeOver();
  ASSERT_TRUE(next.replayed.ok()) << next.replayed;
  EXPECT_THAT(next.handed.chunks, testing::ElementsAre("30"));
  EXPECT_EQ(next.handed.Numbers(), Range(33, 60));
}

TEST_F(EtcdJournalTest, ALargeEventIsCutAndJoined) {
  piece_bytes_ = 1000;
  {
    Term term = TakeOver();
    ASSERT_TRUE(Add(term, 0, 3).ok());
    ASSERT_TRUE(Add(term, 3, 5, 25'000).ok());
    ASSERT_TRUE(Add(term, 5, 9, 400).ok());
  }
  Term next = TakeOver();
  ASSERT_TRUE(next.replayed.ok()) << next.replayed;
  EXPECT_EQ(next.handed.Numbers(), Range(0, 9));
  EXPECT_EQ(next.handed.events[4].SerializeAsString(), Numbered(4, 25'000).SerializeAsString());
}

TEST_F(EtcdJournalTest, NoTransactionIsLargerThanEtcdTakes) {
  Term term = TakeOver();
  ASSERT_TRUE(Add(term, 0, 40, 200'000).ok());
  ASSERT_TRUE(Add(term, 40, 41, 5'000'000).ok());
  ASSERT_TRUE(Snapshot(term, 41, {std::string(3'000'000, 'x')}).ok());
  EXPECT_LT(etcd_.largest_txn(), 1'500'000u);
}

TEST_F(EtcdJournalTest, AGroupThatWasNeverFinishedIsPassedOver) {
  piece_bytes_ = 1000;
  Term term = TakeOver();
  ASSERT_TRUE(Add(term, 0, 3).ok());
  int txns = 0;
  etcd_.SetFaults([&](std::string_view method) {
    return method == "Txn" && ++txns > 5 ? Fault::kLoseRequest : Fault::kNone;
  });
  term.journal->Append({Numbered(3, 20'000)});
  while (KeysBelow("/e/") < 6) absl::SleepFor(absl::Milliseconds(1));
  term.leadership->Lose("");  // it dies
  term.journal = nullptr;
  etcd_.SetFaults(nullptr);
  Term next = TakeOver();
  ASSERT_TRUE(next.replayed.ok()) << next.replayed;
  EXPECT_EQ(next.handed.Numbers(), Range(0, 3));
  ASSERT_TRUE(Add(next, 100, 102, 3'000).ok());
  Term last = TakeOver();
  ASSERT_TRUE(last.replayed.ok()) << last.replayed;
  EXPECT_EQ(last.handed.Numbers(), (std::vector<uint64_t>{0, 1, 2, 100, 101}));
  ASSERT_TRUE(Snapshot(last, 5, {"s"}).ok());
  EXPECT_EQ(KeysBelow("/e/"), 0u);  // what was torn has gone too
}

TEST_F(EtcdJournalTest, AnOldLeadersEventsAreRefusedAndItLearnsOfIt) {
  Term old = TakeOver();
  ASSERT_TRUE(Add(old, 0, 3).ok());
  etcd_.SetDown(true);  // what follows is on its way when it loses the lease
  const uint64_t position = old.journal->Append({Numbered(3)});
  etcd_.SetDown(false);
  clock_.Advance(absl::Seconds(10));
  ASSERT_TRUE(old.journal->WaitDurable(position).ok());
  Term next = TakeOver();
  EXPECT_EQ(next.handed.Numbers(), Range(0, 4));
  ASSERT_TRUE(Add(next, 4, 6).ok());
  const absl::Status late = Add(old, 99, 100);
  EXPECT_TRUE(absl::IsUnavailable(late)) << late;
  EXPECT_TRUE(LeaderNamedBy(late).has_value()) << late;
  EXPECT_FALSE(old.leadership->Holds());
  EXPECT_FALSE(Snapshot(old, 2, {"old"}).ok());
  EXPECT_EQ(TakeOver().handed.Numbers(), Range(0, 6));
}

TEST_F(EtcdJournalTest, ALeaderThatDoesNotKnowYetIsFencedByEtcd) {
  // Its clock stands still: it believes in its lease, and only etcd knows better.
  FakeClock stopped;
  stopped.Advance(clock_.Steady() - stopped.Steady());
  Election election({.key = "hr/leader", .address = "old:1", .ttl = absl::Seconds(30)}, etcd_,
                    stopped);
  clock_.Advance(absl::Seconds(1));
  const auto leadership = election.Try().value();
  ASSERT_NE(leadership, nullptr);
  EtcdJournal journal({.prefix = kPrefix}, *leadership, etcd_, journal_metrics_);
  ASSERT_TRUE(Handed().Read(journal).ok());
  ASSERT_TRUE(journal.WaitDurable(journal.Append({Numbered(0)})).ok());
  Term next = TakeOver();
  ASSERT_TRUE(Add(next, 1, 2).ok());
  EXPECT_TRUE(leadership->Holds());
  const absl::Status late = journal.WaitDurable(journal.Append({Numbered(99)}));
  EXPECT_EQ(LeaderNamedBy(late), "a:1") << late;
  EXPECT_FALSE(leadership->Holds());
  EXPECT_EQ(TakeOver().handed.Numbers(), Range(0, 2));
}

TEST_F(EtcdJournalTest, NoAnswerLeavesWhenTheTermIsOver) {
  Term term = TakeOver();
  ASSERT_TRUE(Add(term, 0, 1).ok());
  clock_.Advance(absl::Seconds(30));
  // Nothing new to write: only the time says that another may lead.
  EXPECT_TRUE(LeaderNamedBy(term.journal->WaitDurable(1)).has_value());
}

TEST_F(EtcdJournalTest, WithoutEtcdACallEndsWithTheTerm) {
  Term term = TakeOver();
  etcd_.SetDown(true);
  std::thread time([this] {
    for (int i = 0; i < 30; ++i) {
      absl::SleepFor(absl::Milliseconds(5));
      clock_.Advance(absl::Seconds(1));
    }
  });
  EXPECT_TRUE(LeaderNamedBy(Add(term, 0, 1)).has_value());
  time.join();
}

TEST_F(EtcdJournalTest, ASnapshotStandsForTheEventsBeforeIt) {
  Term term = TakeOver();
  EXPECT_FALSE(term.journal->WantsCompaction());
  for (uint64_t n = 0; n < 20; n += 2) ASSERT_TRUE(Add(term, n, n + 2, 500).ok());
  EXPECT_TRUE(term.journal->WantsCompaction());
  ASSERT_TRUE(Snapshot(term, 20, {"one", "two"}).ok());
  EXPECT_FALSE(term.journal->WantsCompaction());
  EXPECT_EQ(KeysBelow("/e/"), 0u);
  EXPECT_GT(etcd_.compacted(), 0);
  ASSERT_TRUE(Add(term, 20, 22).ok());
  Term next = TakeOver();
  ASSERT_TRUE(next.replayed.ok()) << next.replayed;
  EXPECT_THAT(next.handed.chunks, testing::ElementsAre("one", "two"));
  EXPECT_EQ(next.handed.Numbers(), Range(20, 22));
  ASSERT_TRUE(Snapshot(next, 22, {"three"}).ok());
  EXPECT_EQ(KeysBelow("/s/"), 1u);
  Term last = TakeOver();
  EXPECT_THAT(last.handed.chunks, testing::ElementsAre("three"));
  EXPECT_TRUE(last.handed.events.empty());
}

TEST_F(EtcdJournalTest, ASnapshotInTheMidstOfAGroupKeepsTheRestOfIt) {
  Term term = TakeOver();
  ASSERT_TRUE(Add(term, 0, 4).ok());
  ASSERT_TRUE(Add(term, 4, 10).ok());  // one group
  ASSERT_TRUE(Add(term, 10, 12).ok());
  ASSERT_TRUE(Snapshot(term, 7, {"seven"}).ok());
  Term next = TakeOver();
  EXPECT_THAT(next.handed.chunks, testing::ElementsAre("seven"));
  EXPECT_EQ(next.handed.Numbers(), Range(7, 12));
}

TEST_F(EtcdJournalTest, ACrashAtAnyStepOfASnapshotLeavesTheOldOneOrTheNew) {
  for (int steps = 0; steps < 12; ++steps) {
    etcd_.SetFaults(nullptr);
    etcd_.Erase("hr/leader");
    for (const auto& [key, value] : etcd_.Contents()) etcd_.Erase(key);
    Term term = TakeOver();
    ASSERT_TRUE(Add(term, 0, 2).ok());
    ASSERT_TRUE(Snapshot(term, 2, {"old a", "old b"}).ok());
    ASSERT_TRUE(Add(term, 2, 4).ok());
    ASSERT_TRUE(Add(term, 4, 6).ok());
    int left = steps;
    etcd_.SetFaults([&](std::string_view) {
      if (left-- > 0) return Fault::kNone;
      term.leadership->Lose("");
      return Fault::kLoseRequest;
    });
    (void)Snapshot(term, 5, {"new a", "new b", "new c"});
    etcd_.SetFaults(nullptr);
    Term next = TakeOver();
    ASSERT_TRUE(next.replayed.ok()) << steps << ": " << next.replayed;
    if (next.handed.chunks.size() == 2) {
      EXPECT_EQ(next.handed.Numbers(), Range(2, 6)) << steps;
    } else {
      EXPECT_THAT(next.handed.chunks, testing::ElementsAre("new a", "new b", "new c")) << steps;
      EXPECT_EQ(next.handed.Numbers(), Range(5, 6)) << steps;
    }
  }
}

TEST_F(EtcdJournalTest, DamageIsNamedAndNothingIsPassedOver) {
  {
    Term term = TakeOver();
    ASSERT_TRUE(Add(term, 0, 2).ok());
    ASSERT_TRUE(Snapshot(term, 2, {"a", "b"}).ok());
    for (uint64_t n = 2; n < 8; n += 2) ASSERT_TRUE(Add(term, n, n + 2).ok());
  }
  const std::map<std::string, std::string> whole = etcd_.Contents();
  int damaged = 0;
  for (const auto& [key, value] : whole) {
    if (key == "hr/leader") continue;
    for (const bool erase : {true, false}) {
      erase ? etcd_.Erase(key) : etcd_.Set(key, "\xff\xff\xff damage");
      const absl::Status status = TakeOver().replayed;
      const bool chunk = key.find("/s/") != std::string::npos;
      if (!chunk || erase) {  // what is in a chunk, its reader knows
        EXPECT_TRUE(absl::IsDataLoss(status)) << key << ": " << status;
        EXPECT_THAT(status.ToString(), HasSubstr("journal.prefix"));
      }
      ++damaged;
      etcd_.Set(key, value);
    }
  }
  EXPECT_EQ(damaged, 2 * 7);
  EXPECT_EQ(TakeOver().handed.Numbers(), Range(2, 8));
}

TEST_F(EtcdJournalTest, ANewerFormatIsRefused) {
  (void)TakeOver();
  v1::EtcdJournalMeta meta;
  meta.set_format(EtcdJournal::kFormat + 1);
  etcd_.Set(std::string(kPrefix) + "/meta", meta.SerializeAsString());
  const absl::Status status = TakeOver().replayed;
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("newer version"));
}

TEST(PieceJoinerTest, OnlyWholeValuesComeOut) {
  PieceJoiner joiner;
  EXPECT_TRUE(joiner.Add(PieceKey("a", 1, 0), "x"));
  EXPECT_EQ(joiner.value(), "x");
  EXPECT_FALSE(joiner.Add(PieceKey("b", 3, 0), "1"));
  EXPECT_FALSE(joiner.Add(PieceKey("b", 3, 2), "3"));  // 1 is missing
  EXPECT_FALSE(joiner.Add(PieceKey("c", 2, 1), "2"));
  EXPECT_FALSE(joiner.Add(PieceKey("d", 2, 0), "1"));
  EXPECT_TRUE(joiner.Add(PieceKey("d", 2, 1), "2"));
  EXPECT_EQ(joiner.base(), "d");
  EXPECT_EQ(joiner.value(), "12");
  EXPECT_FALSE(joiner.Add("no piece", ""));
}

TEST(RealEtcdJournalTest, EventsAndSnapshotsOutliveEtcdsRestart) {
  HR_NEEDS_ETCD();
  EtcdProcess process;
  const auto etcd = process.Dial();
  Metrics metrics("test");
  const JournalMetrics journal_metrics(metrics);
  Election election({.key = "hr/leader", .address = "a:1", .ttl = absl::Seconds(30)}, *etcd,
                    RealClock());
  const auto term = election.Try().value();
  ASSERT_NE(term, nullptr);
  {
    EtcdJournal journal({.prefix = kPrefix}, *term, *etcd, journal_metrics);
    ASSERT_TRUE(Handed().Read(journal).ok());
    uint64_t position = 0;
    for (uint64_t n = 0; n < 200; ++n)
      position = journal.Append({Numbered(n, n == 150 ? 4 << 20 : 10)});
    ASSERT_TRUE(journal.WaitDurable(position).ok());
    bool more = true;
    ASSERT_TRUE(journal
                    .Compact(100,
                             [&](std::string& chunk) {
                               chunk = std::string(2 << 20, 's');
                               return std::exchange(more, false);
                             })
                    .ok());
    journal.Append({Numbered(200)});
    process.Kill();
    std::thread restart([&] {
      absl::SleepFor(absl::Milliseconds(300));
      process.Start();
    });
    const uint64_t end = journal.Append({Numbered(201)});
    const absl::Status durable = journal.WaitDurable(end);  // rides through
    restart.join();
    EXPECT_TRUE(durable.ok()) << durable;
  }
  EtcdJournal again({.prefix = kPrefix}, *term, *etcd, journal_metrics);
  Handed handed;
  const absl::Status replayed = handed.Read(again);
  ASSERT_TRUE(replayed.ok()) << replayed;
  EXPECT_EQ(handed.chunks.size(), 1u);
  EXPECT_EQ(handed.chunks.at(0).size(), 2u << 20);
  EXPECT_EQ(handed.Numbers(), Range(100, 202));
}

}  // namespace
}  // namespace headrace
