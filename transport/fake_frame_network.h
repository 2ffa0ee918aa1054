// A transport in memory that moves only when told to: servers and connectors of one
// FakeFrameNetwork reach each other by address, and every handler and receiver call is made by
// Step, in the caller's thread. For tests and the simulation; no binary links it.
//
// Thread-safe as the real ones are; Step and RunUntilIdle from one thread at a time. Servers and
// connectors must go before the network.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "transport/frame_connector.h"
#include "transport/frame_stream.h"

namespace headrace {

class FakeLink;  // one stream, both ends

class FakeFrameNetwork {
 public:
  struct Options {
    size_t max_waiting_bytes = size_t{1} << 20;
    size_t max_frame_bytes = kDefaultMaxFrameBytes;
    // Which of n streams that have something to deliver goes next; null: the one that waits
    // longest. The order within one direction of a stream never changes.
    std::function<size_t(size_t n)> choose = nullptr;
  };

  explicit FakeFrameNetwork(Options options);
  FakeFrameNetwork();
  ~FakeFrameNetwork();

  std::unique_ptr<FrameServer> Serve(const std::string& address, StreamHandler& handler);
  std::unique_ptr<FrameConnector> Connector();

  // Delivers one thing; false when nothing is on its way.
  bool Step();
  void RunUntilIdle() {
    while (Step()) {
    }
  }
  // As if the process at `address` had been killed: its streams break off with UNAVAILABLE on the
  // client's side, frames on their way are lost, its handler is not called again.
  void Kill(const std::string& address);
  // Breaks off the streams to `address`; both sides are told, the server goes on.
  void BreakStreams(const std::string& address);

 private:
  friend class FakeLink;
  friend class FakeFrameServer;
  friend class FakeFrameConnector;

  void Stop(const std::string& address);
  std::unique_ptr<IncomingFrames> Connect(const std::string& address, const v1::StreamOpen& open,
                                          uint64_t credit, std::shared_ptr<FrameReceiver> receiver);

  const Options options_;
  absl::Mutex mutex_;
  std::map<std::string, StreamHandler*> servers_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<FakeLink>> links_ ABSL_GUARDED_BY(mutex_);  // oldest first
};

}  // namespace headrace
