// Processes that are killed (SIGKILL) while they share memory, and frames that are let go of late,
// elsewhere, or in a forked child.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "transport/shm/shm_test_rig.h"

extern char** environ;

namespace headrace {
namespace {

constexpr char kOut[] = "HEADRACE_SHM_TEST_OUT";          // a pipe to the test
constexpr char kAddress[] = "HEADRACE_SHM_TEST_ADDRESS";  // of the test's server
constexpr char kFork[] = "HEADRACE_SHM_TEST_FORK";
constexpr size_t kFrame = 300000;
constexpr uint64_t kPlenty = uint64_t{1} << 40;

// This binary again, running one of the tests below that are named ...InAnotherProcess.
class OtherProcess {
 public:
  OtherProcess(const std::string& test, std::vector<std::string> variables) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    variables.push_back(std::string(kOut) + "=" + std::to_string(ends[1]));
    std::vector<char*> environment;
    for (char** e = environ; *e != nullptr; ++e) environment.push_back(*e);
    for (std::string& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
    std::string filter = "--gtest_filter=" + test;
    std::string self = "/proc/self/exe";
    char* arguments[] = {self.data(), filter.data(), nullptr};
    EXPECT_EQ(posix_spawn(&pid_, self.c_str(), nullptr, nullptr, arguments, environment.data()), 0);
    close(ends[1]);
    out_ = FileDescriptor(ends[0]);
  }
  ~OtherProcess() { Kill(); }

  // The next line that it says; empty when it has gone.
  std::string Line() {
    std::string line;
    for (char c = 0; read(out_.get(), &c, 1) == 1 && c != '\n';) line.push_back(c);
    return line;
  }
  void Kill() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, 0), nullptr, 0);
  }

 private:
  pid_t pid_ = 0;
  FileDescriptor out_;
};

void Say(std::string line) {
  line += "\n";
  ASSERT_EQ(write(std::atoi(std::getenv(kOut)), line.data(), line.size()),
            static_cast<ssize_t>(line.size()));
}

void WaitToBeKilled() {
  alarm(60);  // the test died first
  while (pause() != 0) {
  }
}

TEST(ShmClient, HoldsItsFramesInAnotherProcess) {
  const char* address = std::getenv(kAddress);
  if (address == nullptr) GTEST_SKIP() << "run by ShmProcessTest in a process of its own";
  Recording recording;
  auto connector = MakeShmFrameConnector();
  ASSERT_TRUE(connector.ok());
  auto receiver = std::make_shared<KeepingReceiver>(recording);
  auto frames = (*connector)->Open(std::string(address), OpenOf(1), kPlenty, receiver);
  size_t seen = 0;
  while (recording.Look([&] { return receiver->frames.size() < 20; }))
    seen = recording.AwaitChange(seen);
  std::string said = "has 20";
  if (std::getenv(kFork) != nullptr) {
    // A child that has the socket, too, and lives on.
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      while (pause() != 0) {
      }
    }
    said = std::to_string(child);
  }
  Say(said);
  WaitToBeKilled();
}

TEST(ShmWorker, ServesInAnotherProcess) {
  if (std::getenv(kOut) == nullptr) GTEST_SKIP() << "run by ShmProcessTest in a process of its own";
  ShmRig rig;
  for (int i = 0; i < 20; ++i) rig.worker.Push(1, MarkedFrame(static_cast<uint8_t>(i), kFrame));
  Say(rig.server->address());
  WaitToBeKilled();
}

TEST(ShmProcessTest, AKilledClientLeavesNothingBehind) {
  ShmRig rig;
  for (int i = 0; i < 30; ++i) rig.worker.Push(1, MarkedFrame(1, kFrame));
  OtherProcess client("ShmClient.*", {std::string(kAddress) + "=" + rig.server->address()});
  ASSERT_EQ(client.Line(), "has 20");
  EXPECT_GE(rig.pool->used_bytes(), 20 * kFrame);
  client.Kill();
  ASSERT_TRUE(rig.Until([&] { return rig.worker.closed.size() == 1; }));
  EXPECT_EQ(rig.worker.closed[0].code(), absl::StatusCode::kCancelled) << rig.worker.closed[0];
  EXPECT_EQ(rig.pool->used_bytes(), 0u);
}

TEST(ShmProcessTest, AKilledClientIsNoticedThoughItsChildHoldsTheSocket) {
  ShmRig rig;
  for (int i = 0; i < 30; ++i) rig.worker.Push(1, MarkedFrame(1, kFrame));
  OtherProcess client("ShmClient.*", {std::string(kAddress) + "=" + rig.server->address(),
                                      std::string(kFork) + "=1"});
  const std::string child = client.Line();
  ASSERT_FALSE(child.empty());
  client.Kill();
  EXPECT_TRUE(rig.Until([&] { return rig.worker.closed.size() == 1; }));
  EXPECT_EQ(rig.pool->used_bytes(), 0u);
  kill(std::atoi(child.c_str()), SIGKILL);
}

TEST(ShmProcessTest, AKilledWorkerLeavesTheClientsFramesAsTheyAre) {
  OtherProcess worker("ShmWorker.*", {});
  const std::string address = worker.Line();
  ASSERT_FALSE(address.empty());
  Recording recording;
  auto connector = MakeShmFrameConnector();
  ASSERT_TRUE(connector.ok());
  auto receiver = std::make_shared<KeepingReceiver>(recording);
  auto frames = (*connector)->Open(address, OpenOf(1), kPlenty, receiver);
  const auto until = [&recording](auto done) {
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    size_t seen = 0;
    while (!recording.Look(done) && absl::Now() < deadline) seen = recording.AwaitChange(seen);
    return recording.Look(done);
  };
  ASSERT_TRUE(until([&] { return receiver->frames.size() == 20; }));
  worker.Kill();
  ASSERT_TRUE(until([&] { return !receiver->closed.empty(); }));
  EXPECT_EQ(receiver->closed[0].code(), absl::StatusCode::kUnavailable) << receiver->closed[0];
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_TRUE(AllSay(receiver->frames[i], static_cast<uint8_t>(i)));
    receiver->frames[i] = {};
  }
}

// --- Frames that are let go of late.

class ShmLateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    connector_ = *MakeShmFrameConnector();
    receiver_ = std::make_shared<KeepingReceiver>(rig_.recording);
    frames_ = connector_->Open(rig_.server->address(), OpenOf(1), kPlenty, receiver_);
    for (int i = 0; i < 8; ++i) rig_.worker.Push(1, MarkedFrame(static_cast<uint8_t>(i), kFrame));
    ASSERT_TRUE(rig_.Until([&] { return receiver_->frames.size() == 8; }));
    kept_ = rig_.recording.Look([&] { return std::move(receiver_->frames); });
  }
  bool NothingIsOut() {
    return rig_.Until([&] { return rig_.pool->used_bytes() == 0; });
  }
  void ExpectAllWhole() {
    for (size_t i = 0; i < kept_.size(); ++i)
      EXPECT_TRUE(AllSay(kept_[i], static_cast<uint8_t>(i)));
  }

  ShmRig rig_;
  std::unique_ptr<FrameConnector> connector_;
  std::shared_ptr<KeepingReceiver> receiver_;
  std::unique_ptr<IncomingFrames> frames_;
  std::vector<FrameBuffer> kept_;
};

TEST_F(ShmLateTest, WhileTheStreamLives) {
  const size_t used = rig_.pool->used_bytes();
  kept_.pop_back();
  EXPECT_TRUE(rig_.Until([&] { return rig_.pool->used_bytes() < used; }));
  kept_.clear();
  EXPECT_TRUE(NothingIsOut());
}

TEST_F(ShmLateTest, AfterClose) {
  frames_->Close();
  ASSERT_TRUE(rig_.Until([&] { return !rig_.worker.closed.empty(); }));
  EXPECT_GT(rig_.pool->used_bytes(), 0u);
  // New frames take other slots.
  auto again = std::make_shared<KeepingReceiver>(rig_.recording);
  auto second = connector_->Open(rig_.server->address(), OpenOf(2), kPlenty, again);
  for (int i = 0; i < 8; ++i) rig_.worker.Push(2, MarkedFrame(200, kFrame));
  ASSERT_TRUE(rig_.Until([&] { return again->frames.size() == 8; }));
  ExpectAllWhole();
  rig_.recording.Look([&] { return std::move(again->frames); }).clear();
  kept_.clear();
  EXPECT_TRUE(NothingIsOut());
}

TEST_F(ShmLateTest, AfterTheConnectorFromOtherThreads) {
  frames_.reset();
  connector_.reset();
  ExpectAllWhole();
  std::vector<std::thread> threads;
  for (FrameBuffer& frame : kept_)
    threads.emplace_back([taken = std::move(frame)]() mutable { taken = {}; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(NothingIsOut());
}

TEST_F(ShmLateTest, AfterTheServer) {
  rig_.server->Shutdown(absl::ZeroDuration());
  ASSERT_TRUE(rig_.Until([&] { return !receiver_->closed.empty(); }));
  EXPECT_EQ(rig_.pool->Take(kFrame), nullptr);
  ExpectAllWhole();
  kept_.clear();
}

TEST_F(ShmLateTest, AForkedChildGivesNothingBack) {
  const size_t used = rig_.pool->used_bytes();
  const pid_t child = fork();
  if (child == 0) {
    kept_.clear();
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  // What the child said, if anything, would be heard before this frame has gone.
  rig_.worker.Push(1, MarkedFrame(9, 100));
  ASSERT_TRUE(rig_.Until([&] { return receiver_->frames.size() == 1; }));
  EXPECT_EQ(rig_.pool->used_bytes(), used);
  ExpectAllWhole();
  kept_.clear();
  EXPECT_TRUE(NothingIsOut());
}

TEST_F(ShmLateTest, AClientThatHoldsEverythingStillGetsTheRestInOrder) {
  ShmRig scarce(size_t{2} << 20);
  auto receiver = std::make_shared<KeepingReceiver>(scarce.recording);
  auto frames = connector_->Open(scarce.server->address(), OpenOf(1), kPlenty, receiver);
  for (int i = 0; i < 30; ++i) scarce.worker.Push(1, MarkedFrame(static_cast<uint8_t>(i), kFrame));
  ASSERT_TRUE(scarce.Until([&] { return receiver->frames.size() == 30; }));
  EXPECT_LE(scarce.pool->total_bytes(), size_t{2} << 20);
  for (size_t i = 0; i < 30; ++i) EXPECT_TRUE(AllSay(receiver->frames[i], static_cast<uint8_t>(i)));
  frames.reset();
  receiver->frames.clear();
  // connector_ lives on; it has told the receiver all it will.
  EXPECT_TRUE(scarce.Until([&] { return !receiver->closed.empty(); }));
}

}  // namespace
}  // namespace headrace
