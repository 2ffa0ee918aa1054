// The dispatcher on real ports: binding, refusing, leaving in time.
#include "dispatcher/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "absl/time/clock.h"
#include "dispatcher/fake_pipeline_resolver.h"
#include "rpc/channels.h"
#include "rpc/grpc_dispatcher_client.h"

namespace headrace {
namespace {

using testing::HasSubstr;

absl::StatusOr<std::unique_ptr<Dispatcher>> StartAt(const std::string& listen) {
  DispatcherConfig config;
  config.listen = listen;
  Dispatcher::Deps deps;
  deps.resolver = std::make_unique<FakePipelineResolver>(FakePipelineResolver::Shape{.splits = 3});
  return Dispatcher::Start(config, std::move(deps));
}

std::unique_ptr<DispatcherClient> Dial(const Dispatcher& dispatcher) {
  return MakeGrpcDispatcherClient(MakeChannel(dispatcher.address()), dispatcher.address(),
                                  RealClock());
}

TEST(DispatcherServerTest, AFreePortIsBoundAndToldAndAnswers) {
  auto dispatcher = StartAt("127.0.0.1:0");
  ASSERT_TRUE(dispatcher.ok()) << dispatcher.status();
  EXPECT_THAT((*dispatcher)->address(), testing::MatchesRegex("127.0.0.1:[1-9][0-9]*"));
  auto client = Dial(**dispatcher);
  v1::OpenJobRequest open;
  open.set_client_uid(1);
  auto opened = client->OpenJob(open, absl::Seconds(5));
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->splits(), 3u);
}

TEST(DispatcherServerTest, AUnixSocketIsServed) {
  const std::string path = testing::TempDir() + fmt::format("/hr_disp_{}.sock", getpid());
  auto dispatcher = StartAt("unix:" + path);
  ASSERT_TRUE(dispatcher.ok()) << dispatcher.status();
  EXPECT_TRUE(Dial(**dispatcher)->ListJobs({}, absl::Seconds(5)).ok());
  const auto second = StartAt("unix:" + path);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  unlink(path.c_str());
}

TEST(DispatcherServerTest, APortInUseIsAClearError) {
  auto first = StartAt("127.0.0.1:0");
  ASSERT_TRUE(first.ok());
  const auto second = StartAt((*first)->address());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(second.status().ToString(), HasSubstr((*first)->address()));
  EXPECT_THAT(second.status().ToString(), HasSubstr("in use"));
}

TEST(DispatcherServerTest, AnAddressWithoutPortIsAClearError) {
  EXPECT_THAT(StartAt("localhost").status().ToString(), HasSubstr("listen"));
}

TEST(DispatcherServerTest, ShutdownIsQuickAndMayBeRepeated) {
  auto dispatcher = StartAt("127.0.0.1:0");
  ASSERT_TRUE(dispatcher.ok());
  auto client = Dial(**dispatcher);
  ASSERT_TRUE(client->ListJobs({}, absl::Seconds(5)).ok());
  const absl::Time start = absl::Now();
  (*dispatcher)->Shutdown(absl::Seconds(2));
  (*dispatcher)->Shutdown(absl::Seconds(2));
  EXPECT_LT(absl::Now() - start, absl::Seconds(2));
  EXPECT_FALSE(client->ListJobs({}, absl::Seconds(5)).ok());
}

TEST(DispatcherConfigTest, TheDefaultsPassTheirOwnRules) {
  EXPECT_TRUE(DispatcherConfigSpec().Load({}).ok());
  ConfigInput input;
  input.yaml = "worker_timeout: 100ms\n";
  EXPECT_THAT(DispatcherConfigSpec().Load(input).status().ToString(), HasSubstr("twice"));
}

}  // namespace
}  // namespace headrace
