// The receiving side of a transport: how a client gets a task's frames.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "element/frame.h"
#include "headrace/v1/worker.pb.h"

namespace headrace {

// Where a worker is reached: TaskAddress. A driver dials `address`, written in its own way; who
// chooses among `transports` (NegotiatingConnector) gives it the right one.
struct WorkerEndpoint {
  WorkerEndpoint() = default;
  WorkerEndpoint(std::string dialled, std::vector<std::string> offered = {})  // NOLINT: implicit
      : address(std::move(dialled)), transports(std::move(offered)) {}

  std::string address;
  std::vector<std::string> transports;  // "tcp:host:port", "grpc" (at `address`); best first
};

// An error of a stream that no worker has seen: nobody was there, or no common language was found.
// Nothing can have been lost, so another transport may be tried at once. A driver that is not
// certain of it must not say so. Codes: UNAVAILABLE may pass, UNIMPLEMENTED cannot work from here
// (another host, another version), UNAUTHENTICATED.
absl::Status Unreached(absl::Status status);
bool IsUnreached(const absl::Status& status);

// Gets what arrives. Called by threads of the transport, one call at a time per stream, holding no
// lock; must not block. The stream holds it until OnClosed has returned.
class FrameReceiver {
 public:
  virtual ~FrameReceiver() = default;
  // A whole frame: aligned, owned by whoever holds it. Its bytes are not checked yet
  // (FrameView::Parse does).
  virtual void OnFrame(FrameBuffer frame) = 0;
  // The last call. OK: the worker ended the stream, all frames have arrived. CANCELLED: Close or
  // the handle's destructor. Else: it never opened, or broke off; frames may be lost.
  virtual void OnClosed(const absl::Status& status) = 0;
};

// One stream. Thread-safe; nothing blocks. Letting go of it is Close.
class IncomingFrames {
 public:
  virtual ~IncomingFrames() = default;
  // Lets the worker send `bytes` more. A frame larger than what is left is sent when any is left.
  virtual void Grant(uint64_t bytes) = 0;
  // Breaks the stream off. OnClosed follows soon; frames on their way are dropped.
  virtual void Close() = 0;
};

// Opens streams over one transport. The destructor closes what is open and waits until every
// OnClosed has returned, so it must not be called from a receiver.
class FrameConnector {
 public:
  virtual ~FrameConnector() = default;
  // Never null: an address that cannot be reached is an OnClosed with UNAVAILABLE and the address
  // in it. OnClosed may come before Open returns and from within it: call it holding no lock that
  // the receiver takes. `open.protocol` is filled in.
  virtual std::unique_ptr<IncomingFrames> Open(const WorkerEndpoint& worker,
                                               const v1::StreamOpen& open, uint64_t credit,
                                               std::shared_ptr<FrameReceiver> receiver) = 0;
};

}  // namespace headrace
