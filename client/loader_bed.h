// What tests of the Loader stand on: a scripted dispatcher, a worker on a network in memory, in
// real time. For tests; no binary links it.
#pragma once

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "client/loader.h"
#include "client/scripted_dispatcher.h"
#include "client/test_frames.h"
#include "gtest/gtest.h"
#include "rpc/fake_dispatcher_client.h"
#include "transport/fake_frame_network.h"
#include "transport/transport_test_peers.h"

namespace headrace {

// Moves the network along until it goes.
class Pump {
 public:
  explicit Pump(FakeFrameNetwork& network) : network_(network), thread_([this] { Run(); }) {}
  ~Pump() {
    {
      absl::MutexLock lock(&mutex_);
      stop_ = true;
    }
    thread_.join();
  }

 private:
  void Run() {
    while (true) {
      network_.RunUntilIdle();
      absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithTimeout(absl::Condition(&stop_), absl::Microseconds(200))) return;
    }
  }
  FakeFrameNetwork& network_;
  absl::Mutex mutex_;
  bool stop_ = false;
  std::thread thread_;
};

class LoaderTest : public ::testing::Test {
 protected:
  LoaderTest() {
    server_ = network_.Serve("worker:1", worker_);
    dispatcher_.Set([](ScriptedDispatcher::Script& s) { s.tasks[1] = "worker:1"; });
  }

  absl::StatusOr<std::unique_ptr<Loader>> Open() {
    return Loader::Open(
        {}, stream_options_, client_options_,
        {std::make_shared<FakeDispatcherClient>(dispatcher_), network_.Connector(), clock_});
  }
  // Opened, in epoch 0.
  std::unique_ptr<Loader> OpenInEpoch() {
    auto loader = Open();
    EXPECT_TRUE(loader.ok()) << loader.status();
    EXPECT_TRUE((*loader)->StartEpoch().ok());
    return *std::move(loader);
  }
  void Push(const TestFrame& spec) { worker_.Push(spec.task, MakeFrame(spec)); }
  // The records that come until nothing does.
  static std::vector<int64_t> Take(Loader& loader, size_t n) {
    std::vector<int64_t> out;
    while (out.size() < n) {
      auto next = loader.Next(absl::Seconds(20));
      EXPECT_TRUE(next.ok()) << next.status();
      if (!next.ok() || !*next) break;
      out.push_back((*next)->at(0).as<int64_t>()[0]);
    }
    return out;
  }
  static absl::StatusCode Idle(Loader& loader) {
    return loader.Next(absl::Milliseconds(150)).status().code();
  }

  Recording recording_;
  TestSender worker_{recording_};
  FakeFrameNetwork network_{{.max_frame_bytes = 10 << 20}};
  ScriptedDispatcher dispatcher_;
  StreamOptions stream_options_;
  ClientOptions client_options_;
  const Clock* clock_ = &RealClock();
  std::unique_ptr<FrameServer> server_;
  Pump pump_{network_};
};

}  // namespace headrace
