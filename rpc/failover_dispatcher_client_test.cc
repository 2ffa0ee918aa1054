#include "rpc/failover_dispatcher_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/fake_clock.h"
#include "rpc/fake_dispatcher_client.h"
#include "rpc/fake_dispatcher_handler.h"
#include "rpc/grpc_dispatcher_service.h"
#include "rpc/leader_redirect.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr absl::Duration kWait = absl::Seconds(5);

// A dispatcher that leads, waits, or says something else.
class Node final : public FakeDispatcherHandler {
 public:
  absl::StatusOr<v1::ListJobsReply> ListJobs(const v1::ListJobsRequest&) override {
    ++calls;
    absl::MutexLock lock(&mutex_);
    if (!answer_.ok()) return answer_;
    v1::ListJobsReply reply;
    reply.add_jobs()->set_name(name);
    return reply;
  }
  void Answer(absl::Status answer) {
    absl::MutexLock lock(&mutex_);
    answer_ = std::move(answer);
  }
  std::string name;
  std::atomic<int> calls = 0;

 private:
  absl::Mutex mutex_;  // it also serves on gRPC's threads
  absl::Status answer_ ABSL_GUARDED_BY(mutex_);
};

// Three dispatchers "a:1", "b:1", "c:1"; one that is not `up` loses requests.
class FailoverTest : public testing::Test {
 protected:
  FailoverTest() {
    for (const char* address : {"a:1", "b:1", "c:1", "d:1"}) nodes_[address].name = address;
  }
  std::unique_ptr<FailoverDispatcherClient> Connect(std::vector<std::string> addresses) {
    return std::make_unique<FailoverDispatcherClient>(
        std::move(addresses),
        [this](const std::string& address) {
          dialled_.push_back(address);
          auto lost = [this, address](std::string_view) {
            return CallFault{.lose_request = down_.contains(address)};
          };
          return std::make_shared<FakeDispatcherClient>(nodes_.at(address), lost);
        },
        clock_);
  }
  static std::string Ask(DispatcherClient& client) {
    const auto reply = client.ListJobs({}, kWait);
    return reply.ok() ? reply->jobs(0).name() : reply.status().ToString();
  }
  void Lead(const std::string& leader) {
    for (auto& [address, node] : nodes_) {
      node.Answer(address == leader ? absl::OkStatus() : NotTheLeader(leader));
    }
  }

  FakeClock clock_;
  std::map<std::string, Node> nodes_;
  std::set<std::string> down_;
  std::vector<std::string> dialled_;
};

TEST_F(FailoverTest, ACallGoesWhereItIsSentAndLaterOnesBeginThere) {
  auto client = Connect({"a:1", "b:1", "c:1"});
  Lead("c:1");
  EXPECT_EQ(Ask(*client), "c:1");
  EXPECT_EQ(Ask(*client), "c:1");
  EXPECT_EQ(nodes_["a:1"].calls.load(), 1);
  EXPECT_EQ(nodes_["b:1"].calls.load(), 0);
  EXPECT_EQ(nodes_["c:1"].calls.load(), 2);
}

TEST_F(FailoverTest, ADeadLeaderIsLeftForTheNextAddress) {
  auto client = Connect({"a:1", "b:1", "c:1"});
  Lead("a:1");
  EXPECT_EQ(Ask(*client), "a:1");
  down_ = {"a:1"};
  Lead("c:1");
  EXPECT_EQ(Ask(*client), "c:1");
  down_ = {"c:1"};
  Lead("b:1");
  EXPECT_EQ(Ask(*client), "b:1");
}

TEST_F(FailoverTest, WhileNobodyLeadsEachIsAskedOnceAndAllAreNamed) {
  auto client = Connect({"a:1", "b:1", "c:1"});
  Lead("");
  down_ = {"b:1"};
  const absl::Status status = client->ListJobs({}, kWait).status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(status.ToString(), HasSubstr("none of 3 dispatchers"));
  EXPECT_THAT(status.ToString(), HasSubstr("no leader is known"));
  EXPECT_EQ(nodes_["a:1"].calls.load() + nodes_["c:1"].calls.load(), 2);
  Lead("b:1");
  down_.clear();
  EXPECT_EQ(Ask(*client), "b:1");
}

TEST_F(FailoverTest, ALeaderThatIsNotInTheListIsFollowedAndLeftAgain) {
  auto client = Connect({"a:1", "b:1"});
  Lead("d:1");
  EXPECT_EQ(Ask(*client), "d:1");
  down_ = {"d:1"};
  Lead("b:1");
  EXPECT_EQ(Ask(*client), "b:1");
  EXPECT_THAT(dialled_, ElementsAre("a:1", "d:1", "b:1"));
}

TEST_F(FailoverTest, TwoThatNameEachOtherEndTheCall) {
  auto client = Connect({"a:1", "b:1"});
  nodes_["a:1"].Answer(NotTheLeader("b:1"));
  nodes_["b:1"].Answer(NotTheLeader("a:1"));
  EXPECT_THAT(Ask(*client), HasSubstr("none of 2"));
  nodes_["b:1"].Answer(NotTheLeader("no address"));  // followed by nobody
  EXPECT_THAT(Ask(*client), HasSubstr("not the leader"));
}

TEST_F(FailoverTest, AnAnswerThatSaysNoIsFinal) {
  auto client = Connect({"a:1", "b:1"});
  nodes_["a:1"].Answer(AlreadyExists("job 'x': another seed"));
  EXPECT_THAT(Ask(*client), HasSubstr("another seed"));
  EXPECT_EQ(nodes_["b:1"].calls.load(), 0);
}

TEST_F(FailoverTest, ALoneDispatchersErrorIsItsOwn) {
  auto client = Connect({"a:1"});
  down_ = {"a:1"};
  EXPECT_EQ(Ask(*client), "UNAVAILABLE: ListJobs: request lost");
}

TEST_F(FailoverTest, AFrozenLeaderCostsOneCall) {
  auto client = Connect({"a:1", "b:1"});
  nodes_["a:1"].Answer(DeadlineExceeded("no answer"));
  nodes_["b:1"].Answer(absl::OkStatus());
  clock_.Advance(kWait);
  EXPECT_EQ(Ask(*client), "b:1");  // here time was left
  EXPECT_EQ(Ask(*client), "b:1");
  EXPECT_EQ(nodes_["a:1"].calls.load(), 1);
}

TEST_F(FailoverTest, ManyThreadsMoveTogether) {
  struct Locked final : public FakeDispatcherHandler {
    absl::StatusOr<v1::ListJobsReply> ListJobs(const v1::ListJobsRequest&) override {
      if (!leads) return Unavailable("down");
      return v1::ListJobsReply();
    }
    std::atomic<bool> leads = false;
  };
  std::map<std::string, Locked> nodes;
  nodes["a:1"].leads = true;
  nodes["b:1"].leads = false;
  FailoverDispatcherClient client(
      {"a:1", "b:1"},
      [&](const std::string& address) {
        return std::make_shared<FakeDispatcherClient>(nodes.at(address));
      },
      RealClock());
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        if (t == 0 && i % 50 == 25) {  // both lead for a moment: a call always has somewhere to go
          const bool a = nodes.at("a:1").leads;
          nodes.at(a ? "b:1" : "a:1").leads = true;
          nodes.at(a ? "a:1" : "b:1").leads = false;
        }
        failed += !client.ListJobs({}, kWait).ok();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Only a call that met the change at both ends may have failed.
  EXPECT_LE(failed, 4 * 3);
  EXPECT_TRUE(client.ListJobs({}, kWait).ok());
}

TEST(ParseDispatchersTest, ListsAreTakenApart) {
  EXPECT_THAT(*ParseDispatchers("a:1"), ElementsAre("a:1"));
  EXPECT_THAT(*ParseDispatchers("a:1, unix:/b ,a:1"), ElementsAre("a:1", "unix:/b"));
  EXPECT_FALSE(ParseDispatchers("").ok());
  EXPECT_FALSE(ParseDispatchers("a:1,,b:1").ok());
  EXPECT_THAT(ParseDispatchers("a:1,b").status().ToString(), HasSubstr("'b'"));
  std::string many = "h:0";
  for (int i = 1; i < 17; ++i) many += fmt::format(",h:{}", i);
  EXPECT_THAT(ParseDispatchers(many).status().ToString(), HasSubstr("at most 16"));
}

TEST(LeaderRedirectTest, TheLeaderCrossesTheWire) {
  Node waiting;
  Node leading;
  leading.name = "leader";
  std::vector<std::unique_ptr<grpc::Service>> services;
  std::vector<std::unique_ptr<grpc::Server>> servers;
  std::vector<std::string> addresses;
  for (Node* node : {&waiting, &leading}) {
    services.push_back(MakeGrpcDispatcherService(*node, RealClock()));
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(services.back().get());
    servers.push_back(builder.BuildAndStart());
    addresses.push_back(fmt::format("127.0.0.1:{}", port));
  }
  waiting.Answer(NotTheLeader(addresses[1]));
  // It knows the waiting one alone.
  auto client = DialDispatchers(addresses[0], RealClock());
  ASSERT_TRUE(client.ok());
  const auto reply = (*client)->ListJobs({}, kWait);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->jobs(0).name(), "leader");
  waiting.Answer(NotTheLeader(""));
  leading.Answer(Unavailable("it ends"));
  const absl::Status status = (*client)->ListJobs({}, kWait).status();
  EXPECT_THAT(status.ToString(), HasSubstr("it ends"));
  EXPECT_THAT(status.ToString(), HasSubstr("no leader is known"));
  for (auto& server : servers) server->Shutdown();
}

TEST(LeaderRedirectTest, OtherStatusesNameNobody) {
  EXPECT_EQ(LeaderNamedBy(absl::OkStatus()), std::nullopt);
  EXPECT_EQ(LeaderNamedBy(Unavailable("down")), std::nullopt);
  EXPECT_EQ(LeaderNamedBy(NotTheLeader("")), "");
  EXPECT_EQ(LeaderNamedBy(Annotate(NotTheLeader("a:1"), "dispatcher b:1")), "a:1");
}

}  // namespace
}  // namespace headrace
