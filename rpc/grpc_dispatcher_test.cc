// The gRPC client against the gRPC service on real ports and Unix sockets, and the fake beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <stdexcept>

#include "absl/synchronization/notification.h"
#include "rpc/channels.h"
#include "rpc/fake_dispatcher_client.h"
#include "rpc/fake_dispatcher_handler.h"
#include "rpc/grpc_dispatcher_client.h"
#include "rpc/grpc_dispatcher_service.h"

namespace headrace {
namespace {

using testing::HasSubstr;

// Answers UNIMPLEMENTED naming the method, but for the few that tests look at.
class EchoHandler : public FakeDispatcherHandler {
 public:
  absl::StatusOr<v1::OpenJobReply> OpenJob(const v1::OpenJobRequest& request) override {
    ++calls;
    if (request.job_name() == "taken") return AlreadyExists("job 'taken': seed differs");
    if (request.job_name() == "throw") throw std::runtime_error("oops");
    v1::OpenJobReply reply;
    reply.set_job_name(request.job_name());
    return reply;
  }
  absl::StatusOr<v1::ListJobsReply> ListJobs(const v1::ListJobsRequest&) override {
    released.WaitForNotificationWithTimeout(absl::Seconds(10));
    return v1::ListJobsReply();
  }
  std::atomic<int> calls = 0;  // on the server's threads
  absl::Notification released;
};

class GrpcDispatcherTest : public testing::Test {
 protected:
  void Serve(const std::string& address) {
    service_ = MakeGrpcDispatcherService(handler_, RealClock());
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    address_ = address.starts_with("unix:") ? address : fmt::format("127.0.0.1:{}", port);
    client_ = MakeGrpcDispatcherClient(
        MakeChannel(address_), address_, RealClock(),
        [this](std::string_view method, absl::Duration took, absl::StatusCode code) {
          EXPECT_GE(took, absl::ZeroDuration());
          observed_.emplace_back(method, code);
        });
  }
  void TearDown() override {
    if (!handler_.released.HasBeenNotified()) handler_.released.Notify();
    if (server_ != nullptr)
      server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  }

  EchoHandler handler_;
  std::unique_ptr<grpc::Service> service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  std::unique_ptr<DispatcherClient> client_;
  std::vector<std::pair<std::string, absl::StatusCode>> observed_;
};

v1::OpenJobRequest Open(const std::string& name) {
  v1::OpenJobRequest request;
  request.set_job_name(name);
  return request;
}

TEST_F(GrpcDispatcherTest, RepliesAndErrorsComeThrough) {
  Serve("127.0.0.1:0");
  EXPECT_EQ(client_->OpenJob(Open("a"), absl::Seconds(5))->job_name(), "a");
  const absl::Status taken = client_->OpenJob(Open("taken"), absl::Seconds(5)).status();
  EXPECT_EQ(taken.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(taken.ToString(), HasSubstr("seed differs"));
  EXPECT_THAT(taken.ToString(), HasSubstr(address_));
  EXPECT_EQ(observed_, (std::vector<std::pair<std::string, absl::StatusCode>>{
                           {"OpenJob", absl::StatusCode::kOk},
                           {"OpenJob", absl::StatusCode::kAlreadyExists}}));
}

TEST_F(GrpcDispatcherTest, EveryMethodReachesItsHandler) {
  Serve("127.0.0.1:0");
  const absl::Duration wait = absl::Seconds(5);
  EXPECT_THAT(client_->StartEpoch({}, wait).status().ToString(), HasSubstr("StartEpoch"));
  EXPECT_THAT(client_->ClientBeat({}, wait).status().ToString(), HasSubstr("ClientBeat"));
  EXPECT_THAT(client_->CloseClient({}, wait).status().ToString(), HasSubstr("CloseClient"));
  EXPECT_THAT(client_->RegisterWorker({}, wait).status().ToString(), HasSubstr("RegisterWorker"));
  EXPECT_THAT(client_->WorkerBeat({}, wait).status().ToString(), HasSubstr("WorkerBeat"));
  EXPECT_THAT(client_->LeaseSplits({}, wait).status().ToString(), HasSubstr("LeaseSplits"));
  EXPECT_THAT(client_->ListWorkers({}, wait).status().ToString(), HasSubstr("ListWorkers"));
  EXPECT_THAT(client_->CancelJob({}, wait).status().ToString(), HasSubstr("CancelJob"));
  EXPECT_THAT(client_->DrainWorker({}, wait).status().ToString(), HasSubstr("DrainWorker"));
}

TEST_F(GrpcDispatcherTest, AUnixSocketWorks) {
  const std::string path = testing::TempDir() + fmt::format("/hr_rpc_{}.sock", getpid());
  Serve("unix:" + path);
  EXPECT_TRUE(client_->OpenJob(Open("a"), absl::Seconds(5)).ok());
  std::filesystem::remove(path);
}

TEST_F(GrpcDispatcherTest, ACallEndsAtItsDeadline) {
  Serve("127.0.0.1:0");
  const absl::Status status = client_->ListJobs({}, absl::Milliseconds(50)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(GrpcDispatcherTest, AnExceptionBecomesAnError) {
  Serve("127.0.0.1:0");
  const absl::Status status = client_->OpenJob(Open("throw"), absl::Seconds(5)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(status.ToString(), HasSubstr("oops"));
}

TEST_F(GrpcDispatcherTest, NobodyListeningIsUnavailableWithTheAddress) {
  auto client = MakeGrpcDispatcherClient(MakeChannel("127.0.0.1:1"), "127.0.0.1:1", RealClock());
  const absl::Status status = client->OpenJob(Open("a"), absl::Seconds(5)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.ToString(), HasSubstr("127.0.0.1:1"));
}

TEST(FakeDispatcherClientTest, LosesAndDoublesAsTold) {
  EchoHandler handler;
  CallFault fault;
  FakeDispatcherClient client(handler, [&fault](std::string_view) { return fault; });
  fault = {.lose_request = true};
  EXPECT_EQ(client.OpenJob(Open("a"), absl::Seconds(1)).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(handler.calls.load(), 0);
  fault = {.lose_reply = true};
  EXPECT_EQ(client.OpenJob(Open("a"), absl::Seconds(1)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(handler.calls.load(), 1);
  fault = {.twice = true};
  EXPECT_TRUE(client.OpenJob(Open("a"), absl::Seconds(1)).ok());
  EXPECT_EQ(handler.calls.load(), 3);
}

TEST(FakeDispatcherClientTest, ADisconnectedDispatcherIsUnavailable) {
  EchoHandler handler;
  FakeDispatcherClient client(handler);
  client.Connect(nullptr);
  EXPECT_EQ(client.OpenJob(Open("a"), absl::Seconds(1)).status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace headrace
