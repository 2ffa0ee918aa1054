// A worker that is killed (SIGKILL, in a process of its own) while a client reads from it.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "transport/transport_driver.h"
#include "transport/transport_test_peers.h"

extern char** environ;

namespace headrace {
namespace {

constexpr char kAddressFile[] = "HEADRACE_KILL_TEST_FD";
constexpr char kDriver[] = "HEADRACE_KILL_TEST_DRIVER";

// The killed process: this binary again, serving frames without end.
TEST(KillTestWorker, ServesUntilItIsKilled) {
  const char* fd = std::getenv(kAddressFile);
  if (fd == nullptr) GTEST_SKIP() << "run by KillTest in a process of its own";
  Recording recording;
  TestSender worker(recording);
  for (int i = 0; i < 100; ++i) worker.Push(1, MarkedFrame(1, 100000));
  TransportRegistry drivers;
  RegisterAll_transports(drivers);
  auto server = drivers.Find(std::getenv(kDriver))->Serve({}, worker);
  ASSERT_TRUE(server.ok());
  const std::string address = (*server)->address() + "\n";
  ASSERT_EQ(write(std::atoi(fd), address.data(), address.size()),
            static_cast<ssize_t>(address.size()));
  // Orphaned when the test dies first: the pipe then breaks.
  alarm(60);
  while (pause() != 0) {
  }
}

class KillTest : public ::testing::TestWithParam<std::string> {};

TEST_P(KillTest, AKilledWorkerIsNoticedWhetherIdleOrSending) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string variable = std::string(kAddressFile) + "=" + std::to_string(ends[1]);
  std::vector<char*> environment;
  for (char** e = environ; *e != nullptr; ++e) environment.push_back(*e);
  environment.push_back(const_cast<char*>(variable.c_str()));
  const std::string driver = std::string(kDriver) + "=" + GetParam();
  environment.push_back(const_cast<char*>(driver.c_str()));
  environment.push_back(nullptr);
  std::string filter = "--gtest_filter=KillTestWorker.*";
  std::string self = "/proc/self/exe";
  char* arguments[] = {self.data(), filter.data(), nullptr};
  pid_t child = 0;
  ASSERT_EQ(posix_spawn(&child, self.c_str(), nullptr, nullptr, arguments, environment.data()), 0);
  close(ends[1]);
  std::string address;
  for (char c = 0; read(ends[0], &c, 1) == 1 && c != '\n';) address.push_back(c);
  close(ends[0]);
  ASSERT_FALSE(address.empty());

  Recording recording;
  TransportRegistry drivers;
  RegisterAll_transports(drivers);
  auto made = drivers.Find(GetParam())->MakeConnector({});
  ASSERT_TRUE(made.ok()) << made.status();
  const std::unique_ptr<FrameConnector> connector = *std::move(made);
  std::vector<std::shared_ptr<TestReceiver>> receivers;
  std::vector<std::unique_ptr<IncomingFrames>> streams;
  for (uint64_t credit :
       {uint64_t{1}, uint64_t{1} << 40}) {  // one waits for credit, one is idle after its frames
    receivers.push_back(std::make_shared<TestReceiver>(recording));
    v1::StreamOpen open;
    open.set_task(credit == 1 ? 1 : 2);
    streams.push_back(connector->Open(address, open, credit, receivers.back()));
  }
  const auto until = [&recording](auto done) {
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    size_t seen = 0;
    while (!recording.Look(done) && absl::Now() < deadline) seen = recording.AwaitChange(seen);
    return recording.Look(done);
  };
  EXPECT_TRUE(until([&] { return !receivers[0]->marks.empty(); }));
  ASSERT_EQ(kill(child, SIGKILL), 0);
  int ended = 0;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  ASSERT_TRUE(
      until([&] { return !receivers[0]->closed.empty() && !receivers[1]->closed.empty(); }));
  for (const auto& receiver : receivers) {
    EXPECT_EQ(receiver->closed[0].code(), absl::StatusCode::kUnavailable) << receiver->closed[0];
  }
}

INSTANTIATE_TEST_SUITE_P(Drivers, KillTest, ::testing::Values("grpc", "tcp"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace headrace
