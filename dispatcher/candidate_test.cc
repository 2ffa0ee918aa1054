// Two candidates over one etcd in memory, by real time: each wait has a bound.
#include "dispatcher/candidate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "common/status.h"
#include "dispatcher/etcd/fake_etcd.h"
#include "dispatcher/fake_pipeline_resolver.h"
#include "rpc/leader_redirect.h"

namespace headrace {
namespace {

using Fault = FakeEtcd::Fault;
using testing::HasSubstr;

constexpr absl::Duration kTtl = absl::Seconds(1);

bool Until(const std::function<bool()>& done) {
  const absl::Time give_up = absl::Now() + absl::Seconds(30);
  while (!done()) {
    if (absl::Now() > give_up) return false;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return true;
}

// A dispatcher without its port.
struct Node {
  Node(EtcdClient& etcd, const std::string& address)
      : metrics(address), dispatcher_metrics(metrics), journal_metrics(metrics) {
    DispatcherConfig config;
    config.journal.driver = "etcd";
    config.journal.prefix = "hr";
    config.journal.lease_ttl = kTtl;
    config.background_period = absl::Milliseconds(20);
    Candidate::Deps deps;
    deps.etcd = &etcd;
    deps.gate = &gate;
    deps.resolver = &resolver;
    deps.clock = &RealClock();
    deps.metrics = &dispatcher_metrics;
    deps.journal_metrics = &journal_metrics;
    deps.new_cluster = 7;
    candidate = std::make_unique<Candidate>(config, address, deps);
  }
  bool leads() const { return candidate->Leads().ok(); }

  Metrics metrics;
  DispatcherMetrics dispatcher_metrics;
  JournalMetrics journal_metrics;
  FakePipelineResolver resolver{FakePipelineResolver::Shape{.splits = 3}};
  LeaderGate gate;
  std::unique_ptr<Candidate> candidate;
};

absl::StatusOr<v1::OpenJobReply> Open(Node& node, uint64_t uid) {
  v1::OpenJobRequest request;
  request.set_job_name("job");
  request.set_client_uid(uid);
  return node.gate.OpenJob(request);
}

TEST(CandidateTest, OneLeadsAndTheOtherNamesIt) {
  FakeEtcd etcd(RealClock());
  Node a(etcd, "a:1");
  ASSERT_TRUE(Until([&] { return a.leads(); }));
  Node b(etcd, "b:1");
  ASSERT_TRUE(Until([&] { return b.candidate->Ready().ok(); }));
  EXPECT_FALSE(b.leads());
  EXPECT_THAT(b.candidate->Role(), HasSubstr("a:1"));
  EXPECT_EQ(LeaderNamedBy(Open(b, 1).status()), "a:1");
  EXPECT_TRUE(Open(a, 1).ok());
  EXPECT_THAT(a.metrics.Text(), HasSubstr("headrace_dispatcher_leader{role=\"a:1\"} 1"));
}

TEST(CandidateTest, TheStateGoesOverToTheNextLeader) {
  FakeEtcd etcd(RealClock());
  uint64_t job = 0;
  uint64_t client = 0;
  {
    Node a(etcd, "a:1");
    ASSERT_TRUE(Until([&] { return a.leads(); }));
    const auto opened = Open(a, 1);
    ASSERT_TRUE(opened.ok()) << opened.status();
    job = opened->job();
    client = opened->client();
    const absl::Time asked = absl::Now();
    a.candidate->Stop();
    EXPECT_LT(absl::Now() - asked, absl::Seconds(10));
    EXPECT_EQ(LeaderNamedBy(Open(a, 1).status()), "");
  }
  Node b(etcd, "b:1");  // the lease was given back
  ASSERT_TRUE(Until([&] { return b.leads(); }));
  const auto again = Open(b, 1);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->job(), job);
  EXPECT_EQ(again->client(), client);
}

TEST(CandidateTest, ALeaderWithoutEtcdStepsDownAndComesBack) {
  FakeEtcd etcd(RealClock());
  Node a(etcd, "a:1");
  ASSERT_TRUE(Until([&] { return a.leads(); }));
  ASSERT_TRUE(Open(a, 1).ok());
  etcd.SetDown(true);
  // A call that needs the journal ends with the term.
  const absl::Time asked = absl::Now();
  const absl::Status refused = Open(a, 2).status();
  EXPECT_TRUE(LeaderNamedBy(refused).has_value()) << refused;
  EXPECT_LT(absl::Now() - asked, absl::Seconds(20));
  ASSERT_TRUE(Until([&] { return !a.leads(); }));
  // Between the term's end and the next look at etcd a leader is being elected.
  ASSERT_TRUE(Until([&] { return absl::StrContains(a.candidate->Role(), "no leader is known"); }));
  EXPECT_FALSE(a.candidate->Ready().ok());
  etcd.SetDown(false);
  ASSERT_TRUE(Until([&] { return a.leads(); }));
  const auto opened = Open(a, 1);
  ASSERT_TRUE(opened.ok()) << opened.status();
}

TEST(CandidateTest, ALeaderWhoseEtcdIsFullStepsDownAndComesBack) {
  FakeEtcd etcd(RealClock());
  Node a(etcd, "a:1");
  ASSERT_TRUE(Until([&] { return a.leads(); }));
  etcd.SetFaults(
      [](std::string_view method) { return method == "Txn" ? Fault::kFull : Fault::kNone; });
  EXPECT_TRUE(absl::IsUnavailable(Open(a, 1).status()));
  ASSERT_TRUE(Until([&] { return !a.leads(); }));
  ASSERT_TRUE(
      Until([&] { return a.candidate->Role().find("space exceeded") != std::string::npos; }));
  EXPECT_FALSE(a.candidate->Ready().ok());
  etcd.SetFaults({});  // somebody makes room
  ASSERT_TRUE(Until([&] { return a.leads(); }));
  const auto opened = Open(a, 1);
  ASSERT_TRUE(opened.ok()) << opened.status();
}

TEST(CandidateTest, AFencedLeaderStepsDown) {
  FakeEtcd etcd(RealClock());
  Node a(etcd, "a:1");
  ASSERT_TRUE(Until([&] { return a.leads(); }));
  etcd.Set("hr/leader", "x");  // keeps the key's revision ...
  etcd.Erase("hr/leader");     // ... and this does not: another leads
  etcd.Set("hr/leader", "c:1");
  const absl::Status refused = Open(a, 1).status();
  EXPECT_TRUE(LeaderNamedBy(refused).has_value()) << refused;
  ASSERT_TRUE(Until([&] { return LeaderNamedBy(Open(a, 1).status()) == "c:1"; }));
  EXPECT_FALSE(a.leads());
}

TEST(CandidateTest, ADamagedJournalIsSaidAndNotServed) {
  FakeEtcd etcd(RealClock());
  etcd.Set("hr/end", "5");  // and no description
  Node a(etcd, "a:1");
  ASSERT_TRUE(Until([&] { return absl::IsDataLoss(a.candidate->Ready().status()); }));
  EXPECT_FALSE(a.leads());
  EXPECT_TRUE(LeaderNamedBy(Open(a, 1).status()).has_value());
  etcd.Erase("hr/end");  // somebody repairs it
  ASSERT_TRUE(Until([&] { return a.leads(); }));
}

}  // namespace
}  // namespace headrace
