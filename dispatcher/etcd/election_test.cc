// Election and Leadership over an etcd in memory; a part of it over a real one.
#include "dispatcher/etcd/election.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/fake_clock.h"
#include "dispatcher/etcd/etcd_process.h"
#include "dispatcher/etcd/etcd_requests.h"
#include "dispatcher/etcd/fake_etcd.h"
#include "rpc/leader_redirect.h"

namespace headrace {
namespace {

using Fault = FakeEtcd::Fault;

constexpr absl::Duration kTtl = absl::Seconds(5);

class ElectionTest : public testing::Test {
 protected:
  Election Candidate(const std::string& address) {
    return Election({.key = "hr/leader", .address = address, .ttl = kTtl}, etcd_, clock_);
  }
  // A put under the term's guard.
  bool Writes(const Leadership& term, const std::string& value) {
    etcd::TxnRequest txn;
    *txn.add_compare() = term.Guard();
    *txn.add_success() = Put("hr/x", value);
    return etcd_.Txn(txn, absl::Seconds(1))->succeeded();
  }
  // The lease's own thread runs by real time: here, what it does is done by hand.
  FakeClock clock_;
  FakeEtcd etcd_{clock_};
};

TEST_F(ElectionTest, TheFirstLeadsAndOthersLearnItsAddress) {
  Election a = Candidate("a:1");
  Election b = Candidate("b:1");
  const auto term = a.Try();
  ASSERT_TRUE(term.ok() && *term != nullptr);
  EXPECT_TRUE((*term)->Holds());
  EXPECT_EQ(a.leader(), "a:1");
  const auto other = b.Try();
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(*other, nullptr);
  EXPECT_EQ(b.leader(), "a:1");
}

TEST_F(ElectionTest, ALeaderStopsBeforeItsLeaseCanEnd) {
  Election a = Candidate("a:1");
  Election b = Candidate("b:1");
  const auto term = a.Try().value();
  etcd_.SetDown(true);  // no renewal comes through
  clock_.Advance(kTtl - absl::Seconds(1) - absl::Milliseconds(1));
  EXPECT_TRUE(term->Holds());
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_FALSE(term->Holds());
  EXPECT_EQ(LeaderNamedBy(term->Check()), "");
  etcd_.SetDown(false);
  EXPECT_EQ(b.Try().value(), nullptr);  // a second before anybody else may lead
  EXPECT_EQ(b.leader(), "a:1");
}

TEST_F(ElectionTest, AnOldLeaderIsFenced) {
  Election a = Candidate("a:1");
  Election b = Candidate("b:1");
  const auto old = a.Try().value();
  EXPECT_TRUE(Writes(*old, "old"));
  clock_.Advance(kTtl);
  EXPECT_FALSE(Writes(*old, "late"));  // nobody leads
  const auto next = b.Try().value();
  ASSERT_NE(next, nullptr);
  EXPECT_TRUE(Writes(*next, "new"));
  EXPECT_FALSE(Writes(*old, "later still"));
  EXPECT_EQ(etcd_.Contents()["hr/x"], "new");
}

TEST_F(ElectionTest, OnesOwnSecondTermFencesTheFirst) {
  Election a = Candidate("a:1");
  const auto first = a.Try().value();
  clock_.Advance(kTtl);
  const auto second = a.Try().value();
  ASSERT_NE(second, nullptr);
  EXPECT_FALSE(Writes(*first, "late"));
  EXPECT_TRUE(Writes(*second, "new"));
}

TEST_F(ElectionTest, ALeaderThatResignsIsFollowedAtOnce) {
  Election a = Candidate("a:1");
  Election b = Candidate("b:1");
  const auto term = a.Try().value();
  term->Resign(absl::Seconds(1));
  EXPECT_FALSE(term->Holds());
  EXPECT_TRUE(term->lost().Cancelled());
  EXPECT_NE(b.Try().value(), nullptr);
}

TEST_F(ElectionTest, AVictoryWhoseAnswerWasLostKeepsNobodyWaiting) {
  Election a = Candidate("a:1");
  etcd_.SetFaults([](std::string_view m) { return m == "Txn" ? Fault::kLoseReply : Fault::kNone; });
  EXPECT_FALSE(a.Try().ok());
  etcd_.SetDown(false);
  EXPECT_EQ(etcd_.Contents().count("hr/leader"), 1u);
  EXPECT_EQ(a.Try().value(), nullptr);  // gives up what it did not know it had
  EXPECT_EQ(etcd_.Contents().count("hr/leader"), 0u);
  EXPECT_NE(a.Try().value(), nullptr);
}

TEST_F(ElectionTest, AVictoryThatComesLateIsGivenUp) {
  Election a = Candidate("a:1");
  Election b = Candidate("b:1");
  etcd_.SetFaults([](std::string_view m) { return m == "Txn" ? Fault::kLate : Fault::kNone; });
  EXPECT_FALSE(a.Try().ok());
  etcd_.SetDown(false);
  const auto term = b.Try().value();
  ASSERT_NE(term, nullptr);
  etcd_.DeliverLate();
  EXPECT_TRUE(Writes(*term, "b's"));
  EXPECT_EQ(a.Try().value(), nullptr);
  EXPECT_EQ(a.leader(), "b:1");
}

TEST_F(ElectionTest, WithoutEtcdNobodyIsKnownToLead) {
  Election a = Candidate("a:1");
  Election b = Candidate("b:1");
  const auto term = a.Try().value();
  EXPECT_EQ(b.Try().value(), nullptr);
  etcd_.SetDown(true);
  EXPECT_FALSE(b.Try().ok());
  EXPECT_EQ(b.leader(), "");
}

TEST_F(ElectionTest, ATermThatIsLostStaysLost) {
  Election a = Candidate("a:1");
  const auto term = a.Try().value();
  EXPECT_GT(term->Left(), absl::ZeroDuration());
  term->Lose("a test");
  EXPECT_EQ(term->Left(), absl::ZeroDuration());
  EXPECT_FALSE(term->Holds());
}

// By real time from here on.

class RealElectionTest : public testing::Test {
 protected:
  static Election Candidate(EtcdClient& etcd, const std::string& address) {
    return Election({.key = "hr/leader", .address = address, .ttl = absl::Seconds(2)}, etcd,
                    RealClock());
  }
  static std::unique_ptr<Leadership> Win(Election& election) {
    const absl::Time give_up = absl::Now() + absl::Seconds(30);
    while (absl::Now() < give_up) {
      auto term = election.Try();
      if (term.ok() && *term != nullptr) return *std::move(term);
      absl::SleepFor(absl::Milliseconds(50));
    }
    return nullptr;
  }
};

TEST_F(RealElectionTest, ALeaseIsRenewedForAsLongAsItIsWanted) {
  HR_NEEDS_ETCD();
  EtcdProcess process;
  const auto etcd = process.Dial();
  Election a = Candidate(*etcd, "a:1");
  Election b = Candidate(*etcd, "b:1");
  const auto term = Win(a);
  ASSERT_NE(term, nullptr);
  // Twice the lease's time: without renewals it would be over.
  EXPECT_FALSE(term->lost().Wait(absl::Seconds(4)));
  EXPECT_TRUE(term->Holds());
  EXPECT_EQ(b.Try().value(), nullptr);
  EXPECT_EQ(b.leader(), "a:1");
  term->Resign(absl::Seconds(2));
  EXPECT_NE(b.Try().value(), nullptr);
}

TEST_F(RealElectionTest, AFrozenEtcdEndsTheTermBeforeTheLease) {
  HR_NEEDS_ETCD();
  EtcdProcess process;
  const auto etcd = process.Dial();
  Election a = Candidate(*etcd, "a:1");
  const auto term = Win(a);
  ASSERT_NE(term, nullptr);
  process.Send(SIGSTOP);
  const absl::Time start = absl::Now();
  EXPECT_TRUE(term->lost().Wait(absl::Seconds(10)));
  EXPECT_LT(absl::Now() - start, absl::Seconds(2) + absl::Seconds(1));
  EXPECT_FALSE(term->Holds());
  process.Send(SIGCONT);
  const auto again = Win(a);  // the key is still there, and our own: no time is lost by it
  ASSERT_NE(again, nullptr);
}

TEST_F(RealElectionTest, ARestartedEtcdKnowsTheLeaderStill) {
  HR_NEEDS_ETCD();
  EtcdProcess process;
  const auto etcd = process.Dial();
  Election a = Election({.key = "hr/leader", .address = "a:1", .ttl = absl::Seconds(20)}, *etcd,
                        RealClock());
  const auto term = Win(a);
  ASSERT_NE(term, nullptr);
  process.Kill();
  process.Start();
  EXPECT_TRUE(term->Holds());
  etcd::RangeRequest request;
  request.set_key("hr/leader");
  const auto found = etcd->Range(request, absl::Seconds(5));
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->kvs_size(), 1);
  EXPECT_TRUE(term->IsOurs(&found->kvs(0)));
}

}  // namespace
}  // namespace headrace
