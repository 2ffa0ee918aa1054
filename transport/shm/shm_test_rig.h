// For tests of the shm transport: a server with a pool of its own, and a receiver that keeps what
// it gets. Not linked into any binary.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "transport/shm/shm_frame_connector.h"
#include "transport/shm/shm_frame_server.h"
#include "transport/transport_test_peers.h"

namespace headrace {

class KeepingReceiver final : public FrameReceiver {
 public:
  explicit KeepingReceiver(Recording& recording) : recording_(recording) {}
  void OnFrame(FrameBuffer frame) override {
    recording_.Record([&] { frames.push_back(std::move(frame)); });
  }
  void OnClosed(const absl::Status& status) override {
    recording_.Record([&] { closed.push_back(status); });
  }
  // Read through Recording::Look.
  std::vector<FrameBuffer> frames;
  std::vector<absl::Status> closed;

 private:
  Recording& recording_;
};

// True when every byte of a MarkedFrame says `mark`.
inline bool AllSay(const FrameBuffer& frame, uint8_t mark) {
  for (size_t i = 0; i < frame.size; ++i) {
    if (static_cast<uint8_t>(frame.data.get()[i]) != mark) return false;
  }
  return true;
}

struct ShmRig {
  explicit ShmRig(size_t shm_bytes = size_t{256} << 20)
      : pool(ShmPool::Create({.max_bytes = shm_bytes}, RealClock())) {
    auto started = StartShmFrameServer({}, pool, RealClock(), worker);
    EXPECT_TRUE(started.ok()) << started.status();
    server = *std::move(started);
  }
  bool Until(const std::function<bool()>& done) {
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    size_t seen = 0;
    while (!recording.Look(done)) {
      if (absl::Now() > deadline) return false;
      seen = recording.AwaitChange(seen);
    }
    return true;
  }

  Recording recording;
  TestSender worker{recording};
  std::shared_ptr<ShmPool> pool;
  std::unique_ptr<FrameServer> server;
};

inline v1::StreamOpen OpenOf(uint64_t task) {
  v1::StreamOpen open;
  open.set_client(9);
  open.set_task(task);
  return open;
}

}  // namespace headrace
